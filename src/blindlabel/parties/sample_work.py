"""An owner's part in drawing an enriched sample: offer its blocking keys, blind the others', pass on what was chosen.

The rules are in `protocol.owner_rules`; `protocol.blocking` says what is exchanged and why. Nothing here has to be kept
secret in a file: all of it follows from the owner's keys, its table and the agreement. The rows of the offers are
remembered, so that a large table is read only once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from blindlabel.envelope.identity import (
    Context,
    EnvelopeError,
    Identity,
    PublicIdentity,
    own_secret,
    scalar_of,
    shared_secret,
)
from blindlabel.envelope.stream import open_, seal
from blindlabel.errors import InputError
from blindlabel.protocol import blocking
from blindlabel.protocol import owner_rules as rules
from blindlabel.protocol.interfaces import Store
from blindlabel.protocol.letters import coordinator_of, public_of
from blindlabel.protocol.refusals import NotFitting
from blindlabel.protocol.shape import Blob
from blindlabel.records.tables import Table

_PLACE_BYTES = 4


@dataclass(frozen=True)
class EnrichedSampling:
    """What an owner needs to draw its sample."""

    store: Store
    identity: Identity
    table: Callable[[], Table]
    change: Callable[[Callable[[rules.OwnerState], rules.OwnerStep]], rules.OwnerStep]
    """Saves what follows from an event, with its messages."""

    def do(self, todo: rules.OwnerWork) -> None:
        """One step."""
        rules.require_confirmed(self.store.state())
        if todo.kind == "sample":
            self._sample()
            return
        deed = {"offer": self._offer, "blind": self._blind, "pick": self._pick}[todo.kind]
        try:
            deed(todo.peer)
        except (EnvelopeError, NotFitting) as error:
            raise InputError(
                f"What {todo.peer} sent for the sample cannot be used: {error} The study cannot go on; begin a new one"
                f" with {todo.peer}, or with another owner."
            ) from error

    def _offer(self, peer: str) -> None:
        offers = self._offers(peer)
        made = blocking.offered(offers, self._shared(peer), self._scalar(peer))
        self.store.remember(_rows_of(peer), json.dumps([offers[place].row for place in made.origin]))
        blob = self._sealed("offered", peer, made.body)
        self.change(lambda state: rules.has_offered(state, peer, blob))

    def _blind(self, peer: str) -> None:
        coordinator = coordinator_of(self.store.state())
        sealed = seal(self.identity, coordinator, self._context("blinded"), [self._blinded(peer).body])
        blob = self.store.bodies.write(sealed)
        self.change(lambda state: rules.has_blinded(state, peer, blob))

    def _pick(self, peer: str) -> None:
        chosen, origin = self.store.state().sampling.chosen, self._blinded(peer).origin
        assert chosen is not None
        places = sorted(origin[place] for place in chosen.places[peer])
        blob = self._sealed("picked", peer, b"".join(place.to_bytes(_PLACE_BYTES, "big") for place in places))
        self.change(lambda state: rules.has_picked(state, peer, blob))

    def _sample(self) -> None:
        state, extent = self.store.state(), blocking.Extent.of(self.store.agreement)
        assert state.sampling.chosen is not None and state.join is not None
        rows: list[int] = []
        for peer, blob in state.sampling.picked.items():
            of_place = self._rows(peer)
            rows += [of_place[place] for place in self._places(peer, blob) if place < len(of_place)]
        size = state.join.records
        positions = blocking.sampled(state.sampling.chosen.uniform, rows, size, min(extent.records, size))
        self.change(lambda now: rules.has_sampled(now, positions))

    def _places(self, peer: str, blob: Blob) -> list[int]:
        """This owner's offers that were chosen. Whatever another owner passed on, it can only be rows that were
        offered.
        """
        content = self._opened("picked", peer, blob)
        starts = range(0, len(content), _PLACE_BYTES)
        return [int.from_bytes(content[start : start + _PLACE_BYTES], "big") for start in starts]

    def _rows(self, peer: str) -> list[int]:
        """The row of every offer of this owner, in the order in which they were offered."""
        known = self.store.remembered(_rows_of(peer))
        if known is not None:
            rows: list[int] = json.loads(known)
            return rows
        offers = self._offers(peer)
        return [offers[place].row for place in blocking.offered(offers, self._shared(peer), self._scalar(peer)).origin]

    def _offers(self, peer: str) -> list[blocking.Offer]:
        """This owner's keys for another owner, the same whenever they are made."""
        table, agreement = self.table(), self.store.agreement
        wanted = self._wanted(peer)
        records = agreement.recipe.rows(table, agreement.attributes)
        draw = blocking.drawn_from(own_secret(self.identity, self._context("offers"), self._public(peer)))
        found = blocking.rare_keys(records, agreement.sampling.blocking, self._shared(peer), wanted, draw)
        return blocking.filled_up(found, wanted, len(table), draw)

    def _blinded(self, peer: str) -> blocking.BlindedOffers:
        """Another owner's offers, blinded with this owner's number too, the same whenever they are made."""
        content = self._opened("offered", peer, self.store.state().sampling.offers[peer])
        return blocking.blinded(blocking.points_of(content, self._wanted(peer)), self._scalar(peer))

    def _wanted(self, peer: str) -> int:
        state = self.store.state()
        assert state.join is not None
        return blocking.Extent.of(self.store.agreement).offers(state.join.records, state.peer(peer).records)

    def _sealed(self, kind: str, peer: str, content: bytes) -> Blob:
        return self.store.bodies.write(seal(self.identity, self._public(peer), self._context(kind), [content]))

    def _opened(self, kind: str, peer: str, blob: Blob) -> bytes:
        pieces = open_(self.identity, self._public(peer), self._context(kind), self.store.bodies.read(blob))
        return b"".join(pieces)

    def _shared(self, peer: str) -> bytes:
        return shared_secret(self.identity, self._public(peer), self._context("blocking"))

    def _scalar(self, peer: str) -> bytes:
        return scalar_of(own_secret(self.identity, self._context("blinding"), self._public(peer)))

    def _public(self, peer: str) -> PublicIdentity:
        return public_of(self.store.state().peer(peer))

    def _context(self, kind: str) -> Context:
        return Context(bytes.fromhex(self.store.agreement.hash), kind)


def _rows_of(peer: str) -> str:
    """The name under which the rows of the offers to another owner are remembered."""
    return f"offers-{peer}"
