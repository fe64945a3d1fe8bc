"""check, try and language from the outside: output, JSON and exit codes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]

LENSES = (
    'id,name,year\n1,"Canon 24-70mm f/2.8L USM II",2012\n2,Canon 2470,\n3,"Canon 24-105mm, USM",1999\n4,Sony FE'
    " 24-70,2016\n"
)
QUESTION = '$r = lower($r)\nret is_in("canon", $r) & (is_in("24-70", $r) | is_in("2470", $r)) & !is_in("24-105", $r)\n'


@pytest.fixture
def lenses(tmp_path: Path) -> Path:
    (tmp_path / "lenses.csv").write_text(LENSES, encoding="utf-8")
    (tmp_path / "lens.question").write_text(QUESTION, encoding="utf-8")
    (tmp_path / "bad.question").write_text('ret is_inn("a", $r.nam)\n', encoding="utf-8")
    return tmp_path


def test_check_says_all_is_right(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel("check", str(lenses / "lens.question"))
    assert (done.code, done.out) == (0, "")
    assert "right" in done.err


def test_check_shows_place_caret_and_hint_and_exits_with_1(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel("check", str(lenses / "bad.question"), "--attributes", "name,year")
    assert done.code == 1
    assert "bad.question:1:5: error: There is no function is_inn." in done.out
    assert "  |     ^^^^^^" in done.out
    assert "Did you mean name?" in done.out


def test_check_json_is_one_document(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel(
        "check", str(lenses / "lens.question"), str(lenses / "bad.question"), "--attributes", "name,year", "--json"
    )
    assert done.code == 1
    good, bad = done.json["files"]
    assert (good["ok"], bad["ok"], done.json["ok"]) == (True, False, False)
    assert {(one["code"], one["line"], one["column"]) for one in bad["diagnostics"]} == {
        ("unknown-function", 1, 5),
        ("unknown-attribute", 1, 20),
    }


def test_check_reads_standard_input(blindlabel: Command) -> None:
    assert blindlabel("check", "-", given=QUESTION).code == 0
    assert blindlabel("check", "-", given=b"\xff\xfe").code == 1


def test_try_answers_each_record(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel("try", str(lenses / "lens.question"), str(lenses / "lenses.csv"))
    assert done.code == 0
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["yes", "1"],
        ["yes", "2"],
        ["no", "3"],
        ["no", "4"],
    ]


def test_try_json_has_the_promised_shape(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel("try", QUESTION, str(lenses / "lenses.csv"), "--json")
    assert done.json == {
        "engine": "plain",
        "answers": [
            {"id": "1", "answer": True},
            {"id": "2", "answer": True},
            {"id": "3", "answer": False},
            {"id": "4", "answer": False},
        ],
    }


def test_try_uses_attributes_and_preparation(blindlabel: Command, lenses: Path) -> None:
    done = blindlabel("try", "ret between($r.year, 2000, 2020)", str(lenses / "lenses.csv"), "--json")
    assert [one["answer"] for one in done.json["answers"]] == [True, False, False, True]
    done = blindlabel(
        "try", 'ret starts_with("sony", $r.name)', str(lenses / "lenses.csv"), "--prepare", "nfkc,lower", "--json"
    )
    assert [one["answer"] for one in done.json["answers"]] == [False, False, False, True]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["check", "nowhere.question"], 1, "There is no file nowhere.question."),
        (["check"], 2, "Missing argument"),
        (["check", "--frobnicate", "x"], 2, "No such option"),
        (["try", "ret true", "nowhere.csv"], 1, "nowhere.csv"),
        (["try", "ret $r", "{lenses}"], 1, "cannot be used"),
        (["try", "ret true", "{lenses}", "--engine", "quantum"], 1, "There is no engine quantum"),
        (["try", "ret true", "{lenses}", "--attributes", "nam"], 1, "name"),
        (["try", "ret true", "{lenses}", "--prepare", "lowr"], 1, "Did you mean 'lower'?"),
        (["language", "is_inn"], 1, "Did you mean is_in?"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_what_goes_wrong_is_said_in_a_sentence(
    blindlabel: Command, lenses: Path, arguments: list[str], code: int, said: str
) -> None:
    done = blindlabel(*[argument.replace("{lenses}", str(lenses / "lenses.csv")) for argument in arguments])
    assert done.code == code
    assert said in done.err
    assert "Traceback" not in done.err + done.out
    assert done.out == ""


def test_debug_may_stand_anywhere_and_shows_the_traceback(blindlabel: Command) -> None:
    assert "Traceback" in blindlabel("check", "nowhere.question", "--debug").err
    assert "Traceback" in blindlabel("--debug", "check", "nowhere.question").err


def test_language_explains_itself(blindlabel: Command) -> None:
    overview = blindlabel("language").out
    assert "common_words(words, text)" in overview
    assert "Metaphone" in blindlabel("language", "sounds_like").out
    assert len(blindlabel("language", "--json").json["functions"]) == 17


@pytest.mark.parametrize("command", ["demo", "check", "try", "language", "generate", "export", "coordinator", "owner"])
def test_every_command_has_help(blindlabel: Command, command: str) -> None:
    done = blindlabel(command, "--help")
    assert done.code == 0
    assert "--help" in done.out


def test_help_loads_nothing_that_only_work_needs() -> None:
    """Or it takes half a second: 0.16 s of a quiet core with typer alone, 0.43 s with the language and rich."""
    said = (
        "import sys; from blindlabel.cli.main import run; run(['--help']);"
        " print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", said], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"typer", "blindlabel"} <= loaded
    assert not loaded & {"rich", "numpy", "lark", "pydantic", "sqlalchemy", "httpx", "fastapi", "nacl", "tenseal"}


def test_suggest_says_what_is_signed_and_both_sides_of_the_verdict(blindlabel: Command, lenses: Path) -> None:
    table = str(lenses / "lenses.csv")
    done = blindlabel("suggest", table, "--id", "4", "--question", 'ret is_in("Sony", $r) & is_in("2016", $r.year)')
    assert done.code == 0
    assert '# Yes if it has "Sony" (your name) and "2016" in year.' in done.out
    assert "One misspelt word and it is missed." in done.out
    assert "in trials it was off by" in done.err
    found = blindlabel("suggest", table, "--id", "4", "--question", 'ret is_in("qqq", $r)', "--json").json
    verdict = found["suggestions"][0]["verdict"]
    assert (verdict["kind"], verdict["level"], verdict["others"], verdict["also"]) == ("not-itself", "bad", 0, [])
    assert verdict["missed"], "no imagined partner has it"
    loose = blindlabel("suggest", table, "--id", "1", "--question", 'ret is_in("24", $r)', "--json").json
    assert loose["suggestions"][0]["verdict"]["also"] == ["2", "3", "4"]
