"""A study whose types come from `owner check` alone: two houses with other formats, to the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindlabel.api.ground_truth import GroundTruth
from blindlabel.cli.main import run
from blindlabel.export.truth import truths_of_coordinator, with_ids
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol.agreement import from_text
from blindlabel.records.generator import PERSON_ATTRIBUTES, PRODUCT_ATTRIBUTES, Size, generate, write
from blindlabel.storage.coordinator_store import CoordinatorStore
from support.study_parties import joined, over_http, play, served

ROWS = 60


@pytest.mark.parametrize(
    ("kind", "attributes", "types"),
    [
        ("persons", PERSON_ATTRIBUTES, {"phone_number": "telephone"}),
        ("products", PRODUCT_ATTRIBUTES, {"price": "number", "model": "code", "released": "date"}),
    ],
)
def test_a_study_from_the_proposals_alone_gives_good_labels(
    kind: str, attributes: tuple[str, ...], types: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, agreed = generate(kind, Size(ROWS, ROWS // 2), 2), tmp_path / "agreement.toml"
    tables = write(made, tmp_path / "tables")[:2]
    new = ["coordinator", "new", str(agreed), "--name", kind, "--owners", "anna,berta", "--engine", "plain"]
    new += ["--attributes", ",".join(attributes), "--records", str(ROWS), "--record-length", "200", "--force"]
    assert run(new) == 0
    for table in tables:
        capsys.readouterr()
        assert run(["owner", "check", str(agreed), str(table), "--json"]) == 0
        proposal = table.with_suffix(".json")
        proposal.write_text(capsys.readouterr().out)
        new += ["--proposal", str(proposal)]
    assert run(new) == 0
    agreement = from_text(agreed.read_text())
    assert agreement.preparation.types == types

    coordinator = CoordinatorParty(CoordinatorStore(tmp_path / "coordinator"))
    with served(coordinator) as address:
        invitations = coordinator.create(agreed.read_text(), address)
        workspaces = joined(tmp_path, invitations, tables)
        play(workspaces, over_http(address))
    truth = GroundTruth.of(with_ids(truths_of_coordinator(coordinator, agreement.hash)["anna", "berta"], *workspaces))
    assert truth.score(made.matches).f >= 0.9
