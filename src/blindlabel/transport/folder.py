"""Messages as files in a folder that both sides see: a network share, or a stick that is carried back and forth. The
same bytes as over HTTP.

    <folder>/<first 16 of the study's hash>/
        from-<owner>/<number>-<digest>.message   an owner's message
        to-<owner>/<number>.message              the coordinator's
        to-<owner>/refused-<file>-<hash>.txt     why it refused a file with this content: a code, then a sentence
        bodies/<hash>                            large bodies, whoever made them

Files appear whole (written under another name and renamed) and are never changed, so copying the folder at any moment
is safe, and copying it twice does no harm. A file that was damaged on its way is refused by its content, so the next,
good copy is taken in. Nothing is deleted here; `blindlabel owner delete` and `coordinator delete` say what is left to
remove by hand.
"""

from __future__ import annotations

import hashlib
import logging
import time
from pathlib import Path

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol import messages, refusals
from blindlabel.protocol.interfaces import Bodies, MovedBytes, NotYetCarried, Service, StudyRow, Unreachable
from blindlabel.protocol.messages import Message
from blindlabel.protocol.owner import is_superseded
from blindlabel.protocol.refusals import MalformedMessage, ProtocolError, TooEarly, WrongSender, WrongStudy
from blindlabel.protocol.shape import Blob
from blindlabel.storage.files import BodyDamaged, lasting_folder, write_atomically, write_pieces
from blindlabel.transport.events import failure, log_event

log = logging.getLogger("blindlabel.folder")

_POLL = 0.1


class FolderTransport:
    """An owner's side of the folder."""

    def __init__(self, folder: Path, study: str, owner: str) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        self._place = _StudyFolder(folder, study)
        self._owner = owner

    def close(self) -> None:
        """Nothing is open."""

    def deliver(self, wire: bytes, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Put a message into the folder and, before it, its bodies."""
        message = messages.parse(wire).message
        for blob in message.blobs:
            self._place.put_body(blob, bodies)
            if moved:
                moved(blob.length, blob.length)
        _put(self._place.from_owner(self._owner) / f"{_stem(message)}.message", wire)

    def fetch(self, after: int, wait: float) -> list[bytes]:
        """The coordinator's messages with numbers above `after`, without a gap."""
        until = time.monotonic() + wait
        while True:
            self._check_refusals()
            found: list[bytes] = []
            while (wire := _whole_message(self._place.to_owner(self._owner), after + len(found) + 1)) is not None:
                found.append(wire)
            if found or time.monotonic() >= until:
                return found
            time.sleep(_POLL)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: MovedBytes | None = None) -> None:
        """Copy a body out of the folder."""
        try:
            there = self._place.get_body(blob, bodies)
        except BodyDamaged as error:
            raise NotYetCarried(f"The body {blob.hash[:16]}… in the folder is damaged. Copy it again.") from error
        if not there:
            raise NotYetCarried(
                f"The folder does not hold all of the body {blob.hash[:16]}… yet. Copy the whole folder from the"
                " coordinator again."
            )
        if moved:
            moved(blob.length, blob.length)

    def _check_refusals(self) -> None:
        """Raise what the coordinator refused. Nothing that was only damaged on its way, or that the owner may drop."""
        for path in sorted(self._place.to_owner(self._owner).glob("refused-*.txt")):
            name, _, content_hash = path.stem.removeprefix("refused-").rpartition("-")
            file = self._place.from_owner(self._owner) / name
            if not file.exists() or _hash_of(content := _read(file, messages.LARGEST)) != content_hash:
                continue
            code, _, sentence = path.read_text("utf-8").strip().partition("\n")
            refusal = refusals.ALL.get(code, ProtocolError)(f"The coordinator refused message {name}: {sentence}")
            try:
                droppable = is_superseded(messages.parse(content).message, refusal)
            except ProtocolError:
                droppable = False
            if not droppable:
                raise refusal


