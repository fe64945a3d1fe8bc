"""`blindlabel suggest`: a question for each record of a table, from that table alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from blindlabel.cli.output import JsonFlag, answer, say
from blindlabel.cli.stores import IdColumn
from blindlabel.cli.trying import Attributes, PrepareOption, TypeOption, attribute_list, recipe_given
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.language import Question
    from blindlabel.language.chain import Chain
    from blindlabel.language.formula import Formula
    from blindlabel.language.record import Record
    from blindlabel.language.suggestions import Suggester, Suggestion
    from blindlabel.records.preparation import Recipe


def suggest(
    records: Annotated[Path, Argument(help="Your own table: CSV, JSON lines or Parquet.")],
    attributes: Attributes = None,
    row_id: Annotated[list[str] | None, Option("--id", help="Only the row with this id. Repeatable.")] = None,
    id_column: IdColumn = None,
    round: Annotated[int, Option(min=1, help="The round: 2 asks for other things, 3 for less.")] = 1,
    prepare: PrepareOption = "nfkc,collapse_space",
    types: TypeOption = None,
    criteria: Annotated[
        str, Option(help="The agreed criteria: if they speak of one person, other members of a household do not match.")
    ] = "",
    matching: Annotated[
        float | None, Option(help="The share of all pairs that match. Default: one for each row.")
    ] = None,
    variants: Annotated[bool, Option("--variants", help="Also a stricter and a looser variant of each.")] = False,
    question: Annotated[
        str | None,
        Option(help="Start from this question (a file, -, or the text), written for the row that --id names."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Suggest a question for each record: what to look for in the other table, with the reason for each condition and
    which other rows of this table it fits.

    Ids select rows and are shown; suggestions never use them. With --question: variants of your own question instead.
    """
    from blindlabel.language.suggestions import Level
    from blindlabel.records.tables import read_table

    recipe = recipe_given(prepare, types)
    table = read_table(records, id_column=id_column, attributes=attribute_list(attributes))
    rows = recipe.rows(table, table.attributes)
    suggester = _suggester(rows, table.attributes, recipe, criteria, matching)
    positions = range(len(table)) if row_id is None else [table.position(one) for one in row_id]
    own = None if question is None else _read(question, suggester, recipe, len(positions))
    judged = partial(_judged, suggester, ids=table.ids, round=round, question=own, variants=variants)
    found = [{"id": table.ids[row], **judged(rows[row])} for row in positions]
    document = {"table": str(records), "attributes": list(table.attributes), "round": round, "suggestions": found}
    answer(json, document, ["\n\n".join("\n".join(_lines(one)) for one in found)])
    say(Level().sentence)


def _suggester(
    rows: Sequence[Record], attributes: Sequence[str], recipe: Recipe, criteria: str, matching: float | None
) -> Suggester:
    from blindlabel.language.suggestions import Suggester
    from blindlabel.parties.questions import is_dated, personal_attributes

    if matching is not None and not 0 < matching < 1:
        raise InputError("--matching is a share above 0 and below 1.")
    personal = personal_attributes(criteria, attributes)
    return Suggester(
        rows,
        attributes,
        lowered=recipe.lowered,
        typed=recipe.with_one_form,
        personal=personal,
        born=is_dated(personal),
        matching=matching,
    )


def _read(given: str, suggester: Suggester, recipe: Recipe, rows: int) -> Question:
    from blindlabel.cli.trying import question_source
    from blindlabel.language import Question

    if rows != 1:
        raise InputError("--question needs exactly one --id: the row that you wrote the question for.")
    name, text = question_source(given)
    checked = Question(text, attributes=suggester.attributes, limits=suggester.limits, recipe=recipe)
    if not checked.ok:
        raise InputError(f"{name} cannot be used yet: {checked.problems[0].message}")
    return checked


def _judged(
    suggester: Suggester, record: Record, ids: Sequence[str], round: int, question: Question | None, variants: bool
) -> dict[str, Any]:
    """One row's suggestion, or a person's question about it, with variants if they are wanted."""
    points: Chain | Formula
    if question is None:
        suggestion = suggester.suggest(record, round)
        points, document = suggestion.chain, _document(suggestion, suggester, record, ids)
    else:
        points = question.chain or question.usable()
        document = {"question": question.text, **_verdict(question, suggester, record, ids)}
    if variants or question is not None:
        for name, change in (("stricter", suggester.stricter), ("looser", suggester.looser)):
            changed = change(points, record, round)
            document[name] = None if changed is None else _document(changed, suggester, record, ids)
    return document


def _document(suggestion: Suggestion, suggester: Suggester, record: Record, ids: Sequence[str]) -> dict[str, Any]:
    from blindlabel.language import Question

    read = Question(suggestion.text, attributes=suggester.attributes, limits=suggester.limits)
    judged = _verdict(read, suggester, record, ids)
    return {
        "question": suggestion.text,
        **judged,
        "why": f"{suggestion.why} {judged['why']}",
        "bar": suggestion.chain.bar,
        "total": suggestion.chain.total,
        "reasons": [asdict(reason) | {"sentence": reason.sentence} for reason in suggestion.reasons],
    }


def _verdict(question: Question, suggester: Suggester, record: Record, ids: Sequence[str]) -> dict[str, Any]:
    """What a question says in one sentence, and the verdict on it."""
    from blindlabel.language.in_words import sentence_of

    found = suggester.verdict(question, record)
    said = ("kind", "level", "headline", "detail", "chance", "weakness", "others")
    return {
        "says": "" if question.chain is None else sentence_of(question.chain, record),
        "why": f"{found.headline}. {found.detail}",
        "verdict": {
            **{name: getattr(found, name) for name in said},
            "also": [ids[row] for row in found.also],
            "missed": [one.attributes for one in found.missed],
            "passing": [one.attributes for one in found.passing],
        },
    }


def _lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"# {one['id']}: {one['why']}"
    yield f"# {one['says']}"
    for reason in one.get("reasons", []):
        worth = "but not" if not reason["points"] else f"{reason['points']:>7}"
        yield f"# {worth}  {reason['condition']}: {reason['sentence']}"
    yield one["question"].rstrip("\n")
    for name in ("stricter", "looser"):
        variant = one.get(name)
        if variant is not None:
            yield f"# {name}: {variant['why']}"
            yield variant["question"].rstrip("\n")
