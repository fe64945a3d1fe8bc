"""Finds likely partners for an enriched sample, without showing rows, keys or frequencies to anybody.

1. An owner leaves out those of its blocking keys that more than `MOST_ROWS` of its rows have: frequent keys tell
   nothing apart, and names can be guessed from frequencies. For each other key, one row chosen at random stands for it.
2. Both owners hash their keys under their common secret and offer the keys with the smallest hashes: keys that both
   have are among the smallest on both sides. There are `OFFERS_PER_RECORD` offers for each record of the sample. Keys
   that nobody has make up for missing ones, each standing for a random row, so the number of keys says nothing.
3. An offer is a point blinded by its owner's secret number (`envelope.blinding`). Offers go to the other owner, sealed,
   in the order of the points. The other owner blinds them with its own number, puts them into the new order, and hands
   them to the coordinator, which finds equal points in the two lists of a pairing and learns neither keys nor rows.
4. The coordinator chooses places in both lists: of equal points, and as many of others (decoys). It names them to the
   owner that blinded the list, who finds them in the offers and passes their places on. So an owner does not know which
   of its chosen rows have a partner; the coordinator does not know which rows they are; and an owner and the
   coordinator who pool what an honest study left them cannot look any other key up, since each order is known to the
   *other* owner alone.
5. An owner samples the rows of its chosen offers beside rows that the coordinator drew uniformly. Rows with rare keys
   are over-represented in the first part, so results are reported for both.

Everything that an owner makes here follows from its secret keys, its table and the agreement. So it is the same when it
is made again after a crash, or by a workspace restored from a backup.

The coordinator accepts nothing from an owner that has not confirmed every other, and relays nothing before all have. A
list that an owner blinded is kept until all lists are there. Then rows are drawn uniformly and places chosen in the
lists, once; owners pass the choice on to each other through the coordinator and tell it which rows they sampled. It
knows the sampled rows, as in every study, and which of them it drew itself; it does not know which key brought which
row.
"""

from __future__ import annotations

import hashlib
import itertools
import secrets
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blindlabel.envelope import identity
from blindlabel.envelope.identity import POINT_BYTES
from blindlabel.envelope.stream import sealed_size
from blindlabel.language.record import Record
from blindlabel.protocol import labels as labelling
from blindlabel.protocol import messages
from blindlabel.protocol.account import OFFERS_PER_RECORD
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import (
    StudyState,
    StudyStep,
    all_confirmed,
    key_of,
    peer_facts,
    peers_in,
    present,
    send,
    sizes,
    with_owner,
)
from blindlabel.protocol.messages import Signed
from blindlabel.protocol.refusals import NotFitting, TooEarly, WrongRound
from blindlabel.protocol.sampling import Draw, blocking_keys, choose
from blindlabel.protocol.sampling import uniform as uniform_rows

MOST_ROWS = 3
"""A key that more rows than this have is left out."""


@dataclass(frozen=True)
class Extent:
    """How much two owners exchange. Both of them know it, and so does the coordinator."""

    records: int
    """Rows of each table in the sample, at most."""
    share: float
    """The part of them that is chosen by keys, at most."""
    peers: int
    """Other owners that an owner has."""

    @classmethod
    def of(cls, agreement: Agreement) -> Extent:
        """What an agreement says about it."""
        return cls(agreement.sampling.records, agreement.sampling.share, len(agreement.owners) - 1)

    def uniform(self, size: int) -> int:
        """Rows of a table of this size that are drawn uniformly."""
        sampled = min(self.records, size)
        return sampled - int(self.share * sampled)

    def offers(self, size: int, other: int) -> int:
        """Offers between the owners of tables of these sizes, either way."""
        return OFFERS_PER_RECORD * min(self.records, size, other)

    def chosen(self, size: int, other: int) -> int:
        """Offers of either owner that the coordinator chooses at most: half of them keys that both have."""
        return int(self.share * min(self.records, size, other)) // (2 * self.peers) * 2


@dataclass(frozen=True)
class Offer:
    """One key of an owner, hashed, and the row that stands for it."""

    key: bytes
    row: int


