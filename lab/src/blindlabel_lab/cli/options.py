"""What the experiments share: their options, and how a result is kept and shown: document and figures in the results
folder, a table or JSON here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, answer, progress_bar, say

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Advance

DataOption = Annotated[Path | None, typer.Option(help="Folder of sets. Default: BLINDLABEL_DATA, then ../shared/data.")]
AttributesOption = Annotated[
    str | None, typer.Option(help="Columns to use, separated by commas; for sets that blindlabel does not know.")
]
MatchesOption = Annotated[int, typer.Option(min=1, help="Matches that a sample is drawn around.")]
RoundsOption = Annotated[int, typer.Option(min=1, max=20, help="Rounds.")]
PREPARE = "Text preparation: ours, published (Unicode to ASCII and no more), or steps separated by commas."
PrepareOption = Annotated[str, typer.Option("--prepare", help=PREPARE)]
ResultsOption = Annotated[Path, typer.Option(help="Folder for documents, plots and finished samples.")]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw PNG and SVG figures.")]
RESULTS = Path("results")


def _option(kind: Any, help: str, **more: Any) -> Any:
    return Annotated[kind, typer.Option(help=help, **more)]


OPTIONS: dict[str, tuple[Any, Any]] = {
    "data": (DataOption, None),
    "dataset": (_option(list[str] | None, "Only this set; may be given several times."), None),
    "attributes": (AttributesOption, None),
    "samples": (_option(int, "Random samples of each set.", min=1), 10),
    "seed": (_option(int, "Seed of the first sample; the others count on from it."), 0),
    "matches": (MatchesOption, 50),
    "records": (_option(int, "Sampled records of each side.", min=2), 60),
    "rounds": (RoundsOption, 3),
    "engine": (_option(str, "plain for speed; packed or gates to have the same labels through encryption."), "plain"),
    "draws": (_option(int, "Samples of each kind and set.", min=1), 300),
    "blind": (_option(bool, "Also labels by suggested questions, as bands and with checked pairs."), False),
    "prepare": (PrepareOption, "ours"),
    "needle_length": (_option(int, "Longest needle; the publication's people used up to 16.", min=1, max=64), 16),
    "people": (
        _option(list[Path] | None, "Prepared folder with people's questions, shown beside; several times for several."),
        None,
    ),
    "costs": (_option(bool, "Whether to measure the engines too; that takes minutes."), True),
    "results": (ResultsOption, RESULTS),
    "plots": (PlotsOption, True),
    "json": (JsonFlag, False),
}
"""Every option of an experiment, and its usual default."""


def run_and_show(
    name: str, results: Path, plots: bool, json: bool, work: Callable[[Any, Advance], dict[str, Any]]
) -> dict[str, Any]:
    """Run one experiment with progress, keep its document and figures, and show it."""
    from blindlabel_lab.experiments.plots import plot
    from blindlabel_lab.experiments.results import Results
    from blindlabel_lab.experiments.tables import shown

    folder = Results(results)
    with progress_bar() as bar:
        task = bar.add_task(name, total=1.0)
        document = work(folder, lambda what, share: bar.update(task, description=what, completed=share))
    written = [folder.document(name, document), *(plot(name, document, results) if plots else [])]
    answer(json, document, shown(name, document))
    for one in document.get("not_run", []):
        say(f"Not run: the {one['engine']} engine: {one['reason']}")
    say(f"Written: {', '.join(map(str, written))}")
    return document
