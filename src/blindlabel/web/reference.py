"""What is one click away from everywhere: the criteria of the agreement, the language, the keys, and the guide of the
first visit.
"""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from blindlabel.language.functions import FUNCTIONS
from blindlabel.storage.workspace import Workspace
from blindlabel.web.components import offered_functions, text

_STEPS = (
    (
        "Look at your record only",
        "You see a record of your own table. The records of the other side stay encrypted; nobody sees both.",
    ),
    (
        "Write what the other record must say",
        (
            "$r stands for any record of the other side. Write what must be in it if it is about the same thing: click"
            " words of your record, or type. A question ends with ret and an answer of yes or no."
        ),
    ),
    (
        "Not too strict, not too loose",
        (
            "The other side may spell differently or leave things out. Below the editor you see how many of your own"
            " records the question matches: 1, the record itself, is usually right."
        ),
    ),
    (
        "Save and go on",
        (
            "Ctrl+Enter saves and opens the next record. What you type is kept at once, even when it is not finished."
            " When every record has a question, hand the round in."
        ),
    ),
    (
        "Records come back",
        (
            "Where the answers of the two sides differ, both records come back in the next round, with your question of"
            " before. Change it or keep it."
        ),
    ),
)
_SYNTAX = (
    ("$r", "the other record as one text, its attributes joined with |"),
    ("$r.title", 'one attribute; $r["date of birth"] where the name is no plain word'),
    ("$name = …", "keeps something for later lines"),
    ("ret …", "the answer; the first one reached ends the question"),
    ("& | !", "and, or, not; use ( ) where in doubt"),
    ("2*is_in(…) + is_in(…) >= 2", "counts conditions, with weights, against a number"),
    ("# …", "a comment"),
)
_EXAMPLES = (
    ('ret is_in("canon", lower($r)) & is_in("24-70", $r)', "both must be there"),
    (
        'ret similar("jonson", lower($r.surname), 1) & between($r.year, 1979, 1981)',
        "a name with a typing error, a year give or take one",
    ),
    (
        'ret 3*is_in("x350", lower($r)) + is_in("sony", lower($r)) + is_in("turntable", lower($r)) >= 3',
        "the model number suffices, or the others together with it",
    ),
)
_KEYS = (
    ("In the list", (("N", "next open record"), ("/", "search"), ("?", "this page"))),
    (
        "At a record",
        (
            ("Ctrl+Enter", "save and next open record"),
            ("Ctrl+S", "save"),
            ("Alt+G", "suggest a question"),
            ("Alt+N", "next record"),
            ("Alt+P", "previous record"),
            ("Esc", "back to the list"),
            ("Ctrl+Z", "undo; Ctrl+Y redo"),
            ("Ctrl+Space", "complete a function, attribute or word"),
        ),
    ),
)


def _dialog(title: str) -> ui.dialog:
    dialog = ui.dialog().props(f'aria-label="{title}"')
    return dialog


def criteria_dialog(workspace: Workspace) -> ui.dialog:
    """What counts as a match, and what was agreed."""
    agreement = workspace.agreement
    with _dialog("Criteria") as dialog, ui.card().classes("sheet"):
        text("h2", "When do two records match?")
        text("p", agreement.criteria, "criteria")
        text("h3", "What was agreed")
        with ui.element("dl").classes("facts"):
            for name, value in (
                ("Study", agreement.name),
                ("Owners", ", ".join(agreement.owners)),
                ("Attributes", ", ".join(agreement.attributes)),
                ("Rounds", f"at most {agreement.rounds}"),
                ("Records", f"at most {agreement.sampling.records} of each table"),
                ("Preparation of texts", ", ".join(agreement.preparation.steps) or "none"),
                ("Longest needle", f"{agreement.limits.needle_length} characters"),
                ("Deadline", agreement.deadline or "none"),
            ):
                text("dt", name)
                text("dd", value)
        _close_button(dialog)
    return dialog


def language_dialog(workspace: Workspace) -> ui.dialog:
    """The language on one page."""
    offered = offered_functions(workspace)
    with _dialog("Language") as dialog, ui.card().classes("sheet wide"):
        text("h2", "The question language")
        with ui.element("dl").classes("syntax"):
            for code, meaning in _SYNTAX:
                text("dt", code, "code")
                text("dd", meaning)
        text("h3", "Functions")
        with ui.element("dl").classes("syntax"):
            for function in FUNCTIONS.values():
                if function.name not in offered:
                    continue
                text("dt", function.signature, "code")
                with ui.element("dd"):
                    text("div", f"{function.summary} {function.details}")
                    text("code", function.example)
        text("h3", "Examples")
        with ui.element("dl").classes("syntax stacked"):
            for code, meaning in _EXAMPLES:
                text("dt", code, "code")
                text("dd", meaning)
        _close_button(dialog)
    return dialog


def keys_dialog() -> ui.dialog:
    """All keys."""
    with _dialog("Keys") as dialog, ui.card().classes("sheet"):
        text("h2", "Keys")
        for place, keys in _KEYS:
            text("h3", place)
            with ui.element("dl").classes("facts"):
                for key, meaning in keys:
                    with ui.element("dt"):
                        text("kbd", key)
                    text("dd", meaning)
        text("p", "On a Mac, Ctrl is Cmd and Alt is Option.", "quiet")
        _close_button(dialog)
    return dialog


def guide_dialog(on_done: Callable[[], None]) -> ui.dialog:
    """The guide: a few steps, once, and again on request."""
    place = 0
    with _dialog("Guide") as dialog, ui.card().classes("sheet guide"):
        counter = text("span", "", "quiet")
        title = text("h2", "")
        body = text("p", "")
        with ui.element("div").classes("actions"):
            back = ui.button("Back", color=None, on_click=lambda: go(-1)).props("no-caps outline").classes("button")
            forward = (
                ui.button("Next", color=None, on_click=lambda: go(1))
                .props("no-caps unelevated autofocus")
                .classes("button main")
            )
            ui.button("Skip the guide", color=None, on_click=dialog.close).props("no-caps flat").classes("button")
    dialog.on("hide", on_done)

    def go(step: int) -> None:
        nonlocal place
        place += step
        if place >= len(_STEPS):
            place = 0
            dialog.close()
        show()

    def show() -> None:
        title.text, body.text = _STEPS[place]
        counter.text = f"Step {place + 1} of {len(_STEPS)}"
        back.set_enabled(place > 0)
        forward.text = "Next" if place + 1 < len(_STEPS) else "Begin"

    show()
    return dialog


def _close_button(dialog: ui.dialog) -> None:
    with ui.element("div").classes("actions"):
        ui.button("Close", color=None, on_click=dialog.close).props("no-caps outline autofocus").classes("button")
