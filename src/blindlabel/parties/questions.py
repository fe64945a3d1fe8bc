"""Questions at an owner: read and checked once, under one study's agreement; and where those of a round come from if
nobody writes them in the web app: a folder of files, or suggestions from the owner's whole table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from blindlabel.engines.interface import Terms
from blindlabel.engines.registry import rules_named
from blindlabel.errors import InputError
from blindlabel.language import Question, render
from blindlabel.language.diagnostics import error, warning
from blindlabel.language.formula import atoms_of
from blindlabel.language.limits import DEFAULT_FUNCTIONS, Limits
from blindlabel.language.record import Record
from blindlabel.language.suggestions import Suggester
from blindlabel.parties.joining import own_table
from blindlabel.parties.question_folders import files_of_round, is_exported, question_text, read_folder
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import BULK, SUGGESTED, OwnRecord, Questions, Store, Task
from blindlabel.records.preparation import Recipe


def check_question(agreement: Agreement, text: str) -> Question:
    """Read a question under an agreement: what is wrong with it, or a formula that the study's engine can answer."""
    terms = agreement.terms()
    checked = _read(text, terms.attributes, terms.limits, agreement.recipe)
    if checked.formula is None:
        return checked
    refused = rules_named(agreement.encoding.engine).refuse(terms, checked.formula)
    if refused is None:
        return checked
    return checked.refused(error("not-encoded", refused, checked.tree.statements[-1].span))


def check_by_default(
    text: str, attributes: Sequence[str] | None = None, limits: Limits | None = None, *, recipe: Recipe | None = None
) -> Question:
    """Read a question without an agreement, with the room that a default agreement gives. A function that such an
    agreement does not encode is accepted, with a warning.
    """
    limits = limits or Limits()
    checked = Question(text, attributes=attributes, limits=limits, recipe=recipe)
    if checked.formula is None:
        return checked
    place = checked.tree.statements[-1].span
    refused = rules_named("packed").refuse(terms_by_default(checked, limits), checked.formula)
    if refused is not None:
        return checked.refused(error("no-room", refused, place))
    asked = dict.fromkeys(atom.function for atom in atoms_of(checked.formula))
    for name in (name for name in asked if name not in DEFAULT_FUNCTIONS):
        message = f"A default agreement does not encode {name}."
        hint = f"Agree on {name} under encoding.functions."
        checked = checked.warned(warning("not-by-default", message, place, hint))
    return checked


def terms_by_default(checked: Question, limits: Limits, **other: Any) -> Terms:
    """The terms of a default agreement under which a question can be asked, as far as it has room."""
    assert checked.formula is not None
    asked = atoms_of(checked.formula)
    named = checked.attributes or dict.fromkeys(one.view.attribute for one in asked if one.view.attribute is not None)
    functions = dict.fromkeys((*DEFAULT_FUNCTIONS, *(one.function for one in asked)))
    case = "lower" if checked.lowered else "both"
    return Terms(tuple(named), limits=limits, case=case, functions=tuple(functions), **other)


@lru_cache(maxsize=4096)
def _read(text: str, attributes: tuple[str, ...], limits: Limits, recipe: Recipe) -> Question:
    """Read a question once: a process that saves it and then asks it, or asks several owners, finds it in the cache."""
    return Question(text, attributes=attributes, limits=limits, recipe=recipe)


def save_question(store: Questions, record: int, text: str, source: str = "person", author: str = "") -> Question:
    """Keep a text, and make it the record's question if it has no error."""
    checked = check_question(store.agreement, text)
    if checked.ok:
        store.save_questions({record: text}, source, author)
    else:
        store.save_draft(record, text)
    return checked


def prepared_rows(store: Store) -> list[Record]:
    """The owner's whole table, prepared as the agreement says."""
    return store.agreement.recipe.rows(own_table(store), store.agreement.attributes)


