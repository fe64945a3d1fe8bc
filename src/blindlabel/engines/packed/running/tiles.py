"""A tile: the smallest piece of an evaluation that can be done, repeated and kept on its own. One batch of records and
some groups of questions, so a tile's result is one answers parcel a group.

Whoever drives an evaluation (this process, several, a cluster) takes its tiles from here. A tile that is begun again
starts from its beginning with fresh pads and masks; nothing of a broken attempt is used.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from blindlabel.engines.interface import Assist, Progress
from blindlabel.engines.packed.encoding.encrypting import Batch, read_batches
from blindlabel.engines.packed.encoding.layout import groups
from blindlabel.engines.packed.keys import Public
from blindlabel.engines.packed.planning.setting import Setting
from blindlabel.engines.packed.running.finished import FinishedAnswers, Place
from blindlabel.engines.packed.running.session import Session, answer_parcel, compile_all, group_size, share
from blindlabel.engines.packed.ways.conjunctive import evaluating as conjunctive
from blindlabel.engines.packed.ways.conjunctive import many_records
from blindlabel.language.formula import Formula

Step = Callable[[int, float], None]
"""Called with a group and the share of it that is done."""


@dataclass(frozen=True)
class Tile:
    """Some groups of questions over one batch of records."""

    batch: int
    groups: tuple[int, ...]


def tiles_of(setting: Setting, batch: int, questions: int, done: Container[Place] = ()) -> list[Tile]:
    """The tiles of a batch that are still to be done."""
    count = len(groups(questions, group_size(setting, questions)))
    wanted = [group for group in range(count) if (batch, group) not in done]
    size = groups_together(setting)
    return [Tile(batch, tuple(wanted[start : start + size])) for start in range(0, len(wanted), size)]


def groups_together(setting: Setting) -> int:
    """Groups of questions in a tile: one, or in the wide layout as many as have room, since their matrices are
    multiplied together.
    """
    if not setting.chosen.wide:
        return 1
    return max(1, many_records.matrices_together(setting.ring, setting.layout) // conjunctive.form_count(setting))


def answers(
    session: Session, batch: Batch, tile: Tile, assist: Assist, step: Step = lambda _group, _share: None
) -> Iterator[bytes]:
    """The answers parcels of a tile, one a group."""
    if session.wide is not None:
        for group, content in zip(tile.groups, session.together(tile.groups)):
            yield answer_parcel(session.public, batch, group, len(session.plans), content)
        return
    for group in tile.groups:
        units = []
        for unit in range(session.units()):
            units.append(session.unit(group, unit, assist))
            step(group, (unit + 1) / (session.units() + 1))
        yield answer_parcel(session.public, batch, group, len(session.plans), session.joined(group, units, assist))


def evaluate(
    public: Public,
    contents: Iterable[bytes],
    questions: Sequence[Formula],
    assist: Assist,
    progress: Progress,
    journal: FinishedAnswers | None = None,
) -> Iterator[bytes]:
    """The answers parcels, in this process, tile by tile; what the journal has is not made again."""
    plans = compile_all(public.setting, questions)
    for batch in read_batches(public, contents):
        if not plans:
            continue
        finished = journal.finished(batch) if journal is not None else {}
        for path in finished.values():
            yield path.read_bytes()
        wanted = tiles_of(public.setting, batch.index, len(plans), finished)
        if not wanted:
            continue
        progress("prepare", batch.index / batch.batches)
        session = Session(public, plans, batch.records, batch.items)
        progress("prepare", (batch.index + 1) / batch.batches)

        def step(group: int, part: float, batch: Batch = batch, session: Session = session) -> None:
            progress("evaluate", share(batch, group, part, len(session.groups)))

        for tile in wanted:
            for answer in answers(session, batch, tile, assist, step):
                if journal is not None:
                    journal.keep(answer)
                yield answer
            step(tile.groups[-1], 1.0)
        del batch, session, step  # before the next batch arrives: they are large
