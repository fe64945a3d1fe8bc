"""How fast the packed engine answers a round: random records and questions of one shape, every label checked against
clear evaluation.

What is measured is an agreement (`agreed`): its functions, its room, the ring that its account of bits asks for.
`total` is what an owner waits for in a round: prepare + evaluate. The bytes of records include the randomness that
their owner sends with them.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from blindlabel.engines.allowed import check_records
from blindlabel.engines.interface import AnswerMatrix, Evaluated, KeyPair, Terms, Working, is_yes, outcomes
from blindlabel.engines.packed.planning.room import room_of
from blindlabel.engines.packed.running import native
from blindlabel.engines.packed.running.engine import PackedEngine
from blindlabel.engines.packed.running.keys import Secret, open_secret
from blindlabel.engines.packed.running.records import encrypt_batch, share_parcels
from blindlabel.engines.packed.running.workers import features
from blindlabel.language.formula import Atom, Conjunction, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.record import SEPARATOR, Record, View
from blindlabel.protocol.agreement import Agreement
from blindlabel_lab.bench import carried
from blindlabel_lab.bench.agreed import DEFAULT, agreed

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


def agreement_of(said: str, shape: str, records: int, length: int, needles: int) -> Agreement:
    """The agreement that is measured, with room for such questions where it is the least."""
    profiles = {"or": [1, 1], "count": sorted(weights_of(needles), reverse=True)}
    below = {"exclusions": int(shape in ("not", "unless")), "unless": int(shape == "unless")}
    return agreed(said, records, length, {"profile": profiles.get(shape, [1]), **below})


def weights_of(needles: int) -> tuple[int, ...]:
    """What the needles of a count are worth."""
    return tuple(1 + place % 3 for place in range(needles))


def question(chance: random.Random, records: list[Record], own: int, needles: int, shape: str, about: View) -> Formula:
    """A question about record `own`, whose needles are mostly cut from it."""
    atoms: dict[str, Atom] = {}
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


def questions_of(chance: random.Random, terms: Terms, records: list[Record], needles: int, shape: str) -> list[Formula]:
    """A question about every record, of the whole where that can be asked."""
    view = View() if terms.encode_whole else View(terms.attributes[0])
    return [question(chance, records, own, needles, shape, view) for own in range(len(records))]


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


def rows_of(chance: random.Random, terms: Terms, records: int) -> list[Record]:
    """Random records as long as the agreement lets them be."""
    names = terms.attributes
    each = max(1, (terms.record_length - len(SEPARATOR) * (len(names) - 1)) // len(names))
    each = min(each, terms.attribute_length or each)
    return [Record.of({name: "".join(chance.choices(_LETTERS, k=each)) for name in names}) for _ in range(records)]


def _parcels(
    clock: _Clock, terms: Terms, key: Secret, rows: Sequence[Record], questions: int, working: Working
) -> Iterator[bytes]:
    """The encrypted records, and the randomness that goes with them."""
    layout, total = key.room.layout, len(rows)
    for batch in range(layout.batches(total)):
        part = rows[batch * layout.block : (batch + 1) * layout.block]
        encoded = clock.timed("encode", partial(features, terms, part, working))
        yield from clock.timed("encrypt", lambda: [*encrypt_batch(key, encoded, batch, total)])  # noqa: B023
        yield from clock.timed("encrypt", lambda: [*share_parcels(key, batch, questions, total)])  # noqa: B023


def measure(
    shape: str,
    records: int,
    length: int,
    needles: int,
    *,
    questions: int = 0,
    workers: int = 1,
    seed: int = 0,
    said: str = DEFAULT,
    processor: bool = False,
) -> PackedFigures:
    """Play one round of `records` questions (or the first this many of them) over `records` records of `length`
    characters, or as long as the agreement says.
    """
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    agreement = agreement_of(said, shape, records, length, needles)
    terms = agreement.terms()
    rows = rows_of(chance, terms, records)
    asked = questions_of(chance, terms, rows, needles, shape)[: questions or records]
    engine, clock = PackedEngine(), _Clock(processor)
    room = room_of(terms)
    keys = clock.timed("keys", lambda: engine.make_keys(terms))
    key = open_secret(terms, keys.secret)
    check_records(terms, rows)
    prepare = [0.0, 0.0]

    def progress(phase: str, _: float) -> None:
        now = clock.now()
        if phase == "prepare":  # told at the beginning and at the end of opening each batch
            prepare[0] += now - prepare[1] if prepare[1] else 0.0
            prepare[1] = 0.0 if prepare[1] else now

    with TemporaryDirectory(prefix="blindlabel-bench-") as folder:
        sent = Path(folder) / "records"
        size = carried.write(sent, _parcels(clock, terms, key, rows, len(asked), Working(workers)))
        start = clock.now()
        answers = list(engine.evaluate(terms, keys.public, carried.read(sent), asked, Working(workers, progress)))
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
        terms.record_length,
        needles,
        workers,
        agreement.name,
        room.ring.name,
        native.name(),
        {name: round(measured[name], 4) for name in order},
        {"keys": len(keys.public), "records": size, "answers": sum(len(one.parcel) for one in answers)},
        round(peak / 1024, 1),
        int((labels != expected).sum()),
    )