def suggester_for(store: Store, rows: Sequence[Record] | None = None) -> Suggester:
    """What suggests questions to this owner: it knows the owner's table (read here unless given) and the agreement,
    nothing else.
    """
    agreement = store.agreement
    terms = agreement.terms()
    rows = prepared_rows(store) if rows is None else rows
    personal = personal_attributes(agreement.criteria, agreement.attributes)
    return Suggester(
        rows,
        agreement.attributes,
        limits=terms.limits,
        lowered=terms.case == "lower",
        functions=terms.functions,
        exclusions=terms.exclusions,
        places=terms.profile,
        whole=terms.encode_whole,
        single_attributes=terms.encode_attributes,
        most_others=_most_others(agreement, len(rows)),
        typed=agreement.recipe.with_one_form,
        personal=personal,
        born=is_dated(personal),
        matching=agreement.sampling.matching(len(rows)),
    )


_ONE_PERSON = re.compile(r"\b(person|patient|individual|people)s?\b", re.IGNORECASE)
_BORN = "birth|born|dob"
_OWN = re.compile(f"(given|first|fore).?name|{_BORN}|^(sex|gender|age)$", re.IGNORECASE)


def personal_attributes(criteria: str, attributes: Sequence[str]) -> list[str]:
    """The attributes that members of a household do not share, if the criteria speak of one person."""
    return [name for name in attributes if _OWN.search(name)] if _ONE_PERSON.search(criteria) else []


def is_dated(personal: Sequence[str]) -> bool:
    """Whether a date of birth is among these attributes."""
    return any(re.search(_BORN, name, re.IGNORECASE) for name in personal)


def _most_others(agreement: Agreement, rows: int) -> float:
    """How many other rows of the table a question may fit. The same share of the other owner's sample is expected to
    fit, and half of what is too loose there is enough.
    """
    return max(1.0, agreement.budget.most_yes * rows / (2 * agreement.sampling.records))


Look = Callable[[Mapping[int, str]], None]
"""Looks at questions, by record, before they are handed in for good; it may refuse them with an `InputError`."""


class QuestionSource(Protocol):
    """Provides the questions of the current round."""

    def provide(self, store: Store) -> str | None:
        """Save all questions of the current round and hand it in, or return a sentence about what is missing."""


def open_tasks(store: Store) -> list[Task]:
    """The records of the current round, unless it is handed in or still has to carry over questions; then empty."""
    state = store.state()
    if state.truth is not None or not state.rounds or state.rounds[-1].handed_in or not store.records():
        return []
    if state.is_to_carry:
        return []
    return store.tasks()


_MOST_NAMED = 20
"""Records that a sentence lists."""


class FolderQuestions:
    """Files `<id>.question` or `<position>.question`: those of the first round in the folder itself, those of a later
    round n in its folder `round-n`. A question that was asked earlier is never asked again unless it is there.
    """

    def __init__(self, folder: Path, look: Look = lambda _: None) -> None:
        if not folder.is_dir():
            raise InputError(f"{folder} is not a folder.")
        self._folder = folder
        self._look = look

    def provide(self, store: Store) -> str | None:
        """Save all questions of the current round and hand it in; an `InputError` lists the missing files."""
        tasks = open_tasks(store)
        if not tasks:
            return None
        records, paths = store.records(), _paths(store, self._folder, tasks)
        texts = {record: _checked(store, path) for record, path in paths.items()}
        if missing := [task.record for task in tasks if task.record not in paths and task.back != "kept"]:
            raise InputError(self._needed(tasks[0].round, len(tasks), [records[one] for one in missing]))
        self._look(texts)
        _save(store, self._folder, texts)
        store.hand_in()
        return None

    def _needed(self, round: int, asked: int, missing: Sequence[OwnRecord]) -> str:
        where = self._folder if round == 1 else self._folder / f"round-{round}"
        named = ", ".join(f"{own.id}.question (row {own.position + 1})" for own in missing[:_MOST_NAMED])
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        before = " The questions of earlier rounds are not asked again by themselves." if round > 1 else ""
        return (
            f"Round {round} asks about {asked:,} records, and {where} has no question for {len(missing):,} of them:"
            f" {named}{more}.{before} Write these files and run again."
        )


@dataclass(frozen=True)
class TakenIn:
    """What a folder brought to the current round. Records are named by their ids."""

    round: int
    saved: int
    drafts: Mapping[str, str]
    """Records whose question has an error, with what is wrong."""
    missing: tuple[str, ...]
    """Records of the round without a file."""
    unknown: tuple[str, ...]
    """Files about no record of the round."""


