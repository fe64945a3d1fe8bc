"""The named parameter sets, and which one an agreement gets.

A set holds the ring in which records are encrypted and, where the assist is used, the ring in which bits are computed.
Sizes of primes are in bits, the last being the special prime of key switching. All sets are checked against 128-bit
security by SEAL when a ring is opened. The first prime is small (plaintext bits + 12), so that switching down to it
drowns all earlier noise; docs/packed-engine.md derives every number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from blindlabel.engines.interface import Encoded, Terms, TermsError
from blindlabel.engines.packed.seal.parameters import RingParameters
from blindlabel.language.functions import PREDICATES
from blindlabel.settings import declared

BIT_MODULUS = 65537
"""Plaintext modulus of the ring for bits: the smallest prime with as many slots as coefficients."""

_WIDE_FROM = 128
"""Records per owner from which agreements without the assist take the wide layout."""
_LEAST_BLOCK, _MOST_BLOCK = 8, 1024
"""Records in a batch: fewer would let packing double the noise too often, more would leave too few columns for
questions.
"""
_MOST_FEATURES = 1 << 23
"""Records times features that are held in memory at once; 48 to 112 bytes each."""


@dataclass(frozen=True)
class ParameterSet:
    """A named choice: `evaluation` for records; `bits` where the assist serves; `depth` products in a row where it does
    not.
    """

    name: str
    evaluation: RingParameters
    bits: RingParameters | None = None
    depth: int = 0
    wide: bool = False
    """Without the assist: the layout for many records (see `wide`)."""


_TABLE = (
    ParameterSet(
        "assisted-8192",
        RingParameters(8192, (41, 54, 54, 54), plain_bits=29),
        RingParameters(8192, (32, 56, 56, 56), plain_modulus=BIT_MODULUS),
    ),
    ParameterSet("alone-8192-1", RingParameters(8192, (38, 46, 45, 45, 44), plain_bits=24), depth=1),
    ParameterSet("alone-16384-3", RingParameters(16384, (42, 46, 46, 46, 46, 46, 46), plain_bits=28), depth=3),
    ParameterSet("wide-16384-1", RingParameters(16384, (38, 54, 54, 54, 55), plain_bits=24), depth=1, wide=True),
    ParameterSet(
        "wide-16384-1-long", RingParameters(16384, (38, 45, 45, 45, 45, 46), plain_bits=24), depth=1, wide=True
    ),
    ParameterSet(
        "wide-16384-3", RingParameters(16384, (42, 54, 54, 54, 54, 54, 55), plain_bits=28), depth=3, wide=True
    ),
    ParameterSet("alone-16384-5", RingParameters(16384, (42, 45, 45, 45, 45, 45, 45, 45, 45), plain_bits=28), depth=5),
)


def parameter_sets() -> tuple[ParameterSet, ...]:
    """All of them, for documentation and tests."""
    return _TABLE


def uses_assist(terms: Terms) -> bool:
    """Whether an agreement ever calls the assist: only for counting and negation."""
    return terms.counting or terms.negation


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


def candidates(terms: Terms) -> tuple[ParameterSet, ...]:
    """The sets that are deep enough for an agreement, cheapest first; `material.setting_of` takes the first whose noise
    is hidden well enough.
    """
    if uses_assist(terms):
        return _TABLE[:1]
    needed = (alternatives(terms) - 1).bit_length()
    found = tuple(
        candidate
        for candidate in _TABLE[1:]
        if needed <= candidate.depth and (not candidate.wide or terms.records >= _WIDE_FROM)
    )
    found = tuple(sorted(found, key=lambda candidate: not candidate.wide))
    if not found:
        raise TermsError(
            f"The packed engine multiplies out at most {1 << _TABLE[-1].depth} alternatives without the assist, and"
            f" this agreement wants {alternatives(terms)}. Agree on fewer, or allow counting or negation."
        )
    return found


# -- public limits that follow from the terms


def widest(terms: Terms) -> int:
    """The most set elements that one predicate of the agreement may ask for."""
    return max((PREDICATES[name].widest(terms.limits) for name in encoded_functions(terms)), default=1)


def probes(terms: Terms) -> int:
    """Set elements that every question is given room for."""
    if terms.probes:
        return terms.probes
    return 16 if widest(terms) == 1 else 16 + 2 * widest(terms)


def inner_weight(terms: Terms) -> int:
    """Largest sum of an inner gate."""
    if terms.inner_weight:
        return terms.inner_weight
    return max(31, widest(terms))


def final_weight(terms: Terms) -> int:
    """Largest sum of the last gate."""
    return max(terms.limits.total_weight, widest(terms)) if not terms.inner_weight else terms.limits.total_weight


def alternatives(terms: Terms) -> int:
    """Alternatives of one clause in agreements without assist."""
    return max(terms.alternatives, widest(terms))


def encoded_functions(terms: Terms) -> tuple[str, ...]:
    """The predicates among the functions of the terms."""
    return tuple(name for name in terms.functions if name in PREDICATES)


@lru_cache(maxsize=64)
def block(terms: Terms, features: int, degree: int, wide: bool = False) -> int:
    """Records evaluated together, a power of two."""
    wanted = 1 << max(0, terms.records - 1).bit_length()
    room = 1 << max(0, (_MOST_FEATURES // max(features, 1)).bit_length() - 1)
    if wide:
        return max(_LEAST_BLOCK, min(wanted, room, degree // 4))
    return max(_LEAST_BLOCK, min(wanted, room, _MOST_BLOCK)) * degree // 8192
