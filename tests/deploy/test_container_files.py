"""The container and compose files fit the program: their syntax, and every command, port, variable and file that they
name.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from blindlabel.cli.main import run
from blindlabel.cli.stores import PASSPHRASE, passphrase
from blindlabel.errors import InputError
from support.patience import Patience

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
INSTRUCTIONS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
Instruction = tuple[str, str]


def instructions() -> list[Instruction]:
    """The container file as instructions with their arguments, continued lines joined."""
    text = "\n".join(
        line for line in (DEPLOY / "Containerfile").read_text("utf-8").splitlines() if not line.lstrip().startswith("#")
    )
    found = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            assert name in INSTRUCTIONS and rest.strip(), line
            found.append((name, rest.strip()))
    return found


def arguments_of(name: str) -> list[str]:
    """The arguments of all instructions of one name."""
    return [rest for found, rest in instructions() if found == name]


def compose() -> dict[str, Any]:
    """The compose file."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return loaded


def test_container_file_begins_with_a_plain_image_and_uses_its_own_stages() -> None:
    stages: list[str] = []
    assert instructions()[0][0] == "FROM"
    for image in arguments_of("FROM"):
        name, _, stage = image.partition(" AS ")
        assert re.fullmatch(r"[a-z]+(:[a-z0-9.-]+)?", name), "a plain name of an image, without a registry"
        stages.append(stage)
    for copied in arguments_of("COPY"):
        if found := re.match(r"--from=(\w+) ", copied):
            assert found[1] in stages


def test_files_that_are_copied_into_the_image_exist() -> None:
    copied = [words.split()[:-1] for words in arguments_of("COPY") if not words.startswith("--from")]
    files = [ROOT / name for names in copied for name in names]
    assert len(files) >= 4
    assert [file for file in files if not file.exists()] == []


def test_program_of_the_container_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert json.loads(arguments_of("ENTRYPOINT")[0]) == ["blindlabel"] and "blindlabel" in project["scripts"]


def test_container_does_not_run_as_root_and_keeps_its_data_in_a_volume() -> None:
    order = [name for name, _ in instructions()]
    assert arguments_of("USER") == ["blindlabel"] and order.index("USER") < order.index("ENTRYPOINT")
    command = json.loads(arguments_of("CMD")[-1])
    assert arguments_of("VOLUME") == [command[command.index("--at") + 1]]


