"""Random bytes and damaged good bytes against everything that reads what others wrote. Only the expected error may come
out.

`fuzz_http` makes requests from the coordinator's own OpenAPI document, valid and invalid, against a served coordinator
(it needs schemathesis, a development dependency): no request may end in a server error, and every refusal has the
documented shape.

Each target takes one input and returns normally or raises the error that its interface promises; anything else is a
defect. Inputs are good examples with a few changes (bits, cuts, doubled or exchanged parts), or bytes out of nothing.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from blindlabel.engines.interface import EngineError, Terms
from blindlabel.engines.packed.encoding import parcels as packed_parcels
from blindlabel.engines.plain import PlainEngine
from blindlabel.envelope.identity import Context, EnvelopeError, new_identity, point_of, scalar_of
from blindlabel.envelope.stream import lock, new_key, open_, seal, unlock
from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Question, Record
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import blocking, comparing, labels, messages
from blindlabel.protocol.agreement import to_text
from blindlabel_lab.gates import ciphertexts
from blindlabel_lab.simulation import vectors

TERMS = Terms(attributes=("name",))


@dataclass(frozen=True)
class Target:
    """Something that reads foreign bytes."""

    name: str
    good: tuple[bytes, ...]
    read: Callable[[bytes], None]
    expected: tuple[type[Exception], ...]


def targets() -> list[Target]:
    """Everything that reads what others wrote, without a network."""
    wires = tuple(vectors.wire_of(entry) for document in vectors.documents().values() for entry in document["vectors"])
    questions = (
        b'ret is_in("sony", lower($r)) & !has_word("tv", $r)\n',
        b'$a = 3*starts_with("x", $r.name) + 1\nret $a >= 2 # why\n',
    )
    return [
        Target("question", questions, _question, ()),
        Target("message", wires, lambda content: _ignore(messages.parse(content)), (OutsideError,)),
        _blinded_keys(),
        _lists(),
        _labels(),
        Target("agreement", (to_text(vectors.the_agreement()).encode(),), _agreement, (InputError,)),
        _envelope(),
        _locked(),
        _packed(),
        _gates(),
        _plain(),
    ]


def _ignore(_value: object) -> None:
    """The value does not matter, only that nothing unexpected was raised."""


def _question(content: bytes) -> None:
    Question(content.decode("utf-8", "replace"), attributes=("name",))


def _agreement(content: bytes) -> None:
    agreements.from_text(content.decode("utf-8", "replace"))


def _blinded_keys() -> Target:
    number, points = scalar_of(bytes(32)), [point_of(bytes([place]), b"fuzzing") for place in range(3)]

    def read(content: bytes) -> None:
        blocking.blinded(blocking.points_of(content, len(points)), number)

    return Target("blinded keys", (b"".join(points),), read, (OutsideError, EnvelopeError))


def _lists() -> Target:
    good = bytes(range(2 * 3 * comparing.HASH_BYTES))

    def read(content: bytes) -> None:
        comparing.compared(content, good, 2, 3)

    return Target("compared lists", (good,), read, (OutsideError,))


def _labels() -> Target:
    good = labels.no_labels(2, 3).tobytes()
    return Target("labels", (good,), lambda content: _ignore(labels.from_bytes(content, 2, 3)), (OutsideError,))


def _envelope() -> Target:
    one, other, context = new_identity(), new_identity(), Context(bytes(32), "records")
    sealed = b"".join(seal(one, other.public, context, [b"first chunk", b"second" * 40]))

    def read(content: bytes) -> None:
        for _ in open_(other, one.public, context, [content]):
            continue

    return Target("envelope", (sealed,), read, (EnvelopeError,))


def _locked() -> Target:
    key, context = new_key(), Context(bytes(32), "records")
    locked = b"".join(lock(key, context, [b"first chunk", b"second" * 40]))

    def read(content: bytes) -> None:
        for _ in unlock(key, context, [content]):
            continue

    return Target("locked records", (locked,), read, (EnvelopeError,))


def _packed() -> Target:
    study = packed_parcels.Study("p", bytes(32), bytes(16))
    good = packed_parcels.write(
        packed_parcels.Parcel(packed_parcels.ParcelKind.RECORDS, study, (1, 2), (b"item", b"other" * 30))
    )

    def read(content: bytes) -> None:
        packed_parcels.read(content, packed_parcels.ParcelKind.RECORDS, study, most_items=8, most_bytes=4096)

    return Target("packed parcel", (good,), read, (EngineError,))


def _gates() -> Target:
    good = ciphertexts.sealed(ciphertexts.Content.ANSWERS, TERMS, bytes(16), b"body" * 40)
    return Target(
        "gates parcel",
        (good,),
        lambda c: _ignore(ciphertexts.opened(ciphertexts.Content.ANSWERS, TERMS, c)),
        (EngineError,),
    )


def _plain() -> Target:
    engine = PlainEngine()
    keys = engine.make_keys(TERMS)
    records = next(engine.encrypt(TERMS, keys.secret, [Record({"name": "a"}, "a"), Record({"name": "b"}, "b")], 1))
    formula = Question('ret is_in("a", $r)', attributes=("name",)).formula
    assert formula is not None
    answers = next(engine.evaluate(TERMS, keys.public, [records], [formula])).parcel

    def read(content: bytes) -> None:
        engine.open(TERMS, keys.secret, [content], 1, 2)
        list(engine.evaluate(TERMS, keys.public, [content], [formula]))

    return Target("plain parcel", (records, answers), read, (EngineError,))


def changed(good: bytes, chance: random.Random) -> bytes:
    """A good example with a few changes, or bytes out of nothing."""
    if chance.random() < 0.05:
        return chance.randbytes(chance.randrange(200))
    content = bytearray(good)
    for _ in range(chance.randrange(1, 4)):
        at, width = chance.randrange(len(content) + 1), chance.randrange(1, 12)
        deed = chance.randrange(6)
        if deed == 0 and content:
            content[at % len(content)] ^= 1 << chance.randrange(8)
        elif deed == 1:
            del content[at : at + width]
        elif deed == 2:
            content[at:at] = content[at : at + width]
        elif deed == 3:
            content[at:at] = chance.randbytes(width)
        elif deed == 4:
            del content[at:]
        else:
            content[at : at + width] = chance.choice(
                (b"\xff" * 8, bytes(8), b"9" * 20, b'"', b"[", b"\\u0000", "ı".encode())
            )
    return bytes(content)


def fuzz(target: Target, inputs: int, seed: int = 0) -> list[str]:
    """This many inputs; what went wrong, with the input in hexadecimal."""
    chance = random.Random(f"{target.name} {seed}")  # noqa: S311 (no secret)
    found = []
    for _ in range(inputs):
        content = changed(chance.choice(target.good), chance)
        try:
            target.read(content)
        except target.expected:
            continue
        except Exception as error:
            found.append(f"{target.name}: {type(error).__name__}: {error}: {content.hex()}")
    return found


# Requests


def fuzz_http(
    document: dict[str, Any], client: httpx.Client, *, examples: int, known: dict[str, list[str]]
) -> tuple[Counter[int], list[str]]:
    """This many requests to each operation; statuses, and what went wrong. `known` are values (by parameter) that exist
    at the server: half of the requests use them, so that not everything ends at the first check."""
    import hypothesis  # noqa: PLC0415
    import schemathesis  # noqa: PLC0415

    statuses: Counter[int] = Counter()
    wrong: list[str] = []
    schema = schemathesis.openapi.from_dict(document)
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]

        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), real=hypothesis.strategies.booleans())
        def one(case: Any, real: bool) -> None:
            parameters = dict(case.path_parameters or {})
            if real:
                parameters |= {name: values[0] for name, values in known.items() if name in parameters}
            url = case.path.format(**{name: _quoted(str(value)) for name, value in parameters.items()})
            query = {name: str(value) for name, value in (case.query or {}).items()} | {"wait": "0"}
            body = case.body if isinstance(case.body, (bytes, str)) else json.dumps(case.body, default=repr)
            response = client.request(
                case.method, url, params=query, content=body.encode() if isinstance(body, str) else body
            )
            statuses[response.status_code] += 1
            refused = response.status_code >= 400 and response.status_code not in (404, 405, 422)
            if response.status_code >= 500 or (refused and set(response.json()) != {"error", "sentence"}):
                wrong.append(f"{case.method} {url} {query}: {response.status_code} {response.text[:200]}")

        one()
    return statuses, wrong


def _quoted(value: str) -> str:
    return quote(value, safe="", errors="replace").replace(".", "%2E") or "%20"
