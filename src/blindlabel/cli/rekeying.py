"""`blindlabel owner rekey` and `blindlabel coordinator rekey`: put secret keys under a passphrase, or under another."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from blindlabel.cli.output import say, with_noun
from blindlabel.cli.stores import NEW_PASSPHRASE, PASSPHRASE, Home, WorkspaceFolder, passphrase, workspace_at
from blindlabel.errors import InputError


def owner_rekey(*, at: WorkspaceFolder) -> None:
    """Put all secret keys of the workspace under the passphrase in BLINDLABEL_NEW_PASSPHRASE (or in the file that
    BLINDLABEL_NEW_PASSPHRASE_FILE names); without it, keys in clear under the one in BLINDLABEL_PASSPHRASE. Stop what
    is running there first. If it is interrupted, run it again.
    """
    with workspace_at(at).locked_for("owner rekey"):
        _rekey(at.glob("*.key"))


def coordinator_rekey(*, at: Home) -> None:
    """Put all secret keys of the coordinator under the passphrase in BLINDLABEL_NEW_PASSPHRASE (or in the file that
    BLINDLABEL_NEW_PASSPHRASE_FILE names); without it, keys in clear under the one in BLINDLABEL_PASSPHRASE. Stop the
    server first. If it is interrupted, run it again.
    """
    _rekey((at / "keys").rglob("*.key"))


def _rekey(files: Iterable[Path]) -> None:
    from blindlabel.storage.secret_files import put_under

    before = passphrase()
    new = passphrase(NEW_PASSPHRASE) or before
    if not new:
        raise InputError(f"Set {NEW_PASSPHRASE} or {PASSPHRASE}, or one of them with _FILE, to the passphrase.")
    changed = [put_under(path, new, before) for path in sorted(files)]
    say(f"{with_noun(len(changed), 'file', 'files')} with secret keys, {sum(changed):,} put under the passphrase now.")
    say("Whoever starts something here needs it from now on. Earlier backups stay as they were.")
