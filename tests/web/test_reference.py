"""What is one click away: the language and its examples as this study allows it, and every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blindlabel.language.functions import FUNCTIONS
from blindlabel.parties.questions import check_question
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel.web.question_pane import offered_functions
from blindlabel.web.reference import examples, syntax


@pytest.mark.parametrize("functions", [["is_in"], ["is_in", "equals", "is_empty"], ["is_in", "has_word", "similar"]])
def test_examples_use_what_this_agreement_allows_and_can_be_asked(tmp_path: Path, functions: list[str]) -> None:
    encoding = {"engine": "plain", "record_length": 160, "attribute_length": 40, "functions": functions}
    study = Rehearsal(tmp_path / "study", Wanted(records=4), encoding=encoding)
    study.begin()
    workspace = study.workspace("anna")
    shown = examples(workspace)
    called = {name for question, _ in shown for name in re.findall(r"\w+(?=\()", question)}
    assert "is_in" in called and called <= set(functions), "no function that cannot be asked here"
    assert called <= offered_functions(workspace) <= set(FUNCTIONS)
    assert all(check_question(workspace.agreement, question).ok for question, _ in shown)
    own = workspace.records()[0].prepared
    assert all(own.whole.count(word) for word in re.findall(r'is_in\("([^"]+)"', shown[0][0])), (
        "about a record of theirs"
    )
    assert ("$r.given_name", "one attribute; the others are surname, sex, age, title, address_1, …") in syntax(
        workspace
    )
