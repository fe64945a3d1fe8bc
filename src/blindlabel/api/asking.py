"""`blindlabel.read_table`, `suggest`, `ask` and `rehearse`: tables from wherever they are, questions for a table, their
answers on another table, and a whole study of two tables in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Union

from blindlabel.api.ground_truth import GroundTruth
from blindlabel.engines import ask as engine_ask
from blindlabel.engines.interface import AnswerMatrix, Progress, Working
from blindlabel.engines.registry import engine_named
from blindlabel.errors import InputError
from blindlabel.language import Question, Record
from blindlabel.language.formula import Formula
from blindlabel.language.suggestions import Suggester
from blindlabel.parties import rehearsal
from blindlabel.protocol.labels import MOST_ROUNDS
from blindlabel.records import tables
from blindlabel.records.preparation import DEFAULT_STEPS, Recipe
from blindlabel.records.tables import Dictionaries, Frame, Table, table_of

Source = Union[Table, str, Path, Frame, Dictionaries]
"""Anything that a table can be read from."""


def read_table(
    source: Source,
    *,
    id_column: str | None = None,
    attributes: Sequence[str] | Mapping[str, str] | None = None,
    encoding: str | None = None,
    name: str | None = None,
) -> Table:
    """Read a table: a file (CSV, JSON lines, Parquet), a frame of pandas or polars, or a list of dictionaries.

    `id_column` names the column that identifies a row (default: `id` if there is one, else the row's position);
    `attributes` chooses columns, and renames them where it is a mapping of name to column; `encoding` is that of a
    text file that is not UTF-8. Every value becomes text. A table that has been read already is returned as it is.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return tables.read_table(source, id_column=id_column, attributes=attributes, encoding=encoding, name=name)
    return table_of(source, id_column=id_column, attributes=attributes, name=name)


def suggest(
    table: Source,
    *,
    rows: Sequence[int] | None = None,
    ids: Sequence[str] | None = None,
    round: int = 1,
    matching: float | None = None,
    prepare: Sequence[str] = DEFAULT_STEPS,
    types: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> list[Question]:
    """A question for each row: what to look for in the other table, from this table alone.

    `rows` (positions) or `ids` name the rows that are asked about (default: all); the whole table is looked at either
    way. Round 2 asks for other things, later rounds for less of what round 1 asked. `matching` is the share of all
    pairs that you expect to match: the smaller it is, the more a question asks for. The default is that of whole tables
    in which each row has one partner. `prepare` are the steps of text preparation and `types` the types of attributes,
    as in an agreement. `progress` is called with the share of rows that are done. A question's `why` says why it was
    suggested.
    """
    table, recipe = read_table(table), Recipe.of(prepare, types)
    if rows is not None and ids is not None:
        raise InputError("Name the rows to suggest for by their positions or by their ids, not by both.")
    if matching is not None and not 0 < matching < 1:
        raise InputError("The share of pairs that match is above 0 and below 1.")
    chosen = range(len(table)) if rows is None else rows
    chosen = chosen if ids is None else [table.position(one) for one in ids]
    for row in chosen:
        table.row(row)
    whole = recipe.rows(table, table.attributes)
    suggester = Suggester(whole, table.attributes, lowered=recipe.lowered, matching=matching)
    made = []
    for done, row in enumerate(chosen, 1):
        one = suggester.suggest(whole[row], round)
        made.append(Question(one.text, table.attributes, recipe=recipe, why=one.why))
        if progress is not None:
            progress("suggestions", done / len(chosen))
    return made


def ask(
    questions: Question | str | Sequence[Question | str],
    records: Source,
    engine: str = "packed",
    *,
    prepare: Sequence[str] = DEFAULT_STEPS,
    types: Mapping[str, str] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> AnswerMatrix:
    """The answers of all questions about all records: a matrix of Booleans, one row per question, one column per
    record.

    Keys, encryption, evaluation and decryption are those of a study, but all in this process: it shows what the engine
    answers and protects nothing. `InputError` if a question has an error or cannot be asked.
    """
    table, recipe = read_table(records), Recipe.of(prepare, types)
    asked = [questions] if isinstance(questions, (str, Question)) else questions
    read = [Question(one, table.attributes, recipe=recipe) if isinstance(one, str) else one for one in asked]
    return engine_ask.ask(
        engine_named(engine),
        [question.usable() for question in read],
        recipe.rows(table, table.attributes),
        table.attributes,
        lowered=recipe.lowered,
        working=Working(workers, progress),
    )


Writer = Callable[[Record, int], "Question | str"]
"""Writes the question about a record of its own table, in a round counted from 1."""


def rehearse(
    a: Source,
    b: Source,
    rounds: int = 3,
    *,
    engine: str = "plain",
    writers: tuple[Writer, Writer] | None = None,
    rows: tuple[Sequence[int], Sequence[int]] | None = None,
    prepare: Sequence[str] = DEFAULT_STEPS,
    types: Mapping[str, str] | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> GroundTruth:
    """A whole study in this process: both owners ask about all records of the other, round by round, by the rules of
    the protocol.

    `writers` write the questions of the two owners; without them every question is suggested from its owner's table.
    `rows` are the positions of the rows that take part (default: all); suggestions look at the whole table either way.
    Attributes that only one of the tables has are left out. It protects nothing, since both tables are here.
    """
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InputError(f"A study has 1 to {MOST_ROUNDS} rounds.")
    recipe = Recipe.of(prepare, types)
    first, second = read_table(a), read_table(b)
    attributes = [name for name in first.attributes if name in second.attributes]
    if not attributes:
        raise InputError("The two tables have no attribute in common.")
    whole = recipe.rows(first, attributes), recipe.rows(second, attributes)
    chosen = (range(len(first)), range(len(second))) if rows is None else rows
    _check_rows(first, chosen[0])
    _check_rows(second, chosen[1])
    records = [whole[0][i] for i in chosen[0]], [whole[1][j] for j in chosen[1]]
    given = writers or (_suggesting(whole[0], attributes, recipe), _suggesting(whole[1], attributes, recipe))
    experts = _reading(given[0], attributes, recipe), _reading(given[1], attributes, recipe)

    def through_engine(_side: int, questions: Sequence[Formula], others: Sequence[Record]) -> AnswerMatrix:
        chosen, how = engine_named(engine), Working(workers, progress)
        return engine_ask.ask(chosen, questions, others, attributes, lowered=recipe.lowered, working=how)

    done = rehearsal.rehearse(records, experts, rehearsal.in_clear if engine == "plain" else through_engine, rounds)
    names = (first.name, second.name) if first.name != second.name else (f"{first.name}_a", f"{second.name}_b")
    ids = dict(enumerate(first.ids)), dict(enumerate(second.ids))
    return GroundTruth.of_matrix(names, done.labels[-1], chosen, ids)


def _check_rows(table: Table, rows: Sequence[int]) -> None:
    for row in rows:
        table.row(row)
    if not rows:
        raise InputError(f"No row of {table.name} takes part.")


def _suggesting(records: Sequence[Record], attributes: Sequence[str], recipe: Recipe) -> Writer:
    suggester = Suggester(records, attributes, lowered=recipe.lowered)
    asked: dict[int, list[str]] = {}

    def write(record: Record, round: int) -> str:
        before = asked.setdefault(id(record), [])
        before.append(suggester.suggest(record, round, before).text)
        return before[-1]

    return write


def _reading(writer: Writer, attributes: Sequence[str], recipe: Recipe) -> rehearsal.Expert:
    def expert(record: Record, round: int) -> Question:
        written = writer(record, round)
        return Question(written, attributes, recipe=recipe) if isinstance(written, str) else written

    return expert
