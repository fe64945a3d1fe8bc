"""Damaged and random bytes against every reader: a bounded number here, as many as you like with `scripts/fuzz`."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import to_text
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.transport.server import create_app
from blindlabel.transport.server_limits import ServerLimits
from blindlabel_lab.simulation import fuzzing
from blindlabel_lab.simulation.fuzzing import fuzz_http
from support.patience import PATIENCE
from support.study_parties import joined, over_http, served, small_agreement, write_person_tables

TARGETS = {target.name: target for target in fuzzing.targets()}


@pytest.mark.parametrize("name", TARGETS)
def test_foreign_bytes_give_only_the_expected_error(name: str) -> None:
    assert fuzzing.fuzz(TARGETS[name], 300) == []


def test_good_examples_are_read() -> None:
    for name in (
        "blinded keys",
        "compared lists",
        "labels",
        "envelope",
        "packed parcel",
        "gates parcel",
        "agreement",
        "question",
    ):
        TARGETS[name].read(TARGETS[name].good[0])


def test_http_interface_by_its_own_document(tmp_path: Path) -> None:
    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    agreement = small_agreement()
    limits = ServerLimits(requests_per_second=10_000, joins_per_second=10_000, largest_part=2**20)
    with served(coordinator, limits) as address:
        workspaces = joined(tmp_path, coordinator.create(to_text(agreement), address), write_person_tables(tmp_path))
        transport = over_http(address)(workspaces[0])
        transport.deliver(workspaces[0].unsent()[0][1], workspaces[0].bodies)
        transport.close()
        headers = {"Authorization": f"Bearer {workspaces[0].secret('token').decode()}"}
        with httpx.Client(base_url=address, headers=headers, trust_env=False, timeout=PATIENCE) as client:
            known = {"study": [agreement.hash], "hash": ["ab" * 32]}
            statuses, wrong = fuzz_http(create_app(coordinator).openapi(), client, examples=15, known=known)
    assert wrong == []
    assert sum(statuses.values()) >= 60 and len(statuses) >= 3
