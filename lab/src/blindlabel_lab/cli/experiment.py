"""`blindlabel experiment …`: the publication's experiments, each with --json, a table and plots in a results folder.

An experiment is a function here, `work(given, kept, advance)`: what its options say, the results folder, and whom to
tell how far it is. `_experiment` makes a command of it, with options that all experiments share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from types import SimpleNamespace
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
    run_and_show,
)

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Advance, Plan
    from blindlabel_lab.experiments.results import Results

app = typer.Typer(
    name="experiment", help="Repeat the publication's experiments, on its data or yours.", no_args_is_help=True
)

app.command("prepare")(people.prepare)
app.command("session")(people.session)
app.command("seat", hidden=True)(people.seat)
app.command("score")(people.score)
app.command("replay")(people.replay)
app.command("learning")(people.learning)

Given = SimpleNamespace
"""What the options of a command say, by name."""
Work = Callable[[Given, "Results", "Advance"], dict[str, Any]]

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "data": (DataOption, None),
    "dataset": (SetOption, None),
    "attributes": (AttributesOption, None),
    "samples": (SamplesOption, 10),
    "seed": (SeedOption, 0),
    "matches": (MatchesOption, 50),
    "records": (Annotated[int, typer.Option("--records", min=2, help="Sampled records of each side.")], 60),
    "rounds": (RoundsOption, 3),
    "engine": (
        Annotated[
            str,
            typer.Option(
                "--engine", help="plain for speed; packed or gates to have the same labels through encryption."
            ),
        ],
        "plain",
    ),
    "draws": (Annotated[int, typer.Option("--draws", min=1, help="Samples of each kind and set.")], 300),
    "blind": (
        Annotated[
            bool, typer.Option("--blind", help="Also labels by suggested questions, as bands and with checked pairs.")
        ],
        False,
    ),
    "prepare": (PrepareOption, "ours"),
    "needle_length": (NeedleOption, 16),
    "people": (PeopleOption, None),
    "results": (ResultsOption, RESULTS),
    "plots": (PlotsOption, True),
    "json": (JsonFlag, False),
}
"""Every option, and its usual default."""
_SAMPLED = ("data", "dataset", "attributes", "samples", "seed", "matches", "rounds", "prepare", "needle_length")


def _experiment(*names: str, plots: bool = True, **defaults: Any) -> Callable[[Work], Work]:
    """The function below is an experiment with these options; some may have other defaults."""

    def known(work: Work) -> Work:
        def command(*, results: Path, json: bool, plots: bool = False, **given: Any) -> None:
            document = run_and_show(work.__name__, results, plots, json, partial(work, Given(**given)))
            for one in document.get("not_run", []):
                say(f"Not run: the {one['engine']} engine: {one['reason']}")

        shown = (*names, "results", *(["plots"] if plots else []), "json")
        options = [
            Parameter(
                one, Parameter.KEYWORD_ONLY, default=defaults.get(one, _OPTIONS[one][1]), annotation=_OPTIONS[one][0]
            )
            for one in shown
        ]
        command.__signature__ = Signature(options)  # type: ignore[attr-defined]
        command.__doc__ = work.__doc__
        app.command(work.__name__)(command)
        return work

    return known


def _plan(given: Given) -> Plan:
    """What an experiment with samples is to run."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.quality import Plan

    folder, options = data_folder(given.data), vars(given)
    names, chosen = given.dataset or names_in(folder), attribute_list(given.attributes)
    more = {name: options[name] for name in ("samples", "seed", "rounds", "engine", "needle_length") if name in options}
    return Plan(
        folder,
        tuple(names),
        None if chosen is None else tuple(chosen),
        preparation=preparation_named(options.get("prepare", "ours")),
        people=tuple(options.get("people") or ()),
        size=options.get("matches", 50),
        **more,
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


@_experiment(*_SAMPLED, "engine")
def quality(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Label random samples of each set with suggested questions, and compare with the truth, round by round."""
    from blindlabel_lab.experiments.quality import quality as work

    return work(_plan(given), kept, advance)


@_experiment("data", "dataset", "attributes", "rounds", "prepare")
def candidates(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Label hard candidate pairs with suggested questions, beside systems that learn from labels, and show how readable
    the questions are.
    """
    from blindlabel_lab.experiments.candidates import candidates as work
    from blindlabel_lab.experiments.candidates import candidates_folder, chosen_sets
    from blindlabel_lab.experiments.datasets import data_folder, preparation_named

    folder, steps = candidates_folder(data_folder(given.data)), preparation_named(given.prepare)
    names, columns = chosen_sets(folder, given.dataset), attribute_list(given.attributes)
    return work(folder, names, columns, given.rounds, advance, kept, steps)


@_experiment("data", "dataset", "draws", "blind", "prepare", plots=False)
def estimates(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Measure how often 95 % intervals of a linkage's precision, recall and F hold the truth, by set and sampling."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.estimates import estimates as work

    folder, steps = data_folder(given.data), preparation_named(given.prepare)
    return work(folder, given.dataset or names_in(folder), given.draws, given.blind, advance, kept, steps)


@_experiment("data", "dataset", "records")
def verdicts(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Show what verdicts are worth: how often partners are found, and others let through, by what was said before."""
    from blindlabel_lab.experiments.datasets import data_folder
    from blindlabel_lab.experiments.verdicts import sets_in
    from blindlabel_lab.experiments.verdicts import verdicts as work

    folder = data_folder(given.data)
    return work(folder, given.dataset or sets_in(folder), given.records, advance, kept)


@_experiment("data", "dataset", "samples", "seed", "records", "prepare", plots=False, samples=2, records=300)
def prevalence(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Show how often "match" labels are right in uniform samples, where matches are rare and look-alikes are not."""
    from blindlabel_lab.experiments.datasets import data_folder, names_in, preparation_named
    from blindlabel_lab.experiments.prevalence import prevalence as work

    folder, steps = data_folder(given.data), preparation_named(given.prepare)
    names = given.dataset or names_in(folder)
    return work(folder, names, given.records, given.samples, given.seed, advance, kept, steps)


@_experiment("data", "dataset", "prepare", plots=False)
def invariance(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Label candidate pairs with rows in five other orders, columns renamed and reordered, every tenth row twice."""
    from blindlabel_lab.experiments.candidates import candidates_folder, chosen_sets
    from blindlabel_lab.experiments.datasets import data_folder, preparation_named
    from blindlabel_lab.experiments.prevalence import invariance as work

    folder, steps = candidates_folder(data_folder(given.data)), preparation_named(given.prepare)
    return work(folder, chosen_sets(folder, given.dataset), advance, kept, steps)


@_experiment(*_SAMPLED, samples=5)
def oracles(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Compare strategies: a conjunction of rare words, a plain weighted count, and suggestions with and without
    attributes.
    """
    from blindlabel_lab.experiments.quality import oracles as work

    return work(_plan(given), kept, advance)


@_experiment(*_SAMPLED, "people", samples=3)
def tokens(given: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Show how long needles are, and whether rare or common words are asked for."""
    from blindlabel_lab.experiments.describing import tokens as work
    from blindlabel_lab.experiments.people import with_peoples_tokens

    plan = _plan(given)
    return with_peoples_tokens(work(plan, kept, advance), plan.people)


@_experiment("data", "dataset", "attributes", "seed", "matches", "prepare", prepare="published")
def records(given: Given, _: Results, advance: Advance) -> dict[str, Any]:
    """Show the sets: entities, matches, a selected sample and how long records are, beside the published figures."""
    from blindlabel_lab.experiments.describing import records as work

    return work(_plan(given), advance)


@_experiment("data", "dataset", "attributes", "prepare")
def missing(given: Given, _: Results, advance: Advance) -> dict[str, Any]:
    """Show how many values are missing in each attribute."""
    from blindlabel_lab.experiments.describing import missing as work

    return work(_plan(given), advance)


@_experiment()
def communication(_: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Measure bytes of an encrypted record against its length, beside the published figure."""
    from blindlabel_lab.experiments.costs import communication as work

    return work(kept, advance)


@_experiment()
def computation(_: Given, kept: Results, advance: Advance) -> dict[str, Any]:
    """Measure seconds of a round against record length, beside the published figures."""
    from blindlabel_lab.experiments.costs import computation as work

    return work(kept, advance)


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

    said = Given(data=data, dataset=dataset, attributes=attributes, samples=samples, seed=seed, people=people_)
    with progress_bar() as bar:
        task = bar.add_task("all", total=1.0)
        document, written = run_all(
            _plan(said),
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
