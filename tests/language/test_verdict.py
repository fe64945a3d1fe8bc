"""The verdict with two sides: imagined partners and impostors, what is said of them, and what is signed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindlabel.language import Question, Record
from blindlabel.language.chain import Chain, Condition
from blindlabel.language.formula import Atom
from blindlabel.language.in_words import asked_in_words, sentence_of
from blindlabel.language.record import View
from blindlabel.language.suggestions import RISKIEST, Suggester, Verdict
from blindlabel.language.suggestions.imagined import IMPOSTORS, PARTNERS, severity
from blindlabel.language.suggestions.judgement import CHANCES, OwnRows, weakness_of

ATTRIBUTES = ("given_name", "surname", "address", "phone")
GIVEN = [
    f"{one}{other}"
    for one in ("an", "ber", "cla", "die", "em", "fri", "gus", "hel")
    for other in ("na", "tram", "ra", "trich", "il", "da", "tav", "ene")
]
SURNAMES = [
    f"{one}{other}"
    for one in ("ev", "ok", "bonn", "lind", "mor", "tan", "had", "pet")
    for other in ("ans", "for", "qvist", "eau", "aka", "ad", "rov", "wick")
]


def people(count: int = 80) -> list[Record]:
    """Persons, some with a name that another has too, each with a telephone and an address of its own."""
    return [
        Record.of(
            {
                "given_name": GIVEN[place % 64],
                "surname": SURNAMES[(3 * place + place // 8) % 64],
                "address": f"{place + 1} {('mill', 'church', 'station', 'garden')[place % 4]} street",
                "phone": str(60_000_000 + 7919 * place),
            }
        )
        for place in range(count)
    ]


@pytest.fixture(scope="module")
def suggester() -> Suggester:
    return Suggester(people(), ATTRIBUTES, lowered=True)


def judged(suggester: Suggester, text: str, row: int = 0) -> Verdict:
    question = Question(text, attributes=suggester.attributes)
    return suggester.verdict(question, suggester.table.records[row])


def all_of(record: Record) -> str:
    """A question that asks for every word of a record."""
    words = [word for value in record.attributes.values() for word in value.split()]
    return "ret " + " & ".join(f'has_word("{word}", $r)' for word in words)


# Imagined ones


def test_a_record_has_the_same_imagined_ones_whenever_it_is_opened(suggester: Suggester) -> None:
    again = Suggester(people(), ATTRIBUTES, lowered=True)
    for record in people(5):
        first = suggester.imagined(record)
        assert first == suggester.imagined(record) == again.imagined(record)
        assert (len(first.partners), len(first.impostors)) == (PARTNERS, IMPOSTORS)
    assert suggester.imagined(people()[0]) != suggester.imagined(people()[1])


def test_partners_are_the_record_damaged_and_some_more_than_others(suggester: Suggester) -> None:
    record = people()[3]
    partners = suggester.imagined(record).partners
    changed = [sum(one.attributes[name] != value for name, value in record.attributes.items()) for one in partners]
    assert 0 in changed and max(changed) >= 2, "some are as the record is, and some differ in several attributes"
    assert sum(changed[: PARTNERS // 2]) < sum(changed[PARTNERS // 2 :]), "the later ones are damaged more"
    assert sum(map(severity, range(PARTNERS))) / PARTNERS == pytest.approx(1, abs=0.05)
    assert any(
        not one.attributes["phone"] for partners in map(suggester.imagined, people()) for one in partners.partners
    )


def test_a_value_that_rows_of_the_same_pattern_have_is_rarely_missing() -> None:
    """A table of films and persons: a person never has a title, and a film always has one."""
    films = [{"title": f"the film {word}", "name": ""} for word in map(str, range(50))]
    persons = [{"title": "", "name": f"anna {word}"} for word in map(str, range(50))]
    suggester = Suggester([Record.of(row) for row in (*films, *persons)], ("title", "name"), lowered=True)
    mixed = Suggester(
        [Record.of({"title": row["title"] * (place % 2), "name": f"a {place}"}) for place, row in enumerate(films)],
        ("title", "name"),
        lowered=True,
    )

    def missing(made: Suggester) -> int:
        found = [made.imagined(Record.of({**row, "name": made.table.records[1].attributes["name"]})) for row in films]
        return sum(not one.attributes["title"] for each in found for one in each.partners)

    assert 3 * missing(suggester) < missing(mixed), "half of either table has no title"


def test_a_value_with_a_type_is_never_written_in_another_form() -> None:
    rows = [Record.of({"name": f"anna {place}", "phone": f"+4930{1234567 + place}"}) for place in range(60)]
    typed, untyped = (Suggester(rows, ("name", "phone"), lowered=True, typed=one) for one in (("phone",), ()))

    def split(made: Suggester) -> int:
        return sum(" " in one.attributes["phone"] for row in rows for one in made.imagined(row).partners)

    assert split(typed) == 0 < split(untyped)


def test_case_is_kept_where_the_agreement_keeps_it() -> None:
    rows = [Record.of({"name": f"{one.title()} {other.title()}"}) for one, other in zip(GIVEN, SURNAMES)]
    suggester = Suggester(rows, ("name",))
    assert judged(suggester, 'ret is_in("Anna", $r) | is_in("Evans", $r)').found > 0.5
    assert judged(suggester, 'ret is_in("anna", $r)').kind == "not-itself"


def test_impostors_are_others_like_the_record(suggester: Suggester) -> None:
    record = people()[0]
    impostors = suggester.imagined(record).impostors
    assert not any(one == record for one in impostors)
    telephone = record.attributes["phone"]
    assert any(one.attributes["phone"] not in (telephone, "") for one in impostors)
    assert any(one.attributes["phone"] == telephone and one.attributes["given_name"] != "anna" for one in impostors)


# The verdict


def test_what_asks_for_everything_is_too_strict_and_what_asks_for_enough_is_good(suggester: Suggester) -> None:
    record = people()[0]
    strict = judged(suggester, all_of(record))
    assert (strict.kind, strict.level, strict.headline) == ("strict", "warn", "Found about 6 in 10: strict")
    assert strict.weakness == "One misspelt word and it is missed."
    longer = [
        Record.of({**one.attributes, "remark": " ".join(GIVEN[place:] + SURNAMES)})
        for place, one in enumerate(people(60))
    ]
    stricter = judged(Suggester(longer, (*ATTRIBUTES, "remark"), lowered=True), all_of(longer[44]), row=44)
    assert (stricter.kind, stricter.level) == ("too-strict", "bad")
    assert stricter.headline == "Found about 1 in 3: too strict"
    suggested = judged(suggester, suggester.suggest(record).text)
    assert suggested.level != "bad" and suggested.found > strict.found
    assert len(strict.missed) == 2 and len(suggested.passing) <= 2


def test_shown_partners_are_missed_and_shown_impostors_pass(suggester: Suggester) -> None:
    for row in range(6):
        question = Question(suggester.suggest(suggester.table.records[row]).text, attributes=ATTRIBUTES)
        found = judged(suggester, question.text, row)
        assert not any(question(one) for one in found.missed)
        assert all(question(one) for one in found.passing)
        assert found.missed or found.found > CHANCES[0].least
        assert len({one.whole for one in found.missed}) == len(found.missed), "not the same one twice"
    assert any(judged(suggester, suggester.suggest(one).text, row).missed for row, one in enumerate(people(6)))


def test_a_verdict_is_good_only_where_both_sides_are(suggester: Suggester) -> None:
    surname = judged(suggester, 'ret has_word("street", $r)')
    assert surname.kind == "loose" and surname.level == "bad"
    assert surname.headline == f"{surname.others} of 79 others: far too loose"
    name = judged(suggester, 'ret has_word("evans", $r)')
    assert (name.kind, name.level, name.others) == ("others", "warn", 1)
    assert name.headline.startswith("Also 1 other of yours; found about ")
    assert judged(suggester, "ret true").kind == "always" and judged(suggester, "ret true").also == ()
    assert judged(suggester, "ret false").headline == "Always no"
    assert judged(suggester, 'ret is_in("qqq", $r)').headline == "Not even this one"
    own = OwnRows(80, 0, True)
    levels = {kind: Verdict(kind, own, 1.0, 0.0, 0.0).level for kind in RISKIEST}
    assert [kind for kind, level in levels.items() if level == "good"] == ["good"]
    assert {kind for kind, level in levels.items() if level == "warn"} == {"others", "relatives", "few", "strict"}


def test_a_table_that_rules_nothing_out_makes_no_verdict_good() -> None:
    """The same question about the same record, with the other rows of its table taken away."""
    text = 'ret 2*is_in("60000000", $r) + has_word("anna", $r) + has_word("mill", $r) >= 3'
    large, small = (Suggester(people(count), ATTRIBUTES, lowered=True) for count in (40, 6))
    assert judged(large, text).level == "good"
    few = judged(small, text)
    assert (few.kind, few.level) == ("few", "warn")
    assert few.headline.endswith("too small to say who else would pass")
    assert "too few to say anything" in few.detail


def test_rows_that_say_the_same_rule_nothing_out() -> None:
    """A hundred copies of three rows are three rows; of the record's own copies none is another."""
    text = 'ret 2*is_in("60000000", $r) + has_word("anna", $r) + has_word("mill", $r) >= 3'
    for rows, said in ((people(3) * 33, "none of the 2 other rows"), (people(1) * 99, "no other row")):
        copied = judged(Suggester(rows, ATTRIBUTES, lowered=True), text)
        assert (copied.kind, copied.level) == ("few", "warn") and said in copied.detail
    twice = judged(Suggester(people() * 2, ATTRIBUTES, lowered=True), 'ret has_word("evans", $r)')
    assert (twice.others, twice.own.rows, len(twice.also)) == (1, 80, 1)


