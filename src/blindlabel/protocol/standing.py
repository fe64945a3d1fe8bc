"""Which of each other's messages an owner and the coordinator have. Both say so with every poll, so that whoever is
ahead sends again at once.

1. The owner says the number and the digest of the coordinator's last message that it accepted (`Known`). Each of these
   messages names the one before it, so one digest stands for all of them. It also says how many of its questions are
   saved, for people at the coordinator to see.
2. The coordinator says the same about its own last message to this owner, and which of the owner's messages it has
   (`Standing`); it leaves that list out while the owner knows it (`tag`).
3. A message whose body is still needed but gone counts as missing.
4. A coordinator that has sent fewer messages than an owner accepted was restored from an old backup. Owners send what
   it does not have, which may bring it forward again: whether it has caught up is asked of its state, whoever did it.

A standing is not signed, and nothing is believed because of it: it only makes a party send, ask again, or wait.

*Lives.* A life of a workspace is begun by the first process that speaks for it while no other does. It has a number and
a random name, and knows the names of the lives that it follows, if it is certain that they have ended. A copy, a clone
of a machine and a restored backup begin lives of their own. The coordinator hears one life of an owner:

5. a life that follows the one heard last takes its place at once: it was started again;
6. any other takes its place when that one has not been heard for `ONE_LIFE` after this one first asked; whenever it is
   heard, the wait begins again. So of two that run at once only one takes part, and a copy without original goes on.

A life of a coordinator's database is begun by each process that serves it, and told by all of them. Lives of one
database never come back. An owner that hears an earlier one again, in answer to a mark that it made since, speaks with
two copies of the database at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from typing import Annotated

from blindlabel.protocol.facts import StudyState, needed_bodies
from blindlabel.protocol.shape import Amount, Blob, Hex32, Name, Shape
from blindlabel.protocol.telling import CHANCE, HIDDEN, KNOWN, Nothing

ONE_LIFE = 30.0
"""Seconds for which a life that was heard last must be silent, while another asks, before that takes its place."""


class Life(Shape):
    """What a life says about itself; it has no name if nobody asks for one."""

    name: str = ""
    before: tuple[str, ...] = ()
    """Lives that it follows."""


NAMELESS = Life()


class Heard(Shape):
    """Which life of an owner takes part, and which other one asks to, and since when."""

    life: str = ""
    rival: str = ""
    since: float = 0.0


def heard_after(heard: Heard, life: Life, now: float) -> Heard:
    """A life speaks. It takes part if it is then the life that counts as heard."""
    if heard.life in ("", life.name, *life.before):
        return Heard(life=life.name)
    if heard.rival not in (life.name, *life.before) or now < heard.since:
        return Heard(life=heard.life, rival=life.name, since=now)
    return Heard(life=life.name) if now - heard.since >= ONE_LIFE else heard.model_copy(update={"rival": life.name})


class Known(Shape):
    """What an owner says about itself."""

    received: Annotated[Amount, KNOWN] = 0
    latest: Annotated[str, KNOWN] = ""
    """The digest of the message with that number."""
    has: Annotated[str, KNOWN] = ""
    """The tag of its own messages that the coordinator has, as the owner was last told."""
    mark: Annotated[str, CHANCE] = ""
    """Returned with the answer to this."""
    written: Annotated[Amount, Nothing("how fast people work: it counts saved questions, and says nothing of them")] = 0
    """How many questions of its round are saved."""


class Standing(Shape):
    """What the coordinator says about itself to one owner."""

    sent: Annotated[Amount, KNOWN]
    latest: Annotated[str, HIDDEN]
    has: Annotated[tuple[Hex32, ...] | None, KNOWN]
    """The owner's messages that it has, by digest, or None if the owner knows."""
    life: Annotated[str, CHANCE] = ""
    """Of the coordinator's database."""
    mark: Annotated[str, KNOWN] = ""
    heard: Annotated[Amount, KNOWN] = 0
    """How many messages of the coordinator the owner had when it last said so. In a folder both may be old."""
    ahead: Annotated[tuple[Name, ...], KNOWN] = ()
    """The owners that have messages which the coordinator has forgotten."""


def tag(has: Iterable[str]) -> str:
    """A short text that tells one set of messages from another."""
    return hashlib.blake2b(" ".join(sorted(has)).encode(), digest_size=16).hexdigest()


def standing_with(
    state: StudyState,
    owner: str,
    known: Known,
    is_lost: Callable[[Blob], bool],
    life: str = "",
    ahead: Collection[str] = (),
) -> Standing:
    """How the coordinator stands with an owner. `is_lost`: whether it does not have a body. `ahead`: see there."""
    needed, facts = needed_bodies(state), state.owners[owner]
    has = tuple(
        digest
        for slot, digest in sorted(state.seen.items())
        if slot.startswith(f"{owner} ") and not (slot in needed and is_lost(needed[slot]))
    )
    latest = facts.history[-1] if facts.history else ""
    told = None if tag(has) == known.has else has
    others = tuple(sorted(ahead))
    return Standing(
        sent=facts.sent, latest=latest, has=told, life=life, mark=known.mark, heard=known.received, ahead=others
    )


def is_ahead(state: StudyState, owner: str, known: Known) -> bool:
    """Whether an owner that takes part has messages of the coordinator that this state does not know."""
    facts = state.owners[owner]
    if facts.join is None or facts.away == "removed":
        return False
    history = facts.history
    return known.received > len(history) or (known.received > 0 and history[known.received - 1] != known.latest)
