"""A whole study on one machine: generated tables, a coordinator and two owners as real processes over HTTP, suggested
questions.

What a person does between the owners, comparing the verification words, is done here automatically, and the report says
so. A process that is killed is started again and goes on where it was, as a party's own service manager would see to.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blindlabel.api.ground_truth import GroundTruth
from blindlabel.errors import OutsideError
from blindlabel.export.truth import truths_of_coordinator, with_ids
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, confirm_heard, join, words_to_read_out
from blindlabel.parties.study import StudyStanding, standing
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.figures import of_round
from blindlabel.records.generator import PERSON_ATTRIBUTES, GeneratedTables, Size, generate, write
from blindlabel.records.proposing import lengths_for, recipe_for
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace

NAMES = ("anna", "berta")
BLOCKING = ("surname", "given_name", "address_1", "phone_number")
MOST_ROWS = 20_000
ROWS_A_RECORD = 8
SHARED = 0.8
"""Rows for each record of the sample, and the share of them about persons of both tables: a sample of 64 then holds
some 16 true pairs, and relays no more than one of 50. With smaller tables it would hold more of them, but also more
members of one household, and owners would know less of what is rare.
"""
GATES_ATTRIBUTES = ("given_name", "surname")
"""What the gates engine is shown on: short records, since it spends 0.04 s on every gate
(docs/laboratory/gates-engine.md).
"""
PROFILE = (4, 4, 2, 2, 2, 1, 1, 1)
"""Room for eight conditions, and none for exceptions: a person's question has five to seven and is suggested without
exceptions, and every round pays for all room.
"""
PATIENCE = 900.0
"""Seconds without any change after which a demonstration is given up."""
LOOK = 1.0
"""Seconds between two looks at what the parties have done."""
EXIT_OUTSIDE = 3
MOST_FAILURES = 10
"""How often a process may fail for an outside reason (a worker was killed, say) before that counts as an error."""

Tell = Callable[[str], None]
Show = Callable[[str, float], None]
"""Called with what is going on and how much of the whole is done, 0 to 1."""


@dataclass(frozen=True)
class Demonstration:
    """What is demonstrated."""

    records: int = 64
    engine: str = "packed"
    rounds: int = 3
    seed: int = 1
    workers: int = 1

    @property
    def rows(self) -> int:
        """Rows of each table: more than are sampled, so that suggestions can tell rare words from common ones."""
        return max(self.records, min(ROWS_A_RECORD * self.records, MOST_ROWS))


def demonstrate(plan: Demonstration, folder: Path, tell: Tell, show: Show) -> dict[str, Any]:
    """Run the study in this folder; what came out, as the document of `demo --json`."""
    began = time.time()
    made = generate("persons", Size(plan.rows, int(SHARED * plan.rows)), plan.seed)
    tables = write(made, folder / "tables")
    agreement = _agreement(plan, made)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
    invitations = coordinator.create(to_text(agreement), address)
    tell(
        f"Two generated tables of {plan.rows} persons, {plan.records} of each sampled, part of them for a likely"
        f" partner; a coordinator and two owners as processes on {address}, {plan.engine} engine."
    )
    with Processes(folder, tell) as running:  # each is started as soon as it can be: that takes it a second or two
        running.start("coordinator", "coordinator", "serve", "--at", str(folder / "coordinator"), "--port", str(port))
        workspaces = []
        for one, table in zip(invitations, tables):
            workspaces.append(join(Workspace.create(folder / one.owner), one, TableOptions(table)))
            at = str(workspaces[-1].folder)
            running.start(one.owner, "owner", "run", "--auto", "--at", at, "--workers", str(plan.workers))
        standstill = _Standstill()
        _confirm(workspaces, running, tell, standstill)
        _watch(coordinator, agreement, workspaces, running, tell, show, standstill)
    return _report(coordinator, agreement, made, workspaces, folder, began) | {"restarts": running.restarts}


class _Standstill:
    """Gives up when nothing has changed for a long time. A busy machine may take as long as it needs."""

    def __init__(self) -> None:
        self._at: object = None
        self._since = time.monotonic()

    def check(self, at: object) -> None:
        """`at` is where the study stands now."""
        if at != self._at:
            self._at, self._since = at, time.monotonic()
        elif time.monotonic() > self._since + PATIENCE:
            raise OutsideError(
                f"Nothing has changed for {PATIENCE / 60:.0f} minutes, so the demonstration is given up. With --keep,"
                " the parties' logs say what they were doing."
            )


def _agreement(plan: Demonstration, made: GeneratedTables) -> Agreement:
    attributes = GATES_ATTRIBUTES if plan.engine == "gates" else PERSON_ATTRIBUTES
    recipe, keys = recipe_for((made.a, made.b), attributes), [one for one in BLOCKING if one in attributes]
    longest = lengths_for((made.a, made.b), attributes, recipe)["record_length"]
    return agreements.new(
        "demonstration",
        NAMES,
        attributes,
        rounds=plan.rounds,
        criteria="Two records match when they are about the same person, in spite of typing errors and missing values.",
        preparation={"steps": list(recipe.steps), "types": dict(recipe.types)},
        sampling={"method": "enriched", "records": plan.records, "share": 0.5, "blocking": keys},
        encoding={
            "engine": plan.engine,
            "record_length": longest,
            "attributes": False,
            "functions": ["is_in", "has_word", "is_empty"],
            "profile": list(PROFILE),
            "unless": 0,
        },
    )


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


_WATCH = """
import os, signal, sys, time
groups = [int(line) for line in sys.stdin]
for kind in (signal.SIGTERM, signal.SIGKILL):
    for group in groups:
        try:
            os.killpg(group, kind)
        except ProcessLookupError:
            pass
    time.sleep(5)
