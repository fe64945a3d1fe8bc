"""One schedule: a study with its parties and its weather, all from one seed, played to the end and judged.

First everything goes wrong that the weather brings; then it calms down, every party is started again, and what is left
must be solved by turns alone. The verdict is a list of violations, empty where all promises held:

- the labels at the coordinator and at every owner are those of the clear protocol (`reference`), at the right rows;
- no pair is counted twice, and none is labelled without two equal answers;
- nothing is stuck that a retry can solve;
- forged, stale and damaged messages change nothing;
- an owner has as many scores as agreed, and they are those of the labels;
- a coordinator that was restored from a backup either goes on exactly as before, or every owner that would notice stops
  with a sentence.
"""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from blindlabel.engines.interface import EngineError
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.joining import begin_study, own_identity
from blindlabel.protocol import labels, messages, next_steps
from blindlabel.protocol.agreement_text import to_text
from blindlabel.protocol.errors import Forked, OverBudget
from blindlabel.protocol.interfaces import Line, Store, Unreachable
from blindlabel.protocol.shape import COORDINATOR
from blindlabel_lab.simulation.carried import CarriedFolders
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.parties import (
    Mortality,
    SimulatedCoordinator,
    SimulatedLine,
    SimulatedOwner,
    mortal,
    predicted,
)
from blindlabel_lab.simulation.places import InFolders, InMemory, Place
from blindlabel_lab.simulation.plan import Plan, Way
from blindlabel_lab.simulation.power import Disk
from blindlabel_lab.simulation.reference import Row, play
from blindlabel_lab.simulation.wire import Wire

DAY = 86_400.0

PATIENCE = 60
"""Turns that a calm study may take for each owner and round."""


@dataclass(frozen=True)
class Verdict:
    """What came of a schedule."""

    seed: int
    violations: tuple[str, ...]
    faults: Counter[str]
    points: int
    """Journal points passed."""
    end: str
    """Why the study ended: agreed, rounds, budget, closed, or `history` where owners stopped it."""
    owners: int
    rounds: int


class Study:
    """The parties of one schedule."""

    def __init__(
        self,
        plan: Plan,
        place: Place,
        weather: Weather,
        mortality: Mortality,
        root: Path | None = None,
        *,
        found: bool = True,
    ) -> None:
        self.plan = plan
        self.place = place
        self.weather = weather
        self.mortality = mortality
        self.left: str | None = None
        self.forked: set[str] = set()
        self.unexpected: list[str] = []
        agreement = plan.agreement
        weather.calm = True  # founding a study is not what is tested
        invitations = Coordinator(place.studies()).create(to_text(agreement)) if found else []
        self.coordinator = SimulatedCoordinator(place, agreement.hash, weather)
        self.network = Network(lambda: self.coordinator, weather, {}, lambda: self.dies(COORDINATOR))
        self.wire = Wire(lambda: self.coordinator.party, weather, lambda: self.dies(COORDINATOR))
        self.folders = CarriedFolders(root, lambda: self.coordinator.party, weather) if root else None
        self.owners: dict[str, SimulatedOwner] = {}
        for invitation in invitations:
            begin_study(place.new_store(invitation.owner), invitation, plan.tables[invitation.owner], {})
        for name in plan.tables:
            self.restart(name)
            identity = own_identity(self.owners[name].store)
            self.network.signers[name] = partial(sign_for, identity, b"")
        weather.begin(plan.crash_at)

    def restart(self, name: str) -> None:
        """Start an owner again from its store."""
        self.mortality.dead = False
        self.owners[name] = SimulatedOwner(self.place, name, self.plan.tables[name], self.weather, self.connect)

    def connect(self, store: Store) -> Line:
        """An owner's line, the way that the plan says."""
        if self.plan.way == "http":
            return self.wire.line(store)
        if self.plan.way == "folder" and self.folders:
            return self.folders.line(store)
        return SimulatedLine(self.network, store.name)

    def stir(self) -> None:
        """Let what is between the parties act by itself."""
        self.network.stir()
        self.wire.stir()
        if self.folders:
            self.folders.stir()

    def dies(self, party: str) -> None:
        """A party's process died; it is started again from what is left."""
        self.mortality.dead = True
        self.unexpected += self.place.cut(party)
        self._open(party)

    def restart_coordinator(self) -> None:
        """Start the coordinator again from its store."""
        self.mortality.dead = False
        self.coordinator.open()

    def storm(self) -> None:
        """Turns in any order while faults happen."""
        chance = self.plan.random
        for _ in range(chance.randrange(10, self.plan.longest_storm * len(self.owners))):
            self.stir()
            self.disasters()
            if chance.random() < 0.3:
                self.work()
            else:
                self.act(chance.choice(sorted(self.owners)))
            if not self.present():
                return

    def act(self, name: str) -> bool:
        """One owner does something, or everything that it can; errors that are no sentence are violations."""
        if name == self.left:
            return False
        owner = self.owners[name]
        deeds = (owner.turn, owner.turn, owner.send, owner.fetch, owner.work)
        deed = owner.turn if self.weather.calm else self.plan.random.choice(deeds)
        try:
            return deed()
        except Crash:
            self.dies(name)
            return True
        except Forked:
            self.forked.add(name)
            return True
        except OutsideError:
            return False
        except InputError as error:
            self.unexpected.append(f"{name}: {error}")
        except (EngineError, OSError, ValueError, KeyError, AssertionError) as error:
            self.unexpected.append(f"{name}: {type(error).__name__}: {error}")
        return False

    def work(self) -> bool:
        """The coordinator does its work."""
        try:
            if self.plan.way == "folder" and self.folders:
                return self.folders.work()
            return self.coordinator.party.work(self.coordinator.study)
        except Crash:
            self.dies(COORDINATOR)
        except OutsideError:
            return True
        return True

    def disasters(self) -> None:
        """Backups are made now and then; where the weather says so they are restored, clocks jump, an owner leaves."""
        chance = self.plan.random
        for party in (*sorted(self.owners), COORDINATOR):
            if chance.random() < self.plan.backups:
                self.place.back_up(party)
                self._open(party)
            kind = "backup of coordinator" if party == COORDINATOR else "backup of owner"
            if self.weather.strikes(kind) and self.place.restore(party):
                self._open(party)
        if self.weather.strikes("clock jump"):
            self.place.clock.jump(chance.choice((-400 * DAY, -DAY, -90.0, 90.0, DAY)))
        if self.left is None and self.weather.strikes("owner leaves"):
            self.left = chance.choice(sorted(self.owners))

    def _open(self, party: str) -> None:
        if party == COORDINATOR:
            self.restart_coordinator()
        else:
            self.restart(party)

    def present(self) -> list[str]:
        """Owners that are still waiting for the truth."""
        return [name for name, owner in self.owners.items() if name != self.left and not owner.is_over()]

    def calm(self) -> bool:
        """Nothing goes wrong any more: start everybody again and take turns. False where the study is stuck."""
        self.weather.calm = True
        for name in self.owners:
            self.restart(name)
        self.forked.clear()
        idle = 0
        for _ in range(PATIENCE * len(self.owners) * (self.plan.agreement.rounds + 1)):
            self.stir()
            happened = [self.act(name) for name in sorted(self.owners)]
            happened.append(self.work())
            if not self.present() or self.forked:
                return True
            idle = 0 if any(happened) else idle + 1
            if idle:
                if self.left is not None and not self.coordinator.known().ended:
                    self.coordinator.close()
                elif idle > 6:  # a single idle turn may be that in which somebody died
                    return False
                self.rest()
        return False

    def rest(self) -> None:
        """Nobody can do anything: ten minutes pass, and everybody is started again."""
        self.place.clock.jump(600.0)
        for name in self.owners:
            self.restart(name)

    def behind(self) -> set[str]:
        """Owners that say that the coordinator has forgotten messages of its own, so that it has to be restored."""
        return {name for name in self.present() if self.owners[name].owner.is_ahead}


