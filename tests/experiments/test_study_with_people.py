"""The publication's experiment with people, from drawing the matches to the figures: the same from all ways.

The questions in `lenses/questions` were written by hand. Worked out on paper: in round 1 both sides say yes to A1-B1
and A3-B3, differ on A2-B5 and A4-B4, and say no to the other twelve pairs; round 2 agrees on A2-B5; in round 3 both
say no to A4-B4, wrongly.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blindlabel.cli.main import run
from blindlabel.parties.joining import words_to_read_out
from blindlabel.storage.workspace import Workspace
from blindlabel_lab.experiments.people import replay
from blindlabel_lab.experiments.prepared import OWNERS, commands, read_prepared
from blindlabel_lab.experiments.scoring import sign_flip
from support.patience import Patience
from support.study_parties import free_port

LENSES = Path(__file__).with_name("lenses")
EXPECTED = [
    {"precision": 1.0, "recall": 1.0, "recall_strict": 0.5, "agreed": 14, "records_to_ask": 4, "true_positives": 2},
    {"precision": 1.0, "recall": 1.0, "recall_strict": 0.75, "agreed": 15, "records_to_ask": 2, "true_positives": 3},
    {"precision": 1.0, "recall": 0.75, "recall_strict": 0.75, "agreed": 16, "records_to_ask": 0, "true_positives": 3},
]
BY_CHANCE = (3 * 3 + 13 * 13) / 16**2
"""Of 16 pairs each side said yes to three in round 1, if both said one yes that the other did not."""
PREPARE = ["experiment", "prepare", str(LENSES), "--seed", "1", "--engine", "plain"]


@contextmanager
def process(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "blindlabel.cli.main", *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.terminate()
        started.wait()


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prepared folder whose study three processes have played, with the questions written by hand."""
    folder = tmp_path_factory.mktemp("lenses") / "study"
    assert run([*PREPARE, "--out", str(folder)]) == 0
    port = free_port()
    typed = [line.replace(":8470", f":{port}").split() for line in commands(read_prepared(folder))]
    for words in typed:
        if words[1:3] == ["coordinator", "invite"]:
            assert run(words[1:]) == 0
    with process("coordinator", "serve", "--at", folder / "coordinator", "--port", port):
        Patience().wait_until(lambda: listens(port))
        for words in typed:
            if words[1:3] == ["owner", "join"]:
                assert run(words[1:]) == 0
        players = [
            ("owner", "run", "--at", folder / owner, "--questions", LENSES / "questions" / owner, "--anyway")
            for owner in OWNERS
        ]
        with process(*players[0]) as first, process(*players[1]) as second:
            patience = Patience()
            spaces = {owner: Workspace.open(folder / owner) for owner in OWNERS}
            patience.wait_until(lambda: all(one.state().keys for one in spaces.values()))
            for words in typed:
                if words[1:3] == ["owner", "verify"] and not words[3].startswith("--"):
                    owner = next(name for name in OWNERS if name != words[3])
                    assert run([*words[1:], "--words", " ".join(words_to_read_out(spaces[words[3]], owner))]) == 0
            patience.wait_until(lambda: first.poll() or second.poll() or first.poll() == second.poll() == 0)
            assert (first.returncode, second.returncode) == (0, 0)
    return folder


