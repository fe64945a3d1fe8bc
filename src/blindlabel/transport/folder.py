"""Messages as files in a folder that both sides see: a network share, or a stick that is carried back and forth. The same bytes as over
HTTP.

    <folder>/<first 16 of the study's hash>/
        from-<owner>/<number>.message        an owner's message; <number>.assist for an assist call with its body
        to-<owner>/<number>.message          the coordinator's; <number>.assisted for the reply to an assist call
        to-<owner>/refused-<number>.txt      why the coordinator refused an owner's message
        bodies/<hash>                        large bodies, whoever made them

Files appear whole (written under another name and renamed) and are never changed, so copying the folder at any moment is safe, and
copying it twice does no harm. Nothing is deleted here; `blindlabel owner delete` and `coordinator delete` say what is left to remove by
hand.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from blindlabel.errors import InputError, OutsideError
from blindlabel.parties.coordinator import Coordinator
from blindlabel.protocol import messages
from blindlabel.protocol.errors import ProtocolError, TooEarly, WrongSender, WrongStudy
from blindlabel.protocol.framing import pack_with_body, unpack_with_body
from blindlabel.protocol.shape import Blob
from blindlabel.storage.files import Bodies, BodyDamaged, write_atomically
from blindlabel.transport.interface import Moved, Unreachable

LARGEST_ASSIST = 256 * 2**20
_POLL = 0.1


class FolderTransport:
    """An owner's side of the folder."""

    def __init__(self, folder: Path, study: str, owner: str, *, assist_patience: float | None = None) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        self._place = _Place(folder, study)
        self._owner = owner
        self._assist_patience = assist_patience

    def close(self) -> None:
        """Nothing is open."""

    def deliver(self, wire: bytes, bodies: Bodies, moved: Moved | None = None) -> None:
        """Put a message into the folder and, before it, its bodies."""
        message = messages.parse(wire).message
        for blob in message.blobs:
            self._place.put_body(blob, bodies)
            if moved:
                moved(blob.length, blob.length)
        _put(self._place.from_owner(self._owner) / f"{message.sequence:06d}.message", wire)

    def fetch(self, after: int, wait: float) -> list[bytes]:
        """The coordinator's messages with numbers above `after`, without a gap."""
        until = time.monotonic() + wait
        while True:
            self._check_refusals()
            found: list[bytes] = []
            while (path := self._place.to_owner(self._owner) / f"{after + len(found) + 1:06d}.message").exists():
                found.append(_read(path, messages.LARGEST))
            if found or time.monotonic() >= until:
                return found
            time.sleep(_POLL)

    def fetch_body(self, blob: Blob, bodies: Bodies, moved: Moved | None = None) -> None:
        """Copy a body out of the folder."""
        if not self._place.get_body(blob, bodies):
            raise Unreachable(f"The folder does not hold the body {blob.hash[:16]}… yet. Copy all of it.")
        if moved:
            moved(blob.length, blob.length)

    def assist(self, wire: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Put an assist call into the folder and wait until the reply is there, however long the way is."""
        number = messages.parse(wire).message.sequence
        _put(self._place.from_owner(self._owner) / f"{number:06d}.assist", pack_with_body(wire, body))
        reply = self._place.to_owner(self._owner) / f"{number:06d}.assisted"
        began = time.monotonic()
        while not reply.exists():
            self._check_refusals()
            if self._assist_patience is not None and time.monotonic() - began > self._assist_patience:
                raise Unreachable("The coordinator has not replied to an assist call yet.")
            time.sleep(_POLL)
        return unpack_with_body(_read(reply, LARGEST_ASSIST))

    def _check_refusals(self) -> None:
        for path in sorted(self._place.to_owner(self._owner).glob("refused-*.txt")):
            raise OutsideError(f"The coordinator refused message {path.stem.removeprefix('refused-')}: {path.read_text('utf-8').strip()}")


class FolderServer:
    """The coordinator's side: takes in what owners put into the folder, and puts its own messages there."""

    def __init__(self, coordinator: Coordinator, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError(f"There is no folder {folder}.")
        self._coordinator = coordinator
        self._folder = folder
        self._known: set[tuple[str, str, str]] = set()
        """Files that need not be read again."""

    def turn(self) -> bool:
        """Everything that can be done now, for all studies; True where anything happened."""
        happened = False
        for row in self._coordinator.store.studies():
            place = _Place(self._folder, row.study)
            if place.root.is_dir():
                happened |= self._take_in(row.study, place)
                happened |= self._coordinator.work(row.study)
                happened |= self._put_out(row.study, place)
            elif not row.ended:
                happened |= self._coordinator.work(row.study)
        return happened

    def _take_in(self, study: str, place: _Place) -> bool:
        happened = False
        for owner in self._coordinator.agreement(study).owners:
            for path in sorted(place.from_owner(owner).glob("*.message")):
                if not self._done(study, place, owner, path):
                    happened |= self._take_message(study, place, owner, path)
            for path in sorted(place.from_owner(owner).glob("*.assist")):
                if not (place.to_owner(owner) / f"{path.stem}.assisted").exists() and not _refusal(place, owner, path).exists():
                    happened |= self._take_assist(study, place, owner, path)
        return happened

    def _done(self, study: str, place: _Place, owner: str, path: Path) -> bool:
        """Whether the coordinator has this message already, or has refused it."""
        key = (study, owner, path.name)
        if key in self._known:
            return True
        if _refusal(place, owner, path).exists():
            self._known.add(key)
            return True
        return False

    def _take_message(self, study: str, place: _Place, owner: str, path: Path) -> bool:
        try:
            wire = _read(path, messages.LARGEST)
            message = messages.parse(wire).message
            if message.sender != owner:
                raise WrongSender("The message lies in another owner's folder.")
            bodies = self._coordinator.store.bodies(study)
            if not all(place.get_body(blob, bodies) for blob in message.blobs):
                return False
            new = self._coordinator.receive(wire)
        except TooEarly:
            return False
        except (ProtocolError, BodyDamaged) as error:
            _put(_refusal(place, owner, path), f"{error}\n".encode())
            return True
        self._known.add((study, owner, path.name))
        return new

    def _take_assist(self, study: str, place: _Place, owner: str, path: Path) -> bool:
        try:
            wire, body = unpack_with_body(_read(path, LARGEST_ASSIST))
            message = messages.parse(wire).message
            if message.sender != owner or message.study != study:
                raise WrongStudy("The assist call belongs to another owner or study.")
            reply = self._coordinator.assist(wire, body)
        except ProtocolError as error:
            _put(_refusal(place, owner, path), f"{error}\n".encode())
            return True
        _put(place.to_owner(owner) / f"{path.stem}.assisted", pack_with_body(*reply))
        return True

    def _put_out(self, study: str, place: _Place) -> bool:
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


class _Place:
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
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".new-{secrets.token_hex(8)}-{blob.hash}")  # two processes may put the same body at once
        with part.open("wb") as file:
            file.writelines(bodies.read(blob))
        part.replace(path)

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


def _named_bodies(wire: bytes) -> list[Blob]:
    message = messages.parse(wire).message
    if isinstance(message.body, messages.Relay):
        return messages.parse(message.body.message.encode()).message.blobs
    return message.blobs


def _refusal(place: _Place, owner: str, path: Path) -> Path:
    return place.to_owner(owner) / f"refused-{path.stem}.txt"


def _put(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            write_atomically(path, content)
    except OSError as error:
        raise OutsideError(f"{path} cannot be written: {error.strerror or error}.") from error


def _read(path: Path, most: int) -> bytes:
    try:
        if path.stat().st_size > most:
            raise OutsideError(f"{path} is larger than it can be.")
        return path.read_bytes()
    except OSError as error:
        raise Unreachable(f"{path} cannot be read: {error.strerror or error}.") from error
