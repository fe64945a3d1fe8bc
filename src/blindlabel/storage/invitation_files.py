"""Invitations as files, each for one user alone."""

from __future__ import annotations

from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.protocol.invitation import Invitation
from blindlabel.storage.files import write_atomically


def write_invitation(invitation: Invitation, path: Path) -> None:
    """Store an invitation, for this user alone."""
    write_atomically(path, invitation.to_text().encode())


def read_invitation(path: Path) -> Invitation:
    """Read an invitation again."""
    try:
        return Invitation.from_text(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"There is no file {path}.") from error
    except ValueError as error:
        raise InputError(
            f"{path} is no invitation of blindlabel, or is damaged. Ask the coordinator to send it again."
        ) from error
