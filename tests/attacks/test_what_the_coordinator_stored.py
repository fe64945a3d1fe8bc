"""Owners hold the keys: nothing that ever reached the coordinator opens a record, and every asker gets a new key
in every round.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from nacl import bindings

from blindlabel.engines.interface import IN_THIS_PROCESS, KeyPair, Terms, Working
from blindlabel.engines.plain import PlainEngine
from blindlabel.envelope.identity import Context, EnvelopeError
from blindlabel.envelope.stream import open_, unlock
from blindlabel.language.record import Record
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import own_identity
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Bodies, MovedBytes
from blindlabel.protocol.letters import public_of
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.direct_line import DirectLine
from support.study_parties import DISAGREEING, confirm_all, joined, small_agreement, write_person_tables


class Listening(DirectLine):
    """A line of which the coordinator keeps everything for good."""

    kept: list[bytes]

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        self.kept += [wire, *(bodies.read_all(blob) for blob in messages.parse(wire).message.blobs)]
        super().deliver(wire, bodies, moved)


class CountingKeys(PlainEngine):
    """Says which key was used for what."""

    def __init__(self) -> None:
        self.made: list[bytes] = []
        self.used: list[bytes] = []

    def make_keys(self, terms: Terms) -> KeyPair:
        keys = super().make_keys(terms)
        self.made.append(b"%d" % len(self.made))
        return KeyPair(keys.public, keys.secret + b" " * len(self.made))

    def encrypt(
        self,
        terms: Terms,
        key: bytes,
        records: Sequence[Record],
        questions: int = 0,
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[bytes]:
        self.used.append(key)
        return super().encrypt(terms, key, records, questions, working)


@dataclass(frozen=True)
class Played:
    """A study of three owners that is over."""

    coordinator: CoordinatorParty
    owners: list[OwnerParty]
    kept: list[bytes]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("stored")
    agreement = small_agreement(3, records=2, rounds=2)
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    workspaces = joined(folder, coordinator.create(to_text(agreement)), write_person_tables(folder, 3, rows=2))
    kept: list[bytes] = []
    parties = []
    for workspace in workspaces:
        line = Listening(coordinator, agreement.hash, workspace.name)
        line.kept = kept
        parties.append(OwnerParty(workspace, line, engine=CountingKeys()))
    for _ in range(40):
        over = [run(owner, DISAGREEING, once=True, tell=lambda _: None) for owner in parties]
        if all(over):
            kept += [path.read_bytes() for path in (folder / "coordinator" / "keys").rglob("*") if path.is_file()]
            return Played(coordinator, parties, kept)
        confirm_all(parties)
    raise AssertionError([owner.next_steps() for owner in parties])


def windows(contents: Sequence[bytes]) -> set[bytes]:
    """Everything that could be a key: any 32 bytes in a row, also of what is written as text."""
    found: set[bytes] = set()
    for content in contents:
        texts = [bytes.fromhex(text.decode()) for text in re.findall(rb"(?:[0-9a-f]{2}){32,}", content)]
        texts += [base64.b64decode(text[: len(text) // 4 * 4]) for text in re.findall(rb"[A-Za-z0-9+/]{44,}", content)]
        for one in (content, *texts):
            found |= {one[start : start + 32] for start in range(len(one) - 31)}
    return found


@pytest.mark.slow
def test_nothing_that_reached_the_coordinator_opens_a_record(played: Played) -> None:
    (anna, berta, _), keys = played.owners, windows(played.kept)
    study = anna.store.agreement.hash
    state = played.coordinator.load(study).state
    sent = state.rounds[0].records["berta>anna"]
    locked = anna.store.bodies.read_all(sent.blob)
    assert locked in played.kept
    context = Context(bytes.fromhex(study), "records", 1)

    def opens(key: bytes) -> bool:
        try:
            next(unlock(key, context, [locked]))
        except EnvelopeError:
            return False
        return True

    public = {bytes.fromhex(facts.join.envelope_key) for facts in state.owners.values() if facts.join}
    assert len(keys) > 5_000 and public <= keys, "the search finds what is there"
    assert not any(opens(key) for key in keys)
    assert not any(bindings.crypto_scalarmult_base(key) in public for key in keys)
    letter = open_(
        own_identity(berta.store), public_of(berta.store.state().peer("anna")),
        Context(bytes.fromhex(study), "records-key", 1), [bytes.fromhex(sent.key)],
    )  # fmt: skip
    assert opens(b"".join(letter)[:32]), "the right key would have been noticed"


def test_every_asker_gets_a_new_key_in_every_round(played: Played) -> None:
    rounds = played.coordinator.load(played.owners[0].store.agreement.hash).state.round
    assert rounds == 2
    for owner in played.owners:
        engine = owner.engine
        assert isinstance(engine, CountingKeys)
        assert len(engine.made) == 2 * rounds
        assert len(set(engine.used)) == len(engine.used) >= 2 * rounds - 1, "one pairing has nothing open in round 2"
