"""What the gates engine is, wherever its gates run: in this process (`engine`) or in a worker (`remote`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from blindlabel.engines.gates.compiling import Compiled, compiled, refusal
from blindlabel.engines.interface import IN_THIS_PROCESS, Assist, EngineError, Evaluated, Terms, WithoutPads, Working
from blindlabel.language.formula import Formula


@dataclass(frozen=True)
class Asked:
    """Questions to be evaluated, compiled, so that what cannot be asked has been said before any work."""

    questions: Sequence[Formula]
    circuit: Compiled
    working: Working


class AnyGatesEngine(WithoutPads):
    """`Engine` but for keys, encryption and the evaluation itself."""

    name = "gates"

    def refuse(self, terms: Terms, question: Formula) -> str | None:
        return refusal(terms, question)

    def evaluate(
        self,
        terms: Terms,
        public: bytes,
        parcels: Iterable[bytes],
        questions: Sequence[Formula],
        assist: Assist,  # noqa: ARG002 - this engine never needs it
        working: Working = IN_THIS_PROCESS,
    ) -> Iterator[Evaluated]:
        asked = Asked(questions, compiled(terms, questions), working)
        return map(Evaluated, self.answered(terms, public, parcels, asked))

    @abstractmethod
    def answered(self, terms: Terms, public: bytes, parcels: Iterable[bytes], asked: Asked) -> Iterator[bytes]:
        """One parcel of answers for each record."""

    def assist(self, terms: Terms, secret: bytes, request: bytes) -> bytes:  # noqa: ARG002
        raise EngineError("The gates engine never asks for an assist, so there is no request to answer.")
