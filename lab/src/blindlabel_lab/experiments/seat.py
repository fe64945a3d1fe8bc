"""Where a participant of a study with people sits: the owner's app of the blind part, with consent, practice and the
pairs side by side before and after it. Nothing of a later step is shown before the one in hand is done, so no record
before the consent, and none of the study before the practice is passed.

It stands between the app and its guard, gives whoever sits here the pseudonym for a name, and writes into the
participant's folder: consent.json, practice.json, and side-by-side.csv with every answer and its times.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from urllib.parse import parse_qs

from nicegui import ui
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from blindlabel.language.suggestions import Suggestion
from blindlabel.protocol.interfaces import OwnRecord, Task
from blindlabel.storage.access import Access
from blindlabel.storage.workspace import Workspace
from blindlabel.web.app import OwnerApp
from blindlabel.web.guard import SESSION
from blindlabel.web.judging import Judging
from blindlabel.web.points_pane import NOTHING
from blindlabel.web.practice import RECORDS, Practice, PracticeResult, nearer
from blindlabel_lab.experiments.participants import BESIDE, BLIND, PASSED, STYLE, PeopleStudy, pairs_to_show
from blindlabel_lab.experiments.prepared import PUBLISHED
from blindlabel_lab.experiments.simulation import Wording
from blindlabel_lab.experiments.strategies import RareConjunction

CONSENT, PRACTICE, DONE = "consent", "practice", "done"
_HERE = "/sitting"
_COLUMNS = ("set", "sample", "pair", "id_a", "id_b", "shown", "answered", "match")


# The app of the blind part


class Conjunctions(Judging):
    """Suggests as the publication's tool wrote them: the rarest words, all of them, fewer in later rounds."""

    def suggest(self, own: OwnRecord, task: Task) -> Suggestion:
        """The record's rarest words by its own table."""
        agreement = self._workspace.agreement
        wording = Wording(agreement.terms().case == "lower", agreement.limits.needle_length)
        text = RareConjunction(self.rows[0], wording).ask(own.prepared, task.round)
        verdict = self.verdict(own, text)
        return Conjunction(text, NOTHING, (), verdict.own)

    def neighbours(self, *_: object) -> dict[str, Suggestion]:
        """None: those have points."""
        return {}


class Conjunction(Suggestion):
    """One without points."""

    @property
    def why(self) -> str:
        """One sentence for the person who keeps or changes it."""
        return "The rarest words of the record; the other one must have all of them"


class SeatApp(OwnerApp):
    """The owner's app, as the study's conditions have it."""

    def __init__(self, workspace: Workspace, *, published: bool) -> None:
        super().__init__(workspace)
        self._published = published
        if published:
            self.judging = Conjunctions(workspace)

    def made_practice(self, folder: Path) -> Practice:
        """A practice under the same conditions."""
        if not self._published:
            return super().made_practice(folder)
        encoding = PUBLISHED["encoding"] | {"engine": "plain", "record_length": 512}
        kind = nearer(self.workspace.agreement.attributes)
        made = Practice(folder, kind, encoding=encoding, limits=PUBLISHED["limits"])
        made.judging = Conjunctions(made.workspace)
        return made


# Answers about pairs


