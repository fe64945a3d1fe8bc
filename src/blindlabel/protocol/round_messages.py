"""The messages of a round: what owners send each other and the coordinator while questions are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from blindlabel.protocol.shape import Blob, Hex32, Letter, Name, Position, Shape


class Records(Shape):
    """owner to owner, relayed, once a round: the encrypted open records, locked, and the key in an envelope that only
    the receiver opens. Where the records' owner holds the key, its public part is in front of the records.
    """

    count: Position
    blob: Blob
    key: Letter


class Answers(Shape):
    """owner to the one who opens: the encrypted answers of all asked questions over the records of `peer`. Where `peer`
    opens, they are relayed and sealed for it, with a commitment to the asker's list.
    """

    peer: Name
    questions: Position
    records: Position
    served: Hex32  # hash of the body with the records that were asked
    blob: Blob
    commitment: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")]
    """To the asker's list; empty where the coordinator opens."""
    asked: Hex32  # commitment to the questions, see the module of that name


class Listed(Shape):
    """owner to coordinator: the keyed hashes of the pads of its answers about `peer`'s records, and what opens the
    commitment beside them. See `comparing`.
    """

    peer: Name
    salt: Hex32
    blob: Blob


class Opened(Shape):
    """owner to coordinator: the answers of `peer` about this owner's records are open; the keyed hashes of what came
    out.
    """

    peer: Name
    answers: Hex32
    """Digest of the message with the answers."""
    blob: Blob


class Refused(Shape):
    """owner to coordinator: what `peer` sent in this round cannot be used. The round is void for everybody."""

    peer: Name
    kind: Literal["records", "answers"]


class Assist(Shape):
    """owner to coordinator: a blinded ciphertext of an evaluation over the records of `peer`, please encrypt it
    afresh.
    """

    number: Annotated[int, Field(ge=1, le=2**40)]
    peer: Name
    blob: Blob


class Assisted(Shape):
    """coordinator to owner: the reply to the assist with this number."""

    number: Annotated[int, Field(ge=1, le=2**40)]
    blob: Blob
