"""A function is one entry: what docs/reference/language.md shows works as it stands there, on the plain and the packed
engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from blindlabel.engines.ask import ask
from blindlabel.engines.registry import engine_named
from blindlabel.language import FUNCTIONS, Question, Record, interpret
from blindlabel.language import words as texts
from blindlabel.language.families import Family
from blindlabel.language.functions import PREDICATES, register
from blindlabel.language.signatures import CaseRule, Counting, Parameter, Predicate, Problem, Type
from support import documented_python
from support.random_questions import random_record


@pytest.fixture(autouse=True)
def only_the_functions_of_the_language() -> Iterator[None]:
    before = set(FUNCTIONS)
    yield
    for name in set(FUNCTIONS) - before:
        del FUNCTIONS[name]
        PREDICATES.pop(name, None)


def _letters(text: str) -> frozenset[str]:
    return frozenset(f"{word[0]}{len(word)}" for word in texts.words_of(text))


INITIALS = Family("initial-and-length", _letters, lambda longest: (longest + 1) // 2)

# Number, text of the record, text: no function of the language has this order, nor its case rule.
STARTS_WITH_LENGTH = Predicate(
    "initial_of_length",
    (
        Parameter("length", Type.NUMBER, clear=True),
        Parameter("text", Type.TEXT),
        Parameter("letter", Type.TEXT, clear=True),
    ),
    "Whether some word of this length begins with this letter.",
    "Upper and lower case differ.",
    'ret initial_of_length(5, $r, "c")',
    meaning=lambda text, arguments: f"{arguments[1]}{arguments[0]}" in _letters(text),
    family_of=lambda _arguments, _limits: INITIALS,
    asked=lambda arguments: (f"{arguments[1]}{arguments[0]}",),
)


def test_the_example_of_the_page_runs() -> None:
    documented_python.run(documented_python.examples("docs/reference/language.md", "## Adding a function"))
    assert "word_of_length" in PREDICATES


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["plain", "packed"])
@pytest.mark.parametrize("rule", [CaseRule.SEPARATE, CaseRule.ELEMENTS])
def test_a_new_function_with_a_number_first_is_answered_as_it_is_meant(engine: str, rule: CaseRule) -> None:
    register(replace(STARTS_WITH_LENGTH, case_rule=rule))
    random = Random(5)
    records = [random_record(random, ("name", "place")) for _ in range(12)] + [
        Record.of({"name": "Canon EOS", "place": "CANON eos"})
    ]
    sources = [
        'ret initial_of_length(5, $r, "C")',
        'ret initial_of_length(5, lower($r), "c") & initial_of_length(3, upper($r.place), "E")',
        'ret initial_of_length(5, upper($r), "c") | initial_of_length(2 + 1, $r.name, "E")',
        'ret initial_of_length(5, choose(is_in("x", $r), $r.name, $r.place), "C")',
        'ret initial_of_length(2.5, $r, "C")',
    ]
    read = [Question(source) for source in sources]
    formulas = [one.formula for one in read if one.formula is not None]
    assert len(formulas) == len(sources)
    expected = [[interpret(one.tree, record) for record in records] for one in read]
    assert np.array(expected)[:4].any(axis=1).all()
    assert ask(engine_named(engine), formulas, records, ("name", "place")).tolist() == expected


def test_the_checks_of_a_parameter_become_findings_at_the_argument() -> None:
    def positive(value: object, _limits: object) -> Problem | None:
        return None if isinstance(value, Fraction) and value > 0 else Problem("not-positive", "error", "Too small.")

    length, *others = STARTS_WITH_LENGTH.parameters
    register(replace(STARTS_WITH_LENGTH, parameters=(replace(length, check=positive), *others)))
    source = 'ret initial_of_length(-3, $r, "c")'
    (found,) = Question(source).problems
    assert (found.code, source[found.span.start : found.span.end]) == ("not-positive", "-3")


def test_a_wrong_call_of_a_new_function_is_a_finding_and_never_an_exception() -> None:
    register(STARTS_WITH_LENGTH)
    for arguments in ('"x", $r, "c"', "3, $r, $r", '3, "x", "c"', '3, 4, "c"', "$r, $r, $r", "3, $r", 'true, $r, "c"'):
        Question(f"ret initial_of_length({arguments})")
        Question(f"ret initial_of_length({arguments}) >= 1")


def test_a_new_tally_is_a_number_that_can_be_compared() -> None:
    letters = Counting(
        "common_letters",
        (Parameter("text", Type.TEXT), Parameter("letters", Type.TEXT, clear=True)),
        "How many of these letters the text has.",
        "Each different letter counts once.",
        'ret common_letters($r, "abc") >= 2',
        meaning=lambda text, arguments: len(set(str(arguments[0])) & set(text)),
        each=lambda arguments: tuple(("is_in", (letter,)) for letter in sorted(set(str(arguments[0])))),
    )
    register(letters)
    read = Question('ret 2*common_letters($r, "abca") + is_in("z", $r) >= 4')
    records = [Record.of({"name": text}) for text in ("ab", "zb", "abc", "", "cabz")]
    assert read.formula is not None
    expected = [[interpret(read.tree, record) for record in records]]
    assert expected == [[True, False, True, False, True]]
    assert ask(engine_named("packed"), [read.formula], records, ["name"]).tolist() == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "is_in"}, "already"),
        ({"name": "two words"}, "not a name"),
        ({"name": "ret"}, "not a name"),
        ({"parameters": STARTS_WITH_LENGTH.parameters[:1]}, "exactly one parameter"),
    ],
)
def test_an_entry_that_cannot_work_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        register(replace(STARTS_WITH_LENGTH, **change))  # type: ignore[arg-type]
