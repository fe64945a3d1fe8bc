"""Whether "X has to do Y" is so, judged by somebody who knows everything: all states, and what is on its way.

1. Where an owner or the coordinator says that another has to do something, that one can do it now, or its message, or
   one to it, is on its way. Where several are named with "or", that holds of one of them.
2. Whoever has news to fetch is not judged, nor whose messages the coordinator has just forgotten: what it says is true
   of what it knows. Over a folder it must say that its own messages may still lie there.
3. An owner that waits names somebody, until its study is over.
4. "The coordinator has forgotten messages" is said where it has. Whoever stopped because of that can do nothing.

What a person or a machine is told to do itself is judged by doing it: see `parties.SimulatedOwner.obey`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from blindlabel.parties.owner import OwnerParty, steps_of
from blindlabel.protocol import messages
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.next_steps import NextStep
from blindlabel.protocol.shape import COORDINATOR

ON_ITS_WAY = "on its way"
_DRAWING = {"offer", "blind", "pick", "sample"}
_DOES = {
    "join": {"join"},
    "verify": {"verify"},
    "confirm": {"verify"},
    "sample": _DRAWING,
    "records": {"keep", "serve", "carry"},
    "answers": {"keep", "write", "hand in", "carry", "evaluate"},
    "open": {"open"},
    "finish": {"keep", "serve", "write", "hand in", "carry", "evaluate", "open"},
}
"""What whoever is named can do, by the word for scripts of the sentence that names it."""


@dataclass(frozen=True)
class View:
    """Everything that there is to know of a study."""

    agreement: Agreement
    state: StudyState
    owners: Mapping[str, OwnerParty]
    ahead: Collection[str] = ()
    """Owners of which the coordinator has noted that it forgot messages."""
    work: Collection[str] = ()
    """The kinds of work that the coordinator can do now."""
    says: Sequence[NextStep] = ()
    """What the coordinator says has to be done."""
    stopped: Collection[str] = ()
    """Owners that have ended with a sentence: they do nothing any more."""

    def has_news(self, name: str) -> bool:
        """Whether the coordinator has messages for an owner that it has not taken in."""
        return self.state.owners[name].sent > self.owners[name].store.state().received

    def is_ahead(self, name: str) -> bool:
        """Whether an owner has messages that the coordinator does not know."""
        return self.owners[name].store.state().received > self.state.owners[name].sent

    def can_do(self, name: str) -> set[str]:
        """What an owner's person or machine can do now."""
        if name in self.stopped:
            return set()
        store = self.owners[name].store
        steps = steps_of(store)
        found = {step.what for step in steps if step.who != "others"}
        if name not in self.ahead and any(step.what == "restored" for step in steps):
            found.add(ON_ITS_WAY)  # its next poll tells it that the coordinator has caught up
        if any(step.who == name and step.what == "again" for step in self.says):
            found.add(ON_ITS_WAY)  # and that the coordinator has its message without the body
        made = [_known(wire) for _, wire in (*store.sent(), *store.unsent())]
        if self.has_news(name) or self.is_ahead(name) or any(slot not in self.state.seen for slot in made):
            found.add(ON_ITS_WAY)
        return found

    def others(self, name: str) -> list[NextStep]:
        """What an owner says that others have to do."""
        return [step for step in self.owners[name].next_steps() if step.who == "others"]


@lru_cache(maxsize=20_000)
def _known(wire: bytes) -> str:
    return messages.parse(wire).message.slot


def false_of_owner(view: View, name: str) -> list[str]:
    """What an owner says of others that is not so."""
    steps, state = view.owners[name].next_steps(), view.owners[name].store.state()
    if not steps and state.truth is None:
        return [f"{name} names nobody, and its study is not over"]
    found = []
    for step in view.others(name):
        named = [peer for peer in view.agreement.peers(name) if re.search(rf"\b{peer}\b", step.sentence)]
        if step.what == "restored":
            is_so = view.is_ahead(name) or bool(view.ahead)
        elif view.has_news(name):
            is_so = True
        elif ON_ITS_WAY in view.can_do(name):  # its own message; over a folder it must say so
            is_so = "in the folder" in step.sentence or not (view.owners[name].store.remembered("via") or "")
        elif step.what == "round":
            is_so = ON_ITS_WAY in view.can_do(name) or bool(view.work)
        elif step.what == "join":
            is_so = any(facts.join is None for facts in view.state.owners.values())
        else:
            does = {*_DOES[step.what], ON_ITS_WAY, *(_DRAWING if "drawing the sample" in step.sentence else ())}
            able = [bool(view.can_do(peer) & does) for peer in named]
            is_so = any(able) if " or " in step.sentence.partition(". ")[0] else bool(able) and all(able)
            is_so |= COORDINATOR in step.sentence and bool(view.work)
        if not is_so:
            found.append(
                f"{name} says what is not so: {step.sentence} ({ {peer: view.can_do(peer) for peer in named} })"
            )
    return found


def false_of_coordinator(view: View) -> list[str]:
    """What the coordinator says of owners that is not so."""
    found = []
    for step in view.says:
        if step.what in ("restored", "again"):
            continue
        can = {*view.work} if step.who == COORDINATOR else view.can_do(step.who)
        # A restored workspace may have forgotten whom it confirmed, and nobody else can know.
        again = {"verify"} if "once its words are compared" in step.sentence else set()
        if not can & {*_DOES.get(step.what, {step.what}), *again, ON_ITS_WAY}:
            found.append(f"the coordinator says what is not so: {step.sentence} (it can {can or 'do nothing'})")
    return found


def false_sentences(view: View) -> list[str]:
    """What anybody says that is not so."""
    return [one for name in sorted(view.owners) for one in false_of_owner(view, name)] + false_of_coordinator(view)
