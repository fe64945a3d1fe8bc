"""The coordinator's HTTP interface: tokens, limits, interrupted bodies, refusals as typed errors, several processes
over one database.
"""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from blindlabel.envelope.identity import PublicIdentity, new_identity
from blindlabel.errors import InputError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity, signed_by
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.letters import LARGEST_LETTER, Letters
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import Replayed, TooEarly, WrongSender
from blindlabel.protocol.shape import blob_of
from blindlabel.protocol.standing import Known, Standing
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.files import BodyFiles
from blindlabel.storage.workspace import Workspace
from blindlabel.transport import server_limits
from blindlabel.transport.client import HttpTransport, Untrusted
from blindlabel.transport.connecting import Reaching, connect, letters_of, read_authority
from blindlabel.transport.replies import CHECK, LIFE, asked, checksum
from blindlabel.transport.server_limits import RateLimit, ServerLimits, TooManyRequests
from support.patience import Patience
from support.study_parties import (
    free_port,
    joined,
    over_http,
    play,
    served,
    small_agreement,
    strangers_letters,
    write_person_tables,
)


class Served:
    """A coordinator with a study that two owners have joined."""

    def __init__(self, coordinator: CoordinatorParty, address: str, workspaces: list[Workspace], study: str) -> None:
        self.coordinator, self.address, self.workspaces, self.study = coordinator, address, workspaces, study
        self.http = httpx.Client(base_url=address, headers=self.bearer(0), trust_env=False)

    def bearer(self, number: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.workspaces[number].secret('token').decode()}"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    agreement = small_agreement()
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    limits = ServerLimits(largest_body=2**22, largest_part=2**21, joins_per_second=1000)
    with served(coordinator, limits) as address:
        workspaces = joined(folder, coordinator.create(to_text(agreement), address), write_person_tables(folder))
        for workspace in workspaces:
            owner = OwnerParty(workspace, over_http(address)(workspace))
            owner.send()
            owner.line.close()
        Patience().wait_until(lambda: coordinator.load(agreement.hash).state.keys_sent)  # all that it has to do
        found = Served(coordinator, address, workspaces, agreement.hash)
        yield found
        found.http.close()


def test_health_and_interface_document(running: Served) -> None:
    assert running.http.get("/health").json()["status"] == "well"
    document = running.http.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/health",
        "/v1/messages",
        "/v1/studies/{study}/messages",
        "/v1/studies/{study}/bodies/{hash}",
        "/v1/studies/{study}/bodies/{hash}/arrived",
    }
    assert running.http.get("/docs").status_code == 404


