"""What is to be thought of a question before it is asked, and suggestions: what is made from the owner's whole table
and therefore not at once. What a question says about the owner's own rows is worked out in `language.suggestions`; here
it gets a name, a colour and a sentence.

Nobody sees the other side's records, but the owner's own rows are nearly always *other* things: a question that fits
one of them as well is likely to fit a wrong record over there. One count everywhere, on the page as in the log:
`others` are the owner's rows that a question fits *besides* its own record.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Literal

import numpy as np
import numpy.typing as npt

from blindlabel.engines.interface import EngineError
from blindlabel.engines.registry import rules_named
from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Record
from blindlabel.language.chain import Chain, Term
from blindlabel.language.formula import Atom, Bits, Constant, Count, Formula, Negation, in_order
from blindlabel.language.suggestions import Suggester, Suggestion, Verdict
from blindlabel.parties.joining import own_table
from blindlabel.parties.questions import check_question, suggester_for
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.workspace import Workspace

# Verdicts in words

VerdictKind = Literal["only", "others", "loose", "not-itself", "never", "always"]
RISKIEST: tuple[VerdictKind, ...] = ("always", "never", "not-itself", "loose", "others", "only")
"""All kinds, the worst first."""
MOST_FITS = 5
"""Above this many other rows a question is too loose."""


@dataclass(frozen=True)
class Judged:
    """How a question fits its own record and the owner's other rows."""

    kind: VerdictKind
    others: int
    rows: int
    """How many other rows there are."""
    also: tuple[int, ...] = ()
    """The first of the other rows that it fits."""

    @property
    def level(self) -> Literal["good", "warn", "bad"]:
        """How it is shown."""
        return "good" if self.kind == "only" else "warn" if self.kind == "others" else "bad"

    @property
    def brief(self) -> str:
        """In a few words, for a column."""
        return self._filled(_WORDS[self.kind][0])

    @property
    def headline(self) -> str:
        """What the page says first."""
        return self._filled(_WORDS[self.kind][1])

    @property
    def detail(self) -> str:
        """And what it says then."""
        return self._filled(_WORDS[self.kind][2])

    def _filled(self, words: str) -> str:
        fits = f"It fits {f'{self.others:,}' if self.others else 'none'} of the {self.rows:,} other rows of your table"
        return words.format(n=self.others, plural="" if self.others == 1 else "s", rows=self.rows, fits=fits)


_WORDS: dict[VerdictKind, tuple[str, str, str]] = {
    "only": ("only this", "Only this record", "{fits}."),
    "others": ("also {n:,} other{plural}", "Also {n:,} other{plural} of yours", "{fits}; probably other things."),
    "loose": (
        "{n:,} others",
        "{n:,} of {rows:,} others: far too loose",
        "{fits}. Ask for something rarer, or for more points.",
    ),
    "not-itself": ("not itself", "Not even this one", "It says no to the record that it was written for. {fits}."),
    "never": ("always no", "Always no", "It says no to every record, whatever that record says."),
    "always": ("always yes", "Always yes", "It says yes to every record, whatever that record says."),
}
"""For each kind of verdict: in a few words, what the page says first, and what it says then."""


def judged(verdict: Verdict, formula: Formula) -> Judged:
    """The verdict about a question with its name."""
    rows = max(0, verdict.rows - 1)
    kind: VerdictKind = "only" if not verdict.others else "others"
    if isinstance(formula, Constant):
        kind = "always" if formula.value else "never"
    elif verdict.itself is False:
        kind = "not-itself"
    elif verdict.others > MOST_FITS or (verdict.others > 1 and 2 * verdict.others >= rows):
        kind = "loose"
    return Judged(kind, verdict.others, rows, verdict.also if kind != "always" else ())


# Costs


def cost_sentence(formula: Formula, workspace: Workspace | None = None) -> str:
    """What a question costs, in words. On the packed engine all questions of a round run together in a time that the
    agreement fixes, so that nobody learns from it what was asked; that time is said as well.
    """
    atoms = counts = negations = 0
    for node in in_order(formula):
        atoms += isinstance(node, Atom)
        counts += isinstance(node, Count)
        negations += isinstance(node, Negation)
    asked = "1 predicate" if atoms == 1 else f"{atoms} predicates"
    extra = [text for number, text in ((counts, "a count"), (negations, "a negation")) if number]
    found = f"{asked} with {' and '.join(extra)}" if extra else asked
    seconds = None if workspace is None else _round_seconds(workspace, formula)
    if seconds is None:
        return found
    return f"{found}; asking all questions of a round takes about {duration(seconds)} on one core"


def _round_seconds(workspace: Workspace, formula: Formula) -> float | None:
    agreement = workspace.agreement
    try:
        plan = rules_named(agreement.encoding.engine).explain(agreement.terms(), formula)
    except EngineError:
        return None
    return None if plan is None else plan.seconds


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds" if round(seconds) != 1 else "1 second"
    return f"{round(seconds / 60)} minutes"


