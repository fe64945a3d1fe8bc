"""A real PostgreSQL server for tests: made by the machine's own `initdb`, reached through a socket in a private folder,
shared by all processes of one test run (pytest-xdist), stopped by the last of them. Nobody else's server is touched."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from support.patience import PATIENCE

ENSURE = Path(__file__).parents[2] / "scripts" / "ensure-postgres"


@dataclass(frozen=True)
class Server:
    """A running server."""

    programs: Path
    folder: Path

    def address(self, database: str) -> str:
        """The address of one of its databases, as an operator writes it."""
        return f"postgresql://blindlabel@/{database}?host={self.folder}"

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs, not as root."""
        command = [str(self.programs / program), *arguments]
        account, is_root = _account(), os.getuid() == 0
        user, group = (account.pw_uid, account.pw_gid) if is_root else (None, None)
        others: list[int] | None = [] if is_root else None
        done = subprocess.run(
            command,
            check=False,
            user=user,
            group=group,
            extra_groups=others,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd="/",
        )
        assert done.returncode == 0, (program, done.stderr)
        return done

    @contextlib.contextmanager
    def fresh_database(self) -> Iterator[str]:
        """An empty database; its address."""
        name = f"test_{secrets.token_hex(8)}"
        with psycopg.connect(f"host={self.folder} user=blindlabel dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield self.address(name)
        finally:
            with psycopg.connect(f"host={self.folder} user=blindlabel dbname=postgres", autocommit=True) as connection:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _account() -> pwd.struct_passwd:
    """Who runs the server: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise AssertionError("no account to run PostgreSQL with")


@contextlib.contextmanager
def running(shared: Path) -> Iterator[Server]:
    """The server of this test run; `shared` is a folder that all its processes know."""
    with _locked(shared):
        server = _running_server(shared) or _started(shared)
        user = shared / f"user-{os.getpid()}"
        user.touch()
        (server.folder / "shared").write_text(str(shared))
    try:
        yield server
    finally:
        with _locked(shared):
            user.unlink()
            if not _used(shared):
                _stop(server)
                (shared / "server").unlink()


def _used(shared: Path) -> bool:
    return any(Path(f"/proc/{path.name.removeprefix('user-')}").exists() for path in shared.glob("user-*"))


def _stop(server: Server) -> None:
    server.run("pg_ctl", "stop", "-D", str(server.folder / "data"), "-m", "immediate", "-w")
    shutil.rmtree(server.folder)


def _stop_left_over(programs: Path) -> None:
    """Stop servers of test runs that were killed before they could do it themselves."""
    for file in Path(tempfile.gettempdir()).glob("bl-postgres-*/shared"):
        with contextlib.suppress(OSError, AssertionError):  # somebody else's, or stopped by another run at this moment
            if not _used(Path(file.read_text())):
                _stop(Server(programs, file.parent))


@contextlib.contextmanager
def _locked(shared: Path) -> Iterator[None]:
    shared.mkdir(parents=True, exist_ok=True)
    with (shared / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _running_server(shared: Path) -> Server | None:
    file = shared / "server"
    if not file.exists():
        return None
    programs, folder = file.read_text().splitlines()
    return Server(Path(programs), Path(folder))


def _started(shared: Path) -> Server:
    ensured = subprocess.run([str(ENSURE)], check=False, capture_output=True, text=True, timeout=PATIENCE)
    if ensured.returncode != 0:
        pytest.skip(ensured.stderr.strip())
    _stop_left_over(Path(ensured.stdout.strip()))
    folder = Path(tempfile.mkdtemp(prefix="bl-postgres-"))  # short: the path of a socket may have some 100 characters
    os.chown(folder, _account().pw_uid, _account().pw_gid)
    server = Server(Path(ensured.stdout.strip()), folder)
    data = str(folder / "data")
    server.run("initdb", "-D", data, "-U", "blindlabel", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
    settings = {"listen_addresses": "", "unix_socket_directories": folder, "fsync": "off", "shared_buffers": "16MB"}
    options = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
    server.run("pg_ctl", "start", "-D", data, "-w", "-l", str(folder / "log"), "-o", options)
    (shared / "server").write_text(f"{server.programs}\n{folder}\n")
    return server
