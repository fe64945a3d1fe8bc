"""A study in which every question of an owner was too loose has figures all the same: none, and it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindlabel.cli.demonstration import _told
from blindlabel.cli.main import run
from blindlabel.parties.study import standing
from blindlabel.protocol.interfaces import PERSON
from blindlabel.web.local_study import Rehearsal, Wanted


def test_status_of_all_studies_survives_a_round_without_a_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = Rehearsal(tmp_path, Wanted(records=12))
    study.begin()
    anna = study.workspace("anna")
    anna.save_questions(dict.fromkeys(range(12), "ret true"), PERSON)
    study.write_all("berta")
    for workspace in study.workspaces:
        workspace.hand_in()
    study.go_on()
    stands = standing(study.coordinator, study.agreement.hash)
    assert stands.history[0].settled and not stands.settled[0].pairs
    assert run(["coordinator", "status", "--at", str(tmp_path / "coordinator")]) == 0
    said = capsys.readouterr().out
    assert "round 1: 0 of 144 open pairs agreed, 0 as matches; of all pairs 0.0 %, kappa –, AC1 –" in said
    assert "kappa –, AC1 –. Records to ask again: " in _told(stands, 1)
