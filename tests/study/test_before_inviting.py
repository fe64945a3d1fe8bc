"""What people can know before anybody is invited or joins: costs, whether a table fits, what a question would be."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from blindlabel import __version__
from blindlabel.cli.main import run
from blindlabel.parties.accounting import costs_of, trips_of
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import words_to_read_out
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.sampling import Sampling
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from support.carried import carried
from support.study_parties import served, small_agreement


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


AGREEMENT = agreements.new(
    "goods", ["anna", "berta"], ["name", "price"], sampling={"records": 3}, encoding={"record_length": 20}
)


@pytest.fixture
def agreed(tmp_path: Path) -> str:
    path = tmp_path / "a.toml"
    path.write_text(to_text(AGREEMENT))
    return str(path)


def test_check_says_what_a_study_costs(agreed: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "coordinator", "check", agreed)
    assert (code, out) == (0, f"{AGREEMENT.hash}\n")
    for word in ("an owner sends", "relays", "of one core", "memory", "disk", "trips"):
        assert word in err
    document = json.loads(said(capsys, "coordinator", "check", agreed, "--json")[1])
    assert document["costs"]["upload"] > 10**6 and document["costs"]["seconds"] > 0
    larger = AGREEMENT.model_copy(update={"sampling": Sampling(records=500)})
    few, many = costs_of(AGREEMENT, speed=1.0), costs_of(larger, speed=1.0)
    assert many.upload > few.upload and many.seconds is not None and few.seconds is not None
    assert many.seconds > few.seconds and costs_of(AGREEMENT, speed=2.0).seconds == 2 * few.seconds


@pytest.mark.parametrize("method", ["enriched", "uniform"])
def test_trips_by_folder_are_as_many_as_was_said(tmp_path: Path, method: str) -> None:
    sampling = {"method": method, "records": 2, "blocking": ["surname"]}
    agreement = small_agreement(rounds=1, sampling=sampling)
    _, workspaces, trips = carried(tmp_path, agreement)
    assert trips == trips_of(agreement, workspaces[0].state().round)


def test_table_that_does_not_fit_is_described_as_a_whole(
    agreed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Name,cost\nx,1\n")
    code, out, _ = said(capsys, "owner", "check", agreed, str(table))
    assert code == 1 and "no column for name, price" in out and "Name, cost" in out
    assert "Perhaps: --column name=Name\n" in out
    table.write_text(
        "name,cost\nMount,1\nMount,1\n\u00ad ,2\nA very long name of a thing,3\nAnother name that is too long,4\n"
    )
    given = ("owner", "check", agreed, str(table), "--column", "price=cost")
    code, out, _ = said(capsys, *given)
    assert code == 1
    for word in ("5 rows", "no id column", "2 rows are too long", "row 5 (", "29 for name", "1 row reads like"):
        assert word in out
    fit = json.loads(said(capsys, *given, "--json")[1])
    assert (fit["fits"], fit["too_long"], fit["duplicates"], fit["enough"]) == (False, 2, 1, True)
    assert fit["expected_matches"] == {"uniform": 1.8, "enriched": 1.8, "candidates": 1}
    assert "Matches in a sample of 3, on average, at most, by method: uniform 1.8, enriched 1.8, candidates 1" in out
    assert "too few to judge a linkage by" in out
    assert fit["lengths"]["name"]["longest"] == 29
    table.write_text("id,name\n1,Mount\n2,Cable\n3,Lamp\n")
    assert said(capsys, "owner", "check", agreed, str(table), "--column", "price=")[0] == 0
    assert said(capsys, "owner", "check", agreed, str(table), "--column", "weight=")[0] == 1


def test_values_that_preparation_loses_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = {"steps": ["strip_punctuation", "collapse_space"]}
    agreement = agreements.new("goods", ["anna", "berta"], ["name"], preparation=steps, sampling={"records": 1})
    (tmp_path / "a.toml").write_text(to_text(agreement))
    (tmp_path / "t.csv").write_text("id,name\n1,???\n2,x\n")
    code, out, _ = said(capsys, "owner", "check", str(tmp_path / "a.toml"), str(tmp_path / "t.csv"))
    assert code == 0 and "Preparation leaves nothing of name in 1 row" in out


def test_owner_joins_with_a_table_that_lacks_an_attribute_and_lists_its_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = to_text(agreements.new("goods", ["anna", "berta"], ["name", "price"], sampling={"records": 2},
                                  encoding={"engine": "plain"}))  # fmt: skip
    Path("a.toml").write_text(text)
    Path("t.csv").write_text("id,name\n1,Mount\n2,Cable\n3,Lamp\n")
    Path("stick").mkdir()
    said(capsys, "coordinator", "invite", "a.toml", "--at", "home", "--to", "inv", "--address", "folder:stick")
    for name in ("anna", "berta"):
        join = ("owner", "join", f"inv/{name}.invitation", "t.csv", "--at", name, "--column", "price=")
        assert said(capsys, *join, "--accept-weaker")[0] == 0
    assert said(capsys, "owner", "records", "--at", "anna")[0] == 1  # nothing is drawn yet
    serve = ("coordinator", "serve", "--at", "home", "--via", "folder:stick", "--once")
    assert said(capsys, *serve)[0] == 0
    for name in ("anna", "berta"):
        assert said(capsys, "owner", "verify", "--at", name)[0] == 0
    for name, peer in (("anna", "berta"), ("berta", "anna")):
        heard = " ".join(words_to_read_out(Workspace.open(Path(peer)), name))
        assert said(capsys, "owner", "verify", peer, "--at", name, "--words", heard)[0] == 0
    assert said(capsys, *serve)[0] == 0
    code, _, err = said(capsys, "owner", "run", "--at", "anna", "--once")
    assert code == 0 and "carry" in err and "from-anna" in err
    rows = json.loads(said(capsys, "owner", "records", "--at", "anna", "--json")[1])
    assert len(rows) == 2 and all(row["values"]["price"] == "" and row["state"] == "open" for row in rows)
    assert rows[0]["id"] in said(capsys, "owner", "records", "--at", "anna")[1]


def test_question_is_checked_under_an_agreement(
    agreed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.question").write_text('ret is_in("mount", $r.weight)')
    assert said(capsys, "check", str(tmp_path / "q.question"))[0] == 0
    code, out, _ = said(capsys, "check", str(tmp_path / "q.question"), "--agreement", agreed)
    assert code == 1 and "weight" in out


def test_health_command_says_what_the_server_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "home"))
    coordinator.create(to_text(small_agreement()))
    with served(coordinator) as address:
        assert said(capsys, "coordinator", "health", "--address", address)[:2] == (
            0,
            f"well: 1 open study, version {__version__}\n",
        )
        shutil.rmtree(tmp_path / "home" / "keys")
        code, _, err = said(capsys, "coordinator", "health", "--address", address)
        assert code == 3 and "keys cannot be read" in err
    code, _, err = said(capsys, "coordinator", "health", "--address", "http://127.0.0.1:1")
    assert code == 3 and "does not answer" in err


class _Another(BaseHTTPRequestHandler):
    """A server of something else, which also speaks JSON."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "UP"}')

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_health_command_says_that_something_else_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with HTTPServer(("127.0.0.1", 0), _Another) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        code, _, err = said(capsys, "coordinator", "health", "--address", f"http://127.0.0.1:{server.server_port}")
        thread.join()
    assert code == 3 and "is not a coordinator" in err


def test_pages_are_read_without_a_network_and_shells_complete(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "operations" in said(capsys, "help")[1]
    assert said(capsys, "help", "operations")[1].startswith("# ")
    assert said(capsys, "help", "nothing")[0] == 1
    for shell in ("bash", "zsh", "fish"):
        assert "_BLINDLABEL_COMPLETE" in said(capsys, "completion", shell)[1]
    assert said(capsys, "completion", "cmd")[0] == 1
    for name, value in (
        ("_BLINDLABEL_COMPLETE", "complete_bash"),
        ("COMP_WORDS", "blindlabel own"),
        ("COMP_CWORD", "1"),
    ):
        monkeypatch.setenv(name, value)
    assert said(capsys)[1].split() == ["owner"]
