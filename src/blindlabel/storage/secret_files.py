"""Files with secret keys: readable by their user alone (0600), optionally under a passphrase (Argon2id and
XSalsa20-Poly1305 of libsodium). Invitations, which hold a code, are files of the same kind.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import nacl.exceptions
import nacl.pwhash
import nacl.secret
import nacl.utils

from blindlabel.errors import InputError
from blindlabel.protocol.interfaces import SecretMissing
from blindlabel.protocol.invitation import Invitation
from blindlabel.storage.files import private_folder, sync_folder, write_atomically

_PLAIN = b"blindlabel secret 1 plain\n"
_SEALED = b"blindlabel secret 1 passphrase\n"
PASSPHRASE_VARIABLE = "BLINDLABEL_PASSPHRASE"  # noqa: S105 (a name, no passphrase)
"""Where commands look for the passphrase, so that it is on no command line."""


def write_secret(path: Path, content: bytes, passphrase: str | None = None) -> None:
    """Store a secret."""
    private_folder(path.parent)
    if passphrase is None:
        write_atomically(path, _PLAIN + content)
        return
    salt = nacl.utils.random(nacl.pwhash.argon2id.SALTBYTES)
    write_atomically(path, _SEALED + salt + bytes(nacl.secret.SecretBox(_key(passphrase, salt)).encrypt(content)))


def read_secret(path: Path, passphrase: str | None = None) -> bytes:
    """Read a secret again. Refuses a file that others on the machine can read."""
    try:
        mode, content = path.stat().st_mode, path.read_bytes()
    except FileNotFoundError as error:
        raise SecretMissing(f"The file with secret keys is missing: {path}.") from error
    if mode & 0o077:
        raise InputError(
            f"Others on this machine can read the secret keys in {path}. Run `chmod 600 {path}` and consider them"
            " known."
        )
    if content.startswith(_PLAIN):
        if passphrase is not None:
            raise InputError(
                f"A passphrase is set, but the secret keys in {path} are in clear. `blindlabel owner rekey` and"
                " `blindlabel coordinator rekey` put keys under it."
            )
        return content[len(_PLAIN) :]
    if not content.startswith(_SEALED):
        raise InputError(f"{path} is not a file with secret keys of blindlabel.")
    passphrase = passphrase if passphrase is not None else os.environ.get(PASSPHRASE_VARIABLE)
    if passphrase is None:
        raise InputError(
            f"The secret keys in {path} are under a passphrase. Set {PASSPHRASE_VARIABLE} to it, or"
            f" {PASSPHRASE_VARIABLE}_FILE to a file with it."
        )
    rest = content[len(_SEALED) :]
    salt, sealed = rest[: nacl.pwhash.argon2id.SALTBYTES], rest[nacl.pwhash.argon2id.SALTBYTES :]
    try:
        return nacl.secret.SecretBox(_key(passphrase, salt)).decrypt(sealed)
    except (nacl.exceptions.CryptoError, ValueError) as error:
        raise InputError(f"The passphrase does not open the secret keys in {path}, or the file is damaged.") from error


def put_under(path: Path, passphrase: str, before: str | None) -> bool:
    """Put a secret that is in clear, or under the old passphrase, under this one; False if it already was. A file in
    clear is overwritten, as far as that is possible (see `remove_secret`).
    """
    in_clear = path.read_bytes().startswith(_PLAIN)
    with suppress(InputError):
        read_secret(path, passphrase)
        return False
    content = read_secret(path, None if in_clear else before)
    with path.open("r+b") as known:
        write_secret(path, content, passphrase)
        known.write(bytes(os.fstat(known.fileno()).st_size))
        known.flush()
        os.fsync(known.fileno())
    return True


def remove_secret(path: Path) -> None:
    """Overwrite a secret and remove it. What a journal, a snapshot or flash memory keeps of it is out of reach."""
    with path.open("r+b") as file:  # the same blocks, and on the disk before the name is gone
        file.write(bytes(path.stat().st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink()
    sync_folder(path.parent)


class SecretsInMemory:
    """Secrets that have been read, so that a passphrase is stretched only once. One is given out only while its file is
    there and unchanged: another process may have deleted the study, or made it again.
    """

    def __init__(self, passphrase: str | None, most: int) -> None:
        self._passphrase = passphrase
        self._most = most
        self._known: OrderedDict[Path, tuple[tuple[int, int, int], bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def write(self, path: Path, content: bytes) -> None:
        """Store a secret under the same passphrase."""
        write_secret(path, content, self._passphrase)

    def remove(self, path: Path) -> None:
        """Forget a secret, on the disk and here."""
        with self._lock:
            self._known.pop(path, None)
            if path.exists():
                remove_secret(path)

    def read(self, path: Path) -> bytes:
        """The secret in this file."""
        with self._lock:
            known = self._known.pop(path, None)
            found = path.stat() if path.exists() else None
            state = (found.st_ino, found.st_mtime_ns, found.st_size) if found else (0, 0, 0)
            if known is None or known[0] != state:
                known = state, read_secret(path, self._passphrase)
            self._known[path] = known
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return known[1]


def _key(passphrase: str, salt: bytes) -> bytes:
    return nacl.pwhash.argon2id.kdf(
        nacl.secret.SecretBox.KEY_SIZE,
        passphrase.encode("utf-8"),
        salt,
        opslimit=nacl.pwhash.argon2id.OPSLIMIT_MODERATE,
        memlimit=nacl.pwhash.argon2id.MEMLIMIT_MODERATE,
    )


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
            f"{path} is not an invitation of blindlabel, or is damaged. Ask the coordinator to send it again."
        ) from error
