"""A deleted study leaves no bytes; files are for their user alone; logs hold no content; every study has keys of its
own; budgets show.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
from pathlib import Path

import pytest

from blindlabel.cli.main import run as command
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.study_parties import joined, over_http, play, served, small_agreement, write_person_tables


def played(folder: Path, coordinator: CoordinatorParty, name: str) -> list[Workspace]:
    """A study from beginning to end; its workspaces."""
    agreement = small_agreement(records=4).model_copy(update={"name": name})
    place = folder / name
    place.mkdir()
    with served(coordinator) as address:
        invitations = coordinator.create(to_text(agreement), address)
        workspaces = joined(place, invitations, write_person_tables(place, rows=4))
        play(workspaces, over_http(address))
    return workspaces


def everything_in(folder: Path) -> bytes:
    """All bytes of all files under a folder, and their names."""
    return b"\n".join(
        str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]]:
    folder = tmp_path_factory.mktemp("studies")
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    log = logging.getLogger("blindlabel")
    handler, before = logging.FileHandler(folder / "server.log"), log.level
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        found = folder, coordinator, played(folder, coordinator, "kept"), played(folder, coordinator, "removed")
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        handler.close()
    return found


def test_files_and_folders_are_for_their_user_alone(
    two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]],
) -> None:
    folder, _, kept, removed = two
    for place in [folder / "coordinator", *(workspace.folder for workspace in kept + removed)]:
        for path in [place, *place.rglob("*")]:
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


def test_logs_hold_no_content_token_or_key(
    two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]],
) -> None:
    folder, _, kept, removed = two
    log = (folder / "server.log").read_text("utf-8")
    assert log.count("\n") > 20
    for line in log.splitlines():
        known = json.loads(line)
        allowed = {"event", "method", "route", "status", "ms", "in", "out", "study", "owner", "kind"}
        assert set(known) <= allowed, line
        assert "{" not in str(known.get("study")) and len(str(known.get("study", ""))) <= 12
    for workspace in kept + removed:
        secrets = [workspace.secret("token").decode(), own_identity(workspace).signing_seed.hex()]
        secrets += [value for record in workspace.records() for value in record.row.values() if len(value) > 4]
        secrets += [task.question for task in workspace.tasks() if task.question]
        assert not [secret for secret in secrets if secret in log]


def test_every_study_has_keys_of_its_own(two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]]) -> None:
    folder, _, kept, removed = two
    places = [folder / "coordinator" / "keys" / workspaces[0].agreement.hash for workspaces in (kept, removed)]
    signing = {(place / "signing.key").read_bytes() for place in places}
    assert len(signing) == 2 and all(len(list(place.iterdir())) == 1 for place in places), "and no other key"
    identities = {own_identity(workspace).to_bytes() for workspace in kept + removed}
    assert len(identities) == 4, "an owner has new keys in every study"


def test_status_shows_what_of_the_budget_is_used(
    two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, kept, _ = two
    assert command(["coordinator", "status", "kept", "--at", str(folder / "coordinator"), "--json"]) == 0
    (standing,) = json.loads(capsys.readouterr().out)
    asked = {workspace.name: sum(len(one.ask) for one in workspace.state().rounds) for workspace in kept}
    assert {name: known["records_asked"] for name, known in standing["owners"].items()} == asked
    assert standing["budget"] == {"records_asked": 3 * 4, "rounds": 3}
    (used,) = standing["used"].values()
    coordinator, owner = standing["account"]["parties"][:2]
    assert 0 < used["coordinator"] <= coordinator["cheating"]
    assert 0 < used["owner"] <= owner["honest"]
    assert 0 < used["key"] <= standing["account"]["key"]["spent"]


def test_deleted_study_leaves_no_bytes(two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]]) -> None:
    folder, coordinator, kept, removed = two
    home, study = folder / "coordinator", removed[0].agreement.hash
    state = coordinator.load(study).state
    bodies = [path.read_bytes() for path in (home / "bodies" / study).iterdir()]
    keys = [path.read_bytes() for path in (home / "keys" / study).iterdir()]
    traces = [study.encode(), b"removed", removed[0].agreement.salt.encode(), bytes.fromhex(study)]
    traces += [join.signing_key.encode() for known in state.owners.values() if (join := known.join)]
    traces += [join.token_hash.encode() for known in state.owners.values() if (join := known.join)]
    shared = everything_in(home / "bodies" / kept[0].agreement.hash) + everything_in(
        home / "keys" / kept[0].agreement.hash
    )
    traces += [content[-40:] for content in keys + bodies if len(content) >= 40 and content[-40:] not in shared]
    before = everything_in(home)
    assert all(trace in before for trace in traces if trace != bytes.fromhex(study)), "the traces are there before"
    coordinator.delete(study)
    coordinator.store.close()
    after = everything_in(home)
    assert [trace for trace in traces if trace in after] == []
    assert kept[0].agreement.hash.encode() in after and coordinator.labels(kept[0].agreement.hash)


def test_deleted_workspace_leaves_no_bytes(
    two: tuple[Path, CoordinatorParty, list[Workspace], list[Workspace]], tmp_path: Path
) -> None:
    _, _, _, removed = two
    workspace = removed[0]
    workspace.database.close()
    copy = tmp_path / "workspace"
    shutil.copytree(workspace.folder, copy)
    kept = tmp_path / "same blocks on the disk"
    kept.mkdir()
    for path in copy.glob("*.key"):
        os.link(path, kept / path.name)
    secrets = [path.read_bytes()[-32:] for path in kept.iterdir()]
    assert secrets and all(secret.strip(b"\0") for secret in secrets)
    assert command(["owner", "delete", "--at", str(copy), "--yes"]) == 0
    assert not copy.exists()
    left = everything_in(kept)
    assert not [secret for secret in secrets if secret in left], "keys are overwritten where they lay"
