"""A study with people as a laboratory runs it: assignment, what a seat shows and when, what both arms came to."""

from __future__ import annotations

import asyncio
import csv
import json
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from blindlabel.cli.main import run
from blindlabel.protocol.interfaces import PERSON, SUGGESTED
from blindlabel.records.generator import Size, generate, write
from blindlabel.storage.access import Access, Session
from blindlabel.storage.annotations import Annotations
from blindlabel.storage.workspace import Workspace
from blindlabel.web.guard import SESSION
from blindlabel.web.local_study import Rehearsal, Wanted
from blindlabel_lab.experiments.arms import NOBODY, interval, score_study, unfinished
from blindlabel_lab.experiments.participants import (
    ALIKE,
    BESIDE,
    BLIND,
    PeopleStudy,
    Sitting,
    assigned,
    pairs_to_show,
    read_study,
)
from blindlabel_lab.experiments.prepared import OWNERS
from blindlabel_lab.experiments.seat import Pairs, Seat, SeatApp

ADDRESS = "http://here"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "products"
    write(generate("products", Size(60, 30), 3), folder)
    return folder


def prepared(tables: Path, out: Path, *more: str) -> PeopleStudy:
    command = ["experiment", "prepare", str(tables), "--participants", "2", "--matches", "5", "--engine", "plain"]
    assert run([*command, "--rounds", "1", "--seed", "4", "--out", str(out), *more]) == 0
    return read_study(out)


@pytest.fixture
def study(tables: Path, tmp_path: Path) -> PeopleStudy:
    return prepared(tables, tmp_path / "study")


def begun(study: PeopleStudy) -> Rehearsal:
    """The couple's blind part."""
    sitting = study.sitting(1, "products")
    sample = study.sample("products", sitting.blind)
    made = Rehearsal(study.blind_folder(1, "products"), Wanted(owners=OWNERS), sample.tables, sample.agreement)
    made.begin()
    return made


def answer_pairs(study: PeopleStudy, participant: str, wrong: int = 0) -> None:
    """Right answers, but for the first ones."""
    sitting = study.sitting(1, "products")
    sample, pairs = study.sample("products", sitting.beside), Pairs(study, participant, "products")
    for place, (i, j) in enumerate(pairs_to_show(sample, study.seed)):
        right = bool(sample.sample.truth[i, j]) != (place < wrong)
        pairs.page()
        pairs.answer({"pair": str(place), "answer": "yes" if right else "no"})
    assert pairs.done


# Assignment


def test_over_four_couples_every_part_comes_first_and_every_sample_is_blind_equally_often() -> None:
    couples = assigned(["one", "two"], 8, 3)
    for name in ("one", "two"):
        of_set = Counter((one.blind, one.first) for sittings in couples for one in sittings if one.set == name)
        assert sorted(of_set.values()) == [2, 2, 2, 2]
    assert all(first.blind != second.blind and first.first != second.first for first, second in couples)
    assert couples == assigned(["one", "two"], 8, 3) != assigned(["one", "two"], 8, 4)
    assert Sitting("one", "x", BESIDE).parts == (BESIDE, BLIND) and Sitting("one", "x", BLIND).beside == "y"


