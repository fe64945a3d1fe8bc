"""Messages as files in a folder that both sides see: a network share, or a stick that is carried back and forth. The
same bytes as over HTTP.

    <folder>/<first 16 of the study's hash>/
        from-<owner>/<number>-<digest>.message   an owner's message, as a sealed letter (`protocol.letters`)
        from-<owner>/standing.json               how far it has the coordinator's messages, and which life it is
        to-<owner>/<number>.message              the coordinator's, sealed too
        to-<owner>/standing.json                 how the coordinator stands with this owner
        to-<owner>/refused-<file>-<hash>.txt     why it refused a file with this content: a code, then a sentence
        bodies/<hash>                            large bodies, whoever made them, each sealed or locked

Files appear whole (written under another name and renamed) and, except for the standings, never change. So copying the
folder is safe at any moment, and copying it twice does no harm. Only files with exactly these names count: sync
programs and sticks leave others beside them. A file that is lost, cut or damaged is written again by whoever it comes
from. A refusal names the content of what was refused, so the next, good copy is taken in. Nothing is deleted here;
`blindlabel owner delete` and `coordinator delete` say what is left to remove by hand.
"""

from __future__ import annotations

import hashlib
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import CoordinatorParty
from blindlabel.protocol import messages, refusals
from blindlabel.protocol.interfaces import Bodies, MovedBytes, NotYetCarried, Told, Unreachable
from blindlabel.protocol.letters import LARGEST_LETTER, Letters
from blindlabel.protocol.messages import Message
from blindlabel.protocol.refusals import (
    MalformedMessage,
    ProtocolError,
    TooEarly,
    TwoLives,
    UnknownVersion,
    WrongSender,
    WrongStudy,
    two_copies,
)
from blindlabel.protocol.shape import Blob, Shape
from blindlabel.protocol.standing import NAMELESS, ONE_LIFE, Known, Life, Standing
from blindlabel.storage.files import BodyDamaged, lasting_folder, write_atomically, write_pieces
from blindlabel.transport.background import Background

_POLL = 0.1
_STANDING = "standing.json"
_FROM_OWNER = re.compile(r"[0-9]{6}-[0-9a-f]{8}\.message")

FileVersion = tuple[Path, int, int, int]
"""A file, its size, when it was written and when it was copied here: copies keep the first of these times."""

S = TypeVar("S", bound=Shape)


class _OwnerStanding(Shape):
    """What an owner leaves in the folder about itself."""

    life: str
    known: Known