# Both, for one workspace


class Judging:
    """Verdicts and suggestions for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.RLock()
        """The suggester and its table remember what they worked out, so one thread at a time asks them."""
        self._known: dict[tuple[int, str], Judged] = {}
        self.edition = 0
        """Grows whenever a verdict has become known."""
        self.problem = ""
        """Why verdicts are not about the owner's whole table, where they are not."""

    @cached_property
    def _suggester(self) -> Suggester:
        return suggester_for(self._workspace, self.rows[0])

    @cached_property
    def rows(self) -> tuple[Sequence[Record], Sequence[str]]:
        """The rows of the table and their ids; where it cannot be read any more, the sampled records have to do, and
        `problem` says so.
        """
        agreement = self._workspace.agreement
        try:
            table = own_table(self._workspace)
        except (InputError, OutsideError) as error:
            own = self._workspace.records()
            self.problem = f"{error} Until then verdicts and suggestions know your {len(own):,} sampled records alone."
            return [one.prepared for one in own], [one.id for one in own]
        return agreement.recipe.rows(table, agreement.attributes), table.ids

    @property
    def ready(self) -> bool:
        """Whether the table has been read."""
        return "_suggester" in self.__dict__

    def warm_up(self) -> None:
        """Read the table now."""
        with self._lock:
            _ = self._suggester

    # Verdicts

    def verdict(self, own: OwnRecord, text: str, formula: Formula) -> Judged:
        """What is to be thought of a question; reads the table first where that has not been done."""
        known = self._known.get((own.record, text))
        if known is not None:
            return known
        with self._lock:
            made = judged(self._suggester.verdict(formula, own.prepared), formula)
        self._known[(own.record, text)] = made
        self.edition += 1
        return made

    def known_verdict(self, record: int, text: str | None) -> Judged | None:
        """The verdict about a question where it is known already."""
        return self._known.get((record, text)) if text is not None else None

    def judge_all(self, questions: Iterable[tuple[OwnRecord, str]]) -> None:
        """Come to know the verdicts about many questions."""
        for own, text in questions:
            if (own.record, text) not in self._known:
                checked = check_question(self._workspace.agreement, text)
                if checked.formula is not None:
                    self.verdict(own, text, checked.formula)

    def fitting(self, formula: Formula) -> Bits:
        """Which own rows a question fits."""
        with self._lock:
            return self._suggester.table.fitting(formula)

    # Single conditions

    def others(self, own: OwnRecord, terms: Iterable[Term]) -> int | None:
        """In how many other own rows any of these holds; None while the table is being read."""
        return len(self._rows_with(own, terms)) if self.ready else None

    def _rows_with(self, own: OwnRecord, terms: Iterable[Term]) -> npt.NDArray[np.int64]:
        """Other rows than this record, by the suggester's rule: those that say the very same are not others."""
        with self._lock:
            records = self._suggester.table.records
            having = self._suggester.table.rows_with
            held = [reduce(np.intersect1d, [having(atom) for atom in term]) for term in terms]
            found = np.unique(np.concatenate(held))
        whole = Record.of({name: own.prepared.attributes.get(name, "") for name in self._suggester.attributes}).whole
        return np.array([row for row in found.tolist() if records[row].whole != whole], dtype=np.int64)

    def most_points(self, own: OwnRecord, points: Chain) -> int:
        """The most points that another own row has."""
        held = np.zeros(len(self.rows[0]), dtype=np.int64)
        for condition in points.conditions:
            held[self._rows_with(own, condition.any_of)] += condition.points
        return int(held.max(initial=0))

    # Suggestions

    def cost(self, formula: Formula) -> str:
        """What a question costs, in words."""
        return cost_sentence(formula, self._workspace)

    def suggest(self, own: OwnRecord, task: Task) -> Suggestion:
        """A question for one record that can be used as it is."""
        with self._lock:
            previous = [text for _, text in task.previous]
            made = self._suggester.suggest(own.prepared, task.round, previous, loose=task.loose)
        checked = check_question(self._workspace.agreement, made.text)
        if not checked.ok:
            raise InputError(f"The suggestion for {own.id} cannot be used: {checked.problems[0].message}")
        return made

    def neighbours(self, own: OwnRecord, task: Task, points: Chain) -> dict[str, Suggestion]:
        """A question a little looser than this one, and one a little stricter, where there are such."""
        with self._lock:
            looser = self._suggester.looser(points, own.prepared, task.round)
            stricter = self._suggester.stricter(points, own.prepared, task.round)
        return {name: made for name, made in (("Looser", looser), ("Stricter", stricter)) if made is not None}
