"""The account of bits follows from the agreement, and an agreement that would spend a key is not served."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, comb, log2

import pytest

from blindlabel.engines.interface import TermsError
from blindlabel.engines.registry import rules_named
from blindlabel.errors import InputError
from blindlabel.parties.accounting import account_of
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.account import (
    LATER_COPY,
    Exposure,
    account,
    content_bits,
    key_bits,
    key_bits_of_round,
    key_must_bear,
    record_bits,
    sampling_bits,
    stored_bits,
    used,
)

DEFAULT = Exposure(records=50, owners=2, rounds=3, most_yes=5, release="matches", outcomes=4)
ROUND = [(50, 50)]


def test_rows_that_the_agreement_names_are_counted_and_said() -> None:
    rows = {"anna": [0, 17, 1022], "berta": [3, 5, 8]}
    named = agreements.new("t", list(rows), ["name"], sampling={"method": "rows", "records": 3, "rows": rows})
    (entry,) = (one for one in account(named.exposure).entries if one.party == "everybody, from the agreement")
    assert (entry.honest, entry.cheating) == (30, 30) and "no owner keeps that secret" in entry.says
    drawn = agreements.new("t", list(rows), ["name"], sampling={"records": 3})
    assert all(one.party != "everybody, from the agreement" for one in account(drawn.exposure).entries)


def test_a_round_of_fifty_records_gives_the_bits_of_the_design_and_one_for_a_void_round() -> None:
    a_round = 50 * log2(5) + 50 + log2(51) + 5 * log2(2501) + 1
    assert key_bits_of_round(DEFAULT) == ceil(a_round + 250) == 480
    matches = 50 * log2(sum(comb(50, k) for k in range(6)))
    rows, reasons = log2(10**10), log2(7)
    assert content_bits(DEFAULT, ROUND) == ceil(a_round + matches + rows + reasons) == 1325
    assert record_bits(DEFAULT) == ceil(3 * (50 + log2(1 + sum(comb(50, k) for k in range(6))))) == 214


def test_the_default_agreement_has_the_default_exposure() -> None:
    assert replace(agreements.new("any", ["anna", "berta"], ["name"]).exposure, outcomes=4) == DEFAULT
    made = account_of(agreements.new("any", ["anna", "berta"], ["name"]))
    assert made.entries == account(DEFAULT, made.key.bears).entries
    assert made.key.bears >= 2 * made.key.spent


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
    for exposure in (DEFAULT, replace(DEFAULT, owners=3)):
        made = account(exposure, bears=10**6)
        unbounded = [entry.party for entry in made.entries if entry.cheating is None]
        assert unbounded == ["coordinator and an owner"]
        assert all(entry.cheating is None or entry.cheating >= entry.honest for entry in made.entries)


def test_where_an_engine_has_no_bound_the_account_says_so_in_both_directions() -> None:
    made = account_of(agreements.new("any", ["anna", "berta", "clara"], ["name"], encoding={"engine": "plain"}))
    assert [entry.party for entry in made.entries if entry.cheating is not None] == [
        "coordinator",
        "owner, of a pairing of two others",
    ]
    assert made.lines()[-1].strip() == rules_named("plain").unbounded
    assert made.to_json()["unbounded"] == rules_named("plain").unbounded


def test_a_later_copy_of_the_coordinators_folder_is_counted_and_unbounded_where_no_key_bears_a_bit_a_pair() -> None:
    a_round = 200 + 5 * log2(2501)
    kept, of_key = stored_bits(DEFAULT)
    assert kept == ceil(2500 * log2(8) + 3 * a_round + 87) and of_key == ceil(2500 + a_round) == 2757
    for records, bounded in ((62, True), (63, False)):
        made = account_of(agreements.new("t", ["anna", "berta"], ["name"], sampling={"records": records}))
        (copy,) = (one for one in made.entries if one.party == LATER_COPY)
        assert (copy.cheating == copy.honest) == bounded and ("count records as read" in copy.says) != bounded


def test_every_outcome_more_is_in_the_coordinators_account() -> None:
    seen = [account(replace(DEFAULT, outcomes=count)).entries[0].honest for count in (2, 3, 4)]
    assert [one - seen[0] for one in seen] == [0, 2925, 5000]
    owners = {account(replace(DEFAULT, outcomes=count)).entries[1].honest for count in (2, 3, 4)}
    assert len(owners) == 1


def test_an_engine_that_is_not_installed_is_refused_with_those_that_are() -> None:
    agreement = agreements.new("any", ["anna", "berta"], ["name"], encoding={"engine": "magic"})
    with pytest.raises(InputError, match=r"no engine magic .* there are .*packed, plain"):
        account_of(agreement)


def test_what_an_enriched_sample_tells_is_in_the_account() -> None:
    enriched = agreements.new(
        "any", ["anna", "berta"], ["name"], sampling={"method": "enriched", "blocking": ["name"]}
    ).exposure
    enriched = replace(enriched, outcomes=4)
    assert (enriched.offers, enriched.chosen) == (1000, 25)
    told = sampling_bits(enriched)
    assert log2(comb(1000, 25)) + 50 < told < log2(comb(1000, 25)) + 52
    assert sampling_bits(DEFAULT) == 0
    owners = [account(one).entries[1].honest for one in (enriched, DEFAULT)]
    coordinators = [account(one).entries[0].honest for one in (enriched, DEFAULT)]
    assert owners[0] - owners[1] == told
    assert coordinators[0] - coordinators[1] in (9, 10)  # how many of 1,000 keys both have
    assert used(enriched, ROUND, sampled=True).owner - used(DEFAULT, ROUND).owner == told
    assert account(enriched).key == account(DEFAULT).key
    assert record_bits(enriched) - record_bits(DEFAULT) == told, "which may all be about one record"
    assert record_bits(replace(DEFAULT, shown=9, shown_bits=1000.0)) - record_bits(DEFAULT) == 1000, "shown in clear"


@pytest.mark.parametrize("records", [8, 600])
def test_a_key_bears_twice_what_a_round_gives(records: int) -> None:
    agreement = agreements.new(
        "any",
        ["anna", "berta"],
        ["name"],
        sampling={"records": records},
        encoding={"functions": ["is_in"], "attributes": False, "profile": [2, 1, 1]},
    )
    assert rules_named("packed").zero_tests(agreement.terms()) >= key_must_bear(agreement.exposure)


@pytest.mark.parametrize("changed", [{"records": 5000}, {"release": "labels", "records": 200}])
def test_an_agreement_that_no_key_can_bear_is_refused(changed: dict[str, object]) -> None:
    agreement = agreements.new(
        "any", ["anna", "berta"], ["name"], sampling={"records": changed.pop("records")}, **changed
    )
    with pytest.raises(TermsError, match="release less"):
        account_of(agreement)


def test_what_was_used_is_counted_with_the_records_that_were_open() -> None:
    use = used(DEFAULT, [(50, 50), (7, 4), (2, 2)], void=1)
    assert use.owner == content_bits(DEFAULT, [(50, 50), (7, 4), (2, 2)]) + 1
    assert use.key == 480
    assert use.coordinator == ceil(2 * (2500 + 28 + 4) * 2 + 2 * log2(10**10) + 2)
    bound = account(DEFAULT)
    assert use.coordinator < (bound.entries[0].cheating or 0)
    assert use.owner < (bound.entries[1].cheating or 0)
    assert used(DEFAULT, []).owner == used(DEFAULT, []).key == 0


def test_huge_agreements_are_counted_at_once_and_never_too_low() -> None:
    huge = replace(DEFAULT, records=10**9, most_yes=10**6)
    assert account(huge).entries[1].honest > content_bits(replace(huge, most_yes=5), 3 * [(10**9, 10**9)]) > 10**10
    exact, bound = content_bits(DEFAULT, [(2000, 2000)]), content_bits(DEFAULT, [(2001, 2000)])
    assert exact < bound < 1.1 * exact
    assert content_bits(replace(DEFAULT, most_yes=50), ROUND) <= 50 * 50 + 266  # any subset: one bit a pair
