"""`blindlabel demo`: a whole study on this machine, from generated tables to ground truth; `demo --web`: a half
annotated one, with every party's pages, for one person to click through; `practice`: writing questions about invented
records; `generate`: two such tables and the truth about them.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, progress_bar, result, say
from blindlabel.cli.stores import coordinator_at
from blindlabel.errors import InputError


def demo(
    *,
    records: Annotated[int, Option(min=2, max=5000, help="Records of each owner in the sample.")] = 64,
    engine: Annotated[str, Option(help="packed, plain (without encryption), or gates (names only; slow).")] = "packed",
    rounds: Annotated[int, Option(min=1, max=10, help="Rounds at most.")] = 3,
    seed: Annotated[int, Option(help="The same seed gives the same tables.")] = 1,
    workers: Annotated[int, Option(min=1, help="Processes of each owner for encryption and evaluation.")] = 1,
    keep: Annotated[Path | None, Option(help="Folder to keep all files of all parties in.")] = None,
    web: Annotated[
        bool, Option("--web", help="Click through it instead: all pages in the browser, half annotated.")
    ] = False,
    no_browser: Annotated[bool, Option("--no-browser", help="With --web: only print the links.")] = False,
    json: JsonFlag = False,
) -> None:
    """Run a whole study: two generated person tables, a coordinator and two owners as processes over HTTP, suggested
    questions.
    """
    from blindlabel.cli.demonstration import Demonstration, demonstrate

    if web:
        demo_web(records=records, engine=engine, rounds=rounds, seed=seed, keep=keep, browser=not no_browser)
        return
    with ExitStack() as stack:
        if keep is not None and keep.exists() and any(keep.iterdir()):
            raise InputError(f"{keep} is not empty; choose a new folder for --keep.")
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blindlabel-demo-")))
        bar = stack.enter_context(progress_bar(time_left=False))
        task = bar.add_task("starting", total=1.0)

        def show(phase: str, share: float) -> None:
            bar.update(task, description=phase, completed=share)

        document = demonstrate(Demonstration(records, engine, rounds, seed, workers), folder.resolve(), say, show)
        if keep is None:
            document["labels_path"] = str(_moved_out(Path(document["labels_path"])))
    answer(json, document, _lines(document))


def _moved_out(labels: Path) -> Path:
    """The labels outlive the temporary folder, in a file of their own."""
    kept = Path(tempfile.mkdtemp(prefix="blindlabel-labels-")) / labels.name
    kept.write_bytes(labels.read_bytes())
    return kept


def _lines(document: dict[str, Any]) -> Iterator[str]:
    from blindlabel.parties.accounting import size

    right = document["true_positives"]
    labelled, true = right + document["false_positives"], right + document["false_negatives"] + document["open_matches"]
    yield (
        f"{document['pairs']:,} pairs, {document['discarded']} discarded. By the known truth {right} of {labelled}"
        f" matches are right, and {right} of {true} true ones were found (F {document['f']:.3f} over agreed pairs,"
        f" {document['f_strict']:.3f} where a discarded one is missed): one draw of few."
    )
    if document["precision"] < 1:
        yield "The tables hold households and namesakes, whom suggested questions do not always tell apart."
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in document["phases"].items())
    yield f"Time: {document['seconds']:.1f} s ({phases})."
    moved = sorted(document["bytes"].items(), key=lambda one: -one[1])
    yield f"Moved: {', '.join(f'{kind} {size(count)}' for kind, count in moved)}."
    yield f"Labels: {document['labels_path']}"


def demo_web(*, records: int, engine: str, rounds: int, seed: int, keep: Path | None, browser: bool = True) -> None:
    """Serve a coordinator with its page and two owners with their apps until Ctrl-C. Half of the questions are written
    already.
    """
    from blindlabel.cli.demonstration import free_port

    try:
        from blindlabel.web.local_study import Rehearsal, Wanted
        from blindlabel.web.owner_server import HOST
    except ModuleNotFoundError as error:
        raise InputError("The web app needs the extra `web`: pip install 'blindlabel[web]'.") from error
    with _until_told_to_end(), contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blindlabel-demo-")))
        port = free_port()
        say("Making two tables, keys and encrypted records …")
        wanted = Wanted(records=records, rounds=rounds, engine=engine, seed=seed, address=f"http://{HOST}:{port}")
        made = Rehearsal(folder.resolve(), wanted)
        made.begin()
        for workspace in made.workspaces:
            made.write_all(workspace.name, 0.5)
        say("Finish the open questions of both owners, hand both rounds in, and watch the coordinator's page.")
        say("Stop with Ctrl-C.")
        homes = {one.name: str(one.folder) for one in made.workspaces}
        apps = {name: ["owner", "annotate", "--at", at, "--no-browser", "--run"] for name, at in homes.items()}
        serve_all(folder.resolve(), apps, port, browser=browser)


def serve_all(folder: Path, apps: Mapping[str, Sequence[str]], port: int, *, browser: bool) -> None:
    """Serve the coordinator of a folder and these apps, each in a process, until Ctrl-C; prints every link."""
    from blindlabel.cli.demonstration import Processes
    from blindlabel.web.coordinator_page import sign_in_code
    from blindlabel.web.owner_server import HOST

    home = folder / "coordinator"
    with _until_told_to_end(), Processes(folder, say) as running:
        running.start("coordinator", "coordinator", "serve", "--at", str(home), "--port", str(port))
        for name, arguments in apps.items():
            running.start(name, *arguments)
        links = {name: running.first_line(name) for name in apps}
        links["coordinator"] = f"http://{HOST}:{port}/"
        code = sign_in_code(coordinator_at(home, None))
        for name, link in links.items():
            result(f"{name}: {link}{f' (code {code})' if name == 'coordinator' else ''}")
        sys.stdout.flush()
        for link in links.values() if browser else ():
            webbrowser.open(link)
        while True:
            time.sleep(3600)


@contextlib.contextmanager
def _until_told_to_end() -> Iterator[None]:
    """Ends the block at Ctrl-C, a request to end, or the end of the terminal. The handlers are set here because a shell
    makes a process that it starts in the background ignore Ctrl-C.
    """
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        yield


def practice(
    kind: Annotated[str, Argument(help="What the records are about: persons or products.")] = "persons",
    *,
    at: Annotated[Path | None, Option(help="Folder to keep it in, or to continue from.")] = None,
    seed: Annotated[int, Option(help="The same seed invents the same tables.")] = 1,
    port: Annotated[int | None, Option(min=0, max=65535, help="Port on 127.0.0.1.")] = None,
    no_browser: Annotated[bool, Option("--no-browser", help="Only print the link.")] = False,
    json: JsonFlag = False,
) -> None:
    """Practise writing questions, without a study: eight invented records on the same pages, and the truth after each
    question. Stop with Ctrl-C; it then says how you did.
    """
    from dataclasses import asdict

    from blindlabel.cli.serving import serve_app
    from blindlabel.web.app import OwnerApp
    from blindlabel.web.practice import Practice

    with ExitStack() as stack:
        folder = at or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="blindlabel-practice-")))
        made = Practice(folder.resolve(), kind, seed)
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            serve_app(OwnerApp(made.workspace, made), port=port, browser=not no_browser, quiet=json)
        found = made.result()
    answer(json, asdict(found), [found.sentence])


def generate(
    kind: Annotated[str, Argument(help="What to make: persons or products.")],
    *,
    out: Annotated[Path, Option(help="Folder for a.csv, b.csv and matches.csv.")],
    rows: Annotated[int, Option(help="Rows of each table.")] = 1000,
    overlap: Annotated[float, Option(help="Rows of b that match a row of a, as a share of the rows.")] = 0.5,
    copies: Annotated[int, Option(help="Rows of b that match the same row of a, at most.")] = 1,
    seed: Annotated[int, Option(help="The same seed gives the same tables.")] = 1,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
    json: JsonFlag = False,
) -> None:
    """Make two synthetic tables with typical errors, and the pairs that belong together.

    Persons have the error kinds of Febrl (typing, scanning, hearing, swapped and missing values). Ids are random and
    say nothing.
    """
    from blindlabel.records.generator import Size, write
    from blindlabel.records.generator import generate as make

    if not 0 <= overlap <= 1:
        raise InputError(f"The overlap is a share from 0 to 1, not {overlap:g}.")
    made = make(kind, Size(rows, round(overlap * rows), copies), seed)
    paths = write(made, out, replace=force)
    files, counts = list(map(str, paths)), {"rows_a": len(made.a), "rows_b": len(made.b), "matches": len(made.matches)}
    shown = f"{len(made.a)} and {len(made.b)} rows, {len(made.matches)} matches: {', '.join(files)}"
    answer(json, {"kind": kind, "seed": seed, **counts, "files": files}, [shown])
