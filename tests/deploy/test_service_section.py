"""docs/how-to/operations.md, "As a service": its commands and its units' own, as real processes with TLS and a proxy,
under a passphrase that comes as a credential. Only users, systemd itself and its encryption of credentials are played
here.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from blindlabel.protocol.agreement import to_text
from support.egress import OUTSIDE, certificate, egress, tls_in_front
from support.patience import PATIENCE, Patience
from support.study_parties import free_port, small_agreement, write_person_tables

ROOT = Path(__file__).resolve().parents[2]
DESK, PASSWORD = "annotate.example:8444", "difference engine"
PROGRAM = "/opt/blindlabel/bin/blindlabel"


def section(name: str) -> list[list[str]]:
    """What the section has an administrator type, block by block."""
    page = (ROOT / "docs" / "how-to" / "operations.md").read_text("utf-8")
    text = page.partition(f"## {name}")[2].partition("\n## ")[0]
    return [
        [line.removeprefix("# ") for line in block.splitlines()]
        for block in re.findall(r"^```console\n(# .*?)^```", text, re.MULTILINE | re.DOTALL)
    ]


def unit(name: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string((ROOT / "deploy" / "systemd" / name).read_text("utf-8"))
    return parser["Service"]


class Machine:
    """A machine whose root folder is a folder, and its program this one."""

    def __init__(self, folder: Path, replaced: dict[str, str], stack: ExitStack) -> None:
        self.folder, self.replaced, self._stack = folder, replaced, stack
        self.credentials = folder / "credentials"
        self.log = folder / "log"
        self.runtime = Path(stack.enter_context(TemporaryDirectory()))  # short: a socket's path has 107 characters

    def words(self, line: str) -> list[str]:
        for known, here in self.replaced.items():
            line = line.replace(known, here)
        line = re.sub(r"(?<=[ =:])/(var|srv|etc)/", rf"{self.folder}/\1/", line)
        line = line.replace(" /run/", f" {self.runtime}/")
        found = shlex.split(line)
        return [sys.executable, "-m", "blindlabel.cli.main", *found[1:]] if found[0] == PROGRAM else found

    def environment(self, *, credentials: bool) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if "PASSPHRASE" not in name}
        kept |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        return kept | ({"CREDENTIALS_DIRECTORY": str(self.credentials)} if credentials else {})

    def run(self, line: str, *, credentials: bool = False) -> str:
        done = subprocess.run(
            self.words(line), env=self.environment(credentials=credentials), capture_output=True, text=True,
            timeout=PATIENCE, check=False, input=f"{PASSWORD}\n",
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, service: configparser.SectionProxy, instance: str) -> None:
        command = self.words(service["ExecStart"].replace("%i", instance))
        environment = self.environment(credentials=True)
        if "EnvironmentFile" in service:
            file = Path(str(self.folder) + service["EnvironmentFile"].replace("%i", instance))
            environment |= dict([line.split("=", 1) for line in file.read_text().splitlines()])
        if "RuntimeDirectory" in service:
            made = self.runtime / service["RuntimeDirectory"].replace("%i", instance)
            made.mkdir(mode=int(service["RuntimeDirectoryMode"], 8), parents=True)
        with self.log.open("a") as log:
            running = subprocess.Popen(command, env=environment, stderr=log)
        self._stack.callback(running.wait)
        self._stack.callback(running.terminate)

    def follow(self, line: str) -> None:
        """One line of the section."""
        if line.startswith("install "):
            Path(self.words(line)[-1]).mkdir(mode=0o700, parents=True, exist_ok=True)
        elif line.startswith("echo "):
            text, _, file = line.removeprefix("echo ").partition(" > ")
            Path(str(self.folder) + file).write_text(f"{text}\n")
        elif "systemd-creds encrypt" in line:
            self.credentials.mkdir(mode=0o700)
            name = re.findall(r"--name=(\S+)", line)[0]
            (self.credentials / name).write_text("correct horse\n")
        elif line.startswith("systemctl enable --now "):
            name, _, instance = line.split()[-1].partition("@")
            service = unit(f"{name}@.service" if instance else f"{name}.service")
            assert (self.folder / "etc" / "systemd" / "system" / f"{name}{'@' if instance else ''}.service").exists()
            self.start(service, instance)
        elif line.startswith("systemd-run "):
            options, _, command = line.partition(PROGRAM)
            service = unit(
                "blindlabel-coordinator.service" if "coordinator" in options else "blindlabel-owner@.service"
            )
            assert f"--uid={service['User']} " in options, "the service's user"
            assert f"--property=LoadCredentialEncrypted={service['LoadCredentialEncrypted']} " in options
            self.run(PROGRAM + command, credentials=True)
        elif line.startswith(PROGRAM):
            if "health" in line:
                Patience().wait_until(lambda: "Serving" in self.log.read_text(), self.log.read_text)
            self.run(line)
        else:
            assert line.startswith(("useradd --system ", "usermod --append --groups blindlabel-owner ")), line
            assert shutil.which("useradd") and shutil.which("usermod")


@pytest.mark.slow
def test_service_section_is_walked_through_with_real_processes(tmp_path: Path) -> None:
    port = free_port()
    pem, key = certificate(tmp_path, OUTSIDE)
    with ExitStack() as stack:
        outside = stack.enter_context(tls_in_front(pem, key, port))
        proxy = stack.enter_context(egress(outside))
        replaced = {"8470": str(port), "9470": str(free_port()), "http://proxy.example:3128": proxy.address}
        replaced["owner join "] = "owner join --accept-weaker "  # the plain engine, to be quick
        coordinator, owner = (Machine(tmp_path / name, replaced, stack) for name in ("coordinator", "owner"))
        for machine in (coordinator, owner):
            (machine.folder / "srv" / "blindlabel").mkdir(parents=True)
        (coordinator.folder / "srv" / "blindlabel" / "persons.toml").write_text(to_text(small_agreement()))
        first, second = section("As a service")
        (third,) = section("Where experts sit")
        for line in first:
            coordinator.follow(line)
        keys = list((coordinator.folder / "var/lib/blindlabel-coordinator/keys").rglob("*.key"))
        assert keys and all(b"passphrase" in file.read_bytes()[:40] for file in keys), "no key lies in clear"
        given = coordinator.folder / "var/lib/blindlabel-coordinator/invitations/anna.invitation"
        shutil.copy(given, owner.folder / "srv" / "blindlabel")
        shutil.copy(write_person_tables(tmp_path)[0], owner.folder / "srv" / "blindlabel" / "table.csv")
        shutil.copy(pem, owner.folder / "srv" / "blindlabel" / "ca.pem")
        for line in second:
            owner.follow(line)
        keys = list((owner.folder / "var/lib/blindlabel-owner/persons").glob("*.key"))
        assert keys and all(b"passphrase" in file.read_bytes()[:40] for file in keys), "no key lies in clear"
        Patience().wait_until(lambda: "The other owners have to join." in owner.log.read_text(), owner.log.read_text)
        assert len(proxy.asked) >= 2 and set(proxy.asked) == {f"CONNECT {OUTSIDE}:8443 HTTP/1.1"}
        for log in (coordinator.log, owner.log):
            assert all("event" in json.loads(line) for line in log.read_text().splitlines())
        for line in third:
            owner.follow(line)
        Patience().wait_until(
            lambda: "People open https://annotate.example" in owner.log.read_text(), owner.log.read_text
        )
        socket = owner.runtime / "blindlabel-annotate-persons" / "web.sock"
        assert socket.stat().st_mode & 0o777 == 0o660 and socket.parent.stat().st_mode & 0o777 == 0o750
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(socket)), base_url=f"http://{DESK}") as proxy_of_desk:
            assert proxy_of_desk.get("/").headers["location"] == "/sign-in"
            form = {"name": "Ada", "password": PASSWORD}
            done = proxy_of_desk.post("/sign-in", data=form, headers={"origin": f"https://{DESK}"})
            assert done.status_code == 303 and done.headers["location"] == "/"
        assert '"event": "joined", "study": "persons", "owner": "anna"' in coordinator.log.read_text()


@pytest.mark.parametrize("name", [path.name for path in (ROOT / "deploy" / "systemd").iterdir()])
def test_units_are_as_closed_as_the_page_says(name: str) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not on this machine")
    command = ["systemd-analyze", "security", "--offline=true", str(ROOT / "deploy" / "systemd" / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"LC_ALL": "C.UTF-8"})
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze looks at no files")
    said = re.search(r"exposure level for \S+: ([\d.]+)", done.stdout)
    assert said is not None, done.stdout + done.stderr
    assert float(said[1]) <= 1.5
    assert "says 1.3 for each" in (ROOT / "docs" / "how-to" / "operations.md").read_text("utf-8")


def test_commands_in_containers_are_those_of_the_program() -> None:
    from blindlabel.cli.main import run

    page = (ROOT / "docs" / "how-to" / "scale.md").read_text("utf-8")
    lines = [line for line in page.splitlines() if line.startswith("docker compose") and " run " in line]
    assert len(lines) == 2
    for line in lines:
        before, _, command = line.partition(" coordinator coordinator ")
        assert "--rm" in before and command, "the service, then the command"
        assert run(["coordinator", *shlex.split(command), "--help"]) == 0
        for mounted in re.findall(r'--volume "[^:]+:([^:]+):ro"', before):
            assert mounted in command, "what is mounted is used"