def rare_keys(
    records: Iterable[Record], attributes: Sequence[str], secret: bytes, wanted: int, draw: Draw
) -> list[Offer]:
    """The rare keys of a table with the smallest hashes under the two owners' secret, smallest first, at most `wanted`
    of them.
    """
    rows, hashes = array("q"), array("Q")
    for row, record in enumerate(records):
        for key in blocking_keys(record, attributes):
            hashed = hashlib.blake2b(key.encode(), key=secret, digest_size=8, person=b"bl-blocking").digest()
            hashes.append(int.from_bytes(hashed, "big"))
            rows.append(row)
    if not hashes:
        return []
    values, of_row = np.array(hashes, dtype=np.uint64), np.array(rows, dtype=np.int64)
    order = np.argsort(values, kind="stable")
    values, of_row = values[order], of_row[order]
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    ends = np.append(starts[1:], len(values))
    rare = np.flatnonzero(ends - starts <= MOST_ROWS)[:wanted]
    return [
        Offer(int(values[start]).to_bytes(8, "big"), int(of_row[start + draw(end - start)]))
        for start, end in zip(starts[rare].tolist(), ends[rare].tolist(), strict=True)
    ]


def filled_up(offers: Sequence[Offer], wanted: int, size: int, draw: Draw) -> list[Offer]:
    """`wanted` offers: the given ones, and keys that nobody has, each for a random row."""
    missing = range(wanted - len(offers))
    return [*offers, *(Offer(draw(2**256).to_bytes(32, "big"), draw(size)) for _ in missing)]


def drawn_from(seed: bytes) -> Draw:
    """Random numbers that follow from secret bytes: the same bytes draw the same numbers."""
    numbers = itertools.count()

    def draw(below: int) -> int:
        drawn = hashlib.blake2b(next(numbers).to_bytes(8, "big"), key=seed, person=b"bl-drawing").digest()
        return int.from_bytes(drawn, "big") % below

    return draw


@dataclass(frozen=True)
class BlindedOffers:
    """Points in their own order, and where each of them stood before."""

    points: tuple[bytes, ...]
    origin: tuple[int, ...]

    @property
    def body(self) -> bytes:
        """The points as they travel."""
        return b"".join(self.points)


def offered(offers: Sequence[Offer], context: bytes, scalar: bytes) -> BlindedOffers:
    """The offers as points whose keys only this owner can find again."""
    return blinded([identity.point_of(offer.key, context) for offer in offers], scalar)


def blinded(points: Sequence[bytes], scalar: bytes) -> BlindedOffers:
    """Points times a secret number, in the order of the products, which says nothing about the order before."""
    made = sorted((identity.blinded(point, scalar), place) for place, point in enumerate(points))
    return BlindedOffers(tuple(point for point, _ in made), tuple(place for _, place in made))


def points_of(body: bytes, wanted: int) -> list[bytes]:
    """The points of a list, which must be exactly this many."""
    if len(body) != wanted * POINT_BYTES:
        raise NotFitting("The size of a list of blinded keys is not the one that the agreement asks for.")
    return [body[place : place + POINT_BYTES] for place in range(0, len(body), POINT_BYTES)]


