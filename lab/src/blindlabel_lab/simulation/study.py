"""The parties of one schedule: what they do in the storm, how they die and are started again, and the calm after it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from blindlabel.engines.interface import EngineError
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import begin_study, own_identity
from blindlabel.protocol.agreement import to_text
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.refusals import Forked
from blindlabel.protocol.shape import COORDINATOR
from blindlabel_lab.simulation.carried import CarriedFolders
from blindlabel_lab.simulation.faults import Crash, Weather
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.parties import Mortality, SimulatedCoordinator, SimulatedLine, SimulatedOwner
from blindlabel_lab.simulation.places import Place
from blindlabel_lab.simulation.plan import Plan
from blindlabel_lab.simulation.wire import Wire

DAY = 86_400.0

PATIENCE = 60
"""Turns that a calm study may take for each owner and round."""


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
        invitations = CoordinatorParty(place.studies()).create(to_text(agreement)) if found else []
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
        """Nothing goes wrong any more: everybody takes turns as it runs, and nobody is started again. False where the
        study is stuck.
        """
        self.weather.calm = True
        self.mortality.dead = False
        self.forked.clear()
        idle = 0
        for _ in range(PATIENCE * len(self.owners) * (self.plan.agreement.rounds + 1)):
            self.stir()
            happened = [*map(self.act, sorted(self.owners)), self.work()]
            if not self.present() or self.forked:
                return True
            idle = 0 if any(happened) else idle + 1
            if idle:
                if self.left is not None and not self.coordinator.known().ended:
                    self.coordinator.close()
                elif idle > 6:  # a single idle turn may be that in which somebody died
                    return False
                self.place.clock.jump(600.0)  # nobody can do anything: ten minutes pass
        return False

    def behind(self) -> set[str]:
        """Owners that say that the coordinator has forgotten messages of its own, so that it has to be restored."""
        return {name for name in self.present() if self.owners[name].owner.is_ahead}
