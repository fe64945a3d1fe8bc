"""`blindlabel experiment prepare, score, replay, learning`: the publication's experiment with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say
from blindlabel.cli.trying import attribute_list
from blindlabel.errors import InputError
from blindlabel_lab.cli.options import (
    RESULTS,
    AttributesOption,
    DataOption,
    MatchesOption,
    PlotsOption,
    PrepareOption,
    ResultsOption,
    RoundsOption,
)
from blindlabel_lab.cli.showing import run_and_show

if TYPE_CHECKING:
    from blindlabel_lab.experiments.datasets import Dataset
    from blindlabel_lab.experiments.prepared import Prepared

Studies = Annotated[
    list[Path],
    typer.Argument(help="Prepared folders, coordinators' folders, owners' workspaces, or exported ground truths."),
]


def prepare(
    name: Annotated[
        str | None, typer.Argument(metavar="SET", help="A set by name, or a folder with a.csv, b.csv and matches.csv.")
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", help="The new folder to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Which sample is drawn.")] = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    engine: Annotated[str, typer.Option("--engine", help="packed, gates or plain.")] = "packed",
    table: Annotated[
        list[Path] | None, typer.Option("--table", help="Your own tables, first and second, in place of SET.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="With --table: the known matches, a CSV file of id_a, id_b.")
    ] = None,
    data: DataOption = None,
    attributes: AttributesOption = None,
    preparation: PrepareOption = "ours",
    local: Annotated[
        bool, typer.Option("--local", help="Start coordinator and both owners with their web apps, for one room.")
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="With --local: only print the links.")] = False,
    json: JsonFlag = False,
) -> None:
    """Make a study for people ready: draw the matches, write the agreement, both tables and the truth apart, and print
    the commands of all parties. With --local, a folder that is ready is opened again.
    """
    from blindlabel_lab.experiments.prepared import commands, is_prepared, read_prepared
    from blindlabel_lab.experiments.prepared import prepare as make

    if local and is_prepared(out):
        _serve(read_prepared(out), browser=not no_browser)
        return
    dataset = _dataset(name, table or [], truth, data, attributes, preparation)
    made = make(dataset, out, seed=seed, size=matches, rounds=rounds, engine=engine)
    if json:
        document = {
            "folder": str(out),
            "agreement": made.agreement.hash,
            "records": [len(made.sample.a), len(made.sample.b)],
            "matches": int(made.sample.truth.sum()),
            "commands": commands(made),
        }
        result_json(document)
    elif not local:
        for line in commands(made):
            result(line)
    say(
        f"{len(made.sample.a)} and {len(made.sample.b)} records of {made.name} with {int(made.sample.truth.sum())} true"
        f" pairs are in {out}. Nobody who annotates may see {made.truth.parent} or the other's table."
    )
    if local:
        _serve(made, browser=not no_browser)


def _dataset(
    name: str | None,
    tables: list[Path],
    truth: Path | None,
    data: Path | None,
    attributes: str | None,
    preparation: str,
) -> Dataset:
    from blindlabel_lab.experiments.datasets import data_folder, is_set, preparation_named, read_dataset, read_files

    chosen, steps = attribute_list(attributes), preparation_named(preparation)
    if tables or truth:
        if name is not None or len(tables) != 2 or truth is None:
            raise InputError("Your own tables are named by --table A --table B --truth MATCHES, without a SET.")
        return read_files([*tables, truth], f"{tables[0].stem}-{tables[1].stem}", chosen, steps)
    if name is None:
        raise InputError("Name a SET, or your own tables with --table A --table B --truth MATCHES.")
    if Path(name).is_dir() and is_set(Path(name)):
        place = Path(name).resolve()
        return read_dataset(place.parent, place.name, chosen, steps)
    return read_dataset(data_folder(data), name, chosen, steps)


def _serve(made: Prepared, *, browser: bool) -> None:
    """All three parties on this machine; their words are compared here, as everybody sits in one room."""
    from blindlabel.cli.demo import serve_all
    from blindlabel.storage.workspace import Workspace
    from blindlabel.web.local_study import Rehearsal, Wanted, free_port
    from blindlabel.web.owner_server import HOST
    from blindlabel_lab.experiments.prepared import OWNERS

    workspaces = [made.folder / owner for owner in OWNERS]
    if made.coordinator.exists():
        port = int(Workspace.open(workspaces[0]).settings["via"].rpartition(":")[2])
    else:
        port = free_port()
        wanted = Wanted(owners=OWNERS, address=f"http://{HOST}:{port}")
        Rehearsal(made.folder, wanted, made.tables, made.agreement).begin()
    say("Give each annotator one owner's link. Stop with Ctrl-C; --local with this folder goes on.")
    serve_all(made.folder, workspaces, port, browser=browser)


def score(
    studies: Studies,
    *,
    truth: Annotated[
        list[Path] | None,
        typer.Option("--truth", help="Known matches (id_a, id_b), for all or for each; prepared ones know it."),
    ] = None,
    against: Annotated[
        list[Path] | None,
        typer.Option("--against", help="Studies of another condition, paired with the others in order; repeat it."),
    ] = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Score finished or exported studies against the known matches, round by round, over agreed pairs and strict."""
    from blindlabel_lab.experiments.scoring import paired
    from blindlabel_lab.experiments.scoring import score as work

    document = work(studies, truth or [])
    if against:
        document["against"] = work(against, truth or [])
        document["paired"] = paired(document["studies"], document["against"]["studies"])
    run_and_show("score", results, plots, json, lambda _results, _advance: document)


def replay(
    folders: Annotated[list[Path], typer.Argument(help="Prepared folders with the owners' questions in them.")],
    *,
    engine: Annotated[str, typer.Option("--engine", help="plain, or packed or gates for the same by encryption.")] = (
        "plain"
    ),
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="Folder with a folder of questions for each owner. Default: questions/."),
    ] = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Ask people's questions again and score the labels, as the study itself would have it."""
    from blindlabel_lab.experiments.people import replayed

    run_and_show(
        "replay", results, plots, json, lambda _results, advance: replayed(folders, engine, questions, advance)
    )


def learning(
    logs: Annotated[
        list[Path],
        typer.Argument(help="Logs (`owner log export`), exported questions, workspaces, or prepared folders."),
    ],
    *,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Show how many minutes people took for a record by its position, what they edited, and which suggestions they
    took.
    """
    from blindlabel_lab.experiments.learning import learning as work

    run_and_show("learning", results, plots, json, lambda _results, _advance: work(logs))
