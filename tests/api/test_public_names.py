"""`import blindlabel` is light, and every public name is there, typed and documented."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import blindlabel

HEAVY = ("tenseal", "nicegui", "sqlalchemy", "pandas", "polars", "numpy", "pyarrow", "lark", "pydantic")


def modules_after(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, text=True, capture_output=True)
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    loaded = modules_after("import blindlabel")
    assert not loaded & set(HEAVY)
    assert not {name for name in loaded if name.startswith("blindlabel.")}


def test_a_question_loads_neither_an_engine_nor_a_database() -> None:
    loaded = modules_after("import blindlabel\nblindlabel.Question('ret true')")
    assert not loaded & {"tenseal", "nicegui", "sqlalchemy", "pandas", "polars", "pyarrow"}


def test_clear_work_loads_neither_pandas_nor_polars_nor_tenseal() -> None:
    loaded = modules_after(
        "import blindlabel as bl\n"
        "table = bl.read_table([{'name': 'canon'}, {'name': 'sony'}], name='a')\n"
        "bl.ask(bl.suggest(table), table, 'plain')\n"
        "bl.rehearse(table, [{'name': 'sony'}]).score([])"
    )
    assert not loaded & {"tenseal", "nicegui", "sqlalchemy", "pandas", "polars"}


@pytest.mark.parametrize("name", blindlabel.__all__)
def test_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(blindlabel, name)
    assert name in dir(blindlabel)
    if name == "__version__":
        return
    assert inspect.getdoc(found)
    if inspect.isfunction(found):
        signature = inspect.signature(found)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(one.annotation is not inspect.Parameter.empty for one in signature.parameters.values())


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = blindlabel.nothing
