"""From what an owner says after `--via` to a line to the coordinator."""

from __future__ import annotations

from pathlib import Path

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.transport.client import HttpTransport
from blindlabel.transport.folder import FolderTransport


def connect(store: Store, via: str = "", *, authority: Path | None = None, patience: float = 30.0) -> Line:
    """The line to the coordinator: as said now, or as settled when joining."""
    chosen = checked_via(via or store.settings["via"])
    if chosen.startswith("folder:"):
        return FolderTransport(Path(chosen.removeprefix("folder:")), store.agreement.hash, store.name)
    return HttpTransport(
        chosen, store.agreement.hash, store.secret("token").decode(), authority=authority, patience=patience
    )


def checked_via(via: str) -> str:
    """The same text, or a sentence about what is wrong with it."""
    if via.startswith("folder:"):
        if not Path(via.removeprefix("folder:")).is_dir():
            raise InputError(f"There is no folder {via.removeprefix('folder:')}.")
    elif not via.startswith(("http://", "https://")):
        raise InputError("Say how to reach the coordinator: --via https://… or --via folder:/path.")
    return via
