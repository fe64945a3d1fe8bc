"""Hostile bytes: every one of them is a typed error with a sentence, before or behind SEAL, and never a label."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from blindlabel.engines.interface import ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel, Study
from blindlabel.engines.packed.keys import open_public
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import ENGINE, Round, keys_of

TERMS = Terms(
    ("a",), questions="any",
    record_length=12, records=8, case="lower", encode_attributes=False, functions=("has_word",),
    limits=Limits(total_weight=3), probes=2, inner_gates=0,
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i}"}) for i in range(8)]


def _questions() -> list[Formula]:
    formula = Question('ret !has_word("w1", $r)').formula
    assert formula is not None
    return [formula]


@pytest.fixture(scope="module")
def played() -> Round:
    one = Round(TERMS)
    one.run(RECORDS, _questions())
    return one


Use = Callable[[Round, bytes], object]
USES: dict[str, Use] = {
    "records": lambda one, content: list(ENGINE.evaluate(TERMS, one.keys.public, [content], _questions(), one.assist)),
    "request": lambda one, content: ENGINE.assist(TERMS, one.keys.secret, content),
    "reply": lambda one, content: list(
        ENGINE.evaluate(TERMS, one.keys.public, one.parcels, _questions(), lambda _: content)
    ),
    "answers": lambda one, content: ENGINE.decrypt(TERMS, one.keys.secret, [content], 1, 8),
    "public": lambda one, content: list(ENGINE.encrypt(TERMS, content, RECORDS)),
    "secret": lambda one, content: ENGINE.decrypt(TERMS, content, one.answers, 1, 8),
}


def _good(one: Round, use: str) -> bytes:
    return {
        "records": one.parcels[0],
        "request": one.requests[0],
        "reply": one.replies[0],
        "answers": one.answers[0],
        "public": one.keys.public,
        "secret": one.keys.secret,
    }[use]


def _resealed(content: bytes, change: Callable[[Parcel], Parcel]) -> bytes:
    """The parcel changed by somebody who also makes the checksum right."""
    kinds = tuple(Kind)
    opened = parcels.read(content, kinds, None, most_items=1000, most_bytes=1 << 30)
    return parcels.write(change(opened))


@pytest.mark.parametrize("use", USES)
def test_truncated_parcels(played: Round, use: str) -> None:
    good = _good(played, use)
    for length in (0, 3, 40, 150, 200, len(good) // 2, len(good) - 1):
        with pytest.raises(ParcelError):
            USES[use](played, good[:length])


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_flipped_bits_are_found_before_seal_sees_them(played: Round, use: str) -> None:
    good = _good(played, use)
    random = Random(1)
    for place in [*range(0, 160, 13), *(random.randrange(len(good)) for _ in range(12))]:
        broken = bytearray(good)
        broken[place] ^= 1 << random.randrange(8)
        if (
            bytes(broken) == good or place == 7
        ):  # the one byte of the header that is not used is covered by the checksum too
            continue
        with pytest.raises(ParcelError):
            USES[use](played, bytes(broken))


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_parcels_that_are_too_long_or_claim_to_be(played: Round, use: str) -> None:
    good = _good(played, use)
    with pytest.raises(ParcelError):
        USES[use](played, good + b"x")
    with pytest.raises(ParcelError):
        USES[use](played, _resealed(good, lambda parcel: replace(parcel, items=parcel.items * 300)))
    claims = bytearray(good)
    claims[112:120] = (2**40).to_bytes(8, "little")  # the number of parts
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ParcelError):
        USES[use](played, bytes(claims))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("use", USES)
def test_parcels_of_other_kinds_agreements_parameters_keys_and_versions(played: Round, use: str) -> None:
    good = _good(played, use)

    def study(change: Callable[[Study], Study]) -> bytes:
        return _resealed(good, lambda parcel: replace(parcel, study=change(parcel.study)))

    other_kind = next(kind for kind in USES if kind != use and {kind, use} != {"request", "reply"})
    with pytest.raises(ParcelError, match=r"where .* was expected"):
        USES[use](played, _good(played, other_kind))
    with pytest.raises(ParcelError, match="another agreement"):
        USES[use](played, study(lambda one: replace(one, agreement=b"\1" * 32)))
    with pytest.raises(ParcelError, match="parameters"):
        USES[use](played, study(lambda one: replace(one, parameters="points-16384-320")))
    with pytest.raises(ParcelError, match=r"keys|own name"):
        USES[use](played, study(lambda one: replace(one, key_id=b"\2" * 16)))
    newer = bytearray(good)
    newer[4] = 9
    with pytest.raises(ParcelError, match="version 9"):
        USES[use](played, bytes(newer))


def test_parcels_of_another_study_with_the_same_terms(played: Round) -> None:
    other = ENGINE.make_keys(TERMS)
    with pytest.raises(ParcelError, match="other keys"):
        ENGINE.decrypt(TERMS, other.secret, played.answers, 1, 8)
    with pytest.raises(ParcelError, match="other keys"):
        list(ENGINE.evaluate(TERMS, other.public, played.parcels, _questions(), played.assist))
    with pytest.raises(ParcelError, match="other keys"):
        ENGINE.assist(TERMS, other.secret, played.requests[0])


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_damage_behind_a_right_checksum_never_crashes(played: Round, use: str) -> None:
    # Whoever can forge the checksum still meets SEAL's own checks. What comes through is a well-formed ciphertext of
    # something else, as any peer could send; it must not crash, and a key or ciphertext that does not parse is a typed
    # error.
    good = _good(played, use)
    random = Random(2)
    refused = 0
    for trial in range(24):

        def change(parcel: Parcel, trial: int = trial) -> Parcel:
            item = bytearray(parcel.items[0])
            if trial % 3 == 0:
                item = item[: random.randrange(len(item))]
            elif trial % 3 == 1:
                item[random.randrange(min(120, len(item)))] ^= 1 << random.randrange(8)
            else:
                item = bytearray(random.randbytes(random.randrange(1, 2000)))
            return replace(parcel, items=(bytes(item), *parcel.items[1:]))

        try:
            USES[use](played, _resealed(good, change))
        except ParcelError:
            refused += 1
    assert refused >= 16


def test_a_ciphertext_at_the_wrong_place_of_the_chain_is_refused(played: Round) -> None:
    fresh = parcels.read(played.parcels[0], (Kind.RECORDS,), None, most_items=1000, most_bytes=1 << 30).items[0]
    with pytest.raises(ParcelError, match="at most"):
        ENGINE.assist(
            TERMS, played.keys.secret, _resealed(played.requests[0], lambda parcel: replace(parcel, items=(fresh,)))
        )


def test_records_that_are_missing_repeated_or_out_of_order(played: Round) -> None:
    public = played.keys.public
    with pytest.raises(ParcelError, match="missing"):
        list(ENGINE.evaluate(TERMS, public, [], _questions(), played.assist))
    with pytest.raises(ParcelError, match="order"):
        list(ENGINE.evaluate(TERMS, public, played.parcels * 2, _questions(), played.assist))
    for place, value in ((0, 1), (1, 7), (3, 2), (4, 3), (5, 2**31)):

        def change(parcel: Parcel, place: int = place, value: int = value) -> Parcel:
            numbers = list(parcel.numbers)
            numbers[place] = value
            return replace(parcel, numbers=tuple(numbers))

        with pytest.raises(ParcelError):
            list(ENGINE.evaluate(TERMS, public, [_resealed(played.parcels[0], change)], _questions(), played.assist))


def test_answers_that_are_missing_repeated_or_of_another_shape(played: Round) -> None:
    secret = played.keys.secret
    with pytest.raises(ParcelError, match="missing"):
        ENGINE.decrypt(TERMS, secret, [], 1, 8)
    with pytest.raises(ParcelError, match="twice"):
        ENGINE.decrypt(TERMS, secret, played.answers * 2, 1, 8)
    with pytest.raises(ParcelError, match="shape"):
        ENGINE.decrypt(TERMS, secret, played.answers, 2, 8)


def test_assist_requests_beyond_the_agreement_are_refused(played: Round) -> None:
    for number in (0, 5, 1 << 20):
        for request in played.requests[:2]:
            with pytest.raises(ParcelError, match="does not have"):
                ENGINE.assist(
                    TERMS,
                    played.keys.secret,
                    _resealed(request, lambda parcel, number=number: replace(parcel, numbers=(number,))),  # type: ignore[misc]
                )
    quiet = replace(TERMS, questions="points", profile=(1,), exclusions=0)
    with pytest.raises(ParcelError, match="never called"):
        ENGINE.assist(quiet, keys_of(quiet).secret, played.requests[0])


def test_a_public_key_put_together_from_two_is_refused(played: Round) -> None:
    other = ENGINE.make_keys(TERMS)
    theirs = parcels.read(other.public, (Kind.PUBLIC_KEY,), None, most_items=6, most_bytes=1 << 30).items
    mixed = _resealed(played.keys.public, lambda parcel: replace(parcel, items=(theirs[0], *parcel.items[1:])))
    with pytest.raises(ParcelError, match="own name"):
        open_public(TERMS, mixed)
