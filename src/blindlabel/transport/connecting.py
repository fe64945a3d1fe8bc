"""From what an owner says after `--via` and `--ca` to a line to the coordinator. What was said once is remembered, so
that every later command and the web app use the same; what is said later takes its place.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.transport.client import HttpTransport, trusting
from blindlabel.transport.folder import FolderTransport

VIA, AUTHORITY = "via", "authority"
"""What the store calls the address, and the certificate to trust (its text)."""


def connect(store: Store, via: str = "", *, authority: Path | None = None, patience: float = 30.0) -> Line:
    """The line to the coordinator: as said now, or as remembered."""
    remember(store, via, authority)
    settings = store.settings
    chosen = checked_via(settings[VIA])
    if chosen.startswith("folder:"):
        folder = Path(chosen.removeprefix("folder:"))
        return FolderTransport(folder, store.agreement.hash, store.name, store.life())
    token = store.secret("token").decode()
    trusted = settings.get(AUTHORITY) or None
    return HttpTransport(chosen, store.agreement.hash, token, life=store.life(), authority=trusted, patience=patience)


def remember(store: Store, via: str = "", authority: Path | None = None) -> None:
    """Keep what was said now for all later commands."""
    if via and via != store.settings.get(VIA):
        store.remember(VIA, absolute(checked_via(via)))
    if authority is not None:
        store.remember(AUTHORITY, read_authority(authority))


def checked_via(via: str) -> str:
    """The same text, or a sentence about what is wrong with it."""
    if via.startswith("folder:"):
        if not Path(via.removeprefix("folder:")).is_dir():
            raise InputError(f"There is no folder {via.removeprefix('folder:')}.")
    elif not via.startswith(("http://", "https://")):
        raise InputError("Say how to reach the coordinator: --via https://… or --via folder:/path.")
    return via


def absolute(via: str) -> str:
    """The same way from wherever later commands are run."""
    return f"folder:{Path(via.removeprefix('folder:')).resolve()}" if via.startswith("folder:") else via


def read_authority(path: Path) -> str:
    """The text of a certificate (PEM) to trust."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as a certificate: {error}.") from error
    trusting(text, str(path))
    return text


def is_in_clear(address: str) -> bool:
    """Whether what travels to this address can be read on its way: HTTP to another machine."""
    if not address.startswith("http://"):
        return False
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
