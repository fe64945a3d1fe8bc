"""`blindlabel check`: are these questions right?"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from blindlabel.cli.opening import agreement_in
from blindlabel.cli.output import JsonFlag, result, result_json, say
from blindlabel.cli.question_files import attribute_list, read_source


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Question files; - reads standard input.")],
    attributes: Annotated[
        str | None, typer.Option(help="The attributes records have, separated by commas. Without it any is taken.")
    ] = None,
    needle: Annotated[int, typer.Option(min=1, help="Longest needle that the agreement encodes.")] = 16,
    lowered: Annotated[bool, typer.Option("--lowered", help="Prepared records are in lower case.")] = False,
    agreement: Annotated[
        Path | None,
        typer.Option(help="An agreement, or an invitation: checks what it encodes, instead of the options above."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check questions: errors and warnings with line, column, and what to do. Exit code 1 when there is an error."""
    from blindlabel.language import Limits, Question, render
    from blindlabel.parties.asking import check_question

    names = attribute_list(attributes)
    limits = Limits(needle_length=needle)
    read: Callable[[str], Question] = partial(Question, attributes=names, limits=limits, lowered=lowered)
    if agreement is not None:
        read = partial(check_question, agreement_in(agreement))
    documents = []
    errors = 0
    for file in files:
        source = read_source(file)
        checked = read(source)
        errors += not checked.ok
        documents.append({"file": file, "ok": checked.ok, "diagnostics": [one.to_json() for one in checked.problems]})
        if not json:
            for one in checked.problems:
                result(render(one, source, file))
    if json:
        result_json({"ok": errors == 0, "files": documents})
    elif errors:
        say(f"{errors} of {len(files)} questions cannot be used yet.")
    else:
        say("The question is right." if len(files) == 1 else f"All {len(files)} questions are right.")
    if errors:
        raise typer.Exit(1)
