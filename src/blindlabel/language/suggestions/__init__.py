"""Suggested questions: what an owner could ask about the other record, made from the owner's own table alone.

    suggester = Suggester(records, ["name"], lowered=True)
    suggestion = suggester.suggest(record, round=1)
    suggestion.question    # source text in the question language
    suggestion.why         # one sentence for the person who keeps or changes it

The method, the same for every table:

1. *What can be asked* (`needles`): the words of the record; long ones in pieces, so that a typing error, a hyphen or an
   ending spoils a piece and not the word; short values of an attribute as a whole.
2. *What it is worth* (`weighing`): the rarer in the own table, the more; words of long free text less; and more again
   where the record's nearest neighbours in the own table do not have it, because that is what tells it from its
   siblings.
3. *How much is enough* (`thresholds`): more than all but a few rows of the own table reach, within bounds that fall
   from round to round.

Deterministic. Never looks at ids, other tables or truth: it is given none of them.
"""

from __future__ import annotations

from blindlabel.language.suggestions.suggester import Suggester, Suggestion

__all__ = ["Suggester", "Suggestion"]
