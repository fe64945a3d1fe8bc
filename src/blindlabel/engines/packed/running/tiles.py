"""A tile: the smallest piece of an evaluation that can be done, repeated and kept on its own. One batch of records and
some groups of questions, so a tile's result is one answers parcel a group.

Whoever drives an evaluation (this process, several, a cluster) takes its tiles from here, and everything that leaves
goes through here: `answer` sanitises or pads what a way has computed. A tile that is begun again starts from its
beginning with fresh masks; of a broken attempt only assist calls are used, each with its own pad (`kept_calls`).
Numbers of an answers parcel: batch, group, questions in all, records in all.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from blindlabel.engines.interface import Assist, Evaluated, ParcelError
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.opening import joint, padding
from blindlabel.engines.packed.records import Batch, read_batches
from blindlabel.engines.packed.running.finished import FinishedAnswers, Place, read_answer
from blindlabel.engines.packed.running.kept_calls import placed
from blindlabel.engines.packed.seal.holders import SeededEncryptor
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.interface import AnyWay, Evaluation, EvaluationInUnits, Public, Step


@dataclass(frozen=True)
class Tile:
    """Some groups of questions over one batch of records."""

    batch: int
    groups: tuple[int, ...]


def tiles_of(way: AnyWay, batch: int, questions: int, done: Container[Place] = (), *, workers: int = 1) -> list[Tile]:
    """The tiles of a batch that are still to be done: as few as there is room for, in equal parts for the workers."""
    wanted = [group for group in range(way.group_count(questions)) if (batch, group) not in done]
    fewest = -(-len(wanted) // way.groups_together())
    count = min(len(wanted), -(-fewest // workers) * workers)
    starts = [tile * len(wanted) // count for tile in range(count)]
    return [Tile(batch, tuple(wanted[start:end])) for start, end in zip(starts, [*starts[1:], len(wanted)])]


def over_batches(
    public: Public,
    contents: Iterable[bytes],
    questions: int,
    kept: FinishedAnswers | None,
    make: Callable[[Batch, Sequence[Tile]], Iterator[Evaluated]],
    *,
    workers: int = 1,
) -> Iterator[Evaluated]:
    """The answers of one batch of records after the other. What is kept from before is not made again; what `make`
    makes of the other tiles is kept before it is handed on.
    """
    for batch in read_batches(public, contents, questions):
        if not questions:
            continue
        finished = kept.finished(batch) if kept is not None else {}
        for path in finished.values():
            yield read_answer(path)
        made = make(batch, tiles_of(public.way, batch.index, questions, finished, workers=workers))
        del batch  # large: `make` holds it as long as it needs it
        for answer in made:
            if kept is not None:
                kept.keep(answer)
            yield answer


@dataclass(frozen=True, eq=False)
class Opened:
    """A batch as it is worked on: its place among the others, and its evaluation."""

    public: Public
    batch: Batch
    questions: int
    evaluation: Evaluation

    @classmethod
    def of(cls, public: Public, plans: Sequence[Any], batch: Batch) -> Opened:
        """Open a batch; one without ciphertexts can only join units."""
        with _one_sentence():
            evaluation = public.way.evaluation(public, plans, batch.records, batch.items, batch.index)
        return cls(public, replace(batch, items=()), len(plans), evaluation)

    def answers(self, tile: Tile, assist: Assist, step: Step = lambda _group, _share: None) -> Iterator[Evaluated]:
        """The answers of a tile, one parcel a group."""
        made = self.evaluation.answers(tile.groups, placed(assist, self.batch.index), step)
        for group in tile.groups:
            with _one_sentence():
                answer = self.answer(group, next(made))
            yield answer

    @property
    def in_units(self) -> EvaluationInUnits:
        """The evaluation of a way that shares units."""
        assert isinstance(self.evaluation, EvaluationInUnits)
        return self.evaluation

    def unit(self, group: int, unit: int, assist: Assist) -> bytes:
        """One unit of a group, for whoever joins them."""
        with _one_sentence():
            made = self.in_units.unit(group, unit, placed(assist, self.batch.index))
            return self.public.way.answer_ring.sent(made)

    def joined(self, group: int, units: Sequence[bytes], assist: Assist) -> Evaluated:
        """The answers of a group whose units were made elsewhere."""
        with _one_sentence():
            made = [self.public.way.answer_ring.load_cipher(unit) for unit in units]
            return self.answer(group, self.in_units.joined(group, made, placed(assist, self.batch.index)))

    def answer(self, group: int, values: Sequence[Cipher]) -> Evaluated:
        """Values of a group's pairs, ready to leave: sanitised for the coordinator, or mixed with the key holder's
        randomness and padded where that is an owner.
        """
        way, keys = self.public.way, self.public.answers
        numbers = (self.batch.index, group, self.questions, self.batch.total)

        def written(kind: Kind, items: Iterable[bytes]) -> bytes:
            return parcels.write(Parcel(kind, self.public.study, numbers, tuple(items)))

        if not isinstance(keys.encryptor, SeededEncryptor):
            ring = keys.encryptor.ring
            return Evaluated(written(Kind.ANSWERS, (ring.sent(keys.encryptor.sanitised(value)) for value in values)))
        count = joint.share_count(way.values)
        shares = self.batch.shares[group * count : (group + 1) * count]
        mixed = joint.mixed(way.answer_ring, values, shares, keys.relinearisation)
        padded = [padding.padded(keys.encryptor, value) for value in mixed]
        pads = (one.pad.astype("<u4").tobytes() for one in padded)
        return Evaluated(written(Kind.ANSWERS, (one.cipher for one in padded)), written(Kind.PADS, pads))

    def share(self, group: int, part: float) -> float:
        """How much of the whole evaluation is done when so much of a group is."""
        in_all = self.public.way.group_count(self.questions)
        return (self.batch.index + (group + part) / in_all) / self.batch.batches


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Whatever goes wrong while computing ends with the same words: what SEAL says might depend on the questions."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, ArithmeticError) as problem:
        raise ParcelError(
            "These records cannot be evaluated: they, or the keys that came with them, are not as they should be."
        ) from problem
