"""The simulated study follows the protocol's rules, and its figures are right, on cases small enough to do by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from blindlabel.api.ground_truth import scores
from blindlabel.engines.plain import PlainEngine
from blindlabel.errors import InputError
from blindlabel.language import Record
from blindlabel.language.formula import evaluate
from blindlabel.parties.rehearsal import in_clear
from blindlabel.records.generator import PRODUCT_ATTRIBUTES, Size, generate, write
from blindlabel_lab.experiments.datasets import (
    PREPARATION,
    PUBLISHED_PREPARATION,
    Dataset,
    data_folder,
    names_in,
    read_dataset,
)
from blindlabel_lab.experiments.quality import Plan, deviation, mean, oracles_of, quality, run_sample
from blindlabel_lab.experiments.results import Results
from blindlabel_lab.experiments.simulation import (
    ThroughEngine,
    Wording,
    draw,
    needles_of,
    question_of,
    simulate,
    terms_for,
)
from blindlabel_lab.experiments.strategies import STRATEGIES
from blindlabel_lab.experiments.tables import TABLES


class Scripted:
    """Asks what is written down for a record and round, and remembers what it was asked."""

    def __init__(self, script: Mapping[tuple[str, int], str]) -> None:
        self.script = script
        self.asked: list[tuple[str, int]] = []

    def ask(self, record: Record, round: int) -> str:
        self.asked.append((record.whole, round))
        return self.script[record.whole, round]


def named(*names: str) -> list[Record]:
    return [Record.of({"name": name}) for name in names]


def says(*names: str) -> str:
    return "ret " + (" | ".join(f'equals("{name}", $r)' for name in names) or "false")


def test_pairs_keep_their_label_and_only_records_on_open_pairs_are_asked_again() -> None:
    first = Scripted({("a1", 1): says("b1"), ("a2", 1): says("b2"), ("a2", 2): says(), ("a2", 3): says("b1", "b2")})
    second = Scripted({("b1", 1): says("a1"), ("b2", 1): says(), ("b2", 2): says("a2"), ("b2", 3): says("a1", "a2")})
    truth = np.array([[True, False], [False, True]])
    run = simulate((named("a1", "a2"), named("b1", "b2")), truth, (first, second), in_clear, attributes=["name"])
    # Round 1: (a1, b1) yes; (a1, b2) and (a2, b1) no; (a2, b2) open: only a2 and b2 are asked again. Round 3 agrees on
    # it.
    assert first.asked == [("a1", 1), ("a2", 1), ("a2", 2), ("a2", 3)]
    assert second.asked == [("b1", 1), ("b2", 1), ("b2", 2), ("b2", 3)]
    assert run.labels[-1].tolist() == [[3, 2], [2, 7]]
    assert [one.agreement for one in run.rounds] == [0.75, 0.75, 1.0]
    assert [one.records_to_ask for one in run.rounds] == [2, 2, 0]
    assert [one.recall for one in run.rounds] == [1.0, 1.0, 1.0]
    assert [one.recall_strict for one in run.rounds] == [0.5, 0.5, 1.0]


def test_agreement_on_all_pairs_ends_the_study_early() -> None:
    first, second = Scripted({("a", 1): says("b")}), Scripted({("b", 1): says("a")})
    run = simulate((named("a"), named("b")), np.array([[True]]), (first, second), in_clear, attributes=["name"])
    assert len(first.asked) == len(second.asked) == 1
    assert [one.f_strict for one in run.rounds] == [1.0, 1.0, 1.0]


def test_scores_by_hand() -> None:
    # One right, one wrong, one missed, one true pair without agreement, two agreed no, in a sample of six pairs.
    labels = np.array([[3, 3, 2], [0, 2, 2]], dtype=np.uint8)
    truth = np.array([[True, False, True], [True, False, False]])
    found = scores(labels, truth)
    assert found.precision == pytest.approx(1 / 2)
    assert found.recall == pytest.approx(1 / 2)
    assert found.f == pytest.approx(1 / 2)
    assert found.recall_strict == pytest.approx(1 / 3)
    assert found.f_strict == pytest.approx(2 / 5)
    assert found.agreement == pytest.approx(5 / 6)
    assert found.records_to_ask == 2
    assert (found.pairs, found.agreed) == (6, 5)
    assert (found.true_positives, found.false_positives, found.false_negatives, found.open_matches) == (1, 1, 1, 1)


def test_no_label_at_all_has_no_strict_recall() -> None:
    found = scores(np.zeros((1, 1), dtype=np.uint8), np.array([[True]]))
    assert (found.precision, found.recall, found.recall_strict, found.f_strict) == (1.0, 1.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Generated sets in the layout of the benchmark's."""
    place = tmp_path_factory.mktemp("data")
    for kind in ("persons", "products"):
        write(generate(kind, Size(400, 200, 2), 5), place / kind)
    return place


