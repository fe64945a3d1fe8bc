"""How commands open a coordinator's folder or an owner's workspace, with the passphrase over the keys in it, and the
options that say what to open; and `owner rekey` and `coordinator rekey`, which put the keys under another passphrase.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from blindlabel.cli.output import say, with_noun
from blindlabel.errors import InputError, reason

if TYPE_CHECKING:
    from blindlabel.api.parties import Coordinator
    from blindlabel.parties.coordinator import CoordinatorParty
    from blindlabel.protocol.agreement import Agreement
    from blindlabel.storage.coordinator_store import CoordinatorStore
    from blindlabel.storage.workspace import Workspace

Home = Annotated[Path, Option("--at", help="The coordinator's folder: database, bodies and keys.")]
DatabaseAddress = Annotated[
    str | None,
    Option("--database", help="Address of a PostgreSQL database instead of SQLite.", envvar="BLINDLABEL_DATABASE"),
]
StudyName = Annotated[str, Argument(help="The study's name, or the beginning of its hash.")]
Unasked = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]
IdColumn = Annotated[str | None, Option("--id-column", help="The column with the rows' ids. Default: `id`.")]
TextEncoding = Annotated[str | None, Option("--encoding", help="Text encoding of the table, if it is not UTF-8.")]
WorkspaceFolder = Annotated[Path, Option("--at", help="The workspace's folder.")]
Via = Annotated[str, Option("--via", help="https://… or folder:/path. Remembered for later commands.")]
Authority = Annotated[Path | None, Option("--ca", help="Certificate (PEM) to trust for the coordinator; remembered.")]
Proxy = Annotated[str, Option("--proxy", help="http://host:port, `environment` or `none`; remembered.")]
ClientCertificate = Annotated[
    Path | None, Option("--client-certificate", help="Yours, with its key (PEM), for a gateway; remembered.")
]
Insecure = Annotated[bool, Option("--insecure", help="Accept http:// to another machine: tokens travel in clear.")]
PASSPHRASE, NEW_PASSPHRASE = "BLINDLABEL_PASSPHRASE", "BLINDLABEL_NEW_PASSPHRASE"


def passphrase(variable: str = PASSPHRASE) -> str | None:
    """The passphrase over the secret keys: from the environment, from a file that it names, or from a file of that
    name among the credentials that systemd gives to a service.
    """
    given = Path(os.environ.get("CREDENTIALS_DIRECTORY", ""), variable.lower().replace("_", "-"))
    file = os.environ.get(f"{variable}_FILE") or (str(given) if given.is_absolute() and given.exists() else None)
    if file is None or variable in os.environ:
        return os.environ.get(variable)
    try:
        return Path(file).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeError) as error:
        raise InputError(f"The file {file} with the passphrase cannot be read: {reason(error)}.") from error


def coordinator_at(home: Path, database: str | None, *, make: bool = False) -> CoordinatorParty:
    """The coordinator in this folder."""
    from blindlabel.parties.coordinator import CoordinatorParty

    return CoordinatorParty(studies_at(home, database, make=make))


def studies_at(home: Path, database: str | None, *, make: bool = False) -> CoordinatorStore:
    """The store of the coordinator in this folder."""
    from blindlabel.storage.coordinator_store import CoordinatorStore

    if not (make or database or is_coordinators(home)):
        raise InputError(f"{home} is not a coordinator's folder. `blindlabel coordinator invite` makes one.")
    return CoordinatorStore(home, database, passphrase())


def is_coordinators(folder: Path) -> bool:
    """Whether a folder is a coordinator's."""
    return any((folder / f"coordinator.{what}").exists() for what in ("sqlite", "id"))


def coordinator_from(home: Path, database: str | None) -> Coordinator:
    """The same as `coordinator_at`, as the API has it."""
    from blindlabel.api.parties import Coordinator

    studies_at(home, database).close()  # refuses a folder that is no coordinator's
    return Coordinator(home, database=database, passphrase=passphrase())


def workspace_at(folder: Path) -> Workspace:
    """An owner's workspace in this folder."""
    from blindlabel.storage.workspace import Workspace

    return Workspace.open(folder, passphrase())


def read_agreement(file: Path) -> Agreement:
    """The agreement in this file."""
    from blindlabel.protocol import agreement as agreements

    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise InputError(f"{file} cannot be read: {reason(error)}.") from error
    return agreements.from_text(text, source=str(file))


def agreement_in(file: Path) -> Agreement:
    """The agreement in this file, or in this invitation."""
    from blindlabel.parties.joining import invited_to
    from blindlabel.storage.secret_files import read_invitation

    return invited_to(read_invitation(file)) if file.suffix == ".invitation" else read_agreement(file)


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
