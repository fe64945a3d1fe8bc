"""The left half of the annotation window: one of the owner's records, whose words can be clicked, are shaded by how
rare they are, and underlined if the question asks for them; what a click on a word asks for; and where in a record a
question finds what it asks for, so that a person sees at a glance why a row fits.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from itertools import accumulate, groupby
from typing import Any

from nicegui import run, ui
from nicegui.element import Element

from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.chain import Term
from blindlabel.language.formula import Atom
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import View
from blindlabel.language.words import is_word, is_word_character, words_in_order, words_of
from blindlabel.protocol.interfaces import Back, OwnRecord, Task
from blindlabel.records.preparation import Recipe, is_another
from blindlabel.storage.annotations import Mark
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import counted, show_in, tell, text

# Hits

Stretch = tuple[int, int]


WHY: dict[Back, str] = {
    "": "the round could not be used",
    "disagreed": "the two sides disagreed",
    "loose": "its question said yes to too many records",
    "kept": "another owner's question said yes to too many records. Yours stands and is asked once more",
}


def marked(record: Record, atoms: Iterable[Atom]) -> list[dict[str, object]]:
    """A record attribute by attribute, cut into parts that are hits and parts that are not; as the browser gets it."""
    wanted = list(atoms)
    return [
        {"name": name, "parts": _cut(value, _spans(record, name, value, wanted))}
        for name, value in record.attributes.items()
        if value
    ]


def marked_apart(own: Record, other: Record) -> list[dict[str, object]]:
    """Another record attribute by attribute, as the browser gets it: what the owner's record does not have is marked,
    and what the other one lacks is named.
    """
    shown: list[dict[str, object]] = []
    for name, value in other.attributes.items():
        had = words_of(own.attributes.get(name, ""))
        parts = _cut(value, [(start, end) for start, end in word_spans(value) if value[start:end] not in had])
        without = [word for word in words_in_order(own.attributes.get(name, "")) if word not in words_of(value)]
        if without:
            parts.append({"text": f" (without {' '.join(without)})" if value else "missing", "hit": True})
        if parts:
            shown.append({"name": name, "parts": parts})
    return shown


def _spans(record: Record, name: str, value: str, atoms: list[Atom]) -> list[Stretch]:
    found: list[Stretch] = []
    for atom in atoms:
        if atom.view.attribute not in (None, name):
            continue
        text = record.text(View(name, atom.view.case))
        if len(text) == len(value):  # changing the case of a few letters changes the length; then nothing is marked
            found += spans_in(atom, text)
    return found


def spans_in(atom: Atom, text: str) -> list[Stretch]:
    """Where a predicate finds what it asks for in a text: the text itself, or words that meet it by themselves."""
    meaning, arguments = PREDICATES[atom.function].meaning, atom.arguments
    needle = next((value for value in arguments if isinstance(value, str) and value), "")
    whole_words = atom.function == "has_word"
    if needle and atom.function in ("is_in", "has_word", "equals", "starts_with", "ends_with"):
        return [
            (start, start + len(needle))
            for start in _occurrences(text, needle)
            if not whole_words or _stands_alone(text, start, start + len(needle))
        ]
    return [(start, end) for start, end in word_spans(text) if meaning(text[start:end], arguments)]


def _occurrences(text: str, needle: str) -> Iterable[int]:
    return (found.start() for found in re.finditer(f"(?={re.escape(needle)})", text))


def _stands_alone(text: str, start: int, end: int) -> bool:
    return not (start and is_word_character(text[start - 1])) and not (end < len(text) and is_word_character(text[end]))


def word_spans(text: str) -> list[Stretch]:
    """Where the words of a text stand."""
    runs = [(is_it, len(list(run))) for is_it, run in groupby(text, is_word_character)]
    ends = list(accumulate(length for _, length in runs))
    return [(end - length, end) for (is_it, length), end in zip(runs, ends, strict=True) if is_it]


def _cut(value: str, spans: list[Stretch]) -> list[dict[str, object]]:
    hit = [False] * len(value)
    for start, end in spans:
        hit[start:end] = [True] * (min(end, len(value)) - start)
    runs = groupby(zip(value, hit, strict=True), lambda one: one[1])
    return [{"text": "".join(character for character, _ in run), "hit": is_hit} for is_hit, run in runs]


# Words

SHORT = 3
"""Words up to this length say something only about the attribute they are in."""


class RecordWords(Element, component="browser/record_words.js"):
    """One of the owner's records, attribute by attribute; clicking a word gives it and its attribute to the handler."""

    def __init__(self, workspace: Workspace, on_word: Callable[[str, str], Any]) -> None:
        super().__init__()
        self._recipe = workspace.agreement.recipe
        self._parts: list[tuple[str, list[dict[str, str]]]] = []
        show_in(self, attributes=[], fixed=False, rarity=[], asked=[])
        self.on("word", lambda event: on_word(str(event.args["word"]), str(event.args["attribute"])))

    def show(self, own: OwnRecord, *, fixed: bool) -> None:
        """Show a record as it is in the table."""
        self._parts = [(name, parts_of(name, value, self._recipe)) for name, value in own.row.items()]
        shown = [{"name": name, "parts": parts, "prepared": _prepared_beside(own, name)} for name, parts in self._parts]
        show_in(self, attributes=shown, fixed=fixed, rarity=[], asked=[])

    @property
    def words(self) -> set[tuple[str, str]]:
        """Every word with its attribute."""
        return {(part["word"], name) for name, parts in self._parts for part in parts if part["word"]}

    def shade(self, others: dict[tuple[str, str], int], rows: int) -> None:
        """Shade the words by how many other rows have them."""

        def known(word: str, name: str) -> dict[str, object] | None:
            if (word, name) not in others:
                return None
            found = others[(word, name)]
            return {"level": rarity_level(found, rows), "said": rows_said(found)}

        show_in(self, rarity=[[known(part["word"], name) for part in parts] for name, parts in self._parts])

    def underline(self, atoms: Iterable[Atom]) -> None:
        """Underline the words that these predicates ask for."""
        wanted = list(atoms)
        asked = [
            [
                any(atom.view.attribute in (None, name) and asks_for(atom, part["word"]) for atom in wanted)
                for part in parts
            ]
            for name, parts in self._parts
        ]
        if asked != self._props["asked"]:
            show_in(self, asked=asked)


