"""Who may use an owner's web app: browsers that were let in, and accounts.

1. A browser that was let in has a random cookie. Its hash is kept, with who sits there and until when it is valid.
2. A password is kept as the string that libsodium makes of it by Argon2id.
3. Every request is checked here. So whoever is signed out, loses the account or gets another password is out at once.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from dataclasses import dataclass
from functools import cache

import nacl.exceptions
import sqlalchemy as sa
from nacl.pwhash import argon2id

from blindlabel.errors import InputError
from blindlabel.storage import workspace_tables as tables
from blindlabel.storage.database import Database

LONGEST_NAME = 60
SHORTEST_PASSWORD, LONGEST_PASSWORD = 12, 200
LINK_SECONDS = 30 * 24 * 3600.0
"""How long a browser is let in by a link, on the owner's own machine."""
SIGNED_IN_SECONDS = 12 * 3600.0
"""How long somebody is let in by a password."""


@dataclass(frozen=True)
class Session:
    """A browser that was let in."""

    browser: str
    name: str
    """Who sits there; empty until the name has been asked."""
    until: float
    signs_out: bool = False
    """Whether this app let the person in by a password, and so offers to sign out."""


def cleaned_name(name: str) -> str:
    """A person's name in the form in which it is shown."""
    cleaned = " ".join(name.split())
    if not cleaned or len(cleaned) > LONGEST_NAME or not cleaned.isprintable():
        raise InputError(f"A name has 1 to {LONGEST_NAME} characters.")
    return cleaned


class Access:
    """Sessions and accounts of one workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._one_at_a_time = threading.Lock()

    def let_in(self, seconds: float, name: str = "") -> str:
        """A cookie for a browser, valid for this many seconds."""
        cookie, now = secrets.token_urlsafe(32), time.time()
        with self._database.write() as connection:
            connection.execute(tables.browser.delete().where(tables.browser.c.until < now))
            row = {"browser": _hashed(cookie), "name": name, "until": now + seconds}
            connection.execute(tables.browser.insert().values(row))
        return cookie

    def session(self, cookie: str) -> Session | None:
        """Whose cookie it is, or None if it is nobody's any more."""
        table = tables.browser
        valid = sa.select(table).where(table.c.browser == _hashed(cookie), table.c.until > time.time())
        return next((Session(**row._mapping) for row in self._database.rows(valid)), None)

    def name(self, browser: str, name: str) -> str:
        """Keep the name of whoever sits at a browser; returns it as it will be shown."""
        kept, table = cleaned_name(name), tables.browser
        self._database.run(table.update().where(table.c.browser == browser).values(name=kept))
        return kept

    def sign_out(self, *, browser: str | None = None, name: str | None = None) -> int:
        """End the sessions of a browser, of a person, or of everybody; returns how many there were."""
        table = tables.browser
        ended = table.delete().where(table.c.until > time.time())
        if browser is not None:
            ended = ended.where(table.c.browser == browser)
        if name is not None:
            ended = ended.where(table.c.name == name)
        return self._database.run(ended)

    # Accounts

    def accounts(self) -> dict[str, int]:
        """Every account, and how many sessions it has now."""
        joined = sa.and_(tables.browser.c.name == tables.account.c.name, tables.browser.c.until > time.time())
        name = tables.account.c.name
        counted = sa.select(name, sa.func.count(tables.browser.c.browser)).outerjoin(tables.browser, joined)
        return {row[0]: row[1] for row in self._database.rows(counted.group_by(name).order_by(name))}

    def set_password(self, name: str, password: str) -> str:
        """Make an account, or give it a new password, which ends its sessions; returns the name as it is kept."""
        kept = cleaned_name(name)
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise InputError(f"A password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters.")
        hashed = argon2id.str(password.encode()).decode()
        with self._database.write() as connection:
            _remove(connection, kept)
            connection.execute(tables.account.insert().values(name=kept, password=hashed))
        return kept

    def remove(self, name: str) -> bool:
        """Remove an account and end its sessions; returns whether there was one."""
        with self._database.write() as connection:
            return _remove(connection, name)

    def password_is(self, name: str, password: str) -> bool:
        """Whether this is the password of the account. It takes just as long if there is no such account."""
        kept = self._database.value(sa.select(tables.account.c.password).where(tables.account.c.name == name))
        with self._one_at_a_time:  # each takes 64 MB
            try:
                argon2id.verify((kept or _nobodys()).encode(), password.encode()[: 4 * LONGEST_PASSWORD])
            except nacl.exceptions.CryptoError:
                return False
        return kept is not None


def _remove(connection: sa.Connection, name: str) -> bool:
    connection.execute(tables.browser.delete().where(tables.browser.c.name == name))
    return bool(connection.execute(tables.account.delete().where(tables.account.c.name == name)).rowcount)


@cache
def _nobodys() -> str:
    return argon2id.str(secrets.token_bytes(16)).decode()


def _hashed(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
