"""An invitation: what a coordinator gives to one owner, by a way of its own. It holds a one-time code, so it is to be
kept private.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

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

    def to_text(self) -> str:
        """The invitation as a file holds it."""
        return json.dumps({"form": _FORM, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_text(cls, text: str) -> Invitation:
        """Read it again; a ValueError where it is none."""
        try:
            document = json.loads(text)
            if document.pop("form") != _FORM or not all(isinstance(value, str) for value in document.values()):
                raise ValueError("another form")
            invitation = cls(**document)
            if len(bytes.fromhex(invitation.code)) != 32 or len(bytes.fromhex(invitation.coordinator_key)) != 32:
                raise ValueError("keys of another length")
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("no invitation") from error
        return invitation
