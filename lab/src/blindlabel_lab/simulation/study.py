"""The parties of one schedule, as they run: `owner run` of every owner, the coordinator's own work beside its server or
over the folder, and people who do what they are told. How they die and are started again, and the calm after the storm.

Every party is a process of the simulated world. `act` and `work` take single turns instead, for tests that need to know
who is next.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from blindlabel.engines.interface import EngineError
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import begin_study, own_identity
from blindlabel.parties.owner import run
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.refusals import Forked
from blindlabel.protocol.shape import COORDINATOR
from blindlabel.storage.journal_points import Point
from blindlabel.transport.background import PAUSE, Background
from blindlabel_lab.simulation.carried import CarriedFolders
from blindlabel_lab.simulation.faults import Crash, Weather, WriteFails
from blindlabel_lab.simulation.network import Network, SimulatedCoordinator
from blindlabel_lab.simulation.parties import Mortality, SimulatedLine, SimulatedOwner
from blindlabel_lab.simulation.places import Place
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.truth import View, false_of_coordinator, false_of_owner
from blindlabel_lab.simulation.wire import FAULTS, Wire
from blindlabel_lab.simulation.world import Process, World

DAY = 86_400.0
LOOKS = 5.0
"""Seconds between two looks of what acts by itself: networks, carriers, disasters."""
OUTLIVES = 120.0
"""Seconds for which the others go on when somebody has stopped with a sentence."""
LONGEST_REST = 900.0
"""Seconds after which a calm study in which nothing changes is stuck."""
SECOND = "coordinator again"
"""A second process of the coordinator over the same database."""


def _same(line: Line, _store: Store) -> Line:
    return line


class _Threaded(Background):
    """The coordinator's own work; sometimes no thread can be started for it."""

    def __init__(self, party: CoordinatorParty, weather: Weather, world: World) -> None:
        super().__init__(party, clock=world.clock)
        self._weather = weather

    def work(self, study: str) -> bool:
        """Do what can be done for a study now."""
        if self._weather.strikes("no threads"):
            raise RuntimeError("can't start new thread")
        return super().work(study)


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
        self.world = World()
        self.place.clock.right = self.world.clock
        self.left: str | None = None
        self.forked: set[str] = set()
        self.unexpected: list[str] = []
        self.said: dict[str, str] = {}
        """What every owner's process said last."""
        self.running: dict[str, Process] = {}
        self._away_until = 0.0
        agreement = plan.agreement
        address = "folder:stick" if plan.way == "folder" else ""
        weather.calm = True  # founding a study is not what is tested
        invitations = CoordinatorParty(place.studies()).create(to_text(agreement), address) if found else []
        self.coordinator = SimulatedCoordinator(place, agreement.hash, weather)
        dies = partial(self.dies, COORDINATOR)
        self.network = Network(
            lambda: self.coordinator, weather, {}, dies, world=self.world, away=self.away, came=self._news
        )
        self.wire = Wire(lambda: self.coordinator.party, weather, dies, self.world, self.away)
        self.folders = (
            CarriedFolders(root, lambda: self.coordinator.party, weather, shared=plan.shared) if root else None
        )
        self.owners: dict[str, SimulatedOwner] = {}
        for invitation in invitations:
            begin_study(place.new_store(invitation.owner), invitation, plan.tables[invitation.owner], {})
        for name in plan.tables:
            self.restart(name)
            identity = own_identity(self.owners[name].store)
            self.network.signers[name] = partial(sign_for, identity, b"")
        mortality.looks_on = self._stops
        weather.begin(plan.crash_at)

    def restart(self, name: str) -> None:
        """Start an owner again from its store."""
        self.mortality.dead = False
        self.owners[name] = SimulatedOwner(self.place, name, self.plan.tables[name], self.weather, self.connect)

    def connect(self, store: Store, machine: str = "") -> Line:
        """An owner's line, the way that the plan says."""
        if self.plan.way == "http":
            return self.wire.line(store)
        if self.plan.way == "folder" and self.folders:
            return self.folders.line(store, machine)
        return SimulatedLine(self.network, store.name, store.life())

    def stir(self) -> None:
        """Let what is between the parties act by itself."""
        self.network.stir()
        self.wire.stir()
        if self.folders:
            self.folders.stir()

    def dies(self, party: str) -> None:
        """A party's machine died; it is started again from what is left."""
        self.mortality.dead = True
        if party == COORDINATOR:
            self._away_until = self.world.now + (0.0 if self.weather.calm else self.plan.random.uniform(0.0, 90.0))
        self.unexpected += self.place.cut(party)
        self._open(party)

    def restart_coordinator(self) -> None:
        """Start the coordinator again from its store."""
        self.mortality.dead = False
        self.coordinator.open()
        self.wire.reset()
        if self.plan.way == "folder" and COORDINATOR in self.running:
            self.world.kill(self.running[COORDINATOR])

    def away(self) -> float:
        """Seconds for which the coordinator does not answer."""
        return self._away_until - self.world.now

    # Turns one at a time

    def act(self, name: str) -> bool:
        """One owner does everything that it can; errors that are no sentence are violations."""
        self.world.now += 1.0
        try:
            return self.owners[name].turn()
        except Crash:
            self.dies(name)
            return True
        except Forked:
            self.forked.add(name)
            return True
        except OutsideError:
            return False

    def work(self) -> bool:
        """The coordinator does its work."""
        self.world.now += 1.0
        return self.coordinator.party.work(self.coordinator.study)

    # Processes

    def _start_all(self) -> None:
        """Everybody runs who does not."""
        lives: dict[str, Callable[[], None]] = {COORDINATOR: self._serves, "carrier": self._stirs}
        lives |= {f"run {name}": partial(self.runs, name) for name in self.owners if name != self.left}
        lives |= {f"person {name}": partial(self._obeys, name) for name in self.owners if name != self.left}
        if self.plan.second:
            lives[SECOND] = self._works_beside
        for name, work in lives.items():
            if name not in self.running or self.running[name].is_over:
                self.running[name] = self.world.start(name, work, self.plan.random.uniform(0.0, 3.0))

    def runs(self, name: str, again: Store | None = None) -> None:
        """`owner run`, and again where it ended before the study; people and machines start it again."""
        pause = 0.0
        while name != self.left:
            try:
                self.world.sleep(pause)
                if pause and again is None:
                    self.restart(name)
                pause = self.plan.random.uniform(1.0, 60.0)
                if again is not None:
                    line = self.connect(again, f"{name} again")
                    table, place = self.plan.tables[name], self.place
                    owner = SimulatedOwner(place, name, table, self.weather, partial(_same, line), again)
                else:
                    owner = self.owners[name]
                if run(owner.owner, None, once=False, tell=partial(self._tells, name, again is None)):
                    return
            except Crash:
                process = self.world.current
                if process is None or process is not self.running.get(f"run {name}"):
                    return
                if not process.doomed:
                    self.dies(name)
                process.doomed = False  # its machine is started again
            except Forked:
                self.forked.add(name)
                return
            except OutsideError as error:
                if self.weather.calm or self.weather.rates.keys() <= {*FAULTS}:
                    self.unexpected.append(f"owner run of {name} ended, and a retry could go on: {error}")
            except (InputError, EngineError, OSError, RuntimeError, ValueError, KeyError, AssertionError) as error:
                self.unexpected.append(f"{name}: {type(error).__name__}: {error}")

    def _tells(self, name: str, is_first: bool, sentence: str) -> None:
        """What an owner's process tells its people; in that moment everybody's sentences are true."""
        if is_first:
            self.said[name] = sentence
            view = self.view()
            found = false_of_coordinator(view)
            if sentence == " ".join(step.sentence for step in self.owners[name].owner.next_steps()):
                found += false_of_owner(view, name)
            self.unexpected += [one for one in found if one not in self.unexpected]

    def _obeys(self, name: str) -> None:
        """A person looks now and then what there is to do, and does it."""
        while name != self.left:
            chance = self.plan.random
            self.world.sleep(chance.uniform(0.5, 60.0) if chance.random() < 0.1 else chance.uniform(0.5, 4.0))
            try:
                while self.owners[name].obey():
                    self.world.sleep(0.5)
            except Crash:
                if self.running[f"person {name}"].doomed:
                    return
                self.dies(name)  # the whole machine
                self.world.kill(self.running[f"run {name}"])
            except OutsideError:
                continue
            except (InputError, OSError, RuntimeError, ValueError, KeyError, AssertionError) as error:
                self.unexpected.append(f"the person of {name}: {type(error).__name__}: {error}")

    def _serves(self) -> None:
        """The coordinator's own work: beside its server, or over the folder."""
        while True:
            party = self.coordinator.party
            try:
                self.world.sleep(max(0.0, self.away()))
                if self.plan.way == "folder" and self.folders:
                    self.folders.server().serve(once=False)
                background = _Threaded(party, self.weather, self.world)
                while party is self.coordinator.party:
                    background.turn()
                    self.world.sleep(max(PAUSE, self.away()))
            except Crash:
                if self.running[COORDINATOR].doomed:
                    self.running[COORDINATOR].doomed = False
                else:
                    self.dies(COORDINATOR)

    def _news(self) -> None:
        if COORDINATOR in self.running and self.away() <= 0:
            self.world.wake(self.running[COORDINATOR])

    def _works_beside(self) -> None:
        """A second process of the coordinator works over the same database, and is stopped in the middle of it."""
        while True:
            self.world.sleep(PAUSE)
            first = self.coordinator.party
            try:
                beside = CoordinatorParty(self.place.studies(SECOND), draw=self.plan.random.randrange)
                while self.coordinator.party is first:
                    beside.work(self.coordinator.study)
                    self.world.sleep(PAUSE)
            except Crash:
                self.mortality.dead = False
            except OutsideError:
                continue

    def _stops(self, what: Point) -> None:
        """A process of the coordinator is stopped where it is about to write, while another does the same."""
        current = self.world.current
        beside = what in (Point.BEFORE_RENAME, Point.AFTER_RENAME) and current is self.running.get(SECOND)
        if beside and current is not None and self.weather.strikes("stopped"):
            self.world.sleep(self.plan.random.uniform(20.0, 120.0))

    def _stirs(self) -> None:
        """What is between the parties acts by itself; disasters happen."""
        while True:
            self.world.sleep(self.plan.random.uniform(0.2, 2 * LOOKS))
            if not self.weather.calm:
                self.disasters()
            try:
                self.stir()
            except Crash:
                self.dies(COORDINATOR)

    def disasters(self) -> None:
        """Backups are made now and then; where the weather says so they are restored, beside whoever lives; or run as
        a second life. Processes are stopped, clocks jump, an owner leaves.
        """
        chance = self.plan.random
        for party in (*sorted(self.owners), COORDINATOR):
            if chance.random() < self.plan.backups:
                self.place.back_up(party)
            kind = "backup of coordinator" if party == COORDINATOR else "backup of owner"
            if self.weather.strikes(kind):
                self.moved(party, partial(self.place.restore, party))
                if party == COORDINATOR and chance.random() < 0.3:  # one operator keeps backups of both
                    other = chance.choice(sorted(self.owners))
                    self.moved(other, partial(self.place.restore, other))
        if self.weather.strikes("clock jump"):
            self.place.clock.jump(chance.choice((-400 * DAY, -DAY, -90.0, 90.0, DAY)))
        if self.left is None and self.weather.strikes("owner leaves"):
            self.left = chance.choice(sorted(self.owners))
        if self.weather.strikes("stopped"):
            name = chance.choice([*sorted(self.owners), COORDINATOR])
            seconds = chance.uniform(5.0, 200.0)
            if name == COORDINATOR:
                self._away_until = self.world.now + seconds
            key = name if name == COORDINATOR else f"run {name}"
            if key in self.running:
                self.world.stop(self.running[key], seconds)
        if self.weather.strikes("two lives"):
            self._clones(chance.choice(sorted(self.owners)))

    def _clones(self, name: str) -> None:
        """A backup of an owner is restored on another machine while the first one runs; some time later one of the two
        is stopped.
        """
        key = f"run {name} again"
        if name == self.left or key in self.running or (store := self.place.second(name)) is None:
            return
        self.running[key] = self.world.start(key, partial(self.runs, name, store))

        def stops_one() -> None:
            self.world.sleep(self.plan.random.uniform(10.0, 300.0))
            self.world.kill(self.running.pop(key))
            self.world.sleep(0.0)
            if name != self.left and self.plan.random.random() < 0.5:
                self.moved(name, lambda: self.place.second(name, keep=True) is not None)

        self.world.start(f"{key} for a while", stops_one)

    def moved(self, party: str, deed: object) -> None:
        """Do something to a party's files; whoever has them open is started again."""
        assert callable(deed)
        if party == COORDINATOR:
            if deed():
                self.restart_coordinator()
            return
        process = self.running.pop(f"run {party}", None)
        if process is not None and not process.is_over:
            self.world.kill(process)
            self.world.sleep(0.0)
        deed()
        self._open(party)
        if process is not None:
            self.running[f"run {party}"] = self.world.start(f"run {party}", partial(self.runs, party), 1.0)

    def _open(self, party: str) -> None:
        if party == COORDINATOR:
            self.restart_coordinator()
            return
        while True:  # it may die while it starts, or not get what it needs for that
            try:
                return self.restart(party)
            except Crash:
                self.unexpected += self.place.cut(party)
            except WriteFails:
                continue

    def present(self) -> list[str]:
        """Owners that are still waiting for the truth."""
        return [name for name, owner in self.owners.items() if name != self.left and not owner.is_over()]

    # Storm and calm

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """Processes live meanwhile."""
        with ExitStack() as stack:
            stack.enter_context(self.world.instead())
            pauses = {"parties.owner.LOOK": 1.5, "parties.owner.WAIT": 8.0, "transport.folder._POLL": 1.5}
            for constant, seconds in pauses.items():  # simulated polls cost real time
                stack.enter_context(patch(f"blindlabel.{constant}", seconds))
            for log in ("server", "folder"):  # it writes down every failure that it survives
                stack.enter_context(patch.object(logging.getLogger(f"blindlabel.{log}"), "disabled", True))
            if self.folders:
                stack.enter_context(self.folders.aging(self.world))
            self._start_all()
            yield

    def storm(self, seconds: float | None = None) -> None:
        """Some time, or some minutes, while faults happen."""
        with self._playing():
            seconds = seconds or self.plan.random.uniform(20.0, self.plan.longest_storm)
            self.world.play(lambda: not self.present(), seconds)

    def kill(self, party: str) -> None:
        """A process of a party dies where it sleeps, and is started again."""
        self.world.kill(self.running[COORDINATOR if party == COORDINATOR else f"run {party}"])

    def calm(self) -> bool:
        """Nothing goes wrong any more: everybody goes on as it runs, and nobody who runs is started again. False where
        the study is stuck.
        """
        self.weather.calm = True
        self.mortality.dead = False
        self._away_until = 0.0
        self.forked.clear()
        with self._playing():
            rested = 0.0
            while rested < LONGEST_REST:
                before = self._states()
                if self.world.play(lambda: not self.present() or bool(self.forked), LONGEST_REST / 3):
                    if self.forked:
                        self.world.play(lambda: not self.present(), OUTLIVES)
                        self._judge_at_rest(self.forked)
                    return True
                self._judge_at_rest()
                rested = 0.0 if self._states() != before else rested + LONGEST_REST / 3
                if rested and self.left is not None and not self.coordinator.known().ended:
                    self.coordinator.close()
                    rested = 0.0
        return False

    def _judge_at_rest(self, stopped: Collection[str] = ()) -> None:
        """Nobody has said anything new for long; what all say is still so. `stopped`: those that ended with a sentence,
        and run no more.
        """
        view = self.view(stopped)
        for name in sorted({*self.present()} - {*stopped}):
            self.unexpected += false_of_owner(view, name)
        self.unexpected += false_of_coordinator(view)

    def end(self) -> None:
        """Nobody runs any more."""
        self.mortality.dead = True
        self.world.end()
        self.mortality.dead = False

    def _states(self) -> list[object]:
        return [self.coordinator.known(), *(self.owners[name].store.state() for name in sorted(self.owners))]

    def behind(self) -> set[str]:
        """Owners that say that the coordinator has forgotten messages of its own, so that it has to be restored."""
        return {name for name in self.present() if self.owners[name].owner.is_ahead}

    def view(self, stopped: Collection[str] = ()) -> View:
        """Everything that there is to know."""
        state, party, study = self.coordinator.known(), self.coordinator.party, self.coordinator.study
        return View(
            self.plan.agreement,
            state,
            {name: one.owner for name, one in self.owners.items()},
            party.ahead(study, state),
            {todo.kind for todo in party.todo(study)},
            party.next_steps(study, state),
            stopped,
        )
