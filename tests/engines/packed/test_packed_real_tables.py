"""Real tables: 50 × 50 records of each benchmark set, questions of every shape, all labels as the interpreter says.

The data is not part of the project: BLINDLABEL_DATA names its folder, or it lies in ../shared/data beside the
repository.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from blindlabel.engines.interface import Terms
from blindlabel.language import Limits, Question, Record, words
from blindlabel.language.formula import Formula
from blindlabel.language.words import words_of
from support.packed_rounds import Round, in_clear

DATA = Path(os.environ.get("BLINDLABEL_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
SETS = {
    "abt-buy": ("name",),
    "amazon-google": ("name",),
    "dblp-scholar": ("title", "authors", "venue", "year"),
    "dblp-acm": ("title", "authors", "venue", "year"),
    "febrl": ("given_name", "surname", "sex", "age", "title", "address_1", "phone_number"),
}
LONGEST = 148

SHAPES = (
    "ret {a} & {b} & {c}",
    "ret {a} & {b} & ({c} | {d})",
    "ret ({a} | {b}) & ({c} | {d})",
    "ret {a} & !{e}",
    "ret !({a} & {b}) | {c}",
    "ret 3*{a} + 2*{b} + {c} + {d} + {e} + {f} + {g} >= 4",
    "ret {a} + {b} + {c} == 2",
    "ret choose({a}, {b} | {c}, {d})",
    'ret common_words("{words}", $r) >= 3',
    "ret {a} + ({b} | {c}) + ({d} & !{e}) >= 2",
    "ret {plain} | {a} & {plain}",
)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    packed = path.with_suffix(".csv.gz")
    with (
        gzip.open(packed, "rt", encoding="utf-8", newline="")
        if packed.exists()
        else path.open(encoding="utf-8", newline="")
    ) as file:
        yield from csv.DictReader(file)


def _sample(name: str, random: Random, lowered: bool) -> tuple[list[Record], list[Record]]:
    """Fifty true pairs: the records of both sides."""
    chosen = random.sample(list(_rows(DATA / name / "matches.csv")), 50)
    sides = []
    for side in "ab":
        wanted = {pair[f"id_{side}"] for pair in chosen}
        table = {row["id"]: row for row in _rows(DATA / name / f"{side}.csv") if row["id"] in wanted}
        records = []
        for pair in chosen:
            values = {key: table[pair[f"id_{side}"]][key] for key in SETS[name]}
            if lowered:
                values = {key: words.lower(value) for key, value in values.items()}
            cut = Record.of(values).whole[:LONGEST]
            records.append(Record({key: value[:LONGEST] for key, value in values.items()}, cut))
        sides.append(records)
    return sides[0], sides[1]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _question(random: Random, record: Record, number: int, plain: tuple[str, ...]) -> Formula:
    found = sorted(word for word in words_of(words.lower(record.whole)) if len(word) > 1) or ["nothing"]
    parts = {}
    for place in "abcdefg":
        word = random.choice(found)[:12]
        parts[place] = random.choice(
            [
                f"is_in({_quoted(word)}, $r)",
                f"has_word({_quoted(word)}, $r)",
                f"is_in({_quoted(word[:3].upper())}, upper($r))",
            ]
        )
    parts["plain"] = random.choice(plain).format(needle=_quoted(record.whole[:4]), word=_quoted(random.choice(found)))
    source = "$r = lower($r)\n" + SHAPES[number % len(SHAPES)].format(
        words=" ".join(random.sample(found, min(6, len(found)))), **parts
    )
    formula = Question(source).formula
    assert formula is not None
    return formula


@pytest.mark.slow
@pytest.mark.skipif(
    not DATA.is_dir(), reason=f"there is no benchmark data in {DATA}; set BLINDLABEL_DATA to its folder"
)
@pytest.mark.parametrize("name", ["abt-buy", "dblp-scholar"])
def test_labels_on_real_tables(name: str) -> None:
    random = Random(name)
    own, other = _sample(name, random, lowered=name != "abt-buy")
    terms = Terms(
        SETS[name], record_length=LONGEST, case="both" if name == "abt-buy" else "lower", encode_attributes=False,
        functions=("is_in", "has_word", "starts_with", "sounds_like", "is_empty", "equals"),
        limits=Limits(needle_length=12),
    )  # fmt: skip
    plain = ("starts_with({needle}, $r)", "sounds_like({word}, $r)", "is_empty($r)", "equals({word}, $r)")
    questions = [_question(random, record, number, plain) for number, record in enumerate(own)]
    expected = in_clear(other, questions)
    assert (Round(terms).run(other, questions) == expected).all()
    assert expected.sum() > 20


@pytest.mark.slow
@pytest.mark.skipif(
    not DATA.is_dir(), reason=f"there is no benchmark data in {DATA}; set BLINDLABEL_DATA to its folder"
)
def test_labels_on_attributes_of_real_tables() -> None:
    random = Random("febrl")
    own, other = _sample("febrl", random, lowered=False)
    names = ("given_name", "surname", "age")
    terms = Terms(
        names, record_length=LONGEST, attribute_length=24, encode_whole=False,
        functions=("equals", "has_word", "sounds_like", "starts_with"), limits=Limits(needle_length=6),
        profile=(1, 1), exclusions=0,
    )  # fmt: skip
    questions = []
    for record in own:
        first, last, age = (record.attributes[key] for key in names)
        formula = Question(
            f"ret (equals({_quoted(first)}, lower($r.given_name)) | sounds_like({_quoted(first or 'x')},"
            f" $r.given_name)) & starts_with({_quoted(last[:2])}, lower($r.surname)) & equals({_quoted(age)}, $r.age)"
        ).formula
        assert formula is not None
        questions.append(formula)
    expected = in_clear(other, questions)
    assert (Round(terms).run(other, questions) == expected).all()
    assert expected.sum() > 10
