"""`blindlabel explain` and `blindlabel bench packed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Command = Callable[..., Any]

QUESTION = 'ret is_in("a", $r) & (is_in("b", lower($r)) | is_in("c", $r)) & !is_in("d", $r.name)'


def test_explain_prints_the_plan(blindlabel: Command) -> None:
    done = blindlabel("explain", QUESTION)
    assert done.code == 0
    for word in ("'b' among substring-1 of lower($r)", "but not", "unless", "is wrong with", "a round", "keys"):
        assert word in done.out


def test_explain_as_json_holds_the_same(blindlabel: Command) -> None:
    plan = blindlabel("explain", QUESTION, "--json").json["plan"]
    assert len(plan["predicates"]) == 4
    assert 0 < plan["wrong"] <= 1e-6
    assert "&" in plan["places"][0]
    assert any(place.startswith("but not") and "[" in place for place in plan["places"])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (['ret is_in("a", $x)'], "no variable $x"),
        (["ret " + " | ".join(f'is_in("{i:02}", $r)' for i in range(30))], "agreement's profile"),
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
        "engine", "parameters", "shape", "questions", "records", "length", "needles", "workers", "seconds", "bytes",
        "peak_rss_mb", "wrong_labels", "agreement", "kernel",
    }  # fmt: skip
    assert {"keys", "encrypt", "evaluate", "total"} <= set(figures["seconds"])
    assert set(figures["bytes"]) == {"keys", "records", "answers"}
    assert (figures["engine"], figures["questions"], figures["records"], figures["wrong_labels"]) == ("packed", 8, 8, 0)


def test_bench_packed_refuses_a_shape_it_does_not_know(blindlabel: Command) -> None:
    done = blindlabel("bench", "packed", "--shape", "xor")
    assert done.code == 1
    assert "There is no shape xor" in done.err
