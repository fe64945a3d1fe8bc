"""A study with as many owners as we plan for, over PostgreSQL; and its backup, restored."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.study import standing
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.patience import Patience
from support.postgres import Server
from support.study_parties import (
    clear_labels,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    told,
    write_person_tables,
)


def test_three_owners_over_postgres_get_the_labels_of_clear_evaluation(
    tmp_path: Path, postgres: Server, postgres_database: str
) -> None:
    agreement = small_agreement(3, records=5)
    store = CoordinatorStore(tmp_path / "coordinator", address=postgres_database)
    coordinator = CoordinatorParty(store)
    with served(coordinator) as address:
        workspaces = joined(
            tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path, 3, rows=5)
        )
        play(workspaces, over_http(address))
    by_name = {workspace.name: workspace for workspace in workspaces}
    labels = coordinator.labels(agreement.hash)
    assert len(labels) == 3
    for (first, second), found in labels.items():
        expected = clear_labels(by_name[first], by_name[second])
        assert np.array_equal(found, expected)
        assert np.array_equal(by_name[first].labels()[second], told(expected))
        assert np.array_equal(by_name[second].labels()[first], told(expected.T))
    assert any(np.count_nonzero(found & 1) for found in labels.values()), "a study without any match proves little"
    sent = {kind: times for owner, kind, times, _ in coordinator.store.traffic(agreement.hash) if owner == "anna"}
    rounds = coordinator.load(agreement.hash).state.round
    assert (sent["records"], sent["relay"], sent["answers"]) == (2 * rounds, 4 * rounds, 2 * rounds)
    bodies = tmp_path / "coordinator" / "bodies" / agreement.hash
    # The records and the answers of a round are removed when it is settled, a moment after the owners are told.
    Patience().wait_until(lambda: not list(bodies.iterdir()), lambda: list(bodies.iterdir()))
    _check_backup(coordinator, tmp_path / "coordinator", agreement.hash, postgres, postgres_database)


def _check_backup(coordinator: CoordinatorParty, home: Path, study: str, postgres: Server, database: str) -> None:
    """Dump the database, restore it as another, and open that with the same folder."""
    labels, before = coordinator.labels(study), standing(coordinator, study)
    coordinator.store.close()
    dump = postgres.folder / "coordinator.dump"
    postgres.run("pg_dump", "--format=custom", f"--file={dump}", database)
    with postgres.fresh_database() as other:
        postgres.run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={other}", str(dump))
        restored = CoordinatorParty(CoordinatorStore(home, address=other))
        assert standing(restored, study) == before
        for pairing, found in restored.labels(study).items():
            assert np.array_equal(found, labels[pairing])
        restored.store.close()
    dump.unlink()
