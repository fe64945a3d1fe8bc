"""With three owners a round may ask nothing of one of them: the study goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.facts import of_owner
from blindlabel.protocol.interfaces import OwnRecord, Store
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.study_parties import (
    Asking,
    clear_labels,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    write_person_tables,
)


def stubborn(store: Store, _own: OwnRecord) -> str:
    """Anna says yes to everything and everybody else no; except that with clara all agree: her records alone hold her
    word, and her own questions are always true.
    """
    about_clara = '!is_in("zzzz", $r)' if store.name == "clara" else 'is_in("clarasword", $r)'
    answer = 'is_in("", $r) | !is_in("zzzz", $r)' if store.name == "anna" else 'is_in("zzzz", $r)'
    return f"ret {about_clara} | {answer}"


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
    with served(coordinator) as address:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), address), [*tables[:2], clara])
        play(workspaces, over_http(address), Asking(stubborn))
    state = coordinator.load(agreement.hash).state
    assert of_owner(state.rounds[1].asked, "clara") == ()
    assert len(of_owner(state.rounds[1].asked, "anna")) == 2
    assert state.ended == "rounds"
    by_name = {workspace.name: workspace for workspace in workspaces}
    for (one, other), labels in coordinator.labels(agreement.hash).items():
        assert np.array_equal(labels, clear_labels(by_name[one], by_name[other]))
    assert not coordinator.labels(agreement.hash)[("anna", "berta")].any()