def test_nobody_is_called_a_relative_who_says_nothing_else_than_the_record(suggester: Suggester) -> None:
    only = Suggester(people(1), ATTRIBUTES, lowered=True)
    assert only.imagined(people()[0]).impostors == ()
    assert judged(only, 'ret has_word("anna", $r)').passing == ()
    films = [Record.of({"title": f"the {one} {other}"}) for one, other in zip(GIVEN, SURNAMES)]
    for made, records in ((suggester, people(10)), (Suggester(films, ("title",), lowered=True), films[:10])):
        for record in records:
            own = set(record.whole.split())
            assert all(set(one.whole.split()) - own for one in made.imagined(record).impostors), record


def test_what_a_record_lacks_its_partner_may_have() -> None:
    """That there is no telephone is no safe thing to ask for, where most others have one."""
    silent = Record.of({"given_name": "anna", "surname": "evans", "address": "1 mill street", "phone": ""})
    suggester = Suggester([silent, *people()[1:]], ATTRIBUTES, lowered=True)
    asked, less = (judged(suggester, f'ret is_in("1 mill", $r){more}') for more in (" & is_empty($r.phone)", ""))
    assert asked.found < less.found - 0.2
    assert any(one.attributes["phone"] for one in asked.missed)


def test_what_a_record_lacks_itself_is_no_condition_that_may_be_lost() -> None:
    chain = Chain((word("a"), word("zebra")), 1)
    assert weakness_of(chain, Record.of({"name": "a b"})) == 'All hangs on "a".'
    assert weakness_of(chain, Record.of({"name": "a zebra"})) == "Any one condition may be lost."


