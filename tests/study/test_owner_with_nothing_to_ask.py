"""With three owners a round may ask nothing of one of them: the study goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.questions import QuestionSource, open_tasks
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import of_owner
from blindlabel.protocol.interfaces import Store
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.study_parties import clear_labels, joined, over_http, play, served, small_agreement, write_person_tables


class Stubborn:
    """Anna says yes to everything and everybody else no; except that with clara all agree."""

    def provide(self, store: Store) -> str | None:
        answer = 'is_in("", $r) | !is_in("zzzz", $r)' if store.name == "anna" else 'is_in("zzzz", $r)'
        texts = {task.record: f"ret {self.about_clara(store)} | {answer}" for task in open_tasks(store)}
        store.save_questions(texts, "file")
        store.hand_in()
        return None

    def about_clara(self, store: Store) -> str:
        """True for clara's records alone, which all hold her word; clara's own questions are always true."""
        return '!is_in("zzzz", $r)' if store.name == "clara" else 'is_in("clarasword", $r)'


def test_round_that_asks_nothing_of_an_owner_does_not_stop_the_study(tmp_path: Path) -> None:
    agreement = small_agreement(3, records=2, rounds=2)
    tables = write_person_tables(tmp_path, 3, rows=2)
    header, *rows = tables[2].read_text().splitlines()
    first = header.split(",")[1]
    assert first == "given_name"
    clara = tmp_path / "clara.csv"
    clara.write_text(
        "\n".join([header, *(",".join([row.split(",")[0], "clarasword", *row.split(",")[2:]]) for row in rows)]) + "\n"
    )
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    source: QuestionSource = Stubborn()
    with served(coordinator) as address:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), address), [*tables[:2], clara])
        play(workspaces, over_http(address), source)
    state = coordinator.load(agreement.hash).state
    assert of_owner(state.rounds[1].asked, "clara") == ()
    assert len(of_owner(state.rounds[1].asked, "anna")) == 2
    assert state.ended == "rounds"
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (one, other), labels in coordinator.labels(agreement.hash).items():
        assert np.array_equal(labels, clear_labels(by_name[one], by_name[other]))
    assert not coordinator.labels(agreement.hash)[("anna", "berta")].any()
