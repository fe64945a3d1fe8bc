"""`blindlabel experiment …`: the publication's experiments, each with --json, a table and plots in a results folder.

An experiment is a function of the package `experiments`, `work(plan, kept, advance)`: what the options say, the results
folder, and whom to tell how far it is. `_experiment` makes a command of it, with options that all experiments share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from blindlabel.cli.output import JsonFlag, answer, progress_bar
from blindlabel.cli.trying import attribute_list
from blindlabel_lab.cli import people
from blindlabel_lab.cli.options import OPTIONS, DataOption, run_and_show

if TYPE_CHECKING:
    from blindlabel_lab.experiments.quality import Plan

app = typer.Typer(
    name="experiment", help="Repeat the publication's experiments, on its data or yours.", no_args_is_help=True
)
for _one in (people.prepare, people.session, people.score, people.replay, people.learning):
    app.command(_one.__name__)(_one)
app.command("seat", hidden=True)(people.seat)

_SAMPLED = "data dataset attributes samples seed matches rounds prepare needle_length"


def _add(name: str, command: Callable[..., None], help: str, options: Iterable[str], defaults: dict[str, Any]) -> None:
    """A command with these options; some may have other defaults."""
    found = [(one, defaults.get(one, OPTIONS[one][1]), OPTIONS[one][0]) for one in options]
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(one, Parameter.KEYWORD_ONLY, default=usual, annotation=kind) for one, usual, kind in found]
    )
    app.command(name, help=help)(command)


def _experiment(where: str, options: str, help: str, *, plots: bool = True, **defaults: Any) -> None:
    """A command that runs the experiment of this name in this module."""
    module, _, name = where.partition(":")

    def command(*, results: Path, json: bool, plots: bool = False, **given: Any) -> None:
        work = getattr(import_module(f"blindlabel_lab.experiments.{module}"), name)
        run_and_show(name, results, plots, json, partial(work, _plan(given)) if given else work)

    _add(name, command, help, (*options.split(), "results", *(["plots"] if plots else []), "json"), defaults)


def _plan(given: dict[str, Any]) -> Plan:
    """What an experiment is to run."""
    from blindlabel_lab.experiments.datasets import data_folder, preparation_named
    from blindlabel_lab.experiments.quality import Plan

    said = given | {"folder": data_folder(given["data"])}
    columns = attribute_list(said.pop("attributes", None))
    known = {
        "names": tuple(said.pop("dataset", None) or ()),
        "attributes": None if columns is None else tuple(columns),
        "preparation": preparation_named(said.pop("prepare", "ours")),
        "people": tuple(said.pop("people", None) or ()),
        "size": said.pop("matches", 50),
    }
    del said["data"]
    return Plan(**known, **said)


_experiment(
    "quality:quality",
    f"{_SAMPLED} engine",
    "Label random samples of each set with suggested questions, and compare with the truth, round by round.",
)
_experiment(
    "candidates:candidates",
    "data dataset attributes rounds prepare",
    "Label hard candidate pairs with suggested questions, beside systems that learn from labels, and show how readable"
    " the questions are.",
    plots=False,
)
_experiment(
    "estimates:estimates",
    "data dataset draws blind prepare",
    "Measure how often 95 % intervals of a linkage's precision, recall and F hold the truth, by set and sampling.",
    plots=False,
)
_experiment(
    "verdicts:verdicts",
    "data dataset records",
    "Show what verdicts are worth: how often partners are found, and others let through, by what was said before.",
)
_experiment(
    "prevalence:prevalence",
    "data dataset samples seed records prepare",
    'Show how often "match" labels are right in uniform samples, where matches are rare and look-alikes are not.',
    plots=False,
    samples=2,
    records=300,
)
_experiment(
    "prevalence:invariance",
    "data dataset prepare",
    "Label candidate pairs with rows in five other orders, columns renamed and reordered, every tenth row twice.",
    plots=False,
)
_experiment(
    "quality:oracles",
    _SAMPLED,
    "Compare strategies: a conjunction of rare words, a plain weighted count, and suggestions with and without"
    " attributes.",
    samples=5,
)
_experiment(
    "people:tokens",
    f"{_SAMPLED} people",
    "Show how long needles are, and whether rare or common words are asked for.",
    samples=3,
)
_experiment(
    "describing:records",
    "data dataset attributes seed matches prepare",
    "Show the sets: entities, matches, a selected sample and how long records are, beside the published figures.",
    prepare="published",
)
_experiment(
    "describing:missing", "data dataset attributes prepare", "Show how many values are missing in each attribute."
)
_experiment(
    "costs:communication", "", "Measure bytes of an encrypted record against its length, beside the published figure."
)
_experiment("costs:computation", "", "Measure seconds of a round against record length, beside the published figures.")


@app.command("data")
def data_(data: DataOption = None, json: JsonFlag = False) -> None:
    """List the data sets: source, licence, checksum, whether they are found, and how to place them."""
    from blindlabel.errors import InputError
    from blindlabel_lab.experiments.datasets import HOW_TO_PLACE, data_folder, listing, said_of

    try:
        folder: Path | None = data_folder(data)
    except InputError:
        if data is not None:
            raise
        folder = None
    rows = listing(folder)
    document = {"folder": None if folder is None else str(folder), "datasets": rows, "how_to_place": HOW_TO_PLACE}
    lines = [line for row in rows for line in said_of(row)]
    answer(json, document, [*lines, f"Folder: {folder if folder else 'none found'}", HOW_TO_PLACE])


def _all(*, results: Path, plots: bool, json: bool, costs: bool, **given: Any) -> None:
    from blindlabel_lab.experiments.report import run_all
    from blindlabel_lab.experiments.results import Results

    with progress_bar() as bar:
        task = bar.add_task("all", total=1.0)
        document, written = run_all(
            _plan(given),
            Results(results),
            lambda what, share: bar.update(task, description=what, completed=share),
            lambda said: bar.console.print(said, highlight=False),
            plots=plots,
            costs=costs,
        )
    answer(json, document, map(str, written))


_add(
    "all",
    _all,
    "Run every experiment and write results/report.md.",
    ["data", "dataset", "attributes", "samples", "seed", "people", "costs", "results", "plots", "json"],
    {},
)
