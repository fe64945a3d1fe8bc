"""Stores in memory for the product's own parties: what is committed survives a crash, nothing else, and a backup can be
restored.

They pass the same journal points as the stores with databases and files (`storage.journal`), so that a party can be
stopped there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts
from blindlabel.protocol import owner_rules as owner
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import Loaded, MessageSigner, OwnRecord, SecretMissing, StudyRow, Task, Traffic
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.shape import Blob, blob_of
from blindlabel.protocol.standing import Heard, Known, Life, heard_after
from blindlabel.storage import journal_points
from blindlabel.storage.database import next_life
from blindlabel.storage.files import BodyDamaged, failing_with_a_sentence
from blindlabel.storage.journal_points import Point


@contextmanager
def commit() -> Iterator[None]:
    """A change that is durable or does not happen."""
    journal_points.reached(Point.BEFORE_COMMIT)
    yield
    journal_points.reached(Point.AFTER_COMMIT)


_agreement = lru_cache(maxsize=8)(agreements.from_text)


class Contents:
    """Everything that is durable of one party: dictionaries of immutable values, so a copy of them is a backup."""

    def copy(self) -> Any:
        """As it is now."""
        return type(self)(**{known.name: _copied(getattr(self, known.name)) for known in fields(self)})  # type: ignore[arg-type]


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


_lives = itertools.count(1)


class MemoryBodies:
    """Bodies by their hash."""

    def __init__(self, kept: dict[str, bytes]) -> None:
        self._kept = kept

    def has(self, blob: Blob) -> bool:
        return blob.hash in self._kept

    def write(self, pieces: Iterable[bytes], *, passing: bool = False) -> Blob:  # noqa: ARG002
        content = b"".join(pieces)
        blob = blob_of(content)
        with failing_with_a_sentence(Path("memory")):
            journal_points.reached(Point.BEFORE_RENAME)
        self._kept[blob.hash] = content
        journal_points.reached(Point.AFTER_RENAME)
        return blob

    def read(self, blob: Blob, offset: int = 0) -> Iterator[bytes]:
        yield self.read_all(blob)[offset:]

    def read_all(self, blob: Blob) -> bytes:
        if blob.hash not in self._kept:
            raise OutsideError("A stored body is missing.")
        return self._kept[blob.hash]

    def remove(self, blob: Blob) -> None:
        self._kept.pop(blob.hash, None)

    def received(self, blob: Blob, sender: str = "") -> int:  # noqa: ARG002
        return blob.length if self.has(blob) else 0

    def has_from(self, blob: Blob, sender: str) -> bool:  # noqa: ARG002
        return self.has(blob)

    def append(self, blob: Blob, offset: int, pieces: Iterable[bytes], sender: str = "") -> int:  # noqa: ARG002
        content = b"".join(pieces)
        if offset == blob.length and self.has(blob):
            return blob.length
        if blob_of(content) != blob:
            raise BodyDamaged("The body is not the one that was announced.")
        self.write([content])
        return blob.length


@dataclass
class OwnerContents(Contents):
    """What an owner has committed."""

    settings: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)
    state: owner.OwnerState | None = None
    outbox: dict[int, bytes] = field(default_factory=dict)
    sent: dict[int, bool] = field(default_factory=dict)
    records: dict[int, OwnRecord] = field(default_factory=dict)
    questions: dict[tuple[int, int], str] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    life: str = field(default_factory=lambda: f"{next(_lives):x}", compare=False)

    def copy(self) -> OwnerContents:
        """Another life of the same workspace."""
        copied: OwnerContents = super().copy()
        return replace(copied, life=f"{next(_lives):x}")


class MemoryStore:
    """An owner's store."""

    journal: Path | None = None

    def __init__(self, contents: OwnerContents) -> None:
        self.contents = contents
        self.bodies = MemoryBodies(contents.bodies)

    @cached_property
    def agreement(self) -> Agreement:
        return _agreement(self.contents.settings["agreement"])

    @property
    def name(self) -> str:
        return self.contents.settings["owner"]

    @property
    def settings(self) -> dict[str, str]:
        return self.contents.settings

    def begin_journal(self, name: str) -> None:
        """The plain engine keeps nothing half-finished."""

    def secret(self, name: str) -> bytes:
        if name not in self.contents.secrets:
            raise SecretMissing(f"There is no secret {name}.")
        return self.contents.secrets[name]

    def keep_secret(self, name: str, content: bytes) -> None:
        with commit():
            self.contents.secrets[name] = content

    def drop_secret(self, name: str) -> None:
        self.contents.secrets.pop(name, None)

    def remember(self, name: str, value: str) -> None:
        with commit():
            self.contents.settings[name] = value

    def remembered(self, name: str) -> str | None:
        return self.contents.settings.get(name)

    def begin(
        self, settings: dict[str, str], secrets: Mapping[str, bytes], begin: owner.OwnerStep, sign: MessageSigner
    ) -> None:
        with commit():
            self.contents.settings.update(settings)
            self.contents.secrets.update(secrets)
            self._keep(begin, sign)

    def state(self) -> owner.OwnerState:
        assert self.contents.state is not None
        return self.contents.state

    def change(
        self, event: Callable[[owner.OwnerState], owner.OwnerStep], sign: MessageSigner | None = None
    ) -> owner.OwnerStep:
        step = event(self.state())
        if step.state is not self.state() or step.messages:
            with commit():
                self._keep(step, sign)
        return step

    def _keep(self, step: owner.OwnerStep, sign: MessageSigner | None) -> None:
        self.contents.state = step.state
        for message in step.messages:
            assert sign is not None
            self.contents.outbox[message.sequence] = sign(message).wire

    def unsent(self) -> list[tuple[int, bytes]]:
        return [(number, wire) for number, wire in self.contents.outbox.items() if number not in self.contents.sent]

    def sent(self) -> list[tuple[int, bytes]]:
        return [(number, wire) for number, wire in self.contents.outbox.items() if number in self.contents.sent]

    def mark_sent(self, sequence: int) -> None:
        with commit():
            self.contents.sent[sequence] = True

    def store_records(self, records: Iterable[OwnRecord]) -> None:
        with commit():
            self.contents.records.update({one.record: one for one in records})

    def records(self) -> list[OwnRecord]:
        return list(self.contents.records.values())

    def tasks(self, round: int | None = None) -> list[Task]:
        state = self.state()
        number = state.round if round is None else round
        asked = state.rounds[number - 1].ask if 1 <= number <= state.round else ()
        texts = {record: self.contents.questions.get((number, record)) for record in asked}
        return [
            Task(record, number, "saved" if text else "open", text or "", text, "", ())
            for record, text in texts.items()
        ]

    def save_draft(self, record: int, text: str) -> None:
        """Nobody writes drafts here."""
        raise InputError(f"Record {record} cannot have the draft {text!r} in a simulation.")

    def save_questions(self, texts: dict[int, str], source: str, author: str = "") -> None:  # noqa: ARG002
        with commit():
            self.contents.questions |= {(self.state().round, record): text for record, text in texts.items()}

    def hand_in(self) -> None:
        self.change(lambda state: owner.OwnerStep(owner.hands_in(state, state.round)))

    def life(self) -> Life:
        return Life(name=self.contents.life)

    def was_heard(self) -> None:
        """A process that is started again has the life it had."""

    def say(self, phase: str, share: float, sentence: str) -> None:
        """Nobody listens."""


