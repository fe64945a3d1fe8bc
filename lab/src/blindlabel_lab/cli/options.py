"""Options that the experiments share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
