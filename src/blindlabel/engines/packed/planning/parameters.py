"""What every way takes from an agreement's terms: are they sensible, and how wide may a predicate be."""

from __future__ import annotations

from blindlabel.engines.interface import Encoded, Terms, TermsError
from blindlabel.language.functions import PREDICATES
from blindlabel.settings import declared

_RANGES: dict[str, tuple[int, int]] = {"records": (1, 1_000_000)} | {
    found.field: (found.setting.least, found.setting.most)
    for found in declared(Encoded)
    if found.setting.least is not None and found.setting.most is not None
}


def check_terms(terms: Terms) -> None:
    """Refuse terms that make no sense for this engine, with a sentence."""
    for name, (low, high) in _RANGES.items():
        value = getattr(terms, name)
        if value is not None and not low <= value <= high:
            raise TermsError(f"The agreement says {name} = {value}; the packed engine takes {low} to {high}.")
    if not 1 <= terms.limits.total_weight <= 255:
        raise TermsError(
            f"The agreement allows a total weight of {terms.limits.total_weight}; the packed engine takes 1 to 255."
        )
    if terms.case not in ("both", "lower"):
        raise TermsError(f"The agreement says case = {terms.case}; the packed engine takes both or lower.")
    if len(terms.agreement_hash) != 32:
        raise TermsError("An agreement's hash has 32 bytes.")


def widest(terms: Terms) -> int:
    """The most set elements that one predicate of the agreement may ask for."""
    asked = (PREDICATES[name] for name in terms.functions if name in PREDICATES)
    return max((predicate.widest(terms.limits) for predicate in asked), default=1)
