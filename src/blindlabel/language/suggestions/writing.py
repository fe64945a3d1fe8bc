"""A weighted count as a question that a person can read, and the sentence that says why. Source text only; decides
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.language.formatter import attribute_access, quote
from blindlabel.language.suggestions.alternatives import conjunctions
from blindlabel.language.suggestions.needles import Needle
from blindlabel.language.suggestions.weighing import Asked, Count

LONGEST_LINE = 100
NAMED = 3
"""Needles that the sentence names."""

NOTHING = "ret false\n"
NOTHING_TO_ASK = "There is nothing in this record that could be asked, so it says no to every record."
CASELESS = frozenset({"sounds_like", "is_empty"})


def question_of(count: Count, threshold: int, *, lowered: bool, counting: bool, alternatives: int = 1) -> str:
    """The question: yes from this score on. Without counting, the needles of one of some conjunctions that reach it
    must all be there.
    """
    asked = count.asked
    if not asked:
        return NOTHING
    fold = "" if lowered or all(one.needle.function in CASELESS for one in asked) else "$r = lower($r)\n"
    if counting and len(asked) > 1:
        parts = [(f"{one.weight}*" if one.weight > 1 else "") + call(one.needle) for one in asked]
        if count.excluded:
            either = " | ".join(map(call, count.excluded))
            parts.append(f"{count.penalty}*!({either})" if len(count.excluded) > 1 else f"{count.penalty}*!{either}")
        return f"{fold}ret {_joined(parts, '+', f' >= {threshold + count.penalty}')}\n"
    if counting:
        return f"{fold}ret {call(asked[0].needle)}\n"
    # Only a needle that asks for one thing has a conjunction to itself: other functions may be alternatives themselves.
    single = [one for one in asked if one.needle.function == "is_in"] or asked
    chosen = conjunctions(single, threshold, alternatives) or [tuple(_reaching(asked, threshold))]
    if len(chosen) == 1:
        return f"{fold}ret {_joined([call(one.needle) for one in chosen[0]], '&', '')}\n"
    parts = [" & ".join(call(one.needle) for one in needed) for needed in chosen]
    return f"{fold}ret {_joined([f'({part})' if ' & ' in part else part for part in parts], '|', '')}\n"


def call(needle: Needle) -> str:
    """The call of a needle's predicate."""
    text = "$r" if needle.attribute is None else "$r" + attribute_access(needle.attribute)
    return f"{needle.function}({quote(needle.text)}, {text})"


def why(count: Count, threshold: int, round: int, rows: int) -> str:
    """One sentence: what is looked for, how rare it is, and why so much is enough."""
    if not count.asked:
        return NOTHING_TO_ASK
    named = "; ".join(f"{one.needle.text} is {_rarity(one.rows, rows)}" for one in count.asked[:NAMED])
    more = len(count.asked) - NAMED
    others = f" (and {more} more)" if more > 0 else ""
    best = count.neighbours[0] if count.neighbours else 0
    enough = f"{threshold} of {count.total} is enough" if len(count.asked) > 1 else "that is enough"
    if round > 1:
        reason = (
            f"less than at first, because the other side has disagreed {'once' if round == 2 else f'{round - 1} times'}"
        )
    elif best == 0:
        reason = "no other own row has any of it"
    else:
        reason = f"the nearest other own row has {best}"
    apart = (
        f"; {_listed([needle.text for needle in count.excluded])} would speak for a similar own row"
        if count.excluded
        else ""
    )
    return f"The rarest of its words count most: {named}{others}; {enough}, {reason}{apart}."


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"


def _rarity(having: int, rows: int) -> str:
    if having == 0:
        return "in no other own row"
    return f"in {having} of {rows} own rows"


def _reaching(asked: Sequence[Asked], threshold: int) -> list[Asked]:
    """The weightiest needles up to the threshold."""
    needed: list[Asked] = []
    for one in asked:
        if sum(other.weight for other in needed) >= threshold:
            break
        needed.append(one)
    return needed


def _joined(parts: Sequence[str], operator: str, end: str) -> str:
    line = f" {operator} ".join(parts) + end
    if len(line) <= LONGEST_LINE:
        return line
    lines: list[str] = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 <= LONGEST_LINE:
            lines[-1] += f" {operator} {part}"
        else:
            lines.append(f"  {operator} {part}")
    return "\n".join(lines) + end
