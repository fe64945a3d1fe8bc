"""How the study stands, as the owner sees it: whom to confirm (words to read out, and a field for words heard), who has
to act now, what this machine is doing and whether it runs, how the rounds went, and at the end the ground truth with
its exports and what became of each of the owner's records, as far as the agreement releases it to this owner.
"""

from __future__ import annotations

import time

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement

from blindlabel.errors import InputError
from blindlabel.export import FORMATS
from blindlabel.parties.joining import confirm_heard, words_to_read_out
from blindlabel.parties.owner import steps_of
from blindlabel.protocol.figures import LATER, NOT_RECALL, Tally, agreed_of_all, headline, so_far
from blindlabel.protocol.labels import is_agreed, is_match
from blindlabel.protocol.next_steps import ENDED
from blindlabel.storage.workspace import Activity
from blindlabel.web.app import OwnerApp
from blindlabel.web.components import button, counted, plain_table, sentence, tell, text, time_left
from blindlabel.web.pages import plot_in_words, rounds_of_owner

NOT_RELEASED = (
    "The agreement releases matches to you and nothing else. How many pairs were settled as no match, and how many were"
    " discarded, is said above; which ones is not."
)


NO_MATCH = "none agreed"


def outcomes(app: OwnerApp) -> list[tuple[str, ...]]:
    """Each of the owner's records with its matches, by their places in the other's sample, those that have some first,
    and with the pairs that stayed open if that is released; empty before the end.
    """
    if not app.truths():
        return []
    labels, found = app.workspace.labels(), []
    for own in app.cache.records:
        rows = {peer: matrix[own.record] for peer, matrix in labels.items()}
        matches = [f"record {n + 1:,} of {peer}" for peer, row in rows.items() for n in is_match(row).nonzero()[0]]
        unsettled = sum(int((~is_agreed(row)).sum()) for row in rows.values())
        told = (f"{unsettled:,}",) if app.workspace.agreement.release == "labels" else ()
        found.append((own.id, ", ".join(matches) or NO_MATCH, *told))
    return sorted(found, key=lambda one: one[1] == NO_MATCH)


# Confirming the other owners


class Verifying:
    """Shown while another owner is not confirmed. It is rebuilt only when somebody has been confirmed, so that nothing
    typed is lost.
    """

    def __init__(self, app: OwnerApp) -> None:
        self._app = app
        self._shown: tuple[str, ...] = ()
        with ui.element("section").classes("standing").props('aria-label="Confirm the other owners"') as self.root:
            pass
        self.root.set_visibility(False)

    def refresh(self) -> None:
        """Show whom there is to confirm."""
        state = self._app.cache.state
        peers = self._app.workspace.agreement.peers(self._app.workspace.name) if state.keys else []
        waiting = tuple(peer for peer in peers if peer not in state.confirmed)
        if waiting == self._shown:
            return
        self._shown = waiting
        self.root.set_visibility(bool(waiting))
        self.root.clear()
        with self.root:
            text("h2", "Confirm the other owners")
            text(
                "p",
                "Telephone each other. Read your words out, and type the words that you hear. Only then can you be sure"
                " that nobody stands between you; nothing is sampled, encrypted or asked before.",
            )
            for peer in waiting:
                self._build(peer)

    def _build(self, peer: str) -> None:
        text("h3", peer)
        own = text("p", f"Your words for {peer} are being worked out …")
        spoken = text("p", "", "words-own")
        ui.timer(0, lambda: self._show_words(peer, own, spoken), once=True)
        field = ui.input(label=f"Words that {peer} reads to you").props("outlined dense autocomplete=off")
        field.classes("words-heard")
        problem = text("p", "", "reason").props("role=alert")
        problem.set_visibility(False)

        async def confirm() -> None:
            try:
                await run.io_bound(confirm_heard, self._app.workspace, peer, str(field.value or ""))
            except InputError as error:
                problem.text = str(error)
                problem.set_visibility(True)
                return
            tell(f"{peer} is confirmed.")

        field.on("keydown.enter", confirm)
        button(f"Confirm {peer}", confirm, "main")

    async def _show_words(self, peer: str, place: TextElement, spoken: TextElement) -> None:
        words = await run.io_bound(words_to_read_out, self._app.workspace, peer)
        if words is not None and not place.is_deleted:
            place.text, spoken.text = f"Read to {peer}:", " ".join(words)


