"""A pilot: pairs that both owners know set the level of verdicts, and are counted in the account."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindlabel.cli.main import run
from blindlabel.language.suggestions.judgement import Level, level_by
from blindlabel.parties.accounting import account_of
from blindlabel.parties.piloting import level_of
from blindlabel.protocol import agreement as agreements
from blindlabel.records.table_files import write_csv
from blindlabel.storage.workspace import Workspace
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import Rehearsal, Wanted

KNOWN = 12


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    made = Rehearsal(tmp_path_factory.mktemp("pilot"), Wanted(records=30), sampling={"records": 30, "pilot": KNOWN})
    made.begin()
    return made


def known_pairs(anna: Workspace, folder: Path, count: int, *, same: bool) -> Path:
    """The other's records of known pairs: the same, or with hardly anything left of them."""
    attributes, rows = anna.agreement.attributes, []
    for own in anna.records()[:count]:
        kept = own.row if same else dict.fromkeys(attributes, "") | {"surname": own.row["surname"]}
        rows.append((own.id, *(kept[name] for name in attributes)))
    path = folder / f"known-{count}-{same}.csv"
    write_csv(path, ("id", *attributes), rows)
    return path


def test_known_pairs_move_what_verdicts_say(
    study: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where partners are as the records are, more is found than trials say; where little is left of them, less."""
    anna = study.workspace("anna")
    own = anna.records()[20]
    text = Judging(anna).suggest(own, anna.tasks()[20]).text
    before = Judging(anna).verdict(own, text)
    assert level_of(anna) == Level() and "from your table alone" in level_of(anna).sentence
    found = {}
    for same in (True, False):
        path = known_pairs(anna, tmp_path, KNOWN, same=same)
        assert run(["owner", "pilot", str(path), "--at", str(anna.folder)]) == 0
        assert f"Set by 12 pairs: {'more' if same else 'less'} is found" in capsys.readouterr().out
        assert "12 pairs that both owners know" in level_of(anna).sentence
        found[same] = Judging(anna).verdict(own, text)
    assert found[True].found > before.found > found[False].found
    assert found[False].level == "bad"
    assert (found[True].own, found[True].relatives) == (before.own, before.relatives), "the other side stays"


@pytest.mark.parametrize(("count", "said"), [(9, "at least 10 are needed"), (13, "12 were agreed on")])
def test_too_few_or_more_than_agreed_are_refused(
    study: Rehearsal, tmp_path: Path, capsys: pytest.CaptureFixture[str], count: int, said: str
) -> None:
    anna = study.workspace("anna")
    path = known_pairs(anna, tmp_path, count, same=True)
    assert run(["owner", "pilot", str(path), "--at", str(anna.folder)]) == 1
    assert said in capsys.readouterr().err


def test_what_a_pilot_shows_is_in_the_account() -> None:
    without, with_pilot = (
        account_of(agreements.new("x", ("anna", "berta"), ("name",), sampling={"records": 50, "pilot": count}))
        for count in (0, 15)
    )
    more = [entry for entry in with_pilot.entries if entry not in without.entries]
    assert any("15 records of each, in clear" in entry.says and entry.honest > 0 for entry in more)
    assert not any("in clear" in entry.says for entry in without.entries)


@given(st.integers(0, 2**32), st.floats(0.2, 0.9))
def test_a_level_moves_as_the_truth_does(seed: int, share: float) -> None:
    """The more of the known partners is found, the higher the level; and it keeps the order of questions."""
    chance = Random(seed)
    guesses = [chance.uniform(0.2, 0.95) for _ in range(150)]
    fewer = [chance.random() < share * guess for guess in guesses]
    more = [one or chance.random() < 0.3 for one in fewer]
    low, high = (level_by(list(zip(guesses, truth)), 15) for truth in (fewer, more))
    assert low.shift <= high.shift
    ordered = [low.set(one) for one in sorted(guesses)]
    assert ordered == sorted(ordered)
    assert Level().set(share) == share, "without a pilot nothing is moved"
