"""By default the coordinator's labels and both owners' ids become pairs of ids, with those that are no match; files
of different studies are not joined.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty
from blindlabel.parties.owner import run as take_turns
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text
from blindlabel.records.generator import PERSON_ATTRIBUTES
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.study_parties import (
    clear_labels,
    confirm_all,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    write_person_tables,
)


def study(folder: Path) -> tuple[CoordinatorParty, list[Workspace]]:
    """A finished study of two owners, who get the matches alone, as by default."""
    encoding = {"engine": "plain", "record_length": 200}
    agreement = agreements.new(
        "persons", ("anna", "berta"), PERSON_ATTRIBUTES, sampling={"records": 8}, encoding=encoding
    )
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    with served(coordinator) as address:
        workspaces = joined(
            folder, coordinator.create(to_text(agreement), address), write_person_tables(folder, rows=8)
        )
        play(workspaces, over_http(address))
    return coordinator, workspaces


def exported(folder: Path) -> list[str]:
    """The coordinator's labels and both owners' ids, as files."""
    labels = folder / "labels.csv"
    assert run(["export", str(folder / "coordinator"), "--study", "persons", "--to", str(labels)]) == 0
    for owner in ("anna", "berta"):
        assert run(["export", str(folder / owner), "--ids", "--to", str(folder / f"{owner}.csv")]) == 0
    return [str(labels), str(folder / "anna.csv"), str(folder / "berta.csv")]


def test_labels_and_ids_become_a_labels_table_of_splink(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, workspaces = study(tmp_path / "one")
    files, out = exported(tmp_path / "one"), tmp_path / "splink.csv"
    assert "Whoever has this file and the labels knows which of your records match." in capsys.readouterr().err
    assert run(["merge", *files, "--format", "splink", "--to", str(out)]) == 0
    found = {
        (row["unique_id_l"], row["unique_id_r"]): row["clerical_match_score"]
        for row in csv.DictReader(out.read_text().splitlines())
    }
    labels, (first, second) = clear_labels(*workspaces), ([one.id for one in space.records()] for space in workspaces)
    agreed = {(i, j): value & 1 for (i, j), value in zip(((i, j) for i in first for j in second), labels.flat) if value}
    assert found == {pair: f"{float(label):.1f}" for pair, label in agreed.items()}
    assert set(found.values()) == {"0.0", "1.0"}
    capsys.readouterr()
    assert run(["merge", *files[:2], "--to", str(out)]) == 1
    assert (
        "Nothing here has the ids of berta: add its export, or what `blindlabel export --ids`"
        in capsys.readouterr().err
    )
    study(tmp_path / "other")
    others = exported(tmp_path / "other")
    capsys.readouterr()
    assert run(["merge", *files[:2], others[2], "--to", str(out)]) == 1
    assert "The ids in berta.csv are not of this study" in capsys.readouterr().err


MORE = {
    "none": "an owner of the pairing is told which pairs match and which do not, and in which round each was agreed.",
    "matches": "an owner of the pairing is told which pairs do not match, and in which round each was agreed.",
    "labels": "an owner of the pairing is told in which round each was agreed.",
}


@pytest.mark.parametrize("release", MORE)
def test_the_coordinators_export_says_what_an_owner_would_learn_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], release: str
) -> None:
    """Two owners, then three; with rounds in the file and without."""
    for owners in (2, 3):
        folder = tmp_path / str(owners)
        coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        agreement = small_agreement(owners, records=3, rounds=1, release=release)
        with served(coordinator) as address:
            tables = write_person_tables(folder, owners)
            workspaces = joined(folder, coordinator.create(to_text(agreement), address), tables)
            play(workspaces, over_http(address))
        to, at = str(folder / "x.csv"), str(folder / "coordinator")
        for command in (["export", at, "--study", "persons"], ["export", at]):
            capsys.readouterr()
            assert run([*command, "--to", to]) == 0
            said = capsys.readouterr().err
            assert f"NOTE: where this is passed on, {MORE[release][:-1]}" in said
            assert ("one that cheated can read the other's records with it" in said) == (release != "labels")
            assert ("any other owner is told of a pairing that is none of its own" in said) == (owners == 3)
        assert run(["export", at, "--format", "pyjedai", "--to", to, "--json"]) == 0
        out, said = capsys.readouterr()
        assert json.loads(out) and "in which round" not in said
        assert ("NOTE: where" in said) == (release != "labels" or owners == 3)


def test_before_the_end_an_export_says_that_owners_have_no_label_yet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    agreement = small_agreement(records=3, release="labels")
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(agreement), address)
        spaces = joined(tmp_path, invitations, write_person_tables(tmp_path))
        owners = [OwnerParty(space, over_http(address)(space)) for space in spaces]
        while not coordinator.load(agreement.hash).state.samples:
            for owner in owners:
                take_turns(owner, None, once=True, tell=lambda _: None)
            confirm_all(owners)
        for owner in owners:
            owner.line.close()
    at, to = str(tmp_path / "coordinator"), str(tmp_path / "x.csv")
    assert run(["export", at, "--to", to]) == 0
    assert "is told which pairs match and which do not, and in which round" in capsys.readouterr().err
