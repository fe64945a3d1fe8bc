"""A record of one's own whose words can be clicked: shaded by how rare they are, underlined where the question asks for
them, and what a click on one asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nicegui.element import Element

from blindlabel.language.formula import Atom
from blindlabel.language.record import View
from blindlabel.language.words import is_word, is_word_character
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.records.preparation import prepare
from blindlabel.storage.workspace import Workspace
from blindlabel.web.hits import spans_in

SHORT = 3
"""Words up to this length say something only about the attribute in which they stand."""


class RecordWords(Element, component="browser/record_words.js"):
    """A record of one's own, attribute by attribute; clicking a word gives it and its attribute to the handler."""

    def __init__(self, workspace: Workspace, on_word: Callable[[str, str], Any]) -> None:
        super().__init__()
        self._steps = workspace.agreement.preparation.steps
        self._parts: list[tuple[str, list[dict[str, str]]]] = []
        for name, empty in (("attributes", []), ("fixed", False), ("rarity", []), ("asked", [])):
            self._props[name] = empty
        self.on("word", lambda event: on_word(str(event.args["word"]), str(event.args["attribute"])))

    def show(self, own: OwnRecord, *, fixed: bool) -> None:
        """Show a record as it stands in the table."""
        self._parts = [
            (name, [_part(token, self._steps) for token in _tokens(value)]) for name, value in own.row.items()
        ]
        self._props["attributes"] = [{"name": name, "parts": parts} for name, parts in self._parts]
        self._props["fixed"] = fixed
        self._props["rarity"], self._props["asked"] = [], []
        self.update()

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

        self._props["rarity"] = [[known(part["word"], name) for part in parts] for name, parts in self._parts]
        self.update()

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
            self._props["asked"] = asked
            self.update()


def rarity_level(others: int, rows: int) -> int:
    """How rare a word is: 3 where no other row has it, down to 0 where many have."""
    return 3 if others == 0 else 2 if others <= max(2, rows // 100) else 1 if others <= max(5, rows // 20) else 0


def rows_said(others: int) -> str:
    """A number of other own rows in words."""
    return "no other row of yours" if others == 0 else f"{others:,} other row{'s' if others > 1 else ''} of yours"


def asks_for(atom: Atom, word: str) -> bool:
    """Whether a predicate asks for a word, or for a text that it is part of."""
    if not word:
        return False
    texts = [value for value in atom.arguments if isinstance(value, str)]
    return bool(spans_in(atom, word)) or any(word in text.split() for text in texts)


def _tokens(value: str) -> list[str]:
    """Runs of white space and of everything else, in order."""
    tokens: list[str] = []
    for character in value:
        if tokens and tokens[-1][-1].isspace() == character.isspace():
            tokens[-1] += character
        else:
            tokens.append(character)
    return tokens


def _part(token: str, steps: Sequence[str]) -> dict[str, str]:
    return {"text": token, "word": word_of(token, steps)}


def word_of(token: str, steps: Sequence[str]) -> str:
    """What a question would look for: the token as records are prepared, without punctuation around it."""
    prepared = prepare({"token": token}, ["token"], steps).attributes["token"].strip()
    places = [place for place, character in enumerate(prepared) if is_word_character(character)]
    return prepared[places[0] : places[-1] + 1] if places else ""


def view_for(workspace: Workspace, attribute: str = "", *, cased: bool = True) -> View:
    """Where to look so that upper and lower case do not matter; the whole record without an attribute."""
    terms = workspace.agreement.terms()
    attribute = attribute if attribute and terms.encode_attributes else ""
    return View(attribute or None, "exact" if terms.case == "lower" or not cased else "lower")


def asked_for(word: str, attribute: str, workspace: Workspace) -> Atom:
    """The predicate that a clicked word becomes: a whole word where that can be asked, else a part of the text; short
    words only in their own attribute. Upper and lower case do not matter in it.
    """
    terms, limit = workspace.agreement.terms(), workspace.agreement.terms().limits.needle_length
    small = word.lower() if word.isascii() else word
    cased = word.isascii() and small.upper() != small
    view = view_for(workspace, attribute if len(word) <= SHORT else "", cased=cased)
    if not terms.encode_whole and view.attribute is None:
        view = view_for(workspace, attribute, cased=cased)
    if "has_word" in terms.functions and is_word(small) and not any(character.isdigit() for character in small):
        return Atom("has_word", (small,), view)
    if "is_in" in terms.functions and len(small) <= limit:
        return Atom("is_in", (small,), view)
    if "has_word" in terms.functions and is_word(small):
        return Atom("has_word", (small,), view)
    return Atom("is_in", (small[:limit],), view)


def completion_words(own: OwnRecord, lowered: bool) -> list[str]:
    """The words of a record for completion, each once."""
    found = dict.fromkeys(word for text in own.prepared.attributes.values() for word in text.split())
    if not lowered:
        found |= dict.fromkeys(word.lower() for word in list(found))
    return list(found)
