"""One schedule: a study with its parties and its weather, all from one seed, played to the end and judged.

First everything goes wrong that the weather brings; then it calms down, every party is started again, and what is left
must be solved by turns alone. The verdict is a list of violations, empty where all promises held:

- the labels at the coordinator and at every owner are those of the clear protocol (`reference`), at the right rows;
- no pair is counted twice, and none is labelled without two equal answers;
- nothing is stuck that a retry can solve;
- forged, stale and damaged messages change nothing;
- a coordinator that was restored from a backup either goes on exactly as before, or every owner that would notice stops
  with a sentence.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field

import nacl.signing

from blindlabel.errors import OutsideError
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol import facts, labels
from blindlabel.protocol.agreement import Agreement
from blindlabel.protocol.errors import Forked
from blindlabel_lab.simulation.core_parties import CoreCoordinator, CoreOwner, join_step, new_owner_state
from blindlabel_lab.simulation.disk import Disk
from blindlabel_lab.simulation.faults import KINDS, Crash, Weather, chosen_rates
from blindlabel_lab.simulation.network import Network, Signer
from blindlabel_lab.simulation.reference import Row, Says, play

NAMES = ("anna", "berta", "clara", "dora", "emma")
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


@dataclass
class Plan:
    """What a seed stands for."""

    seed: int
    rates: dict[str, float] | None = None
    crash_at: int = 0
    owners: int | None = None
    random: random.Random = field(init=False)
    agreement: Agreement = field(init=False)
    rows: dict[str, int] = field(init=False)
    noise: int = field(init=False)

    def __post_init__(self) -> None:
        chance = self.random = random.Random(self.seed)  # noqa: S311 (a schedule, no secret)
        names = NAMES[: self.owners or chance.choice((2, 2, 2, 3, 3, 4, 5))]
        method = chance.choice(("uniform", "uniform", "rows", "enriched"))
        wanted = chance.randrange(2, 5)
        self.rows = {name: chance.randrange(wanted, 8) for name in names}
        sampling: dict[str, object] = {"records": wanted, "method": method}
        if method == "rows":
            sampling["rows"] = {name: chance.sample(range(rows), wanted) for name, rows in self.rows.items()}
        elif method == "enriched":
            sampling["blocking"] = ["name"]
        rounds = chance.randrange(1, 5)
        budget = {"records_asked": chance.randrange(wanted, wanted * rounds + 1)} if chance.random() < 0.2 else {}
        salt = hashlib.blake2b(str(self.seed).encode(), digest_size=16).hexdigest()
        self.agreement = agreements.new(
            "simulated", names, ["name"], rounds=rounds, sampling=sampling, budget=budget, salt=salt
        )
        self.noise = chance.choice((0, 2, 3, 5))
        if self.rates is None:
            self.rates = chosen_rates(chance, set(KINDS) - {"clock jump"})

    def says(self, mine: Row, other: Row, round: int) -> bool:
        """What an owner answers: the truth of the pair, sometimes wrong."""
        truth = _chance(self.seed, sorted((mine, other))) % 3 == 0
        wrong = self.noise and _chance(self.seed, (mine, other, round)) % self.noise == 0
        return truth != bool(wrong)


def _chance(seed: int, what: object) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {what}".encode(), digest_size=4).digest(), "big")


class Study:
    """The parties of one schedule."""

    longest_storm = 60
    """Steps for each owner."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.weather = Weather(plan.random, plan.rates or {})
        self.weather.calm = True  # founding a study is not what is tested
        agreement = plan.agreement
        keys = {name: _key(plan.random) for name in (*agreement.owners, "coordinator")}
        invitations = {name: _key(plan.random) for name in agreement.owners}
        self.network = Network(
            lambda: self.coordinator, self.weather, {name: _signer(keys[name]) for name in agreement.owners}
        )
        public = {name: bytes(key.verify_key).hex() for name, key in invitations.items()}
        disk = Disk(facts.new_state(agreement, public), self.weather)
        self.coordinator = CoreCoordinator(agreement, disk, keys["coordinator"], self.weather)
        self.keys = keys
        self.owners: dict[str, CoreOwner] = {}
        for name in agreement.owners:
            state = new_owner_state(agreement, name, keys["coordinator"])
            self.owners[name] = CoreOwner(agreement, Disk(state, self.weather), keys[name], self.network, plan.says)
            self.owners[name].keep(join_step(state, keys[name], invitations[name], plan.rows[name]))
        self.weather.begin(plan.crash_at)
        self.left: str | None = None
        self.forked: set[str] = set()

    def restart(self, name: str, *, crashed: bool = False) -> None:  # noqa: ARG002 (for the parties with files)
        """Start an owner again from its disk."""
        old = self.owners[name]
        self.owners[name] = CoreOwner(self.plan.agreement, old.disk, self.keys[name], self.network, self.plan.says)

    def storm(self) -> None:
        """Turns in any order while faults happen."""
        chance = self.plan.random
        for _ in range(chance.randrange(10, self.longest_storm * len(self.owners))):
            self.network.stir()
            self.disasters()
            if chance.random() < 0.3:
                self.work()
            else:
                self.act(chance.choice(sorted(self.owners)))
            if not self.present():
                return

    def act(self, name: str) -> bool:
        """One owner does something, or everything that it can."""
        if name == self.left:
            return False
        owner = self.owners[name]
        deed = (
            self.plan.random.choice((owner.turn, owner.turn, owner.send, owner.fetch, owner.work))
            if not self.weather.calm
            else owner.turn
        )
        try:
            return deed()
        except Crash:
            self.restart(name, crashed=True)
        except Forked:
            self.forked.add(name)
        except OutsideError:
            return False
        return True

    def work(self) -> bool:
        """The coordinator does one piece of its work."""
        try:
            return self.coordinator.work()
        except (Crash, OutsideError):
            return True

    def disasters(self) -> None:
        """Backups are made now and then; where the weather says so they are restored, or an owner leaves for good."""
        chance = self.plan.random
        if chance.random() < 0.1:
            self.coordinator.disk.back_up()
        for name, owner in self.owners.items():
            if chance.random() < 0.1:
                owner.disk.back_up()
            if self.weather.strikes("backup of owner") and owner.disk.restore():
                self.restart(name)
        if self.weather.strikes("backup of coordinator"):
            self.coordinator.disk.restore()
        if self.left is None and self.weather.strikes("owner leaves"):
            self.left = chance.choice(sorted(self.owners))

    def present(self) -> list[str]:
        """Owners that are still waiting for the truth."""
        return [name for name, owner in self.owners.items() if name != self.left and not owner.is_over()]

    def calm(self) -> bool:
        """Nothing goes wrong any more: start everybody again and take turns. False where the study is stuck."""
        self.weather.calm = True
        for name in self.owners:
            self.restart(name)
        self.forked.clear()
        for turn in range(PATIENCE * len(self.owners) * (self.plan.agreement.rounds + 1)):
            happened = [self.act(name) for name in sorted(self.owners)]
            happened += [self.work() for _ in range(len(self.owners) * len(self.owners))]
            if not self.present() or self.forked:
                return True
            if not any(happened):
                if self.left is not None and not self.coordinator.known().ended:
                    self.coordinator.close()
                elif turn > 6:
                    return False
                self.rest()
        return False

    def rest(self) -> None:
        """Nobody can do anything: time passes, and everybody is started again."""
        for name in self.owners:
            self.restart(name)


