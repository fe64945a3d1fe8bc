"""What is installed is what was tested, to the byte: every pin has hashes, everything that installs wants them, and a
release says what is in it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from blindlabel import __version__

ROOT = Path(__file__).resolve().parents[2]
PINS = sorted(ROOT.glob("constraints*.txt"))


def pins_in(file: Path) -> dict[str, list[str]]:
    """Every requirement of a file, with its hashes."""
    text = re.sub(r" \\\n +", " ", file.read_text("utf-8"))
    lines = [line.split(" --hash=sha256:") for line in text.splitlines() if not line.startswith("#")]
    return {line[0]: line[1:] for line in lines}


@pytest.mark.parametrize("file", PINS, ids=lambda path: path.name)
def test_every_pin_has_hashes_and_no_file_names_a_host(file: Path) -> None:
    pins = pins_in(file)
    assert len(pins) >= 5
    for requirement, hashes in pins.items():
        assert re.fullmatch(r'[A-Za-z0-9_.-]+==[A-Za-z0-9.+]+(; python_version == "3\.1\d")?', requirement)
        assert hashes and all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes), requirement
    assert "://" not in file.read_text("utf-8") and "index" not in file.read_text("utf-8")


@pytest.mark.parametrize("name", ["scripts/setup", "scripts/gates-environment.sh", "deploy/Containerfile"])
def test_whatever_installs_wants_hashes_and_fetches_nothing_else(name: str) -> None:
    text = re.sub(r"\\\n +", " ", (ROOT / name).read_text("utf-8"))
    installs = re.findall(r"pip install ([^\n|&]*)", text)
    assert [one for one in installs if "--require-hashes" in one]
    for one in installs:
        assert "--require-hashes" in one or ("--no-deps" in one and re.search("--no-index|--no-build-isolation", one))
        for file in re.findall(r"--requirement (\S+)", one):
            assert (ROOT / file).exists()


def test_what_is_installed_is_pinned_and_its_licences_are_known(tmp_path: Path) -> None:
    done = audit()
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Known vulnerabilities: not checked" in done.stdout


def test_every_pin_is_for_the_oldest_python_that_is_promised() -> None:
    for file in PINS:
        for requirement in pins_in(file) if "gates" not in file.name else ():
            found = metadata.metadata(requirement.partition("==")[0])
            for wanted in found.get_all("Requires-Python") or []:
                assert SpecifierSet(wanted).contains("3.11.0"), f"{requirement} wants Python {wanted}"


def audit(*more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "audit"), *more]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def flaw(number: int, package: str, *events: dict[str, str], **more: Any) -> dict[str, Any]:
    """An advisory in OSV's form."""
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    affected = {"package": {"ecosystem": more.pop("ecosystem", "PyPI"), "name": package}, "ranges": ranges}
    affected["versions"] = more.pop("versions", [])
    return {
        "id": f"TEST-{number}",
        "modified": "2026-11-01T00:00:00Z",
        "summary": "bad",
        "affected": [affected],
        **more,
    }


FROM_THE_START = {"introduced": "0"}
FLAWS = [
    flaw(1, "HTTPX", FROM_THE_START, {"fixed": "9999"}),
    flaw(2, "httpx", FROM_THE_START, {"fixed": "0.1"}),
    flaw(3, "numpy", FROM_THE_START, {"fixed": "0.5"}, {"introduced": "1.0"}, {"last_affected": "9999"}),
    flaw(4, "numpy", {"introduced": "9999"}),
    flaw(5, "lark", FROM_THE_START, {"fixed": "9999"}, withdrawn="2026-11-02T00:00:00Z"),
    flaw(6, "lark", FROM_THE_START, {"fixed": "9999"}, ecosystem="npm"),
    flaw(7, "typer", versions=["0.0.1"]),
]


@pytest.mark.parametrize("kind", ["zip", "json"])
def test_carried_advisories_name_the_versions_that_have_the_flaw(tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"advisories.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            for one in FLAWS:
                archive.writestr(f"{one['id']}.json", json.dumps(one))
    else:
        file.write_text(json.dumps(FLAWS))
    done = audit("--advisories", str(file))
    assert done.returncode == 1
    assert set(re.findall(r"TEST-\d", done.stdout)) == {"TEST-1", "TEST-3"}
    assert "checked against 5 entries, the newest of 2026-11-01" in done.stdout


@pytest.mark.slow
def test_release_has_packages_a_list_of_parts_and_checksums_of_all(tmp_path: Path) -> None:
    made = []
    for name in ("first", "second"):
        environment = os.environ | {"DIST": str(tmp_path / name), "WHEELHOUSE": "no", "VENV": sys.prefix}
        done = subprocess.run(
            [ROOT / "scripts" / "release"], env=environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        made.append((tmp_path / name / "SHA256SUMS").read_text())
    assert made[0] == made[1], "the same commit gives the same bytes"
    release = tmp_path / "first"
    checked = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=release, check=False)
    assert checked.returncode == 0
    named = {line.split("  ")[1] for line in made[0].splitlines()}
    assert named == {str(path.relative_to(release)) for path in release.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    wheels = {name.partition("-py3-")[0] for name in named if name.endswith(".whl")}
    assert {
        f"blindlabel-{__version__}",
        f"blindlabel_lab-{__version__}",
        f"wheelhouse/blindlabel-{__version__}",
    } == wheels
    parts = json.loads((release / "blindlabel.cdx.json").read_text())
    assert parts["bomFormat"] == "CycloneDX" and parts["metadata"]["component"]["hashes"]
    listed = {f"{part['name']}=={part['version']}" for part in parts["components"]}
    assert listed == set(pins_in(ROOT / "constraints.txt"))
    assert all(part["licenses"][0]["license"]["name"] != "not said" for part in parts["components"])
