"""What a third owner is told of two others. In an earlier version open lists went to everybody, so anna read a property
of berta's records from what clara asked; and `previous` in a relayed message was an unkeyed digest of what the
coordinator had told its sender, so anna tried candidates until one fitted: which of berta's questions were too loose,
and the totals of berta and clara.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, messages
from blindlabel.protocol.agreement import Agreement
from support.study_by_rules import Study

N = 12
SECRETS = [np.arange(N) % 3 == 0, np.arange(N) % 4 == 1]
"""A property of berta's records, in two studies that are alike but for it."""


def three() -> Agreement:
    names = ["anna", "berta", "clara"]
    return agreements.new("t", names, ["name"], sampling={"records": N}, rounds=2, encoding={"engine": "plain"})


def asking(secret: np.ndarray) -> Callable[[str, str, int, Sequence[int], Sequence[int]], Outcomes]:
    """clara's first questions say yes to berta's records that have the property; berta says no to everything."""

    def answers(asker: str, holder: str, _number: int, asked: Sequence[int], served: Sequence[int]) -> Outcomes:
        said = np.zeros((len(asked), len(served)), np.uint8)
        if (asker, holder) == ("clara", "berta"):
            for row, question in enumerate(asked):
                for column, record in enumerate(served):
                    said[row, column] = secret[record] and record // 3 == question
        return said

    return answers


def played(secret: np.ndarray) -> Study:
    study = Study(three(), random.Random(3), answering=asking(secret), records=N)
    study.to_the_end()
    return study


def rounds_told(study: Study, name: str) -> list[messages.Round]:
    return [message.body for message in study.seen(name) if isinstance(message.body, messages.Round)]


def test_nobody_is_told_which_records_of_a_pairing_of_others_are_open() -> None:
    studies = [played(secret) for secret in SECRETS]
    for study, secret in zip(studies, SECRETS):
        told_before = facts.of_owner(study.state.rounds[1].asked, "berta")
        assert list(told_before) == np.flatnonzero(secret).tolist(), "this is what went to everybody"
        assert all(not one.own and not one.others for one in rounds_told(study, "anna")[1].open.values())
    assert rounds_told(studies[0], "anna") == rounds_told(studies[1], "anna"), "the same whatever berta's records are"
    assert rounds_told(studies[0], "berta") != rounds_told(studies[1], "berta")


def relayed_previous(study: Study, reader: str, sender: str) -> set[str]:
    """Digests that another owner's messages name, as a third one gets them."""
    found = set()
    for message in study.seen(reader):
        if isinstance(message.body, messages.Relay):
            inner = messages.parse(message.body.message.encode()).message
            found |= {inner.previous} if inner.sender == sender else set()
    return found


def test_a_relayed_message_cannot_be_used_to_try_what_its_sender_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    study = played(SECRETS[0])
    named = relayed_previous(study, "anna", "berta")
    assert named <= {message.digest for message in study.seen("berta")}, "they do name what berta was told"
    assert not named & chain(study.seen("berta")), "and whoever guesses all of it, but for the blinds, cannot tell"
    monkeypatch.setattr(facts, "blake2b", lambda *_args, **_more: b"")
    flaw = played(SECRETS[0])
    assert relayed_previous(flaw, "anna", "berta") & chain(flaw.seen("berta")), "without the blind each guess is tested"


def chain(seen: list[messages.Message]) -> set[str]:
    """The digests that follow where every message is guessed, and no blind is known."""
    found, before = set(), ""
    for message in seen:
        before = replace(message, previous=before, blind="").digest
        found.add(before)
    return found


def test_blinds_differ_from_message_to_message_and_from_study_to_study() -> None:
    blinds = [message.blind for study in (played(SECRETS[0]),) for name in study.owners for message in study.seen(name)]
    assert len(set(blinds)) == len(blinds) and all(len(blind) == 64 for blind in blinds)
