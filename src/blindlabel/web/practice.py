"""Practice: eight invented records whose partners are known, on the same screens as a study, and the truth after each
question: whether it finds the partner, who else passes, and what a better question would be. It is reached from the
first page of a study, for each person, or by `blindlabel practice` without one.

Everything lies in a folder of its own: a rehearsal whose two tables are generated, with the truth about them. The
records are drawn from those that have a near relative in the other table (a household, the next model). The result is
worked out from the saved questions whenever somebody looks, so it cannot be out of date.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from blindlabel.language import Question, Record
from blindlabel.language.words import words_of
from blindlabel.parties.joining import own_table
from blindlabel.parties.questions import check_question
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.records.generator import GeneratedTables, Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel.records.proposing import recipe_for
from blindlabel.storage.annotations import Annotations, Visit
from blindlabel.storage.workspace import Workspace
from blindlabel.web.judging import Judging
from blindlabel.web.local_study import CRITERIA, Rehearsal, Wanted

RECORDS, ROWS, GENERATED = 8, 80, 300
"""Records to practise on; rows of the owner's table, those with the nearest relatives; and rows of the other."""
STEPS_LOOKED_AT = 4
"""How far a better question is looked for, each time a little looser or stricter."""
_FOLDER = "practice"
_NAMES = {"persons": "Practice: persons of two hospitals", "products": "Practice: products of two shops"}
_CRITERIA = {
    "persons": CRITERIA,
    "products": (
        "Two records match when they are about the same product. Names may be shortened and prices differ from shop to"
        " shop; another model number means another product."
    ),
}
_OF_PRODUCTS = ("price", "brand", "model", "manufacturer", "product", "category")


def nearer(attributes: Sequence[str]) -> str:
    """The kind of records that is closer to those of a study."""
    named = " ".join(attributes).casefold()
    return "products" if any(word in named for word in _OF_PRODUCTS) else "persons"


@dataclass(frozen=True)
class PractisedTruth:
    """What a question does to the other table."""

    partner: Record
    found: bool
    passed: tuple[Record, ...]
    """Records that are not the partner but get a yes."""

    @property
    def is_right(self) -> bool:
        """Whether the partner is found, and nobody else."""
        return self.found and not self.passed

    @property
    def worth(self) -> tuple[bool, bool, int]:
        """A key by which questions are ranked."""
        return self.is_right, self.found, -len(self.passed)

    @property
    def sentence(self) -> str:
        """In words."""
        wrong = len(self.passed)
        others = (
            "and nobody else" if not wrong else f"but so do {wrong:,} others" if wrong > 1 else "but so does another"
        )
        if self.found:
            return f"Found: the partner gets a yes, {others}."
        passing = "" if not wrong else f" {wrong:,} other{'s get' if wrong > 1 else ' gets'} a yes instead."
        return f"Missed: the partner gets a no.{passing}"


@dataclass(frozen=True)
class PracticeResult:
    """The result of a practice."""

    asked: int
    found: int
    clean: int
    """Questions that let no wrong record pass."""
    records: int = RECORDS

    @property
    def sentence(self) -> str:
        """In words."""
        if not self.asked:
            return "No question yet."
        said = f"{self.found} of {self.asked} partners found; {self.asked - self.clean} of {self.asked} questions let a"
        left = self.records - self.asked
        more = "" if not left else f" {left} records are left." if left > 1 else " 1 record is left."
        return f"{said} wrong record pass.{more}"