@dataclass
class StudyContents(Contents):
    """What a coordinator has committed of its one study."""

    name: str = ""
    agreement: str = ""
    state: facts.StudyState | None = None
    version: int = 0
    secrets: dict[tuple[str, str], bytes] = field(default_factory=dict)
    outgoing: dict[tuple[str, int], bytes] = field(default_factory=dict)
    fetchable: dict[tuple[str, str], Blob] = field(default_factory=dict)
    ahead: dict[str, Known] = field(default_factory=dict)
    heard: dict[str, Heard] = field(default_factory=dict, compare=False)
    life: str = ""
    bodies: dict[str, bytes] = field(default_factory=dict)


class MemoryStudies:
    """A coordinator's store, with one study."""

    def __init__(self, contents: StudyContents, clock: Callable[[], float] = lambda: 0.0) -> None:
        self.contents = contents
        self._clock = clock

    def create(
        self, name: str, agreement: str, state: facts.StudyState, before_commit: Callable[[], object] = lambda: None
    ) -> bool:
        before_commit()
        with commit():
            self.contents.name, self.contents.agreement, self.contents.state = name, agreement, state
        return True

    def studies(self) -> list[StudyRow]:
        state = self.contents.state
        return [] if state is None else [StudyRow(state.study, self.contents.name, state.ended is not None, 0.0)]

    def agreement(self, study: str) -> str | None:
        state = self.contents.state
        return self.contents.agreement if state is not None and state.study == study else None

    def load(self, study: str) -> Loaded | None:
        state = self.contents.state
        return Loaded(state, self.contents.version) if state is not None and state.study == study else None

    def save(
        self,
        loaded: Loaded,
        state: facts.StudyState,
        *,
        incoming: Signed | None = None,  # noqa: ARG002 - only a record for people
        outgoing: Sequence[Signed] = (),
    ) -> bool:
        if loaded.version != self.contents.version:
            return False
        with commit():
            self.contents.state, self.contents.version = state, loaded.version + 1
            lost = {name for name, facts in loaded.state.owners.items() if facts.join and not state.owners[name].join}
            for sent in [key for key in self.contents.outgoing if key[0] in lost]:
                del self.contents.outgoing[sent]
            for signed in outgoing:
                self.contents.outgoing[(signed.message.receiver, signed.message.sequence)] = signed.wire
                self.contents.fetchable |= {(signed.message.receiver, blob.hash): blob for blob in signed.message.blobs}
        return True

    def outgoing(self, study: str, receiver: str, after: int, most: int = 50) -> list[bytes]:  # noqa: ARG002
        numbers = sorted(number for owner, number in self.contents.outgoing if owner == receiver and number > after)
        return [self.contents.outgoing[(receiver, number)] for number in numbers[:most]]

    def fetchable(self, study: str, owner: str, hash: str) -> Blob | None:  # noqa: ARG002
        return self.contents.fetchable.get((owner, hash))

    def owner_of_token(self, study: str | None, token_hash: str) -> str | None:  # noqa: ARG002
        """There are no tokens in memory."""
        return None

    def traffic(self, study: str) -> list[Traffic]:  # noqa: ARG002
        """Traffic is not counted."""
        return []

    def waited_since(self, study: str) -> dict[str, float]:  # noqa: ARG002
        """Time does not pass."""
        return {}

    def milestones(self, study: str) -> list[tuple[str, float]]:  # noqa: ARG002
        """Time does not pass."""
        return []

    def lives(self, study: str, owner: str, life: Life) -> bool:  # noqa: ARG002
        self.contents.heard[owner] = heard_after(self.contents.heard.get(owner, Heard()), life, self._clock())
        return self.contents.heard[owner].life == life.name

    def begin_life(self) -> None:
        self.contents.life = next_life(self.contents.life)

    def life(self) -> str:
        return self.contents.life

    def note_ahead(self, study: str, owner: str, known: Known) -> None:  # noqa: ARG002
        self.contents.ahead[owner] = known

    def ahead(self, study: str) -> dict[str, Known]:  # noqa: ARG002
        return {owner: known for owner, known in self.contents.ahead.items() if known.received}

    def bodies(self, study: str) -> MemoryBodies:  # noqa: ARG002
        return MemoryBodies(self.contents.bodies)

    def announce(self, study: str, owner: str, blob: Blob, most: int, most_bodies: int) -> bool:  # noqa: ARG002
        """There is room for everything."""
        return True

    def free(self) -> int:
        """Enough."""
        return 2**40

    def remove_bodies(self, study: str, spent: Callable[[facts.StudyState], Collection[Blob]]) -> None:
        if self.contents.state is not None:
            for blob in spent(self.contents.state):
                self.bodies(study).remove(blob)

    def secret(self, study: str, name: str) -> bytes:
        if (study, name) not in self.contents.secrets:
            raise SecretMissing(f"There is no secret {name}.")
        return self.contents.secrets[(study, name)]

    def keep_secret(self, study: str, name: str, content: bytes) -> None:
        with commit():
            self.contents.secrets[(study, name)] = content

    def drop_secrets(self, study: str) -> None:
        for known in [known for known in self.contents.secrets if known[0] == study]:
            del self.contents.secrets[known]

    def delete(self, study: str) -> None:
        """Nothing is deleted in a simulation."""
        raise InputError(f"The study {study[:12]} cannot be deleted in a simulation.")

    def remove_orphans(self) -> None:
        """There are none."""

    def close(self) -> None:
        """Nothing is open."""
