"""`blindlabel explain`: what the packed engine makes of a question and what a round with such questions costs; or of an
agreement, what each party can learn under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blindlabel.cli.output import JsonFlag, result, result_json, say
from blindlabel.cli.question_files import attribute_list, question_source
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.engines.interface import Explained


def explain(
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION", help="A question, a file that holds one, - for standard input; or an agreement (.toml)."
        ),
    ],
    attributes: Annotated[str | None, typer.Option(help="The attributes records have, separated by commas.")] = None,
    records: Annotated[int, typer.Option(min=1, help="Records, and questions, of a round.")] = 50,
    length: Annotated[int, typer.Option(min=1, help="Longest record.")] = 148,
    json: JsonFlag = False,
) -> None:
    """Print the plan of a question on the packed engine: predicates, places, noise, time and bytes. Of an agreement: in
    bits, what each party, and two together, can learn at most.
    """
    from blindlabel.engines.interface import EngineError, Terms
    from blindlabel.engines.registry import rules_named
    from blindlabel.language import Question, render
    from blindlabel.language.formula import atoms_of

    if question.endswith(".toml"):
        _explain_agreement(Path(question), json=json)
        return
    name, source = question_source(question)
    checked = Question(source, attributes=attribute_list(attributes))
    if checked.formula is None:
        for one in checked.problems:
            say(render(one, source, name))
        raise InputError("The question has errors, so there is no plan.")
    named = attribute_list(attributes) or list(
        dict.fromkeys(a.view.attribute for a in atoms_of(checked.formula) if a.view.attribute)
    )
    try:
        terms = Terms(
            tuple(named),
            records=records,
            record_length=length,
            functions=tuple(dict.fromkeys((*Terms(()).functions, *(a.function for a in atoms_of(checked.formula))))),
        )
        refused = rules_named("packed").refuse(terms, checked.formula)
        if refused is not None:
            raise InputError(refused)
        plan = rules_named("packed").explain(terms, checked.formula)
    except EngineError as problem:
        raise InputError(str(problem)) from problem
    assert plan is not None
    if json:
        result_json(asdict(plan))
        return
    for line in _lines(plan):
        result(line)


def _lines(plan: Explained) -> Iterator[str]:
    """A plan as a person reads it."""
    yield f"parameters: {plan.parameters}"
    yield from (f"predicate {number}: {what}" for number, what in enumerate(plan.predicates))
    yield from plan.places
    yield f"a label is wrong with probability {plan.wrong:.1g} at most"
    sizes = ", ".join(f"{what} {count / 1e6:,.1f} MB" for what, count in plan.bytes.items())
    yield f"a round of such questions: about {plan.seconds:,.1f} s of one core; {sizes}"


def _explain_agreement(file: Path, *, json: bool) -> None:
    from blindlabel.cli.opening import read_agreement
    from blindlabel.parties.accounting import account_of

    account = account_of(read_agreement(file))
    if json:
        result_json(account.to_json())
        return
    for line in account.lines():
        result(line)
