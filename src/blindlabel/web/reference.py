"""What is one click away from everywhere: the criteria of the agreement, the language as this study allows it, and the
keys.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from nicegui import ui

from blindlabel.language.formatter import attribute_access, quote
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.words import words_of
from blindlabel.parties.questions import check_question
from blindlabel.records.preparation import STEPS
from blindlabel.storage.workspace import Workspace
from blindlabel.web.components import KEYS, LIST_KEYS, button, text
from blindlabel.web.question_pane import offered_functions

_KEYS = (
    ("In the list", tuple(LIST_KEYS.values())),
    (
        "At a record",
        (
            *(keys for name, keys in KEYS.items() if not name.startswith("option-")),
            ("Alt+1 … 4", KEYS["option-1"][1]),
            ("Ctrl+Z", "undo, in points and text; Ctrl+Y redo"),
            ("Tab", "in the text: take the marked completion; Ctrl+Space offers some"),
        ),
    ),
    (
        "Looking through many",
        (
            ("J, K", "next, previous"),
            ("Space", "choose, or no longer"),
            ("E", "edit"),
            ("Enter", "accept what is chosen"),
        ),
    ),
)


@contextlib.contextmanager
def _dialog(name: str, heading: str, size: str = "") -> Iterator[ui.dialog]:
    """A dialog to read; the block fills it."""
    with ui.dialog().props(f'aria-label="{name}"') as dialog, ui.card().classes(f"sheet {size}"):
        text("h2", heading)
        yield dialog
        with ui.element("div").classes("actions"):
            button("Close", dialog.close, "outline autofocus")


def _terms(pairs: Iterable[tuple[str, str]], classes: str) -> None:
    """Terms, most of them code, and what each means."""
    with ui.element("dl").classes(classes):
        for term, meaning in pairs:
            text("dt", term, "code" if "syntax" in classes else "")
            text("dd", meaning)


def agreed_dialog(workspace: Workspace) -> ui.dialog:
    """The dialog on what counts as a match, and what else was agreed."""
    agreement = workspace.agreement
    with _dialog("Criteria", "When do two records match?") as dialog:
        text("p", agreement.criteria, "criteria")
        text("h3", "What was agreed")
        facts = (
            ("Study", agreement.name),
            ("Owners", ", ".join(agreement.owners)),
            ("Attributes", ", ".join(agreement.attributes)),
            ("Rounds", f"at most {agreement.rounds}"),
            ("Records", f"at most {agreement.sampling.records:,} of each table"),
            (
                "Preparation of texts",
                " ".join(STEPS[step].description for step in agreement.preparation.steps) or "none",
            ),
            ("Types of values", ", ".join(f"{name}: {kind}" for name, kind in agreement.recipe.types) or "text"),
            ("Deadline", agreement.deadline or "none"),
        )
        _terms(facts, "facts")
    return dialog


def syntax(workspace: Workspace) -> list[tuple[str, str]]:
    """What questions can be made of, with this study's attributes and limits."""
    agreement, limits = workspace.agreement, workspace.agreement.terms().limits
    first = agreement.attributes[0]
    others = ", ".join(agreement.attributes[1:6]) + (", …" if len(agreement.attributes) > 6 else "")
    lowered = agreement.terms().case == "lower"
    found = [
        ("$r", "the other record as one text, its attributes joined with |"),
        (f"$r{attribute_access(first)}", f"one attribute{f'; the others are {others}' if others else ''}"),
        ("ret …", "the answer; the first one reached ends the question"),
        ("& | !", "and, or, not; use ( ) where in doubt"),
        ("2*… + … >= 2", "points for conditions, and how many are enough"),
        ("$name = …", "keeps something for later lines"),
        ("# …", "a comment"),
    ]
    case = "Records are in lower case, so use lower case." if lowered else "lower(…) ignores the case."
    found.append(("here", f"{case} A text to look for has at most {limits.needle_length} characters."))
    return found


def examples(workspace: Workspace) -> list[tuple[str, str]]:
    """Questions that can be asked in this study, about one of the owner's own records."""
    records = workspace.records()
    if not records:
        return []
    values = [(name, text) for name, text in records[0].prepared.attributes.items() if text]
    found = sorted({word for _, value in values for word in words_of(value)}, key=len, reverse=True)
    if len(found) < 3 or not values:
        return []
    one, two, three = (quote(word[: workspace.agreement.terms().limits.needle_length]) for word in found[:3])
    name, value = values[0]
    field = f"$r{attribute_access(name)}"
    tried = [
        (f"ret 3*is_in({one}, $r) + 2*is_in({two}, $r) + is_in({three}, $r) >= 3", "the first alone, or the other two"),
        (f"ret is_in({one}, $r) | is_in({two}, $r)", "one of them is enough"),
        (f"ret is_in({one}, $r) & !is_in({three}, $r)", "this, but not that"),
        (
            f"ret similar({quote(sorted(words_of(value))[0])}, {field}, 1)" if words_of(value) else "",
            "a typing error apart",
        ),
        (f"ret equals({quote(value)}, {field}) | is_empty({field})", "the same value, or none"),
    ]
    return [
        (question, meaning)
        for question, meaning in tried
        if question and check_question(workspace.agreement, question).ok
    ]


def language_dialog(workspace: Workspace) -> ui.dialog:
    """The language on one page, made from what this study allows."""
    offered = offered_functions(workspace)
    with _dialog("Language", "The question language in this study", "wide") as dialog:
        _terms(syntax(workspace), "syntax")
        text("h3", "Functions")
        found = [one for one in FUNCTIONS.values() if one.name in offered]
        _terms(((one.signature, f"{one.summary} {one.details}") for one in found), "syntax")
        if shown := examples(workspace):
            text("h3", "Examples with one of your records")
            _terms(shown, "syntax stacked")
    return dialog


def keys_dialog() -> ui.dialog:
    """All keys."""
    with _dialog("Keys", "Keys") as dialog:
        for place, keys in _KEYS:
            text("h3", place)
            _terms(keys, "facts keys")
        text("p", "On a Mac, Ctrl is Cmd and Alt is Option.", "quiet")
    return dialog
