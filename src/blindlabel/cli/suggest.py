"""`blindlabel suggest`: a question for each record of a table, from that table alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blindlabel.cli.output import JsonFlag, result, result_json
from blindlabel.cli.trying import TypeOption, attribute_list, recipe_given
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.language import Question
    from blindlabel.language.chain import Chain
    from blindlabel.language.formula import Formula
    from blindlabel.language.record import Record
    from blindlabel.language.suggestions import Suggester, Suggestion, Verdict
    from blindlabel.records.preparation import Recipe


def suggest(
    records: Annotated[Path, typer.Argument(help="Your own table: CSV, JSON lines or Parquet.")],
    attributes: Annotated[
        str | None, typer.Option("--attributes", help="Columns to use, separated by commas. Default: all but the id.")
    ] = None,
    row_id: Annotated[
        list[str] | None, typer.Option("--id", help="Only the row with this id; may be given several times.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", help="The column that holds the ids; else id where there is one.")
    ] = None,
    round: Annotated[int, typer.Option("--round", min=1, help="The round: 2 asks for other things, 3 for less.")] = 1,
    prepare: Annotated[
        str | None,
        typer.Option(
            "--prepare", help="Preparation steps, separated by commas, as agreed. Default: nfkc,collapse_space."
        ),
    ] = None,
    types: TypeOption = None,
    variants: Annotated[
        bool, typer.Option("--variants", help="Also a stricter and a looser variant of each, with their verdicts.")
    ] = False,
    question: Annotated[
        str | None,
        typer.Option(
            "--question", help="Start from this question (a file, -, or the text), written for the row that --id names."
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Suggest a question for each record: what to look for in the other table, with the reason for each condition and
    which other rows of this table it fits.

    Ids choose rows and are shown, but never looked at by the suggestion. With --question: variants of your own question
    instead.
    """
    from blindlabel.language.suggestions import Suggester
    from blindlabel.records.preparation import DEFAULT_STEPS
    from blindlabel.records.tables import read_table

    chosen = attribute_list(attributes)
    recipe = recipe_given(prepare or ",".join(DEFAULT_STEPS), types)
    table = read_table(records, id_column=id_column, attributes=chosen)
    rows = recipe.rows(table, table.attributes)
    suggester = Suggester(rows, table.attributes, lowered=recipe.lowered)
    positions = range(len(table)) if row_id is None else [table.position(one) for one in row_id]
    if question is not None and len(positions) != 1:
        raise InputError("--question needs exactly one --id: the row that you wrote the question for.")
    own = None if question is None else _read(question, suggester, recipe)
    found = [
        {"id": table.ids[row], **_judged(suggester, rows[row], table.ids, round, own, variants)} for row in positions
    ]
    if json:
        result_json({"table": str(records), "attributes": list(table.attributes), "round": round, "suggestions": found})
        return
    for place, one in enumerate(found):
        if place:
            result("")
        for line in _lines(one):
            result(line)


def _read(given: str, suggester: Suggester, recipe: Recipe) -> Question:
    from blindlabel.cli.trying import question_source
    from blindlabel.language import Question

    name, text = question_source(given)
    checked = Question(text, attributes=suggester.attributes, limits=suggester.limits, recipe=recipe)
    if not checked.ok:
        raise InputError(f"{name} cannot be used yet: {checked.problems[0].message}")
    return checked


def _judged(
    suggester: Suggester, record: Record, ids: Sequence[str], round: int, question: Question | None, variants: bool
) -> dict[str, Any]:
    """One row's suggestion, or a person's question for it, with variants where they are wanted."""
    if question is None:
        suggestion = suggester.suggest(record, round)
        points: Chain | Formula = suggestion.chain
        document = _document(suggestion, ids)
    else:
        points, document = _written(question, suggester, record, ids)
    if variants or question is not None:
        for name, change in (("stricter", suggester.stricter), ("looser", suggester.looser)):
            changed = change(points, record, round)
            document[name] = None if changed is None else _document(changed, ids)
    return document


def _written(
    question: Question, suggester: Suggester, record: Record, ids: Sequence[str]
) -> tuple[Chain | Formula, dict[str, Any]]:
    """A person's own question and its verdict."""
    formula = question.usable()
    verdict = suggester.verdict(formula, record)
    return question.chain or formula, {
        "question": question.text,
        "why": verdict.sentence,
        "verdict": _verdict(verdict, ids),
    }


def _document(suggestion: Suggestion, ids: Sequence[str]) -> dict[str, Any]:
    return {
        "question": suggestion.text,
        "why": suggestion.why,
        "bar": suggestion.chain.bar,
        "total": suggestion.chain.total,
        "reasons": [asdict(reason) | {"sentence": reason.sentence} for reason in suggestion.reasons],
        "verdict": _verdict(suggestion.verdict, ids),
    }


def _verdict(verdict: Verdict, ids: Sequence[str]) -> dict[str, Any]:
    return asdict(verdict) | {"also": [ids[row] for row in verdict.also], "sentence": verdict.sentence}


def _lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"# {one['id']}: {one['why']}"
    for reason in one.get("reasons", []):
        worth = "but not" if not reason["points"] else f"{reason['points']:>7}"
        yield f"# {worth}  {reason['condition']}: {reason['sentence']}"
    yield one["question"].rstrip("\n")
    for name in ("stricter", "looser"):
        variant = one.get(name)
        if variant is not None:
            yield f"# {name}: {variant['why']}"
            yield variant["question"].rstrip("\n")
