"""`blindlabel try`: one question on some records, with any engine, all on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from blindlabel.cli.output import JsonFlag, phases, progress_bar, result, result_json, say
from blindlabel.cli.question_files import attribute_list, listed, question_source
from blindlabel.errors import InputError


def try_(
    question: Annotated[
        str, typer.Argument(help="A question file, - for standard input, or the question itself in quotes.")
    ],
    records: Annotated[str, typer.Argument(help="A table: CSV, JSON lines or Parquet.")],
    engine: Annotated[
        str, typer.Option(help="plain, packed, or another that is installed. All but plain encrypt and open here.")
    ] = "plain",
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column that identifies a record; else `id`, else the row position.")
    ] = None,
    attributes: Annotated[
        str | None, typer.Option(help="The columns a question may use, separated by commas; else all but the id.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Of a text table that is not UTF-8.")] = None,
    prepare: Annotated[str, typer.Option(help="Text preparation, separated by commas, for example nfkc,lower.")] = "",
    workers: Annotated[int, typer.Option(min=1, help="Processes to use.")] = 1,
    json: JsonFlag = False,
) -> None:
    """Try a question on records: one answer a record."""
    from blindlabel.engines.ask import ask
    from blindlabel.engines.interface import Working
    from blindlabel.engines.registry import engine_named
    from blindlabel.language import Question, render
    from blindlabel.records.preparation import check_steps, gives_lower_case, prepare_rows
    from blindlabel.records.tables import read_table

    chosen = engine_named(engine)
    steps = check_steps(listed(prepare, "--prepare"))
    name, source = question_source(question)
    table = read_table(records, id_column=id_column, attributes=attribute_list(attributes), encoding=encoding)
    lowered = gives_lower_case(steps)
    checked = Question(source, attributes=table.attributes, lowered=lowered)
    for one in checked.problems:
        say(render(one, source, name))
    if checked.formula is None:
        raise InputError("The question cannot be used yet; see above.")
    prepared = prepare_rows(table, table.attributes, steps)
    with progress_bar() as bar:
        working = Working(workers, phases(bar))
        answers = ask(chosen, [checked.formula], prepared, table.attributes, lowered=lowered, working=working)[0]
    if json:
        pairs = [{"id": own, "answer": bool(answer)} for own, answer in zip(table.ids, answers, strict=True)]
        result_json({"engine": engine, "answers": pairs})
        return
    width = max(len(own) for own in table.ids)
    for own, answer, record in zip(table.ids, answers, prepared, strict=True):
        result(f"{'yes' if answer else 'no ':<3}  {own:<{width}}  {_brief(record.whole)}")
    say(f"{int(answers.sum())} of {len(table)} records: yes ({engine} engine).")


def _brief(text: str) -> str:
    shown = "".join(character if character.isprintable() else " " for character in text[:81])
    return shown if len(shown) <= 80 else shown[:79] + "…"
