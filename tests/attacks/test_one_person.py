"""One owner knows the name of a person and puts all of its fifty questions to that one record. No ciphertext is forged
and no question says yes to more than one record, so none is too loose. The first attempt that did so had 62 of 72
facts about eight people; a record that more than `most_yes` questions say yes to is set aside since.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import comb, log2

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels, messages
from support.study_by_rules import Study

RECORDS, TARGET = 50, 7
AGREEMENT = agreements.new("person", ["anna", "berta"], ["name", "age"])
Facts = list[bool]
Asking = Callable[[int, Sequence[bool]], Sequence[bool]]


def asked(facts: Facts) -> Study:
    """Anna asks in each round one fact about the target with each of her questions; berta asks honestly, and none of
    anna's records is hers.
    """

    def answering(asker: str, _holder: str, _number: int, rows: Sequence[int], columns: Sequence[int]) -> Outcomes:
        says = np.zeros((RECORDS, RECORDS), dtype=np.uint8)
        if asker == "anna":
            says[:, TARGET] = facts
        return says[np.ix_(rows, columns)]

    study = Study(AGREEMENT, random.Random(5), answering=answering, records=RECORDS)
    study.to_the_end()
    return study


def learnt(study: Study) -> set[int]:
    """Anna's records that were open again after the first round: the questions that said yes."""
    rounds = [message.body for message in study.seen("anna") if isinstance(message.body, messages.Round)]
    return set(rounds[1].open["berta"].own) if len(rounds) > 1 else set()


def some_facts(yes: int) -> Facts:
    chosen = set(random.Random(yes).sample(range(RECORDS), yes))
    return [place in chosen for place in range(RECORDS)]


@pytest.mark.parametrize("yes", [6, 20, 50])
def test_many_facts_about_one_person_say_nothing_but_that_they_are_many(yes: int) -> None:
    study = asked(some_facts(yes))
    assert learnt(study) == set(), "what anna gets is the same whichever of the facts hold"
    assert study.state.settled[0].aside == {"anna>berta": (TARGET,), "berta>anna": ()}
    truth = study.owners["berta"].truth
    assert truth is not None and truth.pairings[0].aside == (TARGET,), "its owner is told"
    assert not labels.is_match(study.truth("anna", "berta")).any()


def test_few_facts_are_learnt_and_that_is_in_the_account() -> None:
    """What is left: which few of the questions say yes. An asker that encodes well gets this much a round."""
    most = AGREEMENT.budget.most_yes
    facts = some_facts(most)
    assert learnt(asked(facts)) == {place for place, holds in enumerate(facts) if holds}
    assert log2(sum(comb(RECORDS, k) for k in range(most + 1)) + 1) < 22


def test_without_setting_aside_every_fact_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = labels._beyond

    def nothing_aside(yes: np.ndarray, most_yes: int, sampled: int) -> tuple[np.ndarray, np.ndarray]:
        loose, aside = beyond(yes, most_yes, sampled)
        return loose, np.zeros_like(aside)

    monkeypatch.setattr(labels, "_beyond", nothing_aside)
    facts = some_facts(20)
    assert learnt(asked(facts)) == {place for place, holds in enumerate(facts) if holds}


def test_too_loose_question_makes_nobody_else_write() -> None:
    def answering(asker: str, _holder: str, number: int, rows: Sequence[int], columns: Sequence[int]) -> Outcomes:
        says = np.eye(RECORDS, dtype=np.uint8)
        if asker == "anna" and number == 1:
            says[3] = 1
        return says[np.ix_(rows, columns)]

    study = Study(AGREEMENT, random.Random(6), answering=answering, records=RECORDS)
    study.to_the_end()
    second = study.state.rounds[1]
    assert second.asked == {"anna>berta": (3,), "berta>anna": tuple(range(RECORDS))}
    assert second.kept == {"anna": (), "berta": tuple(range(RECORDS))}
    assert study.owners["berta"].rounds[1].carried and study.state.ended == "agreed"
    assert labels.is_match(study.truth("berta", "anna")).sum() == RECORDS
