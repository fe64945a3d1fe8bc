"""The commands of coordinator and owner where something is wrong: a sentence, the right exit code, nothing half
made.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.secret_files import read_invitation
from blindlabel.storage.workspace import Workspace
from support.patience import Patience
from support.study_parties import free_port, served, small_agreement, write_person_tables

Said = tuple[int, str, str]
Tell = Callable[..., Said]


@pytest.fixture
def tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tell:
    """Runs a command line in a folder of its own: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def one(line: str) -> Said:
        capsys.readouterr()
        code = run(line.split())
        said = capsys.readouterr()
        return code, said.out, said.err

    return one


NEW = (
    "coordinator new a.toml --name persons --owners anna,berta --attributes given_name,surname --records 4 --engine"
    " plain"
)


def test_agreement_is_written_checked_and_compared(tell: Tell, tmp_path: Path) -> None:
    assert tell(NEW)[0] == 0
    assert tell(NEW)[0] == 1
    code, out, _ = tell("coordinator check a.toml --json")
    assert code == 0
    assert len(json.loads(out)["hash"]) == 64
    Path("b.toml").write_text(Path("a.toml").read_text().replace("rounds = 3", "rounds = 5"))
    code, out, _ = tell("coordinator compare a.toml b.toml")
    assert (code, out) == (1, "rounds: 3 here, 5 there\n")
    assert tell("coordinator compare a.toml a.toml")[:2] == (0, "The agreements are the same.\n")
    Path("b.toml").write_text("name = 1\nowners = 2\n")
    code, _, err = tell("coordinator check b.toml")
    assert code == 1
    assert "b.toml cannot be used" in err
    assert "owners:" in err
    assert tell("coordinator check nothing.toml")[0] == 1


def test_study_begins_once_and_its_invitations_are_private(tell: Tell) -> None:
    tell(NEW)
    assert tell("coordinator status --at home")[0] == 1
    assert tell("coordinator invite a.toml --at home --to out --address http://127.0.0.1:1")[0] == 0
    assert Path("out/anna.invitation").stat().st_mode & 0o777 == 0o600
    code, _, err = tell("coordinator invite a.toml --at home --to again")
    assert code == 1
    assert "already" in err
    code, out, _ = tell("coordinator status --at home --json")
    (stands,) = json.loads(out)
    assert stands["waiting"] == ["anna has to join", "berta has to join"]
    assert stands["budget"]["records_asked"] == 12
    assert tell("coordinator status other --at home")[0] == 1
    assert tell("export home --study persons --to x.csv")[0] == 1
    assert tell("coordinator delete persons --at home --yes")[0] == 0
    assert json.loads(tell("coordinator status --at home --json")[1]) == []


@pytest.mark.parametrize(("day", "passed"), [("2020-01-31", True), ("2999-01-31", False)])
def test_deadline_is_said_and_whether_it_has_passed(tell: Tell, tmp_path: Path, day: str, passed: bool) -> None:
    table = write_person_tables(tmp_path, rows=4)[0]
    tell(NEW)
    Path("a.toml").write_text(Path("a.toml").read_text().replace('deadline = ""', f'deadline = "{day}"'))
    tell("coordinator invite a.toml --at home --to out --address http://127.0.0.1:1")
    tell(f"owner join out/anna.invitation {table} --at anna --accept-weaker")
    for command in ("coordinator status --at home", "owner status --at anna"):
        said = tell(command)[1]
        assert f"to be done by {day}" in said
        assert ("which has passed" in said) == passed
    assert json.loads(tell("coordinator status --at home --json")[1])[0]["overdue"] == passed
    assert json.loads(tell("owner status --at anna --json")[1])["overdue"] == passed


def test_status_says_what_the_machine_is_at_and_how_far(tell: Tell, tmp_path: Path) -> None:
    table = write_person_tables(tmp_path, rows=4)[0]
    tell(NEW)
    tell("coordinator invite a.toml --at home --to out --address http://127.0.0.1:1")
    tell(f"owner join out/anna.invitation {table} --at anna --accept-weaker")
    workspace = Workspace.open(Path("anna"))
    workspace.say("work", 0.25, "round 1: ask berta")
    assert "at work now" not in tell("owner status --at anna")[1]
    with workspace.locked_for("owner run"):
        assert "  at work now: round 1: ask berta, 25%\n" in tell("owner status --at anna")[1]
    workspace.say("stopped", 0.0, "The disk is full.")
    assert "`owner run` stopped with these words: The disk is full.\n" in tell("owner status --at anna")[1]


