"""`blindlabel demo`: a whole study on this machine, from generated tables to ground truth."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, progress_bar, result, result_json, say
from blindlabel.errors import InputError


def demo(
    *,
    records: Annotated[
        int, typer.Option("--records", min=2, max=5000, help="Records of each owner in the sample.")
    ] = 64,
    engine: Annotated[
        str,
        typer.Option("--engine", help="packed, plain for a rehearsal without encryption, or gates (names only; slow)."),
    ] = "packed",
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=10, help="Rounds at most.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same tables.")] = 1,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Processes of each owner for encryption and evaluation.")
    ] = 1,
    keep: Annotated[Path | None, typer.Option("--keep", help="Folder to keep all files of all parties in.")] = None,
    web: Annotated[
        bool,
        typer.Option("--web", help="Click through it instead: every party's pages in the browser, half annotated."),
    ] = False,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="With --web: only print the links.")] = False,
    json: JsonFlag = False,
) -> None:
    """Run a whole study: two generated person tables, a coordinator and two owners as processes over HTTP, suggested
    questions.
    """
    from blindlabel.cli.demonstration import Plan, demonstrate

    if web:
        from blindlabel.cli.demo_web import demo_web

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

        document = demonstrate(Plan(records, engine, rounds, seed, workers), folder.resolve(), say, show)
        if keep is None:
            document["labels_path"] = str(_moved_out(Path(document["labels_path"])))
    if json:
        result_json(document)
    else:
        _print(document)


def _moved_out(labels: Path) -> Path:
    """The labels outlive the temporary folder, in a file of their own."""
    kept = Path(tempfile.mkdtemp(prefix="blindlabel-labels-")) / labels.name
    kept.write_bytes(labels.read_bytes())
    return kept


def _print(document: dict[str, Any]) -> None:
    from blindlabel.parties.costs import size

    result(
        f"{document['pairs']} pairs, {document['discarded']} discarded. Against the known truth: precision"
        f" {document['precision']:.3f}; recall {document['recall']:.3f} and F {document['f']:.3f} over agreed pairs,"
        f" {document['recall_strict']:.3f} and {document['f_strict']:.3f} strict."
    )
    if document["precision"] < 1:
        result(
            "The tables hold people of one household, and namesakes, whom suggested questions do not always tell apart."
        )
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in document["phases"].items())
    result(f"Time: {document['seconds']:.1f} s ({phases}).")
    moved = ", ".join(
        f"{kind} {size(count)}" for kind, count in sorted(document["bytes"].items(), key=lambda one: -one[1])
    )
    result(f"Moved: {moved}.")
    result(f"Labels: {document['labels_path']}")
