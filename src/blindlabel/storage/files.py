"""Large bodies as files, named by their hash. Under its name a body is complete, or not there at all.

Bodies are written to a temporary name, synced and renamed, so a crash or a full disk leaves no half body under a good
name. What arrives piece by piece grows in a `.part` file of its sender and can be continued after any interruption, by
any process; it gets its name only when length and hash are right. Whoever adds to a part holds its file lock, so two
lines of one sender cannot mix their pieces. Folders are for their user alone (0700), files too (0600).
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from blindlabel.errors import OutsideError
from blindlabel.protocol.interfaces import Unreachable
from blindlabel.protocol.shape import Blob
from blindlabel.storage import journal_points
from blindlabel.storage.journal_points import Point

PIECE = 1 << 20
"""How many bytes are held in memory at once."""

ABANDONED = 7 * 24 * 3600.0
"""Seconds after which a part that did not grow counts as abandoned; its sender would begin again."""

_NEW = ".new-"
"""How the names of incomplete files begin."""
_SENT = ".sent"
"""How the names of the empty files end that say who has sent a body."""


class BodyDamaged(Unreachable):
    """A body that arrived is not the one that was announced. Its pieces were thrown away, and it may come again."""


class WrongOffset(OutsideError):
    """A piece does not continue what is there."""

    def __init__(self, received: int) -> None:
        super().__init__(f"The body has {received} bytes so far; continue there.")
        self.received = received


def private_folder(path: Path) -> Path:
    """The folder; it and any missing folders above it are made, for this user alone."""
    return lasting_folder(path, mode=0o700)


def lasting_folder(path: Path, mode: int = 0o777) -> Path:
    """The folder; it and any missing folders above it are made so that they outlast a power cut."""
    if not path.is_dir():
        with failing_with_a_sentence(path):
            for above in reversed([path, *path.parents]):
                if not above.is_dir():
                    above.mkdir(exist_ok=True, mode=mode)
                    sync_folder(above.parent)
    return path


def sync_folder(path: Path) -> None:
    """Make what was made, renamed or removed in the folder outlast a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make what was written into the file outlast a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def write_atomically(path: Path, content: bytes) -> None:
    """Write the whole content under this name, or nothing."""
    write_pieces(path.parent, [content], lambda: path)


def write_pieces(folder: Path, pieces: Iterable[bytes], named: Callable[[], Path]) -> None:
    """Write all pieces into one file of the folder, or nothing; `named` gives its name once all have come."""
    with failing_with_a_sentence(folder):
        handle, name = tempfile.mkstemp(dir=folder, prefix=_NEW)  # mkstemp makes files 0600
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            journal_points.reached(Point.BEFORE_RENAME)
            Path(name).replace(named())
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        sync_folder(folder)
        journal_points.reached(Point.AFTER_RENAME)


def remove_abandoned(folder: Path) -> None:
    """Remove what nobody has added to for so long that nobody will: parts of bodies, and files of a killed process."""
    before = time.time() - ABANDONED
    for path in (*folder.glob("*.part"), *folder.glob(f"{_NEW}*")):
        with suppress(OSError), path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails if somebody is adding to it
            if os.fstat(file.fileno()).st_mtime < before:
                path.unlink()


@contextmanager
def failing_with_a_sentence(where: Path) -> Iterator[None]:
    """A full disk, a lost share or missing rights become a sentence."""
    try:
        yield
    except OSError as error:
        then = " Make room, then run this again." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise OutsideError(f"{where} cannot be written: {error.strerror or type(error).__name__}.{then}") from error


