"""`blindlabel explain` and `blindlabel bench packed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]

QUESTION = 'ret 3*is_in("pslx350h", lower($r)) + is_in("sony", $r) + !is_in("turntable", $r.name) >= 3'


def test_explain_prints_the_plan(blindlabel: Command) -> None:
    done = blindlabel("explain", QUESTION, "--any")
    assert done.code == 0
    for word in (
        "'pslx350h' among substring-8 of lower($r)",
        "answer: 1 + 3·[0]",
        "zero tests",
        "assist",
        "old noise",
        "a round",
        "bytes",
    ):
        assert word in done.out


def test_explain_as_json_holds_the_same(blindlabel: Command) -> None:
    plan = blindlabel("explain", QUESTION, "--any", "--json").json
    assert len(plan["predicates"]) == 3
    assert plan["assist_calls"] > 0
    assert all(left <= -53 for left in plan["noise_left"].values())
    alone = blindlabel(
        "explain", 'ret is_in("a", $r) & (is_in("b", $r) | is_in("c", $r)) & !is_in("d", $r)', "--json"
    ).json
    assert alone["assist_calls"] == 0
    assert alone["parameters"].startswith("points-")
    assert any("[0] & [1], [0] & [2]" in place for place in alone["places"])
    assert any(place.endswith(": [3]") for place in alone["places"])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (['ret is_in("a", $x)'], "errors"),
        (['ret is_in("b", $r) | !is_in("a", $r)'], "denies something"),
        (["ret " + " | ".join(f'is_in("{i:02}", $r)' for i in range(30))], "agreement's profile"),
        (["ret " + " | ".join(f'is_in("{i:02}", $r)' for i in range(30)), "--any"], "more probes"),
    ],
)
def test_explain_says_why_there_is_no_plan(blindlabel: Command, arguments: list[str], word: str) -> None:
    done = blindlabel("explain", *arguments)
    assert done.code == 1
    assert word in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("shape", ["or", "count"])
def test_bench_packed_measures_and_checks_a_round(blindlabel: Command, shape: str) -> None:
    figures = blindlabel(
        "bench", "packed", "--records", "8", "--length", "24", "--needles", "3", "--shape", shape, "--json"
    ).json
    assert set(figures) == {
        "engine", "shape", "questions", "records", "length", "needles", "workers", "seconds", "bytes",
        "peak_rss_mb", "wrong_labels",
    }  # fmt: skip
    assert set(figures["seconds"]) == {"keys", "encode", "encrypt", "prepare", "evaluate", "assist", "decrypt", "total"}
    assert set(figures["bytes"]) == {"keys", "records", "assist", "answers"}
    assert (figures["engine"], figures["questions"], figures["records"], figures["wrong_labels"]) == ("packed", 8, 8, 0)
    assert figures["bytes"]["assist"] == 0


def test_bench_packed_refuses_a_shape_it_does_not_know(blindlabel: Command) -> None:
    done = blindlabel("bench", "packed", "--shape", "xor")
    assert done.code == 1
    assert "There is no shape xor" in done.err
