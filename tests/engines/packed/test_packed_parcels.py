"""Hostile bytes: every one of them is a typed error with a sentence, before or behind SEAL, and never a label. What is
said does not depend on what was asked.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from blindlabel.engines.interface import Evaluated, KeyPair, ParcelError, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Parcel, Study
from blindlabel.engines.packed.residues import uniform
from blindlabel.engines.packed.rings import SEED
from blindlabel.engines.packed.running.keys import open_public
from blindlabel.language import Limits, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import ENGINE, Round, asked, keys_of, parcel_of

TERMS = Terms(
    ("a",), record_length=12, records=8, case="lower", encode_attributes=False, functions=("has_word",),
    limits=Limits(needle_length=3), profile=(1,), exclusions=1, unless=1,
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i}"}) for i in range(8)]
QUESTIONS = asked('ret has_word("w1", $r)')


@pytest.fixture(scope="module")
def played() -> Round:
    one = Round(TERMS)
    one.run(RECORDS, QUESTIONS)
    return one


def _evaluated(public: bytes, sent: list[bytes], questions: list[Formula] = QUESTIONS) -> list[Evaluated]:
    return list(ENGINE.evaluate(TERMS, public, sent, questions))


Use = Callable[[Round, bytes], object]
USES: dict[str, Use] = {
    "records": lambda one, content: _evaluated(one.keys.public, [content, *one.parcels[1:]]),
    "shares": lambda one, content: _evaluated(one.keys.public, [*one.parcels[:-1], content]),
    "answers": lambda one, content: ENGINE.open(TERMS, one.keys.secret, [content], 1, 8),
    "pads": lambda one, content: ENGINE.pad_values(TERMS, [content], 1, 8),
    "public": lambda one, content: _evaluated(content, one.parcels),
    "secret": lambda one, content: ENGINE.open(TERMS, content, one.answers, 1, 8),
}


def _good(one: Round, use: str) -> bytes:
    return {
        "records": one.parcels[0],
        "shares": one.parcels[-1],
        "answers": one.answers[0],
        "pads": one.pads[0],
        "public": one.keys.public,
        "secret": one.keys.secret,
    }[use]


def _resealed(content: bytes, change: Callable[[Parcel], Parcel]) -> bytes:
    """The parcel changed by somebody who also makes the checksum right."""
    return parcels.write(change(parcel_of(TERMS, content)))


@pytest.mark.parametrize("use", USES)
def test_truncated_parcels(played: Round, use: str) -> None:
    good = _good(played, use)
    for length in (0, 3, 40, 150, 200, len(good) // 2, len(good) - 1):
        with pytest.raises(ParcelError):
            USES[use](played, good[:length])


@pytest.mark.parametrize("use", USES)
def test_flipped_bits_are_found_before_seal_sees_them(played: Round, use: str) -> None:
    good = _good(played, use)
    random = Random(1)
    for place in [*range(0, 160, 13), *(random.randrange(len(good)) for _ in range(12))]:
        broken = bytearray(good)
        broken[place] ^= 1 << random.randrange(8)
        with pytest.raises(ParcelError):
            USES[use](played, bytes(broken))


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

    other_kind = next(kind for kind in USES if kind != use)
    with pytest.raises(ParcelError, match=r"where .* was expected"):
        USES[use](played, _good(played, other_kind))
    with pytest.raises(ParcelError, match="another agreement"):
        USES[use](played, study(lambda one: replace(one, agreement=b"\1" * 32)))
    with pytest.raises(ParcelError, match="parameters"):
        USES[use](played, study(lambda one: replace(one, parameters="points-16384-414")))
    if use != "pads":  # which never leave whoever made them
        with pytest.raises(ParcelError, match=r"keys|own name"):
            USES[use](played, study(lambda one: replace(one, key_id=b"\2" * 16)))
    newer = bytearray(good)
    newer[4] = 9
    with pytest.raises(ParcelError, match="version 9"):
        USES[use](played, bytes(newer))


def test_parcels_of_another_study_with_the_same_terms(played: Round) -> None:
    other = ENGINE.make_keys(TERMS)
    with pytest.raises(ParcelError, match="other keys"):
        ENGINE.open(TERMS, other.secret, played.answers, 1, 8)
    with pytest.raises(ParcelError, match="other keys"):
        _evaluated(other.public, played.parcels)


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_damage_behind_a_right_checksum_never_crashes(played: Round, use: str) -> None:
    # Whoever can forge the checksum still meets the checks of `forms` and SEAL's own. What comes through is a
    # well-formed object of something else, as any peer could send; it must not crash, and what does not parse is a
    # typed error.
    good = _good(played, use)
    random = Random(2)
    refused = 0
    for trial in range(12):

        def change(parcel: Parcel, trial: int = trial) -> Parcel:
            item = bytearray(parcel.items[0])
            if trial % 3 == 0:
                item = item[: random.randrange(len(item))]
            elif trial % 6 == 1:
                item[random.randrange(min(120, len(item)))] ^= 1 << random.randrange(8)
            else:
                item = bytearray(random.randbytes(random.randrange(1, 2000)))
            return replace(parcel, items=(bytes(item), *parcel.items[1:]))

        try:
            USES[use](played, _resealed(good, change))
        except ParcelError:
            refused += 1
    assert refused >= 10


def test_a_ciphertext_at_the_wrong_place_of_the_chain_is_refused(played: Round) -> None:
    fresh = parcel_of(TERMS, played.parcels[0]).items[0]
    values = len(parcel_of(TERMS, played.answers[0]).items)
    with pytest.raises(ParcelError, match="at most"):
        USES["answers"](played, _resealed(played.answers[0], lambda one: replace(one, items=(fresh,) * values)))


def test_records_that_are_missing_repeated_or_out_of_order(played: Round) -> None:
    public = played.keys.public
    for some in ([], played.parcels[:1]):
        with pytest.raises(ParcelError, match="missing"):
            _evaluated(public, some)
    with pytest.raises(ParcelError, match="order"):
        _evaluated(public, played.parcels * 2)
    for place, value in ((0, 1), (1, 7), (3, 2), (4, 3), (5, 2**31)):

        def change(parcel: Parcel, place: int = place, value: int = value) -> Parcel:
            numbers = list(parcel.numbers)
            numbers[place] = value
            return replace(parcel, numbers=tuple(numbers))

        with pytest.raises(ParcelError):
            _evaluated(public, [_resealed(played.parcels[0], change), *played.parcels[1:]])


def test_answers_that_are_missing_repeated_or_of_another_shape(played: Round) -> None:
    secret = played.keys.secret
    with pytest.raises(ParcelError, match="missing"):
        ENGINE.open(TERMS, secret, [], 1, 8)
    with pytest.raises(ParcelError, match="twice"):
        ENGINE.open(TERMS, secret, played.answers * 2, 1, 8)
    with pytest.raises(ParcelError, match="shape"):
        ENGINE.open(TERMS, secret, played.answers, 2, 8)
    with pytest.raises(ParcelError, match="shape"):
        USES["answers"](played, _resealed(played.answers[0], lambda one: replace(one, items=one.items[:1])))


def test_a_public_key_put_together_from_two_is_refused(played: Round) -> None:
    theirs = parcel_of(TERMS, ENGINE.make_keys(TERMS).public).items
    mixed = _resealed(played.keys.public, lambda parcel: replace(parcel, items=(theirs[0], *parcel.items[1:])))
    with pytest.raises(ParcelError, match="own name"):
        open_public(TERMS, mixed)


# -- halves that somebody chose, seeds that somebody used twice


def _changed(sent: list[bytes], change: Callable[[bytes], bytes]) -> list[bytes]:
    """What came, with the first ciphertext of every parcel changed."""
    return [
        _resealed(content, lambda parcel: replace(parcel, items=(change(parcel.items[0]), *parcel.items[1:])))
        for content in sent
    ]


def _hostile(keys: KeyPair, sent: list[bytes]) -> Iterator[tuple[str, bytes, list[bytes]]]:
    yield "a chosen second half", keys.public, _changed(sent, lambda item: item[SEED:] * 2)
    yield "a constant second half", keys.public, _changed(sent, lambda item: item[SEED:] + bytes(len(item) - SEED))
    yield "no second half", keys.public, _changed(sent, lambda item: item[SEED:])
    yield "one seed for all", keys.public, _changed(sent, lambda item: bytes(SEED) + item[SEED:])
    beyond = _changed(sent, lambda item: item[:SEED] + b"\xff" * (len(item) - SEED))
    yield "residues beyond the prime", keys.public, beyond
    yield "cut off", keys.public, sent[:-1]
    yield "too much", keys.public, [*sent, sent[-1]]
    public, ring = parcel_of(TERMS, keys.public), open_public(TERMS, keys.public).ring
    full = ring.sent(ring.load_seeded(public.items[0]))
    for name, items in {
        "a public half that was chosen": (full, *public.items[1:]),
        "something behind a public half": (public.items[0] + bytes(64), *public.items[1:]),
        "switching keys cut off": (*public.items[:2], public.items[2][:-1]),
        "switching keys from one seed": (*public.items[:2], public.items[0][:SEED] + public.items[2][SEED:]),
    }.items():
        study = replace(public.study, key_id=parcels.key_id_of(items))
        made = parcels.write(replace(public, study=study, items=items))
        renamed = [parcels.write(replace(parcel_of(TERMS, content), study=study)) for content in sent]
        yield name, made, renamed


def test_unseeded_and_constant_halves_are_refused(played: Round) -> None:
    """Whoever chooses the half that should be uniform could read the asker's randomness out of the answers."""
    names = {"a chosen second half", "a constant second half", "no second half", "a public half that was chosen"}
    names |= {"something behind a public half"}
    tried = set()
    for name, public, content in _hostile(played.keys, played.parcels):
        if name in names:
            with pytest.raises(ParcelError):
                _evaluated(public, content)
            tried.add(name)
    assert tried == names