def answers_in(folder: Path) -> list[dict[str, str]]:
    """Every answer of a participant about a pair, in the order in which they were given; the last of a pair counts."""
    path = folder / "side-by-side.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Pairs:
    """The pairs that a participant sees in one sitting, and what was answered so far."""

    def __init__(self, study: PeopleStudy, participant: str, name: str) -> None:
        sitting = study.sitting(study.couple_of(participant), name)
        self._sample, self._folder = study.sample(name, sitting.beside), study.own_folder(participant)
        self._named = (name, sitting.beside)
        self._pairs = pairs_to_show(self._sample, study.seed)
        mine = [one for one in answers_in(self._folder) if (one["set"], one["sample"]) == self._named]
        self._answered = {int(one["pair"]) for one in mine}
        self.place = next((n for n in range(len(self._pairs)) if n not in self._answered), len(self._pairs))
        self._shown: float | None = None

    @property
    def done(self) -> bool:
        """Whether all are answered."""
        return self.place == len(self._pairs)

    def page(self) -> str:
        """The pair in hand."""
        self._shown = self._shown or time.time()
        dataset, sample = self._sample.dataset, self._sample.sample
        i, j = self._pairs[self.place]
        first, second = dataset.tables[0].row(sample.a[i]), dataset.tables[1].row(sample.b[j])
        rows = "".join(
            f"<tr><th scope=row>{html.escape(name)}</th><td>{html.escape(first[name])}</td>"
            f"<td>{html.escape(second[name])}</td></tr>"
            for name in dataset.attributes
        )
        back = "<button name=answer value=back accesskey=b>Back <kbd>B</kbd></button>" if self.place else ""
        return (
            f"<p class=quiet role=status>Pair {self.place + 1} of {len(self._pairs)}</p>"
            f"<p>{html.escape(self._sample.agreement.criteria)}</p>"
            "<table><thead><tr><td></td><th scope=col>One record</th><th scope=col>The other record</th></tr></thead>"
            f"<tbody>{rows}</tbody></table><form method=post><input type=hidden name=pair value={self.place}>"
            "<button class=main name=answer value=yes>The same <kbd>Y</kbd></button>"
            f"<button class=main name=answer value=no>Not the same <kbd>N</kbd></button>{back}</form>{_KEYS}"
        )

    def answer(self, given: Mapping[str, str]) -> None:
        """Keep an answer to the pair in hand; one to another pair comes from a page that is not the newest."""
        if self.done or given.get("pair") != str(self.place) or self._shown is None:
            return
        if given.get("answer") == "back" and self.place:
            self.place, self._shown = self.place - 1, None
        elif given.get("answer") in ("yes", "no"):
            self._keep(given["answer"])
            self.place, self._shown = self.place + 1, None

    def _keep(self, answer: str) -> None:
        i, j = self._pairs[self.place]
        tables, sample = self._sample.dataset.tables, self._sample.sample
        ids = (tables[0].ids[sample.a[i]], tables[1].ids[sample.b[j]])
        path = self._folder / "side-by-side.csv"
        is_new = not path.exists()
        with path.open("a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(_COLUMNS)
            writer.writerow([*self._named, self.place, *ids, f"{self._shown:.3f}", f"{time.time():.3f}", answer])


_KEYS = """<script>
addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const value = { y: "yes", n: "no", b: "back" }[event.key.toLowerCase()];
  document.querySelector(`button[value=${value}]`)?.click();
});
addEventListener("submit", (event) => { if (window.sent) event.preventDefault(); window.sent = true; });
</script>"""


# The seat

_BAR = f"""<aside class="sitting-bar" aria-label="Study"><span>You are {{participant}}</span>
<a href="{_HERE}">Done here? Go on</a></aside>
<style>.sitting-bar {{{{ position: fixed; left: 1rem; bottom: 1rem; z-index: 5000; display: flex; gap: 1rem;
padding: .4rem .9rem; border-radius: 999px; background: var(--accent, #0b5f66); color: var(--accent-ink, #fff);
box-shadow: 0 1px 6px #0005 }}}} .sitting-bar a {{{{ color: inherit }}}} body {{{{ padding-bottom: 4rem }}}}</style>"""
_PAGE = (
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin"><title>{title} – {participant}</title><style>"""
    + STYLE.replace("{", "{{").replace("}", "}}")
    + """
table {{ border-collapse: collapse; width: 100%; margin: 1rem 0 }} th {{ text-align: left; color: var(--quiet) }}
td, th {{ padding: .5rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere }}
tbody td {{ width: 44%; font-size: 1.1rem }} form {{ display: flex; gap: .7rem; flex-wrap: wrap; margin: 1.2rem 0 }}
button, a.button {{ font: inherit; padding: .5rem 1.1rem; border-radius: 6px; border: 1px solid var(--accent);
  background: none; color: inherit; cursor: pointer; text-decoration: none; display: inline-block }}
button.main, a.main {{ background: var(--accent); color: Canvas }}
main {{ border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.6rem 1.6rem }}
kbd {{ font-size: .8em; opacity: .8; margin-left: .4em }}
</style></head><body><main><p class=quiet>{participant}</p><h1>{title}</h1>{content}</main></body></html>
"""
)


class Seat:
    """The application around the owner's app."""

    def __init__(self, study: PeopleStudy, participant: str, name: str, owner: SeatApp) -> None:
        self._study, self._participant, self._owner = study, participant, owner
        self._folder = study.own_folder(participant)
        self._sitting = study.sitting(study.couple_of(participant), name)
        self._pairs = Pairs(study, participant, name)
        self._access = Access(owner.workspace.database)
        self._has_practised()  # the records are invented now, not while somebody waits
        ui.add_body_html(_BAR.format(participant=participant), shared=True)

    def around(self, app: ASGIApp) -> ASGIApp:
        """With the app that it stands before."""
        self._app = app
        return self

    @property
    def step(self) -> str:
        """What is in hand."""
        if not (self._folder / "consent.json").exists():
            return CONSENT
        if not self._has_practised():
            return PRACTICE
        finished = {BESIDE: self._pairs.done, BLIND: self._is_over()}
        return next((part for part in self._sitting.parts if not finished[part]), DONE)

    def _is_over(self) -> bool:
        self._owner.cache.refresh()
        return self._owner.cache.progress().over

    def _has_practised(self) -> bool:
        path = self._folder / "practice.json"
        if path.exists():
            return True
        result = self._practised()
        passed = result.asked == RECORDS and min(result.found, result.clean) >= PASSED
        if passed:
            path.write_text(json.dumps({**asdict(result), "passed": time.time()}) + "\n", "utf-8")
        return passed

    def _practised(self) -> PracticeResult:
        made = self._owner.practice_of(self._participant, make=True)
        assert made is not None and made.practice is not None
        return made.practice.result()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            session = scope[SESSION]
            if session.name != self._participant:
                self._access.name(session.browser, self._participant)
                scope = {**scope, SESSION: replace(session, name=self._participant)}
        await (await self._answering(scope, receive))(scope, receive, send)

    async def _answering(self, scope: Scope, receive: Receive) -> ASGIApp:
        """What answers a request: the app where its turn has come, or a page of ours."""
        if scope["type"] == "lifespan":
            return self._app
        step, path = self.step, scope["path"]
        if scope["type"] == "websocket":
            return WebSocketClose(1008) if step == CONSENT else self._app
        if path == _HERE and scope["method"] == "POST":
            return await self._take(Request(scope, receive), step)
        if path == _HERE:
            title, content = self._page(step)
            return HTMLResponse(_PAGE.format(title=title, participant=self._participant, content=content))
        shown = step == BLIND or (step == PRACTICE and path == "/practice")
        return self._app if shown or path.startswith(("/static/", "/_nicegui/")) else RedirectResponse(_HERE, 303)

    async def _take(self, request: Request, step: str) -> RedirectResponse:
        """What was pressed on one of our own pages."""
        given = {name: values[-1] for name, values in parse_qs((await request.body()).decode("utf-8")).items()}
        if step == CONSENT and given.get("answer") == "agree":
            self._consented()
        elif step == BESIDE:
            self._pairs.answer(given)
        return RedirectResponse(_HERE, 303)

    def _consented(self) -> None:
        digest = hashlib.sha256(self._study.consent(self._participant).encode()).hexdigest()
        kept = {"participant": self._participant, "agreed": time.time(), "text_sha256": digest}
        (self._folder / "consent.json").write_text(json.dumps(kept) + "\n", "utf-8")

    def _page(self, step: str) -> tuple[str, str]:
        """Title and content of our own page for a step."""
        if step == CONSENT:
            agreed = self._study.consent(self._participant)
            asked = (
                "<form method=post><button class=main name=answer value=agree>I agree, and take part</button></form>"
            )
            refusing = "If you do not agree, close this window; nothing has been recorded."
            return "Before you begin", f"{agreed}{asked}<p class=quiet>{refusing}</p>"
        if step == PRACTICE:
            return "Practise first", (
                f"<p>Write questions about {RECORDS} invented records; after each you see whether it finds its partner,"
                f" and you can change it as often as you like. When {PASSED} of the {RECORDS} find their partner and"
                f" {PASSED} let nobody else pass, you can go on.</p><p role=status>So far:"
                f" {self._practised().sentence}</p><p><a class='button main' href='/practice'>To the practice</a></p>"
            )
        if step == DONE:
            return "That was all", "<p>Thank you! Everything is kept. You can close this window.</p>"
        title = f"Part {self._sitting.parts.index(step) + 1} of 2: {'questions' if step == BLIND else 'pairs'}"
        return title, self._blind_content() if step == BLIND else self._pairs.page()

    def _blind_content(self) -> str:
        progress = self._owner.cache.progress()
        if progress.asked and not progress.handed_in:
            said = f"Round {progress.round} of {progress.rounds}: {progress.saved} of {progress.asked} questions saved."
            left = "" if progress.saved < progress.asked else " Hand in the round when you are content with them."
            return f"<p role=status>{said}{left}</p><p><a class='button main' href='/'>To the records</a></p>"
        return (
            "<p role=status>Nothing is asked of you now: your partner is still writing, or the answers are on their"
            " way. This page looks again by itself.</p><script>setTimeout(() => location.reload(), 4000)</script>"
        )