def test_a_number_that_differs_by_a_digit_makes_no_impostor(suggester: Suggester) -> None:
    """Somebody with the same name and address whose telephone differs by a digit is probably the same person."""

    def apart(one: str, other: str) -> int:
        return sum(a != b for a, b in zip(one, other)) if len(one) == len(other) else 99

    for record in people(20):
        for one in suggester.imagined(record).impostors:
            others = [name for name in ATTRIBUTES[:3] if one.attributes[name] not in (record.attributes[name], "")]
            assert others or not 0 < apart(one.attributes["phone"], record.attributes["phone"]) <= 1, one


def test_close_relatives_that_would_pass_are_named(suggester: Suggester) -> None:
    record = people()[79]
    given, surname, _, phone = record.attributes.values()
    address = 'is_in("80 garden street", $r)'
    found = judged(
        suggester,
        f'ret 2*has_word("{phone}", $r) + 2*{address} + has_word("{given}", $r.given_name) + has_word("{surname}", $r)'
        f' >= 2 & (!has_word("{given}", $r) | has_word("{phone}", $r) | {address})',
        row=79,
    )
    assert (found.kind, found.level, found.others) == ("relatives", "warn", 0), found
    assert found.headline.endswith("but imagined relatives of it pass") and "relatives" not in found.detail, "said once"
    also = replace(found, kind="others")
    assert also.detail.endswith("Imagined relatives of it pass, too.")
    assert "relatives" not in replace(also, relatives=0.5).detail
    careful = judged(suggester, f'ret has_word("{given}", $r) & has_word("{phone}", $r)', row=79)
    assert "relatives" not in careful.headline + careful.detail


