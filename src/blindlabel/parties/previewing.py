"""What will leave an owner's machine next, for whoever has to approve it: messages that wait to be sent, and those that
follow in the current step of the study (words, sample, round). This only reads; it makes and sends nothing.

A message leaves as a letter that only the coordinator can open. It relays what is for another owner, and cannot open
that body. Letters and lists have exactly the size that is shown; bodies that an engine makes, about that size. If what
others send cannot be used, one more letter says so (`refused`), in place of what would follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from blindlabel.engines.registry import rules_named
from blindlabel.envelope.identity import POINT_BYTES
from blindlabel.envelope.stream import sealed_size
from blindlabel.parties.accounting import exposure_of, of_engine
from blindlabel.parties.joining import own_identity
from blindlabel.protocol import messages
from blindlabel.protocol.account import choices
from blindlabel.protocol.blocking import Extent
from blindlabel.protocol.comparing import HASH_BYTES
from blindlabel.protocol.interfaces import Store
from blindlabel.protocol.letters import Letters, coordinator_of
from blindlabel.protocol.owner_facts import OwnRound
from blindlabel.protocol.owner_rules import OwnerState
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.protocol.telling import KNOWN, Nothing, Sizes, Tells, declared


@dataclass(frozen=True)
class Departure:
    """One message that will leave, and its body."""

    kind: str
    about: str
    """The other owner that it is about."""
    round: int
    made: bool
    """Whether it has been made and waits to be sent."""
    receiver: str
    """The only one who can open the body; only the coordinator can open the letter."""
    letter: int
    """Bytes of the message as it travels."""
    body: int
    """Bytes of the body, or 0 if there is none."""
    exact: bool
    """Whether the size is exact to the byte."""
    line: str
    """The line of the account that it belongs to."""
    tells: str


@dataclass(frozen=True)
class Preview:
    """Looks ahead for one owner."""

    store: Store

    def departures(self) -> list[Departure]:
        """What leaves next, in order."""
        state, found = self.store.state(), list[Departure]()
        for _, wire in self.store.unsent():
            sent = messages.parse(wire).message
            body = (sum(blob.length for blob in sent.blobs), True)
            about = getattr(sent.body, "peer", sent.receiver)
            found.append(self._departure(state, sent.kind, about, sent.round, body, len(wire), made=True))
        if state.keys is None or state.truth is not None or (state.rounds and state.rounds[-1].refused):
            return found
        found += [self._departure(state, "confirm", peer) for peer in state.peers if peer not in state.confirmed]
        found += [] if state.sample else self._of_sampling(state)
        current, later = ([one for peer in state.peers for one in self._of_round(state, peer, at)] for at in (0, 1))
        return found + (current or later)  # records of a later round leave as soon as it begins

    def _of_sampling(self, state: OwnerState) -> Iterator[Departure]:
        agreement, now = self.store.agreement, state.sampling
        if not agreement.sampling.by_keys or state.join is None:
            return
        extent, own = Extent.of(agreement), state.join.records
        for peer in state.peers:
            other = state.peer(peer).records
            points, places = extent.offers(own, other) * POINT_BYTES, 4 * extent.chosen(own, other)
            done = {"offered": now.offered, "blinded": now.blinded, "picked": now.passed_on}
            for kind, length in (("offered", points), ("blinded", points), ("picked", places)):
                if peer not in done[kind]:
                    yield self._departure(state, kind, peer, 0, (sealed_size(kind, length), kind != "picked"))
        if not now.is_sampled:
            wire = 700 + agreement.sampling.records * (len(str(own)) + 1)
            yield self._departure(state, "sampled", COORDINATOR, 0, (0, False), wire)

    def _of_round(self, state: OwnerState, peer: str, ahead: int) -> Iterator[Departure]:
        agreement, sizes = self.store.agreement, self._sizes(state, peer)
        is_begun = bool(state.rounds) and not ahead
        now = state.rounds[-1] if is_begun else OwnRound(ask=())
        keys, records, answers, _ = of_engine(agreement, max(1, sizes.own, sizes.others))
        values = rules_named(agreement.encoding.engine).outcomes(agreement.terms()) - 1
        hashes = values * sizes.own * sizes.others * HASH_BYTES
        if peer not in now.served:
            yield self._departure(state, "records", peer, (state.round or 1) + ahead, (keys + records, False))
        lists = (("answers", answers, now.answers), ("listed", hashes, now.answers), ("opened", hashes, now.opened))
        for kind, length, done in lists:
            if peer not in done:
                body = (sealed_size(kind, length), is_begun and kind != "answers")
                yield self._departure(state, kind, peer, (state.round or 1) + ahead, body)

    def _sizes(self, state: OwnerState, peer: str) -> Sizes:
        """The open records of a pairing; before the first round, as many as can be sampled."""
        exposure, most = exposure_of(self.store.agreement), self.store.agreement.sampling.records
        known = state.keys.peers if state.keys else ()
        own, others = (
            min(most, one.records if one else most)
            for one in (state.join, next((one for one in known if one.name == peer), None))
        )
        if state.rounds and peer in state.rounds[-1].open:
            own, others = len(state.rounds[-1].open[peer].own), len(state.rounds[-1].open[peer].others)
        chosen = choices(exposure.offers, exposure.chosen)
        return Sizes(own, others, offers=exposure.offers, outcome=exposure.outcome, choice=chosen)

    def _departure(
        self,
        state: OwnerState,
        kind: str,
        about: str,
        round: int = 0,
        body: tuple[int, bool] = (0, True),
        wire: int = 1,
        *,
        made: bool = False,
    ) -> Departure:
        letters = Letters(state.study, own_identity(self.store), coordinator_of(state))
        receiver = about if kind in messages.TO_OWNERS else COORDINATOR
        asked = "owner whose records are asked" if kind == "answers" else "owner that asks"
        said, sizes = dict(declared(messages.KINDS[kind])), self._sizes(state, about)
        about = "" if about == COORDINATOR else about
        counted = [one for one in said.values() if isinstance(one, Tells)]
        tells = [f"{one.about}, {ceil(one.bits(sizes)):,} bits at most" for one in counted]
        reason = said.get("blob", KNOWN)
        told = "; ".join(tells) or (f"nothing: {reason.because}" if isinstance(reason, Nothing) else "")
        line, letter = COORDINATOR if receiver == COORDINATOR else asked, len(letters.seal(bytes(wire)))
        return Departure(kind, about, round, made, receiver, letter, *body, line, told)
