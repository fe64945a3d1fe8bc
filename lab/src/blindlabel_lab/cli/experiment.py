"""`blindlabel experiment …`: the publication's experiments, each with --json, a table and plots in a results folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, progress_bar, result, result_json, say

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Advance, Plan

app = typer.Typer(
    name="experiment", help="Repeat the publication's experiments, on its data or yours.", no_args_is_help=True
)

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
ResultsOption = Annotated[Path, typer.Option("--results", help="Folder for documents, plots and finished samples.")]
PlotsOption = Annotated[bool, typer.Option("--plots/--no-plots", help="Whether to draw PNG and SVG figures.")]

RESULTS = Path("results")


def _plan(data: Path | None, dataset: list[str] | None, attributes: str | None, **more: Any) -> Plan:
    from blindlabel_lab.experiments.datasets import data_folder, names_in
    from blindlabel_lab.experiments.quality import Plan

    folder = data_folder(data)
    names = tuple(dataset) if dataset else tuple(names_in(folder))
    chosen = tuple(part.strip() for part in attributes.split(",")) if attributes else None
    return Plan(folder, names, chosen, **more)


def _run(
    name: str, results: Path, plots: bool, json: bool, work: Callable[[Any, Advance], dict[str, Any]]
) -> dict[str, Any]:
    """Run one experiment with progress, keep its document and figures, and show it."""
    from blindlabel_lab.experiments.plots import plot
    from blindlabel_lab.experiments.report import table_of
    from blindlabel_lab.experiments.results import Results

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


@app.command("data")
def data_(data: DataOption = None, json: JsonFlag = False) -> None:
    """List the data sets: source, licence, checksum, whether they are found, and how to place them."""
    from blindlabel.errors import InputError
    from blindlabel_lab.experiments.datasets import HOW_TO_PLACE, data_folder, listing

    try:
        folder: Path | None = data_folder(data)
    except InputError:
        if data is not None:
            raise
        folder = None
    rows = listing(folder)
    if json:
        result_json({"folder": None if folder is None else str(folder), "datasets": rows, "how_to_place": HOW_TO_PLACE})
        return
    for row in rows:
        files: Any = row["files"]
        sums = [one["as_expected"] for one in files.values()]
        state = "not found" if not row["found"] else "found"
        if row["found"] and row["known"]:
            state += ", checksums right" if all(sums) else ", CHECKSUMS DIFFER"
        result(f"{row['name']}: {state}")
        result(f"  source: {row['source']}")
        result(f"  licence: {row['licence']}")
        for one in files.values():
            if one["sha256"] or one["expected"]:
                result(f"  {one['file'] or '(missing)'} sha256 {one['sha256'] or one['expected']}")
    result(f"Folder: {folder if folder else 'none found'}")
    result(HOW_TO_PLACE)


@app.command()
def quality(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 10,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    engine: Annotated[
        str,
        typer.Option("--engine", help="plain for speed; packed or gates to have the same labels through encryption."),
    ] = "plain",
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Label random samples of each set with suggested questions, and compare with the truth, round by round."""
    from blindlabel_lab.experiments.quality import quality as work

    plan = _plan(data, dataset, attributes, samples=samples, seed=seed, size=matches, rounds=rounds, engine=engine)
    _run("quality", results, plots, json, lambda folder, advance: work(plan, folder, advance))


@app.command()
def candidates(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    rounds: RoundsOption = 3,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Label hard candidate pairs with suggested questions, beside systems that learn from labels, and show how readable
    the questions are.
    """
    from blindlabel_lab.experiments.candidates import candidates as work
    from blindlabel_lab.experiments.candidates import candidates_folder, chosen_sets
    from blindlabel_lab.experiments.datasets import data_folder

    folder = candidates_folder(data_folder(data))
    names = chosen_sets(folder, dataset)
    chosen = [part.strip() for part in attributes.split(",")] if attributes else None
    _run("candidates", results, plots, json, lambda _folder, advance: work(folder, names, chosen, rounds, advance))


@app.command()
def partners(
    data: DataOption = None,
    dataset: SetOption = None,
    samples: SamplesOption = 20,
    records: Annotated[int, typer.Option("--records", min=2, help="Sampled records of each table.")] = 50,
    json: JsonFlag = False,
) -> None:
    """Measure how many sampled records have a partner in the other sample, drawn uniformly and enriched."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in
    from blindlabel_lab.experiments.partners import partners as work

    folder = data_folder(data)
    with progress_bar() as bar:
        task = bar.add_task("partners", total=1.0)
        document = work(
            folder,
            dataset or names_in(folder),
            records,
            samples,
            lambda what, share: bar.update(task, description=what, completed=share),
        )
    if json:
        result_json(document)
        return
    for row in document["rows"]:
        result(
            f"{row['dataset']}: uniform {row['uniform']:.3f}, enriched {row['enriched']:.3f} (uniform part"
            f" {row['uniform_part']:.3f}, by keys {row['part_by_keys']:.3f}), {row['matches']:.1f} matches"
        )


@app.command()
def oracles(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 5,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Compare strategies: the conjunction as published, a plain weighted count, and suggestions with and without
    attributes.
    """
    from blindlabel_lab.experiments.quality import oracles as work

    plan = _plan(data, dataset, attributes, samples=samples, seed=seed, size=matches, rounds=rounds)
    _run("oracles", results, plots, json, lambda folder, advance: work(plan, folder, advance))


@app.command()
def tokens(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 3,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show how long needles are, and whether rare or common words are asked for."""
    from blindlabel_lab.experiments.describing import tokens as work

    plan = _plan(data, dataset, attributes, samples=samples, seed=seed, size=matches, rounds=rounds)
    _run("tokens", results, plots, json, lambda folder, advance: work(plan, folder, advance))


@app.command()
def missing(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show how many values are missing in each attribute."""
    from blindlabel_lab.experiments.describing import missing as work

    plan = _plan(data, dataset, attributes)
    _run("missing", results, plots, json, lambda _folder, advance: work(plan, advance))


@app.command()
def communication(results: ResultsOption = RESULTS, plots: PlotsOption = True, json: JsonFlag = False) -> None:
    """Measure bytes of an encrypted record against its length, beside the published figure."""
    from blindlabel_lab.experiments.costs import communication as work

    _say_not_run(_run("communication", results, plots, json, work))


@app.command()
def computation(results: ResultsOption = RESULTS, plots: PlotsOption = True, json: JsonFlag = False) -> None:
    """Measure seconds of a round against record length, beside the published figures."""
    from blindlabel_lab.experiments.costs import computation as work

    _say_not_run(_run("computation", results, plots, json, work))


@app.command("all")
def all_(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 10,
    seed: SeedOption = 0,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    costs: Annotated[
        bool, typer.Option("--costs/--no-costs", help="Whether to measure the engines too; that takes minutes.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Run every experiment and write results/report.html and report.md."""
    from blindlabel_lab.experiments.report import run_all
    from blindlabel_lab.experiments.results import Results

    plan = _plan(data, dataset, attributes, samples=samples, seed=seed)
    with progress_bar() as bar:
        task = bar.add_task("all", total=1.0)
        document, written = run_all(
            plan,
            Results(results),
            lambda what, share: bar.update(task, description=what, completed=share),
            plots=plots,
            costs=costs,
        )
    if json:
        result_json(document)
    else:
        for path in written:
            result(str(path))


def _say_not_run(document: dict[str, Any]) -> None:
    for one in document["not_run"]:
        say(f"Not run: the {one['engine']} engine: {one['reason']}")
