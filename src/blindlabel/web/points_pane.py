"""The points view of a question: the same question as the text, one line per condition. The text is what is kept; this
shows it as points, but not, unless, if it is such a chain, and rewrites it when a person changes something here. What a
click does to the question comes first, in pure functions over `Chain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from nicegui.element import Element

from blindlabel.language import Question
from blindlabel.language.chain import Chain, Condition, Term, term_text, text_of
from blindlabel.language.formula import Atom
from blindlabel.language.in_words import asked_in_words
from blindlabel.language.record import View
from blindlabel.language.suggestions import Suggestion
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.storage.workspace import Workspace
from blindlabel.web.components import KEYS, show_in
from blindlabel.web.judging import Judging
from blindlabel.web.record_pane import asked_for, view_for

MOST_POINTS = 9
MOST_CONDITIONS = 30
NOTHING = Chain((), 1)
"""The question that says no to everything: the starting point."""

Others = Callable[[tuple[Term, ...]], int | None]
"""In how many other rows of the table any of these terms holds; None while the table is being read."""


def words_of(atom: Atom) -> str | None:
    """What a predicate looks for, if that is one text."""
    texts = [value for value in atom.arguments if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else None


# What the browser gets


def view_of(points: Chain, others: Others, reasons: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The question line by line; `reasons` say why a suggested condition is there, by how it is written."""
    why = reasons or {}
    return {
        "conditions": [
            _line(condition.any_of, others, why)
            | {"points": condition.points, "enough": condition.points >= points.bar}
            for condition in points.conditions
        ],
        "exclusions": [_chip(term, others, why) for term in points.exclusions],
        "unless": [_chip(term, others, why) for term in points.unless],
        "bar": points.bar,
        "total": points.total,
        "enough": [summary_of(condition) for condition in points.conditions if condition.points >= points.bar]
        if len(points.conditions) > 1
        else [],
    }


def _chip(term: Term, others: Others, why: Mapping[str, str]) -> dict[str, Any]:
    return _line((term,), others, why) | {"summary": summary_of(Condition((term,)))}


def _line(terms: tuple[Term, ...], others: Others, why: Mapping[str, str]) -> dict[str, Any]:
    atom, single = terms[0][0], len(terms) == len(terms[0]) == 1
    text = " or ".join(term_text(term, plain=True) for term in terms)
    return {
        "function": atom.function if single else "any of",
        "words": words_of(atom) if single else None,
        "field": atom.view.attribute or "",
        "text": text,
        "why": why.get(text, ""),
        "others": others(terms),
    }


def summary_of(condition: Condition) -> str:
    """What a condition asks for, in a few words."""
    return asked_in_words(condition)


def summary(points: Chain) -> str:
    """A question in one line: `4 for "vm400s", 2 for "sanus": 5 points are enough; not "tv"; unless "wall"`."""
    asked = ", ".join(f"{one.points} for {summary_of(one)}" for one in points.conditions) or "no condition"
    needed = f"{points.bar} point{'s are' if points.bar != 1 else ' is'} enough"
    below = [
        f"; {name} {', '.join(summary_of(Condition((term,))) for term in terms)}"
        for name, terms in (("not", points.exclusions), ("unless", points.unless))
        if terms
    ]
    return f"{asked}: {needed}{''.join(below)}"


# What a person does


def edited(points: Chain, edit: Mapping[str, Any], view: Callable[[str], View]) -> Chain:
    """The question after one edit in the points view. `view` gives the view of a field (or of the whole record)."""
    kind, place = edit["kind"], int(edit.get("place", 0))
    if kind == "bar":
        return replace(points, bar=min(max(1, int(edit["value"])), max(1, points.total)))
    if kind == "include-not":
        left = _without(points.exclusions, place)
        return replace(points, exclusions=left, unless=points.unless if left else ())
    if kind == "drop-unless":
        return replace(points, unless=_without(points.unless, place))
    if not 0 <= place < len(points.conditions):
        return points
    if kind == "remove":
        return within(replace(points, conditions=_without(points.conditions, place)))
    condition = points.conditions[place]
    if kind == "points":
        condition = replace(condition, points=min(max(1, int(edit["value"])), MOST_POINTS))
    elif kind == "change":
        condition = replace(condition, any_of=((_changed(condition.any_of[0][0], edit, view),),))
    return within(replace(points, conditions=(*points.conditions[:place], condition, *points.conditions[place + 1 :])))