def run(seed: int, *, rates: dict[str, float] | None = None, crash_at: int = 0, owners: int | None = None) -> Verdict:
    """Play and judge one schedule."""
    plan = Plan(seed, rates, crash_at, owners)
    study = Study(plan)
    study.storm()
    finished = study.calm()
    violations = [*study.network.violations, *judged(study, finished)]
    state = study.coordinator.disk.state
    # Without an end: the coordinator was restored from a backup after every owner had the truth, so nobody speaks to it
    # any more.
    end = "history" if study.forked else state.ended or "restored after the end"
    faults = study.weather.counts
    return Verdict(seed, tuple(violations), faults, study.weather.points, end, len(study.owners), state.round)


def judged(study: Study, finished: bool) -> list[str]:
    """What does not hold."""
    found: list[str] = []
    state, plan = study.coordinator.disk.state, study.plan
    restored = study.weather.counts["backup of coordinator"]
    if study.forked and not restored:
        found.append("an owner says that the coordinator was restored, and it was not")
    if not finished:
        waits = {name: study.owners[name].disk.state.received for name in study.present()}
        found.append(f"stuck in round {state.round}: {facts.awaited(plan.agreement, state)}, owners at {waits}")
    if finished and not study.forked and not state.ended and not restored:
        found.append("the study is over for its owners and not for the coordinator")
    if not state.samples:
        return found
    settled = sum(1 for one in state.rounds if one.tallies)
    expected = play(state.samples, plan.says, plan.agreement.rounds, plan.agreement.records_asked, settled)
    asked = [
        {(name, state.samples[name][i]) for name, places in one.asked.items() for i in places} for one in state.rounds
    ]
    if asked[: len(expected.asked)] != expected.asked:
        found.append("other records were asked than the clear protocol asks")
    if state.ended in ("agreed", "rounds", "budget"):
        full = play(state.samples, plan.says, plan.agreement.rounds, plan.agreement.records_asked)
        if (state.ended, full.labels) != (full.reason, expected.labels):
            found.append(f"the study ended with {state.ended}, the clear protocol with {full.reason}")
    found += _judged_labels(study, expected.labels)
    for name, owner in study.owners.items():
        if owner.is_over() and not restored:
            found += _judged_owner(study, name, expected.labels)
    return found


