"""What a seed stands for: an agreement, tables, what goes wrong how often, and what the clear protocol answers."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

from blindlabel.language import Question, Record, interpret
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement
from blindlabel.records.tables import Table
from blindlabel_lab.simulation import carried, wire
from blindlabel_lab.simulation.faults import KINDS, chosen_rates
from blindlabel_lab.simulation.parties import question, small_table
from blindlabel_lab.simulation.reference import Row

NAMES = ("anna", "berta", "clara", "dora", "emma")
Way = Literal["calls", "http", "folder"]
ANYWHERE = {
    "crash", "disk full", "clock jump", "backup of owner", "backup of coordinator", "owner leaves",
    "unreadable answers", "stopped", "no descriptors", "no threads", "two lives",
}  # fmt: skip
OF_WAY: dict[Way, set[str]] = {
    "calls": set(KINDS),
    "http": {*wire.FAULTS, *ANYWHERE, "long latency"},
    "folder": {*carried.FAULTS, *ANYWHERE},
}
"""What can go wrong on each way."""


@dataclass
class Plan:
    """What a seed stands for."""

    seed: int
    rates: dict[str, float] | None = None
    crash_at: int = 0
    owners: int | None = None
    files: bool = False
    """Whether the parties keep files: then storms are shorter."""
    way: Way = "calls"
    random: random.Random = field(init=False)
    agreement: Agreement = field(init=False)
    tables: dict[str, Table] = field(init=False)

    def __post_init__(self) -> None:
        chance = self.random = random.Random(self.seed)  # noqa: S311 (a schedule, no secret)
        names = NAMES[: self.owners or chance.choice((2, 2, 3) if self.files else (2, 2, 2, 3, 3, 4, 5))]
        method = chance.choice(("uniform", "uniform", "rows", "enriched"))
        wanted = chance.randrange(2, 5)
        rows = {name: chance.randrange(wanted, 8) for name in names}
        sampling: dict[str, object] = {"records": wanted, "method": method}
        if method == "rows":
            sampling["rows"] = {name: chance.sample(range(size), wanted) for name, size in rows.items()}
        elif method == "enriched":
            sampling["blocking"] = ["name"]
        rounds = chance.randrange(1, 5)
        budget = {"records_asked": chance.randrange(wanted, wanted * rounds + 1)} if chance.random() < 0.2 else {}
        budget["most_yes"] = chance.choice((1, 2, 5, 5))
        salt = hashlib.blake2b(str(self.seed).encode(), digest_size=16).hexdigest()
        self.agreement = agreements.new(
            "simulated",
            names,
            ["name"],
            rounds=rounds,
            sampling=sampling,
            budget=budget,
            salt=salt,
            encoding={"engine": "plain", "record_length": 60},
            release=chance.choice(("matches", "labels", "none")),
        )
        self.tables = {name: small_table(name, size, chance) for name, size in rows.items()}
        if self.rates is None:
            self.rates = chosen_rates(chance, OF_WAY[self.way] - (set() if self.files else {"clock jump"}))
        self.longest_storm, self.backups = (90.0, 0.1) if self.files else (300.0, 0.1)
        self.shared = chance.random() < 0.4
        """Whether there is one folder that all see, where studies go over folders."""
        self.second = self.files and chance.random() < 0.3
        """Whether a second process of the coordinator works over its database."""

    def says(self, mine: Row, other: Row, round: int) -> bool:
        """What the clear protocol answers: the question about its own row, interpreted on the other row."""
        return _says(
            question(self.tables[mine[0]].rows[mine[1]][0], round, mine[0]), self.tables[other[0]].rows[other[1]][0]
        )


@lru_cache(maxsize=100_000)
def _says(source: str, text: str) -> bool:
    return interpret(_read(source).tree, Record({"name": text}, text))


_read = lru_cache(maxsize=10_000)(partial(Question, attributes=("name",)))
