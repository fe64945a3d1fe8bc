"""An owner leaves, or lost its workspace and is invited again: the others go on, and all that are left are right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.language import interpret
from blindlabel.parties.accounting import use_of
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import SuggestedQuestions, check_question
from blindlabel.parties.study import standing
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import StudyState, key_of
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.labels import Labels
from blindlabel.protocol.refusals import ProtocolError, TwoLives
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.patience import PATIENCE, Patience
from support.study_parties import confirm_all, joined, served, small_agreement, told, write_person_tables


def knows(one: OwnerParty, two: OwnerParty) -> bool:
    """Whether an owner has another's newest keys."""
    keys = one.store.state().keys
    return keys is not None and two.identity.public.envelope_key.hex() in [peer.envelope_key for peer in keys.peers]


class Played:
    """A study that is played as far as somebody wants."""

    def __init__(self, folder: Path, lines: ExitStack, way: str, owners: int, **settings: Any) -> None:
        self.folder, self.lines = folder, lines
        self.agreement = small_agreement(owners, **settings)
        self.coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        self.tables = write_person_tables(folder, owners)
        invitations = self.coordinator.create(to_text(self.agreement))
        self.server: FolderServer | None = None
        if way == "folder":
            (folder / "shared").mkdir()
            self.server = FolderServer(self.coordinator, folder / "shared")
        else:
            self.address = lines.enter_context(served(self.coordinator))
        self.owners = {one.name: self.party(one) for one in joined(folder, invitations, self.tables)}
        self.gone: list[OwnerParty] = []

    def party(self, workspace: Workspace) -> OwnerParty:
        if self.server is not None:
            line = FolderTransport(self.folder / "shared", letters_of(workspace), workspace.name, workspace.life())
            return OwnerParty(workspace, line)
        token = workspace.secret("token").decode()
        http = HttpTransport(self.address, letters_of(workspace), token, life=workspace.life(), patience=PATIENCE)
        return OwnerParty(workspace, self.lines.enter_context(closing(http)))

    @property
    def state(self) -> StudyState:
        return self.coordinator.load(self.agreement.hash).state

    def turn(self, *names: str, write: bool = True) -> list[bool]:
        """These act, and the coordinator; whether the study is over for each."""
        over = []
        for name in names:
            source = SuggestedQuestions() if write else None
            over.append(run(self.owners[name], source, once=True, tell=lambda _: None))
            if self.server is not None:
                self.server.turn()
            else:
                self.coordinator.work(self.agreement.hash)
        return over

    def begin(self) -> None:
        """Everybody has joined, and compared the words of everybody; the first round has begun."""
        self.until(lambda: self.state.keys_sent and all(one.store.state().keys for one in self.owners.values()))
        confirm_all(list(self.owners.values()))
        self.until(lambda: bool(self.state.rounds))

    def confirm(self) -> None:
        """Every two that know each other's newest keys compare words."""
        for one, two in permutations(self.owners.values(), 2):
            if knows(one, two) and knows(two, one) and two.store.name not in one.store.state().confirmed:
                one.verify(two.store.name, " ".join(two.words(one.store.name)))

    def until(self, is_so: Callable[[], bool], *names: str, write: bool = False) -> None:
        patience = Patience()
        while not is_so():
            self.turn(*(names or self.owners), write=write)
            patience.check(self.said)

    def finish(self) -> None:
        patience = Patience()
        while not all(self.turn(*self.owners)):
            self.confirm()
            patience.check(self.said)

    def said(self) -> object:
        return [one.next_steps() for one in self.owners.values()], standing(self.coordinator, self.agreement.hash)

    def lose(self, name: str) -> None:
        """A workspace is lost, and its owner is invited again."""
        self.gone.append(self.owners.pop(name))
        again = self.coordinator.reinvite(self.agreement.hash, name, lost=True)
        table = TableOptions(self.tables[sorted(self.agreement.owners).index(name)])
        workspace = join(Workspace.create(self.folder / f"{name}-again"), again, table)
        self.owners[name] = self.party(workspace)

    def check_labels(self, first: str, second: str) -> None:
        """Coordinator and both owners have what the questions of the workspaces that are left say on clear records."""
        one, two = (self.owners[name].store for name in (first, second))
        assert isinstance(one, Workspace) and isinstance(two, Workspace)
        expected = self.expected(one, two)
        assert np.array_equal(self.coordinator.labels(self.agreement.hash)[(first, second)], expected)
        assert np.array_equal(one.labels()[second], told(expected))
        assert np.array_equal(two.labels()[first], told(expected.T))

    def expected(self, first: Workspace, second: Workspace) -> Labels:
        state, a, b = self.state, first.records(), second.records()
        found, number = np.zeros((len(a), len(b)), dtype=np.uint8), 0
        since = max(state.owners[one.name].since for one in (first, second))
        for round_, facts in enumerate(state.rounds, start=1):
            number += 1 if facts.tallies else 0
            if round_ <= since or key_of(first.name, second.name) not in facts.tallies:
                continue
            asked = [
                {task.record: check_question(self.agreement, task.question or "").tree for task in one.tasks(round_)}
                for one in (first, second)
            ]
            for i, question in asked[0].items():
                for j, other in asked[1].items():
                    yes = interpret(question, b[j].prepared)
                    if found[i, j] == 0 and yes == interpret(other, a[i].prepared):
                        found[i, j] = 2 * number + yes
        return found


