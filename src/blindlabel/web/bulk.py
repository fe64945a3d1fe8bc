"""Many records at once: suggest for all open ones, apply a pattern, read questions from files. Everything is reviewed
before it is saved, the riskiest first, and nothing is selected that has not been on the screen; all of it can be undone
afterwards.

A pattern is one question for many records, with each record's own words filled in. `{surname}` stands for the record's
own value of an attribute, as a text in quotes; `{surname 1}` for its first word, `{surname 2}` for the second;
`{words}` for all words of the record. A record that lacks what a placeholder asks for is left out, with a sentence.

The questions of a round are written and read as a ZIP archive of `<id>.question` files, which `owner run --questions`
reads as well. As there, a record whose id cannot be a file name goes by its position, and ids take precedence over
positions when files are read.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from nicegui import run, ui
from nicegui.events import MultiUploadEventArguments

from blindlabel.errors import InputError
from blindlabel.language import Question, Record
from blindlabel.language.diagnostics import nearest
from blindlabel.language.formatter import quote
from blindlabel.language.suggestions import RISKIEST
from blindlabel.language.words import words_in_order
from blindlabel.parties.question_folders import SUFFIX, file_name, question_in
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import BULK, Task
from blindlabel.web.app import CachedWorkspace, OwnerApp, Seat
from blindlabel.web.components import ReviewCards, button, counted, offer_undo, tell, text
from blindlabel.web.points_pane import summary
from blindlabel.web.question_pane import record_with_hits

T = TypeVar("T")

# Patterns

_PLACEHOLDER = re.compile(r"\{([^{}\n]+)\}")
_NUMBERED = re.compile(r"(.*\S)\s+(\d{1,3})")


@dataclass(frozen=True)
class Filled:
    """A pattern with one record's words in it, or why it could not be filled."""

    record: int
    question: str
    problem: str = ""


def placeholders(pattern: str) -> list[str]:
    """What is between braces, outside comments."""
    return [match.strip() for line in pattern.split("\n") for match in _PLACEHOLDER.findall(line.split("#")[0])]


def check_pattern(pattern: str, attributes: Iterable[str]) -> None:
    """Refuse a pattern whose placeholders no record can fill."""
    if not pattern.strip():
        raise InputError("Write a pattern first.")
    known = list(attributes)
    for placeholder in placeholders(pattern):
        name = _parts(placeholder, known)[0]
        if name != "words" and name not in known:
            close = nearest(name, [*known, "words"])
            hint = f" Did you mean {{{close}}}?" if close else f" There are {', '.join(known)} and words."
            raise InputError(f"There is no attribute {name!r} for {{{placeholder}}}.{hint}")


def fill_pattern(pattern: str, record: int, prepared: Record, check: Callable[[str], Question]) -> Filled:
    """The question that a pattern gives for one record."""
    missing: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = _value(match.group(1).strip(), prepared)
        if not found:
            missing.append(match.group(0))
        return quote(found)

    text = _PLACEHOLDER.sub(value, pattern)
    if missing:
        return Filled(record, text, f"The record has nothing for {missing[0]}.")
    checked = check(text)
    return Filled(
        record, text, "" if checked.ok else next(one.message for one in checked.problems if one.severity == "error")
    )


def _parts(placeholder: str, attributes: Iterable[str]) -> tuple[str, int | None]:
    numbered = _NUMBERED.fullmatch(placeholder)
    if numbered and placeholder not in attributes:
        return numbered.group(1), int(numbered.group(2))
    return placeholder, None


def _value(placeholder: str, prepared: Record) -> str:
    name, number = _parts(placeholder, prepared.attributes)
    text = " ".join(prepared.attributes.values()) if name == "words" else prepared.attributes.get(name, "")
    if number is None:
        return " ".join(ordered_words(text)) if name == "words" else text.strip()
    words = ordered_words(text)
    return words[number - 1] if 1 <= number <= len(words) else ""


def ordered_words(text: str) -> list[str]:
    """The words of a text, in order, each once."""
    return list(dict.fromkeys(words_in_order(text)))


