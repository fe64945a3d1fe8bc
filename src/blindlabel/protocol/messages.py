"""Messages: their kinds, their single encoding, their limits.

A message on the wire is one line `blindlabel-message/1 SIGNATURE` followed by one line of canonical JSON. Rules that
`parse` enforces before anybody looks at the content:

1. at most `LARGEST` bytes; the first line exactly as above; UTF-8; JSON that is byte for byte its own canonical form,
   so there is one encoding of every message and one digest;
2. the header names version, study (the agreement's hash), sender, receiver, kind, round, sequence and the message
   before; the body has exactly the fields of its kind, each within its bounds; no floating point anywhere;
3. large bodies are not part of the message: it names them by hash and length (`Blob`);
4. the signature (Ed25519) covers the JSON line under a fixed prefix. The receiver checks it under the right key
   (`Signed.check`).

`previous` chains the messages: a message of the coordinator names its previous message to the same owner, and an
owner's message names the last message of the coordinator that it had accepted. So a party that was restored from an old
backup and continues differently is noticed. An owner's messages reach other owners, and digests lie in folders. So that
nobody can use a digest to guess what another was told, each message of the coordinator holds 32 bytes that nobody else
knows (`blind`). They follow from a secret of the coordinator, so that a restored coordinator says the same again.

A message's `slot` says where there can be only one: kind, round and the other owner it is about. The same message again
(same digest) is harmless; a different one in the same slot is `Replayed`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Annotated, Any, Literal, cast, get_args

import nacl.exceptions
import nacl.signing
from pydantic import Field, StringConstraints, ValidationError

from blindlabel.protocol.figures import Tally
from blindlabel.protocol.refusals import MalformedMessage, UnknownVersion, WrongReceiver, WrongSender, WrongStudy
from blindlabel.protocol.shape import Amount, Blob, Hex32, Hex64, Letter, Locked, Name, Position, Shape, canonical
from blindlabel.protocol.telling import CHANCE, HIDDEN, KNOWN, Nothing, Tells

VERSION = 1
LARGEST = 2 * 2**20
"""Bytes of a message without its bodies: room for 50,000 positions and counts."""
MOST_VOID = 10
"""Void rounds of a study; after that it ends."""
_PREFIX = b"blindlabel message 1\0"
_MAGIC = "blindlabel-message/"

Signer = Callable[[bytes], bytes]

MOST_ROWS = 10**10
"""Rows of a table, at most."""
_TABLE = Tells(lambda _: log2(MOST_ROWS), "how many rows the table has")


class Join(Shape):
    """owner to coordinator: I take part. `proof` is a signature with the invitation's one-time key over everything else
    (see `invitation`).
    """

    records: Annotated[int, Field(ge=1, le=MOST_ROWS), _TABLE]
    envelope_key: Annotated[Hex32, CHANCE]
    signing_key: Annotated[Hex32, CHANCE]
    token_hash: Annotated[Hex32, CHANCE]
    proof: Annotated[Hex64, KNOWN]


class Confirm(Shape):
    """owner to coordinator: I compared the verification words with this owner out of band; this is the envelope key I
    confirmed.
    """

    peer: Annotated[Name, KNOWN]
    envelope_key: Annotated[Hex32, KNOWN]


class Peer(Shape):
    """What every owner learns about another."""

    name: Annotated[Name, KNOWN]
    records: Annotated[Position, _TABLE]
    envelope_key: Annotated[Hex32, CHANCE]
    signing_key: Annotated[Hex32, CHANCE]


class Keys(Shape):
    """coordinator to owner: the other owners that take part, with their public keys; and those that are invited again.
    Sent again when that changes.
    """

    peers: Annotated[tuple[Peer, ...], Field(max_length=100)]
    awaited: Annotated[
        tuple[Name, ...], Field(max_length=100), Nothing("who has to join again; that says nothing of its records")
    ] = ()


class Sample(Shape):
    """coordinator to owner: positions of its sampled rows in the owner's own, secret order, ascending; where the
    coordinator draws rows by number, their numbers, in random order; and how many rows the others have in the
    sample.
    """

    positions: Annotated[
        tuple[Position, ...],
        Tells(lambda sizes: sizes.listed, "which rows of the table stand in pairs of a linkage's list"),
    ]
    others: Annotated[dict[Name, Position], KNOWN]


class Relay(Shape):
    """coordinator to owner: another owner's signed message, as it came."""

    message: Annotated[str, StringConstraints(max_length=4096), Nothing("the fields of the message in it are declared")]


class Offered(Shape):
    """owner to owner, relayed, for enriched sampling (`blocking`): blinded blocking keys, sealed for the receiver."""

    blob: Annotated[Blob, HIDDEN]


