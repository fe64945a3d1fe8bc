"""Coordinator and Owner do what the commands do, in the same folders, and refuse what people must not do."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import blindlabel as bl
from blindlabel.cli.main import run as command


@pytest.fixture
def study(tmp_path: Path) -> tuple[bl.Coordinator, dict[str, bl.Owner], Path]:
    """Two owners who have joined and wait for their words to be compared."""
    messages = tmp_path / "messages"
    messages.mkdir()
    coordinator = bl.Coordinator(tmp_path / "coordinator")
    agreement = coordinator.write_agreement(
        tmp_path / "agreement.toml",
        "goods",
        ["dealer", "shop"],
        ["name"],
        rounds=1,
        sampling={"records": 2},
        encoding={"engine": "plain"},
    )
    invitations = coordinator.invite(agreement, f"folder:{messages}", to=tmp_path / "invitations")
    owners = {}
    for name, rows in {"dealer": "x,Sony turntable\ny,Leica\n", "shop": "u,Sony turntable\nv,Canon\n"}.items():
        table = tmp_path / f"{name}.csv"
        table.write_text(f"id,name\n{rows}")
        owners[name] = bl.Owner.join(tmp_path / name, invitations[name], table, accept_weaker=True)
    settle(coordinator, owners, messages)
    return coordinator, owners, messages


def settle(coordinator: bl.Coordinator, owners: dict[str, bl.Owner], messages: Path) -> list[bool]:
    """Everything that needs no person."""
    over = [False]
    for _ in range(6):
        over = [owner.run() for owner in owners.values()]
        coordinator.serve(messages)
    return over


def test_nothing_goes_on_before_the_words_that_were_heard_are_right(
    study: tuple[bl.Coordinator, dict[str, bl.Owner], Path],
) -> None:
    coordinator, owners, messages = study
    words = owners["shop"].words()["dealer"]
    own = owners["dealer"].words()["shop"]
    with pytest.raises(bl.InputError, match="words that you read"):
        owners["dealer"].confirm("shop", own)
    with pytest.raises(bl.InputError, match="not the words"):
        owners["dealer"].confirm("shop", [*words[:-1], "other"])
    settle(coordinator, owners, messages)
    assert not owners["dealer"].tasks() and not owners["shop"].tasks()
    assert "compare the verification words" in " ".join(step.sentence for step in coordinator.status("goods").waiting)


def test_a_study_from_words_to_truth_with_questions_by_hand_and_suggested(
    study: tuple[bl.Coordinator, dict[str, bl.Owner], Path],
) -> None:
    coordinator, owners, messages = study
    words = owners["shop"].words()["dealer"]
    owners["dealer"].confirm("shop", words)
    owners["shop"].confirm("dealer", owners["dealer"].words()["shop"])
    settle(coordinator, owners, messages)
    tasks = owners["shop"].tasks()
    assert sorted(record.row["name"] for record in tasks.values()) == ["Canon", "Sony turntable"]
    assert not owners["shop"].save(0, "ret is_inn($r)").ok
    for number, record in tasks.items():
        assert owners["shop"].save(number, bl.Question(f'ret is_in("{record.row["name"]}", $r)')).ok
    owners["shop"].hand_in()
    with pytest.raises(bl.InputError, match="not both"):
        owners["dealer"].run("questions", suggested=True)
    for _ in range(4):
        owners["dealer"].run(suggested=True)
        owners["shop"].run()
        coordinator.serve(messages)
    assert settle(coordinator, owners, messages) == [True, True]
    of_shop, of_dealer = owners["shop"].truths()["dealer"], owners["dealer"].truths()["shop"]
    of_coordinator = coordinator.truths("goods")["dealer", "shop"]
    assert len(of_coordinator.pairs) == 4
    for truth in (of_shop, of_dealer):  # owners are given matches alone, and nothing else is made up for the rest
        assert truth.only_matches and not truth.discarded
        assert len(truth.pairs) == 1
    (match,) = of_dealer.pairs
    i, j = match.i, match.j  # places in the samples, which are in an order of chance
    assert of_shop.pairs[0] == match and of_shop.name_b(j) == "u"
    assert list(of_dealer.to_rows()) == [
        {"record_dealer": i, "record_shop": j, "id_dealer": "x", "label": True, "round": None}
    ]
    scores = of_dealer.score([("x", j), ("y", 1 - j)])
    assert (scores.precision, scores.recall_strict) == (1.0, 0.5)
    assert all(math.isnan(one) for one in (scores.recall, scores.f, scores.agreement, scores.records_to_ask))
    with pytest.raises(bl.InputError, match="without rounds"):
        of_dealer.score([], round=1)
    assert of_coordinator.score([(i, j), (1 - i, 1 - j)]).recall == 0.5


def test_commands_go_on_in_the_folders_of_the_api(
    study: tuple[bl.Coordinator, dict[str, bl.Owner], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    coordinator, owners, _ = study
    assert command(["owner", "status", "--at", str(coordinator.folder.parent / "shop")]) == 0
    assert f"{owners['shop'].name} in goods" in capsys.readouterr().out
    coordinator.close("goods")
    assert command(["coordinator", "status", "goods", "--at", str(coordinator.folder)]) == 0
    assert "over" in capsys.readouterr().out


def test_files_that_are_there_are_not_replaced(
    study: tuple[bl.Coordinator, dict[str, bl.Owner], Path], tmp_path: Path
) -> None:
    coordinator, _, _ = study
    with pytest.raises(bl.InputError, match="already"):
        coordinator.write_agreement(tmp_path / "agreement.toml", "goods", ["a", "b"], ["name"])
    with pytest.raises(bl.InputError, match="already"):
        coordinator.invite(tmp_path / "agreement.toml", to=tmp_path / "invitations")
    with pytest.raises(bl.InputError, match="cannot be read"):
        coordinator.invite(tmp_path / "nothing.toml")
