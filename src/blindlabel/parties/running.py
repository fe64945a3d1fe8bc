"""Taking an owner's turns until the study is over: everything that needs no person, in order, and saying what is waited
for.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from blindlabel.parties.owner import Owner
from blindlabel.parties.questions import QuestionSource, open_tasks
from blindlabel.protocol.interfaces import NotYetCarried, Unreachable

WAIT = 2.0
"""Seconds that one turn waits for a message."""
LOOK_BACK = 30.0
"""Seconds without anything new after which it looks whether the coordinator still knows what it has sent."""
LOOK = 0.3
"""The same where a person at this side is waited for: after that it looks whether a round was handed in or words were
confirmed.
"""


def run(owner: Owner, source: QuestionSource | None, *, once: bool, tell: Callable[[str], None]) -> bool:
    """Take turns; True when the study is over. With `once`, only as long as something can be done now.

    `tell` gets a sentence whenever what is waited for changes.
    """
    told, busy = "", time.monotonic()
    while True:
        try:
            if time.monotonic() - busy > LOOK_BACK:
                owner.look_back()
                busy = time.monotonic()
            happened = owner.turn(0.0 if once else LOOK if _waits_for_person(owner) else WAIT)
            missing = source.provide(owner.store) if source is not None and open_tasks(owner.store) else None
            happened |= source is not None and missing is None and owner.work()
        except NotYetCarried as error:
            told = _tell(owner, tell, told, str(error))
            if once:
                return False
            time.sleep(LOOK)
            continue
        except Unreachable as error:
            if once:
                raise
            told = _tell(owner, tell, told, f"{error} Trying again.")
            time.sleep(WAIT)
            continue
        if is_over(owner):
            owner.store.say("over", 1.0, "The study is over.")
            return True
        if happened:
            busy = time.monotonic()
            continue
        waiting = missing or " ".join(step.sentence for step in owner.next_steps())
        told = _tell(owner, tell, told, waiting)
        if once:
            return False


def is_over(owner: Owner) -> bool:
    """Whether the truth has come, with its labels."""
    truth = owner.store.state().truth
    return truth is not None and all(owner.store.bodies.has(pairing.labels) for pairing in truth.pairings)


def _waits_for_person(owner: Owner) -> bool:
    return any(step.who == "you" for step in owner.next_steps())


def _tell(owner: Owner, tell: Callable[[str], None], told: str, sentence: str) -> str:
    if sentence != told:
        tell(sentence)
        owner.store.say("waiting", 0.0, sentence)
    return sentence
