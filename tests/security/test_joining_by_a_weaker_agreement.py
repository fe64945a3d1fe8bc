"""Nobody joins by an agreement that is weaker than the default one without being told and saying yes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import blindlabel as bl
from blindlabel.cli.main import run
from blindlabel.errors import InputError
from blindlabel.parties.accepting import Acceptance, beside_default
from blindlabel.parties.accounting import exposure_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.account import account

ROWS: dict[str, Any] = {"method": "rows", "records": 2, "rows": {"anna": [0, 1], "berta": [0, 1]}}
WEAKER: dict[str, tuple[dict[str, Any], str]] = {
    "plain engine": ({"encoding": {"engine": "plain"}}, 'encoding.engine: "plain"'),
    "gates engine": ({"encoding": {"engine": "gates"}}, 'encoding.engine: "gates"'),
    "labels": ({"release": "labels"}, 'release: "labels"'),
    "most_yes": ({"budget": {"most_yes": 6}}, "budget.most_yes: 6"),
    "rounds": ({"rounds": 4}, "rounds: 4"),
    "enriched": ({"sampling": {"method": "enriched", "blocking": ["name"]}}, 'sampling.method: "enriched"'),
    "rows": ({"sampling": ROWS}, 'sampling.method: "rows"'),
}


@pytest.fixture
def invited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Makes a study by such an agreement; the words of a command that joins it."""
    monkeypatch.chdir(tmp_path)
    Path("stick").mkdir()
    Path("t.csv").write_text("id,name\n1,Mount\n2,Cable\n3,Lamp\n")

    def invite(**settings: Any) -> list[str]:
        coordinator = bl.Coordinator("home")
        file = coordinator.write_agreement("a.toml", "goods", ["anna", "berta"], ["name"], **settings)
        coordinator.invite(file, f"folder:{tmp_path}/stick", to="inv")
        return ["owner", "join", "inv/anna.invitation", "t.csv", "--at", "anna"]

    return invite


def test_by_the_default_agreement_everybody_joins_and_reads_the_account(
    invited: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    words = invited()
    capsys.readouterr()
    assert run(words) == 0
    said = capsys.readouterr()
    assert said.out == "anna\n"
    for line in beside_default(agreements.new("goods", ["anna", "berta"], ["name"])).lines():
        assert line in said.err
    assert "2,822 bits, cheating or not." in said.err and "214 bits" in said.err and "480 bits" in said.err
    assert "by default" not in said.err and "--accept-weaker" not in said.err


@pytest.mark.parametrize(("settings", "named"), WEAKER.values(), ids=WEAKER)
def test_a_weaker_agreement_needs_a_yes_and_leaves_nothing_without_it(
    invited: Callable[..., list[str]], capsys: pytest.CaptureFixture[str], settings: dict[str, Any], named: str
) -> None:
    words = invited(**settings)
    capsys.readouterr()
    assert run(words) == 1
    said = capsys.readouterr().err
    assert f"By this agreement ({named}) others can learn more" in said and "by default" in said
    assert "Say --accept-weaker where you accept that." in said and not Path("anna").exists()
    with pytest.raises(InputError, match="accept_weaker=True"):
        bl.Owner.join("anna", "inv/anna.invitation", "t.csv")
    assert not Path("anna").exists()
    assert run([*words, "--accept-weaker"]) in ((0, 3) if "gates" in named else (0,))  # 3: not on this machine
    assert bl.Owner.join("again", "inv/anna.invitation", "t.csv", accept_weaker=True).name == "anna"


def test_without_the_comparison_a_downgrade_is_joined_without_a_word(
    invited: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the attack: with the flaw back, an agreement that encrypts nothing is joined like any other."""
    words = invited(encoding={"engine": "plain"})
    assert run(words) == 1
    monkeypatch.setattr(Acceptance, "weaker", lambda _self: [])
    assert run(words) == 0 and Path("anna").exists()


@pytest.mark.parametrize("settings", [{"rounds": 1}, {"release": "none"}, {"budget": {"most_yes": 2}}])
def test_a_stricter_agreement_needs_no_yes(invited: Callable[..., list[str]], settings: dict[str, Any]) -> None:
    assert run(invited(**settings)) == 0


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_at_a_terminal_a_person_is_asked(
    invited: Callable[..., list[str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
) -> None:
    words, typed = invited(rounds=4), io.StringIO(answer)
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    capsys.readouterr()
    assert run(words) == code
    assert Path("anna").exists() == (code == 0)
    assert "Join anyway?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "raised",
    [
        {"rounds": 4}, {"most_yes": 6}, {"release": "labels"}, {"outcomes": 5}, {"unbounded": "NO BOUND."},
        {"named": 1}, {"offers": 1000, "chosen": 25},
    ],
    ids=str,
)  # fmt: skip
def test_whatever_raises_a_figure_is_weaker_and_said_in_six_lines(raised: dict[str, Any]) -> None:
    """Also an input of the account that no setting has today: nothing here knows the settings."""
    default = exposure_of(agreements.new("t", ["anna", "berta", "clara"], ["name"]))
    found = Acceptance(account(replace(default, **raised), 5000), account(default), "")
    assert found.weaker() and all("by default" in one for one in found.weaker())
    assert len(found.lines()) <= 6
    assert not Acceptance(account(default, 5000), account(default), "").weaker()
    whole = replace(default, **(raised | {"named": 9}))
    assert len(Acceptance(account(whole, 5000), account(default), "").lines()) <= 6


def test_the_comparison_is_with_as_many_records_also_where_no_key_could_bear_them() -> None:
    many = agreements.new("t", ["anna", "berta"], ["name"], sampling={"records": 400})
    assert not beside_default(many).weaker()
    plain = agreements.new("t", ["anna", "berta"], ["name"], sampling={"records": 5000}, encoding={"engine": "plain"})
    assert "NO BOUND if it cheats (by default 786,885 bits" in " ".join(beside_default(plain).weaker())


def test_one_line_may_stand_for_records_and_questions_since_their_figures_are_the_same() -> None:
    for settings, _ in WEAKER.values():
        entries = {
            one.party: one
            for one in beside_default(agreements.new("t", ["anna", "berta"], ["name"], **settings)).account.entries
        }
        asks, asked = entries["owner that asks"], entries["owner whose records are asked"]
        assert (asks.honest, asks.cheating) == (asked.honest, asked.cheating)