class BodyFiles:
    """A folder of bodies; those that are made here lie in a folder of their own, if one is named."""

    def __init__(self, folder: Path, made: Path | None = None) -> None:
        self.folder = private_folder(folder)
        self._made = self.folder if made is None else private_folder(made)

    def path(self, blob: Blob) -> Path:
        """Where the body is (or will be, if it arrives)."""
        made = self._made / blob.hash
        return made if made.exists() else self.folder / blob.hash

    def has(self, blob: Blob) -> bool:
        """Whether the body is there, complete."""
        path = self.path(blob)
        return path.exists() and path.stat().st_size == blob.length

    def write(self, pieces: Iterable[bytes], *, passing: bool = False) -> Blob:
        """Store a body; its name follows from its content. A `passing` body lies with those that arrive, so it is in no
        backup.
        """
        folder = self.folder if passing else self._made
        digest, length = hashlib.blake2b(digest_size=32), 0

        def measured() -> Iterator[bytes]:
            nonlocal length
            for piece in pieces:
                digest.update(piece)
                length += len(piece)
                yield piece

        def blob() -> Blob:
            return Blob(hash=digest.hexdigest(), length=length)

        write_pieces(folder, measured(), lambda: folder / blob().hash)
        return blob()

    def read(self, blob: Blob, offset: int = 0) -> Iterator[bytes]:
        """The body from an offset on, piece by piece."""
        try:
            opened = self.path(blob).open("rb")
        except FileNotFoundError as error:
            raise OutsideError(
                f"A stored body is missing: {self.path(blob)}. Was a backup restored without its files?"
            ) from error
        with opened as file:
            file.seek(offset)
            while piece := file.read(PIECE):
                yield piece

    def read_all(self, blob: Blob) -> bytes:
        """The whole body, for small ones."""
        return b"".join(self.read(blob))

    def remove(self, blob: Blob) -> None:
        """Forget a body."""
        self.path(blob).unlink(missing_ok=True)
        for sent in self.folder.glob(f"{blob.hash}.*{_SENT}"):
            sent.unlink(missing_ok=True)

    def remove_all(self) -> None:
        """Forget everything."""
        for folder in {self.folder, self._made}:
            shutil.rmtree(folder, ignore_errors=True)

    def remove_abandoned(self) -> None:
        """Remove what was begun here and abandoned."""
        for folder in {self.folder, self._made}:
            remove_abandoned(folder)

    # Bodies that arrive piece by piece

    def received(self, blob: Blob, sender: str = "") -> int:
        """How many bytes of the body have arrived; with a sender, from this sender."""
        if here := self._in_part(blob, sender):
            return here
        return blob.length if self.has_from(blob, sender) else 0

    def has_from(self, blob: Blob, sender: str) -> bool:
        """Whether this sender has sent the whole body. The answer tells nobody what others have sent."""
        return self.has(blob) and (not sender or self._sent(blob, sender).exists())

    def _in_part(self, blob: Blob, sender: str) -> int:
        try:
            return min(self._part(blob, sender).stat().st_size, blob.length)
        except FileNotFoundError:
            return 0

    def append(self, blob: Blob, offset: int, pieces: Iterable[bytes], sender: str = "") -> int:
        """Continue a body at its end; returns how many bytes are there now. Pieces beyond its length are refused.
        Every sender has a part of its own, so that what it is told depends on nobody else.
        """
        part = self._part(blob, sender)
        if not self._in_part(blob, sender) and self.has_from(blob, sender):
            return _continued(offset, blob.length)
        with failing_with_a_sentence(self.folder), _locked(part) as file:
            # another process completed it a moment ago, and this part is a new one
            if not self._in_part(blob, sender) and self.has_from(blob, sender):
                part.unlink()
                return _continued(offset, blob.length)
            here = _continued(offset, self._in_part(blob, sender))
            for piece in pieces:
                if here + len(piece) > blob.length:
                    raise BodyDamaged(f"The body {blob.hash[:16]}… came longer than announced.")
                file.write(piece)
                here += len(piece)
            journal_points.reached(Point.AFTER_PART)
            if here == blob.length:
                file.flush()
                os.fsync(file.fileno())
                self._complete(blob, part)
                if sender:
                    self._sent(blob, sender).touch(0o600)
        return here

    def _complete(self, blob: Blob, part: Path) -> None:
        """Check a complete part and keep it; called with its lock held."""
        with part.open("rb") as file:
            found = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
        if found != blob.hash:
            part.unlink()
            raise BodyDamaged(
                f"The body {blob.hash[:16]}… came damaged: its hash differs. Where that goes on, it is damaged where it"
                " comes from: restore it from a backup there."
            )
        journal_points.reached(Point.BEFORE_RENAME)
        part.replace(self.folder / blob.hash)
        sync_folder(self.folder)

    def _part(self, blob: Blob, sender: str) -> Path:
        return self.folder / (f"{blob.hash}.{sender}.part" if sender else f"{blob.hash}.part")

    def _sent(self, blob: Blob, sender: str) -> Path:
        return self.folder / f"{blob.hash}.{sender}{_SENT}"


def _continued(offset: int, here: int) -> int:
    if offset != here:
        raise WrongOffset(here)
    return here


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """The file, opened for appending, with its lock held. If the file was renamed or removed in the meantime, the one
    that is there now.
    """
    while True:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                current = path.stat().st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                current = False
            if current:
                yield file
                return


def write_once(path: Path, text: str) -> None:
    """Write the whole text under this name, unless there is a file already."""
    private_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_NEW)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(name, path)
    Path(name).unlink()
    sync_folder(path.parent)  # also if another process has just made the file: this one continues because of it