class Practice:
    """One person's practice in a folder; made there if there is none, with other settings if they are given."""

    def __init__(self, folder: Path, kind: str = "persons", seed: int = 1, **agreed: Any) -> None:
        self.folder = folder
        if not (folder / "berta").exists():
            self._make(kind, seed, agreed)
        self.workspace = Workspace.open(folder / "anna")
        self.judging = Judging(self.workspace)

    def _make(self, kind: str, seed: int, agreed: dict[str, Any]) -> None:
        made = generate(kind, Size(GENERATED, GENERATED), seed)
        tables = write_tables(_with_relatives(made), self.folder / "tables", replace=True)[:2]
        agreed = {"criteria": _CRITERIA[kind], **agreed}
        Rehearsal(self.folder, Wanted(RECORDS, _NAMES[kind], rounds=1), tables, **agreed).begin()

    @cached_property
    def _others(self) -> dict[str, Record]:
        """The other table, by id."""
        berta = Workspace.open(self.folder / "berta")
        table = own_table(berta)
        return dict(zip(table.ids, berta.agreement.recipe.rows(table, berta.agreement.attributes)))

    @cached_property
    def _partners(self) -> dict[str, str]:
        with (self.folder / "tables" / "matches.csv").open(encoding="utf-8", newline="") as file:
            return {row["id_a"]: row["id_b"] for row in csv.DictReader(file)}

    def truth(self, own: OwnRecord, question: Question) -> PractisedTruth:
        """What this question does to the other table."""
        partner = self._partners[own.id]
        passed = tuple(one for key, one in self._others.items() if key != partner and question(one))
        return PractisedTruth(self._others[partner], question(self._others[partner]), passed)

    def told(self, own: OwnRecord, task: Task) -> tuple[PractisedTruth, Question | None]:
        """The truth about a saved question, and a better one if there is one."""
        question = self._checked(task.question or "")
        better = self.better(own, task, question)
        return self.truth(own, question), self._checked(better) if better else None

    def better(self, own: OwnRecord, task: Task, question: Question) -> str:
        """A question that does more, of those that the app would offer step by step, or empty if none does."""
        texts = [self.judging.suggest(own, replace(task, round=1, previous=())).text]
        for direction in ("Looser", "Stricter"):
            reached = question.chain
            for _ in range(STEPS_LOOKED_AT):
                if reached is None or not reached.conditions:
                    break
                made = self.judging.neighbours(own, task, reached).get(direction)
                texts += [made.text] if made is not None else []
                reached = made.chain if made is not None else None
        tried = {text: self.truth(own, self._checked(text)).worth for text in texts}
        best = max(tried, key=lambda text: tried[text])
        return best if tried[best] > self.truth(own, question).worth else ""

    def _checked(self, question: str) -> Question:
        return check_question(self.workspace.agreement, question)

    def result(self) -> PracticeResult:
        """What the saved questions come to."""
        own = self.workspace.records()
        saved = [(own[task.record], task.question) for task in self.workspace.tasks() if task.question is not None]
        truths = [self.truth(record, self._checked(question)) for record, question in saved]
        return PracticeResult(len(truths), sum(one.found for one in truths), sum(not one.passed for one in truths))


def _with_relatives(made: GeneratedTables) -> GeneratedTables:
    """The tables with only those rows of the first that are most like a record of the second that is not their
    partner.
    """
    recipe = recipe_for((made.a, made.b), made.a.attributes)
    own, others = (
        dict(zip(table.ids, (words_of(one.whole) for one in recipe.rows(table, table.attributes))))
        for table in (made.a, made.b)
    )
    partners = dict(made.matches)

    def likeness(key: str) -> float:
        wrong = [had for one, had in others.items() if one != partners[key]]
        same = others[partners[key]] in wrong  # nothing could tell that one from the partner
        return 0.0 if same else max(len(own[key] & had) / len(own[key] | had) for had in wrong)

    kept = set(sorted(own, key=likeness)[-ROWS:])
    rows = [(key, row) for key, row in zip(made.a.ids, made.a.rows) if key in kept]
    table = replace(made.a, ids=tuple(key for key, _ in rows), rows=tuple(row for _, row in rows))
    return GeneratedTables(table, made.b, tuple(pair for pair in made.matches if pair[0] in kept))


# In a study's workspace, one practice for each person


def practice_folder(workspace: Workspace, name: str) -> Path:
    """Where somebody's practice is, or would be."""
    return workspace.folder / _FOLDER / hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


def practices(workspace: Workspace) -> dict[str, Practice]:
    """Everybody who has practised, with the practice."""
    found = [
        Practice(folder) for folder in sorted((workspace.folder / _FOLDER).glob("*")) if (folder / "berta").exists()
    ]
    return {visits[0].annotator: one for one in found if (visits := Annotations(one.workspace).log())}


def visits_of_practice(workspace: Workspace) -> list[tuple[Visit, str]]:
    """What people did while they practised, as round 0, with the id of the invented record."""
    return [
        (replace(visit, round=0), own[visit.record].id)
        for one in practices(workspace).values()
        for own in [one.workspace.records()]
        for visit in Annotations(one.workspace).log()
    ]
