"""What the experiments share: their options, and how a result is kept and shown: document and figures in the results
folder, a table or JSON here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import progress_bar, result, result_json, say

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Advance

DataOption = Annotated[
    Path | None, typer.Option("--data", help="Folder of sets. Default: BLINDLABEL_DATA, then ../shared/data.")
]
SetOption = Annotated[list[str] | None, typer.Option("--dataset", help="Only this set; may be given several times.")]
AttributesOption = Annotated[
    str | None,
    typer.Option("--attributes", help="Columns to use, separated by commas; for sets that blindlabel does not know."),
]
SamplesOption = Annotated[int, typer.Option("--samples", min=1, help="Random samples of each set.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the first sample; the others count on from it.")]
MatchesOption = Annotated[int, typer.Option("--matches", min=1, help="Matches that a sample is drawn around.")]
RoundsOption = Annotated[int, typer.Option("--rounds", min=1, max=20, help="Rounds.")]
PrepareOption = Annotated[
    str,
    typer.Option(
        "--prepare",
        help="Text preparation: ours, published (Unicode to ASCII and no more), or steps separated by commas.",
    ),
]
NeedleOption = Annotated[
    int, typer.Option("--needle-length", min=1, max=64, help="Longest needle; the publication's people used up to 16.")
]
PeopleOption = Annotated[
    list[Path] | None,
    typer.Option("--people", help="Prepared folder with people's questions, shown beside; may be given several times."),
]
ResultsOption = Annotated[Path, typer.Option("--results", help="Folder for documents, plots and finished samples.")]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw PNG and SVG figures.")]

RESULTS = Path("results")


def run_and_show(
    name: str, results: Path, plots: bool, json: bool, work: Callable[[Any, Advance], dict[str, Any]]
) -> dict[str, Any]:
    """Run one experiment with progress, keep its document and figures, and show it."""
    from blindlabel_lab.experiments.plots import plot
    from blindlabel_lab.experiments.results import Results
    from blindlabel_lab.experiments.tables import table_of

    folder = Results(results)
    with progress_bar() as bar:
        task = bar.add_task(name, total=1.0)
        document = work(folder, lambda what, share: bar.update(task, description=what, completed=share))
    written = [folder.document(name, document)]
    if plots:
        written += plot(name, document, results)
    if json:
        result_json(document)
    else:
        for line in table_of(name, document):
            result(line)
    say(f"Written: {', '.join(map(str, written))}")
    return document
