"""A small study with real parties for tests: generated tables, a coordinator with its store, owners with their
workspaces, real HTTP.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import uvicorn
from fastapi import FastAPI

from blindlabel.envelope.identity import new_identity
from blindlabel.language import interpret
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import OwnerParty, run
from blindlabel.parties.questions import QuestionSource, SuggestedQuestions, check_question, open_tasks
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import labels as labelling
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.interfaces import PERSON, Line, OwnRecord, Store
from blindlabel.protocol.invitation import Invitation
from blindlabel.protocol.letters import Letters
from blindlabel.protocol.messages import Message, Pairing, Signed, Truth, sign
from blindlabel.protocol.shape import COORDINATOR, Blob, Locked
from blindlabel.records.generator import PERSON_ATTRIBUTES, Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.background import Background
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.front import Front
from blindlabel.transport.server import create_app
from blindlabel.transport.server_limits import ServerLimits
from support.patience import PATIENCE, Patience

Connect = Callable[[Workspace], Line]


def small_agreement(owners: int = 2, records: int = 8, engine: str = "plain", **other: object) -> Agreement:
    """An agreement about persons."""
    names = ["anna", "berta", "clara", "dora", "emma"][:owners]
    settings: dict[str, object] = {
        "sampling": {"records": records},
        "encoding": {"engine": engine, "record_length": 200},
        "release": "labels",
    }
    name = str(other.pop("name", "persons"))
    return agreements.new(name, names, list(PERSON_ATTRIBUTES), **(settings | other))


def write_person_tables(folder: Path, owners: int = 2, rows: int = 8, seed: int = 5) -> list[Path]:
    """Tables about overlapping persons, one for each owner."""
    paths = []
    for number in range(
        (owners + 1) // 2
    ):  # the generator makes two tables at once; further ones share the persons of the seed
        made = generate("persons", Size(rows, rows // 2), seed)
        paths += write_tables(made, folder / f"tables-{number}")[:2]
    return paths[:owners]


_PORTS = itertools.cycle(range(10_000 + os.getpid() % 200 * 100, 10_100 + os.getpid() % 200 * 100))
"""Of this process alone, and below those that the system gives to whoever asks for any."""


def free_port() -> int:
    """A port that is free, and stays free until somebody is told to use it."""
    for port in _PORTS:
        with contextlib.suppress(OSError), socket.socket() as found:
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("ports never end")


def is_served(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def served(
    coordinator: CoordinatorParty,
    limits: ServerLimits | None = None,
    add: Callable[[FastAPI], None] = lambda _: None,
    background: Background | None = None,
    front: Front | None = None,
) -> Iterator[str]:
    """The coordinator over real HTTP on loopback, with something added to its server; its address."""
    app = create_app(coordinator, limits, background=background)
    listening = socket.create_server(("127.0.0.1", 0))
    add(app)
    settings = (front or Front(limits or ServerLimits())).settings
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, access_log=False, timeout_keep_alive=int(PATIENCE), **settings)
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    Patience().wait_until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def joined(folder: Path, invitations: list[Invitation], tables: list[Path]) -> list[Workspace]:
    """Every owner's workspace."""
    return [
        join(Workspace.create(folder / invitation.owner), invitation, TableOptions(table))
        for invitation, table in zip(invitations, tables)
    ]


def over_http(address: str) -> Connect:
    """Connects owners to a coordinator over HTTP."""
    return lambda workspace: HttpTransport(
        address, letters_of(workspace), workspace.secret("token").decode(), patience=PATIENCE
    )


def strangers_letters(study: str = "0" * 64) -> Letters:
    """Of somebody who takes part in nothing."""
    return Letters(study, new_identity(), new_identity().public)


class Asking:
    """Asks what `question` says about each open record, and hands in."""

    def __init__(self, question: Callable[[Store, OwnRecord], str]) -> None:
        self._question = question

    def provide(self, store: Store) -> str | None:
        """As `QuestionSource` has it."""
        records = store.records()
        texts = {task.record: self._question(store, records[task.record]) for task in open_tasks(store)}
        store.save_questions(texts, PERSON)
        store.hand_in()
        return None


FIRST_WORDS = Asking(lambda _, own: f'ret is_in("{own.prepared.whole.split(" ")[0][:12]}", $r)')
"""Asks for a record's first word."""
SURNAMES = Asking(lambda _, own: f'ret is_in("{own.prepared.attributes["surname"][:12] or "zz"}", $r)')
"""Asks for a person's surname."""


def _part_of_the_surname(store: Store, own: OwnRecord) -> str:
    surname = own.prepared.attributes["surname"] or "x"
    return f'ret is_in("{surname[:1] if store.name == "anna" else surname[:9]}", $r)'


DISAGREEING = Asking(_part_of_the_surname)
"""Anna asks for the first letter of the surname, everybody else for nearly all of it: there are several rounds."""


def naming(blob: Blob, study: str, owner: str, number: int = 99) -> Signed:
    """A message to an owner that names a body; its signature is none."""
    pairing = Pairing(peer="berta", enriched=(), labels=Locked(blob=blob, key="ab" * 32), aside=(), tallies=())
    return sign(
        Message(study, COORDINATOR, owner, 0, number, Truth(reason="agreed", pairings=(pairing,))), lambda _: b"s" * 64
    )


def play(workspaces: list[Workspace], connect: Connect, source: QuestionSource | None = None) -> list[OwnerParty]:
    """Take the owners' turns in one thread until all have the truth. Verification words are compared and confirmed
    automatically.
    """
    owners, patience = [OwnerParty(workspace, connect(workspace)) for workspace in workspaces], Patience()
    try:
        while True:
            over = [run(owner, source or SuggestedQuestions(), once=True, tell=lambda _: None) for owner in owners]
            if all(over):
                return owners
            confirm_all(owners)
            patience.check(lambda: [owner.next_steps() for owner in owners])
            time.sleep(0.02)
    finally:
        for owner in owners:
            owner.line.close()


def confirm_all(owners: list[OwnerParty]) -> None:
    """Compare the words of every two owners, as their people would by telephone, and confirm."""
    for first, second in combinations(owners, 2):
        states = {owner: owner.store.state() for owner in (first, second)}
        if any(state.keys is None for state in states.values()):
            continue
        for owner, other in ((first, second), (second, first)):
            if other.store.name not in states[owner].confirmed:
                owner.verify(other.store.name, " ".join(other.words(owner.store.name)))


def clear_labels(first: Workspace, second: Workspace) -> labelling.Labels:
    """What the labels of two owners must be: their questions interpreted on clear records, by the rules of the design,
    done naively.
    """
    a, b = first.records(), second.records()
    expected = np.zeros((len(a), len(b)), dtype=np.uint8)
    for number in range(1, first.state().round + 1):
        asked_a = {
            task.record: check_question(first.agreement, task.question or "").tree for task in first.tasks(number)
        }
        asked_b = {
            task.record: check_question(second.agreement, task.question or "").tree for task in second.tasks(number)
        }
        for i in range(len(a)):
            for j in range(len(b)):
                if expected[i, j] == 0 and i in asked_a and j in asked_b:
                    one, two = interpret(asked_a[i], b[j].prepared), interpret(asked_b[j], a[i].prepared)
                    if one == two:
                        expected[i, j] = 2 * number + one
    return expected


def told(labels: labelling.Labels, release: labelling.Release = "labels") -> labelling.Labels:
    """What an owner is told of labels."""
    return labelling.released(labels, release)
