"""What follows from an agreement alone: the ring, the chance of a wrong label, sizes; and rules that need no SEAL."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from blindlabel.engines.interface import EngineError, Terms, TermsError
from blindlabel.engines.packed import rings
from blindlabel.engines.packed.planning import noise, room
from blindlabel.engines.packed.planning.room import Room, room_of
from blindlabel.engines.packed.rings import RINGS, RingParameters
from blindlabel.engines.packed.rules import PackedRules
from blindlabel.engines.packed.seal.library import sealapi
from blindlabel.engines.packed.seal.ring import open_ring
from blindlabel.language import Limits, Question, Record
from blindlabel.protocol import agreement as agreements
from support.packed_rounds import ENGINE, Round, asked

SMALL = Terms(
    ("a",), record_length=24, records=12, case="lower", encode_attributes=False, functions=("is_in",),
    limits=Limits(needle_length=3), profile=(2, 1, 1), exclusions=1, unless=1,
)  # fmt: skip


def default(records: int = 50, **encoding: Any) -> Terms:
    """The terms of an agreement that says nothing else."""
    sampling = {"records": records}
    return agreements.new("rooms", ("anna", "berta"), ("name",), encoding=encoding, sampling=sampling).terms()


# -- how likely a label is wrong


@pytest.mark.parametrize("records", [50, 250, 1000])
def test_labels_of_a_default_agreement_are_wrong_once_in_a_million_at_most(records: int) -> None:
    found = room_of(default(records))
    assert found.wrong <= 1e-6
    assert found.opened_right >= noise.OPENED
    places, exclusions, unless = found.shape.places, *found.below
    assert (places, exclusions, unless, found.values) == (10, 2, 2, 3)
    chance = (places + 1 + max(exclusions, unless) + 1) / found.ring.modulus
    assert found.wrong == pytest.approx(chance + 3 * 2**-found.opened_right)


def test_a_thousand_records_need_no_sixth_data_prime() -> None:
    assert room_of(default(1000)).ring.name == "points-32768-360"
    assert room_of(default(50)).ring.name == "points-16384-360"


@pytest.mark.parametrize(
    "more", [{"profile": (*SMALL.profile, 1)}, {"exclusions": 2}, {"unless": 2}, {"exclusions": 8, "unless": 8}]
)
def test_more_places_exclusions_and_exceptions_make_labels_no_surer(more: dict[str, Any]) -> None:
    for ring in RINGS:
        assert Room(replace(SMALL, **more), ring).wrong > Room(SMALL, ring).wrong


def test_an_exception_beside_as_many_exclusions_costs_no_certainty_but_its_opening() -> None:
    """A pair meets an accident of V or one of W, never both."""
    for ring in RINGS:
        one, other = (Room(replace(SMALL, exclusions=2, unless=unless), ring) for unless in (1, 2))
        assert one._by_chance == other._by_chance


def test_labels_are_the_wronger_the_worse_answers_open() -> None:
    ring = RINGS[0]
    opened = [Room(replace(SMALL, record_length=length), ring) for length in (10, 400, 8000)]
    rights = [one.opened_right for one in opened]
    assert rights == sorted(rights, reverse=True) and len(set(rights)) == 3
    wrongs = [one.wrong for one in opened]
    assert wrongs == sorted(wrongs)
    shorter = RingParameters("shorter", ring.degree, (40, *ring.prime_bits[1:]))
    assert Room(SMALL, shorter).wrong > Room(SMALL, ring).wrong


def test_exclusions_that_are_multiplied_deeper_than_places_count_in_the_noise() -> None:
    """Of one place and eight exclusions, it is the product of eight that opens worst."""
    terms = replace(SMALL, profile=(1,), exclusions=8, unless=8)
    deep, flat = Room(terms, RINGS[0]), Room(replace(terms, exclusions=1, unless=1), RINGS[0])
    assert deep.opened_right < flat.opened_right - 10
    assert len(deep.noise()) == deep.values == 3


def test_the_next_ring_is_taken_where_the_evidence_for_one_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = default()
    first = room_of(terms).ring
    monkeypatch.setattr(noise, "OPENED", room_of(terms).opened_right + 1)
    room_of.cache_clear()
    second = room_of(terms).ring
    monkeypatch.undo()
    assert RINGS.index(second) > RINGS.index(first)
    monkeypatch.setattr(room, "WRONG", 0.0)
    room_of.cache_clear()
    with pytest.raises(TermsError, match="more than one label in a million"):
        room_of(terms)
    monkeypatch.undo()
    room_of.cache_clear()


def test_a_ring_is_chosen_for_what_its_key_may_lose() -> None:
    small, large = room_of(SMALL), room_of(replace(SMALL, key_bits=8000))
    assert ENGINE.zero_tests(SMALL) > 3000
    assert small.ring.degree < large.ring.degree
    assert ENGINE.zero_tests(large.terms) >= 8000
    with pytest.raises(TermsError, match="withstand the loss of 40000 bits"):
        room_of(replace(SMALL, key_bits=40_000))


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        (replace(SMALL, profile=(2,) * 6 + (1,) * 6, exclusions=8), "one label in a million"),
        (replace(SMALL, functions=()), "encodes nothing"),
        (replace(SMALL, exclusions=9), "exclusions = 9"),
        (replace(SMALL, profile=tuple(range(1, 14))), "different weights"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(terms: Terms, says: str) -> None:
    with pytest.raises(TermsError, match=says):
        room_of(terms)


# -- rings


@pytest.mark.parametrize("ring", RINGS, ids=lambda ring: ring.name)
def test_every_ring_of_the_table_is_seals(ring: RingParameters) -> None:
    opened = open_ring(ring)  # SEAL refuses what is below 128 bits
    assert ring.modulus == sealapi.PlainModulus.Batching(ring.degree, 24).value()
    assert [prime.bit_length() for prime in opened.primes] == list(ring.prime_bits[:-1])
    assert sum(ring.prime_bits) == int(ring.name.rpartition("-")[2])
    assert sum(ring.prime_bits) < dict(rings.GUIDELINES)[ring.degree]
    for level in range(1, ring.data_primes + 1):
        assert opened.form(level).length == ring.cipher_bytes(level)
        assert opened.form(level, seeded=True).length == ring.seeded_bytes(level)
    elements = [opened.rotation(step) for step in (1, 5)]
    keys = opened.galois_form(elements).length + opened.relinearisation_form.length
    assert ring.key_bytes(len(elements)) == opened.form(seeded=True).length + keys


def test_one_bit_beyond_the_security_of_a_ring_is_refused() -> None:
    """109 bits are what SEAL allows at N = 4096; nothing but the security tells the two rings apart."""
    assert open_ring(RingParameters("just enough", 4096, (36, 36, 37))).primes
    with pytest.raises(EngineError, match=r"SEAL refuses.*secur"):
        open_ring(RingParameters("weak", 4096, (36, 37, 37)))


@pytest.mark.slow
@pytest.mark.parametrize("below", [(0, 0), (1, 0), (1, 1)])
def test_bytes_of_a_round_are_those_that_explain_says(below: tuple[int, int]) -> None:
    """But for the headers of parcels."""
    terms = replace(SMALL, exclusions=below[0], unless=below[1], profile=(1,))
    (question,) = asked('ret is_in("a", $r)')
    one = Round(terms)
    one.run([Record.of({"a": "a"})] * terms.records, [question] * terms.records)
    explained = ENGINE.explain(terms, question)
    found = {"keys": [one.keys.public], "records": one.parcels, "answers": one.answers}
    assert explained.bytes.keys() == found.keys()
    for what, made in found.items():
        assert 0 < sum(map(len, made)) - explained.bytes[what] < 1000 * len(made), what


def test_one_question_about_one_record_takes_no_more_steps_than_several() -> None:
    """A width of one column would add up every slot of a record by itself."""
    one, several = (room_of(replace(SMALL, profile=(1,), exclusions=0, records=records)) for records in (1, 8))
    assert one.steps == several.steps
    assert one.steps.folds(one.layout) < 100


# -- without SEAL

_WITHOUT_SEAL = """
import sys


