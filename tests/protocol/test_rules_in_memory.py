"""Whole studies over the rules alone: no files, no network, no encryption; messages in any order, repeated."""

from __future__ import annotations

import contextlib
import dataclasses
import random

import nacl.public
import nacl.signing
import numpy as np
import pytest

from blindlabel.errors import InputError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, labels, messages, rounds
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.refusals import Forked, NotFitting, Replayed, TooEarly, WrongSender, WrongStudy
from blindlabel.protocol.shape import blob_of
from support.study_by_rules import Study


def small(owners: int = 2, rounds: int = 3, **other: object) -> Agreement:
    names = ["anna", "berta", "clara", "dora"][:owners]
    plain: dict[str, object] = {"encoding": {"engine": "plain"}, "sampling": {"records": 4}}
    return agreements.new("small", names, ["name"], rounds=rounds, **(plain | other))


@pytest.mark.parametrize("seed", range(8))
def test_any_order_with_repeats_ends_with_the_labels_of_the_rules(seed: int) -> None:
    study = Study(small(2 + seed % 3), random.Random(seed))
    for moves, _ in enumerate(study.play()):
        assert moves < 20_000, "stuck"
    assert study.state.ended in ("agreed", "rounds")
    for a, b in study.agreement.pairings:
        expected = np.zeros((4, 4), dtype=np.uint8)
        for number, facts_of_round in enumerate(study.state.rounds, start=1):
            one = study.matrices[facts_of_round.answers[f"{a}>{b}"].blob.hash]
            two = study.matrices[facts_of_round.answers[f"{b}>{a}"].blob.hash]
            for x, i in enumerate(facts_of_round.asked[f"{a}>{b}"]):
                for y, j in enumerate(facts_of_round.asked[f"{b}>{a}"]):
                    if expected[i, j] == 0 and one[x, y] == two[y, x]:
                        expected[i, j] = 2 * number + one[x, y]
        assert np.array_equal(study.labels_now(a, b), expected)
        assert sum(
            facts_of_round.tallies[facts.key_of(a, b)].agreed for facts_of_round in study.state.rounds
        ) == np.count_nonzero(expected)


LIST = {"method": "candidates", "records": 6, "candidates": "0" * 64, "tables": {"anna": 6, "berta": 6}}
DRAWN: dict[str, tuple[int, ...]] = {"anna": (5, 0, 3, 5, 1), "berta": (2, 2, 4, 1, 0)}


@pytest.mark.parametrize("seed", range(6))
def test_of_a_list_the_drawn_pairs_alone_are_open_and_labelled(seed: int) -> None:
    study = Study(small(sampling=LIST), random.Random(seed), drawn=DRAWN)
    study.to_the_end()
    samples = study.state.samples
    assert {owner: sorted(rows) for owner, rows in samples.items()} == {"anna": [0, 1, 3, 5], "berta": [0, 1, 2, 4]}
    expected = np.full((4, 4), labels.NOT_DRAWN, dtype=np.uint8)
    cells = [(samples["anna"].index(a), samples["berta"].index(b)) for a, b in zip(DRAWN["anna"], DRAWN["berta"])]
    for number, one in enumerate(study.state.rounds, start=1):
        says, hears = (study.matrices[one.answers[key].blob.hash] for key in ("anna>berta", "berta>anna"))
        first, second = one.asked["anna>berta"], one.asked["berta>anna"]
        assert says.shape == (len(first), len(second)), "all pairs of open records are answered"
        still = [cell for cell in cells if expected[cell] in (0, labels.NOT_DRAWN)]
        assert {i for i, _ in still} == {*first} and {j for _, j in still} == {*second}
        for i, j in still:
            x, y = first.index(i), second.index(j)
            expected[i, j] = 2 * number + says[x, y] if says[x, y] == hears[y, x] else 0
    assert np.array_equal(study.labels_now("anna", "berta"), expected)


def test_a_table_of_another_size_than_the_linkages_cannot_join() -> None:
    study = Study(small(sampling=LIST), random.Random(1), drawn=DRAWN, records=7)
    with pytest.raises(NotFitting, match="table of anna has 6 rows, and this one 7"):
        study.handle(study.inbox[0])


@pytest.mark.parametrize("positions", [(5, 0, 3, 5), (0, 1, 3, 6)])
def test_rows_of_a_list_are_in_the_table_and_each_once(positions: tuple[int, ...]) -> None:
    study = Study(small(sampling=LIST), random.Random(1), drawn=DRAWN)
    for _ in study.play():
        if study.state.samples and len(study.owners["anna"].confirmed) == 1 and study.owners["anna"].sample is None:
            break
    (told,) = (one.message for one in study.outbox["anna"] if one.message.kind == "sample")
    body = messages.Sample(positions=positions, others={"berta": 4})
    with pytest.raises(NotFitting, match="does not fit the table"):
        owner.handle(
            study.agreement, study.owners["anna"], forged(study, dataclasses.replace(told, body=body), "coordinator")
        )


