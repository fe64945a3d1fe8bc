"""The right half of the annotation window: the question as points or as text (the editor as Python sees it), what is
wrong with it, the verdict with the other rows of the table that it fits, and the actions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from blindlabel.language import Diagnostic, Question, Record
from blindlabel.language.chain import call_of
from blindlabel.language.formatter import attribute_access
from blindlabel.language.formula import Atom, Formula, atoms_of, evaluate
from blindlabel.language.functions import FUNCTIONS
from blindlabel.language.in_words import sentence_of
from blindlabel.language.signatures import Function
from blindlabel.language.suggestions import Verdict
from blindlabel.parties.piloting import level_of
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.records.preparation import is_another
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import KEYS, LIST_KEYS, EvidenceRows, button, counted, key_button, reveal, show_in, text
from blindlabel.web.judging import Judging
from blindlabel.web.points_pane import PointsView
from blindlabel.web.practice import PractisedTruth
from blindlabel.web.record_pane import RecordWords, completion_words, marked, marked_apart
from blindlabel.web.tried_records import TriedPane

_ = ui.codemirror  # its import registers the CodeMirror bundle that our editor is built on


@dataclass(frozen=True)
class Written:
    """What the editor reports: which text it holds, in which version, for which record."""

    key: str
    serial: int
    text: str
    version: int
    action: str = ""
    detail: str = ""
    overtaken: bool = False
    """Whether it was typed over a text that is no longer the newest."""


class QuestionEditor(Element, component="browser/question_editor.js", esm={"blindlabel-question": "browser/question"}):
    """The editor. It sends texts as they are typed and actions (keys) with the text at that moment."""

    def __init__(
        self, workspace: Workspace, on_change: Callable[[Written], Any], on_action: Callable[[Written], Any]
    ) -> None:
        super().__init__()
        allowed = [one for one in FUNCTIONS.values() if one.name in offered_functions(workspace)]
        self._props["functions"] = [_offered(one) for one in allowed]
        self._props["keywords"] = ["ret", "true", "false"]
        self._props["attributes"] = [
            {"label": name, "access": attribute_access(name)} for name in workspace.agreement.attributes
        ]
        self._props["label"] = "Question about the other record"
        for place, keys in (("keys", KEYS), ("listKeys", LIST_KEYS)):
            self._props[place] = {name: key for name, (key, _) in keys.items()}
        self._props["annotating"] = False
        self._props["awaited"] = 0
        self._asked: deque[tuple[str, str, int]] = deque()
        self._on_action, self._replaced = on_action, 0
        self.is_behind = False
        """Whether the newest text that was put in has not come back yet: what comes before it is older."""
        self.on("change", lambda event: on_change(self._written(event)))
        self.on("action", self._acted)
        self.on("ask", lambda event: self.act(event.args["name"], event.args["detail"]))

    def load(
        self, key: str, serial: int, text: str, words: Sequence[str], diagnostics: Sequence[Diagnostic], *, fixed: bool
    ) -> None:
        """Begin with a text and its findings, without the history of the previous one. What the editor reports about it
        carries the serial number, so that reports still under way are not mistaken for it. It is there as soon as the
        record is seen, so that what is typed before the text has come is not lost.
        """
        show_in(self, awaited=serial)
        self.is_behind = False
        self.run_method("load", key, serial, text, list(words), fixed, [one.to_json() for one in diagnostics])

    def replace(self, text: str, *, quietly: bool = False) -> None:
        """Put another text in, so that it can be undone; quietly: without taking the focus."""
        self._replaced, self.is_behind = self._replaced + 1, True
        self.run_method("replace", text, quietly, self._replaced)

    def act(self, name: str, detail: str = "") -> None:
        """Let the editor report an action, with its text after everything that it was given before. One waits until
        what the one before it has done is shown, so keys may be pressed as fast as one likes; the action carries the
        serial number of the record for which it was asked. Without a name: what is under way was lost with the
        connection, and holds up nothing.
        """
        if not name:
            self._asked.clear()
            return
        self._asked.append((name, detail, self._props["awaited"]))
        if len(self._asked) == 1:
            self.run_method("act", name, detail)

    async def _acted(self, event: GenericEventArguments) -> None:
        if not self._asked:
            return
        asked = self._asked[0]
        try:
            await self._on_action(replace(self._written(event), serial=asked[2]))
        finally:
            if self._asked and self._asked[0] is asked:
                self._asked.popleft()
                if self._asked:
                    self.run_method("act", *self._asked[0][:2])

    def _written(self, event: GenericEventArguments) -> Written:
        told = event.args
        self.is_behind = told["replaced"] != self._replaced
        action, detail = str(told.get("name", "")), str(told.get("detail", ""))
        known = (str(told["key"]), int(told["serial"]), str(told["text"]), int(told["version"]))
        return Written(*known, action, detail, bool(told.get("overtaken", False)))

    def show(self, version: int, diagnostics: Sequence[Diagnostic]) -> None:
        """Mark findings in the text of this version."""
        self.run_method("show", version, [one.to_json() for one in diagnostics])

    def kept(self, written: Written) -> None:
        """The text of this version is safe on disk."""
        self.run_method("kept", written.key, written.version)

    def listen(self, *, annotating: bool) -> None:
        """Which keys are heard: those of the annotation or those of the list. It reaches the browser together with what
        is shown, so that no key is lost that is pressed as soon as it appears.
        """
        if self._props["annotating"] != annotating:
            show_in(self, annotating=annotating)


def offered_functions(workspace: Workspace) -> set[str]:
    """The functions that questions of this study can use."""
    encoding = workspace.agreement.encoding
    forms = {"lower", "upper", "choose"} | ({"common_words"} if "has_word" in encoding.functions else set())
    return set(encoding.functions) | forms


def _offered(function: Function) -> dict[str, object]:
    """A function for completion: what is inserted, and where the cursor goes."""
    written = []
    for parameter in function.parameters:
        if parameter.clear:
            written.append('""' if parameter.type.value == "text" else "1")
        else:
            written.append("$r" if not parameter.any_type and parameter.type.value == "text" else "")
    template = f"{function.name}({', '.join(written)})"
    place = template.find('""')
    cursor = place + 1 if place >= 0 else len(template) if "$r" in written else len(function.name) + 1
    told = ("name", "signature", "summary", "details", "example")
    return {name: getattr(function, name) for name in told} | {"template": template, "cursor": cursor}


# The verdict


class VerdictPane:
    """Shows the verdict on the question."""

    def __init__(self, workspace: Workspace, judging: Judging) -> None:
        self._workspace, self._judging = workspace, judging
        self._shown: list[Record] = []
        with ui.element("div").classes("verdict").props("role=status aria-live=polite tabindex=-1") as self._root:
            self._headline = text("strong", "")
            self._detail = text("span", "")
            self._says = text("span", "", "says")

    def build_evidence(self) -> None:
        """Build the place for the rows that the question fits."""
        with ui.element("section").classes("pane evidence-pane").props('aria-label="Rows that fit"') as self._rows:
            self._rows_title = text("h3", "")
            self._evidence = EvidenceRows()
        with (
            ui.element("section").classes("pane evidence-pane").props('aria-label="Imagined records"') as self._made_up
        ):
            text("h3", "Imagined from your table: what differs from your record is marked")
            self._imagined = EvidenceRows("Try", lambda place: self.tried.edit(self._shown[place].attributes))
            text("p", level_of(self._workspace).sentence, "quiet")
        self.tried = TriedPane(self._workspace)

    def clear(self, sentence: str = "No question yet.") -> None:
        """Show that nothing is known about the question."""
        self._headline.text, self._detail.text, self._says.text = "", sentence, ""
        self._root.classes(replace="verdict")
        self._rows.set_visibility(False)
        self._made_up.set_visibility(False)
        self.tried.show(None, None)

    def show(self, verdict: Verdict, own: OwnRecord, question: Question) -> None:
        """Show a verdict with its evidence, and what the question says in a sentence."""
        capitals = capitals_of(question.usable(), own.prepared) if verdict.kind == "not-itself" else ""
        self._headline.text = verdict.headline
        self._detail.text = f"{verdict.detail} {capitals}".rstrip()
        self._says.text = "" if question.chain is None else sentence_of(question.chain, own.prepared)
        imagined, self._shown = imagined_of(verdict, own.prepared), [*verdict.missed, *verdict.passing]
        self.tried.show(own, question)
        self._imagined.show(imagined, "")
        self._made_up.set_visibility(bool(imagined))
        self._root.classes(replace=f"verdict verdict-{verdict.level}")
        self._rows.set_visibility(bool(verdict.also))
        if verdict.also:
            self._rows_title.text = f"{counted(verdict.others, 'other row')} of yours that it fits"
            (records, ids), atoms = self._judging.rows, atoms_of(question.usable())
            self._evidence.show(
                [{"id": ids[place], "attributes": marked(records[place], atoms)} for place in verdict.also],
                f"and {verdict.others - len(verdict.also):,} more" if verdict.others > len(verdict.also) else "",
            )


def capitals_of(formula: Formula, own: Record) -> str:
    """Says which text the record has that differs only in capitals, if a question misses it for that reason."""
    for atom in atoms_of(formula):
        small = tuple(value.lower() if isinstance(value, str) else value for value in atom.arguments)
        ignoring = Atom(atom.function, small, replace(atom.view, case="lower"))
        if atom.view.case == "exact" and not evaluate(atom, own) and evaluate(ignoring, own):
            return f"Your record has {call_of(ignoring)}: only the capitals differ. lower(…) ignores them."
    return ""


def imagined_of(verdict: Verdict, own: Record) -> list[dict[str, Any]]:
    """Imagined partners that a question misses, and others that it lets pass, if the rows of the table do not say
    enough.
    """
    if verdict.kind in ("always", "never", "not-itself", "loose"):
        return []
    shown = [(f"Partner {number}: missed", one) for number, one in enumerate(verdict.missed, 1)]
    shown += [(f"Another {number}: let pass", one) for number, one in enumerate(verdict.passing, 1)]
    return [{"id": said, "attributes": marked_apart(own, one)} for said, one in shown]


def record_with_hits(own: OwnRecord, formula: Formula) -> list[dict[str, object]]:
    """One of the owner's records with what its question finds in it."""
    found = marked(own.prepared, atoms_of(formula))
    for one in found:
        raw = own.row.get(str(one["name"]), "")
        one["raw"] = raw if is_another(raw, own.prepared.attributes[str(one["name"])]) else ""
    return found


