"""The Protocol that both ways of answering follow, and all that the rest of the engine knows of it.

A way is made for the terms of an agreement and one of its parameter sets. Everything public follows from those two, so
that nothing about a question shows in how it is answered:

1. `plan` compiles a question, or refuses it with a sentence;
2. `key_needs` says which keys are made for each of the way's rings;
3. `plaintexts` lays out a batch of records, one plaintext a ciphertext. Who encrypts them, with which key, is not its
   business;
4. `evaluation` opens a batch for the questions of a round. Questions are answered in groups, and a group, with the
   assist, in *units* that do not depend on each other and may be made in other processes; `joined` puts the units of a
   group together. What comes out is one ciphertext for each of the way's `values`. It is *not yet fit to leave*:
   sanitising or padding is done by whoever runs the evaluation, for both ways in one place;
5. `pairs` finds the questions and records in the slots of a decrypted answer;
6. `noise` estimates the noise of everything that leaves, `explain` shows a plan to a person.

Batches, groups, journal, worker processes and clusters are the same for both ways (`running`). An evaluation that is
begun again starts from its beginning with fresh randomness; nothing of a broken attempt is used.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from blindlabel.engines.assisting import NO_CALLS, AssistCall, AssistPlace, AssistSchedule
from blindlabel.engines.interface import Assist, ParcelError, Terms
from blindlabel.engines.packed.encoding.layout import RecordLayout
from blindlabel.engines.packed.encoding.parcels import Study
from blindlabel.engines.packed.encoding.tables import Tables
from blindlabel.engines.packed.opening import joint, padding
from blindlabel.engines.packed.planning.explaining import Explained
from blindlabel.engines.packed.planning.noise import Noise
from blindlabel.engines.packed.seal.forms import CipherForm
from blindlabel.engines.packed.seal.holders import Encryptor, KeyHolder
from blindlabel.engines.packed.seal.parameters import ParameterSet
from blindlabel.engines.packed.seal.residues import Residues
from blindlabel.engines.packed.seal.ring import Cipher, Plain, Ring, open_ring
from blindlabel.language.formula import Formula

Plan = TypeVar("Plan")
"""A compiled question: the way's own affair."""

_UNASSISTED = "This agreement asks for points alone, so the assist is never called."

Step = Callable[[int, float], None]
"""Called with a group and the share of it that is done."""


@dataclass(frozen=True)
class KeyNeeds:
    """The keys that a way needs in one of its rings."""

    ring: Ring
    elements: tuple[int, ...] = ()
    """Galois elements."""
    relinearisation: bool = False

    def bytes(self, *, seeded: bool) -> int:
        """Of these keys as they travel; where `seeded`, an encryption of zero serves as the public key."""
        ring = self.ring
        found = ring.form(seeded=True).length if seeded else ring.public_form.length
        found += ring.galois_form(self.elements).length if self.elements else 0
        return found + (ring.relinearisation_form.length if self.relinearisation else 0)


@dataclass(frozen=True, eq=False)
class RingKeys:
    """The public keys of one ring, opened."""

    encryptor: Encryptor
    galois: Any
    """None where the way needs none."""
    relinearisation: Any
    """None where the way needs none."""


@dataclass(frozen=True, eq=False)
class Public:
    """What whoever evaluates works with."""

    way: Way[Any]
    study: Study
    keys: tuple[RingKeys, ...]
    """One for each of the way's rings."""
    seeds: frozenset[bytes] = frozenset()
    """Of keys that an owner made; none of them may be used again."""

    @property
    def records(self) -> RingKeys:
        """The keys of the ring that records are encrypted in."""
        return self.keys[0]

    @property
    def answers(self) -> RingKeys:
        """The keys of the ring that answers leave in."""
        return self.keys[-1]


@dataclass(frozen=True, eq=False)
class Secret:
    """What the holder of the secret keys works with."""

    way: Way[Any]
    study: Study
    holders: tuple[KeyHolder, ...]
    """One for each of the way's rings."""

    @property
    def records(self) -> KeyHolder:
        """Opens what is encrypted in the ring of the records."""
        return self.holders[0]

    @property
    def answers(self) -> KeyHolder:
        """Opens what is encrypted in the ring of the answers."""
        return self.holders[-1]


class Evaluation(Protocol):
    """One batch of records, opened, and the compiled questions of a round."""

    @abstractmethod
    def answers(self, groups: Sequence[int], assist: Assist, step: Step) -> Iterator[tuple[Cipher, ...]]:
        """The values of some groups' pairs, one group after the other, one ciphertext for each value."""
        ...


class EvaluationInUnits(Evaluation):
    """One whose groups are made of units that do not depend on each other, so that other processes may make them."""

    @abstractmethod
    def unit(self, group: int, unit: int, assist: Assist) -> Cipher:
        """One unit of a group, in the ring of the answers."""
        ...

    @abstractmethod
    def joined(self, group: int, units: Sequence[Cipher], assist: Assist) -> tuple[Cipher, ...]:
        """The values of a group's pairs. Needs no records, so it may run where none are open."""
        ...

    @abstractmethod
    def units(self) -> int:
        """Units of a group."""
        ...

    def answers(self, groups: Sequence[int], assist: Assist, step: Step) -> Iterator[tuple[Cipher, ...]]:
        """Unit by unit."""
        for group in groups:
            units = []
            for unit in range(self.units()):
                units.append(self.unit(group, unit, assist))
                step(group, (unit + 1) / (self.units() + 1))
            yield self.joined(group, units, assist)