class Blinded(Shape):
    """owner to coordinator: the keys that `peer` offered, blinded once more, in the order of the points."""

    peer: Annotated[Name, KNOWN]
    blob: Annotated[Blob, Tells(lambda sizes: log2(sizes.offers + 1), "how many keys two owners have in common")]


class Chosen(Shape):
    """coordinator to owner, for enriched sampling: rows drawn uniformly, ascending, and for each other owner the places
    that were chosen in the list that this owner blinded for it.
    """

    uniform: Annotated[tuple[Position, ...], CHANCE]
    places: Annotated[dict[Name, tuple[Position, ...]], Nothing("the list is blinded, in an order of chance")]


class Picked(Shape):
    """owner to owner, relayed: which of the receiver's offers the coordinator chose, sealed for the receiver."""

    blob: Annotated[Blob, Tells(lambda sizes: sizes.choice, "which of the offered keys were chosen")]


class Sampled(Shape):
    """owner to coordinator: positions of its sampled rows, ascending: those drawn by the coordinator, and those of the
    offers that were chosen.
    """

    positions: Annotated[tuple[Position, ...], Nothing("the order is its owner's secret")]


_IN_OWN = Nothing("`own` counts all that can be told of an own record")


class Open(Shape):
    """The records of one pairing that are in an open pair: those of the owner who is told, and the other's."""

    own: Annotated[
        tuple[Position, ...],
        Tells(
            lambda sizes: sizes.own * log2(5),
            "of each own record: settled, set aside, too loose, disagreed, or it stands",
        ),
    ]
    others: Annotated[tuple[Position, ...], Tells(lambda sizes: sizes.others, "which records of the other are open")]


def all_open(sample: Sample, peer: str) -> Open:
    """The pairing with another owner at its beginning."""
    return Open(own=tuple(range(len(sample.positions))), others=tuple(range(sample.others[peer])))


class Round(Shape):
    """coordinator to owner: a round begins. Every owner asks about, and serves, its open records, of each pairing
    (`open`, by other owner); nobody is told anything about a pairing it does not belong to.

    `repeats`: the previous round is void, and the same questions are asked again. `loose`: the receiver's records whose
    questions were too loose in the last settled round; `others_loose`: by other owner, how many of its questions to the
    receiver were. `aside`: the receiver's records that were set aside in it, by asker; `kept`: the receiver's open
    records whose earlier question is asked once more. `tallies`: the last settled round, by other owner. `voided`:
    numbers of the void rounds so far, for owners that were not there.
    """

    open: dict[Name, Open] = Field(default_factory=dict)
    repeats: Annotated[bool, Tells(lambda _: 1.0, "whether the round before is void")] = False
    loose: Annotated[tuple[Position, ...], _IN_OWN] = ()
    aside: Annotated[dict[Name, tuple[Position, ...]], _IN_OWN] = Field(default_factory=dict)
    kept: Annotated[tuple[Position, ...], _IN_OWN] = ()
    others_loose: Annotated[
        dict[Name, Amount],
        Tells(lambda sizes: log2(sizes.others + 1), "how many questions of the other were too loose"),
    ] = Field(default_factory=dict)
    tallies: dict[Name, Tally] = Field(default_factory=dict)
    voided: Annotated[tuple[Position, ...], Nothing("`repeats` and `keys` said it, round by round")] = ()


class Records(Shape):
    """owner to owner, relayed, once per round: the public part of a key made for this asker and round, followed by the
    encrypted open records, locked; and what unlocks them, in an envelope that only the receiver can open.
    """

    count: Annotated[Position, KNOWN]
    blob: Annotated[Blob, HIDDEN]
    key: Annotated[Letter, HIDDEN]


class Answers(Shape):
    """owner to owner, relayed and sealed for the receiver: the encrypted answers of all questions about the records of
    `peer`, with a commitment to the asker's list.
    """

    peer: Annotated[Name, KNOWN]
    questions: Annotated[Position, KNOWN]
    records: Annotated[Position, KNOWN]
    served: Annotated[Hex32, KNOWN]  # hash of the body with the records that were asked
    blob: Annotated[Blob, HIDDEN]
    commitment: Annotated[Hex32, HIDDEN]
    """To the asker's list."""
    asked: Annotated[Hex32, HIDDEN]  # commitment to the questions, see the module of that name


class Listed(Shape):
    """owner to coordinator: the keyed hashes of the pads of its answers about `peer`'s records, and what opens the
    commitment beside them. See `comparing`.
    """

    peer: Annotated[Name, KNOWN]
    salt: Annotated[Hex32, CHANCE]
    blob: Annotated[Blob, Nothing("hashes under a secret; `opened` counts what comparing them says")]


