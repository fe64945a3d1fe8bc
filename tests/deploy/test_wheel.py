"""The wheel works without the repository: installed alone in a new environment, it plays a whole study by commands.

Its dependencies are those of the environment that runs the tests, lent to the new one by a path file; nothing of the
repository is on that path.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from support.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
FIRST_TRIPS = (
    "generate persons --out tables --rows 4 --seed 2",
    "coordinator new a.toml --name p --owners anna,berta --attributes given_name,surname --records 2 --rounds 1"
    " --engine plain",
    "coordinator check a.toml",
    "coordinator invite a.toml --at home --address folder:stick --to inv",
    "owner check inv/anna.invitation tables/a.csv",
    "owner join inv/anna.invitation tables/a.csv --at anna --accept-weaker",
    "owner join inv/berta.invitation tables/b.csv --at berta --accept-weaker",
    "coordinator serve --at home --via folder:stick --once",
)
ROUND = ("owner run --at anna --auto --once", "owner run --at berta --auto --once")
SERVE = "coordinator serve --at home --via folder:stick --once"


class Installed:
    """The program in an environment of its own, run in a folder of its own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder / "work"
        (self.folder / "stick").mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "new"], check=True)
        self.python = folder / "new" / "bin" / "python"
        site = next((folder / "new" / "lib").glob("python*/site-packages"))
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--python",
            str(self.python),
            "install",
            "-q",
        ]
        subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
        lent = folder / "lent"
        lent.mkdir()
        for found in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if "blindlabel" not in found.name:
                (lent / found.name).symlink_to(found)
        (site / "lent.pth").write_text(f"{lent}\n")

    def said(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def refused(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 1, f"{arguments}\n{done.stdout}\n{done.stderr}"
        return done.stderr

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
        command = [str(self.python.with_name("blindlabel")), *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE
        )


def built(folder: Path, compiler: str) -> Path:
    """The wheel, built with this C compiler."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "-q", "--no-deps", "-w", str(folder)]
    environment = os.environ | {"CC": compiler}
    done = subprocess.run([*pip, str(ROOT)], check=False, capture_output=True, text=True, env=environment)
    if done.returncode and "hatchling" in done.stderr:
        pytest.skip("the wheel's builder (hatchling) can be had neither here nor from the index")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("blindlabel-*.whl"))


@pytest.mark.slow
def test_wheel_has_the_kernel_where_there_is_a_compiler_and_is_a_pure_one_where_there_is_none(tmp_path: Path) -> None:
    pure = built(tmp_path / "pure", "no-such-compiler")
    assert pure.name.endswith("-py3-none-any.whl")
    assert not [name for name in zipfile.ZipFile(pure).namelist() if name.endswith(".so")]
    if shutil.which("cc") is None or platform.machine() != "x86_64":
        pytest.skip("there is no C compiler for this processor")
    compiled = built(tmp_path / "compiled", "cc")
    assert "-py3-none-linux" in compiled.name
    (library,) = [name for name in zipfile.ZipFile(compiled).namelist() if name.endswith(".so")]
    zipfile.ZipFile(compiled).extract(library, tmp_path)
    assert ctypes.CDLL(str(tmp_path / library)).version() in (0, 1, 2)


@pytest.mark.slow
def test_wheel_alone_plays_a_whole_study_by_commands(tmp_path: Path) -> None:
    installed = Installed(tmp_path, built(tmp_path, os.environ.get("CC", "cc")))
    where = subprocess.run(
        [installed.python, "-c", "import blindlabel; print(blindlabel.__file__)"],
        cwd=tmp_path, env={"PATH": os.environ["PATH"]}, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert str(tmp_path) in where, "the repository's own code must not be what runs"
    pages = {line.split()[0] for line in installed.said("help").splitlines()}
    assert pages == {page.stem for page in (ROOT / "docs").glob("*/*.md") if page.parent.name != "decisions"}
    assert installed.said("help", "planning").startswith("# ")
    units = installed.said("deploy", "systemd", "--to", "units").split()
    assert {Path(one).name for one in units} == {path.name for path in (ROOT / "deploy" / "systemd").iterdir()}
    assert Path(installed.said("deploy", "logs", "--to", "units").strip()).name == "logrotate"
    assert (installed.folder / units[0]).read_text() == (ROOT / "deploy" / "systemd" / Path(units[0]).name).read_text()
    assert "pip install blindlabel-lab" in installed.refused("bench", "packed", "--pairs", "5")
    for line in FIRST_TRIPS:
        installed.said(*line.split())
    words = {name: installed.said("owner", "verify", "--at", name) for name in ("anna", "berta")}
    for name, peer in (("anna", "berta"), ("berta", "anna")):
        heard = re.search(r"(?:[a-z]+ ){11}[a-z]+", words[peer])
        assert heard is not None, words[peer]
        installed.said("owner", "verify", peer, "--at", name, "--words", heard[0])
    installed.said(*SERVE.split())
    for _ in range(3):
        for line in (*ROUND, SERVE):
            installed.said(*line.split())
    for line in ROUND:
        installed.said(*line.split())
    for name in ("anna", "berta"):
        installed.said("export", name, "--to", f"{name}.csv")
    installed.said("merge", "anna.csv", "berta.csv", "--format", "leipzig", "--to", "pairs.csv")
    assert (installed.folder / "pairs.csv").read_text().startswith("idanna,idberta")