RUNS = "`blindlabel owner run` is at work on this machine."
RUNS_NOT = (
    "Nothing moves on: `blindlabel owner run` is not running on this machine. Start it, or open the app with --run."
)


class StandingPanel:
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
        runs = waiting and cache.state.truth is None and self._app.workspace.is_running
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
        progress = self._app.cache.progress()
        text("h2", f"Round {progress.round} is handed in" if progress.handed_in else "Nothing to write yet")
        busy = activity is not None and 0 < activity.share < 1
        for step in steps_of(self._app.workspace):
            if step.what != "verify":  # `Verifying` asks for that
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
        text("p", ENDED[truth.reason])
        for pairing in truth.pairings:
            peer = pairing.peer
            if peer not in labels:
                continue
            text("h3", f"Ground truth with {peer}")
            text("p", headline(pairing.tallies, over=True), "settled")
            with ui.element("div").classes("exports").props(f'role=group aria-label="Exports with {peer}"'):
                text("span", "Export:")
                for name, known in FORMATS.items():
                    link = ui.link(name, f"/export/{peer}/{name}").props(f"download title={_quoted(known.description)}")
                    link.classes("button export")
        self._build_outcomes()

    def _build_outcomes(self) -> None:
        """Show what became of each of the owner's records."""
        found = outcomes(self._app)
        if not found:
            return
        columns = ("Record", "Matches", "Pairs not settled")[: len(found[0])]
        text("h3", "Your records")
        if len(columns) == 2:
            text("p", NOT_RELEASED, "quiet")
        with ui.element("div").classes("outcomes").props('tabindex=0 role=region aria-label="Your records"'):
            plain_table(columns, found)
            text("p", f"End of the list: {counted(len(found), 'record')}.", "quiet")

    def _build_rounds(self) -> None:
        rounds = rounds_of_owner(self._app.cache.state)
        if not rounds:
            return
        shown = so_far(rounds)
        text("h2", "Agreement over all pairs, as it grows")
        if self._app.cache.state.truth is None:
            text("p", headline(rounds), "settled")
        with ui.element("div").classes("plot"):
            words = plot_in_words(shown)
            ui.element("img").props(f"src=/plot.svg?rounds={len(rounds)} alt={_quoted(words)}")
            round_table(shown)
        text("p", NOT_RECALL if not any(tally.both for tally in rounds[1:]) else f"{NOT_RECALL} {LATER}", "quiet")


def round_table(rounds: list[Tally]) -> None:
    """The same figures as a table."""
    columns = ("After round", "Pairs", "Match", "No match", "Disagreed", "Set aside", "Agreed", "Kappa", "AC1")
    rows = []
    for number, tally in enumerate(rounds, start=1):
        counts = (tally.asked, tally.both, tally.neither, tally.disagreed, tally.loose)
        figures = ["–" if figure is None else f"{figure:.3f}" for figure in (tally.kappa, tally.ac1)]
        rows.append((str(number), *map("{:,}".format, counts), agreed_of_all(tally), *figures))
    plain_table(columns, rows)


def _time_left(activity: Activity) -> str:
    passed = max(0.0, time.time() - activity.began)
    return "" if passed < 2 else time_left(passed / activity.share * (1 - activity.share))


def _quoted(value: str) -> str:
    """A text as the value of a prop, without characters that would end it."""
    return '"' + value.replace("\\", "").replace('"', "'").replace("\n", " ") + '"'