def played(until: str) -> Study:
    study = Study(small(), random.Random(5))
    for _ in study.play():
        if until == "round" and study.state.round == 2 and study.state.rounds[-1].answers:
            break
    return study


def forged(study: Study, message: messages.Message, by: str) -> Signed:
    return messages.sign(message, lambda data: study.keys[by].sign(data).signature)


def test_wrong_study_sender_and_signature_are_told_apart() -> None:
    study = Study(small(), random.Random(1))
    join = study.inbox[0].message
    with pytest.raises(WrongStudy):
        study.handle(study.signed(messages.Message("f" * 64, "anna", "coordinator", 0, 1, join.body)))
    with pytest.raises(WrongSender):
        study.handle(forged(study, messages.Message(join.study, "zoe", "coordinator", 0, 1, join.body), "anna"))
    with pytest.raises(WrongSender):  # a signature by somebody else
        study.handle(forged(study, join, "berta"))
    with pytest.raises(WrongSender):  # anna's invitation used by berta
        study.handle(forged(study, messages.Message(join.study, "berta", "coordinator", 0, 1, join.body), "anna"))


def test_invitation_holds_once() -> None:
    study = Study(small(), random.Random(1))
    study.handle(study.inbox[0])
    study.handle(study.inbox[0])  # the same again is harmless
    with pytest.raises(Replayed):
        study.handle(
            study.signed(
                messages.Message(study.agreement.hash, "anna", "coordinator", 0, 2, study.join("anna", records=7))
            )
        )
    study.keys["anna"] = nacl.signing.SigningKey.generate()
    with pytest.raises(Replayed):
        study.handle(
            study.signed(messages.Message(study.agreement.hash, "anna", "coordinator", 0, 2, study.join("anna")))
        )


def test_answers_of_another_round_and_changed_answers_are_refused() -> None:
    study = played("round")
    late = next(signed for signed in study.inbox if signed.message.kind == "answers" and signed.message.round == 1)
    study.handle(late)  # a repeat of a finished round is harmless
    body = late.message.body
    assert isinstance(body, messages.Answers)
    other = body.model_copy(update={"blob": blob_of(b"other")})
    with pytest.raises(Replayed):
        study.handle(study.signed(messages.Message(late.message.study, late.message.sender, other.peer, 1, 99, other)))
    with pytest.raises(TooEarly):
        study.handle(study.signed(messages.Message(late.message.study, late.message.sender, other.peer, 3, 99, other)))


def test_answers_of_wrong_size_are_refused() -> None:
    study = played("round")
    name = next(iter(study.agreement.owners))
    if f"{name}>{study.agreement.peers(name)[0]}" in study.state.rounds[-1].answers:
        name = study.agreement.peers(name)[0]
    body = messages.Answers(
        peer=study.agreement.peers(name)[0],
        questions=1,
        records=99,
        served="0" * 64,
        blob=blob_of(b""),
        commitment="0" * 64,
        asked="0" * 64,
    )
    with pytest.raises(NotFitting):
        study.handle(study.signed(messages.Message(study.agreement.hash, name, body.peer, 2, 99, body)))


def _nothing() -> messages.Round:
    return messages.Round(open={}, repeats=False, loose=(), aside={}, kept=(), others_loose={}, tallies={})


def test_coordinators_numbers_cannot_be_skipped_or_used_twice() -> None:
    study = played("round")
    state = study.owners["anna"]
    with pytest.raises(TooEarly):
        beyond = messages.Message(state.study, "coordinator", "anna", 0, state.received + 2, _nothing())
        owner.handle(study.agreement, state, study.signed(beyond))
    with pytest.raises(Forked):
        again = messages.Message(state.study, "coordinator", "anna", 0, 1, _nothing())
        owner.handle(study.agreement, state, study.signed(again))


def test_budget_of_questions_ends_the_study_instead_of_being_exceeded() -> None:
    study = Study(small(budget={"records_asked": 5}), random.Random(3))
    for moves, _ in enumerate(study.play()):
        assert moves < 20_000, "stuck"
    assert study.state.ended == "budget"
    assert all(known.asked <= 5 for known in study.state.owners.values())


