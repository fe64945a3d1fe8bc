"""The laws of the language, on random questions and records."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from blindlabel.language import Question, Record, format_question, interpret
from blindlabel.language.formula import evaluate
from blindlabel.language.limits import Limits
from blindlabel.language.tree import Tree
from support.python_translation import python_answer
from support.random_questions import ATTRIBUTES, NoRecordLeft, QuestionMaker, random_record, random_text

LIMITS = {"too-many-predicates", "weights-too-large", "too-large", "too-deep"}


def make(random: Random) -> tuple[Tree, list[Record]] | None:
    records = [random_record(random) for _ in range(4)]
    try:
        return QuestionMaker(random, records).question(), records
    except NoRecordLeft:
        return None


@settings(max_examples=600, deadline=None)
@given(st.randoms(use_true_random=False))
def test_printing_and_parsing_gives_the_same_tree(random: Random) -> None:
    made = make(random)
    if made:
        printed = format_question(made[0])
        checked = Question(printed, attributes=ATTRIBUTES)
        assert checked.tree == made[0]
        assert format_question(checked.tree) == printed


@settings(max_examples=600, deadline=None)
@given(st.randoms(use_true_random=False))
def test_interpreter_formula_and_python_agree(random: Random) -> None:
    made = make(random)
    if not made:
        return
    checked = Question(format_question(made[0]), attributes=ATTRIBUTES)
    errors = {one.code for one in checked.problems if one.severity == "error"}
    if not checked.ok:
        assert errors <= LIMITS
        return
    assert checked.formula is not None
    for record in made[1]:
        answer = interpret(checked.tree, record)
        assert answer == python_answer(checked.tree, record)
        assert answer == evaluate(checked.formula, record)


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=False))
def test_whatever_the_checker_lets_through_runs(random: Random) -> None:
    """Tokens of real questions, shuffled into nonsense: either an error is found, or the interpreter gives an
    answer.
    """
    pieces = [
        "=",
        ",",
        ")",
        "(",
        "&",
        "|",
        "!",
        "+",
        "*",
        ">=",
        "==",
        "1",
        "2",
        ".title",
        '["année"]',
        "ret",
        "ret",
        "true\n",
    ]
    pieces += ["$r", "$a", "$b", '"a"', '"bc"']
    pieces += ["lower(", "upper(", "choose(", "is_in(", "similar(", "between("]
    source = " ".join(random.choice(pieces) for _ in range(random.randint(1, 25)))
    checked = Question(source, attributes=ATTRIBUTES)
    if checked.ok:
        assert isinstance(interpret(checked.tree, random_record(random)), bool)
    else:
        assert any(one.severity == "error" for one in checked.problems)


def test_hostile_records_of_every_kind_are_answered_alike() -> None:
    random = Random(7)
    hostile = [
        "",
        "x",
        "y" * 10_000,
        "9" * 10_000,
        "-" * 10_000,
        '"' * 50,
        "\0",
        "🎉",
        "e\u0301" * 30,
        "\u202eabc",
        " | " * 20,
    ]
    records = [Record.of(dict.fromkeys(ATTRIBUTES, text)) for text in hostile] + [Record({}, text) for text in hostile]
    for _ in range(40):
        try:
            question = QuestionMaker(random, records).question()
        except NoRecordLeft:
            continue
        checked = Question(format_question(question), attributes=ATTRIBUTES)
        if checked.formula is None:
            continue
        for record in records:
            answer = interpret(checked.tree, record)
            assert answer == evaluate(checked.formula, record)


REAL_QUESTIONS = (
    '$r = lower($r)\n$c1 = is_in("canon", $r) # brand\nret $c1 & (is_in("24-70", $r) | !is_in("2470", $r))',
    'ret 3*is_in("pslx350h", $r) + is_in("sony", $r) + 0.5*is_in("turntable", $r) >= 3',
    'ret choose(is_empty($r["date of birth"]), similar("smith", $r.title, 1), between($r.année, 1990, 2000.5))',
)


def test_no_text_ever_crashes_the_reader() -> None:
    """Random bytes, truncations and mutations of real questions: 10,500 inputs, each read without an exception."""
    random = Random(20261115)
    alphabet = [*'$r=(),"\\#&|!+*.<>0159\n\t _retlowruis_inchoe', "é", "🎉", "\0", "\ufeff", "\u2028", "\ud800"]
    for number in range(10_500):
        kind = number % 3
        if kind == 0:
            text = random.randbytes(random.randint(0, 60)).decode("latin-1" if number % 2 else "utf-8", "replace")
        elif kind == 1:
            source = random.choice(REAL_QUESTIONS)
            text = source[: random.randint(0, len(source))] + random.choice(["", *alphabet])
        else:
            characters = list(random.choice(REAL_QUESTIONS))
            for _ in range(random.randint(1, 6)):
                place = random.randrange(len(characters))
                characters[place : place + random.randint(0, 2)] = random.choices(alphabet, k=random.randint(0, 2))
            text = "".join(characters)
        checked = Question(text, attributes=ATTRIBUTES)
        assert checked.ok == (not any(one.severity == "error" for one in checked.problems))
        if checked.ok:
            interpret(checked.tree, random_record(random))
        for one in checked.problems:
            assert 0 <= one.span.start <= one.span.end <= len(text)
            assert one.message.strip().endswith((".", "!", "?"))


def test_enormous_and_deep_questions_are_refused_with_a_sentence() -> None:
    cases = {
        "ret " + "!" * 5000 + "true": "too-deep",
        "ret " + "lower(" * 3000 + '"a"' + ")" * 3000: "too-deep",
        "ret $r" + ".title" * 5000: "too-deep",
        "ret true" + " & true" * 20_000: "too-large",
        "ret " + " & ".join(f'is_in("{i:x}", $r)' for i in range(257)): "too-many-predicates",
        "ret " + "1" * 400 + " > 2": "number-too-long",
    }
    for source, code in cases.items():
        assert [one.code for one in Question(source).problems if one.severity == "error"] == [code], source[:40]
    brackets = "ret " + "(" * 5000 + "true" + ")" * 5000
    assert Question(brackets).ok


def test_questions_that_would_explode_are_bounded() -> None:
    xor = (
        '$c = is_in("a", $r)\n'
        + "".join(f'$c = choose($c, is_in("{i:x}", $r), !is_in("{i:x}", $r))\n' for i in range(200))
        + "ret $c"
    )
    checked = Question(xor)
    assert checked.formula is not None
    record = Record.of({"title": "0123456789abcdef"})
    assert evaluate(checked.formula, record) == interpret(checked.tree, record)
    texts = "$x = $r\n" + '$x = choose(is_in("a", $x), lower($x), upper($x))\n' * 300 + 'ret is_in("b", $x)'
    assert {one.code for one in Question(texts).problems} <= LIMITS
    numbers = (
        "$n = 0 + 0\n" + '$n = choose(is_in("a", $r), $n + is_in("b", $r), $n + is_in("c", $r))\n' * 300 + "ret $n > 3"
    )
    assert {one.code for one in Question(numbers).problems} <= LIMITS


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_lower_never_changes_the_length_and_pairs_with_upper(random: Random) -> None:
    from blindlabel.language import words

    text = random_text(random) + chr(random.randrange(0x10000))
    assert len(words.lower(text)) == len(text) == len(words.upper(text))
    assert words.lower(words.upper(text)) == words.lower(text)
    assert words.upper(words.lower(text)) == words.upper(text)


def test_limits_can_be_set_by_an_agreement() -> None:
    source = 'ret is_in("abcdef", $r)'
    assert Question(source, limits=Limits(needle_length=6)).ok
    assert [one.code for one in Question(source, limits=Limits(needle_length=5)).problems] == ["needle-too-long"]
