"""`blindlabel owner …`: take part in a study with a table of one's own."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from blindlabel.cli.accounts import accounts_app
from blindlabel.cli.audit import owner_audit
from blindlabel.cli.output import (
    AS_LOG,
    JsonFlag,
    answer,
    group,
    is_meant,
    log_happened,
    log_to_stderr,
    reporting,
    result,
    result_json,
    say,
    sure,
    with_noun,
)
from blindlabel.cli.owner_looking import (
    ColumnOption,
    Delimiter,
    check,
    columns_given,
    looking_at,
    preview,
    records,
    table,
)
from blindlabel.cli.owner_questions import annotators, log_app, questions_app
from blindlabel.cli.stores import (
    Authority,
    ClientCertificate,
    IdColumn,
    Insecure,
    Proxy,
    TextEncoding,
    Unasked,
    Via,
    WorkspaceFolder,
    owner_rekey,
    passphrase,
    workspace_at,
)
from blindlabel.errors import InputError, OutsideError

if TYPE_CHECKING:
    from blindlabel.engines.interface import Working
    from blindlabel.parties.owner import OwnerParty
    from blindlabel.parties.questions import Look, QuestionSource
    from blindlabel.parties.round_work import Report
    from blindlabel.protocol.agreement import Agreement
    from blindlabel.protocol.happened import Happened
    from blindlabel.storage.workspace import Workspace
    from blindlabel.transport.connecting import Reaching

app = group("owner", "Take part in a study: join, verify, annotate, run.")
app.add_typer(accounts_app)
app.add_typer(log_app)
app.add_typer(questions_app)
app.command("annotators")(annotators)
app.command("audit")(owner_audit)
app.command("check")(check)
app.command("preview")(preview)
app.command("records")(records)
app.command("table")(table)
app.command("rekey")(owner_rekey)


@contextmanager
def _party(
    workspace: Workspace,
    said: Reaching | None = None,
    working: Working | None = None,
    report: Report | None = None,
    patience: float = 30.0,
) -> Iterator[OwnerParty]:
    from blindlabel.engines.interface import IN_THIS_PROCESS
    from blindlabel.parties.owner import OwnerParty
    from blindlabel.transport.connecting import AS_REMEMBERED, connect

    transport = connect(workspace, said or AS_REMEMBERED, patience=patience)
    with closing(transport):
        tell = partial(_tell_news, workspace)
        yield OwnerParty(workspace, transport, working=working or IN_THIS_PROCESS, report=report, tell=tell)


@app.command("join")
def join(
    invitation: Annotated[Path, Argument(help="The invitation file from the coordinator.")],
    table: Annotated[Path, Argument(help="Your table: CSV, JSON lines, Parquet or Excel. It stays where it is.")],
    *,
    at: WorkspaceFolder,
    id_column: IdColumn = None,
    column: ColumnOption = None,
    encoding: TextEncoding = None,
    delimiter: Delimiter = None,
    via: Via = "",
    ca: Authority = None,
    proxy: Proxy = "",
    client_certificate: ClientCertificate = None,
    insecure: Insecure = False,
    accept_weaker: Annotated[
        bool, Option("--accept-weaker", help="Join although others can learn more than by the default agreement.")
    ] = False,
) -> None:
    """Join a study: read the agreement, say how many bits others can learn, check the table against it, make keys and a
    workspace, and tell the coordinator.
    """
    from blindlabel.api.parties import ledger_entry
    from blindlabel.parties.joining import TableOptions, invited_to
    from blindlabel.parties.joining import join as make
    from blindlabel.protocol.interfaces import Unreachable
    from blindlabel.protocol.refusals import ProtocolError
    from blindlabel.storage.ledger import enter, said_before
    from blindlabel.storage.secret_files import read_invitation
    from blindlabel.storage.workspace import Workspace
    from blindlabel.transport.connecting import Reaching

    options = TableOptions(table, id_column, columns_given(column), encoding, delimiter)
    invited = read_invitation(invitation)
    line = Reaching(via, ca, proxy, client_certificate, insecure).settings(invited.address)
    agreement = invited_to(invited)
    entry = ledger_entry(agreement, invited.owner, table)
    _accept(agreement, said_before(entry), accepted=accept_weaker)
    workspace = make(Workspace.create(at, passphrase()), invited, options, line)
    _tell_joined(workspace)
    had = True
    try:
        had = enter(entry)
        with _party(workspace, patience=3.0) as owner:
            owner.send()
    except Unreachable as error:
        raise OutsideError(
            f"{error} The workspace {at} is made and kept; `blindlabel owner run --at {at}` tells the coordinator that"
            " you join."
        ) from error
    except OutsideError as error:
        workspace.delete()  # nothing has arrived anywhere, so nothing is to be kept
        if not had:
            enter(entry, out=True)
        if not isinstance(error, ProtocolError):
            raise
        raise InputError(
            f"{error} Nothing was kept. Ask the coordinator for a new invitation (`blindlabel coordinator reinvite`)."
        ) from error
    result(str(at))
    say(f"Next: when the others have joined too, compare words with them: blindlabel owner verify --at {at}")


def _accept(agreement: Agreement, before: str, *, accepted: bool) -> None:
    """Show what others can learn and what earlier studies gave away. If it is more than by default, somebody has to
    agree.
    """
    from blindlabel.parties.accepting import beside_default

    found = beside_default(agreement)
    say("What others can learn at most, in the whole study:")
    for line in found.lines():
        say(line)
    if before:
        say(f"NOTE: {before}")
    if found.weaker() and not accepted and sys.stdin.isatty():
        say(found.refusal("yes"))
        accepted = is_meant("Join anyway?", "--accept-weaker")
    found.require("--accept-weaker", accepted=accepted)


def _tell_joined(workspace: Workspace) -> None:
    """What a person should know at once after joining."""
    from blindlabel.transport.connecting import is_in_clear

    agreement, way = workspace.agreement, workspace.settings["via"]
    say(f"You are {workspace.name} in the study {agreement.name}. The criteria: {agreement.criteria}")
    say(f"The agreement's hash is {agreement.hash}.")
    if is_in_clear(way):
        say(f"NOTE: over {way} your token travels in clear. Ask the coordinator for an https:// address.")
    if workspace.remembered("unread"):
        say(f"NOTE: values that cannot be read as their type stay text: {workspace.remembered('unread')}.")
    if workspace.remembered("cut"):
        say(f"NOTE: {workspace.remembered('cut')}")
    if workspace.remembered("without_ids"):
        say("NOTE: the table has no id column, so rows are named by position. Name one with --id-column, or add `id`.")


@app.command("verify")
def verify(
    peer: Annotated[str | None, Argument(help="The owner to confirm, whose person reads words to you.")] = None,
    *,
    at: WorkspaceFolder,
    words: Annotated[str | None, Option(help="The words you heard, for scripts. Default: you are asked.")] = None,
    json: JsonFlag = False,
) -> None:
    """Show the words that you read to every other owner, by telephone or in person, and confirm another owner by typing
    the words that you hear. Until then nothing is sampled, encrypted or asked.
    """
    workspace = workspace_at(at)
    with _party(workspace) as owner:
        owner.send()
        owner.fetch(0.0)
        state = workspace.state()
        if state.keys is None:
            raise InputError(
                "The other owners have not all joined yet, so there is nothing to compare. Try again later."
            )
        if peer == workspace.name:
            raise InputError(f"You are {peer}. Name another owner, whose person reads words to you.")
        if words is not None and peer is None:
            raise InputError("Say whose words these are: blindlabel owner verify OWNER --words …")
        own = {one.name: owner.words(one.name) for one in state.keys.peers}
        if peer is not None and peer not in state.confirmed:
            state.peer(peer)  # refuses an unknown name before anything is asked
            if words is None:
                say(f"Read to {peer}: {' '.join(own[peer])}")
                words = typer.prompt(f"The words that {peer} reads to you", err=True)
            owner.verify(peer, words)
        owner.send()
    confirmed = workspace.state().confirmed
    if json:
        result_json({name: {"words": list(said), "confirmed": name in confirmed} for name, said in own.items()})
        return
    for name, said in own.items():
        result(f"{name}: {' '.join(said)}")
        then = f"Read these to {name}; then type what {name} reads to you: blindlabel owner verify {name} --at {at}"
        say("  Confirmed." if name in confirmed else f"  {then}")


@app.command("status")
def status(*, at: WorkspaceFolder, json: JsonFlag = False) -> None:
    """Show how the study stands on this side, and what it is waiting for."""
    from blindlabel.parties.owner import steps_of
    from blindlabel.protocol.agreement import is_overdue

    workspace = workspace_at(at)
    progress, activity, steps = workspace.progress(), workspace.activity(), steps_of(workspace)
    overdue = is_overdue(workspace.agreement, datetime.date.today()) and not progress.over
    if json:
        document = asdict(progress) | {
            "study": workspace.agreement.name,
            "owner": workspace.name,
            "deadline": workspace.agreement.deadline or None,
            "overdue": overdue,
            "next": [asdict(step) for step in steps],
            "waiting": [step.sentence for step in steps],
            "running": workspace.is_running,
            "unsent": len(workspace.unsent()),
            "activity": activity and {name: getattr(activity, name) for name in ("phase", "share", "sentence")},
        }
        result_json(document)
        return
    stands = "over" if progress.over else f"round {progress.round} of {progress.rounds}"
    result(f"{workspace.name} in {workspace.agreement.name}: {stands}")
    if progress.asked and not progress.over:
        fixed = ", handed in" if progress.handed_in else ""
        result(f"  questions: {progress.saved} saved, {progress.drafts} drafts, {progress.open} open{fixed}")
    if workspace.agreement.deadline and not progress.over:
        result(f"  to be done by {workspace.agreement.deadline}{', which has passed' if overdue else ''}")
    for step in steps:
        result(f"  {step.sentence}")
    if activity is not None and 0 < activity.share < 1 and workspace.is_running:
        result(f"  at work now: {activity.sentence}, {activity.share:.0%}")
    if activity is not None and activity.phase == "stopped" and not workspace.is_running:
        result(f"  `owner run` stopped with these words: {activity.sentence}")
    if steps and not workspace.is_running:
        machine = any(step.who == "machine" for step in steps)
        does = "does that, and is not running" if machine else "fetches news, and is not running"
        result(f"  `blindlabel owner run --at {at}` {does}.")


@app.command("annotate")
def annotate(
    *,
    at: WorkspaceFolder,
    port: Annotated[int | None, Option(min=0, max=65535, help="Port on 127.0.0.1. Default: as last time.")] = None,
    no_browser: Annotated[bool, Option("--no-browser", help="Only print the link.")] = False,
    browsers: Annotated[int, Option(min=1, max=50, help="How many links to print; each lets one browser in.")] = 1,
    run: Annotated[bool, Option("--run", help="Also do what `owner run` does, in a process of its own.")] = False,
    address: Annotated[
        str, Option("--serve", envvar="BLINDLABEL_SERVE", help="The proxy's https://… address, for others to reach it.")
    ] = "",
    host: Annotated[str, Option(help="With --serve: address to listen on, or the path of a socket.")] = "127.0.0.1",
    proxy: Annotated[
        list[str] | None, Option(envvar="BLINDLABEL_PROXY", help="With --serve: address or network of the proxy.")
    ] = None,
    header: Annotated[
        str,
        Option(
            "--user-header",
            envvar="BLINDLABEL_USER_HEADER",
            help="With --serve: the header in which the proxy says who signed in. Without it: `owner accounts`.",
        ),
    ] = "",
) -> None:
    """Open the web app to write questions. It listens on this machine only, and the link that is printed lets one
    browser in. With --serve, people on other machines reach it through a proxy with TLS, and sign in.
    """
    from blindlabel.cli.serving import annotate as open_app

    served_at = 8471 if address and port is None and not host.startswith("/") else port
    where: dict[str, Any] = {"port": served_at, "browsers": browsers, "address": address, "host": host}
    where |= {"header": header} | ({"proxies": tuple(proxy)} if proxy else {})
    open_app(at, browser=not no_browser and not address, run=run, **where)


QuestionFolder = Annotated[
    Path | None, Option(help="Folder of .question files, named by id or position (from 0); later rounds in round-2/, …")
]
Cluster = Annotated[str, Option(help="Evaluate on a Dask cluster: local, local:2, tcp://host:port or tls://host:port.")]


def _source(questions: Path | None, look: Look, *, auto: bool, replace: bool) -> QuestionSource | None:
    """Where questions come from, other than the web app."""
    from blindlabel.parties.questions import FolderQuestions, SuggestedQuestions

    if questions is not None and auto:
        raise InputError("Questions come from --questions or from --auto, not from both.")
    if replace and not auto:
        raise InputError("--replace is about suggested questions: use it with --auto.")
    suggested = SuggestedQuestions(replace=replace, look=look) if auto else None
    return FolderQuestions(questions, look) if questions else suggested


@app.command("run")
def run(
    *,
    at: WorkspaceFolder,
    questions: QuestionFolder = None,
    auto: Annotated[bool, Option("--auto", help="Suggest all questions that nobody has saved.")] = False,
    replace: Annotated[bool, Option("--replace", help="With --auto: also those that somebody saved.")] = False,
    hand_in: Annotated[bool, Option("--hand-in", help="Hand in the round if all its questions are saved.")] = False,
    anyway: Annotated[bool, Option("--anyway", help="Also hand in what the page shows in red, for good.")] = False,
    workers: Annotated[int, Option(min=1, help="Processes for encryption and evaluation.")] = 1,
    cluster: Cluster = "",
    once: Annotated[bool, Option("--once", help="Do what can be done now and stop.")] = False,
    log: Annotated[bool, Option("--log", help="Make standard error a log: one JSON object per line.")] = False,
    via: Via = "",
    ca: Authority = None,
    proxy: Proxy = "",
    client_certificate: ClientCertificate = None,
    insecure: Insecure = False,
) -> None:
    """Do everything that needs no person: send, fetch, encrypt, evaluate, round by round. It may be stopped and started
    at any time.
    """
    from blindlabel.engines.interface import Working
    from blindlabel.parties.owner import run as take_turns
    from blindlabel.parties.questions import open_tasks
    from blindlabel.transport.connecting import Reaching

    if log:
        log_to_stderr(said=True)
    workspace = workspace_at(at)
    look = looking_at(workspace, anyway=anyway)
    source = _source(questions, look, auto=auto, replace=replace)
    _say_what_is_not_used(workspace, questions)
    said = Reaching(via, ca, proxy, client_certificate, insecure)
    with workspace.locked_for("owner run"), reporting(workspace) as report:
        working, patience = Working(workers, cluster=cluster), 4.0 if once else 30.0
        with _party(workspace, said, working, report, patience) as owner:
            try:
                if hand_in:
                    look({task.record: task.question for task in open_tasks(workspace) if task.question is not None})
                    workspace.hand_in()
                over = take_turns(owner, source, once=once, tell=say)
            except (InputError, OutsideError) as error:  # the web app says why it stopped
                workspace.say("stopped", 0.0, str(error))
                raise
    if over:
        say(f"The study is over. Write the ground truth with `blindlabel export {at}`.")
    elif once:
        _say_what_to_carry(workspace)


def _say_what_is_not_used(workspace: Workspace, questions: Path | None) -> None:
    """A round that was handed in does not change, whatever a folder has for it now."""
    state = workspace.state()
    if questions is not None and state.rounds and state.rounds[-1].handed_in:
        say(
            f"NOTE: round {state.round} was handed in earlier and does not change: {questions} is not used for it."
            f" `blindlabel owner questions list --at {workspace.folder}` shows the questions that count."
        )


def _tell_news(workspace: Workspace, happened: Happened) -> None:
    """What happened: all of it to the log, to a person only what cannot be undone."""
    if AS_LOG.get():
        log_happened(workspace.agreement.name, replace(happened, facts={"owner": workspace.name} | happened.facts))
    elif happened.what == "handed in" and happened.facts["questions"]:
        asked = with_noun(int(str(happened.facts["questions"])), "question", "questions")
        say(f"Round {happened.facts['round']} is handed in, with {asked}.")


def _say_what_to_carry(workspace: Workspace) -> None:
    """With a folder: which files go where, once this side has done all it can."""
    way = workspace.settings["via"]
    if not way.startswith("folder:"):
        return
    place = Path(way.removeprefix("folder:")) / workspace.agreement.hash[:16]
    say(
        f"Where the folder is not shared: carry {place / f'from-{workspace.name}'} and {place / 'bodies'} to the"
        f" coordinator, have it serve, and bring {place / f'to-{workspace.name}'} and {place / 'bodies'} back. Copying"
        " all of it does no harm."
    )


@app.command("checked")
def checked(
    pairs: Annotated[Path, Argument(help="The coordinator's file of pairs to check.")],
    *,
    at: WorkspaceFolder,
    to: Annotated[Path, Option(help="The file to write.")],
    other: Annotated[Path | None, Option("--with", help="What the other's `owner checked` wrote: show both.")] = None,
    yes: Unasked = False,
) -> None:
    """Check pairs in clear, so that an estimate has a value: first seal your records of these pairs for the other
    owner, which is your consent; then, with what it sealed for you, write both side by side. Enter 1 (match) or 0 in
    the column `match` of the coordinator's file and return that file.
    """
    from blindlabel.export.formats import replacing
    from blindlabel.parties import checking

    workspace = workspace_at(at)
    if other is not None:
        replacing(to, lambda part: checking.write_side_by_side(workspace, pairs, other, part))
        say(f"{to} has records of both in clear: keep it here, and delete it when {pairs.name} is filled in.")
        return
    count = len(checking.own_records(workspace, pairs))
    (peer,) = workspace.state().peers
    sure(f"Show {count} of your records to the experts of {peer}, in clear?", "Nothing was shown.", yes)
    replacing(to, lambda part: checking.write_shown(workspace, pairs, part))
    say(f"{to} holds {count} records, sealed for {peer} alone.")


@app.command("pilot")
def pilot(
    known: Annotated[Path, Argument(help="The other owner's records of known pairs; the id is that of your row.")],
    *,
    at: WorkspaceFolder,
    json: JsonFlag = False,
) -> None:
    """Set the level of your verdicts by pairs that both owners know, as many as the agreement allows (sampling.pilot).
    Nothing is sent. A running web app has to be restarted to use it.
    """
    from blindlabel.parties.piloting import take_pilot
    from blindlabel.parties.questions import suggester_for

    workspace = workspace_at(at)
    level = take_pilot(workspace, suggester_for(workspace), known)
    answer(json, {"pairs": level.pairs, "shift": level.shift}, [f"Set by {level.pairs} pairs: {level.in_words}"])
    say(level.sentence)


@app.command("delete")
def delete(*, at: WorkspaceFolder, yes: Unasked = False) -> None:
    """Delete the workspace for good: keys, questions, encrypted records and labels. The table stays."""
    workspace = workspace_at(at)
    agreement = workspace.agreement
    sure(f"Delete everything of the study {agreement.name} ({agreement.hash[:12]}…) here?", "Nothing was deleted.", yes)
    workspace.delete()
    say("Deleted. Backups and carried folders have to be deleted where they are.")
