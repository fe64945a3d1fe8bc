"""`blindlabel bench scale`, and where `owner run` computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blindlabel.engines.packed import PackedEngine
from blindlabel.engines.packed.running.dask import ClusterEngine
from blindlabel.engines.plain import PlainEngine
from blindlabel.errors import InputError
from blindlabel.parties.computing import Computing, engine_at

Command = Callable[..., Any]


def test_bench_scale_measures_every_party_in_its_own_process(blindlabel: Command) -> None:
    done = blindlabel("bench", "scale", "--sizes", "3", "--workers", "1", "--length", "16", "--json")
    (row,) = done.json["rows"]
    assert (row["records"], row["questions"], row["workers"], row["wrong_labels"], row["labels_checked"]) == (
        3,
        3,
        1,
        0,
        9,
    )
    for figure in (
        "processor_ms_per_pair",
        "bytes_per_pair_answers",
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


def test_an_owner_computes_where_it_says(tmp_path: Path) -> None:
    here, there = (
        engine_at("packed", Computing(), tmp_path),
        engine_at("packed", Computing(cluster="local:2"), tmp_path),
    )
    assert isinstance(here, PackedEngine)
    assert here.journal == tmp_path
    assert isinstance(there, ClusterEngine)
    assert not there.may_see_records
    assert isinstance(engine_at("plain", Computing(), tmp_path), PlainEngine)
    with pytest.raises(InputError, match="Only the packed engine"):
        engine_at("plain", Computing(cluster="local"), tmp_path)


def test_owner_run_wants_a_cluster_before_it_may_see_records(blindlabel: Command, tmp_path: Path) -> None:
    done = blindlabel("owner", "run", "--at", str(tmp_path), "--cluster-may-see-records")
    assert done.code == 1
    assert "--cluster" in done.err
