"""Which way of answering an agreement gets. It follows from the terms alone, and is decided here and nowhere else."""

from __future__ import annotations

from functools import lru_cache

from blindlabel.engines.interface import Terms, TermsError
from blindlabel.engines.packed.opening import joint, padding
from blindlabel.engines.packed.planning import noise, parameters, security
from blindlabel.engines.packed.seal.parameters import ParameterSet
from blindlabel.engines.packed.ways.assisted import way as assisted
from blindlabel.engines.packed.ways.conjunctive import way as conjunctive
from blindlabel.engines.packed.ways.interface import AnyWay
from blindlabel.engines.packed.ways.points import way as points


def kinds_for(terms: Terms) -> tuple[type[AnyWay], ...]:
    """The ways that can serve an agreement, the preferred one first: the assist only where anything may be asked."""
    if terms.questions == "points":
        return (points.PointsWay,)
    if terms.counting or terms.negation:
        if terms.keys == "owners":
            raise TermsError(
                "Counting and negation need the coordinator's help, which it can give only with keys of its own. Agree"
                ' on keys = "coordinator", or do without them.'
            )
        return (assisted.AssistedWay,)
    if terms.records >= conjunctive.MANY_RECORDS:
        return conjunctive.ManyRecords, conjunctive.FewRecords
    return (conjunctive.FewRecords,)


@lru_cache(maxsize=16)
def way_of(terms: Terms) -> AnyWay:
    """The way of an agreement: the first set whose key can lose what it may and whose answers leave as they should.
    Under `keys = "coordinator"` one whose key cannot lose so much will do where there is no other; the account of bits
    says so.
    """
    parameters.check_terms(terms)
    asked = [(kind, candidate, terms.key_bits) for kind in kinds_for(terms) for candidate in kind.candidates(terms)]
    if terms.keys == "coordinator" and terms.key_bits:
        asked += [(kind, candidate, 0) for kind, candidate, _ in asked]
    for kind, candidate, bits in asked:
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
    answers = way.noise()["answers"]
    if answers.ring.data_primes < joint.LEVEL:
        return False
    mixed, padded = joint.LEVEL, padding.LEVEL
    modulus = way.answer_ring.modulus
    return noise.opened_right(answers, modulus, mixed=mixed, padded=padded) >= noise.OPENED


def parameter_sets() -> tuple[ParameterSet, ...]:
    """All of them, for documentation and tests."""
    return points.PARAMETER_SETS + assisted.PARAMETER_SETS + conjunctive.FEW_SETS + conjunctive.MANY_SETS
