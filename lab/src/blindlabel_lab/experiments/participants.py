"""A study with people, ready for a laboratory: who does what in which order, and a folder for each participant.

    study.json               sets, seed, conditions, and who is assigned what
    consent.txt              what participants agree to
    sets/<set>/x, y          two samples without a common record: tables, agreement, and the truth for whoever scores
    participants/P01         a sheet to print; consent, practice and answers as they come
    couples/1/<set>          the blind study of two participants, made when they first sit down

Participants are pseudonyms from the start; who is which is a list on paper, and nowhere here. Two of them are a couple.
In one sitting a couple works on one set: one of its samples blind, as the two owners of a study, and the other with
both records side by side, each for themselves. Which sample is blind and which part comes first is balanced over every
four couples and alternates from set to set.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from random import Random

from blindlabel.errors import InputError
from blindlabel.language.words import words_of
from blindlabel.records.preparation import prepare_text
from blindlabel.web.practice import RECORDS
from blindlabel_lab.experiments.datasets import Dataset
from blindlabel_lab.experiments.prepared import OWNERS, Prepared, check_new, prepare, read_about, read_prepared
from blindlabel_lab.experiments.simulation import two_samples

FORMAT, VERSION = "blindlabel study with people", 1
SAMPLES = ("x", "y")
BLIND, BESIDE = "blind", "side by side"
PASSED = 6
"""Practice is passed if this many of its questions find their partner, and this many let nobody else pass."""
ALIKE = 3
"""Each record of the first table is shown with this many of the records most like it; each of the second at least once.
"""
CONSENT = """You are asked to take part in a study of how people decide whether two records are about the same thing.

You first practise on invented records. Then you write questions about records of one table, and you look at pairs of
records and say whether they belong together. You can pause whenever you like.

What you write and answer is recorded, and when, under the name {participant} alone. The software asks for nothing else
about you. Taking part is voluntary: you may stop at any time without giving a reason, and what was recorded is then
deleted if you wish.
"""


@dataclass(frozen=True)
class Sitting:
    """What a couple does with one set."""

    set: str
    blind: str
    """The sample that it labels blind; the other one is shown side by side."""
    first: str
    """The part that comes first."""

    @property
    def beside(self) -> str:
        """The sample that is shown side by side."""
        return SAMPLES[self.blind == SAMPLES[0]]

    @property
    def parts(self) -> tuple[str, str]:
        """Both parts in their order."""
        return (BLIND, BESIDE) if self.first == BLIND else (BESIDE, BLIND)


def assigned(sets: Sequence[str], couples: int, seed: int) -> list[list[Sitting]]:
    """The sittings of every couple: all combinations equally often over four couples, in an order of chance."""
    cells = list(range(couples))
    Random(f"couples {seed}").shuffle(cells)  # noqa: S311 (nothing secret)
    return [
        [
            Sitting(name, SAMPLES[(cell + place) % 2], (BLIND, BESIDE)[(cell // 2 + place) % 2])
            for place, name in enumerate(sets)
        ]
        for cell in cells
    ]


@dataclass(frozen=True)
class PeopleStudy:
    """A study's folder."""

    folder: Path
    seed: int
    published: bool
    participants: tuple[str, ...]
    couples: tuple[tuple[Sitting, ...], ...]

    @cached_property
    def sets(self) -> tuple[str, ...]:
        """The sets, by name."""
        return tuple(one.set for one in self.couples[0])

    def members(self, couple: int) -> tuple[str, str]:
        """Both participants of a couple, counted from 1, in the order of the owners whom they play."""
        first, second = self.participants[2 * couple - 2 : 2 * couple]
        return first, second

    def couple_of(self, participant: str) -> int:
        """To which couple somebody belongs, counted from 1."""
        if participant not in self.participants:
            raise InputError(f"There is no participant {participant}; there are {', '.join(self.participants)}.")
        return self.participants.index(participant) // 2 + 1

    def sittings(self, couple: int) -> tuple[Sitting, ...]:
        """What a couple does, in its order."""
        if not 1 <= couple <= len(self.couples):
            raise InputError(f"There is no couple {couple}; there are {len(self.couples)}.")
        return self.couples[couple - 1]

    def sitting(self, couple: int, name: str) -> Sitting:
        """What a couple does with one set."""
        found = next((one for one in self.sittings(couple) if one.set == name), None)
        if found is None:
            raise InputError(f"There is no set {name} in this study; there are {', '.join(self.sets)}.")
        return found

    def own_folder(self, participant: str) -> Path:
        """Where a participant's sheet and answers lie."""
        return self.folder / "participants" / participant

    def blind_folder(self, couple: int, name: str) -> Path:
        """Where a couple's blind study of a set lies, once they have begun."""
        return self.folder / "couples" / str(couple) / name

    def workspace_folder(self, participant: str, name: str) -> Path:
        """The workspace of the owner whom a participant plays."""
        owner = OWNERS[self.participants.index(participant) % 2]
        return self.blind_folder(self.couple_of(participant), name) / owner

    def sample(self, name: str, which: str) -> Prepared:
        """One of both samples of a set."""
        return read_prepared(self.folder / "sets" / name / which)

    def consent(self, participant: str) -> str:
        """What a participant is asked to agree to, as HTML: a paragraph between blank lines."""
        text = (self.folder / "consent.txt").read_text("utf-8").replace("{participant}", participant)
        return "".join(f"<p>{html.escape(one)}</p>" for one in text.strip().split("\n\n"))


def is_people_study(folder: Path) -> bool:
    """Whether `prepare --participants` made this folder."""
    return (folder / "study.json").is_file()


