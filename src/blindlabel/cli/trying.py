"""`blindlabel check`, `try` and `explain`: are these questions right, what do they answer on some records, and what
does the packed engine make of them; or, for an agreement, what each party can learn under it. Questions are read from a
file, from standard input (`-`), or given as text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, Phases, answer, progress_bar, result, result_json, say
from blindlabel.cli.stores import IdColumn, TextEncoding, agreement_in, read_agreement
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.engines.interface import Explained
    from blindlabel.language import Question
    from blindlabel.protocol.agreement import Agreement
    from blindlabel.records.preparation import Recipe

PrepareOption = Annotated[str, Option(help="Text preparation, separated by commas, for example nfkc,lower.")]
Attributes = Annotated[str | None, Option(help="The attributes of the records, separated by commas. Default: all.")]
AgreementFile = Annotated[Path | None, Option(help="An agreement, or an invitation. Default: a default agreement.")]
TypeOption = Annotated[
    list[str] | None,
    Option("--type", help="attribute=type: name, telephone, date, year, number, code or text. Repeatable."),
]


def read_source(name: str) -> str:
    """The text of a question file; `-` is standard input."""
    from blindlabel.parties.question_folders import question_in, question_text

    return question_in(sys.stdin.buffer, name) if name == "-" else question_text(Path(name))


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # a question may be longer than any file name can be
        return False


def question_source(argument: str) -> tuple[str, str]:
    """A question given on the command line, as (name to show, source): a file, `-`, or the question itself."""
    looks_like_source = "\n" in argument or " " in argument.strip() or argument.strip().startswith(("ret", "$", "#"))
    if argument == "-" or not looks_like_source or _exists(argument):
        return argument, read_source(argument)
    return "question", argument


def listed(text: str, option: str) -> list[str]:
    """The names in an option that takes several, separated by commas; an empty one has none."""
    names = [name.strip() for name in text.split(",")] if text.strip() else []
    if not all(names):
        raise InputError(f"{option} has an empty name in {text!r}.")
    return names


def recipe_given(prepare: str, types: list[str] | None) -> Recipe:
    """What --prepare and --type say. Without either, texts stay as they are."""
    from blindlabel.records.preparation import Recipe

    return Recipe.of(listed(prepare, "--prepare"), types_given(types))


def types_given(types: list[str] | None) -> dict[str, str]:
    """What --type says: attribute to type."""
    pairs = [one.partition("=") for one in types or []]
    if any(not attribute or not name for attribute, _, name in pairs):
        raise InputError("--type takes attribute=type, for instance phone=telephone.")
    return {attribute: name for attribute, _, name in pairs}


def attribute_list(given: str | None) -> list[str] | None:
    """The attributes that --attributes names, or None if it is not given."""
    if given is None:
        return None
    names = listed(given, "--attributes")
    if not names:
        raise InputError("--attributes names no attribute; give them separated by commas.")
    return names


def check(
    files: Annotated[list[str], Argument(metavar="FILE...", help="Question files; - reads standard input.")],
    attributes: Attributes = None,
    prepare: PrepareOption = "",
    types: TypeOption = None,
    agreement: AgreementFile = None,
    json: JsonFlag = False,
) -> None:
    """Check questions: errors and warnings with line, column, and what to do. The exit code is 1 if there is an
    error.
    """
    from blindlabel.language import render
    from blindlabel.parties.questions import check_by_default, check_question

    names, recipe = attribute_list(attributes), recipe_given(prepare, types)
    read: Callable[[str], Question] = partial(check_by_default, attributes=names, recipe=recipe)
    if agreement is not None:
        read = partial(check_question, agreement_in(agreement))
    documents, errors = [], 0
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


def try_(
    question: Annotated[str, Argument(help="A question file, - for standard input, or the question itself in quotes.")],
    records: Annotated[str, Argument(help="A table: CSV, JSON lines or Parquet.")],
    engine: Annotated[
        str, Option(help="plain, packed, or another that is installed. All but plain encrypt and open here.")
    ] = "plain",
    id_column: IdColumn = None,
    attributes: Attributes = None,
    encoding: TextEncoding = None,
    prepare: PrepareOption = "",
    types: TypeOption = None,
    workers: Annotated[int, Option(min=1, help="Processes to use.")] = 1,
    agreement: AgreementFile = None,
    json: JsonFlag = False,
) -> None:
    """Try a question on records: one answer per record. What a study would refuse is refused here, too."""
    from blindlabel.engines.ask import ask
    from blindlabel.engines.interface import Working
    from blindlabel.engines.registry import engine_named
    from blindlabel.records.tables import read_table

    if agreement is not None and (attributes is not None or prepare or types):
        raise InputError("The agreement says which attributes there are and how they are prepared; leave that out.")
    chosen, agreed = engine_named(engine), None if agreement is None else agreement_in(agreement)
    recipe = recipe_given(prepare, types) if agreed is None else agreed.recipe
    named = attribute_list(attributes) if agreed is None else list(agreed.attributes)
    name, source = question_source(question)
    table = read_table(records, id_column=id_column, attributes=named, encoding=encoding)
    asked = _usable(name, source, agreed, table.attributes, recipe).usable()
    prepared = recipe.rows(table, table.attributes)
    with progress_bar() as bar:
        working = Working(workers, Phases(bar, together=True).show)
        answers = ask(chosen, [asked], prepared, table.attributes, lowered=recipe.lowered, working=working)[0]
    pairs = [{"id": own, "answer": bool(yes)} for own, yes in zip(table.ids, answers, strict=True)]
    width = max(len(own) for own in table.ids)
    shown = (
        f"{'yes' if yes else 'no ':<3}  {own:<{width}}  {_brief(record.whole)}"
        for own, yes, record in zip(table.ids, answers, prepared, strict=True)
    )
    answer(json, {"engine": engine, "answers": pairs}, shown)
    say(f"{int(answers.sum())} of {len(table)} records: yes ({engine} engine).")


def _usable(
    name: str, source: str, agreed: Agreement | None, attributes: Sequence[str] | None, recipe: Recipe | None = None
) -> Question:
    """A question that can be asked under an agreement, or under a default one; its problems are said."""
    from blindlabel.language import render
    from blindlabel.parties.questions import check_by_default, check_question

    checked = check_by_default(source, attributes, recipe=recipe) if agreed is None else check_question(agreed, source)
    for one in checked.problems:
        say(render(one, source, name))
    if not checked.ok:
        raise InputError("The question cannot be used yet; see above.")
    return checked


def _brief(text: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in text[:81])
    return shown if len(shown) <= 80 else shown[:79] + "…"


def explain(
    question: Annotated[
        str, Argument(help="A question, a file that holds one, - for standard input; or an agreement (.toml).")
    ],
    attributes: Attributes = None,
    records: Annotated[int, Option(min=1, help="Records, and questions, of a round.")] = 50,
    length: Annotated[int, Option(min=1, help="Longest record.")] = 148,
    agreement: AgreementFile = None,
    json: JsonFlag = False,
) -> None:
    """Print what a question asks, as points, but not, unless; what the packed engine makes of it; and what a round of
    such questions costs. For an agreement: how many bits each party, and two together, can learn at most.
    """
    from blindlabel.engines.interface import EngineError
    from blindlabel.engines.registry import rules_named
    from blindlabel.language import Limits
    from blindlabel.parties.accounting import account_of
    from blindlabel.parties.questions import terms_by_default

    if question.endswith(".toml"):
        account = account_of(read_agreement(Path(question)))
        answer(json, account.to_json(), account.lines())
        return
    name, source = question_source(question)
    agreed = None if agreement is None else agreement_in(agreement)
    checked = _usable(name, source, agreed, attribute_list(attributes))
    asked = checked.usable()
    try:
        if agreed is None:
            engine, terms = "packed", terms_by_default(checked, Limits(), records=records, record_length=length)
        else:
            engine, terms = agreed.encoding.engine, agreed.terms()
        plan = rules_named(engine).explain(terms, asked)
    except EngineError as problem:
        raise InputError(str(problem)) from problem
    document = {"asks": checked.explain(), "plan": None if plan is None else asdict(plan)}
    answer(json, document, [checked.explain(), *(() if plan is None else _lines(plan))])


def _lines(plan: Explained) -> Iterator[str]:
    """A plan as a person reads it."""
    yield ""
    yield f"parameters: {plan.parameters}"
    yield from (f"predicate {number}: {what}" for number, what in enumerate(plan.predicates))
    yield from plan.places
    yield f"a label is wrong with probability {ceil(plan.wrong * 1e8) / 1e8:.2g} at most"
    sizes = ", ".join(f"{what} {count / 1e6:,.1f} MB" for what, count in plan.bytes.items())
    yield f"a round of such questions: about {plan.seconds:,.1f} s of one core; {sizes}"