def run(
    seed: int,
    folder: Path | None = None,
    *,
    rates: dict[str, float] | None = None,
    crash_at: int = 0,
    owners: int | None = None,
    storm: bool = True,
    way: Way = "calls",
    power: bool = False,
) -> Verdict:
    """Play and judge one schedule: in memory, or with databases and files in a folder. `way`: over calls of functions,
    or with the product's own transport. `power`: whoever crashes loses what was not synced.
    """
    plan = Plan(seed, rates, crash_at, owners, files=folder is not None, way=way)
    weather = Weather(plan.random, plan.rates or {})
    with mortal(weather) as mortality, ExitStack() as stack:
        disk = Disk(folder, lambda: not mortality.dead) if folder is not None and power else None
        if disk:
            stack.enter_context(disk.recording())
        place: Place = InMemory() if folder is None else InFolders(folder, disk)
        study = Study(plan, place, weather, mortality, folder)
        if way == "http":
            stack.enter_context(study.wire.open())
        if storm:
            study.storm()
        finished = study.calm()
        try:
            violations = (*study.network.violations, *study.unexpected, *judged(study, finished))
            state = study.coordinator.known()
        finally:
            place.shut()
    return Verdict(seed, violations, weather.counts, weather.points, _end(study), len(study.owners), state.round)


def _end(study: Study) -> str:
    """Why the study ended. `history`: owners stopped it, or say that the coordinator has to be restored. Without an
    end: the coordinator was restored after every owner had the truth, so nobody speaks to it any more.
    """
    if study.forked or study.behind():
        return "history"
    return study.coordinator.known().ended or "restored after the end"