def document(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: object) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["experiment", *map(str, arguments), "--results", str(tmp_path), "--no-plots", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rounds(found: dict[str, Any]) -> list[dict[str, float]]:
    [one] = found["studies"].values()
    result: list[dict[str, float]] = one["rounds"]
    return result


def with_ids_of_both(study: Path, labels: Path, folder: Path) -> Path:
    """Labels merged with the ids of both owners."""
    files = [folder / f"ids-{owner}.csv" for owner in OWNERS]
    for owner, file in zip(OWNERS, files):
        assert run(["export", "--ids", str(study / owner), "--to", str(file)]) == 0
    made = folder / f"both-{labels.name}"
    assert run(["merge", str(labels), *map(str, files), "--to", str(made)]) == 0
    return made


@pytest.mark.slow
def test_study_exports_and_replay_give_the_same_figures(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scored = rounds(document(capsys, tmp_path, "score", study))
    assert [{key: one[key] for key in EXPECTED[0]} for one in scored] == EXPECTED
    truth = study / "truth" / "matches.csv"
    labels = tmp_path / "labels.csv"
    assert run(["export", str(study / "coordinator"), "--to", str(labels)]) == 0
    for unnamed in (labels, study / "coordinator", study / "owner-a"):
        assert run(["experiment", "score", str(unnamed), "--truth", str(truth)]) == 1
        assert "`export --ids` of both" in capsys.readouterr().err, "places in a sample are no rows"
    named = with_ids_of_both(study, labels, tmp_path)
    answers = [(one.pop("kappa"), one.pop("ac1")) for one in scored]
    for known in (truth, LENSES / "matches.csv"):
        of_file = rounds(document(capsys, tmp_path, "score", named, "--truth", known))
        least = [(one.pop("kappa"), one.pop("ac1")) for one in of_file]
        assert of_file == scored
        assert [ac1 for _, ac1 in least] == pytest.approx([ac1 for _, ac1 in answers])
        assert all(kappa <= exact + 1e-12 for (kappa, _), (exact, _) in zip(least, answers) if exact is not None)
        assert least[0][0] == pytest.approx((14 / 16 - BY_CHANCE) / (1 - BY_CHANCE))
    assert rounds(document(capsys, tmp_path, "replay", study)) == scored, "from the workspaces"
    assert rounds(document(capsys, tmp_path, "replay", study, "--questions", LENSES / "questions")) == scored
    for owner in OWNERS:
        exported = study / "questions" / owner
        assert run(["owner", "questions", "export", "--at", str(study / owner), "--to", str(exported)]) == 0
    assert rounds(document(capsys, tmp_path, "replay", study)) == scored, "from what was exported"


@pytest.mark.slow
def test_owner_who_was_given_matches_alone_scores_what_can_be_known(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Workspace.open(study / "owner-a").agreement.release == "matches"
    truth = study / "truth" / "matches.csv"
    exported = tmp_path / "own.csv"
    assert run(["export", str(study / "owner-a"), "--to", str(exported)]) == 0
    [one] = rounds(document(capsys, tmp_path, "score", with_ids_of_both(study, exported, tmp_path), "--truth", truth))
    assert (one["precision"], one["recall_strict"], one["true_positives"]) == (1.0, 0.75, 3)
    assert {str(one[key]) for key in ("recall", "agreed", "records_to_ask")} == {"None"}


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """A prepared folder with the questions, not played."""
    folder = tmp_path / "by-hand"
    assert run([*PREPARE, "--out", str(folder)]) == 0
    (folder / "questions").symlink_to(LENSES / "questions")
    return folder


@pytest.mark.slow
def test_replay_on_the_packed_engine_gives_the_same_labels(by_hand: Path) -> None:
    small = {
        "rounds = 3": "rounds = 1",
        "profile = [": "profile = [1, 1] #",
        "functions = [": 'functions = ["is_in"] #',
    }
    path = by_hand / "agreement.toml"
    for text, instead in small.items():  # so that two evaluations take seconds
        assert f"\n{text}" in path.read_text()
        path.write_text(path.read_text().replace(f"\n{text}", f"\n{instead}"))
    prepared = read_prepared(by_hand)
    plain, packed = replay(prepared), replay(prepared, "packed")
    assert [one.tolist() for one in packed.labels] == [one.tolist() for one in plain.labels]


def test_prepared_folder_names_rows_and_keeps_the_truth_apart(by_hand: Path) -> None:
    prepared = read_prepared(by_hand)
    rows = prepared.agreement.sampling.rows
    assert (rows["owner-a"], rows["owner-b"]) == ((0, 1, 2, 3), (0, 2, 3, 4))
    assert "B5" not in (by_hand / "tables" / "owner-a.csv").read_text()
    assert prepared.truth.read_text().splitlines() == ["id_a,id_b", "A1,B1", "A2,B5", "A3,B3", "A4,B4"]
    assert run([*PREPARE, "--out", str(by_hand)]) == 1


def test_own_tables_are_prepared_by_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--table", str(LENSES / "a.csv"), "--table", str(LENSES / "b.csv"), "--truth", str(LENSES / "matches.csv")]
    prepare = ["experiment", "prepare", "--out", str(tmp_path / "own"), "--matches", "2", "--prepare", "published"]
    assert run([*prepare, *own, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == [2, 2]
    assert read_prepared(tmp_path / "own").agreement.preparation.steps == ("ascii",)
    assert run([*prepare[:3], str(tmp_path / "none"), "--table", "a.csv"]) == 1
    assert "--table A --table B --truth" in capsys.readouterr().err


def test_what_people_asked_for_stands_beside_what_simulated_oracles_do(
    by_hand: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--data", LENSES.parent, "--dataset", "lenses", "--samples", 1, "--matches", 4, "--people", by_hand)
    tokens = document(capsys, tmp_path, "tokens", *common)["datasets"][f"lenses ({by_hand})"]
    assert tokens["lengths"]["2"] == 2  # "50" in rounds 1 and 2


def test_missing_question_is_named(by_hand: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = tmp_path / "few"
    for owner in OWNERS:
        (few / owner).mkdir(parents=True)
    assert run(["experiment", "replay", str(by_hand), "--questions", str(few), "--results", str(tmp_path)]) == 1
    assert "no question about record A1 of owner-a in round 1" in capsys.readouterr().err


def test_paired_test_is_exact() -> None:
    assert sign_flip([1.0, 1.0, 1.0]) == pytest.approx(2 / 8)
    assert sign_flip([1.0, -1.0]) == 1.0