def test_command_of_the_container_is_one_of_the_program_and_the_documented_one(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = json.loads(arguments_of("CMD")[-1])
    assert run([*command, "--help"]) == 0
    assert run([*command, "--no-such-option", "--help"]) == 2
    assert compose()["services"]["coordinator"]["command"] == command
    assert "blindlabel " + " ".join(command) in (ROOT / "docs" / "how-to" / "scale.md").read_text("utf-8")
    operations = (ROOT / "docs" / "how-to" / "operations.md").read_text("utf-8")
    assert "blindlabel coordinator serve --at " in operations and "`--host 0.0.0.0`" in operations


def test_ports_agree_everywhere() -> None:
    command = json.loads(arguments_of("CMD")[-1])
    port = command[command.index("--port") + 1]
    assert arguments_of("EXPOSE") == [port]
    program = json.loads(arguments_of("HEALTHCHECK")[0].partition("CMD ")[2])
    assert program == ["blindlabel", "coordinator", "health", "--address", f"http://127.0.0.1:{port}"]
    proxy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert f"port {port}" in proxy and "name coordinator" in proxy


@pytest.mark.parametrize("unit", [path.name for path in (DEPLOY / "systemd").iterdir()])
def test_units_of_systemd_start_commands_that_exist(unit: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DEPLOY / "systemd" / unit).read_text("utf-8")
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    service = parser["Service"]
    words = service["ExecStart"].split()
    assert words[0].endswith("/blindlabel")
    assert run([*words[1:3], "--help"]) == 0
    known = capsys.readouterr().out
    assert all(word in known for word in words if word.startswith("--"))
    credential = service["LoadCredentialEncrypted"].partition(":")[0]
    assert credential == PASSPHRASE.lower().replace("_", "-"), "the name under which the program looks for it"
    if analyse := shutil.which("systemd-analyze"):
        checked = subprocess.run(
            [analyse, "verify", "--man=no", DEPLOY / "systemd" / unit], check=False, capture_output=True, text=True
        )
        assert "Unknown" not in checked.stderr, checked.stderr


def container_tool() -> str | None:
    """A container tool on this machine that can build: one that is only a client without a server cannot."""
    for tool in ("podman", "docker"):
        if shutil.which(tool) and subprocess.run([tool, "info"], check=False, capture_output=True).returncode == 0:
            return tool
    return None


@pytest.mark.slow
def test_image_is_built_and_its_server_is_well(tmp_path: Path) -> None:
    tool = container_tool()
    if tool is None:
        pytest.skip("no container tool that works is on this machine")
    base = arguments_of("FROM")[0].partition(" AS ")[0]
    if subprocess.run([tool, "pull", base], check=False, capture_output=True).returncode:
        pytest.skip(f"{tool} cannot get the base image {base} here")
    build = [tool, "build", "-q", "-f", str(DEPLOY / "Containerfile"), "-t", "blindlabel-test", str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    started = subprocess.run([tool, "run", "-d", "--rm", "blindlabel-test"], check=True, capture_output=True, text=True)
    container = started.stdout.strip()
    try:
        asked = [tool, "exec", container, "blindlabel", "coordinator", "health"]
        Patience().wait_until(lambda: subprocess.run(asked, check=False, capture_output=True).returncode == 0)
    finally:
        subprocess.run([tool, "kill", container], check=False, capture_output=True)


def test_server_starts_in_an_empty_volume_and_in_no_folder_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("volume", "stick"):
        (tmp_path / name).mkdir()
    serve = ["coordinator", "serve", "--via", f"folder:{tmp_path / 'stick'}", "--once", "--at"]
    assert run([*serve, str(tmp_path / "volume")]) == 0
    assert "Serving 0 studies" in capsys.readouterr().err
    assert run([*serve, str(tmp_path / "mistyped")]) == 1


def test_passphrase_comes_from_a_file_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "passphrase").write_text("right horse\n")
    monkeypatch.delenv("BLINDLABEL_PASSPHRASE", raising=False)
    monkeypatch.setenv("BLINDLABEL_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert passphrase() == "right horse"
    monkeypatch.setenv("BLINDLABEL_PASSPHRASE_FILE", str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="cannot be read"):
        passphrase()


def test_compose_file_names_only_what_it_defines() -> None:
    found = compose()
    services, volumes = found["services"], found["volumes"]
    assert set(services) == {"database", "coordinator", "proxy"}
    for service in services.values():
        assert re.fullmatch(r"[a-z-]+(:[a-z0-9.]+)?", service["image"]), "a plain name of an image, without a registry"
        assert set(service.get("depends_on", [])) <= set(services)
    assert "healthcheck" in services["proxy"] and "healthcheck" in services["database"]
    for service in services.values():
        for mounted in service["volumes"]:
            source = mounted.partition(":")[0]
            assert (DEPLOY / source).exists() if source.startswith("./") else source in volumes
    built = services["coordinator"]["build"]
    assert (DEPLOY / built["context"] / built["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    assert services["coordinator"]["deploy"]["replicas"] >= 2


def test_variables_are_those_that_program_and_images_read() -> None:
    services = compose()["services"]
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src" / "blindlabel").rglob("*.py"))
    for name in services["coordinator"]["environment"]:
        assert f'"{name}"' in source, name
    network = compose()["networks"]["default"]["ipam"]["config"][0]["subnet"]
    assert services["coordinator"]["environment"]["BLINDLABEL_PROXY"] == network, "the proxy alone is believed"
    address = services["coordinator"]["environment"]["BLINDLABEL_DATABASE"]
    database = services["database"]["environment"]
    assert address.startswith(f"postgresql://{database['POSTGRES_USER']}:")
    assert address.endswith(f"@database/{database['POSTGRES_DB']}")
    assert "{$BLINDLABEL_SITE}" in (DEPLOY / "Caddyfile").read_text("utf-8")
    text = (DEPLOY / "compose.yaml").read_text("utf-8") + (ROOT / "docs" / "how-to" / "scale.md").read_text("utf-8")
    for variable in re.findall(r"\$\{(\w+)", text):
        assert f"{variable}=" in text, f"nobody is told to set {variable}"


def test_caddy_takes_the_files_for_it(tmp_path: Path) -> None:
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy is not on this machine")
    guide = (ROOT / "docs" / "how-to" / "operations.md").read_text("utf-8")
    (shown,) = re.findall(r"^```\n(annotate\.example.*?)^```", guide, re.MULTILINE | re.DOTALL)
    made = subprocess.run(
        [caddy, "hash-password", "--plaintext", "x"], check=True, capture_output=True, text=True
    ).stdout.strip()
    (tmp_path / "shown").write_text(shown.replace("$2a$14$… # caddy hash-password", made))
    site = os.environ | {"BLINDLABEL_SITE": "localhost", "HOME": str(tmp_path)}
    for file, certificates in (
        (DEPLOY / "Caddyfile", ""),
        (DEPLOY / "Caddyfile", "local_certs"),
        (tmp_path / "shown", ""),
    ):
        done = subprocess.run(
            [caddy, "validate", "--config", str(file), "--adapter", "caddyfile"],
            env=site | {"BLINDLABEL_CERTIFICATES": certificates}, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
