"""`blindlabel experiment …`: the publication's experiments, each with --json, a table and plots in a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, progress_bar, result, result_json, say
from blindlabel.cli.trying import attribute_list
from blindlabel_lab.cli import people
from blindlabel_lab.cli.options import (
    RESULTS,
    AttributesOption,
    DataOption,
    MatchesOption,
    NeedleOption,
    PeopleOption,
    PlotsOption,
    PrepareOption,
    ResultsOption,
    RoundsOption,
    SamplesOption,
    SeedOption,
    SetOption,
)
from blindlabel_lab.cli.showing import run_and_show

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Plan

app = typer.Typer(
    name="experiment", help="Repeat the publication's experiments, on its data or yours.", no_args_is_help=True
)

app.command("prepare")(people.prepare)
app.command("session")(people.session)
app.command("seat", hidden=True)(people.seat)
app.command("score")(people.score)
app.command("replay")(people.replay)
app.command("learning")(people.learning)


def _plan(
    data: Path | None, dataset: list[str] | None, attributes: str | None, prepare: str = "ours", **more: Any
) -> Plan:
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.quality import Plan

    folder = data_folder(data)
    names = tuple(dataset) if dataset else tuple(names_in(folder))
    chosen = attribute_list(attributes)
    return Plan(
        folder, names, None if chosen is None else tuple(chosen), preparation=preparation_named(prepare), **more
    )


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
    prepare: PrepareOption = "ours",
    needle_length: NeedleOption = 16,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Label random samples of each set with suggested questions, and compare with the truth, round by round."""
    from blindlabel_lab.experiments.quality import quality as work

    plan = _plan(
        data,
        dataset,
        attributes,
        prepare,
        samples=samples,
        seed=seed,
        size=matches,
        rounds=rounds,
        engine=engine,
        needle_length=needle_length,
    )
    run_and_show("quality", results, plots, json, lambda folder, advance: work(plan, folder, advance))


