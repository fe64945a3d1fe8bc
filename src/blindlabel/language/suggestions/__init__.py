"""Suggested questions: what an owner could ask about the other record, made from the owner's own table alone.

    suggester = Suggester(records, ["name"], lowered=True)
    suggestion = suggester.suggest(record, round=1)
    suggestion.text        # source text in the question language
    suggestion.chain       # the same as conditions with points, a bar, but not
    suggestion.reasons     # why each condition is there, as data
    suggestion.own         # which rows of the owner's table it also fits
    suggester.verdict(formula, record)  # would it find the partner, would it let another pass
    suggester.stricter(suggestion.chain, record), suggester.looser(…)

The method, the same for every table:

1. *What can be asked* (`needles`): the words of the record, its numbers in their attributes, its identifiers.
2. *What it is worth* (`evidence`): how probably a true partner has it, by what it is and where it stands, against how
   many of the record's nearest rows of the table have it (`profiles`): they are other things.
3. *Points* (`weighing`): the few conditions that say most, worth 1 to 4.
4. *How much is enough* (`weighing`): what a true partner may be expected to have, more than its neighbours have, and so
   much that whatever reaches it says more than the rarity of matches asks for. The agreement tells how rare they are.
5. *But not* (`evidence`): what speaks for a neighbour instead, or a number or word in place of one of the record's.
6. *Otherwise* (in round 2, in well-spelt tables): the record's rarest words, whatever they tell it from. Where both
   sides disagree over one way of weighing, another tells more than asking for less of the same.

Deterministic: the order of rows and attributes, their names, and rows that stand there twice change nothing. Never
looks at ids, other tables or truth: it is given none of them.
"""

from __future__ import annotations

from blindlabel.language.suggestions.judgement import RISKIEST, Level, OwnRows, Verdict, own_rows
from blindlabel.language.suggestions.own_table import OwnTable
from blindlabel.language.suggestions.suggester import Suggester
from blindlabel.language.suggestions.suggestion import Reason, Suggestion

__all__ = ["RISKIEST", "Level", "OwnRows", "OwnTable", "Reason", "Suggester", "Suggestion", "Verdict", "own_rows"]
