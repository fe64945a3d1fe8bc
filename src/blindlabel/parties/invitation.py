"""An invitation: the file that a coordinator gives to one owner, by a way of its own. It holds a one-time code, so it
is to be kept private."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.storage.files import write_atomically

_FORM = "blindlabel invitation 1"


@dataclass(frozen=True)
class Invitation:
    """What an owner needs to join."""

    owner: str
    code: str
    """Hexadecimal seed of a one-time signing key; the coordinator keeps only the public half."""
    coordinator_key: str
    address: str
    """Where the coordinator listens (`https://…`), or `folder:/path`; may be empty."""
    agreement: str
    """The whole text."""

    def write(self, path: Path) -> None:
        """Store it, for this user alone."""
        document = {"form": _FORM, **asdict(self)}
        write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Invitation:
        """Read it again."""
        try:
            document = json.loads(path.read_text("utf-8"))
            if document.pop("form") != _FORM or not all(isinstance(value, str) for value in document.values()):
                raise ValueError
            invitation = cls(**document)
            if len(bytes.fromhex(invitation.code)) != 32 or len(bytes.fromhex(invitation.coordinator_key)) != 32:
                raise ValueError
        except FileNotFoundError as error:
            raise InputError(f"There is no file {path}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is no invitation of blindlabel, or is damaged. Ask the coordinator to send it again."
            ) from error
        return invitation
