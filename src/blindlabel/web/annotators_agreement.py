"""How far several annotators of one owner are, and how far two of them agree about the same record.

Two questions about one record are compared by what they say about the owner's own rows, including that record: the same
figures as between owners, but within one organisation and before anything is asked.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from blindlabel.parties.questions import check_question
from blindlabel.protocol.figures import Tally
from blindlabel.storage.annotations import Team
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import CachedWorkspace
from blindlabel.web.judging import Judging
from blindlabel.web.practice import PracticeResult, practices


@dataclass(frozen=True)
class DoubledStanding:
    """How far two people agree about the records that both are asked about."""

    share: float
    records: int
    both: int
    """Records about which both have saved a question."""
    answers: int
    same_answers: int
    kappa: float | None
    ac1: float | None


@dataclass(frozen=True)
class TeamStanding:
    """How far the annotators of one owner are in this round."""

    names: tuple[str, ...]
    assigned: bool
    saved: dict[str, int]
    """Questions by who saved them."""
    doubled: DoubledStanding
    practice: dict[str, PracticeResult]
    """The results of those who have practised."""


def standing_of(workspace: Workspace, team: Team) -> TeamStanding:
    """Who has saved how many questions of the round, and how far doubled records agree."""
    cache, judging = CachedWorkspace(workspace), Judging(workspace)
    saved = Counter(task.author or "nobody in particular" for task in cache.tasks.values() if task.question is not None)
    saved += Counter(task.author for task in cache.seconds.values() if task.question is not None)
    doubled = [record for record in cache.tasks if team.is_doubled(record)]
    total, both = Tally(), 0
    for record in doubled:
        first, second = cache.tasks[record].question, cache.seconds[record].question
        if first is not None and second is not None:
            both += 1
            total += _compared(workspace, judging, first, second)
    two = DoubledStanding(team.doubled, len(doubled), both, total.pairs, total.agreed, total.kappa, total.ac1)
    practised = {name: one.result() for name, one in practices(workspace).items()}
    return TeamStanding(tuple(team.names), team.assigned, dict(sorted(saved.items())), two, practised)


def _compared(workspace: Workspace, judging: Judging, first: str, second: str) -> Tally:
    answers = []
    for text in (first, second):
        formula = check_question(workspace.agreement, text).formula
        assert formula is not None  # only what can be asked is saved
        answers.append(judging.fitting(formula))
    one, other = answers
    return Tally(
        both=int((one & other).sum()),
        first_only=int((one & ~other).sum()),
        second_only=int((~one & other).sum()),
        neither=int((~one & ~other).sum()),
    )