def test_no_imagined_relative_of_a_person_has_its_given_name(suggester: Suggester) -> None:
    """Whoever has the same names and another telephone has moved; only the criteria can tell that this is a person."""
    known = Suggester(people(), ATTRIBUTES, lowered=True, personal=("given_name",), born=False)

    def same_name(made: Suggester) -> int:
        found = [(record, one) for record in people(20) for one in made.imagined(record).impostors]
        assert len(found) > 300
        return sum(one.attributes["given_name"] == record.attributes["given_name"] for record, one in found)

    assert same_name(known) == 0 < same_name(suggester)
    for record in people(10):
        assert known.suggest(record).text == suggester.suggest(record).text, "suggestions rest on a date of birth"
        assert known.imagined(record).partners == suggester.imagined(record).partners


def test_a_question_that_is_no_chain_gets_its_verdict_too(suggester: Suggester) -> None:
    words = " & ".join(f'(is_in("{one}", $r) | !is_in("{other}", $r))' for one, other in zip(GIVEN[:20], SURNAMES[1:]))
    question = Question(f"ret {words}", attributes=ATTRIBUTES)
    assert question.chain is None
    found = suggester.verdict(question, people()[0])
    assert found.headline and found.weakness == ""


@pytest.mark.parametrize(
    ("rows", "others", "said"),
    [
        (500, 0, "It fits none of the 499 other rows of your table, so probably fewer than 1 in 166 of others."),
        (5, 0, "It fits none of the 4 other rows of your table, which are too few to say anything."),
        (2, 0, "Your table has one other row, which is too little to say anything."),
        (500, 3, "It fits 3 of the 499 other rows of your table, 1 in 166."),
        (20, 15, "It fits 15 of the 19 other rows of your table."),
    ],
)
def test_a_count_says_what_it_can_rule_out(rows: int, others: int, said: str) -> None:
    assert OwnRows(rows, others, True).sentence == said


def test_words_change_with_the_share_of_partners_found() -> None:
    said = [Verdict("good", OwnRows(9, 0, True), share / 40, 0.0, 0.0).chance for share in range(41)]
    assert list(dict.fromkeys(said)) == [one.words for one in reversed(CHANCES)]
    assert (said[32], said[33], said[14], said[15]) == (
        CHANCES[1].words,
        CHANCES[0].words,
        *(c.words for c in (CHANCES[3], CHANCES[2])),
    )


# What it hangs on, and what is signed


def word(text: str, points: int = 1, attribute: str | None = None) -> Condition:
    return Condition(((Atom("is_in", (text,), View(attribute)),),), points)


@pytest.mark.parametrize(
    ("points", "bar", "said"),
    [
        ((1,), 1, 'All hangs on "a".'),
        ((1, 1, 1), 3, "One misspelt word and it is missed."),
        ((3, 1, 1), 3, '"a" alone decides.'),
        ((3, 1, 1), 4, 'Without "a" it is missed.'),
        ((2, 2, 2), 4, "Any one condition may be lost."),
        ((1, 1, 1, 1), 2, "Any two conditions may be lost."),
        ((1,), 2, ""),
    ],
)
def test_what_a_question_hangs_on_is_named(points: Sequence[int], bar: int, said: str) -> None:
    conditions = tuple(word(letter, worth) for letter, worth in zip("abcd", points))
    assert weakness_of(Chain(conditions, bar), Record.of({"name": "a b c d"})) == said


def test_a_misspelt_word_is_said_to_miss_only_where_it_does() -> None:
    """The same words, asked for by a predicate that bears a letter: every condition still counts, a misspelling not."""
    record = Record.of({"name": "anna evans"})
    asked = {
        function: [Condition(((Atom(function, (text, *more), View()),),)) for text in ("anna", "evans")]
        for function, more in (("has_word", ()), ("similar", (1,)))
    }
    said = {function: weakness_of(Chain(tuple(both), 2), record) for function, both in asked.items()}
    misspelt = Record.of({"name": "annna evans"})
    found = {function: Chain(tuple(both), 2).fits(misspelt) for function, both in asked.items()}
    assert found == {"has_word": False, "similar": True}
    assert said["has_word"] == "One misspelt word and it is missed."
    assert said["similar"] == "Not one of its conditions may be lost."