# Files

_LARGEST = 64 * 2**20
LARGEST_UPLOAD = 16 * 2**20


@dataclass(frozen=True)
class Imported:
    """What an import did: questions that could be used, drafts that need work, and files that belong to no record of
    this round.
    """

    saved: int
    drafts: int
    unknown: tuple[str, ...]
    changes: tuple[tuple[Task, Task], ...] = ()
    """What each task was and what it became."""


def archive_of_questions(cache: CachedWorkspace) -> bytes:
    """All saved questions and drafts of the round."""
    ids = {own.id for own in cache.records}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for own in cache.records:
            task = cache.tasks.get(own.record)
            if task is not None and task.draft:
                file.writestr(file_name(own.position, own.id, ids), task.draft)
    return buffer.getvalue()


def unpacked(files: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Name without suffix to text, from question files and archives of them."""
    texts: dict[str, str] = {}
    for name, content in files:
        if name.endswith(SUFFIX):
            texts[_stem(name)] = question_in(io.BytesIO(content), name)
        elif name.endswith(".zip"):
            texts |= _from_archive(name, content)
        else:
            raise InputError(f"{name} is neither a {SUFFIX} file nor a ZIP archive of such files.")
    return texts


def _from_archive(name: str, content: bytes) -> dict[str, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            entries = [entry for entry in file.infolist() if entry.filename.endswith(SUFFIX)]
            if sum(entry.file_size for entry in entries) > _LARGEST:
                raise InputError(f"{name} unpacks to more than {_LARGEST // 2**20} MB.")
            return {_stem(one.filename): question_in(file.open(one), one.filename) for one in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{name} is no ZIP archive that can be read.") from error


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def take_in_questions(cache: CachedWorkspace, seat: Seat, texts: Mapping[str, str]) -> Imported:
    """Save what has no error as questions and the rest as drafts, as written by the person at this seat."""
    changes: list[tuple[Task, Task]] = []
    by_name = {str(own.position): own.record for own in cache.records} | {own.id: own.record for own in cache.records}
    saved: dict[int, str] = {}
    drafts, unknown = 0, []
    for name, written in texts.items():
        record = by_name.get(name)
        before = cache.tasks.get(record) if record is not None else None
        if record is None or before is None or not seat.is_mine(record) or seat.is_second(record):
            unknown.append(name)
        elif cache.check(written).ok:
            saved[record] = written
        else:
            seat.save_draft(record, written)
            changes.append((before, cache.tasks[record]))
            drafts += 1
    changes += cache.save_many(saved, BULK, seat.name) if saved else []
    changed = tuple((before, after) for before, after in changes if before != after)
    return Imported(len(saved), drafts, tuple(unknown), changed)


# Looking through

AT_ONCE = 50
"""How many cards are shown together; the next ones follow when these are done."""


class Review:
    """A dialog that shows questions for many records, all or some of which can be accepted."""

    title = ""

    def __init__(
        self, app: OwnerApp, seat: Callable[[], Seat], on_saved: Callable[[], Any], on_edit: Callable[[int, str], Any]
    ) -> None:
        self._app, self._seat, self._on_saved, self._on_edit = app, seat, on_saved, on_edit
        self._texts: dict[int, str] = {}
        self._was: dict[int, str] = {}
        """The text of each record when these questions were made."""
        self._waiting: list[dict[str, Any]] = []
        self._chosen: list[int] = []
        with ui.dialog().props(f'aria-label="{self.title}"') as self.dialog, ui.card().classes("sheet widest"):
            text("h2", self.title)
            self.head = ui.element("div").classes("review-head")
            self.note = text("p", "", "quiet")
            self.note.props("role=status")
            self._cards = ReviewCards(self._choose, self._save, self._edit)
            with ui.element("div").classes("actions"):
                self._accept = button("Accept", self._save, "main")
                button("Close", self.dialog.close)
                text("span", "J and K move, space chooses, E edits, enter accepts.", "quiet")

    async def show(self, texts: dict[int, str], note: str) -> None:
        """Show these questions; those that fit only their record are selected once they have been seen."""
        self._texts, self._waiting = texts, []
        self._was = {record: self._app.cache.tasks[record].draft for record in texts}
        self.note.text = note
        self._show_next()
        if texts:
            made = await self._each("Judging", [partial(self._card, *one) for one in texts.items()])
            self._waiting = sorted(made, key=lambda card: card["risk"])
            self.note.text = note
            self._show_next()

    async def _each(self, doing: str, work: Sequence[Callable[[], T]]) -> list[T]:
        """Do many things in the background, and show the progress."""
        done: list[T] = []

        def all_of_it() -> None:
            for one in work:
                done.append(one())

        def say() -> None:
            self.note.text = f"{doing}: {len(done):,} of {len(work):,}"

        say()
        with self.dialog:
            saying = ui.timer(0.3, say)
        try:
            await run.io_bound(all_of_it)
        finally:
            saying.cancel()
        return done

    def _show_next(self) -> None:
        self._cards.show(self._waiting[:AT_ONCE])
        self._choose([])

    def _card(self, record: int, question: str) -> dict[str, Any]:
        own, workspace = self._app.cache.records[record], self._app.workspace
        checked = check_question(workspace.agreement, question)
        assert checked.formula is not None
        verdict = self._app.judging.verdict(own, question)
        return {
            "record": record,
            "id": own.id,
            "attributes": record_with_hits(own, checked.formula),
            "summary": summary(checked.chain) if checked.chain is not None else " ".join(question.split()),
            "verdict": verdict.headline,
            "level": verdict.level,
            "risk": (RISKIEST.index(verdict.kind), -verdict.risk, record),
        }

    def _edit(self, record: int) -> Any:
        """Open a record with the question of its card."""
        self.dialog.close()
        return self._on_edit(record, self._texts[record])

    def _choose(self, records: list[int]) -> None:
        self._chosen = records
        left = len(self._waiting) - len(self._waiting[:AT_ONCE])
        later = f"; {left:,} more follow" if left else ""
        self._accept.text = f"Accept {counted(len(records), 'question')}{later}"
        self._accept.set_enabled(bool(records) or left > 0)

    def _save(self) -> None:
        self._app.cache.refresh()
        chosen = {record: self._texts[record] for record in self._chosen if record in self._texts}
        written = [record for record in chosen if self._app.cache.tasks[record].draft != self._was[record]]
        for record in written:
            del chosen[record]
        try:
            changes = self._app.cache.save_many(chosen, BULK, self._seat().name, self._was) if chosen else []
        except InputError as error:
            tell(str(error), "problem")
            return
        self._waiting = self._waiting[AT_ONCE:]
        if self._waiting:
            self._show_next()
        else:
            self.dialog.close()
        self._on_saved()
        if written:
            ids = ", ".join(self._app.cache.records[record].id for record in written[:3])
            tell(f"{len(written):,} left as they are, since somebody has written them meanwhile: {ids}.", "problem")
        if changes:
            offer_undo_of(self._app, changes, f"Saved {counted(len(changes), 'question')}.", self._on_saved)


def offer_undo_of(app: OwnerApp, changes: list[tuple[Task, Task]], message: str, after: Callable[[], Any]) -> None:
    """Offer to restore many tasks to what they were, except for those that have changed since."""

    async def undo() -> str:
        kept = app.cache.take_back(changes)
        after()
        if not kept:
            return ""
        return f"Changed since, and left as it is now: {counted(len(kept), 'question')}."

    offer_undo(message, undo)


class SuggestAll(Review):
    """Suggestions for all records without a saved question."""

    title = "Suggest for all open records"

    async def open(self) -> None:
        """Make the suggestions and show them."""
        app, seat = self._app, self._seat()
        waiting = [task for task in seat.unwritten() if task.state == "open" and not seat.is_second(task.record)]
        await self.show({}, f"Making {len(waiting):,} suggestions…")
        self.dialog.open()
        try:
            made = await self._each(
                "Suggesting", [partial(app.judging.suggest, app.cache.records[one.record], one) for one in waiting]
            )
        except InputError as error:
            self.note.text = str(error)
            return
        texts = {task.record: one.text for task, one in zip(waiting, made, strict=False)}
        note = "The riskiest come first. Records that you leave out stay open; drafts are not touched."
        await self.show(texts, note if texts else "No record is open.")


class ApplyPattern(Review):
    """One pattern for many records."""

    title = "Apply a pattern"

    def __init__(self, app: OwnerApp, *others: Any) -> None:
        super().__init__(app, *others)
        name = app.workspace.agreement.attributes[0]
        first = f"{{{name} 1}}"
        with self.head:
            text(
                "p",
                f"A pattern is a question in which {{{name}}} stands for the record's own value, {first} for its first"
                " word, and {words} for all its words.",
            )
            self._field = (
                ui.textarea(label="Pattern", value=f"ret is_in({first}, $r)").props("outlined autogrow").classes("code")
            )
            with ui.element("div").classes("actions"):
                self._all = ui.checkbox("Also records that have a question or draft already")
                button("Preview", self._preview)

    async def open(self) -> None:
        """Show the dialog."""
        await self.show({}, "")
        self.dialog.open()

    async def _preview(self) -> None:
        pattern, app, seat = str(self._field.value or ""), self._app, self._seat()
        mine = [task for record, task in app.cache.tasks.items() if seat.is_mine(record) and not seat.is_second(record)]
        chosen = [task.record for task in mine if self._all.value or task.state == "open"]
        try:
            check_pattern(pattern, app.workspace.agreement.attributes)
        except InputError as error:
            await self.show({}, str(error))
            return
        filled = await run.io_bound(
            lambda: [
                fill_pattern(pattern, record, app.cache.records[record].prepared, app.cache.check) for record in chosen
            ]
        )
        good = {one.record: one.question for one in filled or [] if not one.problem}
        bad = [one for one in filled or [] if one.problem]
        note = f"It can be filled for {len(good):,} of {len(chosen):,} records."
        if bad:
            note += f" {app.cache.records[bad[0].record].id} is left out: {bad[0].problem}"
        await self.show(good, note)


class ImportQuestions:
    """Questions from files."""

    def __init__(self, app: OwnerApp, seat: Callable[[], Seat], on_saved: Callable[[], Any]) -> None:
        self._app, self._seat, self._on_saved = app, seat, on_saved
        with ui.dialog().props('aria-label="Import questions"') as self.dialog, ui.card().classes("sheet"):
            text("h2", "Import questions")
            text("p", "Files named by record id, such as 1234.question, or a ZIP archive of them as exported here.")
            taken = partial(ui.upload, multiple=True, auto_upload=True, max_file_size=LARGEST_UPLOAD)
            upload = taken(on_multi_upload=self._chosen, on_rejected=self._rejected)
            upload.props('accept=".question,.zip"').classes("hidden")  # ours has a name and looks like the others
            button("Choose files", lambda: upload.run_method("pickFiles"))
            self._note = text("p", "", "quiet")
            self._note.props("role=status")
            with ui.element("div").classes("actions"):
                button("Close", self.dialog.close)

    def _rejected(self) -> None:
        self._note.text = f"Only .question files and ZIP archives of them, of at most {LARGEST_UPLOAD // 2**20} MB."

    async def _chosen(self, chosen: MultiUploadEventArguments) -> None:
        try:
            texts = unpacked([(file.name, await file.read()) for file in chosen.files])
            done = take_in_questions(self._app.cache, self._seat(), texts)
        except InputError as error:
            self._note.text = str(error)
            return
        unknown = (
            f" Without a record of this round: {counted(len(done.unknown), 'file')}, {done.unknown[0]} the first."
            if done.unknown
            else ""
        )
        self._note.text = (
            f"{counted(done.saved, 'question')} saved, {done.drafts:,} kept as drafts because they have errors."
            + unknown
        )
        self._on_saved()
        if done.changes:
            changed = f"Imported {counted(len(done.changes), 'question')}."
            offer_undo_of(self._app, list(done.changes), changed, self._on_saved)
