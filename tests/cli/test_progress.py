"""Progress never runs backwards, and names what is done."""

from __future__ import annotations

from rich.progress import Progress

from blindlabel.cli.demonstration import share_done
from blindlabel.cli.output import Phases
from blindlabel.protocol.facts import RoundFacts, new_state
from support.study_parties import small_agreement


def test_share_of_a_phase_never_falls_and_a_phase_can_begin_again() -> None:
    shown = Phases(Progress(disable=True))
    told = [("encrypt", 0.2), ("encrypt", 0.1), ("encrypt", 0.5), ("fetch", 0.1), ("encrypt", 1.0), ("encrypt", 0.3)]
    seen = []
    for phase, share in told:
        shown.show(phase, share)
        seen.append(shown.shares[phase])
    assert seen == [0.2, 0.2, 0.5, 0.1, 1.0, 0.3]


def test_share_of_a_demonstration_grows_with_every_message_and_over_rounds() -> None:
    agreement = small_agreement(rounds=2)
    state = new_state(agreement, dict.fromkeys(agreement.owners, "0" * 64), "5a" * 32)
    shares = [share_done(agreement, state)]
    done: list[RoundFacts] = []
    for _ in range(2):
        facts = RoundFacts(asked=dict.fromkeys(agreement.owners, (0,)))
        for part in ("records", "answers", "opened"):
            for number in (1, 2):
                come = dict.fromkeys(("anna>berta", "berta>anna")[:number])
                facts = facts.model_copy(update={part: come})
                shares.append(share_done(agreement, state.model_copy(update={"rounds": (*done, facts)})))
        done.append(facts.model_copy(update={"tallies": {"anna berta": None}}))
        shares.append(share_done(agreement, state.model_copy(update={"rounds": tuple(done)})))
    assert shares == sorted(shares) and len(set(shares)) == len(shares) and shares[-1] == 0.99
