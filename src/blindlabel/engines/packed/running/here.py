"""An evaluation in this process, tile by tile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from blindlabel.engines.interface import Assist, Evaluated, Progress
from blindlabel.engines.packed.questions import plans_of
from blindlabel.engines.packed.records import Batch
from blindlabel.engines.packed.running.finished import FinishedAnswers
from blindlabel.engines.packed.running.tiles import Opened, Tile, over_batches
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
    """The answers; what is kept in the journal is not made again. Memory is bounded by one batch and one tile."""
    plans = plans_of(public.way, questions)

    def make(batch: Batch, wanted: Sequence[Tile]) -> Iterator[Evaluated]:
        if not wanted:
            return
        progress("prepare", batch.index / batch.batches)
        opened = Opened.of(public, plans, batch)
        progress("prepare", (batch.index + 1) / batch.batches)
        del batch  # its bytes are no longer needed
        for tile in wanted:
            yield from opened.answers(tile, assist, lambda group, part: progress("evaluate", opened.share(group, part)))
            progress("evaluate", opened.share(tile.groups[-1], 1.0))

    return over_batches(public, contents, len(plans), journal, make)
