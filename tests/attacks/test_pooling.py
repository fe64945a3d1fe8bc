"""Two parties together, after a study in which both followed the protocol: asker and coordinator with a dictionary of
candidate records, and what an asker learns from the way in which the other side opens, or fails to.

The coordinator has both lists of keyed hashes and the asker their key, so together they find what was opened by trying
all values of a slot: y' = (r1 + α)·y. The asker knows α and can work out y for every candidate record. What it does not
know is r1, the other side's share.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from blindlabel.engines.interface import EngineError, KeyPair, Terms
from blindlabel.engines.packed.encoding import parcels
from blindlabel.engines.packed.planning.noise import PADDED
from blindlabel.engines.packed.residues import Residues, uniform
from blindlabel.engines.packed.rings import RingParameters
from blindlabel.engines.packed.running import opening
from blindlabel.engines.packed.seal import holders
from blindlabel.engines.packed.seal.ring import open_ring
from blindlabel.language import Limits, Record
from support.packed_rounds import ENGINE, asked, parcel_of

RING = open_ring(RingParameters("small", 8192, (38, 54, 54, 54)))
CANDIDATES = 16


def pooled(
    monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> tuple[Residues, Residues, Residues, npt.NDArray[np.int64]]:
    """Opened y' of all slots, the asker's own α, what every candidate would give as y, and which one it is."""
    keys = holders.generate(RING, [])
    holder = holders.KeyHolder(RING, keys.secret)
    relinearisation = holders.relinearisation_keys(RING, keys.relinearisation)
    candidates = np.stack([uniform(RING.degree, RING.modulus) for _ in range(CANDIDATES)])
    real = uniform(RING.degree, CANDIDATES).astype(np.int64)
    y = candidates[real, np.arange(RING.degree)]
    nothing = np.zeros(RING.degree, dtype=np.uint64)
    with monkeypatch.context() as patch:
        if not shared:
            patch.setattr(opening, "uniform", lambda _size, _modulus: nothing)
        shares = opening.shares(holder, 1)
    drawn: list[Residues] = []

    def noted(size: int, modulus: int) -> Residues:
        drawn.append(uniform(size, modulus))
        return drawn[-1]

    with monkeypatch.context() as patch:
        patch.setattr(opening, "uniform", noted)
        (answer,) = opening.mixed(RING, [RING.load_seeded(holder.encrypt(RING.slots(y)))], shares, relinearisation)
    padded = opening.padded(holders.Encryptor(RING, keys.zero), answer)
    values = RING.read_slots(holder.decrypt(RING.load_cipher(padded.cipher, PADDED)))
    modulus = np.uint64(RING.modulus)
    (own,) = drawn
    alpha = RING.read_slots(RING.polynomial(own))
    answers: Residues = (values + modulus - padded.pad) % modulus
    return answers, alpha, candidates, real


@pytest.mark.parametrize("shared", [True, False])
def test_asker_and_coordinator_find_no_candidate_of_a_dictionary(
    monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    answers, alpha, candidates, real = pooled(monkeypatch, shared=shared)
    fits = (alpha.astype(object) * candidates.astype(object)) % RING.modulus == answers.astype(object)
    found = int((fits.sum(axis=0) == 1)[fits[real, np.arange(RING.degree)]].sum())
    print(f"{'with' if shared else 'without'} the other side's share: {found} of {RING.degree} records named")
    if shared:
        assert fits.sum() <= 3, "131,072 tries with a chance of 2^-24 each: more than 3 come once in 10^10 runs"
    else:
        assert found > 0.99 * RING.degree, "the attack works where only the asker brings randomness"


TERMS = Terms(
    ("a",), record_length=12, records=2, case="lower", encode_attributes=False, functions=("is_in",),
    limits=Limits(needle_length=2), profile=(1,), exclusions=0,
)  # fmt: skip


def said(keys: KeyPair, content: bytes) -> str:
    try:
        ENGINE.open(TERMS, keys.secret, [content], 1, 2)
    except EngineError as error:
        return str(error)
    return "opened"


@pytest.mark.slow
def test_what_an_opener_says_of_crafted_answers_does_not_depend_on_its_key_or_records() -> None:
    """An asker sees whether a round is void. That must not be a test of the key, nor of the records."""
    questions = asked('ret is_in("ab", $r)')
    heard = []
    for texts in (("ab", "cd"), ("xy", "zz")):
        keys = ENGINE.make_keys(TERMS)
        sent = list(ENGINE.encrypt(TERMS, keys.secret, [Record.of({"a": text}) for text in texts], questions=1))
        (made,) = ENGINE.evaluate(TERMS, keys.public, sent, questions)
        parcel = parcel_of(TERMS, made.parcel)
        item = parcel.items[0]
        crafted = [bytes(len(item)), item[::-1], b"\xff" * len(item), item[:-1], item * 2]
        crafted += [
            item[: len(item) // 2] + bytes(len(item) - len(item) // 2),
            bytes(len(item) // 2) + item[len(item) // 2 :],
        ]
        changed = [parcels.write(replace(parcel, items=(one, *parcel.items[1:]))) for one in crafted]
        heard.append([said(keys, one) for one in [made.parcel, *changed, b"", made.parcel[:-1]]])
    assert heard[0] == heard[1]
    assert heard[0][0] == "opened" and "opened" not in heard[0][3:6]
