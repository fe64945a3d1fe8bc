"""`blindlabel coordinator …`: write an agreement, invite owners, serve, and see how studies stand."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from dataclasses import asdict
from json import loads as json_of
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from blindlabel.cli import coordinator_estimates as estimating
from blindlabel.cli.audit import coordinator_audit
from blindlabel.cli.output import JsonFlag, answer, group, log_happened, log_to_stderr, result, say, sure, with_noun
from blindlabel.cli.stores import (
    DatabaseAddress,
    Home,
    Insecure,
    StudyName,
    Unasked,
    coordinator_at,
    coordinator_from,
    coordinator_rekey,
    passphrase,
    read_agreement,
)
from blindlabel.cli.trying import TypeOption, listed, types_given
from blindlabel.errors import InputError

if TYPE_CHECKING:
    from blindlabel.parties.coordinator import CoordinatorParty
    from blindlabel.parties.study import StudyStanding
    from blindlabel.protocol.agreement import Agreement

app = group("coordinator", "Run studies: agreements, invitations, the server, results.")

app.command("audit")(coordinator_audit)
app.command("rekey")(coordinator_rekey)
app.command("checked")(estimating.checked)
app.command("estimate")(estimating.estimate)
app.command("plan")(estimating.plan)


@app.command("new")
def new(
    file: Annotated[Path, Argument(help="The agreement file to write, for instance agreement.toml.")],
    *,
    name: Annotated[str, Option(help="What the study is called.")],
    owners: Annotated[str, Option(help="The owners' names, separated by commas.")],
    attributes: Annotated[str, Option(help="The attributes that questions may name, separated by commas.")],
    records: Annotated[int | None, Option(help="Rows of each table (50), or pairs of the candidates (200).")] = None,
    enriched: estimating.Enriched = "",
    candidates: estimating.CandidatesOption = None,
    threshold: estimating.Threshold = None,
    rows: estimating.TableRows = None,
    estimates: estimating.Estimates = False,
    checked: estimating.Checked = 0,
    rounds: Annotated[int, Option(help="Rounds at most.")] = 3,
    engine: Annotated[str, Option(help="packed, plain, or another that is installed.")] = "packed",
    record_length: Annotated[int, Option(help="Longest record in characters, after preparation.")] = 148,
    types: TypeOption = None,
    proposal: Annotated[
        list[Path] | None,
        Option(help="What an owner's `owner check --json` printed: types for attributes. Repeatable."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a new agreement with comments, to be edited and then sent out with `invite`."""
    from blindlabel.engines.registry import rules_named
    from blindlabel.protocol import agreement as agreements
    from blindlabel.protocol.agreement import to_text

    rules_named(engine)  # refuses an unknown name
    if file.exists() and not force:
        raise InputError(f"{file} already exists; --force replaces it.")
    named, keys = listed(owners, "--owners"), listed(enriched, "--enriched")
    made = agreements.new(
        name,
        named,
        listed(attributes, "--attributes"),
        rounds=rounds,
        preparation=_preparation(types, proposal),
        sampling=estimating.agreed_sampling(
            named, records, keys, candidates, threshold, rows, estimates=estimates, checked=checked
        ),
        encoding={"engine": engine, "record_length": record_length},
    )
    file.write_text(to_text(made), encoding="utf-8")
    result(str(file))
    say("Edit it, above all the criteria, and then run `blindlabel coordinator invite`.")


def _preparation(given: list[str] | None, files: list[Path] | None) -> dict[str, object]:
    """The types on which the owners' proposals agree, and those decided here. Says where the proposals differ."""
    from blindlabel.records.proposing import together

    decided, proposed, readable, orders = types_given(given), [], [], set()
    for file in files or []:
        try:
            found = json_of(file.read_text(encoding="utf-8"))
            proposed.append({name: str(one["type"]) for name, one in found["types"].items()})
            readable.append({name: list(map(str, kinds)) for name, kinds in found["readable"].items()})
            orders |= {found["day_first"]} - {None}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{file} is not what `owner check --json` prints.") from error
    alike, differences = together(proposed, readable)
    for attribute, sentence in differences.items():
        if attribute not in decided:
            say(f"NOTE: {sentence}")
    if len(orders) > 1:
        say("NOTE: dates have the day first in one table and the month in another; preparation.day_first is false.")
    return {"types": alike | decided, "day_first": orders == {True}}


