"""The load measurement in small: real processes, real HTTP, broken-off and slow uploads, every label checked."""

from __future__ import annotations

from blindlabel_lab.bench.server import Load, measure
from support.patience import PATIENCE


def test_coordinator_holds_under_load() -> None:
    found = measure(Load(studies=3, records=4, upload_megabytes=2, slow_clients=2, seconds=PATIENCE))
    assert found.errors == []
    assert found.wrong_labels == 0 and found.labels == 3 * 16
    assert found.foreign_accepted == 0 and found.foreign_refused == 12
    assert found.aborted_uploads == 6 and found.slow_clients == 2
    assert found.is_good and found.to_json()["good"]
    assert set(found.statuses) <= {200, 403, 409, 429}, "only refusals that are meant"
