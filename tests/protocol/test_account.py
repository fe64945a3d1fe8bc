"""The account of bits follows from the agreement, and an agreement that would spend a key is not served."""

from __future__ import annotations

from dataclasses import replace
from math import comb, log2

import pytest

from blindlabel.engines.interface import TermsError
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.account import (
    UNBOUNDED,
    Exposure,
    account,
    content_bits,
    key_bits,
    key_bits_of_round,
    key_must_bear,
    sampling_bits,
    used,
)
from blindlabel.protocol.agreement import Agreement

DEFAULT = Exposure(records=50, owners=2, rounds=3, most_yes=5, release="matches", exclusions=True, keys="owners")
ROUND = [(50, 50)]


def test_a_round_of_fifty_records_gives_the_bits_of_the_design_and_one_for_a_void_round() -> None:
    assert key_bits_of_round(DEFAULT) == 455  # 453.6 and one
    assert content_bits(DEFAULT, ROUND) == 1264  # 1,262.4 and one


def test_the_default_agreement_has_the_default_exposure() -> None:
    assert agreements.new("any", ["anna", "berta"], ["name"]).exposure == DEFAULT


def test_releasing_less_never_costs_more() -> None:
    releases = [replace(DEFAULT, release=release) for release in ("none", "matches", "labels")]
    for bits in ([key_bits_of_round(one) for one in releases], [content_bits(one, 3 * ROUND) for one in releases]):
        assert bits == sorted(bits)
        assert len(set(bits)) == 3


def test_more_rounds_and_more_open_records_give_more_bits() -> None:
    assert content_bits(DEFAULT, []) == 0
    assert content_bits(DEFAULT, ROUND) < content_bits(DEFAULT, [*ROUND, (3, 2)]) < content_bits(DEFAULT, 2 * ROUND)
    assert key_bits(DEFAULT, 3, 2) < key_bits(DEFAULT, 50, 49) < key_bits_of_round(DEFAULT)


def test_only_two_parties_together_are_without_a_bound_where_the_key_holds() -> None:
    for exposure in (DEFAULT, replace(DEFAULT, keys="coordinator"), replace(DEFAULT, owners=3)):
        made = account(exposure, bears=10**6)
        unbounded = [entry.party for entry in made.entries if entry.cheating is None]
        assert unbounded == ["coordinator and an owner"]
        assert all(entry.cheating is None or entry.cheating >= entry.honest for entry in made.entries)


def test_a_coordinators_key_that_cannot_bear_the_study_bounds_no_cheating_owner() -> None:
    made = account(replace(DEFAULT, keys="coordinator"), bears=661)
    assert made.key.spent == 3 * 455 + 50
    assert made.key.holds is False
    assert "owner that asks" in [entry.party for entry in made.entries if entry.cheating is None]
    assert made.lines()[-1].strip() == UNBOUNDED


def test_two_owners_learn_about_the_coordinators_one_key_together() -> None:
    three = replace(DEFAULT, keys="coordinator", owners=3)
    spent = account(three).key.spent
    for bears, bounded in ((2 * spent, False), (4 * spent, True)):
        made = {entry.party: entry.cheating for entry in account(three, bears).entries}
        assert made["owner that asks"] is not None
        assert (made["two owners, of a third"] is not None) == bounded


def _under_the_coordinators_key(**encoding: object) -> Agreement:
    return agreements.new("any", ["anna", "berta"], ["name"], keys="coordinator", encoding=encoding)


def test_under_the_coordinators_key_the_ring_bears_the_whole_study_where_one_can() -> None:
    agreement = _under_the_coordinators_key()
    made = account_of(agreement)
    assert made.key.spent == 3 * 455 + 50
    assert made.key.holds and made.entries[1].cheating == made.entries[1].honest
    assert not any(UNBOUNDED in line for line in made.lines())


def test_where_no_ring_bears_the_study_the_account_says_that_nothing_bounds_a_cheating_owner() -> None:
    made = account_of(_under_the_coordinators_key(questions="any"))
    assert made.key.holds is False and made.entries[1].cheating is None
    assert sum(UNBOUNDED in line for line in made.lines()) == 1


def test_what_an_enriched_sample_tells_is_in_the_account() -> None:
    enriched = agreements.new(
        "any", ["anna", "berta"], ["name"], sampling={"method": "enriched", "blocking": ["name"]}
    ).exposure
    assert (enriched.offers, enriched.chosen) == (1000, 25)
    told = sampling_bits(enriched)
    assert log2(comb(1000, 25)) + 50 < told < log2(comb(1000, 25)) + 52
    assert sampling_bits(DEFAULT) == 0
    owners = [account(one).entries[1].honest for one in (enriched, DEFAULT)]
    coordinators = [account(one).entries[0].honest for one in (enriched, DEFAULT)]
    assert owners[0] - owners[1] == told
    assert coordinators[0] - coordinators[1] == 10  # how many of 1,000 keys both have
    assert used(enriched, ROUND, sampled=True).owner - used(DEFAULT, ROUND).owner == told
    assert account(enriched).key == account(DEFAULT).key


@pytest.mark.parametrize(("records", "degree"), [(8, 16384), (600, 32768)])
def test_the_smallest_ring_is_taken_whose_key_bears_twice_what_a_round_gives(records: int, degree: int) -> None:
    agreement = agreements.new(
        "any",
        ["anna", "berta"],
        ["name"],
        sampling={"records": records},
        encoding={"functions": ["is_in"], "attributes": False, "profile": [2, 1, 1]},
    )
    bears = PackedEngine().zero_tests(agreement.terms())
    assert bears >= key_must_bear(agreement.exposure)
    assert way_of(agreement.terms()).ring.degree == degree


@pytest.mark.parametrize("changed", [{"records": 5000}, {"release": "labels", "records": 200}])
def test_an_agreement_that_no_key_can_bear_is_refused(changed: dict[str, object]) -> None:
    agreement = agreements.new(
        "any", ["anna", "berta"], ["name"], sampling={"records": changed.pop("records")}, **changed
    )
    with pytest.raises(TermsError, match="release less"):
        PackedEngine().make_keys(agreement.terms())


def test_what_was_used_is_counted_with_the_records_that_were_open() -> None:
    use = used(DEFAULT, [(50, 50), (7, 4), (2, 2)], void=1)
    assert use.owner == content_bits(DEFAULT, [(50, 50), (7, 4), (2, 2)]) + 1
    assert use.key == 455
    assert use.coordinator == 8027  # 2·(2500 + 28 + 4)·log2 3
    bound = account(DEFAULT)
    assert use.coordinator < (bound.entries[0].cheating or 0)
    assert use.owner < (bound.entries[1].cheating or 0)
    assert used(DEFAULT, []).owner == used(DEFAULT, []).key == 0


def test_huge_agreements_are_counted_at_once_and_never_too_low() -> None:
    huge = replace(DEFAULT, records=10**9, most_yes=10**6)
    assert account(huge).entries[1].honest > content_bits(replace(huge, most_yes=5), 3 * [(10**9, 10**9)]) > 10**10
    exact, bound = content_bits(DEFAULT, [(2000, 2000)]), content_bits(DEFAULT, [(2001, 2000)])
    assert exact < bound < 1.1 * exact
    assert content_bits(replace(DEFAULT, most_yes=50), ROUND) <= 50 * 50 + 206  # any subset: one bit a pair
