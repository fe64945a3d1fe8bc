"""What was asked can be shown later: a commitment to the questions of a round goes with every hand-in.

1. The commitment is a keyed hash (BLAKE2b, 32 bytes) of study, owner, round and the text of every question, in the
   order of the sample. The key is a salt of 32 bytes, one for each round, that only the owner can make: without it
   nobody can try out questions.
2. It stands in the signed message with the answers, the same in all messages of an owner's round. So whoever has that
   message can hold the owner to it, and the owner cannot deny it later.
3. To be audited, an owner gives away an *opening*: the salt and the questions of some rounds. Whoever has the messages
   (the coordinator; where owners open answers, also the others) says whether these were the questions.

A commitment does not say that the answers were made from these questions. It says that the owner claimed so, before it
knew how anybody else answered.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from pydantic import Field, ValidationError

from blindlabel.errors import InputError
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
    """What an owner shows to whoever audits it."""

    blindlabel: Annotated[str, Field(pattern="^opened questions 1$")] = "opened questions 1"
    study: Hex32
    owner: Name
    rounds: tuple[AskedRound, ...]

    def commitment(self, asked: AskedRound) -> str:
        """What stands in the messages of a round."""
        claim = [
            "blindlabel questions 1",
            self.study,
            self.owner,
            asked.round,
            [[one.record, one.question] for one in asked.questions],
        ]
        salt = bytes.fromhex(asked.salt)
        return hashlib.blake2b(canonical(claim), key=salt, digest_size=32, person=b"bl-questions").hexdigest()

    def to_json(self) -> Any:
        """As it is written into a file."""
        return self.model_dump(mode="json")


def read_opening(content: bytes) -> Opening:
    """An opening from its file; an `InputError` where it is none."""
    if len(content) > LARGEST:
        raise InputError(f"Opened questions have at most {LARGEST // 2**20} MB.")
    try:
        return Opening.model_validate_json(json.dumps(json.loads(content)))
    except (ValueError, ValidationError, RecursionError) as error:
        raise InputError("These are no opened questions: `blindlabel owner audit --to` writes them.") from error