@pytest.mark.parametrize(
    "header", [{}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {secrets.token_urlsafe(32)}"}]
)
@pytest.mark.parametrize("method", ["messages", "body", "upload"])
def test_nothing_without_a_token(running: Served, header: dict[str, str], method: str) -> None:
    blob = blob_of(b"abc")
    base = f"{running.address}/v1/studies/{running.study}"
    with httpx.Client(trust_env=False, headers=header) as client:
        response = {
            "messages": lambda: client.get(f"{base}/messages"),
            "body": lambda: client.get(f"{base}/bodies/{blob.hash}"),
            "upload": lambda: client.put(f"{base}/bodies/{blob.hash}", params={"length": 3}, content=b"abc"),
        }[method]()
    assert response.status_code == 403
    assert response.json()["error"] == "sender"
    assert not running.coordinator.store.bodies(running.study).has(blob)


def test_a_stranger_learns_that_a_study_runs_whose_agreement_it_has_and_nothing_of_its_owners(running: Served) -> None:
    """Without an invitation; with the coordinator's public keys, as somebody has who saw its letters."""
    stranger, keys = new_identity(), running.coordinator._identity(running.study).public
    signing, envelope = stranger.public.to_bytes().hex()[64:], stranger.public.to_bytes().hex()[:64]
    join = messages.Join(records=3, envelope_key=envelope, signing_key=signing, token_hash="0" * 64, proof="0" * 128)

    def told(study: str, name: str, to: PublicIdentity) -> tuple[int, str]:
        wire = signed_by(stranger, Message(study, name, "coordinator", 0, 1, join)).wire
        with httpx.Client(trust_env=False) as client:
            answer = client.post(f"{running.address}/v1/messages", content=Letters(study, stranger, to).seal(wire))
        return answer.status_code, answer.json()["error"]

    assert told("ab" * 32, "anna", keys) == (404, "study") != told(running.study, "anna", new_identity().public)
    assert {told(running.study, name, keys) for name in ("anna", "berta", "zoe")} == {(403, "sender")}
    health = httpx.get(f"{running.address}/health", trust_env=False).json()
    assert set(health) == {"status", "version", "studies", "last_look"} and health["studies"] == 1


def test_token_of_one_owner_does_not_speak_for_another(running: Served) -> None:
    berta = running.workspaces[1]
    confirm = messages.Confirm(peer="anna", envelope_key="0" * 64)
    message = Message(running.study, "berta", "coordinator", 0, 9, confirm)
    response = running.http.post(
        "/v1/messages", content=letters_of(berta).seal(signed_by(own_identity(berta), message).wire)
    )
    assert (response.status_code, response.json()["error"]) == (403, "sender")


def test_refusals_come_back_as_the_same_errors(running: Served, tmp_path: Path) -> None:
    anna = running.workspaces[0]
    transport, bodies = over_http(running.address)(anna), BodyFiles(tmp_path)
    blob = bodies.write([b"records"])
    records = Message(running.study, "anna", "berta", 0, 9, messages.Records(count=8, blob=blob, key="ab" * 64))
    with pytest.raises(TooEarly):
        transport.deliver(signed_by(own_identity(anna), records).wire, bodies)
    join = anna.state().join
    assert join is not None
    other = Message(running.study, "anna", "coordinator", 0, 9, join)
    with pytest.raises(Replayed):
        transport.deliver(signed_by(own_identity(anna), other).wire, bodies)
    with pytest.raises(WrongSender):
        transport.deliver(signed_by(own_identity(running.workspaces[1]), other).wire, bodies)
    transport.close()


def test_body_continues_where_the_connection_broke(running: Served, tmp_path: Path) -> None:
    content = secrets.token_bytes(3_000_000)
    blob = blob_of(content)
    request = (
        f"PUT /v1/studies/{running.study}/bodies/{blob.hash}?length={blob.length} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: {running.bearer(0)['Authorization']}\r\nContent-Length: 2000000\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(running.address.rsplit(":", 1)[1]))) as connection:
        connection.sendall(request.encode() + content[:1_300_000])  # and then the line is cut
    url = f"/v1/studies/{running.study}/bodies/{blob.hash}"

    def received() -> int:
        said = running.http.get(f"{url}/arrived", params={"length": blob.length}).json()
        return int(said["received"])

    Patience().wait_until(received)
    assert received() < blob.length
    bodies = BodyFiles(tmp_path)
    assert bodies.write([content]) == blob
    transport = HttpTransport(
        running.address, letters_of(running.workspaces[0]), running.workspaces[0].secret("token").decode()
    )
    sent: list[int] = []
    # What came before the cut may still be on its way to the disk: then it is tried again, as owners do.
    transport._patiently(lambda: transport._upload(blob, bodies, lambda done, _: sent.append(done)))
    transport.close()
    assert sent[-1] == blob.length
    assert running.coordinator.store.bodies(running.study).read_all(blob) == content


def test_polls_that_bring_nothing_write_no_line_in_the_log(running: Served, caplog: pytest.LogCaptureFixture) -> None:
    url = f"/v1/studies/{running.study}/messages"
    caplog.set_level(logging.INFO, "blindlabel")
    for _ in range(3):
        assert running.http.get(url, params={"after": 1000}).json()["messages"] == []
        assert running.http.get("/health").status_code == 200
    assert running.http.get(url, params={"after": 0}).json()["messages"]
    assert running.http.get(url, headers={"Authorization": ""}).status_code == 403
    Patience().wait_until(lambda: len(caplog.records) >= 2)  # a line is written after its reply
    written = [json.loads(line.getMessage()) for line in caplog.records]
    assert [(line["event"], line["status"]) for line in written] == [("request", 200), ("request", 403)]


def test_body_at_a_wrong_offset_or_with_a_wrong_hash_is_refused(running: Served) -> None:
    blob = blob_of(b"0123456789")
    url = f"/v1/studies/{running.study}/bodies/{blob.hash}"
    assert running.http.put(url, params={"length": 10, "offset": 4}, content=b"456").json()["error"] == "offset"
    assert running.http.put(url, params={"length": 10}, content=b"0123456780").json()["error"] == "damaged"
    assert running.http.put(url, params={"length": 10}, content=b"0123456789").json() == {
        "received": 10,
        "complete": True,
    }
    assert running.http.put(url, params={"length": 10, "offset": 10}, content=b"").json()["complete"]


def test_request_that_was_changed_on_its_way_is_refused_as_damaged(running: Served) -> None:
    """Its sender then makes it again. A letter in which one bit changed ended `owner run`."""
    path, query = f"/v1/studies/{running.study}/messages", b"after=1"
    headers = {**running.bearer(0), LIFE: ""}
    headers[CHECK] = f"{asked('GET', path, query, headers)} {checksum(b'')}"
    assert running.http.get(f"{path}?after=1", headers=headers).status_code == 200
    for url, changed in (
        (f"{path}?after=0", headers),
        (f"{path}?after=1", headers | running.bearer(1)),
        (f"{path}?after=1", headers | {LIFE: "ab"}),
        (f"{path}?after=1", {LIFE: ""}),
    ):
        refused = running.http.get(url, headers=changed)
        assert (refused.status_code, refused.json()["error"]) == (422, "damaged")
    headers[CHECK] = f"{asked('POST', '/v1/messages', b'', headers)} {checksum(b'letter')}"
    said = [running.http.post("/v1/messages", headers=headers, content=one).json() for one in (b"lettes", b"letter")]
    assert [one["error"] for one in said] == ["damaged", "malformed"]


def test_sizes_are_limited(running: Served) -> None:
    url = f"/v1/studies/{running.study}/bodies/{'0' * 64}"
    assert running.http.put(url, params={"length": 2**22 + 1}, content=b"x").status_code == 413
    assert running.http.put(url, params={"length": 2**22}, content=bytes(2**21 + 1)).status_code == 413
    assert running.http.post("/v1/messages", content=bytes(LARGEST_LETTER + 1)).status_code == 413


def test_body_for_another_owner_cannot_be_fetched(running: Served) -> None:
    blob = running.coordinator.store.bodies(running.study).write([b"for nobody"])
    assert running.http.get(f"/v1/studies/{running.study}/bodies/{blob.hash}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/v1/studies/zz/messages", f"/v1/studies/{'A' * 64}/messages", "/v1/studies/../../etc/messages"]
)
def test_odd_addresses_are_refused(running: Served, path: str) -> None:
    assert running.http.get(path).status_code in (403, 404, 422)


def test_waiting_for_messages_ends_in_time(running: Served) -> None:
    response = running.http.get(
        f"/v1/studies/{running.study}/messages", params={"after": 10_000, "wait": 0.3}, timeout=30
    )
    assert response.json()["messages"] == []


def test_answer_to_a_poll_says_how_it_stands_when_it_ends(running: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said how it stood when it came, up to 25 seconds before."""
    heard, store, changed = running.coordinator.hears, running.coordinator.store, list[str]()

    def hears(study: str, owner: str, known: Known) -> Standing:
        standing = heard(study, owner, known)
        if not changed:
            store.begin_life()
            changed.append(standing.life)
        return standing

    monkeypatch.setattr(running.coordinator, "hears", hears)
    asked = {"after": 10_000, "wait": 0.1}
    answer = running.http.get(f"/v1/studies/{running.study}/messages", params=asked, timeout=30).json()
    assert answer["standing"]["life"] == store.life() != changed[0]


def test_callers_that_ask_too_often_are_slowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_limits, "time", SimpleNamespace(monotonic=lambda: 7.0))  # however long the machine takes
    limit = RateLimit(1.0, 3.0)
    for _ in range(3):
        limit.check("anna")
    with pytest.raises(TooManyRequests):
        limit.check("anna")
    limit.check("berta")


def test_unreachable_coordinator_is_said_after_the_patience(running: Served) -> None:
    transport = HttpTransport(f"http://127.0.0.1:{free_port()}", strangers_letters(), "x" * 30, patience=0.3)
    with pytest.raises(Unreachable, match="cannot be reached"):
        transport.fetch(Known(), 0)
    transport.close()


@pytest.mark.slow
def test_two_coordinators_over_one_database_double_nothing(tmp_path: Path) -> None:
    agreement = small_agreement(records=4)
    one, two = (
        CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")),
        CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")),
    )
    with served(one) as first, served(two) as second:
        workspaces = joined(tmp_path, one.create(to_text(agreement), first), write_person_tables(tmp_path, rows=4))
        play(workspaces, lambda w: over_http(first if w.name == "anna" else second)(w))
    state = two.load(agreement.hash).state
    assert state.ended
    for owner, facts in state.owners.items():
        numbers = [messages.parse(wire).message.sequence for wire in one.store.outgoing(agreement.hash, owner, 0)]
        assert numbers == list(range(1, facts.sent + 1))


def test_deleted_study_leaves_no_bytes(tmp_path: Path) -> None:
    kept, gone = small_agreement(records=4), small_agreement(records=4, name="gone")
    home = tmp_path / "coordinator"
    coordinator = CoordinatorParty(CoordinatorStore(home))
    coordinator.create(to_text(kept))
    coordinator.create(to_text(gone))
    for agreement in (kept, gone):
        coordinator.work(agreement.hash)
    state = coordinator.load(gone.hash).state
    traces = [gone.hash, gone.salt, state.owners["anna"].invitation_key]
    secret = (home / "keys" / gone.hash / "signing.key").read_bytes()[-64:]
    coordinator.delete(gone.hash)
    left = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    for trace in traces:
        assert not any(trace.encode() in content or bytes.fromhex(trace) in content for content in left)
    assert not any(secret[:32] in content or secret[32:] in content for content in left)
    assert coordinator.load(kept.hash).state.owners


def test_certificate_that_is_not_trusted_fails_at_once_and_names_the_option(tmp_path: Path) -> None:
    certificate, key = tmp_path / "tls.pem", tmp_path / "tls.key"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    more = f"-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run([*command.split(), *more.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calls: list[int] = []

        def greet() -> None:
            for number in range(2):
                with contextlib.suppress(OSError):
                    raw = listener.accept()[0]
                    calls.append(number)
                    context.wrap_socket(raw, server_side=True).close()

        threading.Thread(target=greet, daemon=True).start()
        address = f"https://127.0.0.1:{listener.getsockname()[1]}"
        untrusting = HttpTransport(address, strangers_letters(), "t" * 30, patience=3600)
        with pytest.raises(Untrusted, match="--ca"):
            untrusting.fetch(Known(), 0)
        untrusting.close()
        assert calls == [0], "tried once"
        trusting = HttpTransport(
            address, strangers_letters(), "t" * 30, authority=read_authority(certificate), patience=0
        )
        with pytest.raises(Unreachable):  # the connection is good; this server says nothing
            trusting.fetch(Known(), 0)
        trusting.close()


def test_way_to_the_coordinator_and_its_certificate_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    invitation = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator")).create(to_text(small_agreement()))[0]
    workspace = joined(tmp_path, [invitation], write_person_tables(tmp_path))[0]
    (tmp_path / "stick").mkdir()
    monkeypatch.chdir(tmp_path)
    connect(workspace, Reaching("folder:stick")).close()
    monkeypatch.chdir(tmp_path / "coordinator")
    connect(workspace).close()  # from another folder, without saying it again
    assert workspace.settings["via"] == f"folder:{tmp_path / 'stick'}"
    (tmp_path / "no.pem").write_text("no certificate")
    with pytest.raises(InputError, match="cannot be read as a certificate"):
        connect(workspace, Reaching(authority=tmp_path / "no.pem"))