@app.command("check")
def check(file: Annotated[Path, Argument(help="An agreement.")], json: JsonFlag = False) -> None:
    """Check an agreement before anybody is invited: its hash, what the study costs (bytes, time per round on a machine
    like this, memory, disk, trips with a carried folder), how many bits each party can learn at most, and what is worth
    a second look.
    """
    from blindlabel.parties.accounting import account_of, costs_of
    from blindlabel.protocol.agreement import advice

    agreement = read_agreement(file)
    account, costs = account_of(agreement), costs_of(agreement)
    named = {"name": agreement.name, "hash": agreement.hash, "owners": list(agreement.owners)}
    document = named | {"costs": asdict(costs), "account": account.to_json()}
    answer(json, document | {"notes": list(advice(agreement, datetime.date.today()))}, [agreement.hash])
    if not json:
        for line in ("costs of the study:", *(f"  {line}" for line in costs.lines()), *account.lines()):
            say(line)
        _say_advice(agreement)


def _say_advice(agreement: Agreement) -> None:
    """What is worth a second look before anybody is invited."""
    from blindlabel.protocol.agreement import advice

    for sentence in advice(agreement, datetime.date.today()):
        say(f"NOTE: {sentence}")


@app.command("compare")
def compare(
    first: Annotated[Path, Argument(help="An agreement.")],
    second: Annotated[Path, Argument(help="Another one.")],
    json: JsonFlag = False,
) -> None:
    """Show what differs between two agreements. The exit code is 1 if anything does."""
    from blindlabel.protocol import agreement as agreements

    differences = agreements.compare(read_agreement(first), read_agreement(second))
    document = {"same": not differences, "differences": differences}
    answer(json, document, differences or ["The agreements are the same."])
    if differences:
        raise Exit(1)


@app.command("invite")
def invite(
    file: Annotated[Path, Argument(help="The agreement.")],
    *,
    at: Home,
    address: Annotated[str, Option(help="Where owners reach you: https://… or folder:/path.")] = "",
    to: Annotated[Path | None, Option(help="Folder for the invitation files. Default: the agreement's folder.")] = None,
    candidates: Annotated[Path | None, Option(help="The linkage's list, if the agreement is about one.")] = None,
    insecure: Insecure = False,
    database: DatabaseAddress = None,
    json: JsonFlag = False,
) -> None:
    """Begin the study and write one invitation file for each owner. Hand each to its owner in private: it holds a
    one-time code.
    """
    from blindlabel.api.parties import Coordinator

    agreement = read_agreement(file)
    coordinator = Coordinator(at, database=database, passphrase=passphrase())
    paths = coordinator.invite(file, address, to=to, insecure=insecure, candidates=candidates)
    document = {"study": agreement.hash, "invitations": {owner: str(path) for owner, path in paths.items()}}
    answer(json, document, (f"{owner}: {path}" for owner, path in paths.items()))
    say(f"The study {agreement.name} has the hash {agreement.hash}.")
    if not address:
        say("NOTE: the invitations name no address (--address), so every owner has to give one with --via.")
    _say_advice(agreement)


