"""`blindlabel.Coordinator` and `blindlabel.Owner`: what the commands do, from Python.

The commands can continue with the same folder, and the other way round. What a party does is in `blindlabel.parties`;
here are only the folder, the line to the other side, and names.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from blindlabel.api.ground_truth import GroundTruth
from blindlabel.engines.interface import Working
from blindlabel.errors import InputError, reason
from blindlabel.estimates.candidate_pairs import Candidates, agreed_list
from blindlabel.estimates.estimating import Estimate, drawing_of, estimate, of_study
from blindlabel.export.truth import AgreedTruth, truths_of_coordinator, truths_of_owner
from blindlabel.language import Question
from blindlabel.parties import checking, joining
from blindlabel.parties import coordinator as coordinators
from blindlabel.parties import owner as owners
from blindlabel.parties.accepting import beside_default
from blindlabel.parties.accounting import account_of
from blindlabel.parties.questions import FolderQuestions, QuestionSource, SuggestedQuestions, open_tasks, save_question
from blindlabel.parties.study import StudyStanding, standing
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.facts import StudyState
from blindlabel.protocol.interfaces import OwnRecord
from blindlabel.protocol.invitation import Invitation
from blindlabel.protocol.sampling import choose
from blindlabel.storage.coordinator_store import CoordinatorStore
from blindlabel.storage.ledger import LedgerEntry, enter, table_hash
from blindlabel.storage.secret_files import read_invitation, write_invitation
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.connecting import Reaching, connect, is_in_clear
from blindlabel.transport.folder import FolderServer


class Coordinator:
    """The studies of one coordinator, in a folder (made where there is none)."""

    def __init__(self, folder: Path | str, *, database: str | None = None, passphrase: str | None = None) -> None:
        self.folder = Path(folder)
        self._party = coordinators.CoordinatorParty(CoordinatorStore(self.folder, database, passphrase))

    @staticmethod
    def write_agreement(
        file: Path | str, name: str, owners: Sequence[str], attributes: Sequence[str], **settings: Any
    ) -> Path:
        """Write a new agreement with comments, to be read by everybody and then sent round with `invite`. `settings`
        are those of docs/reference/settings.md, sections as dictionaries: `rounds=2, encoding={"engine": "packed"}`.
        """
        path = Path(file)
        if path.exists():
            raise InputError(f"{path} already exists.")
        path.write_text(to_text(agreements.new(name, owners, attributes, **settings)), encoding="utf-8")
        return path

    def invite(
        self,
        agreement: Path | str,
        address: str = "",
        *,
        to: Path | str | None = None,
        insecure: bool = False,
        candidates: Path | str | None = None,
    ) -> dict[str, Path]:
        """Begin the study of an agreement's file and write an invitation for each owner, to be handed over in private.
        `address` is where owners reach the coordinator: https://… or folder:/path. Over http:// to another machine
        the owners' tokens could be read in transit; `insecure` allows that. `candidates` is the linkage's list, if
        pairs are drawn from one: they are drawn now, once, and kept here.
        """
        _check_address(address, insecure=insecure)
        file = Path(agreement)
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise InputError(f"{file} cannot be read: {reason(error)}.") from error
        folder = file.parent if to is None else Path(to)
        agreed = agreements.from_text(text, source=str(file))
        if agreed.sampling.by_row and candidates is None:
            raise InputError("The agreement is about a linkage's list of candidate pairs. Name it (`candidates`).")
        drawn = None if candidates is None else agreed_list(candidates, agreed).drawn_rows(agreed)
        paths = {owner: _new_invitation(folder, owner) for owner in agreed.owners}

        def keep(invitations: Iterable[Invitation]) -> None:
            for invitation in invitations:
                write_invitation(invitation, paths[invitation.owner])

        self._party.create(text, address, source=str(file), keep=keep, drawn=drawn)
        return paths

    def estimate(self, study: str, candidates: Path | str, *, checked: Sequence[Path | str] = ()) -> Estimate:
        """How good the linkage is whose list the agreement names, judged by the labels of a study that is over.
        `checked` are both owners' files of checked pairs, filled in by their experts.
        """
        agreement, state, (listed, rows), truth = self._judged(study, candidates)
        said = checking.settled(agreement, state.checked, [Path(one) for one in checked]) if checked else {}
        clear = {(truth.name_a(i), truth.name_b(j)): match for (i, j), match in said.items()}
        return estimate(listed, truth, rows=rows, checked=clear)

    def checked_pairs(self, study: str, candidates: Path | str, *, to: Path | str) -> list[Path]:
        """Draw the pairs that both owners' experts are to check, once, and write a file for each owner into a folder:
        which pairs there are, and its own records in them.
        """
        agreement, state, (listed, rows), truth = self._judged(study, candidates)
        if not agreement.sampling.checked:
            raise InputError("The agreement has no checked pairs (sampling.checked).")
        drawing, ids = drawing_of(listed, truth, rows, {}), (truth.ids_a or {}, truth.ids_b or {})
        first, second = ({row: place for place, row in one.items()} for one in ids)
        found = [drawing.names[place] for place in drawing.to_check(agreement.sampling.checked)]
        names = choose(found, len(found), secrets.randbelow)  # so that the order tells no owner the classes
        pairs = self._party.keep_checked(state.study, ((first[a], second[b]) for a, b in names))
        Path(to).mkdir(parents=True, exist_ok=True)
        return checking.write_pairs(agreement, pairs, Path(to))

    def _judged(
        self, study: str, candidates: Path | str
    ) -> tuple[Agreement, StudyState, tuple[Candidates, tuple[int, int] | None], AgreedTruth]:
        """A finished study about a linkage: its agreement, its state, the list, and the labels by row."""
        named = self._party.find(study)
        agreement, state = self._party.agreement(named), self._party.load(named).state
        listed = agreed_list(candidates, agreement)
        if not state.ended:
            raise InputError(f"The study is in round {state.round}. Estimates are made when it is over.")
        (truth,) = truths_of_coordinator(self._party, named).values()
        return agreement, state, of_study(listed, agreement, state.drawn), truth

    def reinvite(
        self,
        study: str,
        owner: str,
        address: str = "",
        *,
        to: Path | str = ".",
        insecure: bool = False,
        lost: bool = False,
    ) -> Path:
        """A new invitation for an owner that has not joined; the earlier one becomes void. `lost`: also if it has
        joined and its workspace is gone.
        """
        _check_address(address, insecure=insecure)
        path = _new_invitation(Path(to), owner)
        write_invitation(self._party.reinvite(self._party.find(study), owner, address, lost=lost), path)
        return path

    def remove(self, study: str, owner: str) -> None:
        """Go on without an owner; with only two owners, that ends the study."""
        self._party.remove(self._party.find(study), owner)

    def studies(self) -> list[str]:
        """The names of all studies."""
        return [self._party.agreement(row.study).name for row in self._party.store.studies()]

    def status(self, study: str) -> StudyStanding:
        """How a study (its name, or the beginning of its hash) stands; its `to_json()` is what `coordinator status
        --json` prints.
        """
        return standing(self._party, self._party.find(study))

    def serve(self, messages: Path | str) -> bool:
        """Do everything that can be done now with the messages in a folder; True if anything happened. (Serving over
        HTTP is `blindlabel coordinator serve`.)
        """
        server, happened = FolderServer(self._party, Path(messages)), False
        while server.turn():
            happened = True
        return happened

    def close(self, study: str) -> None:
        """End a study as it stands."""
        self._party.close(self._party.find(study))

    def truths(self, study: str) -> dict[tuple[str, str], GroundTruth]:
        """The labels as they stand, for every two owners; records are named by their places in the samples, in a study
        about a linkage by their rows.
        """
        found = truths_of_coordinator(self._party, self._party.find(study))
        return {pairing: GroundTruth.of(truth) for pairing, truth in found.items()}


def _new_invitation(folder: Path, owner: str) -> Path:
    """Where an owner's invitation is to be written; refuses to replace one."""
    path = folder / f"{owner}.invitation"
    if path.exists():
        raise InputError(f"{path} already exists. Move it away, or name another folder (`to`).")
    folder.mkdir(parents=True, exist_ok=True)
    return path