def test_round_that_cannot_be_used_is_void_and_asked_again_under_a_new_number() -> None:
    study = played("round")
    asked = study.state.rounds[-1].asked
    study.take(rounds.void(study.agreement, study.state, 2))
    assert study.state.round == 3 and study.state.rounds[1].void and study.state.rounds[2].repeats
    assert study.state.rounds[2].asked == asked and not study.state.rounds[2].answers
    for _ in study.play():
        pass
    assert study.state.ended and len(study.state.settled) <= study.agreement.rounds
    assert [one.void for one in study.state.rounds].count(True) == 1


def test_study_whose_rounds_stay_void_ends() -> None:
    study = played("round")
    for number in range(2, 60):
        study.take(rounds.void(study.agreement, study.state, number))
    assert study.state.ended == "void"


def one_of(study: Study, kind: str, round: int = 1) -> messages.Message:
    return next(one.message for one in study.inbox if one.message.kind == kind and one.message.round == round)


def test_list_that_does_not_fit_its_commitment_makes_the_round_void() -> None:
    study = Study(small(), random.Random(7))
    made: list[messages.Message] = []
    while not (made and "anna>berta" in study.state.rounds[-1].answers):
        study.work()
        for name in study.agreement.owners:
            for signed in study.outbox[name]:
                study.owners[name] = owner.handle(study.agreement, study.owners[name], signed)
            study.owner_work(name)
        made = [one.message for one in study.inbox if one.message.kind == "listed" and one.message.sender == "anna"]
        for signed in study.inbox:
            if signed.message not in made:
                with contextlib.suppress(TooEarly):
                    study.handle(signed)
    assert isinstance(made[0].body, messages.Listed)
    salted = made[0].body.model_copy(update={"salt": "11" * 32})
    study.handle(study.signed(dataclasses.replace(made[0], body=salted)))
    assert study.state.rounds[0].void and study.state.rounds[1].repeats


def test_second_different_hand_in_is_refused_and_the_same_again_changes_nothing() -> None:
    study = played("round")
    for kind in ("records", "answers", "listed", "opened"):
        made = one_of(study, kind)
        before = study.state
        study.handle(study.signed(made))
        assert study.state == before
        body = made.body.model_copy(update={"blob": blob_of(b"another")})
        with pytest.raises(Replayed):
            study.handle(
                study.signed(messages.Message(made.study, made.sender, made.receiver, 1, 99, body, made.previous))
            )


def test_owner_refuses_rounds_beyond_the_agreed_and_records_that_were_through() -> None:
    study = played("round")
    state = study.owners["anna"]
    latest = owner.latest(state)

    def begins(open_: dict[str, messages.Open], repeats: bool = False) -> None:
        body = messages.Round(open=open_, repeats=repeats, loose=(), aside={}, kept=(), others_loose={}, tallies={})
        message = messages.Message(
            state.study, "coordinator", "anna", state.round + 1, state.received + 1, body, latest
        )
        owner.handle(study.agreement, state, study.signed(message))

    now = state.rounds[-1].open
    begins(now)
    begins(now, repeats=True)
    own, others = now["berta"].own, now["berta"].others
    everything = messages.Open(own=tuple(range(4)), others=tuple(range(4)))
    assert now["berta"] != everything
    wrongs: list[tuple[dict[str, messages.Open], bool]] = [
        ({"berta": everything}, False),
        ({"berta": messages.Open(own=own[::-1], others=others)}, False),
        ({"anna": now["berta"]}, False),
        ({"berta": messages.Open(own=(), others=())}, True),
    ]
    for wrong, repeats in wrongs:
        with pytest.raises(NotFitting):
            begins(wrong, repeats)


def test_nothing_is_done_before_every_peer_is_confirmed() -> None:
    """Found from outside: an owner evaluated over records of a peer that it had never confirmed."""
    study = Study(small(3), random.Random(2))
    for _ in study.play():
        if study.owners["anna"].keys and study.state.round:
            break
    state = study.owners["anna"].model_copy(update={"confirmed": ("berta",)})
    assert owner.work(study.agreement, state) == []
    with pytest.raises(InputError, match="clara"):
        owner.has_served(state, 1, "berta", blob_of(b""), b"key")
    unsampled = state.model_copy(update={"sample": None, "rounds": (), "received": 1})
    sample = next(one for one in study.outbox["anna"] if one.message.kind == "sample")
    with pytest.raises(TooEarly, match="every other owner"):
        owner.handle(study.agreement, unsampled, sample)


def test_state_survives_being_written_and_read() -> None:
    study = played("round")
    assert facts.StudyState.model_validate_json(study.state.model_dump_json()) == study.state
    assert owner.OwnerState.model_validate_json(study.owners["anna"].model_dump_json()) == study.owners["anna"]
