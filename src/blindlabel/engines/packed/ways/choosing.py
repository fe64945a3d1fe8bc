"""Which way of answering an agreement gets. It follows from the terms alone, and is decided here and nowhere else."""

from __future__ import annotations

from functools import lru_cache

from blindlabel.engines.interface import Terms, TermsError
from blindlabel.engines.packed.opening import joint, padding
from blindlabel.engines.packed.planning import noise, parameters, security
from blindlabel.engines.packed.seal.parameters import ParameterSet
from blindlabel.engines.packed.ways.assisted.way import AssistedWay
from blindlabel.engines.packed.ways.interface import AnyWay
from blindlabel.engines.packed.ways.points.way import PointsWay


def kind_for(terms: Terms) -> type[AnyWay]:
    """The way that serves an agreement: the assist only where anything may be asked."""
    if terms.questions == "points":
        return PointsWay
    if terms.keys == "owners":
        raise TermsError(
            "Questions of any form need the coordinator's help, which it can give only with keys of its own. Agree on"
            ' keys = "coordinator", or on questions = "points".'
        )
    return AssistedWay


@lru_cache(maxsize=16)
def way_of(terms: Terms) -> AnyWay:
    """The way of an agreement: with the first set whose key can lose what it may and whose answers leave as they
    should. Under `keys = "coordinator"` one whose key cannot lose so much will do where there is no other; the account
    of bits says so.
    """
    parameters.check_terms(terms)
    kind = kind_for(terms)
    for bits in (terms.key_bits, 0) if terms.key_bits and terms.keys == "coordinator" else (terms.key_bits,):
        for candidate in kind.sets:
            if bits > security.zero_tests(candidate):
                continue
            way = kind(terms, candidate)
            if not way.tables.tables:
                raise TermsError(
                    "This agreement encodes nothing: list at least one function and encode whole records or attributes."
                )
            if _fits(way):
                return way
    if terms.key_bits and terms.keys == "owners":
        raise TermsError(
            f"A key would have to withstand the loss of {terms.key_bits} bits, more than any ring of this engine can."
            " Agree on fewer records or rounds, or release less."
        )
    raise TermsError(
        "This agreement encodes more than the packed engine can hide the noise of. Encode fewer attributes or shorter"
        " texts."
    )


def _fits(way: AnyWay) -> bool:
    """Whether answers leave as they should: with their noise hidden or, where a pad hides it, so that they open."""
    if way.terms.keys == "coordinator":
        return max(found.left for found in way.noise().values()) <= -noise.HIDDEN
    mixed, padded = joint.LEVEL, padding.LEVEL
    modulus = way.answer_ring.modulus
    return noise.opened_right(way.noise()["answers"], modulus, mixed=mixed, padded=padded) >= noise.OPENED


def parameter_sets() -> tuple[ParameterSet, ...]:
    """All of them, for documentation and tests."""
    return PointsWay.sets + AssistedWay.sets
