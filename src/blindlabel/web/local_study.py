"""A study on this machine to click through: generated tables, a coordinator, and owners that have joined and compared
their words.

For `demo --web`, the screenshots, the bench and the browser tests. All parties are here, so it proves nothing about
privacy; the parties themselves are the real ones. Messages go through a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.parties.joining import TableOptions, join
from blindlabel.parties.owner import OwnerParty
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import DEFAULT_CRITERIA, Agreement, to_text
from blindlabel.protocol.interfaces import SUGGESTED
from blindlabel.records.generator import Size, generate
from blindlabel.records.generator import write as write_tables
from blindlabel.records.proposing import lengths_for, recipe_for
from blindlabel.records.tables import read_table
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import letters_of
from blindlabel.transport.folder import FolderServer, FolderTransport
from blindlabel.web.judging import Judging

CRITERIA = (
    "Two records match when they are about the same person. Names, addresses and telephone numbers may be misspelt,"
    " shortened or out of date; another age means another person unless it is clearly a typing error."
)
"""Criteria for the generated persons. Given tables have other records, about which nothing is known here."""


@dataclass(frozen=True)
class Wanted:
    """What to rehearse."""

    records: int = 12
    name: str = "Patients of two hospitals"
    rounds: int = 3
    engine: str = "plain"
    seed: int = 5
    owners: tuple[str, ...] = ("anna", "berta")
    address: str = ""
    """Where the coordinator will be served, if it will."""


class Rehearsal:
    """All parties of one study."""

    def __init__(
        self,
        folder: Path,
        wanted: Wanted,
        tables: Sequence[Path] | None = None,
        agreement: Agreement | None = None,
        **agreed: Any,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if tables is None:
            made = generate("persons", Size(wanted.records, wanted.records // 2), wanted.seed)
            tables = write_tables(made, folder / "tables")[:2]
        self.agreement = agreement or _agreement(wanted, tables, agreed)
        self.coordinator = CoordinatorParty(CoordinatorStore(folder / "coordinator"))
        invitations = self.coordinator.create(to_text(self.agreement), wanted.address)
        self.workspaces = [
            join(Workspace.create(folder / invitation.owner), invitation, TableOptions(table))
            for invitation, table in zip(invitations, tables)
        ]
        self.shared = folder / "messages"
        self.shared.mkdir()
        self._server = FolderServer(self.coordinator, self.shared)
        self._owners = [
            OwnerParty(one, FolderTransport(self.shared, letters_of(one), one.name)) for one in self.workspaces
        ]

    def workspace(self, name: str) -> Workspace:
        """The workspace of an owner."""
        return next(one for one in self.workspaces if one.name == name)

    def begin(self) -> None:
        """Do everything up to the first round."""
        for _ in range(3):
            self.go_on()
            for owner in self._owners:
                state = owner.store.state()
                for peer in owner.agreement.peers(owner.store.name) if state.keys else ():
                    owner.confirm(peer)
        self.go_on()

    def write_all(self, name: str, share: float = 1.0) -> None:
        """Suggest and save the missing questions of an owner in this round, or the first of them."""
        workspace = self.workspace(name)
        judging, own = Judging(workspace), workspace.records()
        missing = [task for task in workspace.tasks() if task.question is None]
        chosen = missing[: int(share * len(missing))]
        workspace.save_questions({one.record: judging.suggest(own[one.record], one).text for one in chosen}, SUGGESTED)

    def go_on(self) -> None:
        """Do everything that needs no person now."""
        happened = True
        while happened:
            turns = [owner.turn() for owner in self._owners]
            happened = self._server.turn() or any(turns)


def _agreement(wanted: Wanted, tables: Sequence[Path], agreed: dict[str, Any]) -> Agreement:
    read = [read_table(table) for table in tables]
    attributes, recipe = read[0].attributes, recipe_for(read, read[0].attributes)
    settings: dict[str, Any] = {
        "criteria": CRITERIA if "given_name" in attributes else DEFAULT_CRITERIA,
        "rounds": wanted.rounds,
        "sampling": {"records": wanted.records},
        "encoding": {"engine": wanted.engine, **lengths_for(read, attributes, recipe)},
        "preparation": {"steps": list(recipe.steps), "types": dict(recipe.types)},
    }
    return agreements.new(wanted.name, wanted.owners, attributes, **(settings | agreed))
