"""Scores over the protocol: as many as agreed, after the end, of the very pairs that were asked about."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, labels, messages, owner, scoring
from blindlabel.protocol.errors import NotFitting, OverBudget, TooEarly, WrongSender
from blindlabel.protocol.messages import Message, Signed
from support.study_by_rules import Study


def ended(scores: int) -> Study:
    """A study by the rules that is over."""
    plain = {"encoding": {"engine": "plain"}, "keys": "owners", "budget": {"scores": scores}}
    made = agreements.new("small", ["anna", "berta"], ["name"], rounds=1, sampling={"records": 4}, **plain)
    study = Study(made, random.Random(5))
    for _ in study.play():
        pass
    assert study.state.ended
    return study


def asked(study: Study, body: bytes, name: str = "anna", peer: str = "berta") -> Signed:
    """A score message, from an owner that does not count."""
    score = messages.Score(peer=peer, blob=facts.blob_of(body), before=())
    return study.signed(Message(study.agreement.hash, name, "coordinator", study.state.round, 1, score))


def test_as_many_scores_as_agreed_and_the_same_pairs_again_for_nothing() -> None:
    study = ended(2)
    state = study.state
    for body in (b"ab", b"cd", b"ab", b"cd"):
        state = scoring.count(study.agreement, state, asked(study, body))
    assert state.scores_of("anna", "berta") == state.scores_of("berta", "anna") == 2
    with pytest.raises(OverBudget):
        scoring.count(study.agreement, state, asked(study, b"ef"))
    scoring.count(study.agreement, state, asked(study, b"ef", "berta", "anna"))  # the other owner has its own


def test_no_score_without_agreement_before_the_end_of_another_size_or_of_nobody() -> None:
    study = ended(1)
    with pytest.raises(OverBudget, match="coordinator score"):
        scoring.count(ended(0).agreement, study.state, asked(study, b"ab"))
    with pytest.raises(TooEarly):
        scoring.count(study.agreement, study.state.model_copy(update={"ended": None}), asked(study, b"ab"))
    for body, peer in ((b"abc", "berta"), (b"ab", "anna"), (b"ab", "zoe")):
        with pytest.raises(NotFitting):
            scoring.count(study.agreement, study.state, asked(study, body, peer=peer))


def test_an_owner_counts_its_scores_itself() -> None:
    study = ended(1)
    state = study.owners["anna"]
    step = scoring.asks(study.agreement, state, "berta", facts.blob_of(b"ab"))
    again = scoring.asks(study.agreement, step.state, "berta", facts.blob_of(b"ab"))
    assert again.state == step.state and again.messages == step.messages, "a retry has the very bytes"
    with pytest.raises(InputError, match="All 1"):
        scoring.asks(study.agreement, step.state, "berta", facts.blob_of(b"cd"))
    with pytest.raises(InputError):
        scoring.asks(study.agreement, state.model_copy(update={"truth": None}), "berta", facts.blob_of(b"ab"))


def test_either_side_counts_what_the_other_has_forgotten() -> None:
    study = ended(3)
    own, forgetful = study.owners["anna"], study.state
    sent: list[Signed] = []
    for body in (b"ab", b"cd"):
        step = scoring.asks(study.agreement, own, "berta", facts.blob_of(body))
        own, sent = step.state, [*sent, study.signed(step.messages[0])]
    restored = scoring.count(study.agreement, forgetful, sent[1])
    assert restored.scores_of("anna", "berta") == 2, "the coordinator has forgotten the first, and hears of it again"
    assert scoring.count(study.agreement, restored, sent[0]) == restored, "which may still be asked about"
    anew = scoring.asks(study.agreement, study.owners["anna"], "berta", facts.blob_of(b"ef"))
    both = scoring.count(study.agreement, restored, study.signed(anew.messages[0]))
    assert both.scores_of("anna", "berta") == 3, "the owner has forgotten all, and the coordinator has not"
    further = scoring.asks(study.agreement, own, "berta", facts.blob_of(b"gh"))
    with pytest.raises(OverBudget):
        scoring.count(study.agreement, both, study.signed(further.messages[0]))


def test_counts_are_those_of_the_labels_and_leave_out_what_was_never_agreed() -> None:
    generator = np.random.default_rng(3)
    for rows, columns in ((4, 4), (3, 5), (1, 1)):
        matrix = generator.integers(0, 4, (rows, columns)).astype(np.uint8)
        pairs = generator.integers(0, 2, (rows, columns)).astype(np.bool_)
        body = scoring.to_bytes(pairs)
        assert (scoring.from_bytes(body, rows, columns) == pairs).all()
        told = scoring.result(matrix, pairs, messages.Score(peer="berta", blob=facts.blob_of(body), before=()))
        cells = [(bool(matrix[i, j]), bool(matrix[i, j] & 1), pairs[i, j]) for i, j in np.ndindex(rows, columns)]
        assert told.right == sum(match and named for _, match, named in cells)
        assert told.labelled == sum(agreed and named for agreed, _, named in cells)
        assert told.matches == int(np.count_nonzero(labels.is_match(matrix)))


def test_predicted_pairs_of_another_size_or_with_more_bits_are_refused() -> None:
    for body in (b"", b"\x01", b"\x00\x00"):
        with pytest.raises(NotFitting):
            scoring.from_bytes(body, 1, 1)


def test_a_reply_of_somebody_else_or_about_something_else_is_refused() -> None:
    study = ended(1)
    state, blob = study.owners["anna"], facts.blob_of(b"ab")
    right = messages.Scored(peer="berta", pairs=blob.hash, right=1, labelled=2, matches=3)

    def reply(body: messages.Body, sender: str = "coordinator") -> Signed:
        return study.signed(Message(study.agreement.hash, sender, "anna", 1, 1, body))

    assert scoring.takes(state, reply(right), "berta", blob) == right
    for changes in ({"pairs": "ab" * 32}, {"peer": "clara"}, {"right": 3}, {"matches": 0}):
        with pytest.raises(NotFitting):
            scoring.takes(state, reply(right.model_copy(update=changes)), "berta", blob)
    with pytest.raises(WrongSender):
        scoring.takes(state, reply(right, "berta"), "berta", blob)
    with pytest.raises(NotFitting):
        scoring.takes(state, reply(messages.Assisted(number=1, blob=blob)), "berta", blob)


def test_scores_are_in_the_account() -> None:
    study = ended(2)
    from blindlabel.protocol.account import account, used

    with_scores = study.agreement.exposure
    without = replace(with_scores, scores=0)
    more = 2 * 3 * np.log2(4 * 4 + 1)
    entries = [account(one).entries[1].honest for one in (with_scores, without)]
    assert more - 1 <= entries[0] - entries[1] <= more + 1
    spent = [account(one).key.spent for one in (with_scores, without)]
    assert more - 1 <= spent[0] - spent[1] <= more + 1
    assert used(with_scores, [(4, 4)], scores=1).owner > used(with_scores, [(4, 4)]).owner
    assert used(with_scores, [(4, 4)], scores=2).key <= account(with_scores).key.spent
    assert isinstance(study.owners["anna"], owner.State)
