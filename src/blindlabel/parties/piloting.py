"""The pilot: pairs that both owners already know set the level of an owner's verdicts for this study.

From one table alone, a verdict ranks questions well, but its level is off: nothing there says how clean the other table
is. So the owners may agree (`sampling.pilot`) to show each other the records of a few known pairs, or of invented ones
that both enter, in a file that they exchange themselves. The owner's questions about its record of each pair, suggested
and made worse, are tried on the other's record, and the result is compared with what the verdict expected. The account
counts what this shows of the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.language import Question, Record
from blindlabel.language.chain import Chain, text_of
from blindlabel.language.suggestions import Suggester
from blindlabel.language.suggestions.judgement import Level, level_by
from blindlabel.parties.joining import own_table
from blindlabel.protocol.interfaces import Store
from blindlabel.records.tables import read_table

LEAST = 10
"""With fewer known pairs, a level would depend on chance."""
_SETTING = "pilot"


def versions(suggester: Suggester, record: Record) -> Iterator[Chain]:
    """Questions about a record as people ask them: suggested, looser, stricter, and worse."""
    for number in (1, 2, 3):
        yield suggester.suggest(record, number).chain
    first = suggester.suggest(record).chain
    if not first.conditions:
        return
    for changed in (suggester.looser(first, record), suggester.stricter(first, record)):
        if changed is not None:
            yield changed.chain
    yield replace(first, bar=first.total)
    for count in range(1, min(4, len(first.conditions))):
        kept = first.conditions[:count]
        yield replace(first, conditions=kept, bar=sum(one.points for one in kept))
    alike = tuple(replace(one, points=1) for one in first.conditions)
    yield replace(first, conditions=alike, bar=(len(alike) + 1) // 2)
    if first.exclusions:
        yield replace(first, exclusions=(), unless=())


def take_pilot(store: Store, suggester: Suggester, path: Path) -> Level:
    """Set the level by a table with the other owner's record of each known pair, under this owner's ids."""
    agreement, own = store.agreement, own_table(store)
    known = read_table(path, attributes=agreement.attributes)
    most = agreement.sampling.pilot
    if not LEAST <= len(known) <= most:
        agreed = f"{most} were agreed on (sampling.pilot)" if most else "this agreement has no pilot (sampling.pilot)"
        raise InputError(f"{path.name} has {len(known)} known pairs; at least {LEAST} are needed, and {agreed}.")
    unknown = [one for one in known.ids if one not in set(own.ids)]
    if unknown:
        raise InputError(f"{path.name}: your table has no row {', '.join(unknown[:5])}.")
    rows = dict(zip(own.ids, agreement.recipe.rows(own, agreement.attributes)))
    others = agreement.recipe.rows(known, agreement.attributes)
    level = level_by(tried(suggester, [(rows[one], other) for one, other in zip(known.ids, others)]), len(known))
    store.remember(_SETTING, json.dumps([level.shift, level.pairs]))
    return level


def tried(suggester: Suggester, pairs: list[tuple[Record, Record]]) -> list[tuple[float, bool]]:
    """What a verdict expected of each question about known pairs, and whether it found the partner."""
    found = []
    for record, partner in pairs:
        for chain in versions(suggester, record):
            question = Question(text_of(chain, lowered=suggester.lowered), attributes=suggester.attributes)
            if question.formula is not None and chain.fits(record):
                found.append((suggester.verdict(question, record).found, chain.fits(partner)))
    return found


def level_of(store: Store) -> Level:
    """The level that a pilot has set, or that of trials if there was none."""
    known = store.remembered(_SETTING)
    return Level() if known is None else Level(*json.loads(known))
