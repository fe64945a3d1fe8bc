"""A party that is told to act can act, and nobody who could is told to wait: held in every state of whole studies."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, steps_of
from blindlabel.parties.questions import open_tasks
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.interfaces import BULK
from blindlabel.protocol.next_steps import NextStep, of_coordinator
from blindlabel.protocol.owner_rules import latest
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel_lab.simulation.truth import View, false_sentences
from support.study_parties import joined, small_agreement, write_person_tables

SAMPLINGS = {
    "uniform": {"method": "uniform", "records": 2},
    "enriched": {"method": "enriched", "records": 2, "blocking": ["surname"]},
}


class Played:
    """A study whose parties and people act one at a time, each when it is told to."""

    def __init__(self, folder: Path, owners: int, sampling: str, seed: int) -> None:
        self.random = random.Random(seed)
        self.agreement = small_agreement(owners, sampling=SAMPLINGS[sampling], rounds=2)
        self.coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        invitations = self.coordinator.create(to_text(self.agreement), "folder:shared")
        workspaces = joined(folder, invitations, write_person_tables(folder, owners, rows=4))
        shared = folder / "shared"
        shared.mkdir()
        self.server = FolderServer(self.coordinator, shared)
        self.owners = {
            one.name: OwnerParty(one, FolderTransport(shared, letters_of(one), one.name)) for one in workspaces
        }
        self.seen: set[tuple[str, str]] = set()

    def steps(self, name: str, who: str) -> list[str]:
        found = self.owners[name].next_steps()
        assert found == steps_of(self.owners[name].store), "the command and the running owner say the same"
        self.seen |= {(step.who, step.what) for step in found}
        return [step.what for step in found if step.who == who]

    def machine_turn(self, name: str) -> None:
        """An owner's machine does something exactly where it is told to, or has news."""
        owner = self.owners[name]
        told = bool(self.steps(name, "machine"))
        before = owner.store.state()
        known = Known(received=before.received, latest=latest(before))
        news = bool(owner.line.fetch(known, 0.0).messages) and before.truth is None
        owner.turn()
        if told or not news:
            assert (owner.store.state() != before or told) == told, (name, owner.next_steps())
        assert not self.steps(name, "machine"), "a turn does all that the machine can do"

    def settle(self) -> None:
        """All machines go on until none can."""
        for _ in range(50):
            before = [owner.store.state() for owner in self.owners.values()], self.known()
            for name in self.random.sample(sorted(self.owners), len(self.owners)):
                self.machine_turn(name)
                self.judge()
            self.server.turn()
            self.judge()
            if before == ([owner.store.state() for owner in self.owners.values()], self.known()):
                return
        raise AssertionError("the machines never come to rest")

    def known(self) -> StudyState:
        return self.coordinator.load(self.agreement.hash).state

    def judge(self) -> None:
        """What everybody says is so, in this very state: judged as in every state of a simulated study."""
        said = of_coordinator(self.agreement, self.known())
        assert false_sentences(View(self.agreement, self.known(), self.owners, says=said)) == []

    def act(self, name: str) -> None:
        """One step of one person."""
        owner, what = self.owners[name], self.steps(name, "you")[0]
        if what == "verify":
            owner.confirm(
                next(peer for peer in self.agreement.peers(name) if peer not in owner.store.state().confirmed)
            )
        elif what == "write":
            task = next(task for task in open_tasks(owner.store) if task.question is None)
            text = 'ret is_in("##", $r)' if self.random.random() < 0.5 else 'ret !is_in("##", $r)'
            owner.store.save_questions({task.record: text}, BULK)
        else:
            assert what == "hand in"
            owner.store.hand_in()

    def check_at_rest(self) -> list[str]:
        """No machine can go on: who waits, waits for people, and both sides name the same ones."""
        must = {name for name in self.owners if self.steps(name, "you")}
        awaited = {step.who for step in of_coordinator(self.agreement, self.known())}
        assert awaited == must
        for name in self.owners:
            for step in self.owners[name].next_steps():
                if step.who == "others":
                    assert any(other in step.sentence for other in must), (step.sentence, must)
                    assert not [other for other in set(self.owners) - must if f"{other} has" in step.sentence]
        return sorted(must)


@pytest.mark.parametrize(("owners", "sampling"), [(2, "uniform"), (3, "enriched")])
def test_in_every_state_those_who_are_said_to_act_can_and_the_others_cannot(
    tmp_path: Path, owners: int, sampling: str
) -> None:
    played = Played(tmp_path, owners, sampling, seed=owners)
    for name in played.owners:
        assert played.steps(name, "machine") == ["send"]
    played.settle()
    while must := played.check_at_rest():
        played.act(played.random.choice(must))
        played.settle()
    assert all(not owner.next_steps() and owner.store.state().truth for owner in played.owners.values())
    assert {("you", "verify"), ("you", "write"), ("you", "hand in"), ("others", "answers")} <= played.seen


@pytest.mark.parametrize("owners", [2, 3])
def test_owner_that_waits_for_a_machine_to_draw_the_sample_is_not_told_that_words_are_to_be_compared(
    tmp_path: Path, owners: int
) -> None:
    """Everybody has compared, and the machine of one does not run."""
    played = Played(tmp_path, owners, "enriched", seed=1)
    played.settle()
    for name in played.owners:
        for peer in played.agreement.peers(name):
            played.owners[name].confirm(peer)
    *present, away = sorted(played.owners)
    for name in present * 2:
        played.owners[name].turn(), played.server.turn()
    played.owners[away].send(), played.server.turn()
    for name in present:
        played.owners[name].turn()
        (step,) = played.owners[name].next_steps()
        assert away in step.sentence and "drawing the sample" in step.sentence
    played.judge()
    judged = View(played.agreement, played.known(), played.owners)
    assert {"offer", "blind"} & judged.can_do(away) and "verify" not in judged.can_do(away)


def test_judge_hears_what_is_not_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(tmp_path, 3, "uniform", seed=1)
    played.settle()
    for peer in ("berta", "clara"):
        played.owners["anna"].confirm(peer)
    played.settle()
    true = "berta or clara has to compare the verification words; then the sample is drawn."
    assert played.owners["anna"].next_steps()[0].sentence.startswith(f"{true} Or your own messages")
    for sentence, is_so in {
        true: True,
        "berta has to compare the verification words.": True,
        "anna has to compare the verification words.": False,
        "berta has to send its encrypted records.": False,
    }.items():
        what = "verify" if "words" in sentence else "records"
        said = [NextStep("others", what, sentence)]
        monkeypatch.setattr(played.owners["anna"], "next_steps", lambda said=said: said)
        assert (false_sentences(View(played.agreement, played.known(), played.owners)) == []) == is_so, sentence
    monkeypatch.setattr(played.owners["anna"], "next_steps", lambda: [])
    (found,) = false_sentences(View(played.agreement, played.known(), played.owners))
    assert "names nobody" in found
