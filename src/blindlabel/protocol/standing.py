"""How far an owner and the coordinator have each other's messages. Both say it with every poll, so that whoever is
ahead hands over again, at once.

1. The owner says the number and the digest of the coordinator's last message that it took in (`Known`). Each of those
   messages names the one before it, so one digest stands for all of them.
2. The coordinator says the same of its own last message to this owner, and which of the owner's messages it has
   (`Standing`); not again as long as the owner knows that list (`tag`).
3. A message whose body is still needed and is gone counts as one that it does not have.
4. A coordinator that has sent less than an owner took in was restored from an old backup. Owners hand over what it does
   not have, which may bring it forward again.

A standing is not signed. Nothing is believed because of it: it only makes a party send, or ask, once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

from blindlabel.protocol.facts import StudyState, sides_of
from blindlabel.protocol.shape import Amount, Blob, Hex32, Shape


class Known(Shape):
    """What an owner says of itself."""

    received: Amount = 0
    latest: str = ""
    """The digest of the message with that number."""
    has: str = ""
    """The tag of its own messages that the coordinator has, as the owner was last told."""


class Standing(Shape):
    """What the coordinator says of itself to one owner."""

    sent: Amount
    latest: str
    has: tuple[Hex32, ...] | None
    """The owner's messages that it has, by digest; None where the owner knows."""


def tag(has: Iterable[str]) -> str:
    """What tells one set of messages from another."""
    return hashlib.blake2b(" ".join(sorted(has)).encode(), digest_size=16).hexdigest()


def standing_with(state: StudyState, owner: str, known: Known, is_lost: Callable[[Blob], bool]) -> Standing:
    """How the coordinator stands with an owner. `is_lost`: whether it does not have a body."""
    needed, facts = needed_bodies(state), state.owners[owner]
    has = tuple(
        digest
        for slot, digest in sorted(state.seen.items())
        if slot.startswith(f"{owner} ") and not (slot in needed and is_lost(needed[slot]))
    )
    latest = facts.history[-1] if facts.history else ""
    return Standing(sent=facts.sent, latest=latest, has=None if tag(has) == known.has else has)


def is_ahead(state: StudyState, owner: str, known: Known) -> bool:
    """Whether an owner has messages of the coordinator that this state does not know."""
    history = state.owners[owner].history
    return known.received > len(history) or (known.received > 0 and history[known.received - 1] != known.latest)


def needed_bodies(state: StudyState) -> dict[str, Blob]:
    """The owners' bodies that somebody still has to fetch or compare, by the slot of their message."""
    found: dict[str, Blob] = {}
    if state.ended:
        return found
    for owner, facts in state.owners.items() if not state.samples else ():
        exchanged = {"offered": facts.offered, "blinded": facts.blinded, "picked": facts.picked}
        found |= {f"{owner} {kind} 0 {peer}": blob for kind, sent in exchanged.items() for peer, blob in sent.items()}
    for current in state.rounds[-1:]:
        of_round: list[tuple[str, str, Blob]] = [
            *(("answers", direction, body.blob) for direction, body in current.answers.items()),
            *(("listed", direction, body.blob) for direction, body in current.listed.items()),
            *(("records", direction, body.blob) for direction, body in current.records.items()),
            *(("opened", direction, body.blob) for direction, body in current.opened.items()),
        ]
        for kind, direction, blob in of_round:
            asker, holder = sides_of(direction)
            sender, about = (asker, holder) if kind in ("answers", "listed") else (holder, asker)
            found[f"{sender} {kind} {state.round} {about}"] = blob
    return found
