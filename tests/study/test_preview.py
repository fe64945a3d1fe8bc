"""`owner preview` says what leaves before it does: a study is played by folder, and every file that an owner puts there
was announced, with its kind, receiver and size.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blindlabel.cli.main import run as command
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.previewing import Departure, Preview
from blindlabel.parties.questions import SuggestedQuestions
from blindlabel.protocol import messages
from blindlabel.protocol.account import account
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from support.study_parties import confirm_all, joined, small_agreement, write_person_tables

PACKED = {
    "engine": "packed", "profile": [2, 1, 1], "exclusions": 1, "record_length": 120, "functions": ["is_in"],
    "attributes": False,
}  # fmt: skip
Key = tuple[str, str, int]


def key_of(message: messages.Message) -> Key:
    about = getattr(message.body, "peer", message.receiver)
    return message.kind, "" if about == "coordinator" else about, message.round


def left(workspace: Workspace, stick: Path, seen: set[str]) -> list[tuple[messages.Message, int]]:
    """The messages of new files of an owner, and the files' sizes."""
    found = []
    for path in sorted(stick.rglob(f"from-{workspace.name}/*")):
        if path.is_file() and path.name not in seen:
            content = path.read_bytes()
            if content.startswith(b"blindlabel-letter/"):
                seen.add(path.name)
                found.append((messages.parse(letters_of(workspace).open(content)).message, len(content)))
    return found


def played(
    tmp_path: Path, agreement: Agreement
) -> tuple[list[tuple[Departure, messages.Message, int]], list[Workspace]]:
    """A whole study: what was announced last before it left, what left, and the size of its file."""
    coordinator, stick = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")), tmp_path / "stick"
    stick.mkdir()
    workspaces = joined(tmp_path, coordinator.create(to_text(agreement)), write_person_tables(tmp_path))
    server = FolderServer(coordinator, stick)
    parties = [OwnerParty(one, FolderTransport(stick, letters_of(one), one.name)) for one in workspaces]
    announced: dict[str, dict[Key, Departure]] = {one.name: {} for one in workspaces}
    seen: dict[str, set[str]] = {one.name: set() for one in workspaces}
    found = []

    def look() -> None:
        for owner in parties:
            departures = Preview(owner.store).departures()
            announced[owner.store.name] |= {(one.kind, one.about, one.round): one for one in departures}

    for _ in range(60):
        over = True
        look()
        for owner, workspace in zip(parties, workspaces):
            over &= run(owner, SuggestedQuestions(), once=True, tell=lambda _: None)
            for message, size in left(workspace, stick, seen[workspace.name]):
                assert key_of(message) in announced[workspace.name], f"{key_of(message)} left unannounced"
                found.append((announced[workspace.name].pop(key_of(message)), message, size))
        if over:
            rounds = coordinator.load(agreement.hash).state.round
            for name, rest in announced.items():
                assert all(one.round > rounds for one in rest.values()), f"{name} announced what did not leave: {rest}"
            return found, workspaces
        look()
        confirm_all(parties)
        while server.turn():
            pass
    raise AssertionError([owner.next_steps() for owner in parties])


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"encoding": PACKED, "rounds": 2, "release": "matches"},
        {"rounds": 2, "sampling": {"records": 6, "method": "enriched", "blocking": ["surname"]}},
    ],
    ids=["packed", "enriched"],
)
def test_everything_that_leaves_was_announced_with_its_receiver_and_size(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    agreement = small_agreement(records=6, **settings)
    found, workspaces = played(tmp_path, agreement)
    lines = {one.party for one in account(agreement.exposure).entries}
    exact = 0
    for said, message, size in found:
        assert said.receiver == message.receiver and said.line in lines
        assert said.kind == "sampled" or said.letter == size, said
        length = sum(blob.length for blob in message.blobs)
        assert (said.body > 0) == (length > 0), said
        if said.exact:
            assert said.body == length, said
            exact += length > 0
        elif agreement.encoding.engine == "packed" and message.round < 2:
            assert 0.9 < said.body / length < 1.1, (said, length)
    kinds = {said.kind for said, _, _ in found}
    sampling = messages.SAMPLING if agreement.sampling.by_keys else set[str]()
    assert kinds == {"join", "confirm", "records", "answers", "listed", "opened"} | sampling
    assert exact >= 4, "lists of a round that has begun are announced to the byte"
    assert {said.line for said, _, _ in found if said.kind == "answers"} == {"owner whose records are asked"}
    opened = [said for said, _, _ in found if said.kind == "opened" and said.round == 1]
    bits = {"packed": 6 * 6 * 2, "plain": 6 * 6}[agreement.encoding.engine]  # one of four outcomes, or of two
    assert opened and all(f"an outcome for each question and record, {bits} bits" in one.tells for one in opened)
    assert not Preview(workspaces[0]).departures(), "after the end nothing leaves"


def test_preview_is_a_table_for_people_and_one_document_for_scripts_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    joined(tmp_path, coordinator.create(to_text(small_agreement())), write_person_tables(tmp_path))
    before = {path: path.read_bytes() for path in (tmp_path / "anna").rglob("*.key")}
    assert command(["owner", "preview", "--at", str(tmp_path / "anna")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("join: waits to be sent\n")
    assert "sealed for the coordinator" in said and "account: coordinator. Tells how many rows the table has" in said
    assert command(["owner", "preview", "--at", str(tmp_path / "anna"), "--json"]) == 0
    (only,) = json.loads(capsys.readouterr().out)
    assert (only["kind"], only["receiver"], only["body"], only["exact"]) == ("join", "coordinator", 0, True)
    assert before == {path: path.read_bytes() for path in (tmp_path / "anna").rglob("*.key")}
    assert len(Workspace.open(tmp_path / "anna").unsent()) == 1
    assert command(["owner", "preview", "--at", str(tmp_path / "nowhere")]) == 1
