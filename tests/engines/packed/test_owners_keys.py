"""Keys of the records' owner: the whole way through the engine, with honest and with hostile parcels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from blindlabel.engines.interface import EngineError, Evaluated, Keys, Outcome, ParcelError, Terms, TermsError, outcomes
from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.encoding.parcels import Kind, Parcel
from blindlabel.engines.packed.keys import open_public
from blindlabel.engines.packed.running.tiles import tiles_of
from blindlabel.engines.packed.seal.forms import SEED
from blindlabel.engines.packed.seal.residues import uniform
from blindlabel.engines.packed.ways.choosing import way_of
from blindlabel.engines.packed.ways.points import way as points
from blindlabel.language import Limits, Question, Record
from blindlabel.language.formula import Formula
from support.packed_rounds import ENGINE, Round, agree, in_clear, keys_of

TERMS = Terms(
    ("a",), record_length=24, records=30, case="lower", encode_attributes=False, functions=("is_in", "has_word"),
    limits=Limits(needle_length=4), profile=(1, 1), exclusions=0, keys="owners",
)  # fmt: skip
RECORDS = [Record.of({"a": f"w{i % 3} common x{i}"}) for i in range(30)]


def asked(*sources: str) -> list[Formula]:
    return [formula for formula in (Question(source).formula for source in sources) if formula is not None]


MANY = asked(*[f'ret is_in("w{i % 3}", $r) & (is_in("com", $r) | is_in("x{i}", $r))' for i in range(6)])


@pytest.fixture(scope="module")
def keys() -> Keys:
    return keys_of(TERMS)


@pytest.fixture(scope="module")
def sent(keys: Keys) -> list[bytes]:
    return list(ENGINE.encrypt(TERMS, keys.secret, RECORDS, questions=len(MANY)))


def _evaluated(keys: Keys, sent: list[bytes], questions: list[Formula], terms: Terms = TERMS) -> list[Evaluated]:
    return list(ENGINE.evaluate(terms, keys.public, sent, questions, _never))


def _never(_: bytes) -> bytes:
    raise AssertionError("there is nobody to help")


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_are_the_interpreters(workers: int) -> None:
    one = Round(TERMS)
    assert (one.run(RECORDS, MANY, workers=workers) == in_clear(RECORDS, MANY)).all()
    assert all(one.pads) and not one.requests


POINTS = Terms(
    ("a",), questions="points", keys="owners", record_length=24, records=12, case="lower", encode_attributes=False,
    functions=("is_in",), limits=Limits(needle_length=3), profile=(2, 1, 1), exclusions=1,
)  # fmt: skip
ASKED = asked(
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 3',
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 1',
    'ret 2*is_in("w1", $r) + is_in("x1", $r) + is_in("com", $r) >= 4',
    'ret is_in("com", $r) & !is_in("w2", $r)',
    'ret is_in("w2", $r) | is_in("x3", $r)',
)


def test_points_and_exclusions_are_answered_under_the_owners_keys() -> None:
    """Bars of one and of all points included; an exclusion is told from a no, and only where the points are reached."""
    records, one = RECORDS[:12], Round(POINTS)
    assert (one.run(records, ASKED) == in_clear(records, ASKED)).all()
    shape = (len(ASKED), len(records))
    opened = ENGINE.open(POINTS, one.keys.secret, one.answers, *shape)
    found = outcomes(opened == ENGINE.pad_values(POINTS, one.pads, *shape))
    excluded = np.array(["w2" in record.whole for record in records])
    assert (found[3] == np.where(excluded, Outcome.EXCLUDED, Outcome.YES)).all()
    assert (found[[0, 1, 2, 4]] != Outcome.EXCLUDED).all()


@pytest.mark.slow
def test_points_of_several_tiles_made_by_worker_processes_are_the_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "_MOST_SUMS", 1)  # a tile for every group
    terms = replace(POINTS, records=4096)  # room for so many makes groups of four questions
    assert len(tiles_of(way_of(terms), 0, len(ASKED))) == 2
    one = Round(terms)
    assert (one.run(RECORDS[:5], ASKED, workers=2) == in_clear(RECORDS[:5], ASKED)).all()
    assert all(one.pads) and not one.requests


@pytest.mark.parametrize(("workers", "sizes"), [(1, [2, 2, 2]), (2, [1, 2, 1, 2]), (5, [1, 1, 1, 1, 2]), (9, [1] * 6)])
def test_workers_share_the_groups_out_evenly(monkeypatch: pytest.MonkeyPatch, workers: int, sizes: list[int]) -> None:
    way = way_of(replace(POINTS, records=4096))
    monkeypatch.setattr(type(way), "groups_together", lambda _: 2)
    found = tiles_of(way, 0, 24, workers=workers)
    assert [len(tile.groups) for tile in found] == sizes
    assert [group for tile in found for group in tile.groups] == list(range(6))
    assert tiles_of(way, 0, 24, done={(0, group) for group in range(6)}, workers=workers) == []


@pytest.mark.slow
def test_bytes_of_a_round_are_those_that_explain_says() -> None:
    """Beside the headers of parcels, under both kinds of keys."""
    for terms in (POINTS, replace(POINTS, keys="coordinator")):
        one, count = Round(terms), terms.records
        one.run(RECORDS[:count], ASKED[:1] * count)
        said = ENGINE.explain(terms, ASKED[0]).bytes
        found = {"keys": [one.keys.public], "records": one.parcels, "answers": one.answers}
        for what, made in found.items():
            assert 0 < sum(map(len, made)) - said[what] < 1000 * len(made), what


def test_the_ring_is_chosen_for_what_its_key_may_lose() -> None:
    small = way_of(POINTS)
    assert ENGINE.zero_tests(POINTS) > 3000
    large = way_of(replace(POINTS, key_bits=8000))
    assert small.ring.degree < large.ring.degree
    with pytest.raises(TermsError, match="withstand the loss of 40000 bits"):
        way_of(replace(POINTS, key_bits=40_000))


def test_nobody_but_the_key_holder_and_the_asker_together_can_read_an_answer(keys: Keys, sent: list[bytes]) -> None:
    made = _evaluated(keys, sent, MANY)
    shape = (len(MANY), len(RECORDS))
    opened = ENGINE.open(TERMS, keys.secret, (one.parcel for one in made), *shape)
    pads = ENGINE.pad_values(TERMS, (one.pads for one in made), *shape)
    assert agree((opened == pads)[0], in_clear(RECORDS, MANY))
    for values in (
        opened,
        pads,
    ):  # 180 of 24 bits: two are the same in one run of a thousand, three pairs of them never
        assert np.count_nonzero(values == 0) <= 1 and len(np.unique(values)) >= values.size - 2


def test_a_retry_has_the_very_bytes_and_what_was_lost_is_made_anew(
    keys: Keys, sent: list[bytes], tmp_path: Path
) -> None:
    def again() -> list[Evaluated]:
        return list(PackedEngine(journal=tmp_path).evaluate(TERMS, keys.public, sent, MANY, _never))

    (first,) = again()
    assert again() == [first]
    (kept,) = tmp_path.glob("*.answers")
    kept.write_bytes(kept.read_bytes()[:-1])  # the pads are damaged: neither half of it is used again
    (second,) = again()
    assert second.parcel != first.parcel and second.pads != first.pads
    opened = ENGINE.open(TERMS, keys.secret, [second.parcel], len(MANY), len(RECORDS))
    pads = ENGINE.pad_values(TERMS, [second.pads], len(MANY), len(RECORDS))
    assert agree((opened == pads)[0], in_clear(RECORDS, MANY))


def test_a_round_encrypted_again_has_other_bytes_throughout(keys: Keys, sent: list[bytes]) -> None:
    again = list(ENGINE.encrypt(TERMS, keys.secret, RECORDS, questions=len(MANY)))
    assert [len(one) for one in again] == [len(one) for one in sent]
    seeds = [item[:SEED] for content in (*sent, *again) for item in _opened(content).items]
    assert len(set(seeds)) == len(seeds)


def _opened(content: bytes) -> Parcel:
    return parcels.read(content, (Kind.RECORDS, Kind.SHARES), None, most_items=1000, most_bytes=1 << 30)


def _changed(sent: list[bytes], change: Callable[[bytes], bytes]) -> list[bytes]:
    """What came, with the first ciphertext of every parcel changed."""
    made = []
    for content in sent:
        parcel = _opened(content)
        made.append(parcels.write(replace(parcel, items=(change(parcel.items[0]), *parcel.items[1:]))))
    return made


@dataclass(frozen=True)
class Served:
    """A round that waits for its questions, and two sets of them that have little in common."""

    terms: Terms
    keys: Keys
    sent: list[bytes]
    many: list[Formula]
    few: list[Formula]

    def evaluated(self, keys: Keys, sent: list[bytes], questions: list[Formula]) -> list[Evaluated]:
        return _evaluated(keys, sent, questions, self.terms)


@pytest.fixture(scope="module")
def served() -> Served:
    keys = keys_of(POINTS)
    sent = list(ENGINE.encrypt(POINTS, keys.secret, RECORDS[: POINTS.records], questions=len(ASKED)))
    return Served(POINTS, keys, sent, ASKED, asked(*['ret is_in("q", $r)'] * len(ASKED)))


def _hostile(served: Served) -> Iterator[tuple[str, Keys, list[bytes]]]:
    keys, sent = served.keys, served.sent
    way = open_public(served.terms, keys.public).way
    yield "a chosen second half", keys, _changed(sent, lambda item: item[SEED:] * 2)
    yield "a constant second half", keys, _changed(sent, lambda item: item[SEED:] + bytes(len(item) - SEED))
    yield "no second half", keys, _changed(sent, lambda item: item[SEED:])
    yield "one seed for all", keys, _changed(sent, lambda item: bytes(SEED) + item[SEED:])
    yield "residues beyond the prime", keys, _changed(sent, lambda item: item[:SEED] + b"\xff" * (len(item) - SEED))
    yield "cut off", keys, sent[:-1]
    yield "too much", keys, [*sent, sent[-1]]
    public = parcels.read(keys.public, (Kind.PUBLIC_KEY,), None, most_items=9, most_bytes=1 << 30)
    full = way.ring.sent(way.ring.load_seeded(public.items[0]))
    for name, items in {
        "a public half that was chosen": (full, *public.items[1:]),
        "something behind a public half": (public.items[0] + bytes(64), *public.items[1:]),
        "switching keys cut off": (*public.items[:2], public.items[2][:-1]),
        "switching keys from one seed": (*public.items[:2], public.items[0][:SEED] + public.items[2][SEED:]),
    }.items():
        study = replace(public.study, key_id=parcels.key_id_of(items))
        made = parcels.write(replace(public, study=study, items=items))
        yield (
            name,
            replace(keys, public=made),
            [parcels.write(replace(parcel, study=study)) for parcel in map(_opened, sent)],
        )


def test_unseeded_and_constant_halves_are_refused(served: Served) -> None:
    """Whoever chooses the half that should be uniform could read the asker's randomness out of the answers."""
    names = {"a chosen second half", "a constant second half", "no second half", "a public half that was chosen"}
    names |= {"something behind a public half"}
    tried = set()
    for name, hostile, content in _hostile(served):
        if name in names:
            with pytest.raises(ParcelError):
                served.evaluated(hostile, content, served.few)
            tried.add(name)
    assert tried == names