# The truth, in practice

MOST_WRONG = 3
"""How many wrong records are shown."""


class TruthPane:
    """The truth about a saved question, and a better one to take."""

    def __init__(self, on_take: Callable[[str], Any]) -> None:
        self._on_take, self._better = on_take, ""
        self.told = ""
        """The question about which the truth is shown."""
        with (
            ui.element("section")
            .classes("pane evidence-pane truth")
            .props('aria-label="The truth" aria-live=polite') as self._root
        ):
            self._title = text("h3", "")
            self._rows = EvidenceRows()
            self._better_text = text("p", "")
            self._take = button("Take it", lambda: self._on_take(self._better))
            text("p", "Change the question and save it again, or press Ctrl+Enter for the next record.", "quiet")
        self.clear()

    def clear(self) -> None:
        """Show nothing until a question is saved."""
        self.told = ""
        self._root.set_visibility(False)

    def show(self, told: tuple[PractisedTruth, Question | None], own: OwnRecord, question: str) -> None:
        """Show what a saved question does."""
        truth, better = told
        self.told, self._better = question, better.text if better is not None else ""
        self._title.text = truth.sentence
        shown = [("Partner: " + ("found" if truth.found else "missed"), truth.partner)]
        shown += [(f"Wrong {number}: let pass", one) for number, one in enumerate(truth.passed[:MOST_WRONG], 1)]
        rows = [{"id": said, "attributes": marked_apart(own.prepared, one)} for said, one in shown]
        more = len(truth.passed) - MOST_WRONG
        self._rows.show(rows, f"and {more:,} more" if more > 0 else "")
        chain = better.chain if better is not None else None
        none = "" if truth.is_right else "Nothing that the app would offer does better."
        self._better_text.text = none if chain is None else f"A better one: {sentence_of(chain, own.prepared)}"
        self._take.set_visibility(chain is not None)
        reveal(self._root)


