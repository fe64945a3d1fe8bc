"""The commands around the pages: failures are sentences, the guide for experts is true."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from blindlabel.cli.main import run
from blindlabel.language import Question
from blindlabel.web.local_study import Rehearsal, Wanted

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "annotating.md"


def test_annotate_without_a_workspace_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["owner", "annotate", "--at", str(tmp_path), "--no-browser"]) == 1
    assert "is not a workspace" in capsys.readouterr().err


def test_annotate_on_a_port_in_use_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Rehearsal(tmp_path / "study", Wanted(records=4))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert (
            run(["owner", "annotate", "--at", str(study.workspace("anna").folder), "--no-browser", "--port", port]) == 3
        )
    assert f"Port {port} on 127.0.0.1 is in use" in capsys.readouterr().err


def test_code_of_the_page_stays_the_same_and_private(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Rehearsal(tmp_path / "study", Wanted(records=4))
    home = tmp_path / "study" / "coordinator"
    codes = []
    for _ in range(2):
        assert run(["coordinator", "code", "--at", str(home)]) == 0
        codes.append(capsys.readouterr().out)
    assert codes[0] == codes[1] and len(codes[0].strip()) >= 24
    assert (home / "keys" / "page.key").stat().st_mode & 0o077 == 0


def test_questions_in_the_guide_are_right() -> None:
    questions = re.findall(r"^    (ret .*)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert len(questions) >= 4
    for question in questions:
        checked = Question(question)
        assert checked.ok and not checked.problems, question


def test_pictures_of_the_guide_are_there_and_small() -> None:
    pictures = re.findall(r"\((\.\./images/.*?)\)", GUIDE.read_text("utf-8"))
    assert len(pictures) == 4
    for picture in pictures:
        assert (GUIDE.parent / picture).stat().st_size < 200_000
