"""How fast the packed engine answers a round: random records and questions of one shape, every label checked against
clear evaluation.

What is measured is a default agreement, or one that is given: its functions, its room, the ring that its account of
bits asks for. `least` measures an agreement with room for just these questions instead. `total` is what an owner waits
for in a round: prepare + evaluate. The bytes of records include the randomness that their owner sends with them.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from string import ascii_lowercase
from typing import TypeVar

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import AnswerMatrix, Evaluated, KeyPair, Terms, Working, is_yes, outcomes
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.residues import Residues
from blindlabel.engines.packed.running import native
from blindlabel.engines.packed.running.engine import PackedEngine
from blindlabel.engines.packed.running.keys import Secret, open_secret
from blindlabel.engines.packed.running.records import encrypt_batch, share_parcels
from blindlabel.engines.packed.running.workers import features
from blindlabel.language.formula import Atom, Conjunction, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.record import SEPARATOR, Record, View
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement

SHAPES = ("and", "or", "not", "unless", "count")
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
    agreement: str
    parameters: str
    kernel: str
    seconds: dict[str, float]
    bytes: dict[str, int]
    peak_rss_mb: float
    wrong_labels: int

    def to_json(self) -> dict[str, object]:
        """The document of `blindlabel bench packed --json`."""
        return {"engine": "packed", **self.__dict__}


def terms_of(shape: str, records: int, length: int, needles: int, *, least: bool = False) -> Terms:
    """The agreement that is measured: what a study has that says nothing, or (`least`) whole records in lower case,
    is_in alone and room for just these questions.
    """
    if not least:
        encoding, sampling = {"record_length": length}, {"records": records}
        return agreements.new("bench", ("anna", "berta"), ("text",), encoding=encoding, sampling=sampling).terms()
    profiles = {"or": (1, 1), "count": tuple(sorted(weights_of(needles), reverse=True))}
    return Terms(
        ("text",),
        record_length=length,
        records=records,
        encode_attributes=False,
        case="lower",
        functions=("is_in",),
        profile=profiles.get(shape, (1,)),
        exclusions=int(shape in ("not", "unless")),
        unless=int(shape == "unless"),
    )


def weights_of(needles: int) -> tuple[int, ...]:
    """What the needles of a count are worth."""
    return tuple(1 + place % 3 for place in range(needles))


def question(
    chance: random.Random, records: list[Record], own: int, needles: int, shape: str, view: View | None = None
) -> Formula:
    """A question about record `own`, whose needles are mostly cut from it."""
    atoms: dict[str, Atom] = {}
    about = view or View()
    while len(atoms) < needles:
        text = (records[own] if chance.random() < 0.8 else chance.choice(records)).text(about)
        size = chance.randint(3, 12)
        start = chance.randrange(max(1, len(text) - size))
        atoms[text[start : start + size]] = Atom("is_in", (text[start : start + size],), about)
    parts: tuple[Formula, ...] = tuple(atoms.values())
    if shape == "or" and needles > 1:
        either = Disjunction(parts[-2:])
        return Conjunction((*parts[:-2], either)) if needles > 2 else either
    if shape == "unless" and needles > 2:
        return Conjunction((*parts[:-2], Disjunction((Negation(parts[-2]), parts[-1]))))
    if shape in ("not", "unless"):
        return Conjunction((*parts[:-1], Negation(parts[-1]))) if needles > 1 else Negation(parts[0])
    if shape == "count":
        weights = weights_of(needles)
        return Count(weights, parts, (sum(weights) + 1) // 2, sum(weights))
    return Conjunction(parts) if needles > 1 else parts[0]


def _encrypted(key: Secret, encoded: Residues, batch: int, total: int, questions: int) -> list[bytes]:
    return [*encrypt_batch(key, encoded, batch, total), *share_parcels(key, batch, questions, total)]


def _read(
    engine: PackedEngine, terms: Terms, keys: KeyPair, answers: list[Evaluated], questions: int, records: int
) -> AnswerMatrix:
    """The labels: what is opened is compared with the pads."""
    opened = engine.open(terms, keys.secret, [one.parcel for one in answers], questions, records)
    pads = engine.pad_values(terms, [one.pads for one in answers], questions, records)
    return is_yes(outcomes(opened == pads))


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


def _rows(chance: random.Random, terms: Terms, records: int) -> list[Record]:
    """Random records as long as the agreement lets them be."""
    names = terms.attributes
    each = max(1, (terms.record_length - len(SEPARATOR) * (len(names) - 1)) // len(names))
    each = min(each, terms.attribute_length or each)
    return [Record.of({name: "".join(chance.choices(_LETTERS, k=each)) for name in names}) for _ in range(records)]


def measure(
    shape: str,
    records: int,
    length: int,
    needles: int,
    *,
    questions: int = 0,
    workers: int = 1,
    seed: int = 0,
    least: bool = False,
    agreed: Agreement | None = None,
    processor: bool = False,
) -> PackedFigures:
    """Play one round of `records` questions (or the first this many of them) over `records` records of `length`
    characters, or as many and as long as the agreement says.
    """
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    terms = agreed.terms() if agreed else terms_of(shape, records, length, needles, least=least)
    records, length = terms.records, terms.record_length
    rows = _rows(chance, terms, records)
    view = View() if terms.encode_whole else View(terms.attributes[0])
    asked = [question(chance, rows, own, needles, shape, view) for own in range(min(questions or records, records))]
    engine, clock = PackedEngine(), _Clock(processor)
    room = room_of(terms)
    keys = clock.timed("keys", lambda: engine.make_keys(terms))
    key = open_secret(terms, keys.secret)
    check_records(terms, rows)
    parcels: list[bytes] = []
    block = room.layout.block
    for batch in range(room.layout.batches(records)):
        part = rows[batch * block : (batch + 1) * block]
        encoded = clock.timed("encode", partial(features, terms, part, Working(workers)))
        parcels += clock.timed("encrypt", partial(_encrypted, key, encoded, batch, records, len(asked)))
    prepare = [0.0, 0.0]

    def progress(phase: str, _: float) -> None:
        now = clock.now()
        if phase == "prepare":  # told at the beginning and at the end of opening each batch
            prepare[0] += now - prepare[1] if prepare[1] else 0.0
            prepare[1] = 0.0 if prepare[1] else now

    start = clock.now()
    answers = list(engine.evaluate(terms, keys.public, parcels, asked, Working(workers, progress)))
    total = clock.now() - start
    labels = clock.timed("open", lambda: _read(engine, terms, keys, answers, len(asked), records))
    expected = np.array([[evaluate(one, row) for row in rows] for one in asked], dtype=np.bool_)
    measured = clock.seconds | {"prepare": prepare[0], "evaluate": max(0.0, total - prepare[0]), "total": total}
    order = ("keys", "encode", "encrypt", "prepare", "evaluate", "open", "total")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return PackedFigures(
        shape,
        len(asked),
        records,
        length,
        needles,
        workers,
        agreed.name if agreed else "least" if least else "default",
        room.ring.name,
        native.name(),
        {name: round(measured[name], 4) for name in order},
        {
            "keys": len(keys.public),
            "records": sum(map(len, parcels)),
            "answers": sum(len(one.parcel) for one in answers),
        },
        round(peak / 1024, 1),
        int((labels != expected).sum()),
    )
