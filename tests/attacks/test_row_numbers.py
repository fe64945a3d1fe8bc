"""A table is often sorted, so the number of a row says much about it; and whoever draws rows could choose people. In an
earlier version `truth` named the other owner's rows (the initial of 38 of 50 surnames), the order of the sample said
nearly as much before any answer, and a coordinator that drew a stretch of rows was believed. Now each owner maps what
is drawn through an order of its own.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from blindlabel.envelope.identity import Identity
from blindlabel.parties import owner as parties
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity, secret_order
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.sampling import Draw
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.direct_line import DirectLine
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables

ROWS, RECORDS = 300, 30


def sampled(folder: Path, draw: Draw | None = None, **sampling: object) -> list[Workspace]:
    """Two owners with tables that are sorted by surname, up to their samples."""
    agreement = small_agreement(2, sampling={"records": RECORDS, **sampling})
    store = CoordinatorStore(folder / "coordinator")
    coordinator = CoordinatorParty(store) if draw is None else CoordinatorParty(store, draw=draw)
    tables = write_person_tables(folder, rows=ROWS)
    for table in tables:
        rows = sorted(csv.DictReader(table.read_text("utf-8").splitlines()), key=lambda row: row["surname"].lower())
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    workspaces = joined(folder, coordinator.create(to_text(agreement)), tables)
    owners = [OwnerParty(one, DirectLine(coordinator, agreement.hash, one.name)) for one in workspaces]
    for _ in range(12):
        for owner in owners:
            owner.turn()
        confirm_all(owners)
    assert all(len(one.records()) == RECORDS for one in workspaces)
    return workspaces


def told_by_the_order(workspace: Workspace) -> float:
    """How well the place of a record says where its row stands in the table: 1 is exactly."""
    rows = [record.position for record in workspace.records()]
    return abs(float(np.corrcoef(range(RECORDS), rows)[0, 1]))


def a_stretch(below: int) -> int:
    """A coordinator that wants the rows from 200 on."""
    return min(200, below - 1)


def as_in_the_file(_identity: Identity, _agreement: Agreement, size: int) -> Sequence[int]:
    return range(size)


def test_the_place_in_the_sample_says_nothing_of_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By chance a correlation of 30 numbers is above 0.8 once in a hundred million tries."""
    assert all(told_by_the_order(one) < 0.8 for one in sampled(tmp_path / "now"))
    monkeypatch.setattr(parties, "secret_order", as_in_the_file)
    assert all(told_by_the_order(one) > 0.95 for one in sampled(tmp_path / "flaw"))


def test_a_coordinator_that_draws_a_stretch_of_rows_chooses_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = set(range(200, 200 + RECORDS))
    for workspace in sampled(tmp_path / "now", a_stretch):
        got = {record.position for record in workspace.records()}
        assert len(got & wanted) < 18, "three are expected"
    monkeypatch.setattr(parties, "secret_order", as_in_the_file)
    for workspace in sampled(tmp_path / "flaw", a_stretch):
        assert {record.position for record in workspace.records()} == wanted


def test_rows_of_an_enriched_sample_are_no_better_known(tmp_path: Path) -> None:
    workspaces = sampled(tmp_path, method="enriched", blocking=["surname"])
    assert all(told_by_the_order(one) < 0.8 for one in workspaces)
    for workspace in workspaces:
        state, order = workspace.state(), secret_order(own_identity(workspace), workspace.agreement, ROWS)
        assert state.sample is not None
        assert [order[position] for position in state.sample.positions] == [one.position for one in workspace.records()]


def test_rows_that_the_agreement_names_are_those(tmp_path: Path) -> None:
    rows = list(range(100, 100 + RECORDS))
    for workspace in sampled(tmp_path, method="rows", rows={"anna": rows, "berta": rows}):
        assert [record.position for record in workspace.records()] == rows


def test_each_owner_has_its_own_order_and_keeps_it(tmp_path: Path) -> None:
    anna, berta = sampled(tmp_path)
    agreement = anna.agreement
    first, second = (list(secret_order(own_identity(one), agreement, ROWS)) for one in (anna, berta))
    assert sorted(first) == sorted(second) == list(range(ROWS)) and first != second
    assert list(secret_order(own_identity(Workspace.open(anna.folder)), agreement, ROWS)) == first


def test_no_message_to_an_owner_has_room_for_anothers_rows() -> None:
    assert set(messages.Pairing.model_fields) == {"peer", "enriched", "labels", "aside", "tallies"}
    assert set(messages.Open.model_fields) == {"own", "others"}
