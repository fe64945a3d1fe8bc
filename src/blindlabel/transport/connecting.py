"""From what an owner says about its line to the coordinator (`--via`, `--ca`, `--proxy`, `--client-certificate`) to
that line. It is remembered, so that every later command and the web app use the same; what is said later replaces it.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from blindlabel.errors import InputError, reason
from blindlabel.parties.joining import own_identity
from blindlabel.protocol.interfaces import Line, Store
from blindlabel.protocol.letters import Letters, coordinator_of
from blindlabel.transport.client import ENVIRONMENT, HttpTransport, show_certificate, trusting
from blindlabel.transport.folder import FolderTransport

VIA, AUTHORITY, PROXY, CERTIFICATE = "via", "authority", "proxy", "client_certificate"
"""The store's names for the address, the certificate to trust (its text), the proxy, and the file to show."""


@dataclass(frozen=True)
class Reaching:
    """What an owner says about its line; empty fields stay as they are remembered."""

    via: str = ""
    authority: Path | None = None
    proxy: str = ""
    """An address, or `environment`, or `none`."""
    certificate: Path | None = None
    insecure: bool = False
    """Accept an address over which the token can be read."""

    def settings(self, invited: str | None = None) -> dict[str, str]:
        """What to remember; an `InputError` about what is wrong with it. An owner that joins needs an address: its own,
        or that of the invitation.
        """
        said = {}
        if self.via or invited is not None:
            said[VIA] = absolute(checked_via(self.via or invited or "", insecure=self.insecure))
        if self.authority is not None:
            said[AUTHORITY] = read_authority(self.authority)
        if self.proxy:
            said[PROXY] = _checked_proxy(self.proxy)
        if self.certificate is not None:
            show_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self.certificate)
            said[CERTIFICATE] = str(self.certificate.resolve())
        return said


AS_REMEMBERED = Reaching()


def connect(store: Store, said: Reaching = AS_REMEMBERED, *, patience: float = 30.0) -> Line:
    """The line to the coordinator: as said now, or as remembered."""
    remember(store, said)
    settings = store.settings
    chosen = checked_via(settings[VIA], insecure=True)  # it was checked when it was said
    if chosen.startswith("folder:"):
        folder = Path(chosen.removeprefix("folder:"))
        return FolderTransport(folder, letters_of(store), store.name, store.life())
    proxy = settings.get(PROXY, "")
    if proxy and not chosen.startswith("https://"):
        raise InputError(f"A proxy could read what travels to {chosen}. Give an https:// address, or --proxy none.")
    return HttpTransport(
        chosen,
        letters_of(store),
        store.secret("token").decode(),
        life=store.life(),
        authority=settings.get(AUTHORITY) or None,
        certificate=settings.get(CERTIFICATE, ""),
        proxy=proxy,
        patience=patience,
    )


def letters_of(store: Store) -> Letters:
    """What seals an owner's messages to the coordinator, and opens those that come."""
    return Letters(store.agreement.hash, own_identity(store), coordinator_of(store.state()))


def remember(store: Store, said: Reaching) -> None:
    """Keep what was said now for all later commands."""
    known = store.settings
    for name, value in said.settings().items():
        if value != known.get(name):
            store.remember(name, value)


def checked_via(via: str, *, insecure: bool = False) -> str:
    """The same text; an `InputError` about what is wrong with it."""
    if via.startswith("folder:"):
        if not Path(via.removeprefix("folder:")).is_dir():
            raise InputError(f"There is no folder {via.removeprefix('folder:')}.")
    elif not via.startswith(("http://", "https://")):
        raise InputError("Say how to reach the coordinator: --via https://… or --via folder:/path.")
    elif is_in_clear(via) and not insecure:
        raise InputError(
            f"Over {via} your token would travel in clear. Ask the coordinator for an https:// address, or say"
            " --insecure where the network itself is protected."
        )
    return via


def _checked_proxy(proxy: str) -> str:
    if proxy not in (ENVIRONMENT, "none") and not re.fullmatch(r"https?://[^/\s]+:\d{1,5}/?", proxy):
        raise InputError("--proxy takes http://host:port, `environment` (as HTTPS_PROXY says) or `none`.")
    return "" if proxy == "none" else proxy


def absolute(via: str) -> str:
    """The same address, wherever later commands are run."""
    return f"folder:{Path(via.removeprefix('folder:')).resolve()}" if via.startswith("folder:") else via


def read_authority(path: Path) -> str:
    """The text of a certificate (PEM) to trust."""
    try:
        text = path.read_text("ascii")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as a certificate: {reason(error)}.") from error
    trusting(text, str(path))
    return text


def is_in_clear(address: str) -> bool:
    """Whether what travels to this address can be read in transit: HTTP to another machine."""
    if not address.startswith("http://"):
        return False
    host = urlsplit(address).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host != "localhost"