def test_owner_joins_without_the_coordinator_and_is_told_what_is_missing(tell: Tell, tmp_path: Path) -> None:
    table = write_person_tables(tmp_path, rows=4)[0]
    tell(NEW)
    tell(f"coordinator invite a.toml --at home --to out --address http://127.0.0.1:{free_port()}")
    code, _, err = tell(f"owner join out/anna.invitation {table} --at anna --column surname=nothing --accept-weaker")
    assert code == 1
    assert "has no column 'nothing'" in err
    assert not Path("anna").exists()
    code, out, err = tell(f"owner join out/anna.invitation {table} --at anna --accept-weaker")
    assert (code, out) == (3, "")
    assert "cannot be reached" in err
    assert "The workspace anna is made and kept; `blindlabel owner run --at anna` tells" in err
    assert "the plain engine encrypts nothing" in err
    assert tell(f"owner join out/anna.invitation {table} --at anna --accept-weaker")[0] == 1
    stands = json.loads(tell("owner status --at anna --json")[1])
    assert (stands["round"], stands["unsent"]) == (0, 1)
    assert tell("owner run --at anna --auto --questions out")[0] == 1
    assert tell("export anna --to x.csv")[0] == 1
    assert tell("owner status --at nowhere")[0] == 1
    assert tell("owner delete --at anna --yes")[0] == 0
    assert not Path("anna").exists()


@pytest.mark.parametrize("damage", ["{}", "not json", '{"form": "blindlabel invitation 1"}', ""])
def test_damaged_invitation_is_refused(tell: Tell, tmp_path: Path, damage: str) -> None:
    Path("x.invitation").write_text(damage)
    code, _, err = tell("owner join x.invitation table.csv --at w")
    assert code == 1
    assert "not an invitation" in err


