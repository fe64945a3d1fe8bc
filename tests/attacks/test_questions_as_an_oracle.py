"""Dishonest questions in the ordinary language, 50 × 50 persons, three rounds. In the first version they gave 3,419
predicate bits: sex of 50, age of 49, surname initial of 48 of 50 records. The questions are evaluated in clear and the
study follows the protocol's rules, so the oracle sees exactly what an owner sees.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from blindlabel.engines.interface import Outcomes
from blindlabel.language import Question, Record
from blindlabel.parties.rehearsal import in_clear
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels, messages
from blindlabel.protocol.account import account
from blindlabel.records.generator import PERSON_ATTRIBUTES, Size, generate, write
from blindlabel.records.tables import read_table
from support.study_by_rules import Study

RECORDS, ROUNDS = 50, 3
LETTERS = string.ascii_lowercase
AGREEMENT = agreements.new("oracle", ["anna", "berta"], list(PERSON_ATTRIBUTES), encoding={"record_length": 300})


def any_of(function: str, attribute: str, needles: Sequence[str]) -> str:
    return "ret " + " | ".join(f'{function}("{needle}", $r.{attribute})' for needle in needles)


def by_bits(function: str, attribute: str, symbols: str, bits: int) -> list[str]:
    """Questions that together name a symbol."""
    return [
        any_of(function, attribute, [symbol for place, symbol in enumerate(symbols, start=1) if place >> bit & 1])
        for bit in range(bits)
    ]


OLD = [
    any_of("starts_with", "sex", ["f"]),
    *by_bits("starts_with", "age", string.digits, 4),
    *by_bits("ends_with", "age", string.digits, 4),
    *by_bits("starts_with", "surname", LETTERS, 5),
]
"""The questions that did it in the first version, for the records 0 to 13; the others ask for a letter."""
OLD += [f'ret is_in("{LETTERS[place % 26]}", $r.surname)' for place in range(RECORDS - len(OLD))]


def spread(condition: str) -> list[str]:
    """The best use of "which of the other's records are open": no question is too loose, together they ask for this."""
    return [
        f'ret {condition} & starts_with("{LETTERS[place % 26]}", $r.given_name)' if place < 26 else "ret false"
        for place in range(RECORDS)
    ]


FEMALE = 'starts_with("f", $r.sex)'
OLDER = "(" + " | ".join(f'starts_with("{digit}", $r.age)' for digit in "56789") + ")"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], list[Record]]:
    folder = tmp_path_factory.mktemp("people")
    tables = [read_table(Path(path)) for path in write(generate("persons", Size(RECORDS, 15), 77), folder)[:2]]
    first, second = (
        [Record.of({name: table.row(place).get(name, "").lower() for name in PERSON_ATTRIBUTES}) for place in range(50)]
        for table in tables
    )
    return first, second


def honest(record: Record) -> str:
    name, year = record.attributes["surname"][:12] or "nobody", record.attributes["given_name"][:12] or "nobody"
    return f'ret is_in("{name}", $r.surname) & is_in("{year}", $r.given_name)'


def asked_with(dishonest: Sequence[list[str]], people: tuple[list[Record], list[Record]]) -> Study:
    """The study in which anna asks these questions, round by round, and berta honest ones."""
    own, others = people
    anna = [in_clear(0, [Question(text).usable() for text in texts], others) for texts in dishonest]
    berta = in_clear(1, [Question(honest(record)).usable() for record in others], own)

    def answering(asker: str, _holder: str, number: int, asked: Sequence[int], served: Sequence[int]) -> Outcomes:
        return (anna[number - 1] if asker == "anna" else berta)[np.ix_(asked, served)].astype(np.uint8)

    study = Study(AGREEMENT, random.Random(7), answering=answering, records=RECORDS)
    study.to_the_end()
    return study


def open_after(study: Study) -> list[set[int]]:
    """Berta's records that were open after each round but the last, as anna sees it."""
    rounds = [message.body for message in study.seen("anna") if isinstance(message.body, messages.Round)]
    return [set(one.open["berta"].others) for one in rounds[1:]]


def test_the_questions_of_the_first_versions_oracle_are_too_loose_to_say_anything(
    people: tuple[list[Record], list[Record]],
) -> None:
    study, others = asked_with([OLD] * ROUNDS, people), people[1]
    told = labels.is_match(study.truth("anna", "berta"))
    sex = sum(bool(told[0, j]) for j in range(RECORDS))
    digits = sum(bool(told[1:9, j].any()) for j in range(RECORDS))
    initials = sum(bool(told[9:14, j].any()) for j in range(RECORDS))
    print(
        f"the old questions: a predicate about sex of {sex}, age of {digits}, initial of {initials} of {RECORDS}"
        f" records; {int(told.sum())} matches; the study ended because of {study.state.ended}"
    )
    assert (sex, digits, initials) == (0, 0, 0)
    assert study.state.ended == "loose", "people look at it after two rounds"
    assert sum(record.attributes["sex"].startswith("f") for record in others) > AGREEMENT.budget.most_yes


def test_questions_that_are_spread_tell_one_bit_a_record_and_round_and_the_account_has_it(
    people: tuple[list[Record], list[Record]],
) -> None:
    study, others = asked_with([spread(FEMALE), spread(OLDER), spread(FEMALE)], people), people[1]
    after = open_after(study)
    female = [record.attributes["sex"].startswith("f") for record in others]
    older = [record.attributes["age"][:1] in set("56789") for record in others]
    sex = sum((j in after[0]) == female[j] for j in range(RECORDS))
    age = sum((j in after[1]) == older[j] for j in after[0])
    bits = RECORDS + sum(map(len, after[:-1])) + int(labels.is_match(study.truth("anna", "berta")).sum())
    allowed = account(AGREEMENT.exposure).entries[1].cheating or 0
    print(
        f"spread questions: sex of {sex} of {RECORDS}, one bit of age of {age} of {len(after[0])}, no initial:"
        f" {bits} bits; the account says {allowed}"
    )
    pages = Path(__file__).parents[2] / "docs"
    said = " ".join((pages / "explanation" / "security.md").read_text("utf-8").split())
    assert f'"is this a woman": {sex} of {RECORDS}.' in said
    figures = f"sex of {sex} of {RECORDS}, one bit of age of {age} of {len(after[0])}, no initial; {bits} bits"
    assert figures in (pages / "laboratory" / "attacks.md").read_text("utf-8")
    assert len(after) == ROUNDS - 1, "the last round tells nothing about open records"
    assert after[1] <= after[0], "what is settled is not asked about again"
    assert bits <= allowed
