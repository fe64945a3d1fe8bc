"""A schedule with the parties that users run: the same storm, the same judge, over real databases and files in a
folder.

Labels are judged by the plain interpreter over the tables, through the clear protocol of `reference`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from blindlabel.engines.interface import EngineError
from blindlabel.envelope.identity import sign_for
from blindlabel.errors import InputError, OutsideError
from blindlabel.language import Question, Record, interpret
from blindlabel.parties.coordinator import Coordinator
from blindlabel.parties.joining import own_identity
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, labels
from blindlabel.protocol.agreement_text import to_text
from blindlabel_lab.simulation.faults import KINDS, Crash, Weather, chosen_rates
from blindlabel_lab.simulation.network import Network
from blindlabel_lab.simulation.real_parties import (
    Backup,
    Clock,
    Mortality,
    RealCoordinator,
    RealOwner,
    joined,
    mortal,
    question,
    write_table,
)
from blindlabel_lab.simulation.reference import Row, play
from blindlabel_lab.simulation.schedule import Plan, Study, Verdict

DAY = 86_400.0


class RealPlan(Plan):
    """The same plan, under an agreement that the plain engine can carry out."""

    def __post_init__(self) -> None:
        given = self.rates
        super().__post_init__()
        self.rates = given if given is not None else chosen_rates(self.random, KINDS)
        self.rates.pop("unreadable answers", None)  # the plain engine writes no such answers
        values = self.agreement.model_dump(mode="json")
        values["encoding"] |= {"engine": "plain", "record_length": 60}
        self.agreement = agreements.from_text(to_text(agreements.Agreement.model_validate_json(_json(values))))


def _json(values: dict[str, Any]) -> str:
    import json  # noqa: PLC0415

    return json.dumps(values)


class RealStudy(Study):
    """The parties of one schedule, with files under a folder."""

    longest_storm = 12

    def __init__(self, plan: RealPlan, folder: Path, mortality: Mortality, weather: Weather) -> None:
        self.plan = plan
        self.weather = weather
        self.mortality = mortality
        self.clock = Clock()
        self.left = None
        self.forked = set()
        agreement = plan.agreement
        weather.calm = True
        founding = Coordinator(folder / "coordinator")
        invitations = founding.create(to_text(agreement))
        founding.store.database.close()
        self.real = RealCoordinator(folder / "coordinator", agreement.hash, self.clock)
        self.network = Network(lambda: self.real, weather, {}, self.restart_coordinator)
        self.texts: dict[str, list[str]] = {}
        self.real_owners: dict[str, RealOwner] = {}
        for invitation in invitations:
            name = invitation.owner
            table = folder / f"{name}.csv"
            self.texts[name] = write_table(table, plan.rows[name], plan.random)
            joined(folder / name, invitation, table)
            self.real_owners[name] = RealOwner(folder / name, self.network)
            identity = own_identity(self.real_owners[name].workspace)
            self.network.signers[name] = lambda data, identity=identity: sign_for(identity, b"", data)  # type: ignore[misc]
        self.owners = self.real_owners  # type: ignore[assignment]
        self.coordinator = self.real  # type: ignore[assignment]
        self.backups = {name: Backup(folder / name) for name in (*agreement.owners, "coordinator")}
        self.unexpected: list[str] = []
        weather.begin(plan.crash_at)

    def restart(self, name: str, *, crashed: bool = False) -> None:
        """Start an owner again from its files."""
        if crashed:
            self.mortality.dead = False
        old = self.real_owners[name]
        old.shut()
        self.real_owners[name] = RealOwner(old.folder, self.network)

    def restart_coordinator(self) -> None:
        """Start the coordinator again from its files."""
        self.mortality.dead = False
        self.real.shut()
        self.real.open()

    def act(self, name: str) -> bool:
        """One owner does something; errors that are no sentence for a person are violations."""
        try:
            return super().act(name)
        except InputError as error:
            self.unexpected.append(f"{name}: {error}")
        except (EngineError, OSError, ValueError, KeyError, AssertionError) as error:
            self.unexpected.append(f"{name}: {type(error).__name__}: {error}")
        return False

    def work(self) -> bool:
        """The coordinator does all of its work."""
        try:
            return self.real.party.work(self.real.study)
        except Crash:
            self.restart_coordinator()
        except OutsideError:
            return True
        return True

    def disasters(self) -> None:
        """Backups, restored backups, jumping clocks, an owner that leaves."""
        chance = self.plan.random
        for name, backup in self.backups.items():
            if chance.random() < 0.03:
                self._shut(name)
                backup.make()
                self._open(name)
            kind = "backup of coordinator" if name == "coordinator" else "backup of owner"
            if self.weather.strikes(kind):
                self._shut(name)
                backup.restore()
                self._open(name)
        if self.weather.strikes("clock jump"):
            self.clock.jump(chance.choice((-400 * DAY, -DAY, -90.0, 90.0, DAY)))
        if self.left is None and self.weather.strikes("owner leaves"):
            self.left = chance.choice(sorted(self.real_owners))

    def rest(self) -> None:
        """Ten minutes pass, and everybody is started again."""
        self.clock.jump(600.0)
        super().rest()

    def _shut(self, name: str) -> None:
        (self.real if name == "coordinator" else self.real_owners[name]).shut()

    def _open(self, name: str) -> None:
        if name == "coordinator":
            self.real.open()
        else:
            self.restart(name)

    def shut(self) -> None:
        """End all processes."""
        for name in self.backups:
            self._shut(name)

    def says(self, mine: Row, other: Row, round: int) -> bool:
        """What the clear protocol answers: the question about the own row, interpreted on the other row."""
        source = question(self.texts[mine[0]][mine[1]], round, mine[0])
        text = self.texts[other[0]][other[1]]
        return interpret(Question(source, attributes=("name",)).tree, Record({"name": text}, text))


def run_real(
    seed: int,
    folder: Path,
    *,
    rates: dict[str, float] | None = None,
    crash_at: int = 0,
    owners: int | None = None,
    storm: bool = True,
) -> Verdict:
    """Play and judge one schedule with real parties."""
    plan = RealPlan(seed, rates, crash_at, owners)
    weather = Weather(plan.random, plan.rates or {})
    with mortal(weather) as mortality:
        study = RealStudy(plan, folder, mortality, weather)
        if storm:
            study.storm()
        finished = study.calm()
        try:
            violations = (*study.network.violations, *study.unexpected, *judged_real(study, finished))
            state = study.real.known()
        finally:
            study.shut()
    # Without an end: the coordinator was restored from a backup after every owner had the truth, so nobody speaks to it
    # any more.
    end = "history" if study.forked else state.ended or "restored after the end"
    return Verdict(seed, violations, weather.counts, weather.points, end, len(study.owners), state.round)


def judged_real(study: RealStudy, finished: bool) -> list[str]:
    """What does not hold."""
    state, plan, found = study.real.known(), study.plan, []
    restored = study.weather.counts["backup of coordinator"]
    if study.forked and not restored:
        found.append("an owner says that the coordinator was restored, and it was not")
    if not finished:
        waits = {name: study.real_owners[name].workspace.state().received for name in study.present()}
        found.append(f"stuck in round {state.round}: {facts.awaited(plan.agreement, state)}, owners at {waits}")
    if finished and not study.forked and not state.ended and not restored:
        found.append("the study is over for its owners and not for the coordinator")
    if not state.samples:
        return found
    settled = sum(1 for one in state.rounds if one.tallies)
    expected = play(state.samples, study.says, plan.agreement.rounds, plan.agreement.records_asked, settled).labels
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for (first, second), matrix in study.real.party.labels(plan.agreement.hash).items():
        for i, j, label, number in labels.agreed_pairs(matrix):
            given[((first, state.samples[first][i]), (second, state.samples[second][j]))] = (label, number)
    if given != expected:
        found.append("the coordinator's labels are not those of the clear protocol")
    agreed = sum(tally.agreed for one in state.rounds for tally in one.tallies.values())
    if agreed != len(given):
        found.append("pairs were counted twice or not at all")
    for name, owner in study.real_owners.items():
        if owner.is_over() and not restored:
            found += _judged_owner(study, name, expected)
    return found


def _judged_owner(study: RealStudy, name: str, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    workspace = study.real_owners[name].workspace
    state = workspace.state()
    assert state.truth is not None
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    positions = {pairing.peer: pairing.positions for pairing in state.truth.pairings}
    for peer, matrix in workspace.labels().items():
        assert state.sample is not None
        for i, j, label, number in labels.agreed_pairs(matrix):
            pair = sorted(((name, state.sample.positions[i]), (peer, positions[peer][j])))
            given[(pair[0], pair[1])] = (label, number)
    wanted = {pair: label for pair, label in expected.items() if name in (pair[0][0], pair[1][0])}
    return [] if given == wanted else [f"the labels that {name} got are not those of the clear protocol"]