def _without(parts: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return parts[:place] + parts[place + 1 :]


def _changed(atom: Atom, edit: Mapping[str, Any], view: Callable[[str], View]) -> Atom:
    """The predicate with another function, text or field; its other arguments stay if they fit."""
    words, function = str(edit["words"]), str(edit["function"])
    arguments = (
        tuple(words if isinstance(value, str) else value for value in atom.arguments)
        if function == atom.function
        else (words,)
    )
    field = str(edit["field"])
    return Atom(function, arguments, atom.view if field == (atom.view.attribute or "") else view(field))


def within(points: Chain) -> Chain:
    """The question with a bar no higher than all points together, so that it can say yes at all."""
    return replace(points, bar=max(1, min(points.bar, points.total))) if points.conditions else replace(points, bar=1)


def place_of(points: Chain, word: str) -> int | None:
    """Which condition asks for exactly this word."""
    for place, condition in enumerate(points.conditions):
        if len(condition.atoms) == 1 and words_of(condition.atoms[0]) == word:
            return place
    return None


def points_for(others: int | None, rows: int, word: str) -> int:
    """What a clicked word is worth: the rarer in the owner's rows, the more; codes with digits most."""
    if others is None:
        return 1
    if others == 0:
        return 4 if any(character.isdigit() for character in word) and len(word) > 3 else 3
    return 2 if others <= max(2, rows // 100) else 1


def sensible_bar(points: Chain, most_of_others: int) -> int:
    """A bar for a question made of clicked words: more than any other row of the table has, and at least half of the
    points, so that a misspelt word costs nothing.
    """
    if len(points.conditions) == 1:
        return points.total
    return max(1, min(points.total, max(most_of_others + 1, -(-points.total // 2))))


# What changed


def difference(before: Chain, after: Chain) -> str:
    """What another question does differently, in words; the whole of it where that is shorter."""
    was, now = ({summary_of(one): one.points for one in chain.conditions} for chain in (before, after))
    said = [f"without {words}" for words in was if words not in now]
    said += [f"with {words} ({points})" for words, points in now.items() if words not in was]
    said += [f"{words} {was[words]} → {now[words]}" for words in now if words in was and was[words] != now[words]]
    if before.bar != after.bar:
        said.append(f"enough: {before.bar} → {after.bar}")
    for name, old, new in (("not", before.exclusions, after.exclusions), ("unless", before.unless, after.unless)):
        had, has = ([summary_of(Condition((term,))) for term in terms] for terms in (old, new))
        said += [f"{name}: {words}" for words in has if words not in had]
        said += [f"no longer {name}: {words}" for words in had if words not in has]
    told = "; ".join(said) or ("the same" if before == after else "written differently")
    return min(told, summary(after), key=len) if len(said) > 2 else told


# The view

LABELS = {
    "is_in": "contains",
    "has_word": "has the word",
    "equals": "is exactly",
    "starts_with": "starts with",
    "ends_with": "ends with",
    "sounds_like": "sounds like",
}
_VIEW = KEYS["view"][0]
NO_POINTS = f"This question cannot be shown as points, so it stays text. {_VIEW} shows it."
NO_QUESTION = f"The text cannot be read as a question yet. {_VIEW} shows it, with what is wrong."


class PointsView(Element, component="browser/points_view.js"):
    """A question as lines with points. Gives a new text of the question to the handler whenever it is changed here."""

    def __init__(
        self, workspace: Workspace, judging: Judging, on_text: Callable[[str], Any], on_undo: Callable[[str], Any]
    ) -> None:
        super().__init__()
        self._workspace, self._judging, self._on_text = workspace, judging, on_text
        self._own: OwnRecord | None = None
        self._points: Chain | None = NOTHING
        self._reasons: dict[str, str] = {}
        self._place, self._remembered = "", ""
        self._follows: dict[str, bool] = {}
        """For each text that was shown: whether its bar follows the words and their points, or was set and stays."""
        terms = workspace.agreement.terms()
        offered = [{"name": name, "label": label} for name, label in LABELS.items() if name in terms.functions]
        fields = list(workspace.agreement.attributes) if terms.encode_attributes else []
        self._props["functions"] = offered
        self._props["fields"] = ["", *fields] if terms.encode_whole else fields
        self._props["mayExclude"] = terms.exclusions > 0
        self._props["mayUnless"] = terms.unless > 0
        self._show(fixed=True, problem="")
        self.on("edit", lambda event: self._edit(event.args))
        self.on("undo", lambda event: on_undo(str(event.args)))

    def open(self, own: OwnRecord, words: list[str], text: str, place: str, *, fixed: bool) -> None:
        """Begin with another record and its question; `place` is the name under which it is kept whether the bar
        follows.
        """
        self._own, self._place, self._reasons = own, f"web_follows/{place}", {}
        self._remembered = self._workspace.remembered(self._place) or ""
        self._follows = {text: self._remembered == text}
        self._props["fixed"], self._props["words"], self._props["record"] = fixed, words, place
        self._offer(None)

    def explain(self, suggestion: Suggestion) -> None:
        """Say at each line why it was suggested."""
        self._reasons = {reason.condition: reason.sentence for reason in suggestion.reasons}

    def show(self, text: str, checked: Question | None) -> None:
        """Show a question. One that was written here but has an error stays as it is shown."""
        if not text.strip():
            self._points, self._follows[text] = NOTHING, True
        elif checked is not None and checked.formula is not None:
            self._points = checked.chain
        elif self._points is None or text != self._written(self._points):
            self._points = None
        self._props["follows"] = self._follows.setdefault(text, False)
        if self._own is not None and not self._props["fixed"]:
            self._remember(text)
        problem = "" if self._points is not None else NO_QUESTION if checked is None or not checked.ok else NO_POINTS
        self._show(fixed=bool(self._props["fixed"]), problem=problem)

    def _show(self, *, fixed: bool, problem: str) -> None:
        own, judging = self._own, self._judging
        points = self._points or NOTHING
        shown = view_of(points, lambda asked: judging.others(own, asked) if own is not None else None, self._reasons)
        show_in(self, fixed=fixed, problem=problem, **shown)

    def _written(self, points: Chain) -> str:
        return text_of(points, lowered=self._workspace.agreement.terms().case == "lower")

    def _remember(self, text: str) -> None:
        """Keep whether the bar follows, for when the person comes back; the text says for which question."""
        kept = text if self._follows[text] else ""
        if kept != self._remembered:
            self._remembered = kept
            self._workspace.remember(self._place, kept)

    def _put(self, points: Chain, *, follows: bool | None = None) -> None:
        """Write this question; the bar changes with it if it follows."""
        goes = bool(self._props["follows"]) if follows is None else follows
        self._points = self._with_bar(points) if goes else within(points)
        some = self._points.conditions or self._points.exclusions
        text = self._written(self._points) if some else ""
        self._follows[text] = goes
        self._props["follows"] = goes
        self._offer(None)
        self._on_text(text)

    def _offer(self, offer: dict[str, str] | None) -> None:
        """Offer to ask in pieces for what is too long for one condition; nothing is left out silently."""
        show_in(self, offer=offer)

    # What a person does

    def _edit(self, edit: Mapping[str, Any]) -> None:
        if self._points is None or self._own is None or self._props["fixed"]:
            return
        kind = edit["kind"]
        if kind in ("add", "exclude", "unless"):
            self._add(str(edit["words"]), str(edit.get("field", "")), where=kind, apart=bool(edit.get("apart")))
        else:
            follows = {"bar": False, "follow": True}.get(kind)
            self._put(self._points if follows else edited(self._points, edit, self._view), follows=follows)

    def _view(self, field: str) -> View:
        return view_for(self._workspace, field)

    def _add(self, words: str, attribute: str = "", *, where: str = "add", apart: bool = False) -> None:
        assert self._points is not None and self._own is not None
        term, points = asked_for(words, attribute, self._workspace), self._points
        if len(term) > 1 and not apart:
            self._offer(offer_of(words, attribute, term, where))
        elif where == "exclude":
            self._put(replace(points, exclusions=(*points.exclusions, term)))
        elif where == "unless":
            self._put(replace(points, unless=(*points.unless, term)) if points.exclusions else points)
        else:
            asked = points.conditions
            if len(asked) == 1 and self._props["follows"]:
                asked = (self._weighed(asked[0].any_of),)  # a text with one condition has no points to keep
            more = (self._weighed(((atom,),)) for atom in term)
            self._put(replace(points, conditions=(*asked, *more)[:MOST_CONDITIONS]))

    def _weighed(self, asked: tuple[Term, ...]) -> Condition:
        """A condition with the points that it is worth by the owner's table."""
        assert self._own is not None
        rows = len(self._judging.rows[0]) if self._judging.ready else 0
        word = words_of(asked[0][0]) or ""
        return Condition(asked, points_for(self._judging.others(self._own, asked), rows, word))

    def _with_bar(self, points: Chain) -> Chain:
        """The bar as the words and their points suggest it."""
        if not points.conditions:
            return within(points)
        assert self._own is not None
        most = self._judging.most_points(self._own, points) if self._judging.ready else 0
        return replace(points, bar=sensible_bar(points, most))

    def click(self, word: str, attribute: str) -> bool:
        """A word of the record was clicked: ask for it, or no longer. False if the question is of another kind."""
        if self._points is None:
            return False
        term, kept = asked_for(word, attribute, self._workspace), self._points
        for atom in term:
            place = place_of(kept, str(atom.arguments[0]))
            kept = kept if place is None else edited(kept, {"kind": "remove", "place": place}, self._view)
        if kept == self._points:
            self._add(word, attribute)
        else:
            self._put(kept)
        return True


def offer_of(words: str, attribute: str, term: Term, where: str) -> dict[str, str]:
    """What to say about a text that is too long for one condition, and its pieces."""
    pieces = " and ".join(f"“{atom.arguments[0]}”" for atom in term)
    said = f"“{words}” is too long for one condition ({len(words)} characters). Ask for {pieces}?"
    asked = f"Add {len(term)} conditions" if where == "add" else f"Add, all {len(term)} together"
    return {"kind": where, "words": words, "field": attribute, "said": said, "button": asked}
