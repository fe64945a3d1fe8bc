"""`blindlabel experiment prepare, session, score, replay, learning`: the publication's experiment with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, answer, say
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
    run_and_show,
)

if TYPE_CHECKING:
    from blindlabel_lab.experiments.datasets import Dataset
    from blindlabel_lab.experiments.prepared import Prepared

Studies = Annotated[
    list[Path],
    typer.Argument(help="Prepared folders, coordinators' folders, owners' workspaces, or exported ground truths."),
]


def prepare(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="SET", help="A set by name, or a folder with a.csv, b.csv and matches.csv."),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="The new folder to write.")],
    seed: Annotated[int, typer.Option(help="Which sample is drawn.")] = 0,
    matches: MatchesOption = 50,
    rounds: RoundsOption = 3,
    engine: Annotated[str, typer.Option(help="packed, gates or plain.")] = "packed",
    table: Annotated[
        list[Path] | None, typer.Option(help="Your own tables, first and second, in place of SET.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="With --table: the known matches, a CSV file of id_a, id_b.")
    ] = None,
    data: DataOption = None,
    attributes: AttributesOption = None,
    preparation: PrepareOption = "ours",
    participants: Annotated[
        int | None, typer.Option(help="For a laboratory: this many people, in couples. Several SETs may be named.")
    ] = None,
    consent: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="With --participants: the text to agree to; {participant} is the pseudonym.",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option("--published", help="The publication's conditions: is_in only, no points, plain preparation."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Make a study for people ready: draw the matches, write the agreement, both tables and the truth apart, and print
    the commands of all parties. With --participants, a whole study with a control arm: sheets, consent, practice and
    assignment (docs/laboratory/people.md).
    """
    from blindlabel_lab.experiments.prepared import commands
    from blindlabel_lab.experiments.prepared import prepare as make

    if participants is None and (consent is not None or len(names or []) > 1):
        raise InputError("Several sets, and a text to agree to, are for a study with --participants.")
    preparation = "published" if published else preparation
    chosen: list[str | None] = [*names] if names else [None]
    datasets = [_dataset(name, table or [], truth, data, attributes, preparation) for name in chosen]
    common: dict[str, Any] = {"seed": seed, "size": matches, "rounds": rounds, "engine": engine, "published": published}
    if participants is not None:
        _prepare_study(datasets, out, participants, consent, common, json=json)
        return
    made = make(datasets[0], out, **common)
    first, second = len(made.sample.a), len(made.sample.b)
    document = {
        "folder": str(out),
        "agreement": made.agreement.hash,
        "records": [first, second],
        "matches": int(made.sample.truth.sum()),
        "commands": commands(made),
    }
    answer(json, document, commands(made))
    say(
        f"{first} and {second} records of {made.name} with {document['matches']} true pairs are in {out}. Nobody who"
        f" annotates may see {made.truth.parent} or the other's table."
    )


def _prepare_study(
    datasets: list[Dataset], out: Path, participants: int, consent: Path | None, common: dict[str, Any], *, json: bool
) -> None:
    from dataclasses import asdict

    from blindlabel_lab.experiments.participants import prepare_study

    made = prepare_study(datasets, out, participants=participants, consent=consent, **common)
    couples = [[asdict(one) for one in sittings] for sittings in made.couples]
    lines = [
        f"couple {number} ({' and '.join(made.members(number))}), {one.set}: {' then '.join(one.parts)}, sample"
        f" {one.blind} blind"
        for number, sittings in enumerate(made.couples, 1)
        for one in sittings
    ]
    document = {"folder": str(out), "seed": made.seed, "participants": made.participants, "couples": couples}
    answer(json, document, lines)
    say(
        f"Print {out}/participants/*/sheet.html, and keep the list of who is who on paper. A couple sits down with"
        f" `blindlabel experiment session {out} --couple 1`."
    )
    if len(made.couples) % 4:
        say("Samples and the order of parts are in balance for a multiple of 8 participants.")