class Opened(Shape):
    """owner to coordinator: the answers of `peer` about this owner's records have been opened; these are the keyed
    hashes of the result.
    """

    peer: Annotated[Name, KNOWN]
    answers: Annotated[Hex32, KNOWN]
    """Digest of the message with the answers."""
    blob: Annotated[
        Blob, Tells(lambda sizes: sizes.own * sizes.others * sizes.outcome, "an outcome for each question and record")
    ]


class Refused(Shape):
    """owner to coordinator: what `peer` sent in this round cannot be used. The round is void for everybody."""

    peer: Annotated[Name, KNOWN]
    kind: Annotated[Literal["records", "answers"], Tells(lambda _: 2.0, "which of the two owners cannot use what")]


_LAST = Nothing("rounds before said it; for the last one a `round` is counted that is not sent")


class Pairing(Shape):
    """The result of one pairing: the labels row by row, one byte per pair. Rows are those of the owner whose name sorts
    first, whether it is the receiver or not.
    """

    peer: Annotated[Name, KNOWN]
    enriched: Annotated[
        tuple[Position, ...], Tells(lambda sizes: sizes.others if sizes.offers else 0.0, "which records keys chose")
    ]
    """The other owner's records that were chosen by blocking keys, by their places in its sample."""
    labels: Annotated[Locked, Tells(lambda sizes: sizes.released, "what is released of the labels")]
    aside: Annotated[tuple[Position, ...], _LAST]
    """The receiver's records that were set aside."""
    tallies: Annotated[tuple[Tally, ...], _LAST]
    """One for every round, first to last."""


EndReason = Literal["agreed", "rounds", "budget", "closed", "left", "loose", "void"]
"""Why a study ended."""


class Truth(Shape):
    """coordinator to owner: the study is over, and these are the agreed labels."""

    reason: Annotated[EndReason, Tells(lambda _: log2(len(get_args(EndReason))), "why the study ended")]
    pairings: Annotated[tuple[Pairing, ...], Field(max_length=100)]


Body = (
    Join | Confirm | Offered | Blinded | Picked | Sampled | Records | Answers | Listed | Opened | Refused
    | Keys | Chosen | Sample | Relay | Round | Truth
)  # fmt: skip

KINDS: dict[str, type[Shape]] = {shape.__name__.lower(): shape for shape in get_args(Body)}
_KIND_OF = {shape: kind for kind, shape in KINDS.items()}
IN_ROUNDS = frozenset({"records", "answers", "listed", "opened", "refused"})
"""Owners' kinds that belong to a round."""
SAMPLING = frozenset({"offered", "blinded", "picked", "sampled"})
"""Owners' kinds with which an enriched sample is drawn."""
TO_OWNERS = frozenset({"records", "answers", "offered", "picked"})
"""Owners' kinds that go to another owner."""


class Header(Shape):
    """What stands around the body of every message."""

    version: Annotated[int, KNOWN]
    study: Annotated[Hex32, KNOWN]
    sender: Annotated[Name, KNOWN]
    receiver: Annotated[Name, KNOWN]
    kind: Annotated[str, KNOWN]
    round: Annotated[int, Field(ge=0, le=200), KNOWN]
    sequence: Annotated[
        int, Field(ge=1, le=2**40), Nothing("each step has its message; their order says what times of arrival say")
    ]
    previous: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$"), HIDDEN]
    blind: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$"), CHANCE]
    body: Annotated[dict[str, Any], Nothing("the fields of its kind are declared")]


_AROUND = ("study", "sender", "receiver", "round", "sequence", "previous", "blind")
"""The fields of a header that a message has, too."""


@dataclass(frozen=True)
class Message:
    """One message."""

    study: str
    sender: str
    receiver: str
    round: int
    sequence: int
    body: Body
    previous: str = ""
    """Digest of the coordinator's message before, or empty if there was none."""
    blind: str = ""
    """Of the coordinator's messages: 32 bytes that nobody but sender and receiver knows."""

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return _KIND_OF[type(self.body)]

    @property
    def slot(self) -> str:
        """Names the place that only one message can have: sender, kind, round, and whom it is about."""
        about = getattr(self.body, "peer", "") or self.receiver
        return f"{self.sender} {self.kind} {self.round} {about}"

    @property
    def blobs(self) -> list[Blob]:
        """All large bodies that the message names, or that the one names which it relays."""
        if isinstance(self.body, Relay):
            return parse(self.body.message.encode()).message.blobs
        return list(_blobs(self.body))

    @cached_property
    def digest(self) -> str:
        """Names the message's content; a signature is not part of it."""
        return hashlib.blake2b(self.text, digest_size=32).hexdigest()

    @cached_property
    def text(self) -> bytes:
        """The canonical JSON."""
        around = {name: getattr(self, name) for name in (*_AROUND, "kind")}
        return canonical({"version": VERSION, **around, "body": self.body.model_dump(mode="json")})


