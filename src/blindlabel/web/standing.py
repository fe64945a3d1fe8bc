"""How the study stands, as the owner sees it: who has to act now, what this machine does and whether it does, how the
rounds went, and at the end the ground truth with its exports."""

from __future__ import annotations

import time

from nicegui import ui

from blindlabel.export import FORMATS
from blindlabel.protocol.figures import Tally
from blindlabel.protocol.next_steps import of_owner
from blindlabel.storage.workspace import Activity
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import sentence, text
from blindlabel.web.costs import duration
from blindlabel.web.outcomes import numbers_of, outcomes, settled_sentence
from blindlabel.web.plots import plot_in_words, rounds_of_owner

_REASONS = {
    "agreed": "Every pair has been agreed on.",
    "rounds": "The last round is over; pairs that still disagree are discarded.",
    "budget": "The agreed number of questions is used up; pairs that still disagree are discarded.",
    "closed": "The coordinator has closed the study; pairs that still disagree are discarded.",
    "loose": "Questions said yes to too many records again and again, so the study was stopped for people to look.",
    "void": "What came in a round could not be used, again and again, so the study was stopped for people to look.",
}
RUNS = "`blindlabel owner run` is at work on this machine."
RUNS_NOT = (
    "Nothing moves on: `blindlabel owner run` is not running on this machine. Start it, or open the app with --run."
)


class Standing:
    """The panel of one tab. It is shown whenever there is nothing to write, and in later rounds."""

    def __init__(self, app: OwnerApp) -> None:
        self._app = app
        self._shown: object = None
        with ui.element("section").classes("standing").props('aria-label="The study"') as self.root:
            pass

    def refresh(self) -> None:
        """Show what has changed."""
        cache = self._app.cache
        waiting = not cache.writable
        activity = self._app.workspace.activity() if waiting else None
        runs = waiting and cache.state.truth is None and self._app.workspace.is_run
        said = None if activity is None else (activity.phase, activity.sentence, activity.share)
        unsent = waiting and bool(self._app.workspace.unsent())
        shown = (cache.version, cache.writable, said, runs, unsent)
        if shown == self._shown:
            return
        self._shown = shown
        self.root.clear()
        with self.root:
            if cache.state.truth is not None:
                self._build_end()
            elif waiting:
                self._build_waiting(activity, runs=runs)
            self._build_rounds()
        self.root.set_visibility(waiting or cache.state.round > 1)

    def _build_waiting(self, activity: Activity | None, *, runs: bool) -> None:
        cache, progress = self._app.cache, self._app.cache.progress()
        text("h2", f"Round {progress.round} is handed in" if progress.handed_in else "Nothing to write yet")
        agreement, busy = self._app.workspace.agreement, activity is not None and 0 < activity.share < 1
        for step in of_owner(agreement, cache.state, saved=progress.saved, unsent=bool(self._app.workspace.unsent())):
            sentence(step.sentence)
        sentence(RUNS if runs else RUNS_NOT, "quiet" if runs else "reason")
        if activity is not None and activity.phase == "stopped" and not runs:
            text("p", f"It stopped with these words: {activity.sentence}", "reason")
        if activity is not None and busy and runs:
            with ui.element("div").classes("doing"):
                text("span", f"{activity.sentence}: {activity.share:.0%}{_time_left(activity)}")
                label = f"aria-label={_quoted(activity.sentence)}"
                ui.linear_progress(activity.share, show_value=False, color=None).props(
                    f"instant-feedback rounded {label}"
                )

    def _build_end(self) -> None:
        truth, labels = self._app.cache.state.truth, self._app.truths()
        assert truth is not None
        text("h2", "The study is over")
        text("p", _REASONS[truth.reason])
        for pairing in truth.pairings:
            peer = pairing.peer
            if peer not in labels:
                continue
            text("h3", f"Ground truth with {peer}")
            with ui.element("dl").classes("figures"):
                for name, value in numbers_of(pairing):
                    with ui.element("div"):
                        text("dt", name)
                        text("dd", f"{value:,}")
            with ui.element("div").classes("exports").props(f'role=group aria-label="Exports with {peer}"'):
                text("span", "Export:")
                for name, known in FORMATS.items():
                    link = ui.link(name, f"/export/{peer}/{name}").props(f"download title={_quoted(known.description)}")
                    link.classes("button export")
        self._build_outcomes()

    def _build_outcomes(self) -> None:
        """What became of each own record."""
        found = outcomes(self._app)
        if not found:
            return
        text("h3", "Your records")
        with (
            ui.element("div").classes("outcomes").props('tabindex=0 role=region aria-label="Your records"'),
            ui.element("table").classes("plain"),
        ):
            with ui.element("thead"), ui.element("tr"):
                for name in ("Record", "Matches", "Not settled"):
                    text("th", name).props("scope=col")
            with ui.element("tbody"):
                for outcome in found:
                    with ui.element("tr"):
                        text("th", outcome.id).props("scope=row")
                        text("td", outcome.matches)
                        text("td", outcome.unsettled)

    def _build_rounds(self) -> None:
        rounds = rounds_of_owner(self._app.cache.state)
        if not rounds:
            return
        text("h2", "Agreement by round")
        if settled := settled_sentence(self._app):
            text("p", settled, "settled")
        with ui.element("div").classes("plot"):
            words = plot_in_words(rounds)
            ui.element("img").props(f"src=/plot.svg?rounds={len(rounds)} alt={_quoted(words)}")
            round_table(rounds)


def round_table(rounds: list[Tally]) -> None:
    """The same figures as a table."""
    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in ("Round", "Pairs", "Match", "No match", "Disagreed", "Agreed", "Kappa", "AC1"):
                text("th", name).props("scope=col")
        with ui.element("tbody"):
            for number, tally in enumerate(rounds, start=1):
                with ui.element("tr"):
                    text("th", str(number)).props("scope=row")
                    for value in (tally.pairs, tally.both, tally.neither, tally.disagreed):
                        text("td", f"{value:,}")
                    text("td", "–" if tally.percent is None else f"{tally.percent:.1f} %")
                    for figure in (tally.kappa, tally.ac1):
                        text("td", "–" if figure is None else f"{figure:.3f}")


def _time_left(activity: Activity) -> str:
    passed = max(0.0, time.time() - activity.began)
    left = passed / activity.share * (1 - activity.share)
    return "" if passed < 2 else f", about {duration(left)} left"


def _quoted(value: str) -> str:
    """A text as a prop's value, without characters that would end it."""
    return '"' + value.replace("\\", "").replace('"', "'").replace("\n", " ") + '"'
