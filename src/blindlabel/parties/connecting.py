"""From what an owner says after `--via` to a transport."""

from __future__ import annotations

from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.parties.joining import own_token
from blindlabel.storage.workspace import Workspace
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.folder import FolderTransport
from blindlabel.transport.interface import Transport


def connect(workspace: Workspace, via: str = "", *, authority: Path | None = None, patience: float = 30.0) -> Transport:
    """The transport to the coordinator: as said now, or as settled when joining."""
    chosen = checked_via(via or workspace.settings["via"])
    if chosen.startswith("folder:"):
        return FolderTransport(Path(chosen.removeprefix("folder:")), workspace.agreement.hash, workspace.name)
    return HttpTransport(chosen, workspace.agreement.hash, own_token(workspace), authority=authority, patience=patience)


def checked_via(via: str) -> str:
    """The same text, or a sentence about what is wrong with it."""
    if via.startswith("folder:"):
        if not Path(via.removeprefix("folder:")).is_dir():
            raise InputError(f"There is no folder {via.removeprefix('folder:')}.")
    elif not via.startswith(("http://", "https://")):
        raise InputError("Say how to reach the coordinator: --via https://… or --via folder:/path.")
    return via