@pytest.mark.slow
def test_malformed_parcels_end_with_one_sentence_whatever_is_asked(served: Served) -> None:
    for name, hostile, content in _hostile(served):
        said = []
        for questions in (served.many, served.few):
            with pytest.raises(ParcelError) as problem:
                served.evaluated(hostile, content, questions)
            said.append(str(problem.value))
        assert said[0] == said[1], name


@pytest.mark.slow
def test_records_and_keys_full_of_noise_are_answered_like_any_other(served: Served) -> None:
    """Rubbish behind the seeds raises nothing: neither zeros nor noise lead to an error that depends on the weights."""
    form = open_public(served.terms, served.keys.public).way.record_form

    def zeros(item: bytes) -> bytes:
        return item[:SEED] + bytes(len(item) - SEED)

    def rubbish(item: bytes) -> bytes:
        if len(item) != form.length:
            return zeros(item)
        rows = np.stack([uniform(form.rows.degree, prime) for prime in form.rows.primes])
        return item[:SEED] + form.rows.write(rows)

    sizes = [len(one.parcel) for one in served.evaluated(served.keys, served.sent, served.many)]
    for change, questions in ((zeros, served.many), (zeros, served.few), (rubbish, served.few)):
        made = served.evaluated(served.keys, _changed(served.sent, change), questions)
        assert [len(one.parcel) for one in made] == sizes


def test_the_coordinators_help_needs_the_coordinators_keys() -> None:
    with pytest.raises(TermsError, match="keys of its own"):
        ENGINE.make_keys(replace(TERMS, questions="any"))


def test_randomness_for_other_questions_is_refused(keys: Keys, sent: list[bytes]) -> None:
    with pytest.raises(EngineError, match="for other questions"):
        _evaluated(keys, sent, MANY[:2])
