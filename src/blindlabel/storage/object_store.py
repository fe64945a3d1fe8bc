"""A place for bodies outside the coordinator's folder, named by a URL of fsspec: an object store, another file system.
No rules here.

Only what owners sent goes there, sealed for its receiver. What the coordinator made itself (outcomes, labels) stays in
its folder, each under a key of its own that the database has. Bodies that are still arriving grow in the folder too:
object stores cannot add to an object. They are put outside once length and hash are right.

What is assumed about the place: when a put has returned, every process sees the whole object (today's object stores
promise that); a put that was interrupted leaves nothing, or something of another size, which counts as not there and is
put again. Credentials are up to fsspec (environment, its configuration files); they do not belong in the URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from blindlabel.errors import InputError, OutsideError
from blindlabel.protocol.shape import Blob
from blindlabel.storage.files import PIECE, BodyFiles


class ObjectStore:
    """All bodies under one URL, in a folder for each study."""

    def __init__(self, url: str) -> None:
        if re.search(r"://[^/@]*:[^/@]*@", url):
            raise InputError(
                "The URL holds a password, and it is stored in the database. Give credentials in the environment"
                " instead."
            )
        try:
            import fsspec  # noqa: PLC0415 (an optional package)
        except ModuleNotFoundError as error:
            raise InputError(
                "Bodies outside the folder need a package that is not installed: `pip install 'blindlabel[blobs]'`."
            ) from error
        try:
            files, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InputError(f"{url} cannot be used for bodies: {error}.") from error
        self.url = url
        self._files: Any = files
        self._root = str(root).rstrip("/")

    def _path(self, study: str, blob: Blob) -> str:
        return f"{self._root}/{study}/{blob.hash}"

    def has(self, study: str, blob: Blob) -> bool:
        """Whether the body is there, whole."""
        self._files.invalidate_cache()  # another process may have put it
        with _failing_with_a_sentence(self.url):
            try:
                return bool(self._files.info(self._path(study, blob))["size"] == blob.length)
            except FileNotFoundError:
                return False

    def put(self, study: str, blob: Blob, file: Path) -> None:
        """Copy a checked file to the store."""
        with _failing_with_a_sentence(self.url):
            self._files.makedirs(f"{self._root}/{study}", exist_ok=True)
            self._files.put_file(str(file), self._path(study, blob))
        if not self.has(study, blob):
            raise OutsideError(f"A body was put to {self.url}, and it is not there whole.")

    def read(self, study: str, blob: Blob, offset: int = 0) -> Iterator[bytes]:
        """The body from an offset on, piece by piece."""
        with _failing_with_a_sentence(self.url), self._files.open(self._path(study, blob), "rb") as file:
            file.seek(offset)
            while piece := file.read(PIECE):
                yield bytes(piece)

    def remove(self, study: str, blob: Blob) -> None:
        """Forget a body."""
        with _failing_with_a_sentence(self.url), suppress(FileNotFoundError):
            self._files.rm_file(self._path(study, blob))

    def remove_all(self, study: str) -> None:
        """Forget all bodies of a study."""
        with _failing_with_a_sentence(self.url), suppress(FileNotFoundError):
            self._files.rm(f"{self._root}/{study}", recursive=True)


class BodiesInObjectStore(BodyFiles):
    """The bodies of one study: those that arrived are in the store, those that were made here are in the folder."""

    def __init__(self, folder: Path, made: Path, object_store: ObjectStore, study: str) -> None:
        super().__init__(folder, made)
        self._object_store = object_store
        self._study = study

    def has(self, blob: Blob) -> bool:
        """Whether the body is there, complete."""
        return super().has(blob) or self._object_store.has(self._study, blob)

    def read(self, blob: Blob, offset: int = 0) -> Iterator[bytes]:
        """The body from an offset on, piece by piece."""
        return super().read(blob, offset) if super().has(blob) else self._object_store.read(self._study, blob, offset)

    def remove(self, blob: Blob) -> None:
        """Forget a body."""
        super().remove(blob)
        self._object_store.remove(self._study, blob)

    def remove_all(self) -> None:
        """Forget everything."""
        super().remove_all()
        self._object_store.remove_all(self._study)

    def _keep(self, part: Path, blob: Blob) -> None:
        self._object_store.put(self._study, blob, part)
        part.unlink()


@contextmanager
def _failing_with_a_sentence(url: str) -> Iterator[None]:
    """Every backend of fsspec fails in its own way; what is told is where, and the kind of failure, since texts may
    hold credentials.
    """
    try:
        yield
    except OutsideError:
        raise
    except FileNotFoundError as error:
        raise OutsideError(f"A stored body is missing at {url}. Was a backup restored without its bodies?") from error
    except Exception as error:
        raise OutsideError(f"The place for bodies at {url} failed: {type(error).__name__}.") from error