@app.command()
def candidates(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    rounds: RoundsOption = 3,
    prepare: PrepareOption = "ours",
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Label hard candidate pairs with suggested questions, beside systems that learn from labels, and show how readable
    the questions are.
    """
    from blindlabel_lab.experiments.candidates import candidates as work
    from blindlabel_lab.experiments.candidates import candidates_folder, chosen_sets
    from blindlabel_lab.experiments.datasets import data_folder, preparation_named

    folder = candidates_folder(data_folder(data))
    names = chosen_sets(folder, dataset)
    chosen = attribute_list(attributes)
    steps = preparation_named(prepare)
    run_and_show(
        "candidates",
        results,
        plots,
        json,
        lambda kept, advance: work(folder, names, chosen, rounds, advance, kept, steps),
    )


@app.command()
def estimates(
    data: DataOption = None,
    dataset: SetOption = None,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Samples of each kind and set.")] = 300,
    blind: Annotated[
        bool, typer.Option("--blind", help="Also labels by suggested questions, as bands and with checked pairs.")
    ] = False,
    prepare: PrepareOption = "ours",
    results: ResultsOption = RESULTS,
    json: JsonFlag = False,
) -> None:
    """Measure how often 95 % intervals of a linkage's precision, recall and F hold the truth, by set and sampling."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.estimates import estimates as work

    folder = data_folder(data)
    names, steps = dataset or names_in(folder), preparation_named(prepare)
    run_and_show(
        "estimates", results, False, json, lambda kept, advance: work(folder, names, draws, blind, advance, kept, steps)
    )


@app.command()
def verdicts(
    data: DataOption = None,
    dataset: SetOption = None,
    records: Annotated[int, typer.Option("--records", min=2, help="Records of each side that are asked about.")] = 60,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show what verdicts are worth: how often partners are found, and others let through, by what was said before."""
    from blindlabel_lab.experiments.datasets import data_folder
    from blindlabel_lab.experiments.verdicts import sets_in
    from blindlabel_lab.experiments.verdicts import verdicts as work

    folder = data_folder(data)
    names = dataset or sets_in(folder)
    run_and_show("verdicts", results, plots, json, lambda kept, advance: work(folder, names, records, advance, kept))


@app.command()
def prevalence(
    data: DataOption = None,
    dataset: SetOption = None,
    samples: SamplesOption = 2,
    seed: SeedOption = 0,
    records: Annotated[int, typer.Option("--records", min=2, help="Sampled records of each table.")] = 300,
    prepare: PrepareOption = "ours",
    results: ResultsOption = RESULTS,
    json: JsonFlag = False,
) -> None:
    """Show how often "match" labels are right in uniform samples, where matches are rare and look-alikes are not."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.prevalence import prevalence as work

    folder = data_folder(data)
    names, steps = dataset or names_in(folder), preparation_named(prepare)
    run_and_show(
        "prevalence",
        results,
        False,
        json,
        lambda kept, advance: work(folder, names, records, samples, seed, advance, kept, steps),
    )


@app.command()
def invariance(
    data: DataOption = None,
    dataset: SetOption = None,
    prepare: PrepareOption = "ours",
    results: ResultsOption = RESULTS,
    json: JsonFlag = False,
) -> None:
    """Label candidate pairs with rows in five other orders, columns renamed and reordered, every tenth row twice."""
    from blindlabel_lab.experiments.candidates import candidates_folder, chosen_sets
    from blindlabel_lab.experiments.datasets import data_folder, preparation_named
    from blindlabel_lab.experiments.prevalence import invariance as work

    folder, steps = candidates_folder(data_folder(data)), preparation_named(prepare)
    names = chosen_sets(folder, dataset)
    run_and_show("invariance", results, False, json, lambda kept, advance: work(folder, names, advance, kept, steps))


@app.command()
def oracles(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 5,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    prepare: PrepareOption = "ours",
    needle_length: NeedleOption = 16,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Compare strategies: a conjunction of rare words, a plain weighted count, and suggestions with and without
    attributes.
    """
    from blindlabel_lab.experiments.quality import oracles as work

    plan = _plan(
        data,
        dataset,
        attributes,
        prepare,
        samples=samples,
        seed=seed,
        size=matches,
        rounds=rounds,
        needle_length=needle_length,
    )
    run_and_show("oracles", results, plots, json, lambda folder, advance: work(plan, folder, advance))


@app.command()
def tokens(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 3,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    prepare: PrepareOption = "ours",
    needle_length: NeedleOption = 16,
    people_: PeopleOption = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show how long needles are, and whether rare or common words are asked for."""
    from blindlabel_lab.experiments.describing import tokens as work
    from blindlabel_lab.experiments.people import with_peoples_tokens

    plan = _plan(
        data,
        dataset,
        attributes,
        prepare,
        samples=samples,
        seed=seed,
        size=matches,
        rounds=rounds,
        needle_length=needle_length,
        people=tuple(people_ or ()),
    )
    run_and_show(
        "tokens",
        results,
        plots,
        json,
        lambda folder, advance: with_peoples_tokens(work(plan, folder, advance), plan.people),
    )


@app.command()
def records(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    seed: SeedOption = 0,
    matches: MatchesOption = 50,
    prepare: PrepareOption = "published",
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show the sets: entities, matches, a selected sample and how long records are, beside the published figures."""
    from blindlabel_lab.experiments.describing import records as work

    plan = _plan(data, dataset, attributes, prepare, seed=seed, size=matches)
    run_and_show("records", results, plots, json, lambda _folder, advance: work(plan, advance))


@app.command()
def missing(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    prepare: PrepareOption = "ours",
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show how many values are missing in each attribute."""
    from blindlabel_lab.experiments.describing import missing as work

    plan = _plan(data, dataset, attributes, prepare)
    run_and_show("missing", results, plots, json, lambda _folder, advance: work(plan, advance))


@app.command()
def communication(results: ResultsOption = RESULTS, plots: PlotsOption = True, json: JsonFlag = False) -> None:
    """Measure bytes of an encrypted record against its length, beside the published figure."""
    from blindlabel_lab.experiments.costs import communication as work

    _say_not_run(run_and_show("communication", results, plots, json, work))


@app.command()
def computation(results: ResultsOption = RESULTS, plots: PlotsOption = True, json: JsonFlag = False) -> None:
    """Measure seconds of a round against record length, beside the published figures."""
    from blindlabel_lab.experiments.costs import computation as work

    _say_not_run(run_and_show("computation", results, plots, json, work))


@app.command("all")
def all_(
    data: DataOption = None,
    dataset: SetOption = None,
    attributes: AttributesOption = None,
    samples: SamplesOption = 10,
    seed: SeedOption = 0,
    people_: PeopleOption = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    costs: Annotated[
        bool, typer.Option("--costs/--no-costs", help="Whether to measure the engines too; that takes minutes.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Run every experiment and write results/report.md."""
    from blindlabel_lab.experiments.report import run_all
    from blindlabel_lab.experiments.results import Results

    plan = _plan(data, dataset, attributes, samples=samples, seed=seed, people=tuple(people_ or ()))
    with progress_bar() as bar:
        task = bar.add_task("all", total=1.0)
        document, written = run_all(
            plan,
            Results(results),
            lambda what, share: bar.update(task, description=what, completed=share),
            lambda name, place, parts, wall, used: bar.console.print(
                f"{place} of {parts}: {name} is done, {wall:.0f} s ({used:.0f} processor seconds)", highlight=False
            ),
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
