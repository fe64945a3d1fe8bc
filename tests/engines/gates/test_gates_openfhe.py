"""The gates engine on real ciphertexts. Runs where OpenFHE imports (scripts/run-gates-tests.sh); elsewhere only the
other files run. A gate takes 0.04 s, so every test has few.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from blindlabel.engines.interface import KeyPair, ParcelError, Terms, Working, is_yes, outcomes
from blindlabel.language.formula import Atom, Conjunction, Constant, Count, Disjunction, Formula, Negation, evaluate
from blindlabel.language.functions import PREDICATES
from blindlabel.language.record import Record, View
from blindlabel_lab.bench import published_circuit
from blindlabel_lab.gates import bitwise, ciphertexts
from blindlabel_lab.gates.binfhe import Ciphertext, EncryptedGates
from blindlabel_lab.gates.bitwise import GatesEngine
from blindlabel_lab.gates.ciphertexts import Content
from blindlabel_lab.gates.record_circuits import compiled

pytest.importorskip("openfhe", reason="OpenFHE does not import under this Python", exc_type=ImportError)

LENGTH = 6
TERMS = Terms((), record_length=LENGTH, encode_attributes=False, functions=tuple(PREDICATES), records=3)
ENGINE = GatesEngine()


@cache
def keys() -> KeyPair:
    """One pair for all tests. A function, no fixture: what a property test takes as an argument is written into its
    report, and this is hundreds of megabytes.
    """
    return ENGINE.make_keys(TERMS)


@cache
def library() -> EncryptedGates:
    return bitwise._with_public_key(TERMS, keys().public)[1]


def encrypted(text: str) -> list[list[Ciphertext]]:
    return [[library().encrypt_publicly(bit) for bit in byte] for byte in published_circuit.bits_of(text)]


@cache
def secret() -> Any:
    return library().secret_key(ciphertexts.opened(Content.SECRET, TERMS, keys().secret)[1])


def decrypted(ciphertext: Ciphertext) -> bool:
    return library().decrypt(secret(), ciphertext)


def asked(questions: list[Formula], records: list[Record], workers: int = 1) -> list[list[bool]]:
    sent = list(ENGINE.encrypt(TERMS, keys().secret, records, len(questions)))
    answers = list(ENGINE.evaluate(TERMS, keys().public, sent, questions, Working(workers)))
    shape = (len(questions), len(records))
    opened = ENGINE.open(TERMS, keys().secret, (one.parcel for one in answers), *shape)
    pads = ENGINE.pad_values(TERMS, (one.pads for one in answers), *shape)
    return [[bool(one) for one in row] for row in is_yes(outcomes(opened == pads))]


# -- keys


def test_sizes_inside_a_key_decide_no_allocation(tmp_path: Path) -> None:
    """A key whose vectors say that they are enormous: refused, and no more memory is taken than for an honest key."""
    library()
    honest = _most_memory()
    body = ciphertexts.opened(Content.PUBLIC, TERMS, keys().public)[1]
    ciphertexts.unsqueeze(body, tmp_path / "key")
    head = (tmp_path / "key").read_bytes()[:400]
    refused = 0
    sizes = [place for place in range(1, 390, 4) if 1 < int.from_bytes(head[place : place + 8], "little") < 5000]
    assert len(sizes) > 1
    for place in sizes:
        with (tmp_path / "key").open("r+b") as file:
            file.seek(place)
            file.write((1 << 33).to_bytes(8, "little"))
        crafted = ciphertexts.squeezed(tmp_path / "key")
        with (tmp_path / "key").open("r+b") as file:
            file.seek(place)
            file.write(head[place : place + 8])
        try:
            EncryptedGates().load_public_key(memoryview(crafted))
        except ParcelError:
            refused += 1
    sys.stdout.write(f"{honest} MB for an honest key, {_most_memory()} MB at most; {refused} refused\n")
    assert refused == len(sizes)
    assert _most_memory() <= 1.5 * honest
    with pytest.raises(ParcelError, match="bytes"):
        EncryptedGates().load_public_key(body[:-1])


CRAFTED = 1_000


def _crafted(content: Content, key_id: bytes, body: memoryview, chance: random.Random) -> bytes:
    """A parcel with a right digest that lies otherwise: about its count, its record, its length, or its numbers."""
    small = body[: chance.randrange(min(2000, len(body)))].tobytes()
    what = chance.randrange(5)
    if what == 0:  # counts and numbers of records that would be gigabytes
        small = chance.choice([1, 1 << 20, (1 << 32) - 1]).to_bytes(4, "big") * 2 + small[8:]
    elif what == 1:
        small = chance.randbytes(chance.randrange(1, 5000))
    elif what == 2:  # the length that a squeezed key says it has
        small = chance.choice([0, 1, 1 << 33, 1 << 62]).to_bytes(8, "big") + small[8:]
    elif (
        what == 3 and content is not Content.PUBLIC and chance.random() < 0.05
    ):  # all as it should be, but the numbers: OpenFHE is given these
        small = body[:8].tobytes() + chance.randbytes(len(body) - 8)
    made = bytearray(
        ciphertexts.sealed(content, TERMS, ciphertexts.key_id_of(small) if content is Content.PUBLIC else key_id, small)
    )
    if what == 4:  # lengths and sizes of the header
        place = chance.randrange(8, ciphertexts.HEADER_BYTES - 8)
        made[place : place + 8] = chance.choice([0, 1 << 31, (1 << 64) - 1]).to_bytes(8, "big")
    return bytes(made)


@pytest.mark.parametrize("content", [Content.PUBLIC, Content.RECORD, Content.ANSWERS])
def test_crafted_parcels_take_no_more_memory_than_an_honest_one(content: Content) -> None:
    """Keys are refused by their size before anything is unpacked; those of the right size are the test above."""
    questions: list[Formula] = [Constant(True)]
    (record,) = ENGINE.encrypt(TERMS, keys().secret, [Record({}, "ab")], 1)

    key_id, _ = ciphertexts.opened(Content.SECRET, TERMS, keys().secret)
    work = bitwise._Evaluation(TERMS, key_id, compiled(TERMS, questions), library(), None)
    pads = library().numbers_of([library().encrypt_publicly(True)])

    def evaluated(parcel: bytes) -> bytes:
        """What the engine does with one record; the key's half a gigabyte was checked once, before."""
        return bitwise._answered(work, bitwise._RecordTask(0, parcel, b"\1", pads)).parcel

    honest = {Content.PUBLIC: keys().public, Content.RECORD: record, Content.ANSWERS: evaluated(record)}[content]
    use: Callable[[bytes], object] = {
        Content.PUBLIC: lambda parcel: library().load_public_key(ciphertexts.opened(content, TERMS, parcel)[1]),
        Content.RECORD: evaluated,
        Content.ANSWERS: lambda parcel: ENGINE.open(TERMS, keys().secret, [parcel], 1, 1),
    }[content]
    found_id, body = ciphertexts.opened(content, TERMS, honest)
    with _peak() as of_honest:
        use(honest)
    refused, chance = 0, random.Random(content.words)
    with _peak() as of_crafted:
        for _ in range(CRAFTED):
            try:
                use(_crafted(content, found_id, body, chance))
            except ParcelError:
                refused += 1
    found = f"{content.words}: {of_honest[0]} MB with an honest one, {of_crafted[0]} MB with {CRAFTED} crafted ones"
    sys.stdout.write(f"{found}, {refused} refused\n")
    assert of_crafted[0] <= of_honest[0] + 64, found  # the keys alone are gigabytes; 1.5 times would hide one
    assert refused >= 0.95 * CRAFTED, found