class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tenseal" or name.startswith(
            ("blindlabel.engines.packed.seal", "blindlabel.engines.packed.running")
        ):
            raise AssertionError(f"{name} was imported")


sys.meta_path.insert(0, Forbidden())
from blindlabel.engines.packed import PackedRules
from blindlabel.engines.registry import engine_named
from blindlabel.language import Question
from blindlabel.protocol import agreement as agreements

rules, terms = PackedRules(), agreements.new("rules", ("anna", "berta"), ("name",)).terms()
question = Question('ret is_in("a", $r) & !is_in("b", $r)').usable()
denied = Question('ret ' + ' & '.join(f'!is_in("{letter}", $r)' for letter in 'abc')).usable()
explained = rules.explain(terms, question)
print(rules.outcomes(terms), rules.zero_tests(terms), rules.refuse(terms, question), explained.wrong)
print(rules.refuse(terms, denied))
print(rules.least_terms(terms, [denied]).exclusions)
try:
    engine_named("packed")
except AssertionError as problem:
    print(problem)
"""


def test_the_rules_need_no_seal() -> None:
    """Nothing of TenSEAL, nor of the packages that use it, is imported by whoever has the rules alone."""
    done = subprocess.run([sys.executable, "-c", _WITHOUT_SEAL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answered, refused, least, forbidden = done.stdout.splitlines()
    terms, rules = default(), PackedRules()
    question = Question('ret is_in("a", $r) & !is_in("b", $r)').usable()
    explained = rules.explain(terms, question)
    assert answered.split() == ["4", str(rules.zero_tests(terms)), "None", str(explained.wrong)]
    assert refused.endswith("An agreement with exclusions = 3 would answer it.")
    assert least == "3"
    assert forbidden.startswith("blindlabel.engines.packed.running"), "and importing the engine would have been seen"


@pytest.mark.parametrize(("below", "outcomes"), [((2, 2), 4), ((2, 0), 3), ((0, 0), 2), ((0, 2), 2)])
def test_a_pair_has_as_many_outcomes_as_there_is_room_for(below: tuple[int, int], outcomes: int) -> None:
    terms = replace(SMALL, exclusions=below[0], unless=below[1])
    assert PackedRules().outcomes(terms) == outcomes
