"""An evaluation in this process, tile by tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from blindlabel.engines.interface import Assist, Evaluated, Progress
from blindlabel.engines.packed.questions import plans_of
from blindlabel.engines.packed.records import read_batches
from blindlabel.engines.packed.running.finished import FinishedAnswers, read_answer
from blindlabel.engines.packed.running.tiles import Opened, tiles_of
from blindlabel.engines.packed.ways.interface import Public
from blindlabel.language.formula import Formula


def evaluate(
    public: Public,
    contents: Iterable[bytes],
    questions: Sequence[Formula],
    assist: Assist,
    progress: Progress,
    journal: FinishedAnswers | None = None,
) -> Iterator[Evaluated]:
    """The answers parcels; what the journal has is not made again. Memory is bounded by one batch and one tile."""
    plans = plans_of(public.way, questions)
    for batch in read_batches(public, contents, len(plans)):
        if not plans:
            continue
        finished = journal.finished(batch) if journal is not None else {}
        for path in finished.values():
            yield read_answer(path)
        wanted = tiles_of(public.way, batch.index, len(plans), finished)
        if not wanted:
            continue
        progress("prepare", batch.index / batch.batches)
        opened = Opened.of(public, plans, batch)
        progress("prepare", (batch.index + 1) / batch.batches)

        def step(group: int, part: float, opened: Opened = opened) -> None:
            progress("evaluate", opened.share(group, part))

        for tile in wanted:
            for answer in opened.answers(tile, assist, step):
                if journal is not None:
                    journal.keep(answer)
                yield answer
            step(tile.groups[-1], 1.0)
        del batch, opened, step  # before the next batch arrives: they are large