def session(
    study: Annotated[Path, typer.Argument(help="The folder of a study with participants.")],
    *,
    couple: Annotated[int, typer.Option(help="Which couple sits down.")],
) -> None:
    """Serve the next sitting of a couple, with its first unfinished set: consent, practice, the blind part and the
    pairs, a link for each of both. Stopped, it goes on where it was.
    """
    from blindlabel.cli.demo import serve_all
    from blindlabel_lab.experiments.arms import unfinished
    from blindlabel_lab.experiments.participants import read_study

    found = read_study(study)
    left = unfinished(found, couple)
    if not left:
        raise InputError(f"Couple {couple} has finished everything.")
    name = left[0].set
    folder = found.blind_folder(couple, name)
    port = _begun(folder, found.sample(name, left[0].blind))
    say(f"Couple {couple}, {name}: give each participant the link with its pseudonym. Stop with Ctrl-C.")
    seats = {one: ["experiment", "seat", str(study), one, name] for one in found.members(couple)}
    serve_all(folder, seats, port, browser=False)


def seat(study: Path, participant: str, name: str) -> None:
    """Serve one participant's part of a sitting; `session` starts it."""
    from blindlabel.cli.serving import running_beside, serve_app
    from blindlabel.storage.workspace import Workspace
    from blindlabel_lab.experiments.participants import read_study
    from blindlabel_lab.experiments.seat import Seat, SeatApp

    found = read_study(study)
    workspace = Workspace.open(found.workspace_folder(participant, name))
    app = SeatApp(workspace, published=found.published)
    made = Seat(found, participant, name, app)
    with running_beside(workspace.folder):
        serve_app(app, browser=False, around=made.around)


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


def _begun(folder: Path, made: Prepared) -> int:
    """All three parties in this folder, made where they are not there yet; the coordinator's port. Their words are
    compared here, as everybody sits in one room.
    """
    from blindlabel.cli.demonstration import free_port
    from blindlabel.storage.workspace import Workspace
    from blindlabel.web.local_study import Rehearsal, Wanted
    from blindlabel.web.owner_server import HOST
    from blindlabel_lab.experiments.prepared import OWNERS

    if (folder / "coordinator").exists():
        return int(Workspace.open(folder / OWNERS[0]).settings["via"].rpartition(":")[2])
    port = free_port()
    Rehearsal(folder, Wanted(owners=OWNERS, address=f"http://{HOST}:{port}"), made.tables, made.agreement).begin()
    return port


def score(
    studies: Studies,
    *,
    truth: Annotated[
        list[Path] | None, typer.Option(help="Known matches (id_a, id_b), for all or for each; prepared ones know it.")
    ] = None,
    log: Annotated[
        list[Path] | None, typer.Option(help="Exported annotation logs, for the time; prepared folders have theirs.")
    ] = None,
    archive: Annotated[
        Path | None, typer.Option(help="Of a study with participants: one file to keep, without names.")
    ] = None,
    results: ResultsOption = RESULTS,
    plots: PlotsOption = True,
    json: JsonFlag = False,
) -> None:
    """Score finished or exported studies against the known matches, round by round, over agreed pairs and strict, with
    agreement and time; of a study with participants, both arms.
    """
    from blindlabel_lab.experiments.participants import is_people_study
    from blindlabel_lab.experiments.scoring import score as work

    if len(studies) == 1 and is_people_study(studies[0]):
        _score_people(studies[0], archive, results, json=json)
        return
    if archive is not None:
        raise InputError("--archive is of one study with participants.")
    run_and_show("score", results, plots, json, lambda _kept, _advance: work(studies, truth or [], log or []))


def _score_people(folder: Path, to: Path | None, results: Path, *, json: bool) -> None:
    from blindlabel_lab.experiments.arms import archive, score_study
    from blindlabel_lab.experiments.participants import read_study

    study = read_study(folder)
    document = run_and_show("people", results, False, json, lambda _results, _advance: score_study(study))
    if document["unfinished"]:
        say(f"Not finished, and left out: {'; '.join(document['unfinished'])}.")
    if to is not None:
        say(
            f"{len(archive(study, document, to))} files are in {to}: questions and answers, but no tables and no names."
        )


def replay(
    folders: Annotated[list[Path], typer.Argument(help="Prepared folders with the owners' questions in them.")],
    *,
    engine: Annotated[str, typer.Option(help="plain, or packed or gates for the same by encryption.")] = ("plain"),
    questions: Annotated[
        Path | None, typer.Option(help="Folder with a folder of questions for each owner. Default: questions/.")
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
