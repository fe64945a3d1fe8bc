"""`blindlabel.suggest` and `blindlabel.ask`: questions for a table, and their answers on another one."""

from __future__ import annotations

from collections.abc import Sequence

from blindlabel.api.tables import Source, read_table
from blindlabel.engines import ask as engine_ask
from blindlabel.engines.interface import Answers, Progress, Working
from blindlabel.engines.registry import engine_named
from blindlabel.language import Question
from blindlabel.language.suggestions import Suggester
from blindlabel.records.preparation import DEFAULT_STEPS, check_steps, gives_lower_case, prepare_rows


def suggest(table: Source, *, round: int = 1, prepare: Sequence[str] = DEFAULT_STEPS) -> list[Question]:
    """A question for each row: what to look for in the other table, from this table alone.

    Round 2 asks for other things, later ones for less of the first. `prepare` are the steps of text preparation, as in
    an agreement. `why` of a question says why it was suggested.
    """
    table, steps = read_table(table), check_steps(prepare)
    lowered = gives_lower_case(steps)
    rows = prepare_rows(table, table.attributes, steps)
    suggester = Suggester(rows, table.attributes, lowered=lowered)
    made = (suggester.suggest(row, round) for row in rows)
    return [Question(one.text, table.attributes, lowered=lowered, why=one.why) for one in made]


def ask(
    questions: Question | str | Sequence[Question | str],
    records: Source,
    engine: str = "packed",
    *,
    prepare: Sequence[str] = DEFAULT_STEPS,
    workers: int = 1,
    progress: Progress | None = None,
) -> Answers:
    """The answers of all questions about all records: a matrix of Booleans, one row a question, one column a record.

    Keys, encryption, evaluation and decryption are those of a study, but all in this process: it shows what the engine
    answers and protects nothing. `InputError` where a question has an error or cannot be asked.
    """
    table, steps = read_table(records), check_steps(prepare)
    lowered = gives_lower_case(steps)
    asked = [questions] if isinstance(questions, (str, Question)) else questions
    read = [Question(one, table.attributes, lowered=lowered) if isinstance(one, str) else one for one in asked]
    return engine_ask.ask(
        engine_named(engine),
        [question.usable() for question in read],
        prepare_rows(table, table.attributes, steps),
        table.attributes,
        lowered=lowered,
        working=Working(workers, progress),
    )