@pytest.fixture(scope="module")
def persons(folder: Path) -> Dataset:
    return read_dataset(folder, "persons")


def test_a_sample_is_the_records_around_random_matches_with_all_their_truth(persons: Dataset) -> None:
    sample = draw(persons, 3, 50)
    assert draw(persons, 3, 50).a == sample.a and draw(persons, 4, 50).a != sample.a
    assert len(sample.a) <= 50 and len(sample.b) <= 50 and sample.truth.sum() >= 50
    matches = set(persons.matches)
    for i, a in enumerate(sample.a):
        for j, b in enumerate(sample.b):
            assert bool(sample.truth[i, j]) == ((a, b) in matches)


def test_clear_evaluation_of_many_is_the_formula_on_each(persons: Dataset) -> None:
    chosen = random.Random(1).sample(range(400), 12)
    asked = STRATEGIES["suggested"](persons.records[0], persons.attributes, Wording())
    questions = [question_of(asked.ask(persons.records[0][i], 1), persons.attributes).usable() for i in chosen]
    questions.append(
        question_of('ret !is_empty($r.sex) & (has_word("m", $r.sex) | equals("", $r.age))', persons.attributes).usable()
    )
    records = persons.records[1][:40]
    expected = [[evaluate(question, record) for record in records] for question in questions]
    assert in_clear(0, questions, records).tolist() == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_labels_the_same_through_an_engine(persons: Dataset, strategy: str) -> None:
    oracles = oracles_of(persons, strategy)
    sample = draw(persons, 0, 12)
    records = ([persons.records[0][i] for i in sample.a], [persons.records[1][j] for j in sample.b])
    terms = terms_for([*records[0], *records[1]], persons.attributes, ("is_in", "equals", "has_word"))
    through = ThroughEngine(PlainEngine(), records, terms)
    direct = simulate(records, sample.truth, oracles, in_clear, attributes=persons.attributes)
    engine = simulate(records, sample.truth, oracles, through, attributes=persons.attributes)
    assert [one.tolist() for one in direct.labels] == [one.tolist() for one in engine.labels]


@pytest.mark.slow
def test_packed_engine_gives_the_same_labels(folder: Path) -> None:
    products = read_dataset(folder, "products", ["name"])
    oracles = oracles_of(products, "suggested")
    sample = draw(products, 0, 10)
    clear = run_sample(products, sample, oracles, "plain", 2)
    packed = run_sample(products, sample, oracles, "packed", 2)
    assert [one.tolist() for one in clear.labels] == [one.tolist() for one in packed.labels]


def test_spread_is_the_deviation_of_a_sample() -> None:
    true = np.array([[True, True]])
    one, other = (scores(np.array([row], dtype=np.uint8), true) for row in ([3, 3], [3, 2]))
    assert deviation([one, other])["recall"] == pytest.approx(math.sqrt(0.125))
    assert mean([one, other])["recall"] == 0.75
    assert deviation([one])["recall"] == 0
    kept = {"rounds": [mean([one, other])], "deviation": deviation([one, other])}
    [(head, means, spread)] = TABLES["quality"]({"datasets": {"persons": kept}})
    recall = head.index("recall")
    assert (means[recall], spread[1], spread[recall]) == ("0.750", "1, ±", "0.354"), "not the mean a second time"