def prepare_study(
    datasets: Sequence[Dataset],
    folder: Path,
    *,
    participants: int,
    seed: int,
    size: int,
    rounds: int,
    engine: str,
    published: bool = False,
    consent: Path | None = None,
) -> PeopleStudy:
    """Draw both samples of every set, assign, and write the folder, which must be new or empty."""
    if participants < 2 or participants % 2:
        raise InputError(f"Participants work in couples: their number is even, and not {participants}.")
    names = [dataset.name for dataset in datasets]
    if len(set(names)) != len(names):
        raise InputError("A set is named twice.")
    check_new(folder)
    text = CONSENT if consent is None else consent.read_text("utf-8")
    pseudonyms = tuple(f"P{number:02}" for number in range(1, participants + 1))
    couples = tuple(map(tuple, assigned(names, participants // 2, seed)))
    made = PeopleStudy(folder, seed, published, pseudonyms, couples)
    drawn = [two_samples(dataset, seed, size) for dataset in datasets]
    for dataset, samples in zip(datasets, drawn):
        for which, sample in zip(SAMPLES, samples):
            place = folder / "sets" / dataset.name / which
            prepare(
                dataset, place, seed=seed, size=size, rounds=rounds, engine=engine, published=published, sample=sample
            )
    (folder / "consent.txt").write_text(text, "utf-8")
    for one in pseudonyms:
        made.own_folder(one).mkdir(parents=True)
        (made.own_folder(one) / "sheet.html").write_text(sheet_of(made, one), "utf-8")
    about = {
        "format": FORMAT,
        "version": VERSION,
        "seed": seed,
        "matches": size,
        "rounds": rounds,
        "engine": engine,
        "published": published,
        "participants": pseudonyms,
        "couples": [[asdict(one) for one in sittings] for sittings in couples],
    }
    (folder / "study.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return made


def read_study(folder: Path) -> PeopleStudy:
    """A study's folder again."""
    try:
        about = read_about(folder / "study.json", (FORMAT, VERSION))
        couples = tuple(tuple(Sitting(**one) for one in sittings) for sittings in about["couples"])
        return PeopleStudy(folder, int(about["seed"]), bool(about["published"]), tuple(about["participants"]), couples)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{folder} is no study with people: {error}. `blindlabel experiment prepare --participants` makes one."
        ) from error


# -- the part with both records side by side

_PLAIN = ("strip_punctuation", "lower")


def pairs_to_show(sample: Prepared, seed: int) -> list[tuple[int, int]]:
    """The pairs that people see, by places in the sample: what blocking by common words would leave. Those of one
    record follow each other; the records come in an order of chance.
    """
    own, others = (
        [words_of(prepare_text(sample.dataset.records[side][row].whole, _PLAIN)) for row in rows]
        for side, rows in enumerate((sample.sample.a, sample.sample.b))
    )
    alike = [[len(one & other) / (len(one | other) or 1) for other in others] for one in own]
    chosen = {(i, j) for i, row in enumerate(alike) for j in sorted(range(len(row)), key=lambda j: -row[j])[:ALIKE]} | {
        (max(range(len(own)), key=lambda i: alike[i][j]), j) for j in range(len(others))
    }
    chance = Random(f"side by side {seed}")  # noqa: S311 (nothing secret)
    order = list(range(len(own)))
    chance.shuffle(order)
    return [(i, j) for i in order for j in chance.sample(range(len(others)), len(others)) if (i, j) in chosen]


# -- the sheet

_PARTS: Mapping[str, str] = {
    BLIND: (
        "<b>Questions.</b> You see the records of your table, one at a time, and never the other table. For each record"
        " write a question to which only a record about the same thing would be a yes; the page shows how, and suggests"
        " one. When all are written, press <i>Hand in the round</i>. Records on which your two answers differ come"
        " back. Write one question after the other, and do not talk about them with your partner."
    ),
    BESIDE: (
        "<b>Pairs.</b> You see two records side by side. Say whether they are about the same thing, as well as you can"
        " tell. Nothing else is asked, and you can go back to the pair before."
    ),
}
STYLE = """
:root { color-scheme: light dark; --quiet: #55606c; --line: #d5dbe1; --accent: #0b5f66; --soft: #eef4f4 }
@media (prefers-color-scheme: dark) { :root { --quiet: #a9b4c0; --line: #38434e; --accent: #6fcfd0; --soft: #21363a } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } .quiet { color: var(--quiet) } p, li { max-width: 42rem }
"""


def sheet_of(study: PeopleStudy, participant: str) -> str:
    """The sheet of a participant, to print."""
    couple = study.couple_of(participant)
    sittings = ""
    for number, one in enumerate(study.sittings(couple), 1):
        parts = "".join(f"<li>{_PARTS[part]}</li>" for part in one.parts)
        sittings += f"<h2>Sitting {number}: {html.escape(one.set)}</h2><ol>{parts}</ol>"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{participant}</title>
<style>{STYLE} h2 {{ font-size: 1.1rem }} li {{ margin: .5rem 0 }} .sign {{ margin-top: 3rem }}</style></head><body>
<h1>Participant {participant}</h1>
<p>You work in couple {couple}. Please use the name {participant} and no other.</p>
<p>Before the first sitting you agree to what stands below, on the screen, and practise on {RECORDS} invented records
until {PASSED} of your questions find their partner and {PASSED} let nobody else pass. Each sitting has two parts:</p>
{sittings}
<h2>What you agree to</h2>{study.consent(participant)}
<p class="sign">Date ____________________ &nbsp; Signature ________________________________________</p>
</body></html>
"""
