"""What the main environment and the gates worker say over pipes: terms, records and questions as JSON, keys and parcels
as bytes.

A conversation is one call. Each side sends a greeting line that names the version, then frames: one letter for the
kind, eight bytes for the length, the content. A request is one J frame (the call) and B frames (keys and parcels),
closed by Z. The answer is B frames (results, as they come) and P frames (progress), closed by Z; an E frame before it
has the kind of error and its sentence.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import IO, Any

from blindlabel.engines.interface import EngineError, Terms
from blindlabel.errors import OutsideError
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation, fold
from blindlabel.language.functions import PREDICATES
from blindlabel.language.limits import Limits
from blindlabel.language.record import Case, Record, View
from blindlabel.language.signatures import Clear

GREETING = b"blindlabel gates worker 1\n"
_LENGTH = struct.Struct(">Q")
_LARGEST = 2**32

CALL, BLOB, PROGRESS, ERROR, END = b"J", b"B", b"P", b"E", b"Z"


class WireError(EngineError, OutsideError):
    """The other side of the pipe did not speak as it should; usually it has died."""


# -- frames


def send(stream: IO[bytes], kind: bytes, content: bytes = b"") -> None:
    """Write one frame. The end of a message is also flushed."""
    stream.write(kind + _LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def send_json(stream: IO[bytes], kind: bytes, document: Any) -> None:
    """Write one frame of JSON."""
    send(stream, kind, json.dumps(document).encode())


def greet(stream: IO[bytes]) -> None:
    """Say which version this side speaks."""
    stream.write(GREETING)
    stream.flush()


def expect_greeting(stream: IO[bytes]) -> None:
    """Hold the other side to the same version."""
    found = stream.readline(len(GREETING) + 64)
    if found != GREETING:
        raise WireError(f"Expected a gates worker of this version, and it said {found[:40]!r}.")


def frames(stream: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """All frames up to and without the closing Z."""
    while True:
        head = stream.read(1 + _LENGTH.size)
        if len(head) != 1 + _LENGTH.size:
            raise WireError("The other side of the pipe stopped in the middle.")
        kind, (length,) = head[:1], _LENGTH.unpack(head[1:])
        if kind not in (CALL, BLOB, PROGRESS, ERROR, END) or length > _LARGEST:
            raise WireError("The other side of the pipe sent something that is no frame.")
        if kind == END:
            return
        content = stream.read(length)
        if len(content) != length:
            raise WireError("The other side of the pipe stopped in the middle.")
        yield kind, content


# -- values


def terms_document(terms: Terms) -> dict[str, Any]:
    """Terms as JSON."""
    document = asdict(terms)
    for name in ("agreement_hash", "salt"):
        document[name] = document[name].hex()
    return document


def read_terms(document: dict[str, Any]) -> Terms:
    """The reverse."""
    known = dict(document)
    for name in ("agreement_hash", "salt"):
        known[name] = bytes.fromhex(known[name])
    for name in ("attributes", "functions"):
        known[name] = tuple(known[name])
    known["limits"] = Limits(**known["limits"])
    return Terms(**known)


def record_document(record: Record) -> dict[str, Any]:
    """A record as JSON."""
    return {"attributes": dict(record.attributes), "whole": record.whole}


def read_record(document: dict[str, Any]) -> Record:
    """The reverse."""
    return Record(document["attributes"], document["whole"])


def _clear_document(value: Clear) -> Any:
    return {"fraction": [value.numerator, value.denominator]} if isinstance(value, Fraction) else value


def _read_clear(document: Any) -> Clear:
    if isinstance(document, dict):
        return Fraction(*document["fraction"])
    if isinstance(document, int):
        return document
    return str(document)


class _Nodes:
    """The algebra that lists nodes as JSON; a node comes to its place in the list."""

    def __init__(self) -> None:
        self.listed: list[dict[str, Any]] = []

    def _put(self, kind: str, **content: Any) -> int:
        self.listed.append({"kind": kind, **content})
        return len(self.listed) - 1

    def constant(self, value: bool) -> int:
        return self._put("constant", value=value)

    def atom(self, atom: Atom) -> int:
        view = {"attribute": atom.view.attribute, "case": atom.view.case}
        arguments = [_clear_document(argument) for argument in atom.arguments]
        return self._put("atom", function=atom.function, arguments=arguments, view=view)

    def negation(self, part: int) -> int:
        return self._put("not", parts=[part])

    def conjunction(self, parts: Sequence[int]) -> int:
        return self._put(Conjunction.__name__, parts=list(parts))

    def disjunction(self, parts: Sequence[int]) -> int:
        return self._put(Disjunction.__name__, parts=list(parts))

    def count(self, count: Count, parts: Sequence[int]) -> int:
        bounds = {"weights": list(count.weights), "low": count.low, "high": count.high}
        return self._put(Count.__name__, parts=list(parts), **bounds)


def formula_document(formula: Formula) -> list[dict[str, Any]]:
    """A formula as the list of its nodes, parts before wholes, parts by their place in the list; the last is the
    formula.
    """
    nodes = _Nodes()
    fold(formula, nodes)
    return nodes.listed


def read_formula(documents: Sequence[dict[str, Any]]) -> Formula:
    """The reverse."""
    nodes: list[Formula] = []
    for document in documents:
        kind = document["kind"]
        parts = tuple(nodes[place] for place in document.get("parts", ()))
        if kind == "constant":
            nodes.append(Constant(bool(document["value"])))
        elif kind == "atom":
            if document["function"] not in PREDICATES:
                raise WireError(f"The gates environment has no predicate {document['function']}.")
            seen: Case = document["view"]["case"]
            arguments = tuple(_read_clear(argument) for argument in document["arguments"])
            nodes.append(Atom(document["function"], arguments, View(document["view"]["attribute"], seen)))
        elif kind == "not":
            nodes.append(Negation(parts[0]))
        elif kind == "Conjunction":
            nodes.append(Conjunction(parts))
        elif kind == "Disjunction":
            nodes.append(Disjunction(parts))
        else:
            nodes.append(Count(tuple(document["weights"]), parts, document["low"], document["high"]))
    return nodes[-1]