@app.command("reinvite")
def reinvite(
    study: StudyName,
    owner: Annotated[str, Argument(help="The owner whose invitation was lost.")],
    *,
    at: Home,
    address: Annotated[str, Option(help="Where owners reach you: https://… or folder:/path.")] = "",
    to: Annotated[Path, Option(help="Folder for the invitation file.")] = Path(),
    lost: Annotated[
        bool, Option("--lost", help="It lost its workspace: it joins again, and its pairings start anew.")
    ] = False,
    insecure: Insecure = False,
    database: DatabaseAddress = None,
) -> None:
    """Write a new invitation for an owner that has not joined, or lost its workspace. The earlier one becomes void."""
    coordinator = coordinator_from(at, database)
    result(str(coordinator.reinvite(study, owner, address, to=to, insecure=insecure, lost=lost)))
    say(f"Hand it to {owner} in private. The earlier invitation is void.")
    if lost:
        say(f"When {owner} has joined, the others compare new words with it. Their own pairings go on in the meantime.")


@app.command("remove")
def remove(
    study: StudyName,
    owner: Annotated[str, Argument(help="The owner that no longer takes part.")],
    *,
    at: Home,
    yes: Unasked = False,
    database: DatabaseAddress = None,
) -> None:
    """Go on without an owner: its pairings end as they stand, the others go on. With only two owners, the study
    ends.
    """
    from blindlabel.protocol.facts import present

    coordinator = coordinator_at(at, database)
    found = coordinator.find(study)
    then = "The others go on." if len(present(coordinator.load(found).state)) > 2 else "That ends the study."
    sure(f"Remove {owner} from {_named(coordinator, found)}? {then} It cannot come back.", "Nobody was removed.", yes)
    coordinator.remove(found, owner)
    ended = coordinator.load(found).state.ended
    say("The study is over; the owners get the labels that were agreed so far." if ended else f"{owner} is removed.")


