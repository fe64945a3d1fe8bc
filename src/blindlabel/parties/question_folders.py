"""Writing and reading questions as a folder: what one owner asked in a study, for people to read and programs to ask
again.

    about.json            format, version, study, hash of the agreement, owner
    agreement.toml        the study's agreement, in full
    questions.csv         one line per question: round, position, id, file, source, author, saved (UTC)
    round-1/7.question    the question about the record with the id 7, in round 1
    log.csv               the annotation log, if the owner has one (`owner log export`)

`owner run --questions` needs only the `.question` files, so a folder written by hand needs nothing else; an exported
folder also says who wrote a question, how and when. If a record's id cannot be a file name, its position is used. Files
beside the rounds' folders are for the first round, and those in `round-1` take precedence.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from blindlabel.errors import InputError, OutsideError, reason
from blindlabel.protocol import agreement as agreements
from blindlabel.protocol.agreement import Agreement, to_text
from blindlabel.protocol.interfaces import SavedQuestion
from blindlabel.records.table_files import write_csv

SUFFIX = ".question"
FORMAT, VERSION = "blindlabel questions", 1
COLUMNS = ("round", "position", "id", "file", "source", "author", "saved")
_LARGEST = 2**20
"""Bytes of one question file: a mistaken file must not fill the memory."""


@dataclass(frozen=True)
class Exported:
    """A folder as its owner exported it."""

    owner: str
    agreement: Agreement
    questions: tuple[SavedQuestion, ...]

    def text(self, round: int, position: int) -> str | None:
        """The question about a record in a round."""
        return next((one.text for one in self.questions if (one.round, one.position) == (round, position)), None)


def file_name(position: int, id: str, ids: set[str]) -> str:
    """The name of the file of a record's question: its id, or its position if the id cannot be a file name."""
    safe = 0 < len(id) <= 120 and id.isprintable() and not set(id) & set('/\\:*?"<>|') and not id.startswith(".")
    if not safe and str(position) in ids:
        raise InputError(
            f"The question of the record at position {position} has no name as a file: its id cannot be one."
        )
    return f"{id if safe else position}{SUFFIX}"


def write_folder(folder: Path, owner: str, agreement: Agreement, questions: Iterable[SavedQuestion]) -> int:
    """Write a folder that is new or empty; returns how many questions it holds."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; choose a new one.")
    found = sorted(questions, key=lambda one: (one.round, one.position))
    ids = {one.id for one in found}
    rows = []
    try:
        for one in found:
            path = folder / f"round-{one.round}" / file_name(one.position, one.id, ids)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.text, encoding="utf-8")
            saved = "" if one.saved is None else datetime.fromtimestamp(one.saved, UTC).isoformat(timespec="seconds")
            name = path.relative_to(folder).as_posix()
            rows.append((one.round, one.position, one.id, name, one.source, one.author, saved))
        folder.mkdir(parents=True, exist_ok=True)
        write_csv(folder / "questions.csv", COLUMNS, rows)
        (folder / "agreement.toml").write_text(to_text(agreement), encoding="utf-8")
        study = {"study": agreement.name, "agreement": agreement.hash, "owner": owner}
        about = {"format": FORMAT, "version": VERSION, **study}
        (folder / "about.json").write_text(json.dumps(about, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise OutsideError(f"{folder} cannot be written: {error.strerror or error}.") from error
    return len(found)


def is_exported(folder: Path) -> bool:
    """Whether a folder was written by `write_folder`, and not by hand."""
    return (folder / "about.json").is_file()


def read_folder(folder: Path) -> Exported:
    """Read an exported folder."""
    try:
        about = json.loads((folder / "about.json").read_text("utf-8"))
        if about["format"] != FORMAT or about["version"] != VERSION:
            raise InputError(f"{folder} has another form of questions than this blindlabel reads ({VERSION}).")
        agreement = agreements.from_text((folder / "agreement.toml").read_text("utf-8"), source="agreement.toml")
        questions = tuple(_listed(folder))
        owner = str(about["owner"])
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} is not a folder of exported questions: {Path(error.filename).name} is missing. `blindlabel owner"
            " questions export` writes such folders."
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder} cannot be read as exported questions: {error}.") from error
    return Exported(owner, agreement, questions)


def _listed(folder: Path) -> Iterator[SavedQuestion]:
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            path = folder / row["file"]
            if folder.resolve() not in path.resolve().parents:
                raise ValueError(f"{row['file']} lies outside the folder")
            saved = datetime.fromisoformat(row["saved"]).timestamp() if row["saved"] else None
            number, position, source, author = int(row["round"]), int(row["position"]), row["source"], row["author"]
            yield SavedQuestion(number, position, row["id"], question_text(path), source, author, saved)


def files_of_round(folder: Path, round: int) -> dict[str, Path]:
    """The question files for a round, by name without suffix: those in `round-<n>`, and for the first round also
    those beside it. A question that was asked before is not asked again unless it lies there.
    """
    places = [folder] if round == 1 else []
    return {path.stem: path for one in (*places, folder / f"round-{round}") for path in sorted(one.glob(f"*{SUFFIX}"))}


def question_text(path: Path) -> str:
    """The text of one file."""
    try:
        with path.open("rb") as file:
            return question_in(file, str(path))
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {reason(error)}.") from error


def question_in(file: IO[bytes], name: str) -> str:
    """The text of an open file; `name` is what people call it."""
    content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InputError(f"{name} is larger than any question can be.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
