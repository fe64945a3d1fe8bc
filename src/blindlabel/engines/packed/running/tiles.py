"""A tile: the smallest piece of an evaluation that can be done, repeated and kept on its own. One batch of records and
some groups of questions, so a tile's result is one answers parcel a group.

Whoever drives an evaluation (this process, several, a cluster) takes its tiles from here, and everything that leaves
goes through here: `answer_parcel` sanitises what a way has computed. A tile that is begun again starts from its
beginning with fresh pads and masks; nothing of a broken attempt is used. Numbers of an answers parcel: batch, group,
questions in all, records in all.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from blindlabel.engines.interface import Assist
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.records import Batch, read_batches
from blindlabel.engines.packed.running.finished import FinishedAnswers, Place
from blindlabel.engines.packed.seal.ring import Cipher
from blindlabel.engines.packed.ways.interface import AnyWay, Evaluation, Public, Step, groups


@dataclass(frozen=True)
class Tile:
    """Some groups of questions over one batch of records."""

    batch: int
    groups: tuple[int, ...]


def group_count(way: AnyWay, questions: int) -> int:
    """Groups that so many questions make."""
    return len(groups(questions, way.group_size(questions)))


def tiles_of(way: AnyWay, batch: int, questions: int, done: Container[Place] = ()) -> list[Tile]:
    """The tiles of a batch that are still to be done."""
    wanted = [group for group in range(group_count(way, questions)) if (batch, group) not in done]
    size = way.groups_together()
    return [Tile(batch, tuple(wanted[start : start + size])) for start in range(0, len(wanted), size)]


def over_batches(
    public: Public,
    contents: Iterable[bytes],
    questions: int,
    kept: FinishedAnswers | None,
    make: Callable[[Batch, Sequence[Tile]], Iterator[bytes]],
) -> Iterator[bytes]:
    """The answers parcels of one batch of records after the other. What is kept from before is not made again; what
    `make` makes of the other tiles is kept before it is handed on.
    """
    for batch in read_batches(public, contents):
        if not questions:
            continue
        finished = kept.finished(batch) if kept is not None else {}
        for path in finished.values():
            yield path.read_bytes()
        made = make(batch, tiles_of(public.way, batch.index, questions, finished))
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
        evaluation = public.way.evaluation(public, plans, batch.records, batch.items)
        return cls(public, replace(batch, items=()), len(plans), evaluation)

    def answers(self, tile: Tile, assist: Assist, step: Step = lambda _group, _share: None) -> Iterator[bytes]:
        """The answers parcels of a tile, one a group."""
        for group, values in zip(tile.groups, self.evaluation.answers(tile.groups, assist, step)):
            yield self.parcel(group, values)

    def joined(self, group: int, units: Sequence[Cipher], assist: Assist) -> bytes:
        """The answers parcel of a group whose units were made elsewhere."""
        return self.parcel(group, self.evaluation.joined(group, units, assist))

    def parcel(self, group: int, values: Sequence[Cipher]) -> bytes:
        """Values of a group's pairs, sanitised and ready to leave."""
        ring, keys = self.public.way.answer_ring, self.public.answers
        items = tuple(ring.sent(keys.encryptor.sanitised(value)) for value in values)
        numbers = (self.batch.index, group, self.questions, self.batch.total)
        return parcels.write(Parcel(Kind.ANSWERS, self.public.study, numbers, items))

    def share(self, group: int, part: float) -> float:
        """How much of the whole evaluation is done when so much of a group is."""
        in_all = group_count(self.public.way, self.questions)
        return (self.batch.index + (group + part) / in_all) / self.batch.batches
