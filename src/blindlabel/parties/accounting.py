"""The account of bits with what the agreement's engine knows of its keys. `protocol.account` does the counting."""

from __future__ import annotations

from blindlabel.engines.interface import EngineUnavailable
from blindlabel.engines.registry import engine_named
from blindlabel.protocol.account import Account, Use, account, used
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import State


def account_of(agreement: Agreement) -> Account:
    """The account of an agreement. An `InputError` says so where no key can bear what comes back to owners: called
    before a study begins and before an owner joins. A coordinator needs no homomorphic library, and where there is none
    nothing is known of keys; the owners' machines refuse then.
    """
    try:
        bears = engine_named(agreement.encoding.engine).zero_tests(agreement.terms())
    except EngineUnavailable:
        bears = None
    return account(agreement.exposure, bears)


def use_of(agreement: Agreement, state: State) -> dict[str, Use]:
    """The use of every pairing of a study, by its two names."""
    exposure, void = agreement.exposure, sum(1 for facts in state.rounds if facts.void)
    return {
        f"{first} {second}": used(
            exposure,
            [(len(facts.asked[first]), len(facts.asked[second])) for facts in state.settled],
            void,
            scores=state.scores_of(first, second),
            sampled=bool(state.samples),
        )
        for first, second in agreement.pairings
    }