class Way(Protocol[Plan]):
    """One way of answering questions, for one agreement. What needs no assist is written here."""

    terms: Terms
    parameters: ParameterSet
    tables: Tables
    layout: RecordLayout
    """How a batch of records stands in ciphertexts."""
    values: int = 1
    """Values of a pair that leave: one that is zero for yes; a second one where there may be exclusions."""

    sets: ClassVar[tuple[ParameterSet, ...]]
    """Parameter sets, cheapest first: the first that can do what the terms ask for is taken."""

    # -- what follows from the terms alone

    @abstractmethod
    def __init__(self, terms: Terms, parameters: ParameterSet) -> None: ...

    def __hash__(self) -> int:
        return id(self)

    @property
    def ring(self) -> Ring:
        """The ring that records are encrypted in."""
        return open_ring(self.parameters.rings[0])

    @property
    def record_form(self) -> CipherForm:
        """The form in which an encrypted record travels: seeded where its owner has the secret key."""
        return self.ring.form(seeded=self.terms.keys == "owners")

    def load_record(self, item: bytes) -> Cipher:
        """A ciphertext of records that has travelled."""
        return self.ring.load_seeded(item) if self.terms.keys == "owners" else self.ring.load_cipher(item)

    @property
    def answer_ring(self) -> Ring:
        """The ring that units and answers are in."""
        return open_ring(self.parameters.rings[-1])

    @abstractmethod
    def key_needs(self) -> tuple[KeyNeeds, ...]:
        """The keys that have to be made, ring by ring."""
        ...

    @abstractmethod
    def noise(self) -> dict[str, Noise]:
        """The noise of every kind of ciphertext that leaves, by what it is called; `answers` among them."""
        ...

    def study(self, key_id: bytes) -> Study:
        """The header of this study's parcels."""
        return Study(self.parameters.name, self.terms.agreement_hash, key_id)

    # -- questions and records

    @abstractmethod
    def plan(self, question: Formula) -> Plan:
        """The compiled question; `QuestionError` with a sentence where the way has no room for it. What the agreement
        does not allow has been refused before (`questions`).
        """
        ...

    @abstractmethod
    def explain(self, plan: Plan) -> Explained:
        """A plan and the cost of a round of such questions, for a person."""
        ...

    def sizes(self) -> dict[str, int]:
        """Bytes of a round of as many questions as records, by what they are for."""
        owners, records = self.terms.keys == "owners", self.terms.records
        batches, ring = self.layout.batches(records), self.answer_ring
        groups = batches * self.group_count(records)
        shares = groups * joint.share_count(self.values) * ring.form(joint.LEVEL, seeded=True).length if owners else 0
        return {
            "keys": sum(need.bytes(seeded=owners) for need in self.key_needs()),
            "records": batches * self.layout.chunks * self.record_form.length + shares,
            "assist": 0,
            "answers": groups * self.values * ring.form(padding.LEVEL if owners else 1).length,
        }

    @abstractmethod
    def plaintexts(self, features: Residues) -> Iterator[Plain]:
        """A batch of feature vectors, one a row, as plaintexts: `layout.chunks` of them."""
        ...

    # -- an evaluation

    @abstractmethod
    def group_size(self, questions: int) -> int:
        """Questions answered together, where so many are asked in all."""
        ...

    def group_count(self, questions: int) -> int:
        """Groups that so many questions make."""
        return len(groups(questions, self.group_size(questions)))

    def groups_together(self) -> int:
        """Groups that are cheaper when one process makes them in a row. They make up a tile."""
        return 1

    def shares_units(self) -> bool:
        """Whether an evaluation is one in units, worth spreading over processes."""
        return False

    def assist_schedule(self, questions: int, records: int) -> AssistSchedule:  # noqa: ARG002
        """The calls of one evaluation: public, and what both sides hold each other to."""
        return NO_CALLS

    def assist_call(self, schedule: AssistSchedule, request: bytes) -> tuple[AssistPlace, AssistCall]:  # noqa: ARG002
        """Where a call says that it belongs, and what it is."""
        raise ParcelError(_UNASSISTED)

    @abstractmethod
    def evaluation(
        self, public: Public, plans: Sequence[Plan], records: int, items: Sequence[bytes], index: int = 0
    ) -> Evaluation:
        """A batch of so many records, opened from its ciphertexts; without those it can only join units. `index`: which
        one it is.
        """
        ...

    def serve(self, secret: Secret, request: bytes) -> bytes:  # noqa: ARG002
        """The key holder's side of one assist call."""
        raise ParcelError(_UNASSISTED)

    # -- answers

    @abstractmethod
    def pairs(self, slots: Residues, questions: int) -> Residues:
        """The slots of an answer as [question of the group, record of the batch], where so many are asked in all."""
        ...


AnyWay = Way[Any]


def groups(questions: int, size: int) -> list[range]:
    """The questions of each group."""
    return [range(start, min(start + size, questions)) for start in range(0, questions, size)]
