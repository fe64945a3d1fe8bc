"""Showing later what was asked: a commitment to the questions of a round goes with every hand-in.

1. The commitment is a keyed hash (BLAKE2b, 32 bytes) of study, owner, round and the text of every question, in the
   order of the sample. The key is a salt of 32 bytes, one for each round, that only the owner can make: without it
   nobody can try out questions.
2. It is part of the signed message with the answers, the same in all messages of an owner's round. So whoever has that
   message can hold the owner to it, and the owner cannot deny it later.
3. To be audited, an owner gives away an *opening*: the salt and the questions of some rounds. Whoever has the messages
   (the coordinator, and the owners that they went to) says whether these were the questions.

A commitment does not say that the answers were made from these questions. It says that the owner claimed so, before it
knew how anybody else answered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, ValidationError

from blindlabel.envelope.identity import Identity
from blindlabel.errors import InputError
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.facts import StudyState, sides_of
from blindlabel.protocol.interfaces import Store
from blindlabel.protocol.shape import Hex32, Name, Position, Shape, canonical

SALT_BYTES = 32
LARGEST = 64 * 2**20
"""Bytes of an opening's file."""


class AskedQuestion(Shape):
    """The question about one record."""

    record: Position
    question: Annotated[str, Field(max_length=2**20)]


class AskedRound(Shape):
    """All questions of one round, and what opens the commitment to them."""

    round: Annotated[int, Field(ge=1, le=200)]
    salt: Hex32
    questions: tuple[AskedQuestion, ...]


class Opening(Shape):
    """What an owner shows to an auditor."""

    blindlabel: Annotated[str, Field(pattern="^opened questions 1$")] = "opened questions 1"
    study: Hex32
    owner: Name
    rounds: tuple[AskedRound, ...]

    def commitment(self, asked: AskedRound) -> str:
        """The commitment in the messages of a round."""
        questions = [[one.record, one.question] for one in asked.questions]
        claim = ["blindlabel questions 1", self.study, self.owner, asked.round, questions]
        salt = bytes.fromhex(asked.salt)
        return hashlib.blake2b(canonical(claim), key=salt, digest_size=32, person=b"bl-questions").hexdigest()


def read_opening(content: bytes) -> Opening:
    """Read an opening from its file; an `InputError` if it is none."""
    if len(content) > LARGEST:
        raise InputError(f"Opened questions have at most {LARGEST // 2**20} MB.")
    try:
        return Opening.model_validate_json(json.dumps(json.loads(content)))
    except (ValueError, ValidationError, RecursionError) as error:
        raise InputError("These are not opened questions: `blindlabel owner audit --to` writes them.") from error


def commitment(store: Store, identity: Identity, round: int) -> str:
    """The commitment to the questions of a round that was handed in."""
    return Opening(study=store.state().study, owner=store.name, rounds=()).commitment(_asked(store, identity, round))


def opening_of(store: Store, identity: Identity) -> Opening:
    """Everything that this owner has committed to so far."""
    state = store.state()
    answered = [number for number, one in enumerate(state.rounds, start=1) if one.answers]
    rounds = tuple(_asked(store, identity, number) for number in answered)
    return Opening(study=state.study, owner=store.name, rounds=rounds)


def _asked(store: Store, identity: Identity, round: int) -> AskedRound:
    tasks = store.tasks(round)
    questions = tuple(AskedQuestion(record=task.record, question=task.question or "") for task in tasks)
    return AskedRound(round=round, salt=_salt(store, identity, round).hex(), questions=questions)


def _salt(store: Store, identity: Identity, round: int) -> bytes:
    """Derived from the owner's secret keys, so that nothing has to be kept, and a workspace restored from a backup
    commits to the same questions in the same words. Nobody else can tell it from a random one.
    """
    about = canonical([store.state().study, store.name, round])
    secret = identity.envelope_secret
    return hashlib.blake2b(about, key=secret, digest_size=SALT_BYTES, person=b"bl-asked-salt").digest()


@dataclass(frozen=True)
class Audited:
    """Whether the questions of a round are those that were committed to, or None if nothing is known of that round."""

    round: int
    questions: int
    same: bool | None

    @property
    def sentence(self) -> str:
        """In words."""
        said = {
            True: "these were the questions",
            False: "these were NOT the questions that it committed to",
            None: "no commitment came here",
        }
        return f"round {self.round}, {self.questions} questions: {said[self.same]}"


def audit(opening: Opening, study: str, committed: Mapping[int, set[str]]) -> list[Audited]:
    """Check an opening against the commitments that came with an owner's messages, by round. Rounds with a
    commitment that are not opened are listed too: an owner must not choose which rounds to show.
    """
    if opening.study != study:
        raise InputError("These questions were asked in another study.")
    opened = {one.round: one for one in opening.rounds}
    if len(opened) != len(opening.rounds):
        raise InputError("These opened questions name a round twice.")
    found = []
    for number in sorted(opened.keys() | committed.keys()):
        one, said = opened.get(number), committed.get(number)
        same = None if said is None else one is not None and {opening.commitment(one)} == said
        found.append(Audited(number, len(one.questions) if one else 0, same))
    return found


def known_to_coordinator(state: StudyState, owner: str) -> dict[int, set[str]]:
    """The commitments of an owner that came to the coordinator, by round: one each, if the owner was honest."""
    return _by_round(
        (number, answers.asked)
        for number, facts in enumerate(state.rounds, start=1)
        for direction, answers in facts.answers.items()
        if sides_of(direction)[0] == owner
    )


def known_to_owner(state: rules.OwnerState, peer: str) -> dict[int, set[str]]:
    """The commitments of another owner that came with answers to be opened here."""
    return _by_round(
        (number, one.to_open[peer].answers.asked)
        for number, one in enumerate(state.rounds, start=1)
        if peer in one.to_open
    )


def _by_round(said: Iterable[tuple[int, str]]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for number, commitment_ in said:
        found.setdefault(number, set()).add(commitment_)
    return found