@dataclass(frozen=True)
class Signed:
    """A message with its signature, as it came or as it leaves."""

    message: Message
    signature: bytes
    wire: bytes

    @property
    def digest(self) -> str:
        """Names the message's content; the signature is not part of it."""
        return self.message.digest

    def check(self, *, study: str, receiver: str, signing_key: str) -> None:
        """Check that the message belongs to this study, is meant for this receiver, and carries a signature with this
        key.
        """
        if self.message.study != study:
            raise WrongStudy("The message names another agreement than this study's.")
        if self.message.receiver != receiver:
            raise WrongReceiver(f"The message is meant for {self.message.receiver}.")
        try:
            nacl.signing.VerifyKey(bytes.fromhex(signing_key)).verify(_PREFIX + self.message.text, self.signature)
        except (nacl.exceptions.CryptoError, ValueError, TypeError) as error:
            raise WrongSender(
                f"The signature of the message is not valid for the key of {self.message.sender}."
            ) from error


def sign(message: Message, signer: Signer) -> Signed:
    """The message ready to leave."""
    text = message.text
    signature = signer(_PREFIX + text)
    wire = f"{_MAGIC}{VERSION} {base64.b64encode(signature).decode()}\n".encode() + text + b"\n"
    if len(wire) > LARGEST:
        raise MalformedMessage(f"A {message.kind} message of {len(wire)} bytes is too large to send.")
    return Signed(message, signature, wire)


def parse(wire: bytes) -> Signed:
    """Read a message. This says nothing about who wrote it: `Signed.check` does."""
    if len(wire) > LARGEST:
        raise MalformedMessage(f"The message has {len(wire)} bytes; {LARGEST} are allowed.")
    signature, text = _split(wire)
    try:
        document = json.loads(text.decode("utf-8"), parse_float=_no_float, parse_constant=_no_float)
        if canonical(document) != text:
            raise MalformedMessage("The message is not in canonical form.")
        header = Header.model_validate_json(text)
    except (ValueError, RecursionError) as error:  # bad UTF-8, bad JSON and a wrong shape are all ValueErrors
        raise MalformedMessage(f"The message cannot be read: {_reason(error)}.") from error
    if header.version != VERSION:
        raise UnknownVersion(f"The message has version {header.version}; this program speaks version {VERSION}.")
    shape = KINDS.get(header.kind)
    if shape is None:
        raise MalformedMessage("The message is of a kind that does not exist.")
    try:
        body = shape.model_validate_json(canonical(header.body))
    except ValidationError as error:
        raise MalformedMessage(f"The {header.kind} message is not of its shape: {_reason(error)}.") from error
    message = Message(body=cast(Body, body), **{name: getattr(header, name) for name in _AROUND})
    if message.text != text:
        raise MalformedMessage("The message leaves out fields of its kind.")
    return Signed(message, signature, wire)


def _split(wire: bytes) -> tuple[bytes, bytes]:
    first, _, rest = wire.partition(b"\n")
    if not rest.endswith(b"\n") or b"\n" in rest[:-1] or not first.startswith(_MAGIC.encode()):
        raise MalformedMessage("The bytes are not a blindlabel message.")
    version, _, encoded = first[len(_MAGIC) :].partition(b" ")
    if version != str(VERSION).encode():
        raise UnknownVersion("The message is of a version that this program does not speak.")
    try:
        signature = base64.b64decode(encoded, validate=True)
    except ValueError as error:
        raise MalformedMessage("The message's signature cannot be read.") from error
    if len(signature) != 64 or base64.b64encode(signature) != encoded:
        raise MalformedMessage("The message's signature does not have 64 bytes.")
    return signature, rest[:-1]


def _no_float(_text: str) -> Any:
    raise MalformedMessage("The message holds a number that is not whole.")


def _reason(error: BaseException) -> str:
    """What is wrong, without repeating any content of the message."""
    if isinstance(error, ValidationError):
        found = error.errors(include_url=False, include_input=False, include_context=False)[0]
        return f"{'.'.join(map(str, found['loc']))[:80]}: {found['type']}"
    return type(error).__name__


def _blobs(value: Any) -> Iterator[Blob]:
    if isinstance(value, Blob):
        yield value
    elif isinstance(value, Shape):
        for name in type(value).model_fields:
            yield from _blobs(getattr(value, name))
    elif isinstance(value, tuple):
        for part in value:
            if isinstance(part, Shape):
                yield from _blobs(part)
