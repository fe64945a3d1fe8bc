"""The account of bits with what the agreement's engine knows of its keys. `protocol.account` does the counting."""

from __future__ import annotations

from dataclasses import replace

from blindlabel.engines.registry import rules_named
from blindlabel.protocol.account import Account, Exposure, Use, account, used
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import StudyState


def account_of(agreement: Agreement) -> Account:
    """The account of an agreement. An `InputError` says so where there is no such engine, or no key can bear what comes
    back to owners: called before a study begins and before an owner joins.
    """
    bears = rules_named(agreement.encoding.engine).zero_tests(agreement.terms())
    return account(_exposure(agreement), bears)


def use_of(agreement: Agreement, state: StudyState) -> dict[str, Use]:
    """The use of every pairing of a study, by its two names."""
    exposure, void = _exposure(agreement), sum(1 for facts in state.rounds if facts.void)
    return {
        f"{first} {second}": used(
            exposure,
            [(len(facts.asked[first]), len(facts.asked[second])) for facts in state.settled],
            void,
            sampled=bool(state.samples),
        )
        for first, second in agreement.pairings
    }


def _exposure(agreement: Agreement) -> Exposure:
    """The agreement's exposure, with what its engine says."""
    rules = rules_named(agreement.encoding.engine)
    return replace(agreement.exposure, outcomes=rules.outcomes(agreement.terms()), unbounded=rules.unbounded)