def rarity_level(others: int, rows: int) -> int:
    """How rare a word is: 3 if no other row has it, down to 0 if many have."""
    return 3 if others == 0 else 2 if others <= max(2, rows // 100) else 1 if others <= max(5, rows // 20) else 0


def rows_said(others: int) -> str:
    """A number of other rows of the table in words."""
    return f"{counted(others, 'other row') if others else 'no other row'} of yours"


def asks_for(atom: Atom, word: str) -> bool:
    """Whether a predicate asks for a word, or for a text that it is part of."""
    if not word:
        return False
    texts = [value for value in atom.arguments if isinstance(value, str)]
    seen = Record.of({"word": word}).text(View("word", atom.view.case))  # as the predicate sees it, whatever its case
    return bool(spans_in(atom, seen)) or any(seen in text.split() for text in texts)


def _prepared_beside(own: OwnRecord, attribute: str) -> str:
    prepared = own.prepared.attributes.get(attribute, "")
    return prepared if is_another(own.row[attribute], prepared) else ""


def parts_of(attribute: str, value: str, recipe: Recipe) -> list[dict[str, str]]:
    """A value as words that can be clicked; what was read as its type is one."""
    kind = recipe.type_of(attribute)
    is_one = not kind.is_text and recipe.read(kind, value) is not None
    tokens = [value] if is_one else re.findall(r"\s+|\S+", value)
    return [{"text": one, "word": word_of(attribute, one, recipe)} for one in tokens]


def word_of(attribute: str, token: str, recipe: Recipe) -> str:
    """What a question would look for: the token as records are prepared, without punctuation around it."""
    prepared = recipe.value(attribute, token).strip()
    places = [place for place, character in enumerate(prepared) if is_word_character(character)]
    return prepared[places[0] : places[-1] + 1] if places else ""


def view_for(workspace: Workspace, attribute: str = "", *, cased: bool = True) -> View:
    """Where to look so that upper and lower case do not matter; the whole record without an attribute."""
    terms = workspace.agreement.terms()
    attribute = attribute if attribute and terms.encode_attributes else ""
    return View(attribute or None, "exact" if terms.case == "lower" or not cased else "lower")


def asked_for(word: str, attribute: str, workspace: Workspace) -> Term:
    """The predicate that a clicked word becomes: a whole word if that can be asked, else a part of the text; short
    words only in their own attribute. Upper and lower case do not matter in it. A text that is too long to be asked for
    in one piece becomes several, with nothing left out.
    """
    terms, limit = workspace.agreement.terms(), workspace.agreement.terms().limits.needle_length
    small = word.lower() if word.isascii() else word
    cased = word.isascii() and small.upper() != small
    view = view_for(workspace, attribute if len(word) <= SHORT else "", cased=cased)
    if not terms.encode_whole and view.attribute is None:
        view = view_for(workspace, attribute, cased=cased)
    if "has_word" in terms.functions and is_word(small) and not any(character.isdigit() for character in small):
        return (Atom("has_word", (small,), view),)
    if "is_in" in terms.functions and len(small) <= limit:
        return (Atom("is_in", (small,), view),)
    if "has_word" in terms.functions and is_word(small):
        return (Atom("has_word", (small,), view),)
    return tuple(Atom("is_in", (piece,), view) for piece in pieces_of(small, limit))


def pieces_of(text: str, longest: int) -> list[str]:
    """A text in pieces of at most this many characters, cut between words if possible."""
    return textwrap.wrap(text, longest, break_on_hyphens=False)


def completion_words(own: OwnRecord, lowered: bool) -> list[str]:
    """The words of a record for completion, each once."""
    found = dict.fromkeys(word for text in own.prepared.attributes.values() for word in text.split())
    if not lowered:
        found |= dict.fromkeys(word.lower() for word in list(found))
    return list(found)


class RecordPane:
    """Shows one record."""

    def __init__(self, app: OwnerApp, on_word: Callable[[str, str], Any]) -> None:
        self._app = app
        self._own: OwnRecord | None = None
        self._mark = Mark()
        with ui.element("section").classes("pane own").props('aria-label="Your record"'):
            with ui.element("div").classes("pane-head"):
                self._title = text("h2", "")
                self._state = text("span", "", "state")
            self._reason = text("p", "", "reason")
            self.words = RecordWords(app.workspace, on_word)
            text(
                "p",
                "The stronger a word is coloured, the fewer of your other rows have it. Click it to ask for it.",
                "legend",
            )
            self._build_mark()

    def _build_mark(self) -> None:
        with ui.element("div").classes("mark").props('role=group aria-label="For yourself"'):
            self._unsure = ui.checkbox("Not sure", on_change=self._noted).props("dense")
            self._note = ui.input(placeholder="A note for yourself", on_change=self._noted).props(
                'dense outlined maxlength=2000 aria-label="A note for yourself"'
            )

    def show(self, own: OwnRecord, task: Task, *, fixed: bool) -> None:
        """Show a record."""
        self._own = own
        self.show_mark()
        self._title.text = own.id
        self.show_state(task)
        self._show_reason(task)
        self.words.show(own, fixed=fixed)

    def show_mark(self) -> None:
        """Show what is noted about the record, here or in another tab."""
        own, self._own = self._own, None  # what follows is not a note
        if own is not None:
            self._mark = self._app.cache.mark(own.record)
            self._unsure.value, self._note.value = self._mark.unsure, self._mark.note
        self._own = own

    def show_state(self, task: Task) -> None:
        """Show whether the question is saved."""
        self._state.text = task.state
        self._state.classes(replace=f"state state-{task.state}")

    def _show_reason(self, task: Task) -> None:
        self._reason.text = f"Back in round {task.round}: {WHY[task.back]}."
        self._reason.set_visibility(bool(task.back))

    async def shade(self) -> None:
        """Shade the words by their rarity once the table has been read."""
        own = self._own
        if own is None:
            return
        wanted = self.words.words
        found = await run.io_bound(self._others, own, wanted)
        if found is not None and self._own is own:
            self.words.shade(found, len(self._app.judging.rows[0]))

    def _others(self, own: OwnRecord, words: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        self._app.judging.warm_up()
        found = {}
        for word, attribute in words:
            others = self._app.judging.others(own, (asked_for(word, attribute, self._app.workspace),))
            if others is not None:
                found[(word, attribute)] = others
        return found

    def toggle_unsure(self) -> None:
        """Mark the record as not sure, or no longer."""
        self._unsure.value = not self._unsure.value

    def _noted(self, _event: object) -> None:
        if self._own is None:
            return
        unsure, note, now = (
            bool(self._unsure.value),
            str(self._note.value or ""),
            self._app.cache.mark(self._own.record),
        )
        mark = Mark(  # what was not changed here may have been changed in another tab
            now.unsure if unsure == self._mark.unsure else unsure, now.note if note == self._mark.note else note
        )
        self._mark = Mark(unsure, note)
        if mark == now:
            return
        try:
            self._app.cache.set_mark(self._own.record, mark)
        except InputError as error:
            tell(str(error), "problem")