def _check_address(address: str, *, insecure: bool) -> None:
    if is_in_clear(address) and not insecure:
        raise InputError(
            f"Over {address} owners' tokens would travel in clear. Give an https:// address (a self-signed certificate"
            " will do), or `insecure=True` where the network itself is protected."
        )


def ledger_entry(agreement: agreements.Agreement, owner: str, table: Path) -> LedgerEntry:
    """What a study under this agreement may tell all other owners together about a table."""
    bits, named = account_of(agreement).entries[1].cheating, (agreement.name, agreement.hash, owner)
    given = None if bits is None else bits * (len(agreement.owners) - 1)
    return LedgerEntry(*named, str(table.resolve()), table_hash(table), given, agreement.sampling.records)


class Owner:
    """One owner's side of a study, in the folder of its workspace."""

    def __init__(self, folder: Path | str, *, passphrase: str | None = None) -> None:
        self._workspace = Workspace.open(Path(folder), passphrase)

    @classmethod
    def join(
        cls,
        folder: Path | str,
        invitation: Path | str,
        table: Path | str,
        *,
        id_column: str | None = None,
        columns: Mapping[str, str] | None = None,
        encoding: str | None = None,
        via: str = "",
        authority: Path | str | None = None,
        proxy: str = "",
        certificate: Path | str | None = None,
        insecure: bool = False,
        accept_weaker: bool = False,
        passphrase: str | None = None,
    ) -> Owner:
        """Join a study with a table (a file, which stays where it is) and make the workspace. `columns` maps attributes
        of the agreement to columns of the table, where they differ. `authority` is a file with a certificate to
        trust, `proxy` the way out (http://host:port, or "environment"), `certificate` a file with your own certificate
        and its key; `insecure` accepts an http:// address of another machine. An agreement under which others can
        learn more than under the default one is refused without `accept_weaker`.
        """
        invited = read_invitation(Path(invitation))
        files = [None if one is None else Path(one) for one in (authority, certificate)]
        said = Reaching(via, files[0], proxy, files[1], insecure).settings(invited.address)
        agreement = joining.invited_to(invited)
        beside_default(agreement).require("accept_weaker=True", accepted=accept_weaker)
        options = joining.TableOptions(Path(table), id_column, columns, encoding)
        joining.join(Workspace.create(Path(folder), passphrase), invited, options, said)
        enter(ledger_entry(agreement, invited.owner, options.path))
        return cls(folder, passphrase=passphrase)

    @property
    def name(self) -> str:
        """What this owner is called in the study."""
        return self._workspace.name

    def words(self) -> dict[str, tuple[str, ...]]:
        """The words to read to every other owner, by telephone or in person; empty before all have joined."""
        with self._party() as party:
            keys = self._workspace.state().keys
            return {} if keys is None else {peer.name: party.words(peer.name) for peer in keys.peers}

    def confirm(self, peer: str, heard: Sequence[str]) -> None:
        """Say which words the other owner read out. Nothing is encrypted until they are the right ones."""
        with self._party() as party:
            party.verify(peer, " ".join(heard))

    def tasks(self) -> dict[int, OwnRecord]:
        """The records to ask about in this round, by number; empty if there is nothing to ask now."""
        records = self._workspace.records()
        return {task.record: records[task.record] for task in open_tasks(self._workspace)}

    def save(self, record: int, question: Question | str) -> Question:
        """Keep a question for a record of this round. It counts if none of its problems is an error."""
        return save_question(self._workspace, record, str(question))

    def hand_in(self) -> None:
        """Every record has its question: the round can be asked."""
        self._workspace.hand_in()

    def run(self, questions: Path | str | None = None, *, suggested: bool = False, workers: int = 1) -> bool:
        """Do everything that needs no person now: send, fetch, encrypt, evaluate. `questions` is a folder of question
        files; `suggested` writes those that nobody has saved. True when the study is over.
        """
        if questions is not None and suggested:
            raise InputError("Questions come from a folder or are suggested, not both.")
        source: QuestionSource | None = SuggestedQuestions() if suggested else None
        source = source if questions is None else FolderQuestions(Path(questions))
        with self._workspace.locked_for("run"), self._party(workers) as party:
            return owners.run(party, source, once=True, tell=lambda _: None)

    def truths(self) -> dict[str, GroundTruth]:
        """After the end: the labels of the pairs with every other owner; this owner's rows are named by their ids."""
        return {peer: GroundTruth.of(truth) for peer, truth in truths_of_owner(self._workspace).items()}

    @contextmanager
    def _party(self, workers: int = 1) -> Iterator[owners.OwnerParty]:
        line = connect(self._workspace)
        with closing(line):
            yield owners.OwnerParty(self._workspace, line, working=Working(workers))
