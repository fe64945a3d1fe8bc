"""People's questions asked again: a prepared study's questions, from folders or workspaces, through any engine.

An owner's questions are looked for in `questions/<owner>` of the prepared folder (or of the folder that is named
instead), exported or written by hand, and else in the workspace there. Labels follow by the rules and the settings of
the agreement, so the plain engine gives what the study itself gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError
from blindlabel.language import Record, render
from blindlabel.parties.question_folders import files_of_round, is_exported, question_text, read_folder
from blindlabel.parties.questions import check_question
from blindlabel.storage.annotations import questions_asked
from blindlabel.storage.workspace import Workspace
from blindlabel_lab.experiments import describing
from blindlabel_lab.experiments.prepared import OWNERS, Prepared, read_prepared
from blindlabel_lab.experiments.quality import Advance, Plan, of_each, run_sample
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.simulation import Run, check_engine, needles_of

Texts = Mapping[tuple[int, int], str]
"""By round and row of the owner's table."""


def texts_of(prepared: Prepared, side: int, questions: Path | None = None) -> Texts:
    """One owner's questions."""
    owner = OWNERS[side]
    folder = (questions or prepared.folder / "questions") / owner
    if folder.is_dir():
        return _exported(prepared, folder) if is_exported(folder) else _by_hand(prepared, side, folder)
    if questions is None and (prepared.folder / owner / "workspace.sqlite").exists():
        asked = questions_asked(Workspace.open(prepared.folder / owner))
        return {(one.round, one.position): one.text for one in asked}
    raise InputError(
        f"There are no questions of {owner} in {folder}. Write them there: blindlabel owner questions export --at"
        f" WORKSPACE --to {folder}"
    )


def _exported(prepared: Prepared, folder: Path) -> Texts:
    found = read_folder(folder)
    if found.agreement.hash != prepared.agreement.hash:
        raise InputError(f"The questions in {folder} are of another study ({found.agreement.name}).")
    return {(one.round, one.position): one.text for one in found.questions}


def _by_hand(prepared: Prepared, side: int, folder: Path) -> Texts:
    ids = prepared.dataset.tables[side].ids
    texts = {}
    for number in range(1, prepared.agreement.rounds + 1):
        files = files_of_round(folder, number)
        for position in (prepared.sample.a, prepared.sample.b)[side]:
            path = files.get(ids[position]) or files.get(str(position))
            if path is not None:
                texts[number, position] = question_text(path)
    return texts


class Written:
    """An oracle that asks what somebody wrote."""

    def __init__(self, prepared: Prepared, side: int, texts: Texts) -> None:
        self._prepared, self._side, self._texts = prepared, side, texts
        rows = (prepared.sample.a, prepared.sample.b)[side]
        self._positions = {id(prepared.dataset.records[side][row]): row for row in rows}  # equal records are two

    def ask(self, record: Record, round: int) -> str:
        """The question about a record in a round."""
        position = self._positions[id(record)]
        text = self._texts.get((round, position))
        name = f"record {self._prepared.dataset.tables[self._side].ids[position]} of {OWNERS[self._side]}"
        if text is None:
            raise InputError(f"There is no question about {name} in round {round}, and it is asked then.")
        checked = check_question(self._prepared.agreement, text)
        if not checked.ok:
            found = "\n".join(render(problem, text, name) for problem in checked.problems)
            raise InputError(f"The question about {name} in round {round} cannot be used:\n{found}")
        return text


def replay(prepared: Prepared, engine: str = "plain", questions: Path | None = None) -> Run:
    """All rounds with the questions that people wrote."""
    agreed = prepared.agreement
    first, second = (Written(prepared, side, texts_of(prepared, side, questions)) for side in (0, 1))
    written = (first, second)
    return run_sample(prepared.dataset, prepared.sample, written, engine, agreed.rounds, agreement=agreed)


def replayed(folders: Sequence[Path], engine: str, questions: Path | None, advance: Advance) -> dict[str, Any]:
    """Every folder's figures by round, as `score` has them."""
    check_engine(engine)
    if questions is not None and len(folders) > 1:
        raise InputError("--questions is about one prepared study; name one.")

    def of(folder: str) -> dict[str, Any]:
        run = replay(read_prepared(Path(folder)), engine, questions)
        rounds = [asdict(one) for one in run.rounds]
        return {"rounds": rounds, "final": rounds[-1], "questions": len(run.questions)}

    return {"engine": engine, "studies": of_each([*map(str, folders)], advance, of)}


def tokens(plan: Plan, results: Results, advance: Advance) -> dict[str, Any]:
    """What is asked for in each set, and in people's questions as sets of their own."""
    document, sets = describing.tokens(plan, results, advance), {}
    for folder in plan.people:
        prepared = read_prepared(folder)
        asked = Counter(needles_of(replay(prepared).questions, prepared.dataset))
        sets[f"{prepared.name} ({folder})"] = describing.described(prepared.dataset, asked)
    return document | {"datasets": document["datasets"] | sets}