@contextmanager
def _peak() -> Iterator[list[int]]:
    """The most memory, in MB, that this process has meanwhile; what it had before at its most is forgotten, and what it
    has freed is given back first, or new memory would come out of that and not show.
    """
    found: list[int] = []
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    yield found
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    found.append(int(line.split()[1]) // 1024)


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


# -- gates


@pytest.mark.parametrize(("needle", "text"), [("b", "ab"), ("a", "bc")])
def test_the_published_is_in_works_on_ciphertexts_serial_and_parallel(needle: str, text: str) -> None:
    a, b = encrypted(needle), encrypted(text)
    found = [published_circuit.is_in(library(), a, b), published_circuit.is_in_parallel(library(), a, b, workers=2)]
    assert [decrypted(one) for one in found] == [needle in text] * 2


def test_the_published_case_circuits_work_on_ciphertexts() -> None:
    (byte,) = published_circuit.lower(library(), encrypted("C"))
    assert [decrypted(bit) for bit in byte] == published_circuit.bits_of("c")[0]


def test_the_whole_truth_table_of_every_gate() -> None:
    for first, second in itertools.product((False, True), repeat=2):
        a, b = library().encrypt_publicly(first), library().encrypt_publicly(second)
        assert decrypted(library().and_(a, b)) is (first and second)
        assert decrypted(library().or_(a, b)) is (first or second)
        assert decrypted(library().xor(a, b)) is (first != second)
        assert decrypted(library().xnor(a, b)) is (first == second)
        assert decrypted(library().not_(a)) is not first


def test_random_chains_of_gates_and_negations_stay_right() -> None:
    chance = random.Random(7)
    gates: dict[Callable[[Ciphertext, Ciphertext], Ciphertext], Callable[[bool, bool], bool]] = {
        library().and_: lambda a, b: a and b,
        library().or_: lambda a, b: a or b,
        library().xor: lambda a, b: a != b,
    }
    pool = [(library().encrypt_publicly(bit), bit) for bit in (True, False) * 5]
    for _ in range(60):
        (a, first), (b, second) = chance.sample(pool, 2)
        if chance.random() < 0.5:
            a, first = library().not_(a), not first
        gate = chance.choice(list(gates))
        value, expected = gate(a, b), gates[gate](first, second)
        assert decrypted(value) is expected
        pool[chance.randrange(len(pool))] = (value, expected)


# -- the engine

_words = st.text(alphabet="abA1 ", min_size=1, max_size=3)
_small_views = st.builds(View, st.none(), st.sampled_from(["exact", "lower", "upper"]))
_atoms: st.SearchStrategy[Formula] = st.one_of(
    st.builds(
        lambda function, needle, view: Atom(function, (needle,), view),
        st.sampled_from(["is_in", "starts_with", "ends_with", "equals", "has_word", "sounds_like"]),
        _words,
        _small_views,
    ),
    st.builds(lambda view: Atom("is_empty", (), view), _small_views),
    st.builds(lambda word, view: Atom("similar", (word, 1), view), _words, _small_views),
    st.builds(
        lambda low, size, view: Atom("between", (low, low + size), view),
        st.integers(0, 20),
        st.integers(0, 20),
        _small_views,
    ),
    st.builds(lambda number, view: Atom("far_from", (number,), view), st.integers(0, 20), _small_views),
)
_formulas: st.SearchStrategy[Formula] = st.one_of(
    _atoms,
    st.builds(Negation, _atoms),
    st.builds(lambda a, b: Conjunction((a, b)), _atoms, _atoms),
    st.builds(lambda a, b: Disjunction((a, b)), _atoms, _atoms),
    st.builds(lambda a, b, c: Count((2, 1, 1), (a, b, c), 2, 3), _atoms, _atoms, _atoms),
)
_records = st.builds(lambda text: Record({}, text), st.text(alphabet="abA1 ", min_size=2, max_size=LENGTH))


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.lists(_formulas, min_size=1, max_size=2), _records)
def test_ciphertexts_answer_as_the_plain_meaning_does(questions: list[Formula], record: Record) -> None:
    assume(20 <= compiled(TERMS, questions).gates <= 60)
    assert asked(questions, [record]) == [[evaluate(question, record)] for question in questions]