def take_in_folder(store: Store, folder: Path) -> TakenIn:
    """Save the questions that a folder has for the current round, as drafts where they have an error."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder.")
    tasks, records = open_tasks(store), store.records()
    if not tasks:
        raise InputError("There is no round to write questions for: none is open.")
    paths = _paths(store, folder, tasks)
    texts = {record: question_text(path) for record, path in paths.items()}
    right = {record: text for record, text in texts.items() if check_question(store.agreement, text).ok}
    _save(store, folder, right)
    for record in texts.keys() - right.keys():
        store.save_draft(record, texts[record])
    return TakenIn(
        tasks[0].round,
        len(right),
        {records[one].id: _wrong_with(store, text) for one, text in texts.items() if one not in right},
        tuple(records[task.record].id for task in tasks if task.record not in paths),
        tuple(sorted(path.name for path in {*files_of_round(folder, tasks[0].round).values()} - {*paths.values()})),
    )


def _wrong_with(store: Store, text: str) -> str:
    problem = check_question(store.agreement, text).problems[0]
    return f"line {problem.span.line}: {problem.message}"


def _paths(store: Store, folder: Path, tasks: Sequence[Task]) -> dict[int, Path]:
    """The file of each record of a round that has one, named by the record's id or position."""
    files, records = files_of_round(folder, tasks[0].round), store.records()
    asked = [records[one.record] for one in tasks]
    named = {own.record: files.get(own.id) or files.get(str(own.position)) for own in asked}
    return {record: path for record, path in named.items() if path is not None}


def _save(store: Store, folder: Path, texts: Mapping[int, str]) -> None:
    """Save the questions of the current round with the source and author that an exported folder names."""
    listed = read_folder(folder).questions if is_exported(folder) else ()
    known = {(one.position, one.text): (one.source or BULK, one.author) for one in listed}
    positions = {own.record: own.position for own in store.records()}
    together: dict[tuple[str, str], dict[int, str]] = {}
    for record, text in texts.items():
        together.setdefault(known.get((positions[record], text), (BULK, "")), {})[record] = text
    for (source, author), some in together.items():
        store.save_questions(some, source, author)


def _checked(store: Store, path: Path) -> str:
    text = question_text(path)
    checked = check_question(store.agreement, text)
    if not checked.ok:
        found = "\n".join(render(diagnostic, text, str(path)) for diagnostic in checked.problems)
        raise InputError(f"The question in {path.name} cannot be used:\n{found}")
    return text


def suggested(store: Store, suggester: Suggester, tasks: Iterable[Task]) -> dict[int, str]:
    """A suggested question for each of these, by record."""
    records, texts = store.records(), {}
    for task in tasks:
        previous = [text for _, text in task.previous]
        own = records[task.record]
        texts[task.record] = suggester.suggest(own.prepared, task.round, previous, loose=task.back == "loose").text
        if not (checked := check_question(store.agreement, texts[task.record])).ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.problems[0].message}")
    return texts


class SuggestedQuestions:
    """Suggests a question for every record that has no saved one; with `replace`, for every record."""

    def __init__(self, *, replace: bool = False, look: Look = lambda _: None) -> None:
        self._suggester: Suggester | None = None
        self._replace = replace
        self._look = look

    def provide(self, store: Store) -> str | None:
        """Save the missing questions of the current round and hand it in, unless somebody has begun to write something
        that is neither saved nor discarded.
        """
        if not open_tasks(store):
            return None
        tasks = [task for task in open_tasks(store) if task.question is None or (self._replace and task.back != "kept")]
        begun = [store.records()[task.record].id for task in tasks if task.draft] if not self._replace else []
        if begun:
            return (
                f"Somebody has begun to write {len(begun):,} questions that are not saved: {', '.join(begun[:10])}."
                " They are left alone. Save or discard them in the web app, or let --replace write all questions anew."
            )
        if not self._replace:
            self._look({task.record: task.question for task in open_tasks(store) if task.question is not None})
        if self._suggester is None:
            self._suggester = suggester_for(store)
        store.save_questions(suggested(store, self._suggester, tasks), SUGGESTED)
        store.hand_in()
        return None