BOTH_WAYS = pytest.mark.parametrize("play", ["http", "folder"], indirect=True)


@pytest.fixture
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Played]]:
    with ExitStack() as lines:
        yield lambda owners, **settings: Played(
            tmp_path, lines, getattr(request, "param", "folder"), owners, **settings
        )


Play = Callable[..., Played]


def waiting(played: Played) -> list[str]:
    return [step.sentence for step in standing(played.coordinator, played.agreement.hash).waiting]


@BOTH_WAYS
def test_owner_that_lost_its_workspace_in_a_round_asks_it_once_more(play: Play) -> None:
    study = play(2)
    study.begin()
    study.turn("berta", write=False)
    study.until(lambda: bool(study.state.rounds[0].listed), "anna", write=True)
    assert not study.state.rounds[0].opened, "nothing could be compared"
    records = study.state.owners["berta"].asked
    study.lose("berta")
    study.turn("anna", "anna")
    assert waiting(study) == ["berta has to join again, with its new invitation"]
    assert [step.sentence for step in study.owners["anna"].next_steps()] == [
        "berta has to join again, with a new invitation of the coordinator."
    ]
    study.turn("berta", "anna", "anna")
    assert study.owners["anna"].next_steps()[0].what == "verify", "new keys, new words"
    assert study.state.round == 1
    study.finish()
    assert study.state.rounds[0].void and study.state.rounds[1].repeats
    assert study.state.owners["berta"].asked >= records and study.state.asked_anew <= study.agreement.rounds
    study.check_labels("anna", "berta")
    with pytest.raises((ProtocolError, Unreachable)) as refused:
        study.gone[0].turn()
    assert "invitation" in str(refused.value) or isinstance(refused.value, TwoLives)


def test_what_the_lost_workspace_told_counts(play: Play) -> None:
    study = play(2)
    study.begin()
    study.until(lambda: bool(study.state.settled), write=True)
    if study.state.ended:
        pytest.fail("the tables are made so that there is a second round")
    before = use_of(study.agreement, study.state)["anna berta"].owner
    study.lose("berta")
    study.finish()
    assert not study.state.rounds[2].repeats, "all pairs are open again: that is a round of its own"
    assert study.state.owners["anna"].asked > len(study.state.samples["anna"])
    assert use_of(study.agreement, study.state)["anna berta"].owner > before
    assert study.state.asked_anew <= study.agreement.rounds
    study.check_labels("anna", "berta")


def test_no_room_in_the_agreement_for_a_new_workspace_is_said(play: Play) -> None:
    study = play(2, rounds=1)
    study.begin()
    study.turn("berta", write=False)
    study.until(lambda: bool(study.state.rounds[0].listed), "anna", write=True)
    study.until(lambda: study.state.rounds[0].is_ready("anna>berta"), "berta")
    before = study.state
    with pytest.raises(InputError, match="no room for a new workspace of berta: what the lost one could tell counts"):
        study.coordinator.reinvite(study.agreement.hash, "berta", lost=True)
    assert study.state == before
    with pytest.raises(InputError, match="has joined already"):
        study.coordinator.reinvite(study.agreement.hash, "berta")
    study.coordinator.remove(study.agreement.hash, "berta")
    assert study.state.ended == "left" and waiting(study) == []
    study.finish()
    assert all(one.store.state().truth.reason == "left" for one in study.owners.values())  # type: ignore[union-attr]


@BOTH_WAYS
def test_others_go_on_while_somebody_is_lost_and_it_comes_back(play: Play) -> None:
    study = play(3)
    study.begin()
    study.turn("berta", write=False)
    study.until(lambda: bool(study.state.rounds[0].listed), "clara", write=True)
    study.lose("berta")
    study.until(lambda: bool(study.state.settled), "anna", "clara", write=True)
    assert set(study.state.rounds[0].tallies) == {"anna clara"} and not study.state.rounds[0].void
    study.finish()
    assert study.state.ended != "left"
    for pairing in (("anna", "berta"), ("anna", "clara"), ("berta", "clara")):
        study.check_labels(*pairing)


@pytest.mark.parametrize("when", ["before it joined", "before the words", "in a round"])
def test_others_go_on_without_an_owner_that_leaves(play: Play, when: str) -> None:
    study = play(3)
    if when == "in a round":
        study.begin()
        study.turn("clara", "berta", write=False)
        study.until(lambda: len(study.state.rounds[0].listed) == 2, "anna", write=True)
    elif when == "before the words":
        study.until(lambda: study.state.keys_sent)
    else:
        study.turn("anna", "clara")
    study.coordinator.remove(study.agreement.hash, "berta")
    gone = study.owners.pop("berta")
    study.finish()
    assert study.state.ended != "left" and not any(one.void for one in study.state.rounds)
    study.check_labels("anna", "clara")
    assert not any("berta" in sentence for sentence in waiting(study))
    if when != "before it joined":
        study.owners = {"berta": gone}
        study.finish()
        truth = gone.store.state().truth
        assert truth is not None and truth.reason == "left"