@dataclass(frozen=True)
class ChosenOffers:
    """Places in the two lists of a pairing, ascending, and how many in each list stand for equal points."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    partners: int


def partners(
    first: Sequence[bytes], second: Sequence[bytes], wanted: int, draw: Draw = secrets.randbelow
) -> ChosenOffers:
    """At most `wanted` places of each list: half of them of points that both lists have, half of others."""
    here, there = ({point: place for place, point in enumerate(points)} for points in (first, second))
    equal = choose(sorted(here.keys() & there.keys()), wanted // 2, draw)
    answers = []
    for offers, other in ((here, there), (there, here)):
        decoys = choose(sorted(offers.keys() - other.keys()), len(equal), draw)
        answers.append(tuple(sorted(offers[point] for point in (*equal, *decoys))))
    return ChosenOffers(answers[0], answers[1], len(equal))


def sampled(
    uniform: Sequence[int], chosen: Iterable[int], size: int, wanted: int, draw: Draw = secrets.randbelow
) -> tuple[int, ...]:
    """The sample of one table: rows drawn uniformly, rows of chosen offers and, if these overlap, more random rows."""
    rows = set(uniform)
    more = sorted(set(chosen) - rows)
    rows.update(choose(more, wanted - len(rows), draw))
    rest = [row for row in range(size) if row not in rows] if len(rows) < wanted else []
    rows.update(choose(rest, wanted - len(rows), draw))
    return tuple(sorted(rows))


# What the coordinator does

_SEALING = 4096
"""Bytes that sealing may add to a list."""


def take_in(agreement: Agreement, state: StudyState, signed: Signed) -> StudyStep:
    """Accept a message that belongs to drawing a sample."""
    message, body = signed.message, signed.message.body
    if not agreement.sampling.by_keys:
        raise NotFitting("The agreement draws its sample without blocking keys.")
    other = getattr(body, "peer", "") or message.receiver
    if other in state.owners and state.owners[other].away:
        raise WrongRound(f"{other} no longer takes part with the keys that {message.sender} confirmed.")
    if len(state.owners[message.sender].confirmed) < len(peers_in(state, message.sender)):
        raise TooEarly(f"{message.sender} has not confirmed every other owner.")
    if isinstance(body, messages.Blinded):
        return StudyStep(_blinded(agreement, state, message.sender, body))
    if isinstance(body, messages.Sampled):
        return StudyStep(_sampled(agreement, state, message.sender, body))
    facts, extent, tables = state.owners[message.sender], Extent.of(agreement), sizes(state)
    offers = extent.offers(tables[message.sender], tables[message.receiver])
    if isinstance(body, messages.Offered):
        name, known = "offered", facts.offered
    else:
        assert isinstance(body, messages.Picked)
        if not state.uniform:
            raise TooEarly("No offers have been chosen yet.")
        name, known = "picked", facts.picked
    if body.blob.length > offers * POINT_BYTES + _SEALING:
        raise NotFitting("The size of the list is wrong for the agreement.")
    state = with_owner(state, message.sender, **{name: {**known, message.receiver: body.blob}})
    return StudyStep(state.model_copy(update={"held": (*state.held, signed.wire.decode())}))


def relay_held(step: StudyStep) -> StudyStep:
    """Pass on what was held until every owner has confirmed every other."""
    held, step = step.state.held, StudyStep(step.state.model_copy(update={"held": ()}), step.messages, step.bodies)
    for wire in held:
        step = send(step, messages.parse(wire.encode()).message.receiver, 0, messages.Relay(message=wire))
    return step


def _blinded(agreement: Agreement, state: StudyState, sender: str, blinded: messages.Blinded) -> StudyState:
    if sender not in peer_facts(state, sender, blinded.peer).offered:
        raise TooEarly("There are no offers yet that could have been blinded.")
    tables = sizes(state)
    offers = Extent.of(agreement).offers(tables[sender], tables[blinded.peer])
    if blinded.blob.length != sealed_size("blinded", offers * POINT_BYTES):
        raise NotFitting("The size of a list of blinded keys is not the one that the agreement asks for.")
    return with_owner(state, sender, blinded={**state.owners[sender].blinded, blinded.peer: blinded.blob})


def _sampled(agreement: Agreement, state: StudyState, sender: str, sampled: messages.Sampled) -> StudyState:
    if not state.uniform:
        raise TooEarly("No offers have been chosen yet.")
    size, positions = sizes(state)[sender], sampled.positions
    fits = list(positions) == sorted(set(positions)) and positions[-1:] < (size,)
    wanted = min(agreement.sampling.records, size)
    if not fits or len(positions) != wanted or set(state.uniform[sender]) - set(positions):
        raise NotFitting("The sampled rows do not fit the table, the agreement, or the rows that were drawn.")
    return with_owner(state, sender, sampled=positions)


def is_to_choose(agreement: Agreement, state: StudyState) -> bool:
    """Whether all lists are there, and nothing has been chosen from them."""
    if not agreement.sampling.by_keys or state.uniform or not all_confirmed(state):
        return False
    return all(set(state.owners[owner].blinded) == set(peers_in(state, owner)) for owner in present(state))


def chooses(
    agreement: Agreement, state: StudyState, lists: Mapping[tuple[str, str], bytes], draw: Draw = secrets.randbelow
) -> StudyStep:
    """Draw rows and choose offers. `lists[(owner, peer)]` is what `owner` made of the offers of `peer`."""
    if not is_to_choose(agreement, state):
        return StudyStep(state)
    extent, tables = Extent.of(agreement), {one: sizes(state)[one] for one in present(state)}
    uniform = {owner: uniform_rows(size, extent.uniform(size), draw) for owner, size in tables.items()}
    places: dict[str, dict[str, tuple[int, ...]]] = {owner: {} for owner in tables}
    counts = {}
    for first, second in labelling.pairings(tables):
        both = (tables[first], tables[second])
        of_first, of_second = (
            points_of(lists[pair], extent.offers(*both)) for pair in ((second, first), (first, second))
        )
        found = partners(of_first, of_second, extent.chosen(*both), draw)
        places[second][first], places[first][second] = found.first, found.second
        counts[key_of(first, second)] = found.partners
    step = StudyStep(state.model_copy(update={"uniform": uniform, "partners": counts}))
    for owner in sorted(tables):
        step = send(step, owner, 0, messages.Chosen(uniform=uniform[owner], places=places[owner]))
    return step


def drawn(state: StudyState) -> dict[str, tuple[int, ...]] | None:
    """The samples, once every owner has named its own."""
    found = {owner: state.owners[owner].sampled for owner in present(state)}
    return found if all(found.values()) else None