def test_unreachable_coordinator_ends_with_exit_code_3(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = write_person_tables(tmp_path, rows=4)[0]
    tell(NEW)
    tell("coordinator invite a.toml --at home --to out")
    invitation = read_invitation(Path("out/anna.invitation"))
    assert invitation.address == ""
    assert (
        tell(f"owner join out/anna.invitation {table} --at anna --via folder:{tmp_path}/nowhere --accept-weaker")[0]
        == 1
    )
    assert tell(f"owner join out/anna.invitation {table} --at anna --accept-weaker")[0] == 1
    assert not Path("anna").exists()
    assert (
        tell(f"owner join out/anna.invitation {table} --at other --via http://127.0.0.1:{free_port()} --accept-weaker")[
            0
        ]
        == 3
    )
    monkeypatch.setattr("blindlabel.transport.client._FIRST_PAUSE", 60.0)  # no patience, so that the test is quick
    code, _, err = tell("owner run --at other --once")
    assert code == 3
    assert "cannot be reached" in err


@pytest.fixture
def server(tell: Tell) -> Iterator[str]:
    """A coordinator over HTTP with the study `persons`; its invitations are in `out`."""
    tell(NEW)
    tell("coordinator invite a.toml --at home --to out")
    coordinator = CoordinatorParty(CoordinatorStore(Path("home")))
    with served(coordinator) as address:
        yield address


def test_lost_invitation_is_replaced_and_the_old_one_holds_no_longer(tell: Tell, tmp_path: Path, server: str) -> None:
    table = write_person_tables(tmp_path, rows=4)[0]
    assert tell("coordinator reinvite persons anna --at home --to out")[0] == 1  # there is a file of that name
    code, out, _ = tell(f"coordinator reinvite persons anna --at home --to new --address {server}")
    assert (code, out) == (0, "new/anna.invitation\n")
    code, _, err = tell(f"owner join out/anna.invitation {table} --at anna --via {server} --accept-weaker")
    assert code == 1
    assert "not made with the invitation" in err and "coordinator reinvite" in err
    assert not Path("anna").exists(), "a refused join leaves no dead workspace"
    code, _, err = tell(f"owner join new/anna.invitation {table} --at anna --accept-weaker")
    assert code == 0 and "Next: when the others have joined too" in err
    code, _, err = tell(f"owner join new/anna.invitation {table} --at twice --accept-weaker")
    assert code == 1 and "An invitation can be used only once." in err and "coordinator reinvite" in err
    code, _, err = tell("coordinator reinvite persons anna --at home --to third")
    assert code == 1 and "has joined already" in err
    assert tell("coordinator reinvite persons nobody --at home --to third")[0] == 1


def test_invitations_without_an_address_say_so(tell: Tell) -> None:
    tell(NEW)
    assert "name no address (--address)" in tell("coordinator invite a.toml --at home --to out")[2]


@pytest.mark.parametrize("address", ["http://coordinator.example:8470", "http://10.0.0.7"])
def test_address_in_clear_to_another_machine_needs_a_word(tell: Tell, address: str) -> None:
    tell(NEW)
    code, _, err = tell(f"coordinator invite a.toml --at home --to out --address {address}")
    assert code == 1 and "in clear" in err
    assert not Path("home").exists() or json.loads(tell("coordinator status --at home --json")[1]) == []
    assert tell(f"coordinator invite a.toml --at home --to out --address {address} --insecure")[0] == 0


@pytest.mark.parametrize("command", ["close", "delete"])
def test_closing_and_deleting_ask_and_name_the_study(tell: Tell, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(NEW)
    tell("coordinator invite a.toml --at home --to out")
    study = json.loads(tell("coordinator check a.toml --json")[1])["hash"]
    for answer, code in (("", 1), ("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        found, _, err = tell(f"coordinator {command} persons --at home")
        assert found == code
        assert f"persons ({study[:12]}" in err


def test_what_is_worth_a_second_look_is_mentioned(tell: Tell, tmp_path: Path, server: str) -> None:
    text = Path("a.toml").read_text()
    Path("b.toml").write_text(text.replace('deadline = ""', 'deadline = "2020-01-31"').replace('= "refuse"', '= "cut"'))
    err = tell("coordinator check b.toml")[2]
    for said in ("criteria are the ones", "2020-01-31 has passed", "encrypts nothing", "is cut"):
        assert said in err
    assert len(json.loads(tell("coordinator check b.toml --json")[1])["notes"]) == 4
    Path("t.csv").write_text("given_name,surname\nAda,Lovelace\nGrace,Hopper\n")
    assert (
        "has no id column" in tell(f"owner join out/anna.invitation t.csv --at anna --via {server} --accept-weaker")[2]
    )


def test_rows_that_are_cut_are_counted_when_joining(tell: Tell, tmp_path: Path) -> None:
    tell(NEW + " --record-length 10")
    Path("a.toml").write_text(Path("a.toml").read_text().replace('= "refuse"', '= "cut"'))
    tell("coordinator invite a.toml --at home --to out --address http://127.0.0.1:1")
    Path("t.csv").write_text("id,given_name,surname\n1,Ada,Lovelace\n2,A,B\n3,Grace Brewster,Hopper\n")
    said = tell("owner join out/anna.invitation t.csv --at anna --accept-weaker")[2]
    assert "2 rows are longer than the agreement encodes" in said and "row 3" in said and "row 1" in said


def test_one_comes_back_and_another_leaves_by_command(tell: Tell, tmp_path: Path) -> None:
    """Three owners over a carried folder: berta loses its workspace and joins again, clara leaves, two finish."""
    places = {name: name for name in ("anna", "berta", "clara")}
    tables = dict(zip(places, write_person_tables(tmp_path, 3, rows=6), strict=True))
    Path("a.toml").write_text(to_text(small_agreement(3, records=6)))
    Path("stick").mkdir()

    def joins(name: str, invitation: str) -> None:
        assert tell(f"owner join {invitation} {tables[name]} --at {places[name]} --accept-weaker")[0] == 0

    def trip(options: str = "") -> None:
        for place in places.values():
            assert tell(f"owner run --at {place} --once {options}")[0] == 0
        assert tell("coordinator serve --at home --via folder:stick --once")[0] == 0

    def everybody_reads_words() -> None:
        for name, place in places.items():
            for other in set(places) - {name}:
                words = json.loads(tell(f"owner verify --at {places[other]} --json")[1])[name]["words"]
                assert run(["owner", "verify", other, "--at", place, "--words", " ".join(words)]) == 0

    def waits() -> list[str]:
        (study,) = json.loads(tell("coordinator status --at home --json")[1])
        return list(study["waiting"])

    assert tell("coordinator invite a.toml --at home --address folder:stick --to out")[0] == 0
    for name in places:
        joins(name, f"out/{name}.invitation")
    trip()
    everybody_reads_words()
    trip()
    trip("--auto")

    assert tell("coordinator reinvite persons berta --at home")[0] == 1, "it has joined: only --lost may"
    assert tell("owner delete --at berta --yes")[0] == 0
    assert tell("coordinator reinvite persons berta --lost --at home --address folder:stick --to again")[0] == 0
    assert any("berta has to join again" in sentence for sentence in waits())
    places["berta"] = "berta-again"
    joins("berta", "again/berta.invitation")
    trip("--auto")
    trip("--auto")
    everybody_reads_words()
    trip("--auto")

    assert tell("coordinator remove persons clara --at home --yes")[1:] == ("", "clara is removed.\n")
    del places["clara"]
    patience = Patience()
    while waits():
        trip("--auto")
        patience.check(waits)
    trip()
    for name, place in places.items():
        assert tell(f"export {place} --to {name}.csv")[0] == 0
    assert tell("coordinator remove persons berta --at home --yes")[0] == 1, "the study is over"