class FolderServer:
    """The coordinator's side: takes in what owners put into the folder, and puts its own messages there."""

    def __init__(self, coordinator: Service, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        self._coordinator = coordinator
        self._folder = folder
        self._known: set[tuple[Path, int, int]] = set()
        """Files that need not be read again: path, size and time of change."""

    def turn(self) -> bool:
        """Everything that can be done now, for all studies; True where anything happened."""
        happened = False
        for row in self._coordinator.store.studies():
            try:
                happened |= self._turn_of(row)
            except (
                InputError,
                OutsideError,
            ) as error:  # one study's failure must not stop the others; it is tried again
                log_event(log, logging.ERROR, "work failed", study=row.study[:12], **failure(error))
        return happened

    def _turn_of(self, row: StudyRow) -> bool:
        place = _StudyFolder(self._folder, row.study)
        if not place.root.is_dir():
            return not row.ended and self._coordinator.work(row.study)
        happened = self._take_in(row.study, place)
        happened |= self._coordinator.work(row.study)
        return self._put_out(row.study, place) or happened

    def _take_in(self, study: str, place: _StudyFolder) -> bool:
        happened = False
        for owner in self._coordinator.agreement(study).owners:
            for path in sorted(place.from_owner(owner).glob("*.message")):
                happened |= self._take(path, study, place, owner)
        return happened

    def _take(self, path: Path, study: str, place: _StudyFolder, owner: str) -> bool:
        """Take in a file, unless that was done or refused before."""
        key = _version(path)
        if key is None or key in self._known:
            return False
        most = messages.LARGEST
        try:
            content = _read(path, most) if key[1] <= most else b""
            refusal = place.to_owner(owner) / f"refused-{path.name}-{_hash_of(content)}.txt"
            if refusal.exists():
                self._known.add(key)
                return False
            if key[1] > most:
                raise MalformedMessage("The file is larger than a message can be.")
            happened = self._message(study, place, owner, content)
        except (TooEarly, Unreachable, BodyDamaged):
            return False  # a body that was damaged on its way may come again
        except ProtocolError as error:
            _put(refusal, f"{error.code}\n{error}\n".encode())
            happened = True
        if happened is None:
            return False
        self._known.add(key)
        return happened

    def _message(self, study: str, place: _StudyFolder, owner: str, wire: bytes) -> bool | None:
        """Take in a message; None: not now, look again later."""
        message = messages.parse(wire).message
        _check_place(message, study, owner)
        bodies = self._coordinator.store.bodies(study)
        if not all(place.get_body(blob, bodies) for blob in message.blobs):
            return None
        return self._coordinator.receive(wire)

    def _put_out(self, study: str, place: _StudyFolder) -> bool:
        happened = False
        bodies = self._coordinator.store.bodies(study)
        for owner in self._coordinator.agreement(study).owners:
            there = max((int(path.stem) for path in place.to_owner(owner).glob("*.message")), default=0)
            for number, wire in enumerate(self._coordinator.store.outgoing(study, owner, there), start=there + 1):
                for blob in _named_bodies(wire):
                    place.put_body(blob, bodies)
                _put(place.to_owner(owner) / f"{number:06d}.message", wire)
                happened = True
        return happened


class _StudyFolder:
    """Where the files of one study are."""

    def __init__(self, folder: Path, study: str) -> None:
        self.root = folder / study[:16]

    def from_owner(self, owner: str) -> Path:
        return self.root / f"from-{owner}"

    def to_owner(self, owner: str) -> Path:
        return self.root / f"to-{owner}"

    def put_body(self, blob: Blob, bodies: Bodies) -> None:
        path = self.root / "bodies" / blob.hash
        if path.exists() and path.stat().st_size == blob.length:
            return
        write_pieces(lasting_folder(path.parent), bodies.read(blob), lambda: path)

    def get_body(self, blob: Blob, bodies: Bodies) -> bool:
        """Copy a body in; False where it is not there (yet, or not whole)."""
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


def _whole_message(folder: Path, number: int) -> bytes | None:
    """The coordinator's message of this number; None where it is not there, or not all of it: it is being copied. A
    message is two lines, so its beginning lacks a line's end; one that is whole and wrong is for the reader to refuse.
    """
    path = folder / f"{number:06d}.message"
    try:
        wire = _read(path, messages.LARGEST) if path.exists() else b""
    except Unreachable:
        return None
    return wire if wire.count(b"\n") >= 2 else None


def _named_bodies(wire: bytes) -> list[Blob]:
    message = messages.parse(wire).message
    if isinstance(message.body, messages.Relay):
        return messages.parse(message.body.message.encode()).message.blobs
    return message.blobs


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


def _version(path: Path) -> tuple[Path, int, int] | None:
    try:
        known = path.stat()
    except OSError:
        return None
    return path, known.st_size, known.st_mtime_ns


def _hash_of(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _put(path: Path, content: bytes) -> None:
    lasting_folder(path.parent)
    if not path.exists():
        write_atomically(path, content)


def _read(path: Path, most: int) -> bytes:
    try:
        if path.stat().st_size > most:
            raise OutsideError(f"{path} is larger than it can be.")
        return path.read_bytes()
    except OSError as error:
        raise Unreachable(f"{path} cannot be read: {error.strerror or error}.") from error