class FolderTransport:
    """An owner's side of the folder."""

    def __init__(self, folder: Path, letters: Letters, owner: str, life: Life = NAMELESS) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        self._place = _StudyFolder(folder, letters.study)
        self._letters = letters
        self._owner = owner
        self._life = life

    def close(self) -> None:
        """Nothing is open."""

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Put a message into the folder and, before it, its bodies; again if what is there is incomplete. Raises the
        coordinator's refusal, if it has refused exactly this.
        """
        message = messages.parse(wire).message
        self._check_life(joins=message.kind == "join")
        path = self._place.from_owner(self._owner) / f"{_stem(message)}.message"
        lies = _read(path, LARGEST_LETTER) if path.is_file() else b""
        refusal = self._place.to_owner(self._owner) / f"refused-{path.name}-{_hash_of(lies)}.txt"
        if refusal.exists() and self._letters.holds(lies, wire):
            code, _, sentence = refusal.read_text("utf-8").strip().partition("\n")
            raise refusals.ALL.get(code, ProtocolError)(f"The coordinator refused message {path.name}: {sentence}")
        for blob in message.blobs:
            self._place.put_body(blob, bodies)
            if moved:
                moved(blob.length, blob.length)
        self._place.put_letter(path, wire, self._letters)

    def fetch(self, known: Known, wait: float) -> Told:
        """The coordinator's messages after those that are known, without a gap."""
        self._check_life()
        if self._place.from_owner(self._owner).is_dir():
            self._say(known)
        until = time.monotonic() + wait
        while True:
            found: list[bytes] = []
            while (wire := self._message(known.received + len(found) + 1, first=not found)) is not None:
                found.append(wire)
            if found or time.monotonic() >= until:
                standing = _said(Standing, self._place.to_owner(self._owner) / _STANDING)
                return Told(found, standing or Standing(sent=known.received, latest=known.latest, has=()))
            time.sleep(_POLL)

    def _say(self, known: Known) -> None:
        own = self._place.from_owner(self._owner) / _STANDING
        said = _OwnerStanding(life=self._life.name, known=known).model_dump_json().encode()
        if not self._place.put(own, said) and _age(own) > ONE_LIFE / 3:
            own.touch()

    def _is_sent(self, number: int) -> bool:
        """Whether this workspace should be able to open a message: messages to a lost workspace may lie here too."""
        standing = _said(Standing, self._place.to_owner(self._owner) / _STANDING)
        if standing is None or number > 1:
            return standing is None or number <= standing.sent
        for path in self._place.from_owner(self._owner).glob("000001-*.message"):
            with suppress(OutsideError):
                return messages.parse(self._letters.open(_read(path, LARGEST_LETTER))).digest in (standing.has or ())
        return False

    def _message(self, number: int, *, first: bool) -> bytes | None:
        """The coordinator's message of this number, or None if it is not there."""
        path = self._place.to_owner(self._owner) / f"{number:06d}.message"
        if not path.exists():
            return None
        try:
            wire = self._letters.open(_read(path, LARGEST_LETTER))
            messages.parse(wire)
        except OutsideError as error:
            if not first or not self._is_sent(number):
                return None
            if isinstance(error, UnknownVersion):
                raise  # no copy of it would be any better
            raise NotYetCarried(
                f"{path.name} in {path.parent} is not whole. Copy it again from the coordinator, which writes it again"
                " where it is damaged there as well."
            ) from error
        return wire

    def _check_life(self, *, joins: bool = False) -> None:
        """Refuse to go on beside another copy of the same workspace: one that this life does not follow, and that has
        written here within `ONE_LIFE`. On a carried stick nobody can be heard.
        """
        file, mine = self._place.from_owner(self._owner) / _STANDING, self._life
        other = _said(_OwnerStanding, file)
        follows = other is None or not mine.name or other.life in ("", mine.name, *mine.before)
        if not follows and _age(file) < ONE_LIFE:
            if not joins:
                raise TwoLives(two_copies(self._owner))
            self._say(Known())  # it has a new invitation: whoever was here before is gone

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Copy a body out of the folder."""
        try:
            there = self._place.get_body(blob, bodies)
        except BodyDamaged as error:
            raise NotYetCarried(
                f"The body {blob.hash[:16]}… in the folder is damaged. Copy it again from the coordinator, which writes"
                " it again where it is damaged there as well."
            ) from error
        if not there:
            raise NotYetCarried(
                f"The folder does not hold all of the body {blob.hash[:16]}… yet. Copy the whole folder from the"
                " coordinator again."
            )
        if moved:
            moved(blob.length, blob.length)


class FolderServer(Background):
    """The coordinator's side: accepts what owners put into the folder, and puts its own messages there. Nothing that
    goes wrong in one study stops another.
    """

    def __init__(self, coordinator: CoordinatorParty, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        super().__init__(coordinator, clock=time.monotonic)
        self._folder = folder
        self._known: set[FileVersion] = set()
        """Files that need not be read again."""
        self._places: dict[str, _StudyFolder] = {}

    def serve(self, *, once: bool) -> None:
        """Take turns until stopped; with `once` only as long as something can be done now."""
        while True:
            if self.turn():
                continue
            if once and self.fails:
                raise OutsideError("Not everything could be done; the lines above say what failed. Run it again.")
            if once:
                return
            time.sleep(2 * _POLL)

    def studies(self) -> list[str]:
        """Open studies, and those with a folder: what lies there is kept as it was left."""
        rows = self._coordinator.store.studies()
        return [row.study for row in rows if not row.ended or _StudyFolder(self._folder, row.study).root.is_dir()]

    def work(self, study: str) -> bool:
        """Everything that can be done for a study now; True if anything happened."""
        place = self._places.setdefault(study, _StudyFolder(self._folder, study))
        if not place.root.is_dir():
            return super().work(study)
        if self._coordinator.lost(study, self._coordinator.load(study).state):
            self._known = {one for one in self._known if place.root not in one[0].parents}  # there they may lie still
        happened = self._take_in(study, place)
        happened |= super().work(study)
        return self._put_out(study, place) or happened

    def _take_in(self, study: str, place: _StudyFolder) -> bool:
        happened = False
        for owner in self._coordinator.agreement(study).owners:
            for path in sorted(place.from_owner(owner).glob("*.message")):
                if _FROM_OWNER.fullmatch(path.name):
                    happened |= self._take(path, study, place, owner)
        return happened

    def _take(self, path: Path, study: str, place: _StudyFolder, owner: str) -> bool:
        """Accept a file, unless it was accepted or refused before."""
        key = _version(path)
        if key is None or key in self._known:
            return False
        most = LARGEST_LETTER
        try:
            content = _read(path, most) if key[1] <= most else b""
            refusal = place.to_owner(owner) / f"refused-{path.name}-{_hash_of(content)}.txt"
            if refusal.exists():
                self._known.add(key)
                return False
            if key[1] > most:
                raise MalformedMessage("The file is larger than a message can be.")
            happened = self._message(study, place, owner, content)
        except (TooEarly, Unreachable):
            return False  # a body that was damaged on its way may come again
        except ProtocolError as error:
            happened = place.put(refusal, f"{error.code}\n{error}\n".encode())
        if happened is None:
            return False
        self._known.add(key)
        return happened

    def _message(self, study: str, place: _StudyFolder, owner: str, letter: bytes) -> bool | None:
        """Accept a message; None: not now, look again later."""
        wire = self._coordinator.unseal(letter)
        message = messages.parse(wire).message
        _check_place(message, study, owner)
        bodies = self._coordinator.store.bodies(study)
        if not all(place.get_body(blob, bodies) for blob in message.blobs):
            return None
        return self._coordinator.receive(wire)

    def _put_out(self, study: str, place: _StudyFolder) -> bool:
        """Put every message to every owner into the folder as it was made, with those of its bodies that are still
        here.
        """
        happened = False
        for owner in self._coordinator.agreement(study).owners:
            file = place.from_owner(owner) / _STANDING
            said, version = _said(_OwnerStanding, file), _version(file)
            known, at = Known() if said is None else said.known, version[2] / 1e9 if version else 0.0
            known = known.model_copy(update={"has": ""})  # here the whole list of what the coordinator has always lies
            standing = self._coordinator.hears(study, owner, known, at)
            loaded = self._coordinator.store.load(study)
            facts = loaded.state.owners[owner] if loaded else None
            if facts and facts.join:
                for number, digest in enumerate(facts.history, start=1):
                    sealed = f"{digest} {facts.join.envelope_key}"  # a workspace that was lost may have got the same
                    happened |= self._put_message(study, place, owner, number, sealed)
            if place.from_owner(owner).is_dir():
                place.put(place.to_owner(owner) / _STANDING, standing.model_dump_json().encode())
        return happened

    def _put_message(self, study: str, place: _StudyFolder, owner: str, number: int, sealed: str) -> bool:
        path = place.to_owner(owner) / f"{number:06d}.message"
        if place.is_as_left(path, sealed):
            return False
        bodies = self._coordinator.store.bodies(study)
        (wire,) = self._coordinator.store.outgoing(study, owner, number - 1, most=1)
        blobs = [blob for blob in messages.parse(wire).message.blobs if bodies.has(blob)]
        for blob in blobs:
            place.put_body(blob, bodies)
        happened = place.put_letter(path, wire, self._coordinator.letters(study, owner))
        place.leave(path, sealed, blobs)
        return happened


class _StudyFolder:
    """Where the files of one study are."""

    def __init__(self, folder: Path, study: str) -> None:
        self.root = folder / study[:16]
        self._good: set[FileVersion] = set()
        """Bodies whose content has been checked."""
        self._left: dict[Path, tuple[str, tuple[Path, ...]]] = {}
        """The coordinator's messages that were put here, by digest and receiver's key, with their bodies."""

    def from_owner(self, owner: str) -> Path:
        return self.root / f"from-{owner}"

    def to_owner(self, owner: str) -> Path:
        return self.root / f"to-{owner}"

    def put(self, path: Path, content: bytes) -> bool:
        """Write a file, unless it lies there as it should; True if it was written."""
        lasting_folder(path.parent)
        if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
            return False
        write_atomically(path, content)
        return True

    def put_letter(self, path: Path, wire: bytes, letters: Letters) -> bool:
        """Write a letter with this message, unless one lies there."""
        if path.is_file() and letters.holds(_read(path, LARGEST_LETTER), wire):
            return False
        return self.put(path, letters.seal(wire))

    def put_body(self, blob: Blob, bodies: Bodies) -> None:
        path = self.root / "bodies" / blob.hash
        if (version := _version(path)) is not None and version in self._good:
            return
        if version is None or version[1] != blob.length or _body_hash(path) != blob.hash:
            write_pieces(lasting_folder(path.parent), bodies.read(blob), lambda: path)
        if (version := _version(path)) is not None:
            self._good.add(version)

    def leave(self, path: Path, sealed: str, blobs: list[Blob]) -> None:
        """A message lies here with these bodies; `is_as_left` says whether that still holds."""
        files = (path, *(self.root / "bodies" / blob.hash for blob in blobs))
        self._left[path] = sealed, files
        self._good |= {version for file in files if (version := _version(file)) is not None}

    def is_as_left(self, path: Path, sealed: str) -> bool:
        left, files = self._left.get(path, ("", ()))
        return left == sealed and all(_version(file) in self._good for file in files)

    def get_body(self, blob: Blob, bodies: Bodies) -> bool:
        """Copy a body in; False if it is not there (yet, or not whole)."""
        if bodies.has(blob):
            return True
        path = self.root / "bodies" / blob.hash
        if not path.exists() or path.stat().st_size != blob.length:
            return False
        here = bodies.received(blob)
        with path.open("rb") as file:
            file.seek(here)
            bodies.append(blob, here, iter(lambda: file.read(2**20), b""))
        return bodies.has(blob)


def _said(kind: type[S], path: Path) -> S | None:
    """What a party says about itself in a file, or None if there is nothing readable."""
    try:
        return kind.model_validate_json(_read(path, messages.LARGEST))
    except (OutsideError, ValidationError):
        return None


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _body_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()


def _stem(message: Message) -> str:
    """A file's name without its ending; the digest tells apart what an owner sent before and after it was restored from
    a backup.
    """
    return f"{message.sequence:06d}-{message.digest[:8]}"


def _check_place(message: Message, study: str, owner: str) -> None:
    if message.study != study:
        raise WrongStudy("The message lies in another study's folder.")
    if message.sender != owner:
        raise WrongSender("The message lies in another owner's folder.")


def _version(path: Path) -> FileVersion | None:
    try:
        known = path.stat()
    except OSError:
        return None
    return path, known.st_size, known.st_mtime_ns, known.st_ctime_ns


def _hash_of(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _read(path: Path, most: int) -> bytes:
    try:
        if path.stat().st_size > most:
            raise OutsideError(f"{path} is larger than it can be.")
        return path.read_bytes()
    except OSError as error:
        raise Unreachable(f"{path} cannot be read: {error.strerror or error}.") from error