def test_an_owner_that_leaves_last_is_not_waited_for(play: Play) -> None:
    """All that others waited for was the one that is gone."""
    study = play(3, rounds=3)
    study.begin()
    study.lose("berta")
    lost = study.owners.pop("berta")
    study.until(lambda: bool(study.state.rounds[-1].tallies or study.state.ended), "anna", "clara", write=True)
    study.coordinator.remove(study.agreement.hash, "berta")
    study.finish()
    assert study.state.ended in ("agreed", "rounds") and lost.store.state().truth is None
    study.check_labels("anna", "clara")


def test_nobody_comes_back_into_an_enriched_sample_that_was_begun(play: Play) -> None:
    sampling = {"method": "enriched", "records": 2, "blocking": ["surname"]}
    study = play(2, sampling=sampling)
    study.until(lambda: study.state.keys_sent and all(one.store.state().keys for one in study.owners.values()))
    confirm_all(list(study.owners.values()))
    study.until(lambda: any(facts.offered for facts in study.state.owners.values()))
    with pytest.raises(InputError, match="bears one drawing"):
        study.coordinator.reinvite(study.agreement.hash, "berta", lost=True)


def test_three_draw_an_enriched_sample_without_an_owner_that_left(play: Play) -> None:
    study = play(3, sampling={"method": "enriched", "records": 2, "blocking": ["surname"]})
    study.until(lambda: study.state.keys_sent and all(one.store.state().keys for one in study.owners.values()))
    confirm_all(list(study.owners.values()))
    study.until(lambda: bool(study.state.owners["anna"].offered), "anna", "clara")
    study.coordinator.remove(study.agreement.hash, "berta")
    del study.owners["berta"]
    study.finish()
    study.check_labels("anna", "clara")


def test_two_that_are_lost_at_once_come_back(play: Play) -> None:
    study = play(3)
    study.begin()
    study.lose("berta")
    study.lose("clara")
    study.turn("anna", "anna")
    assert [step.sentence.split()[0] for step in study.owners["anna"].next_steps()] == ["berta", "clara"]
    study.until(lambda: bool(study.state.owners["berta"].join), "berta")
    study.turn("anna", "anna")
    assert {step.what for step in study.owners["anna"].next_steps()} == {"verify"}, "one is back; the other is awaited"
    study.finish()
    assert study.state.rounds[0].void and study.state.rounds[1].repeats, "nobody could tell anything"
    for pairing in (("anna", "berta"), ("anna", "clara"), ("berta", "clara")):
        study.check_labels(*pairing)


def test_an_owner_that_came_back_goes_on_with_those_that_are_left(play: Play) -> None:
    """It waits for the next round while the others are in one; then one of these leaves."""
    study = play(3)
    study.begin()
    study.lose("berta")
    patience = Patience()
    while study.state.owners["berta"].away:
        study.turn(*study.owners, write=False)
        study.confirm()
        patience.check(study.said)
    assert study.state.round == 1 and not study.state.rounds[0].is_over
    study.coordinator.remove(study.agreement.hash, "clara")
    del study.owners["clara"]
    assert study.state.round == 2 and set(study.state.rounds[1].asked) == {"anna>berta", "berta>anna"}
    study.finish()
    assert study.state.ended != "left"
    study.check_labels("anna", "berta")


def test_labels_with_an_owner_that_left_go_with_the_workspace_that_is_lost(play: Play) -> None:
    study = play(3)
    study.begin()
    study.until(lambda: bool(study.state.settled), write=True)
    study.coordinator.remove(study.agreement.hash, "clara")
    del study.owners["clara"]
    study.lose("berta")
    study.finish()
    study.check_labels("anna", "berta")
    assert [one.peer for one in study.owners["anna"].store.state().truth.pairings] == ["berta", "clara"]  # type: ignore[union-attr]
    assert [one.peer for one in study.owners["berta"].store.state().truth.pairings] == ["anna"]  # type: ignore[union-attr]


def test_removed_after_it_joined_again_and_before_it_was_back(play: Play) -> None:
    study = play(3)
    study.begin()
    study.lose("berta")
    study.until(lambda: bool(study.state.owners["berta"].join), "berta")
    study.coordinator.remove(study.agreement.hash, "berta")
    study.finish()
    truth = study.owners["berta"].store.state().truth
    assert truth is not None and truth.reason == "left" and truth.pairings == (), "it has no sample to label"
    study.check_labels("anna", "clara")


@BOTH_WAYS
def test_another_table_is_refused_for_a_lost_workspace(play: Play) -> None:
    study = play(2)
    study.begin()
    rows = study.tables[1].read_text(encoding="utf-8").splitlines(keepends=True)
    study.tables[1].write_text("".join(rows[:-1]), encoding="utf-8")
    study.lose("berta")
    with pytest.raises(ProtocolError, match="another table"):
        study.turn("berta", "berta")
    assert study.state.owners["berta"].join is None