def test_quality_on_generated_sets_is_high_and_resumes(folder: Path, tmp_path: Path) -> None:
    plan = Plan(folder, tuple(names_in(folder)), samples=3)
    said: list[str] = []
    document = quality(plan, Results(tmp_path), lambda what, _share: said.append(what))
    assert set(document["datasets"]) == {"persons", "products"}
    for figures in document["datasets"].values():
        assert len(figures["rounds"]) == 3
        assert figures["final"] == figures["rounds"][-1]
        assert figures["final"]["f"] >= 0.93
        assert figures["final"]["f_strict"] >= 0.92
        assert figures["rounds"][-1]["agreement"] >= figures["rounds"][0]["agreement"]
    finished = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(finished) == 6
    assert quality(plan, Results(tmp_path), lambda *_: None) == document
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == finished
    damaged = next(iter(finished))
    damaged.write_text("{")
    assert quality(plan, Results(tmp_path), lambda *_: None) == document


def test_unknown_sets_use_all_common_columns_but_the_id(folder: Path) -> None:
    assert read_dataset(folder, "products").attributes == PRODUCT_ATTRIBUTES
    assert read_dataset(folder, "products", ["name"]).attributes == ("name",)
    with pytest.raises(InputError, match="There is no set nowhere"):
        read_dataset(folder, "nowhere")
    with pytest.raises(InputError, match="no column"):
        read_dataset(folder, "products", ["colour"])


def _benchmark() -> Path | None:
    try:
        found = data_folder(None)
    except InputError:
        return None
    return found if {"abt-buy", "febrl"} <= set(names_in(found)) else None


BENCHMARK = _benchmark()


@pytest.mark.skipif(
    BENCHMARK is None,
    reason="the benchmark sets are not on this machine (blindlabel experiment data says how to place them)",
)
@pytest.mark.parametrize("name", ["abt-buy", "febrl"])
def test_benchmark_sets_are_labelled_well(name: str, tmp_path: Path) -> None:
    assert BENCHMARK is not None
    final = quality(Plan(BENCHMARK, (name,), samples=3), Results(tmp_path), lambda *_: None)["datasets"][name]["final"]
    assert final["f"] >= 0.9
    assert final["f_strict"] >= 0.88


@pytest.mark.slow
@pytest.mark.skipif(
    BENCHMARK is None,
    reason="the benchmark sets are not on this machine (blindlabel experiment data says how to place them)",
)
def test_packed_engine_labels_a_sample_of_a_benchmark_set_as_in_clear() -> None:
    assert BENCHMARK is not None
    dataset = read_dataset(BENCHMARK, "febrl")
    oracles = oracles_of(dataset, "suggested")
    sample = draw(dataset, 1, 6)
    clear = run_sample(dataset, sample, oracles, "plain", 1)
    packed = run_sample(dataset, sample, oracles, "packed", 1)
    assert packed.labels[0].tolist() == clear.labels[0].tolist()
    assert (clear.labels[0] == 3).any()


def test_preparation_is_stated_and_leaves_lower_case(persons: Dataset) -> None:
    assert "lower" in PREPARATION.steps
    assert all(record.whole == record.whole.lower() for record in persons.records[0])


def test_published_preparation_keeps_case_and_every_strategy_can_be_asked() -> None:
    place = Path(__file__).parent
    kept = read_dataset(place, "lenses", preparation=PUBLISHED_PREPARATION)
    assert not kept.lowered and any(record.whole != record.whole.lower() for record in kept.records[0])
    assert kept.fingerprint != read_dataset(place, "lenses").fingerprint
    for strategy in STRATEGIES:
        first, _ = oracles_of(kept, strategy)
        own = [question_of(first.ask(record, 3), kept.attributes, kept.recipe) for record in kept.records[0]]
        said = in_clear(0, [question.usable() for question in own], kept.records[0])
        assert said.diagonal().all(), f"{strategy} does not fit the records it is about"


def test_longer_needles_are_asked_where_they_may_be(folder: Path) -> None:
    products = read_dataset(folder, "products", ["name"])
    longest = [
        max(len(needle) for needle in needles_of(oracle_questions(products, limit), products)) for limit in (4, 16)
    ]
    assert longest[0] <= 4 < longest[1]


def oracle_questions(dataset: Dataset, needle_length: int) -> list[str]:
    first, _ = oracles_of(dataset, "rare words, all of them (ours)", needle_length)
    return [first.ask(record, 1) for record in dataset.records[0][:20]]