def _judged_labels(study: Study, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    state, found = study.coordinator.disk.state, []
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for first, second in study.plan.agreement.pairings:
        matrix = study.coordinator.labels()[facts.key_of(first, second)]
        for i, j, label, number in labels.agreed_pairs(matrix):
            given[((first, state.samples[first][i]), (second, state.samples[second][j]))] = (label, number)
    if given != expected:
        found.append("the coordinator's labels are not those of the clear protocol")
    for number, one in enumerate(state.rounds, start=1):
        counted = sum(tally.agreed for tally in one.tallies.values())
        if counted != sum(1 for _, of_round in given.values() if of_round == number):
            found.append(f"pairs of round {number} were counted twice or not at all")
    compared = [sum(tally.pairs for tally in one.tallies.values()) for one in state.rounds if one.tallies]
    agreed = list(
        itertools.accumulate(sum(tally.agreed for tally in one.tallies.values()) for one in state.rounds if one.tallies)
    )
    everything = sum(len(state.samples[a]) * len(state.samples[b]) for a, b in study.plan.agreement.pairings)
    if compared != [everything - before for before in [0, *agreed][: len(compared)]]:
        found.append("a pair was compared again after it had been agreed")
    return found


def _judged_owner(study: Study, name: str, expected: dict[tuple[Row, Row], tuple[bool, int]]) -> list[str]:
    owner = study.owners[name]
    state = owner.disk.state
    assert state.truth is not None
    own_rows = state.sample.positions if state.sample else ()
    given: dict[tuple[Row, Row], tuple[bool, int]] = {}
    for pairing in state.truth.pairings:
        own = [(name, row) for row in own_rows]
        other = [(pairing.peer, row) for row in pairing.positions]
        rows, columns = (own, other) if name < pairing.peer else (other, own)
        body = owner.disk.body(pairing.labels)
        assert body is not None
        for i, j, label, number in labels.agreed_pairs(labels.from_bytes(body, len(rows), len(columns))):
            given[(rows[i], columns[j])] = (label, number)
    wanted = {pair: label for pair, label in expected.items() if name in (pair[0][0], pair[1][0])}
    return [] if given == wanted else [f"the labels that {name} got are not those of the clear protocol"]


def _key(chance: random.Random) -> nacl.signing.SigningKey:
    return nacl.signing.SigningKey(chance.randbytes(32))


def _signer(key: nacl.signing.SigningKey) -> Signer:
    return lambda data: key.sign(data).signature


__all__ = ["Plan", "Says", "Study", "Verdict", "judged", "run"]
