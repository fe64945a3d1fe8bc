"""What other parties can see: distinctive words appear nowhere they should not, and the coordinator cannot open the
records' envelope.
"""

from __future__ import annotations

import base64
import logging
import re
import threading
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import uvicorn
from nacl import bindings
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from blindlabel.envelope.identity import Context, EnvelopeError, PublicIdentity, blake2b
from blindlabel.envelope.stream import _BOXED_KEY, _STREAM_HEADER, _read_header, _Reader, open_, unlock
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import FolderQuestions
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.server import create_app
from support.patience import PATIENCE, Patience
from support.study_parties import confirm_all, free_port, joined, over_http

RECORD_WORDS = {"anna": "Quokkazanzibar", "berta": "Wombatsamarkand"}
QUESTION_WORDS = {"anna": "axolotlneedle", "berta": "narwhalneedle"}


class Recorder:
    """Keeps every byte that goes over HTTP, with addresses and headers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.seen = app, bytearray()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.seen += scope["raw_path"] + scope["query_string"] + repr(scope["headers"]).encode()

        async def heard() -> Message:
            message = await receive()
            self.seen += message.get("body", b"")
            return message

        async def said(message: Message) -> None:
            self.seen += message.get("body", b"") + repr(message.get("headers", "")).encode()
            await send(message)

        await self.app(scope, heard, said)


class Played:
    """A finished study with its files."""

    def __init__(
        self, folder: Path, recorder: Recorder, coordinator: CoordinatorParty, workspaces: list[Workspace]
    ) -> None:
        self.folder, self.recorder, self.coordinator, self.workspaces = folder, recorder, coordinator, workspaces
        self.log = (folder / "server.log").read_bytes()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("canary")
    tables = []
    for name, word in RECORD_WORDS.items():
        rows = "".join(f"{number},{word} Miller{number},{word}street {number}\n" for number in range(4))
        tables.append(folder / f"{name}.csv")
        tables[-1].write_text(f"id,name,street\n{rows}")
    agreement = agreements.new(
        "canary",
        list(RECORD_WORDS),
        ["name", "street"],
        rounds=2,
        sampling={"records": 4},
        encoding={"engine": "plain"},
    )
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    port = free_port()
    recorder = Recorder(create_app(coordinator))
    server = uvicorn.Server(uvicorn.Config(recorder, host="127.0.0.1", port=port, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    log = logging.getLogger("blindlabel")
    handler = logging.FileHandler(folder / "server.log")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    address = f"http://127.0.0.1:{port}"
    workspaces = joined(folder, coordinator.create(to_text(agreement), address), tables)
    sources = {}
    for name, word in QUESTION_WORDS.items():
        questions = folder / f"questions-{name}"
        for number, place in product(range(4), ("", "round-2", "round-3")):
            (questions / place).mkdir(parents=True, exist_ok=True)
            text = f'ret is_in("Miller{number}", $r) | is_in("{word}", $r)\n'
            (questions / place / f"{number}.question").write_text(text)
        sources[name] = FolderQuestions(questions)
    owners = [OwnerParty(workspace, over_http(address)(workspace)) for workspace in workspaces]
    patience = Patience()
    over = [False]
    while not all(over):
        over = [run(owner, sources[owner.store.name], once=True, tell=lambda _: None) for owner in owners]
        confirm_all(owners)
        patience.check()
    for owner in owners:
        owner.line.close()
    yield Played(folder, recorder, coordinator, workspaces)
    log.removeHandler(handler)
    handler.close()
    server.should_exit = True
    thread.join(PATIENCE)


def spellings(word: str) -> list[bytes]:
    """A word as it could appear: as it is, in other case, in UTF-16, in hexadecimal and base64 (all three
    alignments).
    """
    forms = [
        word.encode(),
        word.lower().encode(),
        word.upper().encode(),
        word.encode("utf-16-le"),
        word.encode().hex().encode(),
    ]
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + word.encode())
        forms.append(encoded[4 : len(encoded) - 4])
    return forms


def assert_absent(word: str, content: bytes, where: str) -> None:
    for form in spellings(word):
        assert form not in content, f"{word} appears in {where}"


def test_words_of_records_and_questions_are_in_no_message(played: Played) -> None:
    assert len(played.recorder.seen) > 10_000
    assert b"blindlabel-letter/1" in played.recorder.seen and b"blindlabel-message/1" not in played.recorder.seen
    for word in (*RECORD_WORDS.values(), *QUESTION_WORDS.values()):
        assert_absent(word, bytes(played.recorder.seen), "a message")


def test_words_of_records_and_questions_are_in_no_file_of_the_coordinator(played: Played) -> None:
    files = [path for path in (played.folder / "coordinator").rglob("*") if path.is_file()]
    assert len(files) > 5
    for path in files:
        for word in (*RECORD_WORDS.values(), *QUESTION_WORDS.values()):
            assert_absent(word, path.read_bytes(), str(path))


def test_log_of_the_server_holds_no_content_and_no_token(played: Played) -> None:
    assert b'"event": "request"' in played.log
    for word in (*RECORD_WORDS.values(), *QUESTION_WORDS.values()):
        assert_absent(word, played.log, "the log")
    for workspace in played.workspaces:
        assert workspace.secret("token").decode().encode() not in played.log


@pytest.mark.parametrize(("owner", "other"), [("anna", "berta"), ("berta", "anna")])
def test_words_of_an_owner_are_in_no_file_of_the_other(played: Played, owner: str, other: str) -> None:
    found_own = False
    for path in (played.folder / other).rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            found_own |= RECORD_WORDS[other].encode() in content
            assert_absent(RECORD_WORDS[owner], content, str(path))
            assert_absent(QUESTION_WORDS[owner], content, str(path))
    assert found_own, "the search would not find anything"


def candidates(home: Path) -> set[bytes]:
    """Everything the coordinator stores that could be a key: any 32 bytes in a row of any file, also of what is written
    there as text.
    """
    found: set[bytes] = set()
    for path in home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            texts = [bytes.fromhex(text.decode()) for text in re.findall(rb"(?:[0-9a-f]{2}){32,}", content)]
            texts += [
                base64.b64decode(text[: len(text) // 4 * 4]) for text in re.findall(rb"[A-Za-z0-9+/]{44,}", content)
            ]
            texts += [
                base64.urlsafe_b64decode(text[: len(text) // 4 * 4])
                for text in re.findall(rb"[A-Za-z0-9_-]{44,}", content)
            ]
            for bytes_ in (content, *texts):
                found |= {bytes_[start : start + 32] for start in range(len(bytes_) - 31)}
    return found


def test_coordinator_cannot_open_the_envelope_with_anything_it_stores(played: Played) -> None:
    home = played.folder / "coordinator"
    state = played.coordinator.load(played.workspaces[0].agreement.hash).state
    sent = state.rounds[-1].records["berta>anna"]
    locked = played.workspaces[0].bodies.read_all(sent.blob)  # the coordinator has removed it after the round
    letter = bytes.fromhex(sent.key)
    reader = _Reader(iter([letter]))
    _, header = _read_header(reader)
    boxed, start, signature = (
        reader.take(_BOXED_KEY),
        reader.take(_STREAM_HEADER),
        reader.take(bindings.crypto_sign_BYTES),
    )
    bound = blake2b(header + boxed + start + signature, b"blindlabel-headr")
    piece = reader.take(int.from_bytes(reader.take(4), "big"))
    records = Context(bytes.fromhex(state.study), "records", state.round)
    joins = {name: facts.join for name, facts in state.owners.items()}
    assert joins["anna"] is not None
    assert joins["berta"] is not None
    receiver = bytes.fromhex(joins["berta"].envelope_key)

    def opens_the_box(key: bytes) -> bool:
        return bindings.crypto_scalarmult_base(key) == receiver

    def opens_the_stream(key: bytes) -> bool:
        stream = bindings.crypto_secretstream_xchacha20poly1305_state()
        bindings.crypto_secretstream_xchacha20poly1305_init_pull(stream, start, key)
        try:
            bindings.crypto_secretstream_xchacha20poly1305_pull(stream, piece, bound)
        except (CryptoError, RuntimeError):
            return False
        return True

    def opens_the_records(key: bytes) -> bool:
        try:
            next(unlock(key, records, [locked]))
        except EnvelopeError:
            return False
        return True

    keys = candidates(home)
    assert len(keys) > 10_000
    assert bytes.fromhex(joins["anna"].envelope_key) in keys  # the search finds what is there: public keys, for one
    assert not any(opens_the_box(key) or opens_the_stream(key) or opens_the_records(key) for key in keys)
    # The right keys do open it, so the attempts above would have succeeded with them; and so they are not among what
    # was tried.
    berta = own_identity(played.workspaces[1])
    assert opens_the_box(berta.envelope_secret)
    assert opens_the_stream(SealedBox(PrivateKey(berta.envelope_secret)).decrypt(boxed))
    anna = PublicIdentity.from_bytes(bytes.fromhex(joins["anna"].envelope_key + joins["anna"].signing_key))
    content = b"".join(open_(berta, anna, Context(bytes.fromhex(state.study), "records-key", state.round), [letter]))
    assert opens_the_records(content[:32])
    assert RECORD_WORDS["anna"].encode() in b"".join(unlock(content[:32], records, [locked]))


def test_secrets_and_stores_are_for_their_user_alone(played: Played) -> None:
    for party in ("coordinator", "anna", "berta"):
        root = played.folder / party
        for path in root.rglob("*"):
            mode = path.stat().st_mode & 0o777
            if (
                path.suffix == ".key"
                or path.suffix.startswith(".sqlite")
                or ("bodies" in path.parts and path.is_file())
            ):
                assert mode & 0o077 == 0, f"{path} has mode {mode:o}"


def test_token_is_stored_hashed_and_invitation_code_not_at_all(played: Played) -> None:
    token = played.workspaces[0].secret("token").decode().encode()
    for path in (played.folder / "coordinator").rglob("*"):
        if path.is_file():
            assert token not in path.read_bytes()
