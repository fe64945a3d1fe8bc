"""`blindlabel bench scale`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]


def test_bench_scale_measures_every_party_in_its_own_process(blindlabel: Command) -> None:
    done = blindlabel(
        "bench", "scale", "--sizes", "3", "--workers", "1", "--length", "16", "--agreement", "least", "--json"
    )
    (row,) = done.json["rows"]
    assert (row["records"], row["questions"], row["workers"], row["wrong_labels"], row["labels_checked"]) == (
        3,
        3,
        "1",
        0,
        9,
    )
    for figure in (
        "processor_ms_per_pair",
        "bytes_per_pair",
        "bytes_per_record",
        "owner_memory_mb",
        "coordinator_memory_mb",
    ):
        assert row[figure] > 0, figure


@pytest.mark.parametrize("arguments", [["--sizes", "many"], ["--workers", "0"], ["--shape", "xor"]])
def test_bench_scale_refuses_what_it_cannot_measure(blindlabel: Command, arguments: list[str]) -> None:
    done = blindlabel("bench", "scale", *arguments)
    assert done.code == 1
    assert arguments[-1] in done.err