def test_a_sentence_says_what_is_signed() -> None:
    record = Record.of({"surname": "evans", "street": "mill", "phone": "61618"})
    two = Chain((word("61618", 2), word("evans"), word("mill")), 2)
    assert sentence_of(two, record) == (
        'Yes if it has "61618" (your phone), or "evans" (your surname) and "mill" (your street).'
    )
    excluded = Chain(
        (word("evans", 1, "surname"),),
        1,
        (((Atom("is_in", ("anna",), View()),)),),
        ((Atom("is_in", ("born",), View()),),),
    )
    assert sentence_of(excluded) == 'Yes if it has "evans" in surname; not if it has "anna", unless it has "born".'
    many = Chain(tuple(word(letter, 2 if letter in "ab" else 1) for letter in "abcdef"), 4)
    assert sentence_of(many) == (
        'Yes if it has enough of these 6 (any 4, or the 2 weightiest): "a", "b", "c", "d", "e", "f".'
    )
    hanging = Chain((word("a", 4), word("b", 2), *(word(letter) for letter in "cdef")), 7)
    assert sentence_of(hanging) == (
        'Yes if it has "a", and enough of these 5 (any 3, or the 2 weightiest): "b", "c", "d", "e", "f".'
    )
    enough = Chain((word("a", 13), *(word(letter) for letter in "bcdefghijklmn")), 13)
    assert sentence_of(replace(enough, bar=14)).startswith(
        'Yes if it has "a", and enough of these 13 (any 1): "b", "c"'
    )
    every = Chain(enough.conditions, enough.total)
    assert sentence_of(every) == "Yes if it has " + " and ".join(f'"{letter}"' for letter in "abcdefghijklmn") + "."
    either = Condition(((Atom("is_in", ("ann",), View()),), (Atom("is_in", ("anna",), View()),)))
    assert sentence_of(Chain((either, word("evans")), 2)) == 'Yes if it has ("ann" or "anna") and "evans".'
    assert sentence_of(Chain((), 0)) == "Yes to every record." and sentence_of(Chain((), 1)) == "No to every record."


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(1, 12))
def test_the_ways_that_a_sentence_names_are_the_ways_to_a_yes(points: list[int], bar: int) -> None:
    """A sentence that lists ways lists exactly the least ones; one that counts them is right about any, and the
    weightiest.
    """
    chain = Chain(tuple(word(letter, worth) for letter, worth in zip("abcdef", points)), bar)
    said = sentence_of(chain)
    yes = {
        found
        for found in product((False, True), repeat=len(points))
        if sum(w for w, on in zip(points, found) if on) >= bar
    }
    if said == "No to every record.":
        assert not yes
    elif "enough of these" in said:
        must = {letter for letter in "abcdef" if f'"{letter}"' in said.partition("enough of these")[0]}
        rest = [letter for letter in "abcdef"[: len(points)] if letter not in must]
        count = int(re.findall(r"any (\d+)", said)[0])

        def all_say_yes(some: int) -> bool:
            chosen = [must.union(one) for one in combinations(rest, some)]
            return all(tuple(letter in one for letter in "abcdef"[: len(points)]) in yes for one in chosen)

        assert all_say_yes(count) and not all_say_yes(count - 1)
        assert all(found["abcdef".index(letter)] for letter in must for found in yes), "what must be there"
    else:
        ways = [set(way.split(" and ")) for way in said.removeprefix("Yes if it has ").rstrip(".").split(", or ")]
        named = {
            found
            for found in product((False, True), repeat=len(points))
            if any(way <= {f'"{letter}"' for letter, on in zip("abcdef", found) if on} for way in ways)
        }
        assert named == yes


def test_a_condition_is_named_by_where_the_record_has_it() -> None:
    record = Record.of({"surname": "evans", "street": "mill"})
    assert asked_in_words(word("mill"), record) == '"mill" (your street)'
    assert asked_in_words(word("mill"), Record.of({"name": "mill"})) == '"mill"'
    assert asked_in_words(word("zzz"), record) == '"zzz"'
