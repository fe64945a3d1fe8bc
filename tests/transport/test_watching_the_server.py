"""Those who watch a coordinator: it starts only where it can serve, health and metrics are true, log lines are JSON."""

from __future__ import annotations

import json
import logging
import shutil
import socket
import urllib.request
from pathlib import Path

import httpx
import pytest

from blindlabel.cli.main import run
from blindlabel.cli.serving import server_front, server_limits
from blindlabel.errors import OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import PASSPHRASE_VARIABLE
from blindlabel.transport.events import Counted, JsonLines, failure, listening, log_event, text
from blindlabel.transport.server_limits import ServerLimits
from support.study_parties import served, small_agreement


def a_study(folder: Path, passphrase: str | None = None) -> CoordinatorParty:
    coordinator = CoordinatorParty(CoordinatorStore(folder, passphrase=passphrase))
    coordinator.create(to_text(small_agreement()))
    return coordinator


@pytest.mark.parametrize("given", ["wrong horse", None])
@pytest.mark.parametrize("via", [[], ["--via", "folder:."]])
def test_server_does_not_start_without_the_right_passphrase(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: str | None,
    via: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    a_study(tmp_path / "home", "right horse")
    monkeypatch.delenv(PASSPHRASE_VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(PASSPHRASE_VARIABLE, given)
    assert run(["coordinator", "serve", "--at", str(tmp_path / "home"), "--port", "0", *via, "--once"]) == 1
    assert "assphrase" in capsys.readouterr().err


def test_port_in_use_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a_study(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["coordinator", "serve", "--at", str(tmp_path), "--port", str(port)]) == 3
    (line,) = capsys.readouterr().err.strip().splitlines()
    said = json.loads(line)
    assert said["sentence"] == (
        f"blindlabel: Port {port} on 127.0.0.1 cannot be opened: it is in use. Choose another with --port."
    )
    assert said["level"] == "error"


def test_limits_and_proxies_can_be_named_and_what_is_none_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    a_study(tmp_path)
    (tmp_path / "bad.pem").write_text("no certificate")
    refused = {
        "--limit help": "--limit help is not a limit of the server. Its limits are: largest_body=",
        "--limit head_seconds=soon": "--limit head_seconds=soon is not a limit",
        "--proxy proxy.example": "--proxy takes an address or a network of a proxy",
        f"--certificate {tmp_path / 'bad.pem'} --key {tmp_path / 'bad.pem'}": "cannot be used for TLS",
        f"--certificate {tmp_path / 'nothing'} --key {tmp_path / 'bad.pem'}": "cannot be used for TLS",
        f"--key {tmp_path / 'bad.pem'}": "TLS needs both --certificate and --key.",
    }
    for options, sentence in refused.items():
        assert run(["coordinator", "serve", "--at", str(tmp_path), "--port", "0", *options.split()]) == 1, options
        said = capsys.readouterr().err
        assert sentence in said and "Traceback" not in said
    monkeypatch.setenv("BLINDLABEL_PROXY", "no.address")
    assert run(["coordinator", "serve", "--at", str(tmp_path), "--port", "0"]) == 1
    assert "no.address" in capsys.readouterr().err
    limits = server_limits(["head_seconds=3", "connections=7"])
    assert limits == ServerLimits(head_seconds=3.0, connections=7)
    settings = server_front(limits, ["10.0.0.7", "10.1.0.0/16"], None, None).settings
    assert (settings["proxy_headers"], settings["forwarded_allow_ips"]) == (True, ["10.0.0.7/32", "10.1.0.0/16"])
    assert server_front(limits, [], None, None).settings["proxy_headers"] is False


def test_health_says_whether_studies_can_be_served(tmp_path: Path) -> None:
    coordinator = a_study(tmp_path)
    with served(coordinator) as address:
        well = httpx.get(f"{address}/health", trust_env=False)
        assert (well.status_code, well.json()["status"], well.json()["studies"]) == (200, "well", 1)
        assert "blindlabel_up 1" in text(coordinator, Counted())
        shutil.rmtree(tmp_path / "keys")
        ill = httpx.get(f"{address}/health", trust_env=False)
        assert ill.status_code == 503
        assert "keys cannot be read" in ill.json()["sentence"]
        assert 'blindlabel_studies{state="unserved"} 1' in text(coordinator, Counted())


def test_database_that_is_removed_or_replaced_while_serving_is_told_as_that(tmp_path: Path) -> None:
    coordinator, file = a_study(tmp_path), tmp_path / "coordinator.sqlite"
    with served(coordinator) as address:

        def health() -> tuple[int, str]:
            said = httpx.get(f"{address}/health", trust_env=False)
            return said.status_code, said.json().get("sentence", "")

        removed = (
            503,
            (
                "The database was removed, or another put in its place, while the program ran. Stop the program, put"
                " database and folder back together, and start it again."
            ),
        )
        assert health()[0] == 200
        file.rename(tmp_path / "away")
        assert health() == health() == removed
        assert not file.exists(), "no new one was made in its place"
        shutil.copy(tmp_path / "away", file)
        assert health() == removed
        (tmp_path / "away").rename(file)
        assert health()[0] == 200, "it is the same again"
    assert CoordinatorStore(tmp_path).studies()


def test_metrics_are_on_this_machine_in_prometheus_form(tmp_path: Path) -> None:
    counted = Counted()
    counted.request("/health", 200, 0.5, 10, 20)
    with listening(a_study(tmp_path), counted, 0) as port:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        with pytest.raises(OutsideError, match="metrics cannot be opened"), listening(a_study(tmp_path), counted, port):
            pass
    assert 'blindlabel_requests_total{route="/health",status="200"} 1' in lines
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {line.partition("{")[0].partition(" ")[0] for line in lines if not line.startswith("#")} <= names


def test_every_log_line_is_one_json_object_that_says_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("blindlabel.test")
    with caplog.at_level(logging.INFO):
        log_event(log, logging.ERROR, "work failed", study="abc", **failure(OutsideError("The disk is full.")))
        log_event(log, logging.ERROR, "work failed", **failure(ValueError("content of somebody")))
        log.warning("a library\nsays something")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["event"] for line in lines] == ["work failed", "work failed", "said"]
    assert lines[0]["sentence"] == "The disk is full."
    assert lines[1]["kind"] == "ValueError" and "content of somebody" not in json.dumps(lines[1])
    assert lines[2]["text"] == "a library"
    assert all(line["time"] and line["level"] for line in lines)