"""
"""Reads the parties' process groups until whoever started them is gone, however it ended, and then ends them."""


class Processes:
    """The parties' commands as processes of their own, with what they give in `<name>.out` and what they say in
    `<name>.log`. Nothing that they start outlives this process, even if it is killed.
    """

    def __init__(self, folder: Path, tell: Tell) -> None:
        self._folder, self._tell = folder, tell
        self._commands: dict[str, tuple[str, ...]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._failures: dict[str, int] = {}
        self.restarts = 0

    def __enter__(self) -> Processes:
        self._watch = subprocess.Popen(  # noqa: S603 (our own words)
            [sys.executable, "-c", _WATCH], stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):  # what it started itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        with self._watch:
            self._watch.kill()

    def start(self, name: str, *command: str) -> None:
        """Start a party (again)."""
        self._commands[name] = command
        for ending in ("out", "log"):  # an app gives its link there
            (self._folder / f"{name}.{ending}").touch(0o600)
        with (self._folder / f"{name}.out").open("ab") as out, (self._folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(  # noqa: S603 (our own command)
                [sys.executable, "-m", "blindlabel.cli.main", *command],
                stdout=out,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        print(self._running[name].pid, file=self._watch.stdin, flush=True)

    def first_line(self, name: str) -> str:
        """The first line that a party gives."""
        while "\n" not in (said := (self._folder / f"{name}.out").read_text("utf-8")):
            if self._running[name].poll() is not None:
                raise OutsideError(f"The process of {name} did not start. {name}.log says more.")
            time.sleep(0.05)
        return said.partition("\n")[0]

    def is_running(self, name: str) -> bool:
        """Whether a process is at work, or was killed and shall go on."""
        code = self._running[name].poll()
        return code is None or code < 0

    def pause(self, seconds: float) -> None:
        """Wait this long, or until a process has ended: reading their files takes time that they need themselves."""
        before, until = self._ended(), time.monotonic() + seconds
        while time.monotonic() < until and self._ended() == before:
            time.sleep(0.05)

    def _ended(self) -> list[str]:
        return [name for name, process in self._running.items() if process.poll() is not None]

    def look_after(self, finished: Callable[[str], bool]) -> None:
        """Restart processes that were killed or failed for an outside reason. Any other early end ends the
        demonstration.
        """
        for name, process in self._running.items():
            code = process.poll()
            if code is None or (code == 0 and finished(name)):
                continue
            if code == EXIT_OUTSIDE:
                self._failures[name] = self._failures.get(name, 0) + 1
            if (code >= 0 and code != EXIT_OUTSIDE) or self._failures.get(name, 0) > MOST_FAILURES:
                raise OutsideError(
                    f"The process of {name} ended too early. {name}.log says more (use --keep to keep it)."
                )
            self._tell(
                f"The process of {name} {f'was killed by signal {-code}' if code < 0 else 'failed'}; it is started"
                " again and goes on."
            )
            self.restarts += 1
            self.start(name, *self._commands[name])


def _confirm(workspaces: list[Workspace], running: Processes, tell: Tell, standstill: _Standstill) -> None:
    """Compare the verification words as the owners' people would by telephone, and confirm on both sides."""
    while any(workspace.state().keys is None for workspace in workspaces):
        running.look_after(lambda _: False)
        standstill.check("confirming")
        time.sleep(0.05)
    first, second = workspaces
    spoken = [" ".join(words_to_read_out(first, NAMES[1])), " ".join(words_to_read_out(second, NAMES[0]))]
    tell(f"Verification words compared automatically (people do this by telephone): {spoken[0]}")
    confirm_heard(first, NAMES[1], spoken[1])
    confirm_heard(second, NAMES[0], spoken[0])


def _watch(
    coordinator: CoordinatorParty,
    agreement: Agreement,
    workspaces: list[Workspace],
    running: Processes,
    tell: Tell,
    show: Show,
    standstill: _Standstill,
) -> None:
    """Show what happens until both owners have the truth."""
    told = 0
    while any(workspace.state().truth is None or running.is_running(workspace.name) for workspace in workspaces):
        state = coordinator.load(agreement.hash).state
        while told < state.round and state.rounds[told].tallies:
            told += 1
            tell(_told(standing(coordinator, agreement.hash), told))
        show(_doing(workspaces), share_done(agreement, state))
        running.look_after(lambda name: any(w.name == name and w.state().truth is not None for w in workspaces))
        activities = [workspace.activity() for workspace in workspaces]
        standstill.check((state, [(one.phase, one.share) for one in activities if one is not None]))
        running.pause(LOOK)
    stands = standing(coordinator, agreement.hash)
    for number in range(told + 1, len(stands.settled) + 1):
        tell(_told(stands, number))


def _doing(workspaces: list[Workspace]) -> str:
    """What the owners' machines are doing, each in its own words."""
    at_work = [
        f"{workspace.name}: {one.phase}"
        for workspace in workspaces
        if (one := workspace.activity()) and one.phase not in ("waiting", "over", "stopped")
    ]
    return ", ".join(at_work) or "waiting"


def share_done(agreement: Agreement, state: StudyState) -> float:
    """The share of the whole that is done, by what the coordinator has: a tenth for the beginning, the rest in equal
    parts for the rounds, each by the messages that have come. It never falls; a study that needs fewer rounds ends
    early.
    """
    if not state.rounds:
        return 0.0 if not state.keys_sent else 0.05
    current, every = state.rounds[-1], len(state.rounds[-1].asked)
    come = len(current.records) + len(current.answers) + len(current.opened)
    within = 1.0 if current.tallies else come / (3 * every + 1)
    anew = sum(1 for one in state.rounds if not one.repeats)
    return min(0.99, 0.1 + 0.9 * (anew - 1 + within) / agreement.rounds)


def _told(stands: StudyStanding, number: int) -> str:
    again = ", ".join(f"{owner} {count}" for owner, count in stands.history[number - 1].ask_again.items()) or "none"
    return f"Round {number}: {of_round(stands.settled[:number])}. Records to ask again: {again}."


def _report(
    coordinator: CoordinatorParty,
    agreement: Agreement,
    made: GeneratedTables,
    workspaces: list[Workspace],
    folder: Path,
    began: float,
) -> dict[str, Any]:
    from blindlabel.export import write as write_truth

    truth = with_ids(truths_of_coordinator(coordinator, agreement.hash)[(NAMES[0], NAMES[1])], *workspaces)
    labels_path = write_truth(truth, "csv", folder / "labels.csv")[0]
    scored = asdict(GroundTruth.of(truth).score(list(made.matches)))
    stands = standing(coordinator, agreement.hash)
    traffic: dict[str, int] = {}
    for row in stands.traffic:
        traffic[row.kind] = traffic.get(row.kind, 0) + row.bytes
    return {
        **scored,
        "records": agreement.sampling.records,
        "rounds": [
            {"round": one.round, **one.total.as_figures(), "asked": one.asked, "ask_again": one.ask_again}
            for one in stands.history
        ],
        "discarded": len(truth.discarded),
        "ended": stands.ended,
        "engine": agreement.encoding.engine,
        "seconds": round(time.time() - began, 3),
        "phases": _phases(coordinator, agreement.hash, began),
        "bytes": traffic,
        "labels_path": str(labels_path),
    }


def _phases(coordinator: CoordinatorParty, study: str, began: float) -> dict[str, float]:
    """Seconds by phase, from the times at which the coordinator's messages were made and the owners' came."""
    reached = coordinator.store.milestones(study)
    before = [began, *(at for _, at in reached)]
    return {name: round(at - last, 3) for (name, at), last in zip(reached, before)}