def test_forked_processes_give_the_same_answers() -> None:
    records = [Record({}, "ab"), Record({}, "ba"), Record({}, "")]
    questions: list[Formula] = [Atom("starts_with", ("a",), View()), Constant(True), Constant(False)]
    assert asked(questions, records, workers=2) == [[True, False, False], [True] * 3, [False] * 3]


def test_what_is_opened_is_a_fair_coin_whatever_the_answer() -> None:
    """The pad for a yes and the other bit for a no; pads are fair, and drawn anew for every evaluation."""
    each = 64
    questions = [Constant(True)] * each + [Constant(False)] * each
    sent = list(ENGINE.encrypt(TERMS, keys().secret, [Record({}, "")], len(questions)))
    (answers,) = ENGINE.evaluate(TERMS, keys().public, sent, questions)
    opened = ENGINE.open(TERMS, keys().secret, [answers.parcel], len(questions), 1)[0, :, 0]
    pads = ENGINE.pad_values(TERMS, [answers.pads], len(questions), 1)[0, :, 0]
    assert set(answers.pads) == {0, 1}
    assert (opened == pads).tolist() == [True] * each + [False] * each
    for half in (opened[:each], opened[each:]):
        assert 8 <= half.sum() <= each - 8, "by chance once in a hundred million runs"
    (again,) = ENGINE.evaluate(TERMS, keys().public, sent, questions[:each])
    assert again.pads != answers.pads[:each]
    key_id, _ = ciphertexts.opened(Content.SECRET, TERMS, keys().secret)
    numbers = ciphertexts.opened_batch(Content.ANSWERS, TERMS, again.parcel, key_id, record=0, count=each)
    assert all(len(set(row.tolist())) > 100 for row in numbers), "a trivial ciphertext is all zeros but one"
    assert len({row.tobytes() for row in numbers}) == each


def test_parcels_and_keys_of_others_are_refused() -> None:
    other = Terms((), agreement_hash=b"o" * 32, record_length=LENGTH, encode_attributes=False)
    with pytest.raises(ParcelError, match="another agreement"):
        list(ENGINE.encrypt(other, keys().secret, [Record({}, "a")], 1))
    with pytest.raises(ParcelError, match="too short"):
        list(ENGINE.evaluate(TERMS, keys().public, [b"noise"], [Constant(True)]))
    narrow = Terms((), record_length=LENGTH, encode_attributes=False, records=0)
    with pytest.raises(ParcelError, match="more encrypted records than the 0"):
        list(ENGINE.evaluate(narrow, keys().public, [b"noise"], [Constant(True)]))
    with pytest.raises(ParcelError, match="Expected a secret key"):
        ENGINE.open(TERMS, keys().public, [], 1, 0)
    with pytest.raises(ParcelError, match="answers for 0 records"):
        ENGINE.open(TERMS, keys().secret, [], 1, 1)
