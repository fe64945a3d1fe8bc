"""`blindlabel language`: the reference of the question language, in the terminal."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.errors import InputError

_OVERVIEW = """\
A question is a small program about the other side's record, which you cannot see. It looks like this:

    $r = lower($r)                                   # ignore upper and lower case
    $brand = is_in("canon", $r)
    $range = is_in("24-70", $r) | is_in("2470", $r)
    ret $brand & $range & !is_in("24-105", $r)

$r          the other record; as a text, its attributes joined with " | "
$r.title    one attribute; $r["date of birth"] where the name is no plain word
$name = …   sets a variable; it can be set again
ret …       gives the answer, yes or no; the first one reached ends the question
& | !       and, or, not
+ *         count Booleans as 0 and 1, with weights: 3*is_in("x350", $r) + is_in("sony", $r) >= 3
>= > <= < ==  compare a count with a number
"text"      with \\" \\\\ \\n \\t \\uXXXX; numbers are 3 or 0.5; also true and false
# …         a comment, to the end of the line

From tightest: ! then * then + then comparisons then & then |; use ( ) where in doubt.

Functions (blindlabel language NAME tells more):
"""


def language(
    function: Annotated[
        str | None, typer.Argument(help="A function to explain; without it, the whole language.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """The question language: an overview, or one function."""
    from blindlabel.language.diagnostics import nearest
    from blindlabel.language.functions import FUNCTIONS

    if function is not None and function not in FUNCTIONS:
        close = nearest(function, FUNCTIONS)
        raise InputError(
            f"There is no function {function}."
            + (f" Did you mean {close}?" if close else f" There are {', '.join(FUNCTIONS)}.")
        )
    chosen = [FUNCTIONS[function]] if function else list(FUNCTIONS.values())
    if json:
        result_json(
            {
                "functions": [
                    {
                        "name": one.name,
                        "signature": one.signature,
                        "result": one.result.value,
                        "summary": one.summary,
                        "details": one.details,
                        "example": one.example,
                    }
                    for one in chosen
                ]
            }
        )
        return
    if function:
        one = chosen[0]
        result(f"{one.signature}\n\n{one.summary}\n\n{textwrap.fill(one.details, 100)}\n\nExample:\n    {one.example}")
        return
    result(_OVERVIEW)
    width = max(len(one.signature) for one in chosen)
    for one in chosen:
        result(f"  {one.signature:<{width}}  {one.summary}")
