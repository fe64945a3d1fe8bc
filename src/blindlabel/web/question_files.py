"""Questions of a round as files, out and in: a ZIP archive of `<id>.question` files, which `owner run --questions`
reads as well.

A record whose id cannot be a file's name goes by its position, as there. Ids go before positions when files are read.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from blindlabel.errors import InputError
from blindlabel.parties.question_folders import SUFFIX, file_name
from blindlabel.protocol.interfaces import BULK, OwnRecord, Task
from blindlabel.web.cached_workspace import CachedWorkspace
from blindlabel.web.seats import Seat

_LARGEST = 64 * 2**20


@dataclass(frozen=True)
class Imported:
    """What an import did: questions that could be used, drafts that need work, and files that belong to no record of
    this round.
    """

    saved: int
    drafts: int
    unknown: tuple[str, ...]
    changes: tuple[tuple[Task, Task], ...] = ()
    """What each task was and what it became."""


def archive(cache: CachedWorkspace) -> bytes:
    """All saved questions and drafts of the round."""
    ids = {own.id for own in cache.records}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for own in cache.records:
            task = cache.task(own.record)
            if task is not None and task.draft:
                file.writestr(file_name(own.position, own.id, ids), task.draft)
    return buffer.getvalue()


def unpacked(files: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Name without suffix to text, from question files and archives of them."""
    texts: dict[str, str] = {}
    for name, content in files:
        if name.endswith(SUFFIX):
            texts[_stem(name)] = _text(name, content)
        elif name.endswith(".zip"):
            texts |= _from_archive(name, content)
        else:
            raise InputError(f"{name} is neither a {SUFFIX} file nor a ZIP archive of such files.")
    return texts


def _from_archive(name: str, content: bytes) -> dict[str, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            entries = [entry for entry in file.infolist() if entry.filename.endswith(SUFFIX)]
            if sum(entry.file_size for entry in entries) > _LARGEST:
                raise InputError(f"{name} unpacks to more than {_LARGEST // 2**20} MB.")
            return {_stem(entry.filename): _text(entry.filename, file.read(entry)) for entry in entries}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{name} is no ZIP archive that can be read.") from error


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(SUFFIX)


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; save it as UTF-8.") from error


def take_in(cache: CachedWorkspace, seat: Seat, texts: Mapping[str, str]) -> Imported:
    """Save what is right as questions and the rest as drafts, as written by the person at this seat."""
    changes: list[tuple[Task, Task]] = []
    by_name = _names(cache.records)
    saved: dict[int, str] = {}
    drafts, unknown = 0, []
    for name, text in texts.items():
        record = by_name.get(name)
        before = cache.task(record) if record is not None else None
        if record is None or before is None or not seat.is_mine(record) or seat.is_second(record):
            unknown.append(name)
        elif cache.check(text).ok:
            saved[record] = text
        else:
            seat.save_draft(record, text)
            changes.append((before, cache.tasks[record]))
            drafts += 1
    changes += cache.save_many(saved, BULK, seat.name) if saved else []
    changed = tuple((before, after) for before, after in changes if before != after)
    return Imported(len(saved), drafts, tuple(unknown), changed)


def _names(records: list[OwnRecord]) -> dict[str, int]:
    by_position = {str(own.position): own.record for own in records}
    return by_position | {own.id: own.record for own in records}
