"""From a hospital to the coordinator: through its proxy, past a gateway that wants a certificate, never in clear."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.standing import Known
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import write_invitation
from blindlabel.storage.workspace import Workspace
from blindlabel.transport import client
from blindlabel.transport.client import HttpTransport, Untrusted
from blindlabel.transport.connecting import Reaching, connect
from blindlabel.transport.server import create_app
from support.egress import OUTSIDE, certificate, certificate_of_the_future, egress
from support.patience import PATIENCE, Patience
from support.study_parties import small_agreement, strangers_letters, write_person_tables


@contextlib.contextmanager
def served_with_tls(coordinator: CoordinatorParty, pem: Path, key: Path, wanted: Path | None = None) -> Iterator[int]:
    """The coordinator over TLS, for those alone who show the wanted certificate; its port."""
    more: dict[str, Any] = {"ssl_certfile": str(pem), "ssl_keyfile": str(key)}
    if wanted is not None:
        more |= {"ssl_ca_certs": str(wanted), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(create_app(coordinator), log_config=None, access_log=False, **more)
    listening, server = socket.create_server(("127.0.0.1", 0)), uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    Patience().wait_until(lambda: server.started)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


@pytest.fixture
def coordinator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CoordinatorParty:
    """A coordinator with one study, and an invitation of it. Owners have no patience."""
    monkeypatch.setattr(client, "_FIRST_PAUSE", 60.0)
    made = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    write_person_tables(tmp_path)
    write_invitation(made.create(to_text(small_agreement()))[0], tmp_path / "anna.invitation")
    return made


def join(tmp_path: Path, *more: str) -> int:
    files = [str(tmp_path / "anna.invitation"), str(tmp_path / "tables-0" / "a.csv")]
    return run(["owner", "join", *files, "--at", str(tmp_path / "anna"), "--accept-weaker", *more])


def owner(tmp_path: Path, *words: str) -> int:
    return run(["owner", *words, "--at", str(tmp_path / "anna")])


def test_owner_behind_a_proxy_joins_and_the_proxy_is_remembered(
    tmp_path: Path, coordinator: CoordinatorParty, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pem, key = certificate(tmp_path, OUTSIDE)
    with served_with_tls(coordinator, pem, key) as port, egress(port, "secret") as proxy:
        known = proxy.address.replace("//", "//ward:secret@")
        address = ["--via", f"https://{OUTSIDE}:8470", "--ca", str(pem)]
        assert join(tmp_path, *address, "--proxy", proxy.address) == 3
        assert "through the proxy 127.0.0.1: 407 Proxy Authentication Required." in capsys.readouterr().err
        assert owner(tmp_path, "run", "--once", "--proxy", known) == 0
        assert "secret" not in capsys.readouterr().err
        asked = len(proxy.asked)
        assert proxy.asked[-1] == f"CONNECT {OUTSIDE}:8470 HTTP/1.1"
        assert owner(tmp_path, "verify") == 1, "as remembered"
        assert "have not all joined yet" in capsys.readouterr().err, "the coordinator was reached"
        assert len(proxy.asked) > asked
        state = coordinator.load(coordinator.store.studies()[0].study).state
        assert state.owners["anna"].join is not None
        assert owner(tmp_path, "run", "--once", "--proxy", "none") == 3
        monkeypatch.setenv("HTTPS_PROXY", known)
        assert owner(tmp_path, "run", "--once") == 3, "the environment only on request"
        assert owner(tmp_path, "run", "--once", "--proxy", "environment") == 0


def test_gateway_that_asks_for_a_certificate_gets_the_owners(
    tmp_path: Path, coordinator: CoordinatorParty, capsys: pytest.CaptureFixture[str]
) -> None:
    pem, key = certificate(tmp_path, "localhost")
    own, own_key = certificate(tmp_path, "ward")
    both = tmp_path / "both.pem"
    both.write_text(own.read_text() + own_key.read_text())
    with served_with_tls(coordinator, pem, key, own) as port:
        address = ["--via", f"https://127.0.0.1:{port}", "--ca", str(pem)]
        assert join(tmp_path, *address) == 3
        said = capsys.readouterr().err
        assert "--client-certificate" in said, said
        assert join(tmp_path, *address, "--client-certificate", str(own)) == 1, "a certificate without its key"
        assert "its key" in capsys.readouterr().err
        assert owner(tmp_path, "run", "--once", "--client-certificate", str(both)) == 0
        assert owner(tmp_path, "run", "--once") == 0, "as remembered"


def _unreachable(*_: object, **__: object) -> None:
    raise httpx.ConnectError("[Errno 111] Connection refused")


@pytest.mark.parametrize("address", ["http://coordinator.example:8470", "http://10.0.0.7"])
def test_token_travels_in_clear_only_where_that_is_said(
    tmp_path: Path,
    coordinator: CoordinatorParty,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(httpx.Client, "send", _unreachable)
    assert join(tmp_path, "--via", address) == 1
    assert "your token would travel in clear" in capsys.readouterr().err
    assert not (tmp_path / "anna").exists()
    assert join(tmp_path, "--via", "https://127.0.0.1:1") == 3
    assert owner(tmp_path, "run", "--once", "--via", address) == 1
    assert "your token would travel in clear" in capsys.readouterr().err
    assert Workspace.open(tmp_path / "anna").settings["via"] == "https://127.0.0.1:1", "nothing is remembered"
    assert owner(tmp_path, "run", "--once", "--via", address, "--insecure") == 3
    assert Workspace.open(tmp_path / "anna").settings["via"] == address


@pytest.mark.parametrize("proxy", ["proxy", "proxy:3128", "socks5://proxy:1", "http://proxy", "http://proxy:x"])
def test_proxy_that_is_none_is_a_sentence(
    tmp_path: Path, coordinator: CoordinatorParty, proxy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert join(tmp_path, "--via", "https://127.0.0.1:1", "--proxy", proxy) == 1
    assert "--proxy takes http://host:port" in capsys.readouterr().err
    assert not (tmp_path / "anna").exists()


def test_proxy_sees_no_token(tmp_path: Path, coordinator: CoordinatorParty) -> None:
    assert join(tmp_path, "--via", "http://127.0.0.1:1") == 3
    with pytest.raises(InputError, match="A proxy could read what travels"):
        connect(Workspace.open(tmp_path / "anna"), Reaching(proxy="http://proxy:3128"))


def test_once_speaks_within_five_seconds_and_without_numbers_of_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves only while somebody waits."""
    now = [0.0]
    monkeypatch.setattr("blindlabel.transport.client.time.monotonic", lambda: now[0])
    monkeypatch.setattr("blindlabel.transport.client.time.sleep", lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(httpx.Client, "send", _unreachable)
    line = HttpTransport("http://127.0.0.1:1", strangers_letters(), "t" * 30, patience=4.0)
    with pytest.raises(Unreachable, match=r"cannot be reached: Connection refused\.$"):
        line.fetch(Known(), 0.0)
    assert now[0] <= 5.0
    assert line._client.timeout.connect is not None and line._client.timeout.connect <= 5.0


def test_certificate_that_is_not_valid_yet_leads_to_the_clock(tmp_path: Path, coordinator: CoordinatorParty) -> None:
    pem, key = certificate_of_the_future(tmp_path)
    with served_with_tls(coordinator, pem, key) as port:
        line = HttpTransport(f"https://127.0.0.1:{port}", strangers_letters(), "t" * 30, authority=pem.read_text())
        with pytest.raises(Untrusted, match=r"not yet valid\)\. Is this machine's clock right\? It says 20"):
            line.fetch(Known(), 0.0)
        line.close()