def test_malformed_parcels_end_with_one_sentence_whatever_is_asked(played: Round) -> None:
    for name, public, content in _hostile(played.keys, played.parcels):
        said = []
        for questions in (QUESTIONS, asked("ret false")):
            with pytest.raises(ParcelError) as problem:
                _evaluated(public, content, questions)
            said.append(str(problem.value))
        assert said[0] == said[1], name


def test_records_and_keys_full_of_noise_are_answered_like_any_other(played: Round) -> None:
    """Rubbish behind the seeds raises nothing: neither zeros nor noise lead to an error that depends on the weights."""
    form = open_public(TERMS, played.keys.public).ring.form(seeded=True)

    def zeros(item: bytes) -> bytes:
        return item[:SEED] + bytes(len(item) - SEED)

    def rubbish(item: bytes) -> bytes:
        if len(item) != form.length:
            return zeros(item)
        rows = np.stack([uniform(form.rows.degree, prime) for prime in form.rows.primes])
        return item[:SEED] + form.rows.write(rows)

    for change in (zeros, rubbish):
        for questions in (QUESTIONS, asked("ret false")):
            made = _evaluated(played.keys.public, _changed(played.parcels, change), questions)
            assert [len(one.parcel) for one in made] == [len(one) for one in played.answers]


def test_keys_of_other_terms_are_refused() -> None:
    other = replace(TERMS, profile=(1,) * 8)
    with pytest.raises(ParcelError):
        open_public(other, keys_of(TERMS).public)