VIEW = "web_view"
MOST_FINDINGS = 5


class QuestionPane:
    """The question of one record, in both views."""

    def __init__(self, app: OwnerApp, on_typed: Callable[[Written], Any], on_acted: Callable[[Written], Any]) -> None:
        self._app = app
        self._counts = app.workspace.agreement.limits.total_weight > 1  # else no two conditions can have points
        self._as_points = self._counts and app.workspace.remembered(VIEW) != "text"
        self._words: RecordWords | None = None
        with ui.element("section").classes("pane question").props('aria-label="Question"'):
            with ui.element("div").classes("criteria-pinned"):
                text("strong", "When two records match")
                text("p", app.workspace.agreement.criteria, "criteria").props("tabindex=0")
            with ui.element("div").classes("views").props('role=group aria-label="View"') as views:
                self._points_button = key_button("Points", "", lambda: self.switch(as_points=True))
                self._text_button = key_button("Text", "", lambda: self.switch(as_points=False))
                text("kbd", KEYS["view"][0])
                self._asked = text("span", "", "quiet")
            views.set_visibility(self._counts)
            # An element that is hidden itself is not heard, so the editor is hidden by the element around it.
            with ui.element("div") as self._text_view:
                self.editor = editor = QuestionEditor(app.workspace, on_typed, on_acted)
            on_text = partial(editor.replace, quietly=True)
            self.points = PointsView(app.workspace, app.judging, on_text, editor.run_method)
            with (
                ui.element("div").classes("findings").props("role=status aria-live=polite aria-label=Findings") as found
            ):
                self._findings = found
            self.verdict = VerdictPane(app.workspace, app.judging)
            self._why = text("p", "", "why")
            self._build_confirmation()
            self._build_buttons()
        self._show_view()

    def _build_buttons(self) -> None:
        with ui.element("div").classes("actions").props('role=group aria-label="Actions"') as self._actions:
            named = {"save-next": "Save and next", "save": "Save", "suggest": "Suggest", "compare": "Compare"}
            for name, label in named.items():
                key_button(label, name, partial(self.editor.act, name), "main" if name == "save-next" else "outline")
            key_button("Discard", "discard", partial(self.editor.act, "discard"))
        self._fixed = text("p", "", "reason")
        self._fixed.set_visibility(False)

    def _build_confirmation(self) -> None:
        with ui.element("div").classes("confirmation").props("role=alert") as self._confirmation:
            self._confirmation_text = text("span", "")
        self._confirmation.set_visibility(False)

    # The two views

    def switch(self, *, as_points: bool | None = None, focus: bool = True) -> None:
        """Show the question as points or as text; by default, the other one."""
        self._as_points = self._counts and (not self._as_points if as_points is None else as_points)
        self._app.workspace.remember(VIEW, "points" if self._as_points else "text")
        self._show_view()
        if focus:
            self.focus()

    def _show_view(self) -> None:
        self.points.set_visibility(self._as_points)
        self._text_view.set_visibility(not self._as_points)
        self._asked.text = f"Asked of every record of the other side{'' if self._as_points else ', which is $r'}."
        for one, pressed in ((self._points_button, self._as_points), (self._text_button, not self._as_points)):
            one.props(f"aria-pressed={'true' if pressed else 'false'}")
            one.classes(**({"add": "pressed"} if pressed else {"remove": "pressed"}))

    def focus(self) -> None:
        """Put the cursor where the person writes."""
        self.editor.run_method("focusElement", ".points-new" if self._as_points else ".cm-content")

    # What is shown

    def load(
        self, key: str, serial: int, question: str, own: OwnRecord, words: RecordWords, fixed: str
    ) -> Question | None:
        """Begin with a record's question; `fixed` says why it cannot be changed."""
        self._words = words
        checked = self._app.cache.check(question) if question.strip() else None
        offered = completion_words(own, self._app.workspace.agreement.terms().case == "lower")
        self.points.open(own, offered, question, "/".join(key.split("/")[-2:]), fixed=bool(fixed))
        self.verdict.clear("")
        self.verdict.tried.show(own, checked)
        self.editor.load(key, serial, question, offered, checked.problems if checked else (), fixed=bool(fixed))
        self._actions.set_visibility(not fixed)
        self._fixed.text = fixed
        self._fixed.set_visibility(bool(fixed))
        self.explain("")
        self.confirm("")
        return checked

    def show(self, question: str, checked: Question | None, version: int | None = None) -> None:
        """Show what was found in a text; the verdict follows."""
        if not self.editor.is_behind:
            self.points.show(question, checked)
        formula = checked.formula if checked is not None else None
        if self._words is not None:
            self._words.underline(atoms_of(formula) if formula is not None else ())
        self._findings.clear()
        if checked is None:
            self.verdict.clear()
            return
        if formula is None:
            self.verdict.clear("It cannot be asked yet.")
        if version is not None:
            self.editor.show(version, checked.problems)
        with self._findings:
            for one in checked.problems[:MOST_FINDINGS]:
                start = one.span.start
                finding = ui.button(color=None, on_click=lambda start=start: self._go(start)).props(
                    "no-caps flat dense align=left"
                )
                with finding.classes(f"finding finding-{one.severity}"):
                    text("span", f"Line {one.span.line}, column {one.span.column}", "place")
                    text("span", one.message + (f" {one.hint}" if one.hint else ""))
            if len(checked.problems) > MOST_FINDINGS:
                text("span", f"and {len(checked.problems) - MOST_FINDINGS} more", "place")

    def _go(self, start: int) -> None:
        self.switch(as_points=False, focus=False)  # what is typed at once must not come before the cursor is there
        self.editor.run_method("go", start)

    def explain(self, why: str) -> None:
        """Say why a question was suggested."""
        self._why.text = why
        self._why.set_visibility(bool(why))

    def confirm(self, sentence: str) -> None:
        """Ask once more before saving; with an empty sentence there is nothing to ask."""
        self._confirmation_text.text = sentence
        self._confirmation.set_visibility(bool(sentence))