def test_the_folder_has_a_sheet_for_each_and_samples_without_a_common_record(study: PeopleStudy) -> None:
    for one in study.participants:
        sheet = (study.own_folder(one) / "sheet.html").read_text()
        assert f"use the name {one} and no other" in sheet and f"under the name {one} alone" in sheet
        parts = [sheet.index("<b>Questions.</b>"), sheet.index("<b>Pairs.</b>")]
        assert (parts[0] < parts[1]) == (study.sitting(1, "products").first == BLIND)
    samples = [study.sample("products", which).sample for which in "xy"]
    assert all(one.truth.sum() == 5 for one in samples)
    for side in ("a", "b"):
        assert not set(getattr(samples[0], side)) & set(getattr(samples[1], side))
    about = json.loads((study.folder / "study.json").read_text())
    assert (about["seed"], about["participants"]) == (4, ["P01", "P02"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--participants", "3"], "number is even"),
        (["--participants", "2", "--matches", "16"], "too few for two samples of 16"),
        (["--consent", "pyproject.toml"], "for a study with --participants"),
    ],
)
def test_what_cannot_be_prepared_is_said(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    command = ["experiment", "prepare", str(tables), "--out", str(tmp_path / "none"), *more]
    assert run(command) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_text_of_ones_own_is_agreed_to(tables: Path, tmp_path: Path) -> None:
    (tmp_path / "ours.txt").write_text("Ask Dr Who <who@here>, {participant}.\n\nThank you.")
    made = prepared(tables, tmp_path / "study", "--consent", str(tmp_path / "ours.txt"))
    assert made.consent("P02") == "<p>Ask Dr Who &lt;who@here&gt;, P02.</p><p>Thank you.</p>"
    assert made.consent("P02") in (made.own_folder("P02") / "sheet.html").read_text()


def test_pairs_are_the_most_similar_of_each_record_and_nobody_is_left_out(study: PeopleStudy) -> None:
    sample = study.sample("products", "x")
    pairs = pairs_to_show(sample, study.seed)
    per_own, per_other = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    assert len(per_own) == len(sample.sample.a) and min(per_own.values()) >= ALIKE
    assert len(per_other) == len(sample.sample.b) and len(set(pairs)) == len(pairs) < sample.sample.truth.size
    assert [i for n, (i, _) in enumerate(pairs) if n == 0 or pairs[n - 1][0] != i] == list(dict.fromkeys(per_own))
    assert sum(bool(sample.sample.truth[pair]) for pair in pairs) == 5, "true pairs are alike"


# A seat


class Inside:
    """Stands for the owner's app: says what was let through, and to whom."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(f"app {scope['path']} {scope[SESSION].name}")(scope, receive, send)


class Visitor:
    """A browser that was let in without a name."""

    def __init__(self, seat: Seat, workspace: Workspace) -> None:
        access = Access(workspace.database)
        session = access.session(access.let_in(60.0))
        assert session is not None
        self.session: Session = session
        self._inner = seat.around(Inside())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._inner({**scope, SESSION: self.session}, receive, send)

    def ask(self, path: str, **form: str) -> httpx.Response:
        async def asked() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self), base_url=ADDRESS) as client:
                return await (client.post(path, data=form) if form else client.get(path))

        return asyncio.run(asked())

    def websocket(self) -> list[str]:
        said: list[str] = []

        async def send(message: Any) -> None:
            said.append(message["type"])

        async def receive() -> Any:
            return {"type": "websocket.connect"}

        scope = {"type": "websocket", "path": "/_nicegui_ws/", "headers": [], "query_string": b""}
        asyncio.run(self(scope, receive, send))
        return said


def seat_of(study: PeopleStudy, participant: str) -> tuple[SeatApp, Visitor]:
    workspace = Workspace.open(study.workspace_folder(participant, "products"))
    app = SeatApp(workspace, published=study.published)
    return app, Visitor(Seat(study, participant, "products", app), workspace)


def practise(app: SeatApp, participant: str, right: int = 8) -> None:
    """Save suggested questions for the practice, the rest of them useless."""
    inside = app.practice_of(participant, make=True)
    assert inside is not None and inside.practice is not None
    made, own = inside.practice, inside.practice.workspace.records()
    for task in made.workspace.tasks():
        partner = made.truth(own[task.record], made._checked("ret false")).partner
        values = {name: value[:16] for name, value in partner.attributes.items() if value}
        asked = " & ".join(f'is_in("{value}", $r.{name})' for name, value in values.items())
        made.workspace.save_questions({task.record: f"ret {asked}" if task.record < right else "ret false"}, PERSON)


def test_nothing_is_shown_before_the_consent_and_no_record_before_the_practice(study: PeopleStudy) -> None:
    begun(study)
    app, visitor = seat_of(study, "P02")
    for path in ("/", "/practice", "/export/owner-a/csv", "/plot.svg"):
        assert visitor.ask(path).headers["location"] == "/sitting"
    assert visitor.websocket() == ["websocket.close"]
    page = visitor.ask("/sitting").text
    assert "I agree" in page and "under the name P02 alone" in page
    assert not (study.own_folder("P02") / "consent.json").exists()
    visitor.ask("/sitting", answer="agree")
    kept = json.loads((study.own_folder("P02") / "consent.json").read_text())
    assert kept["participant"] == "P02" and kept["agreed"] <= time.time() and len(kept["text_sha256"]) == 64

    assert "Practise first" in visitor.ask("/sitting").text
    assert visitor.ask("/").headers["location"] == "/sitting" and visitor.ask("/practice").status_code == 200
    practise(app, "P02", right=5)
    assert "Practise first" in visitor.ask("/sitting").text, "five of eight are not enough"
    assert not (study.own_folder("P02") / "practice.json").exists()
    practise(app, "P02")
    assert "Part 1 of 2" in visitor.ask("/sitting").text
    assert json.loads((study.own_folder("P02") / "practice.json").read_text())["found"] >= 6


def test_parts_come_in_the_assigned_order_under_the_pseudonym_alone(study: PeopleStudy) -> None:
    rehearsal = begun(study)
    app, visitor = seat_of(study, "P01")
    visitor.ask("/sitting", answer="agree")
    practise(app, "P01")

    def blind() -> None:
        assert "0 of 5 questions saved" in visitor.ask("/sitting").text
        assert visitor.ask("/").text == "app / P01", "the name is never asked"
        for owner in OWNERS:
            rehearsal.write_all(owner)
        rehearsal.workspace("owner-a").hand_in()
        assert "your partner is still writing" in visitor.ask("/sitting").text
        rehearsal.workspace("owner-b").hand_in()
        rehearsal.go_on()

    def pairs() -> None:
        assert visitor.ask("/").headers["location"] == "/sitting", "the other part is not open"
        page = visitor.ask("/sitting").text
        assert "Pair 1 of" in page and "value=back" not in page
        visitor.ask("/sitting", pair="0", answer="yes")
        visitor.ask("/sitting", pair="0", answer="no")  # from a page that is not the newest
        visitor.ask("/sitting")
        visitor.ask("/sitting", pair="1", answer="back")
        visitor.ask("/sitting")
        visitor.ask("/sitting", pair="0", answer="no")
        count = len(pairs_to_show(study.sample("products", study.sitting(1, "products").beside), study.seed))
        for place in range(1, count):
            visitor.ask("/sitting")
            visitor.ask("/sitting", pair=str(place), answer="no")
        with (study.own_folder("P01") / "side-by-side.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert [(one["pair"], one["match"]) for one in rows[:2]] == [("0", "yes"), ("0", "no")]
        assert len(rows) == count + 1 and all(float(one["answered"]) >= float(one["shown"]) for one in rows)

    for part in study.sitting(1, "products").parts:
        (blind if part == BLIND else pairs)()
    assert "That was all" in visitor.ask("/sitting").text
    assert Access(app.workspace.database).session("x") is None
    assert visitor.ask("/").headers["location"] == "/sitting"


# The publication's conditions


def test_published_conditions_take_texts_that_are_in_the_record_and_no_points(tables: Path, tmp_path: Path) -> None:
    made = prepared(tables, tmp_path / "published", "--published")
    begun(made)
    app, _ = seat_of(made, "P01")
    agreement = app.workspace.agreement
    assert agreement.preparation.steps == ("ascii",) and agreement.encoding.functions == ("is_in",)
    refused = ['ret has_word("a", $r)', 'ret is_in("a", $r) + is_in("b", $r) + is_in("c", $r) >= 2']
    assert not any(app.cache.check(text).ok for text in refused)
    assert app.cache.check('$r = lower($r)\nret is_in("a", $r) & (is_in("b", $r) | !is_in("c", $r))').ok
    own, task = app.cache.records[0], app.workspace.tasks()[0]
    asked = app.judging.suggest(own, task)
    assert " & " in asked.text and app.cache.check(asked.text).ok and app.cache.check(asked.text)(own.prepared)
    assert "all of them" in asked.why and app.judging.neighbours(own, task, asked.chain) == {}
    practice = app.practice_of("P01", make=True)
    assert practice is not None and practice.workspace.agreement.encoding.functions == ("is_in",)
    assert type(practice.judging) is type(app.judging)


# What it came to


def test_students_intervals_are_those_of_the_tables() -> None:
    two = interval([0.0, 2.0])
    assert two["mean"] == 1.0 and two["high"] - 1.0 == pytest.approx(12.706, abs=1e-2)
    ten = [float(one) for one in range(10)]
    half = 2.262 * (sum((one - 4.5) ** 2 for one in ten) / 9) ** 0.5 / 10**0.5
    assert interval(ten)["high"] - 4.5 == pytest.approx(half, rel=1e-3)
    assert interval([3.0]) == {"mean": 3.0, "low": None, "high": None, "of": 1}


def test_both_arms_are_scored_and_kept_without_names(
    study: PeopleStudy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    score = ["experiment", "score", str(study.folder), "--results", str(tmp_path / "results"), "--json"]
    assert run(score) == 0
    said = capsys.readouterr()
    nothing = json.loads(said.out)
    assert nothing["parts"] == {BLIND: {}, BESIDE: {}} and len(nothing["unfinished"]) == 3
    assert "P01, products: side by side" in said.err
    assert [one.set for one in unfinished(study, 1)] == ["products"]

    rehearsal = begun(study)
    for owner, name in zip(OWNERS, ("P01", "Jane Doe")):
        workspace = rehearsal.workspace(owner)
        rehearsal.write_all(owner)
        log = Annotations(workspace)
        for task in workspace.tasks():
            log.saved(log.opened(name, 1, task.record), task.question or "", SUGGESTED, 0.0, "good")
        workspace.hand_in()
    rehearsal.go_on()
    answer_pairs(study, "P01")
    answer_pairs(study, "P02", wrong=3)
    found = score_study(study)
    assert found["unfinished"] == [] and unfinished(study, 1) == []
    blind, beside = found["parts"][BLIND]["couple 1, products"], found["parts"][BESIDE]
    assert len(blind["rounds"]) == 1 and blind["final"]["records"] == 10 and blind["final"]["kappa"] is not None
    assert (beside["P01, products"]["final"]["f"], beside["P01, products"]["final"]["shown"]) == (1.0, 1.0)
    assert beside["P02, products"]["final"]["f"] < 1.0
    agreed = found["agreement_side_by_side"]["couple 1, products"]
    assert agreed["disagreed"] == 3 and 0 < agreed["kappa"] < 1
    mean = found["labels"][BESIDE]["f_strict"]["mean"]
    assert mean == pytest.approx(sum(one["final"]["f_strict"] for one in beside.values()) / 2)
    apart = found["labels_differ"]["f_strict"]
    assert apart["mean"] == pytest.approx(blind["final"]["f_strict"] - mean) and apart["p"] == 1.0
    times = found["seconds_a_record"]
    assert set(times[BESIDE]["by_participant"]) == {"P01", "P02"} and times["difference"]["of"] == 2
    assert times[BLIND]["by_participant"]["P02"] == 0.0, "visits of nobody in the study are nobody's time"

    kept = [tmp_path / name for name in ("one.zip", "two.zip")]
    for path in kept:
        assert run([*score[:-1], "--archive", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "two people, side by side" in shown and "blind less side by side" in shown and "kappa" in shown
    assert kept[0].read_bytes() == kept[1].read_bytes()
    with zipfile.ZipFile(kept[0]) as archive:
        content = {name: archive.read(name).decode() for name in archive.namelist()}
    assert "Jane" not in "".join(content.values()) and NOBODY in content["participants/P02/questions-products.csv"]
    assert {
        "score.json",
        "study.json",
        "participants/P01/side-by-side.csv",
        "sets/products/x/truth/matches.csv",
    } <= set(content)
    assert not any("tables" in name or "sheet" in name for name in content)
    assert run(["experiment", "session", str(study.folder), "--couple", "1"]) == 1
    assert "has finished everything" in capsys.readouterr().err
    assert run(["experiment", "session", str(study.folder), "--couple", "2"]) == 1