@app.command("serve")
def serve(
    *,
    at: Home,
    host: Annotated[str, Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on.")] = 8470,
    certificate: Annotated[Path | None, Option(help="TLS certificate (PEM).")] = None,
    key: Annotated[Path | None, Option(help="TLS key (PEM).")] = None,
    via: Annotated[str, Option(help="folder:/path instead of HTTP.")] = "",
    once: Annotated[bool, Option("--once", help="With a folder: do what can be done now and stop.")] = False,
    metrics: Annotated[
        int | None, Option(min=0, max=65535, help="Port of metrics for Prometheus, at /metrics.")
    ] = None,
    metrics_host: Annotated[str, Option(help="Address that serves them.")] = "127.0.0.1",
    proxy: Annotated[
        list[str] | None, Option(envvar="BLINDLABEL_PROXY", help="A trusted proxy, or its network.")
    ] = None,
    limit: Annotated[list[str] | None, Option(help="name=value: change a limit of the server.")] = None,
    database: DatabaseAddress = None,
) -> None:
    """Serve all studies of this folder until stopped. The log, on standard error, is one JSON object a line."""
    from blindlabel.cli import serving

    log_to_stderr(said=not sys.stderr.isatty())
    new = at.is_dir() and not any(at.iterdir())  # a volume, say, in which studies will be made while it serves
    coordinator = coordinator_at(at, database, make=new)
    coordinator.tell = log_happened
    if via:
        serving.serve_folder(coordinator, via, once=once)
    else:
        bounds = serving.server_limits(limit or [])
        front = serving.server_front(bounds, proxy or [], certificate, key)
        figures = None if metrics is None else (metrics_host, metrics)
        serving.serve_http(coordinator, at, host, port, front, figures)


@app.command("health")
def health(
    *,
    address: Annotated[str, Option(help="Where the server listens.")] = "http://127.0.0.1:8470",
    ca: Annotated[Path | None, Option(help="Certificate (PEM) to trust for its TLS.")] = None,
    json: JsonFlag = False,
) -> None:
    """Ask a running server whether it can serve its studies. The exit code is 3 if it cannot."""
    from blindlabel.transport.client import health_of
    from blindlabel.transport.connecting import read_authority

    found = health_of(address, None if ca is None else read_authority(ca))
    studies = with_noun(found.studies, "open study", "open studies")
    answer(json, found.model_dump(), [f"{found.status}: {studies}, version {found.version}"])


@app.command("code")
def code(*, at: Home, database: DatabaseAddress = None) -> None:
    """Print the code that the coordinator's page asks for. Keep it private: the page shows how every study stands."""
    from blindlabel.web.coordinator_page import sign_in_code

    result(sign_in_code(coordinator_at(at, database)))


@app.command("status")
def status(
    study: Annotated[
        str | None, Argument(help="The study's name, or the beginning of its hash. Default: all studies.")
    ] = None,
    *,
    at: Home,
    database: DatabaseAddress = None,
    json: JsonFlag = False,
) -> None:
    """Show how studies stand, what they are waiting for, and how much of their leakage budget is used."""
    from blindlabel.parties.study import standing

    coordinator = coordinator_at(at, database)
    wanted = [coordinator.find(study)] if study else [row.study for row in coordinator.store.studies()]
    found = [standing(coordinator, one) for one in wanted]
    answer(json, [one.to_json() for one in found], (line for one in found for line in _lines(one)))


def _lines(one: StudyStanding) -> Iterator[str]:
    """How a study stands, and what has been given away so far, beside the most that the agreement allows."""
    from blindlabel.protocol.figures import of_round

    agreement = one.agreement
    ended = f"over ({one.ended})" if one.ended else f"in round {one.round} of {agreement.rounds}"
    yield f"{one.name} ({one.study[:12]}, {agreement.encoding.engine}): {ended}"
    if agreement.deadline and not one.ended:
        passed = ", which has passed: `coordinator close` ends the study as it stands" if one.overdue else ""
        yield f"  to be done by {agreement.deadline}{passed}"
    for number in range(1, len(one.settled) + 1):
        yield f"  round {number}: {of_round(one.settled[:number])}"
    for pairing, sample in one.parts.items():
        for part, words in ((sample.uniform, "both drawn uniformly"), (sample.by_keys, "one or both by blocking keys")):
            counts = f"{part.pairs} pairs, {part.matches} matches, {part.discarded} without a label"
            yield f"  {pairing}, {words}: {counts}"
    for owner, known in one.owners.items():
        away = f", {known.away}" if known.away else ""
        yield f"  {owner}: {known.records_asked} of {agreement.records_asked} questions used{away}"
    coordinator, asking = one.account.entries[:2]
    for pairing, used in one.used.items():
        yield (
            f"  bits about {pairing.replace(' ', ' and ')}: coordinator {used.coordinator:,} of"
            f" {coordinator.cheating:,}, an owner {used.owner:,} of {asking.honest:,},"
            f" about one key {used.key:,} of {one.account.key.spent:,}"
        )
    yield from (f"  waiting: {step.sentence}" for step in one.waiting)


@app.command("close")
def close(study: StudyName, *, at: Home, yes: Unasked = False, database: DatabaseAddress = None) -> None:
    """End a study as it stands: what agreed so far is the truth, the rest is discarded."""
    coordinator = coordinator_at(at, database)
    found = coordinator.find(study)
    sure(f"End {_named(coordinator, found)} as it stands? It cannot be opened again.", "Nothing was closed.", yes)
    coordinator.close(found)
    say("Closed. The owners get the labels that were agreed so far.")


@app.command("delete")
def delete(study: StudyName, *, at: Home, yes: Unasked = False, database: DatabaseAddress = None) -> None:
    """Delete a study for good: its keys, bodies, messages and labels."""
    coordinator = coordinator_at(at, database)
    found = coordinator.find(study)
    sure(f"Delete everything of {_named(coordinator, found)}?", "Nothing was deleted.", yes)
    coordinator.delete(found)
    say("Deleted. Backups and carried folders have to be deleted where they are.")


def _named(coordinator: CoordinatorParty, study: str) -> str:
    state = coordinator.load(study).state
    stands = f"over ({state.ended})" if state.ended else f"in round {state.round}"
    return f"the study {coordinator.agreement(study).name} ({study[:12]}…, {stands})"
