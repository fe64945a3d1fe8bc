"""What each party can learn, in bits: `coordinator check` and `explain` say it, and refuse what no key can bear."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import to_text

Command = Callable[..., Any]


def written(folder: Path, **settings: Any) -> str:
    file = folder / "agreement.toml"
    file.write_text(to_text(agreements.new("bits", ["anna", "berta"], ["name"], **settings)), encoding="utf-8")
    return str(file)


def test_check_and_explain_print_the_account_of_an_agreement(blindlabel: Command, tmp_path: Path) -> None:
    file = written(tmp_path)
    checked = blindlabel("coordinator", "check", file, "--json").json
    explained = blindlabel("explain", file)
    assert checked["account"]["key"]["spent"] == 480
    assert checked["account"]["key"]["bears"] >= 2 * 480
    for entry in checked["account"]["parties"]:
        assert f"{entry['party']}: {entry['honest']:,} / " in explained.out
    assert "coordinator and an owner" in explained.out
    assert "no bound" in explained.out


@pytest.mark.parametrize("command", [["coordinator", "check"], ["explain"]])
def test_an_agreement_that_would_give_away_a_key_is_refused_with_a_sentence(
    blindlabel: Command, tmp_path: Path, command: list[str]
) -> None:
    done = blindlabel(*command, written(tmp_path, sampling={"records": 200}, release="labels"))
    assert done.code == 1
    assert "withstand the loss of" in done.err
    assert "release less" in done.err


def test_an_engine_without_a_bound_is_called_so(blindlabel: Command, tmp_path: Path) -> None:
    done = blindlabel("explain", written(tmp_path, encoding={"engine": "plain"}))
    assert done.code == 0
    assert done.out.count("NO BOUND") == 1 and done.out.count("/ no bound") == 5
