"""How fast the packed engine answers a round: random records and questions of one shape, every label checked against
clear evaluation.

All shapes are points questions, answered without any call, and the records' owner holds the key, as in an agreement by
default; with `anything` the coordinator holds it and is called. `total` is what an owner waits for in a round: prepare
+ evaluate + assist, the assist being served in this process. The bytes of records include the randomness that their
owner sends with them.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_lowercase
from typing import TypeVar

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import Answers, Evaluated, Keys, Outcome, Terms, Working, outcomes
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding.tables import features_of
from blindlabel.engines.packed.keys import open_public, open_secret
from blindlabel.engines.packed.records import encrypt_batch, share_parcels
from blindlabel.engines.packed.running.processes import features
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.interface import Public, Secret
from blindlabel.language.formula import Atom, Conjunction, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.record import Record, View

SHAPES = ("and", "or", "not", "count")
_LETTERS = ascii_lowercase + "0123456789" + " " * 8


@dataclass(frozen=True)
class PackedFigures:
    """One measurement, as the command prints it."""

    shape: str
    questions: int
    records: int
    length: int
    needles: int
    workers: int
    seconds: dict[str, float]
    bytes: dict[str, int]
    peak_rss_mb: float
    wrong_labels: int

    def to_json(self) -> dict[str, object]:
        """The document of `blindlabel bench packed --json`."""
        return {"engine": "packed", **self.__dict__}


def terms_of(
    shape: str,
    records: int,
    length: int,
    needles: int,
    full: bool = False,
    *,
    anything: bool = False,
    exclusions: int = 0,
) -> Terms:
    """The agreement that is measured: whole records in lower case, is_in alone and places for just these questions, or
    (`full`) what an agreement has by default. With the assist where `anything` may be asked.
    """
    default = Terms(("text",), record_length=length, records=records)
    default = replace(default, questions="any") if anything else replace(default, keys="owners")
    if full:
        return default
    profiles = {"and": (1,), "or": (1, 1), "not": (1,), "count": tuple(sorted(weights_of(needles), reverse=True))}
    return replace(
        default,
        encode_attributes=False,
        case="lower",
        functions=("is_in",),
        profile=profiles[shape],
        exclusions=max(exclusions, shape == "not"),
        probes=needles,
        inner_gates=0,
    )


def weights_of(needles: int) -> tuple[int, ...]:
    """What the needles of a count are worth."""
    return tuple(1 + place % 3 for place in range(needles))


def question(chance: random.Random, records: list[Record], own: int, needles: int, shape: str) -> Formula:
    """A question about record `own`, whose needles are mostly cut from it."""
    atoms: dict[str, Atom] = {}
    while len(atoms) < needles:
        text = (records[own] if chance.random() < 0.8 else chance.choice(records)).whole
        size = chance.randint(3, 12)
        start = chance.randrange(max(1, len(text) - size))
        atoms[text[start : start + size]] = Atom("is_in", (text[start : start + size],), View())
    parts: tuple[Formula, ...] = tuple(atoms.values())
    if shape == "or" and needles > 1:
        either = Disjunction(parts[-2:])
        return Conjunction((*parts[:-2], either)) if needles > 2 else either
    if shape == "not":
        return Conjunction((*parts[:-1], Negation(parts[-1]))) if needles > 1 else Negation(parts[0])
    if shape == "count":
        weights = weights_of(needles)
        return Count(weights, parts, (sum(weights) + 1) // 2, sum(weights))
    return Conjunction(parts) if needles > 1 else parts[0]


def _encoded(terms: Terms, records: list[Record], workers: int) -> Residues:
    return features(terms, records, workers) if workers > 1 else features_of(way_of(terms).tables, records)


def _encrypted(key: Public | Secret, encoded: Residues, batch: int, total: int, questions: int) -> list[bytes]:
    parcels = list(encrypt_batch(key, encoded, batch, total))
    return parcels + (list(share_parcels(key, batch, questions, total)) if isinstance(key, Secret) else [])


def _key(terms: Terms, keys: Keys) -> Public | Secret:
    """What records are encrypted with."""
    return open_secret(terms, keys.secret) if terms.keys == "owners" else open_public(terms, keys.public)


def _read(
    engine: PackedEngine, terms: Terms, keys: Keys, answers: list[Evaluated], questions: int, records: int
) -> Answers:
    """The labels: what is opened is compared with the pads."""
    opened = engine.open(terms, keys.secret, [one.parcel for one in answers], questions, records)
    pads = engine.pad_values(terms, [one.pads for one in answers], questions, records)
    labels: Answers = outcomes(opened == pads) == Outcome.YES
    return labels


_Result = TypeVar("_Result")


class _Clock:
    """Adds up seconds by name: waiting time, or processor time of this process."""

    def __init__(self, processor: bool) -> None:
        self.now = time.process_time if processor else time.perf_counter
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, work: Callable[[], _Result]) -> _Result:
        start = self.now()
        done = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + self.now() - start
        return done


def measure(
    shape: str,
    records: int,
    length: int,
    needles: int,
    *,
    questions: int = 0,
    workers: int = 1,
    seed: int = 0,
    full: bool = False,
    anything: bool = False,
    exclusions: int = 0,
    processor: bool = False,
) -> PackedFigures:
    """Play one round of `records` questions (or the first so many of them) over `records` records of `length`
    characters.
    """
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    rows = [Record.of({"text": "".join(chance.choices(_LETTERS, k=length))}) for _ in range(records)]
    asked = [question(chance, rows, own, needles, shape) for own in range(min(questions or records, records))]
    terms = terms_of(shape, records, length, needles, full, anything=anything, exclusions=exclusions)
    engine, clock = PackedEngine(), _Clock(processor)
    way_of(terms)  # opening the library is not counted
    keys = clock.timed("keys", lambda: engine.make_keys(terms))
    key = _key(terms, keys)
    check_records(terms, rows)
    parcels: list[bytes] = []
    block = key.way.layout.block
    for batch in range(key.way.layout.batches(records)):
        part = rows[batch * block : (batch + 1) * block]
        encoded = clock.timed("encode", partial(_encoded, terms, part, workers))
        parcels += clock.timed("encrypt", partial(_encrypted, key, encoded, batch, records, len(asked)))
    moved = 0

    def assist(request: bytes) -> bytes:
        nonlocal moved
        reply = clock.timed("assist", lambda: engine.assist(terms, keys.secret, request))
        moved += len(request) + len(reply)
        return reply

    prepare = [0.0, 0.0]

    def progress(phase: str, _: float) -> None:
        now = clock.now()
        if phase == "prepare":  # told at the beginning and at the end of opening each batch
            prepare[0] += now - prepare[1] if prepare[1] else 0.0
            prepare[1] = 0.0 if prepare[1] else now

    start = clock.now()
    made = engine.evaluate(terms, keys.public, parcels, asked, assist, Working(workers, progress))
    answers = list(made)
    total = clock.now() - start
    labels = clock.timed("decrypt", lambda: _read(engine, terms, keys, answers, len(asked), records))
    expected = np.array([[evaluate(one, row) for row in rows] for one in asked], dtype=np.bool_)
    served = clock.seconds.get("assist", 0.0)
    measured = clock.seconds | {
        "prepare": prepare[0],
        "assist": served,
        "evaluate": max(0.0, total - prepare[0] - served),
        "total": total,
    }
    order = ("keys", "encode", "encrypt", "prepare", "evaluate", "assist", "decrypt", "total")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return PackedFigures(
        shape,
        len(asked),
        records,
        length,
        needles,
        workers,
        {name: round(measured[name], 4) for name in order},
        {
            "keys": len(keys.public),
            "records": sum(map(len, parcels)),
            "assist": moved,
            "answers": sum(len(one.parcel) for one in answers),
        },
        round(peak / 1024, 1),
        int((labels != expected).sum()),
    )
