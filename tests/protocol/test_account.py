"""The account of bits follows from the agreement, and an agreement that would spend a key is not served."""

from __future__ import annotations

from dataclasses import replace

import pytest

from blindlabel.protocol.account import (
    Exposure,
    account,
    content_bits_of_round,
    key_bits_of_round,
    renewal,
)

DEFAULT = Exposure(records=50, owners=2, rounds=3, most_yes=5, release="matches", exclusions=True, keys="owners")


def test_a_round_of_fifty_records_gives_the_bits_of_the_design() -> None:
    assert key_bits_of_round(DEFAULT) == 454
    assert content_bits_of_round(DEFAULT) == 1263  # 1,262.4 rounded up


@pytest.mark.parametrize(
    ("zero_tests", "wanted"), [(4450, "study"), (2724, "study"), (2723, "round"), (908, "round"), (907, None)]
)
def test_a_key_is_renewed_or_refused_before_half_of_its_zero_tests_are_spent(
    zero_tests: int, wanted: str | None
) -> None:
    assert renewal(DEFAULT, zero_tests) == wanted


def test_releasing_less_never_costs_more() -> None:
    releases = ("none", "matches", "labels")
    for measure in (key_bits_of_round, content_bits_of_round):
        bits = [measure(replace(DEFAULT, release=release)) for release in releases]  # type: ignore[arg-type]
        assert bits == sorted(bits)
        assert len(set(bits)) == 3


def test_only_two_parties_together_are_without_a_bound() -> None:
    for keys in ("owners", "coordinator"):
        entries = account(replace(DEFAULT, keys=keys))
        assert [entry.party for entry in entries if entry.cheating is None] == ["the coordinator and an owner"]
        assert all(entry.cheating is None or entry.cheating >= entry.honest for entry in entries)