def judged(study: Study, finished: bool) -> list[str]:
    """What does not hold."""
    found: list[str] = []
    state, plan = study.coordinator.known(), study.plan
    restored = study.weather.counts["backup of coordinator"]
    if (study.forked or study.behind()) and not restored:
        found.append("an owner says that the coordinator was restored, and it was not")
    if not finished and not study.behind():
        waits = {name: study.owners[name].store.state().received for name in study.present()}
        found.append(
            f"stuck in round {state.round}: {next_steps.of_coordinator(plan.agreement, state)}, owners at {waits}"
        )
    if finished and not study.forked and not state.ended and not restored:
        found.append("the study is over for its owners and not for the coordinator")
    if not state.samples:
        return found
    most = (plan.agreement.rounds, plan.agreement.records_asked, plan.agreement.budget.most_yes)
    expected = play(state.samples, plan.says, *most, stop_after=len(state.settled))
    asked = [
        {(name, state.samples[name][i]) for name, places in one.asked.items() for i in places}
        for one in state.rounds
        if not one.void
    ]
    if asked[: len(expected.asked)] != expected.asked:
        found.append("other records were asked than the clear protocol asks")
    if state.ended in ("agreed", "rounds", "budget", "loose"):
        full = play(state.samples, plan.says, *most)
        if (state.ended, full.labels) != (full.reason, expected.labels):
            found.append(f"the study ended with {state.ended}, the clear protocol with {full.reason}")
    found += _judged_labels(study, expected.labels)
    for name, owner in study.owners.items():
        if owner.is_over() and not restored:
            found += _judged_owner(study, name, expected.labels) + _judged_scores(study, name)
    return found


def _told(study: Study, name: str, peer: str, *, first: bool) -> messages.Scored | None:
    """A score; asked for again where somebody died over it, which costs nothing."""
    try:
        return study.owners[name].score(peer, first=first)
    except Crash:
        study.dies(name)
    except Unreachable:
        pass
    return study.owners[name].score(peer, first=first)


def _judged_scores(study: Study, name: str) -> list[str]:
    """An owner has as many scores as agreed, and they are those of the labels."""
    agreement, found = study.plan.agreement, []
    labelled = study.coordinator.party.labels(study.coordinator.study)
    for peer in agreement.peers(name) if study.plan.scored and study.plan.way != "folder" else ():
        matrix = labelled[(min(name, peer), max(name, peer))]
        for number, first in enumerate((True, False), start=1):
            try:
                told = _told(study, name, peer, first=first)
            except (InputError, OverBudget):
                if number <= agreement.budget.scores:
                    found.append(f"{name} was refused a score that was agreed")
                continue
            pairs = predicted(matrix.shape[0], matrix.shape[1], first)
            right, named = labels.is_match(matrix) & pairs, labels.is_agreed(matrix) & pairs
            counts = [int(np.count_nonzero(one)) for one in (right, named, labels.is_match(matrix))]
            if told is None or number > agreement.budget.scores or counts != [told.right, told.labelled, told.matches]:
                found.append(f"a score of {name} is not that of the labels, or one too many")
    return found


def _judged_labels(study: Study, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    state, found = study.coordinator.known(), []
    labelled = study.coordinator.party.labels(study.coordinator.study)
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for first, second in study.plan.agreement.pairings:
        matrix = labelled[(first, second)]
        for i, j, label, number in labels.agreed_pairs(matrix):
            given[((first, state.samples[first][i]), (second, state.samples[second][j]))] = (label, number)
    if given != expected:
        found.append("the coordinator's labels are not those of the clear protocol")
    for number, one in enumerate(state.settled, start=1):
        counted = sum(tally.agreed for tally in one.tallies.values())
        if counted != sum(1 for _, of_round in given.values() if of_round == number):
            found.append(f"pairs of round {number} were counted twice or not at all")
    compared = [sum(tally.pairs + tally.loose for tally in one.tallies.values()) for one in state.settled]
    agreed = list(itertools.accumulate(sum(tally.agreed for tally in one.tallies.values()) for one in state.settled))
    everything = sum(len(state.samples[a]) * len(state.samples[b]) for a, b in study.plan.agreement.pairings)
    if compared != [everything - before for before in [0, *agreed][: len(compared)]]:
        found.append("a pair was compared again after it had been agreed")
    return found


def _judged_owner(study: Study, name: str, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    """An owner has what its agreement releases, at the right rows, and nothing else."""
    owner, release = study.owners[name], study.plan.agreement.release
    state = owner.store.state()
    assert state.truth is not None
    own_rows = state.sample.positions if state.sample else ()
    given: dict[tuple[Row, Row], bool] = {}
    for pairing in state.truth.pairings:
        own = [(name, row) for row in own_rows]
        other = [(pairing.peer, row) for row in pairing.positions]
        rows, columns = (own, other) if name < pairing.peer else (other, own)
        body = owner.store.bodies.read_all(pairing.labels)
        for i, j, label, number in labels.agreed_pairs(labels.from_bytes(body, len(rows), len(columns))):
            given[(rows[i], columns[j])] = label
            if number != labels.UNSAID:
                return [f"{name} was told the round of a pair"]
    wanted = {
        pair: label
        for pair, (label, _) in expected.items()
        if name in (pair[0][0], pair[1][0]) and (release == "labels" or (release == "matches" and label))
    }
    return [] if given == wanted else [f"what {name} got is not what the clear protocol releases"]
