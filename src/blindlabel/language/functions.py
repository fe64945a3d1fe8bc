"""The functions of the language. Each is registered here, once, and everything else picks it up from here.

A *predicate* takes clear arguments and one text of the other record, and answers yes or no. Its entry is all there is
to it: name and parameters, what its arguments may be, documentation (for the terminal reference, completion and hover),
its plain meaning, what upper and lower case do to it, and how it is asked of a set family
(`blindlabel.language.families`), which is what the packed engine needs. A *tally* is a number: how many of some
predicates hold. The three *forms* (`lower`, `upper`, `choose`) are part of the language itself and are rewritten before
any engine sees them.

To add a predicate: write its plain meaning, its family and an entry in `_PREDICATES`, or `register` it at run time; the
property tests then hold it to both. The docs show one being added (docs/reference/language.md, "Adding a function").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from blindlabel.language import families, words
from blindlabel.language.families import Family
from blindlabel.language.limits import Limits
from blindlabel.language.signatures import CaseRule, Clear, Counting, Function, Parameter, Predicate, Problem, Type

_TEXT = Parameter("text", Type.TEXT)


def _bounded(value: Clear, limits: Limits) -> Problem | None:
    """Reports a needle that is longer than the agreement encodes."""
    if len(str(value)) <= limits.needle_length:
        return None
    message = f"This text has {len(str(value))} characters; the agreement allows at most {limits.needle_length}."
    return Problem("needle-too-long", "error", message, "Ask for a part of it, or for two parts joined with &.")


def _one_word(value: Clear, _limits: Limits) -> Problem | None:
    """Reports what is not exactly one word."""
    if words.is_word(str(value)):
        return None
    shown = str(value) if len(str(value)) <= 40 else str(value)[:37] + "..."
    message = f'One word is looked for; "{shown}" is not exactly one, so this is never true.'
    return Problem("not-a-word", "warning", message, "Use is_in for parts of words and for phrases.")


def _distance(value: Clear, limits: Limits) -> Problem | None:
    allowed = range(1, limits.similar_distance + 1)
    if value in allowed:
        return None
    message = f"The distance of similar is {' or '.join(map(str, allowed)) or 'not allowed by the agreement'}."
    return Problem("bad-distance", "error", message, "How many typing errors may there be?")


def _two_decimals(value: Clear, _limits: Limits) -> Problem | None:
    if (Fraction(value) * 10**words.NUMBER_DECIMALS).denominator == 1:
        return None
    return Problem("too-precise", "error", f"Only {words.NUMBER_DECIMALS} decimals are compared.", "Round the number.")


def _year(value: Clear, _limits: Limits) -> Problem | None:
    if value in words.YEARS:
        return None
    return Problem("bad-year", "error", "A year has four digits and begins with 1 or 2.", "Write it in full: 1999.")


def _date(value: Clear, _limits: Limits) -> Problem | None:
    if words.date_of(str(value)):
        return None
    message = "This is not a date, so near_date is never true."
    return Problem("not-a-date", "warning", message, 'Write year, month and day: "1980-05-17".')


def _telephone(value: Clear, _limits: Limits) -> Problem | None:
    if len(words.telephone_endings(str(value))) == 1:
        return None
    message = f"A telephone has at least {words.TELEPHONE_ENDING} digits; of this, same_telephone is never true."
    return Problem("not-a-telephone", "warning", message, "Use ends_with for fewer digits.")


_NEEDLE = Parameter("part", Type.TEXT, clear=True, check=_bounded)
_WORD = Parameter("word", Type.TEXT, clear=True, check=_one_word, use="word")


def _string(arguments: tuple[Clear, ...]) -> str:
    """The needle: the first clear argument."""
    needle = arguments[0]
    assert isinstance(needle, str)
    return needle


def _integer(arguments: tuple[Clear, ...], position: int) -> int:
    return int(arguments[position])


def _range(arguments: tuple[Clear, ...]) -> tuple[int, int]:
    low, high = (words.hundredths(Fraction(bound)) for bound in arguments[:2])
    return low, high


def _between(text: str, arguments: tuple[Clear, ...]) -> bool:
    value = words.first_number(text)
    low, high = _range(arguments)
    return value is not None and low <= value <= high


def _far_from(text: str, arguments: tuple[Clear, ...]) -> bool:
    value = words.first_number(text)
    first, last = families.near(words.hundredths(Fraction(arguments[0])))
    return value is not None and not first <= value <= last


def _similar(text: str, arguments: tuple[Clear, ...]) -> bool:
    word, distance = _string(arguments), _integer(arguments, 1)
    return words.is_word(word) and any(words.within_distance(word, other, distance) for other in words.words_of(text))


def _sounds_like(text: str, arguments: tuple[Clear, ...]) -> bool:
    code = words.phonetic_code(_string(arguments))
    return bool(code) and words.is_word(_string(arguments)) and code in words.phonetic_codes(text)


def _asked_date(arguments: tuple[Clear, ...]) -> tuple[str, ...]:
    date = words.date_of(_string(arguments))
    return () if date is None else (date.isoformat(),)


def _near_date(text: str, arguments: tuple[Clear, ...]) -> bool:
    own, other = words.date_of(_string(arguments)), words.first_date(text)
    if own is None or other is None:
        return False
    exchanged = (own.year, own.month, own.day) == (other.year, other.day, other.month)
    return exchanged or sum(map(str.__ne__, own.isoformat(), other.isoformat())) <= 1


def _asked_ending(arguments: tuple[Clear, ...]) -> tuple[str, ...]:
    endings = words.telephone_endings(_string(arguments))
    return tuple(endings) if len(endings) == 1 else ()


def _never_unless_word(arguments: tuple[Clear, ...]) -> bool | None:
    return None if words.is_word(_string(arguments)) else False


def _always_if_empty(arguments: tuple[Clear, ...]) -> bool | None:
    return None if _string(arguments) else True


_NEEDLE_EDGE = "An empty part is in every text. Upper and lower case differ; use lower($r) to ignore case."
_WORD_EDGE = "A word is a longest run of letters, digits and combining marks; everything else separates words."


def _at_an_end(
    name: str, does: str, example: str, found: Callable[[str, str], bool], family: Callable[[int], Family]
) -> Predicate:
    """A needle at the beginning or the end of the text."""
    return Predicate(
        name,
        (_NEEDLE, _TEXT),
        f"Whether the text {does} with this part.",
        f"Every text {does} with an empty part. Upper and lower case differ.",
        example,
        meaning=lambda text, arguments: found(text, _string(arguments)),
        family_of=lambda _, limits: family(limits.needle_length),
        always=_always_if_empty,
        case_rule=CaseRule.NEEDLES,
    )


_PREDICATES: tuple[Predicate, ...] = (
    Predicate(
        "is_in",
        (_NEEDLE, _TEXT),
        "Whether this part occurs anywhere in the text.",
        _NEEDLE_EDGE,
        'ret is_in("canon", lower($r))',
        meaning=lambda text, arguments: _string(arguments) in text,
        family_of=lambda arguments, _: families.substrings(len(_string(arguments))),
        always=_always_if_empty,
        every_family=lambda limits: tuple(families.substrings(n) for n in range(1, limits.needle_length + 1)),
        case_rule=CaseRule.NEEDLES,
    ),
    _at_an_end("starts_with", "begins", 'ret starts_with("19", $r.year)', str.startswith, families.prefixes),
    _at_an_end("ends_with", "ends", 'ret ends_with("son", lower($r.surname))', str.endswith, families.suffixes),
    Predicate(
        "equals",
        (Parameter("value", Type.TEXT, clear=True, use="value"), _TEXT),
        "Whether the text is exactly the value.",
        'Any length is allowed. equals("", text) is true for the empty text only.',
        'ret equals("1999", $r.year)',
        meaning=lambda text, arguments: text == _string(arguments),
        family_of=lambda _arguments, _limits: families.WHOLE,
        case_rule=CaseRule.NEEDLES,
    ),
    Predicate(
        "has_word",
        (_WORD, _TEXT),
        "Whether the word is one of the words of the text.",
        _WORD_EDGE + ' Upper and lower case differ. What is not exactly one word ("", "new york") is never found.',
        'ret has_word("sony", lower($r))',
        meaning=lambda text, arguments: _string(arguments) in words.words_of(text),
        family_of=lambda _arguments, _limits: families.WORDS,
        always=_never_unless_word,
        case_rule=CaseRule.NEEDLES,
    ),
    Predicate(
        "is_empty",
        (_TEXT,),
        "Whether the text is missing: nothing but white space.",
        "The bars that join the attributes of a whole record do not count, so is_empty($r) is true where all attributes"
        " are.",
        'ret is_empty($r.year) | equals("1999", $r.year)',
        meaning=lambda text, _: families.is_blank(text),
        family_of=lambda _arguments, _limits: families.EMPTY,
        asked=lambda _: ("empty",),
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "sounds_like",
        (_WORD, _TEXT),
        "Whether some word of the text sounds like the word.",
        "Two words sound alike when their Metaphone codes are equal, after folding to the letters A to Z; case does not"
        " matter. A word whose code is empty (123, w) sounds like nothing. " + _WORD_EDGE,
        'ret sounds_like("catherine", $r.given_name)',
        meaning=_sounds_like,
        family_of=lambda _arguments, _limits: families.SOUNDS,
        asked=lambda arguments: (words.phonetic_code(_string(arguments)),),
        always=lambda arguments: (
            None if words.is_word(_string(arguments)) and words.phonetic_code(_string(arguments)) else False
        ),
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "similar",
        (_WORD, _TEXT, Parameter("distance", Type.NUMBER, clear=True, check=_distance)),
        "Whether some word of the text is within 1 or 2 typing errors of the word.",
        "Errors are characters inserted, left out or replaced (Levenshtein distance), upper and lower case differ."
        f" Words of more than {words.SIMILAR_WORD_LENGTH} characters are similar only when equal. " + _WORD_EDGE,
        'ret similar("jonson", lower($r.surname), 1)',
        meaning=_similar,
        family_of=lambda arguments, _: families.edited(_integer(arguments, 1)),
        asked=lambda arguments: families.with_wildcards(_string(arguments), _integer(arguments, 1)),
        always=_never_unless_word,
        every_family=lambda limits: tuple(families.edited(n) for n in range(1, limits.similar_distance + 1)),
        case_rule=CaseRule.ELEMENTS,
        widest=lambda limits: len(families.with_wildcards("a" * words.SIMILAR_WORD_LENGTH, limits.similar_distance)),
    ),
    Predicate(
        "between",
        (_TEXT, *(Parameter(end, Type.NUMBER, clear=True, check=_two_decimals) for end in ("low", "high"))),
        "Whether the first number in the text is from low to high, both included.",
        "A number is digits with an optional sign and decimals behind a point; a sign counts only where no letter,"
        " digit or point stands before it. Two decimals count, further ones are cut off. False where the text has no"
        " number.",
        "ret between($r.year, 1998, 2001)",
        meaning=_between,
        family_of=lambda _arguments, _limits: families.INTERVALS,
        asked=lambda arguments: families.intervals_within(*_range(arguments)),
        always=lambda arguments: False if _range(arguments)[0] > _range(arguments)[1] else None,
        widest=lambda _: families.MOST_INTERVALS,
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "far_from",
        (Parameter("number", Type.NUMBER, clear=True, check=_two_decimals), _TEXT),
        "Whether the first number in the text is far from this one: some three times as large, or a third of it.",
        "For prices and other amounts that two tables never state exactly alike. Numbers are put into bands that begin"
        " at 1, 1.5, 2.25 and so on up to a million, each half as high again; far is more than two bands apart. So what"
        " is less than 2.25 times as large or as small never is far, and what is 3.38 times as large always is. False"
        " where the text has no number; what a number is, and that two decimals count, is as for between.",
        'ret has_word("camera", $r) & !far_from(79.99, $r.price)',
        meaning=_far_from,
        family_of=lambda _arguments, _limits: families.FAR_BANDS,
        asked=lambda arguments: (families.band_asked(words.hundredths(Fraction(arguments[0]))),),
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "same_telephone",
        (Parameter("telephone", Type.TEXT, clear=True, check=_telephone, use="value"), _TEXT),
        "Whether the text has this telephone, whatever prefixes stand before it.",
        f"Its last {words.TELEPHONE_ENDING} digits are compared; spaces and the marks ( ) . / - do not matter. What has"
        " fewer digits is never found. Numbers with only such marks between them are read as one.",
        'ret same_telephone("310/456-0488", $r.phone)',
        meaning=lambda text, arguments: not words.telephone_endings(text).isdisjoint(_asked_ending(arguments)),
        family_of=lambda _arguments, _limits: families.TELEPHONES,
        asked=_asked_ending,
        always=lambda arguments: None if _asked_ending(arguments) else False,
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "near_date",
        (Parameter("date", Type.TEXT, clear=True, check=_date, use="value"), _TEXT),
        "Whether the first date in the text is this one, or this one with a slip: a digit wrong, or day and month"
        " exchanged.",
        "Dates are written 1980-05-17, as the type date writes them. False where the text has no date.",
        'ret near_date("1980-05-17", $r.born)',
        meaning=_near_date,
        family_of=lambda _arguments, _limits: families.NEAR_DATES,
        asked=_asked_date,
        always=lambda arguments: None if _asked_date(arguments) else False,
        case_rule=CaseRule.IGNORED,
    ),
    Predicate(
        "near_year",
        (Parameter("year", Type.NUMBER, clear=True, check=_year), _TEXT),
        "Whether the text has this year, the one before or the one after.",
        "A year is a word of four digits that begins with 1 or 2; any of the text's words will do.",
        "ret near_year(1999, $r.year)",
        meaning=lambda text, arguments: any(abs(year - _integer(arguments, 0)) <= 1 for year in words.years_of(text)),
        family_of=lambda _arguments, _limits: families.NEAR_YEARS,
        asked=lambda arguments: (str(_integer(arguments, 0)),),
        case_rule=CaseRule.IGNORED,
    ),
)

_FORMS: tuple[Function, ...] = (
    Function(
        "lower",
        (_TEXT,),
        "The text or record with all letters small.",
        "One character becomes one character: only letters whose small and capital forms pair up both ways change (É"
        " does, ß does not). lower($r) is still a record: lower($r).title works.",
        "$r = lower($r)",
    ),
    Function(
        "upper",
        (_TEXT,),
        "The text or record with all letters capital.",
        "The counterpart of lower, with the same letters.",
        'ret is_in("USM", upper($r))',
    ),
    Function(
        "choose",
        (
            Parameter("condition", Type.BOOLEAN),
            Parameter("a", Type.TEXT, any_type=True),
            Parameter("b", Type.TEXT, any_type=True),
        ),
        "a where the condition holds, b where not.",
        "a and b are two Booleans, two numbers or two texts. Both are evaluated; nobody can see which was taken.",
        'ret choose(is_empty($r.year), is_in("1999", $r), equals("1999", $r.year))',
    ),
)

_TALLIES: tuple[Counting, ...] = (
    Counting(
        "common_words",
        (Parameter("words", Type.TEXT, clear=True, use="words"), _TEXT),
        "How many of these words the text has.",
        "A number, to be compared: each different word counts once, however often it occurs on either side. "
        + _WORD_EDGE,
        'ret common_words("honey i shrunk the dbms", lower($r.title)) >= 4',
        meaning=lambda text, arguments: len(words.words_of(_string(arguments)) & words.words_of(text)),
        each=lambda arguments: tuple(("has_word", (word,)) for word in sorted(words.words_of(_string(arguments)))),
    ),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in (*_PREDICATES, *_FORMS, *_TALLIES)}
"""Every function of the language by name."""

PREDICATES: dict[str, Predicate] = {predicate.name: predicate for predicate in _PREDICATES}
"""The functions that engines have to answer."""

_NAME = re.compile(r"[^\W\d]\w*")


def register(function: Predicate | Counting) -> None:
    """Make a function part of the language in this process. An agreement has to list a new predicate before a study can
    use it, and every party has to have registered it. Raises `ValueError` if the entry cannot work.
    """
    if not _NAME.fullmatch(function.name) or function.name in ("ret", "true", "false"):
        raise ValueError(f"{function.name!r} is not a name for a function")
    if function.name in FUNCTIONS:
        raise ValueError(f"there is a function {function.name} already")
    if [parameter.type for parameter in function.parameters if not parameter.clear] != [Type.TEXT]:
        raise ValueError(f"{function.name} must have exactly one parameter that is not clear, and that is a text")
    FUNCTIONS[function.name] = function
    if isinstance(function, Predicate):
        PREDICATES[function.name] = function
