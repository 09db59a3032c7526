"""Holds two promises: the core works without jax, and `check` neither imports nor runs what it audits.

Each has a test of the test, to show that it would fail if the promise were broken.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import jaxaudit

BLOCK_JAX = """
import importlib.abc, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"jax", "jaxlib", "numpy", "flax"}:
            raise ImportError("blocked: " + name)

sys.meta_path.insert(0, Block())
"""

IMPORT_ALL = """
import pkgutil, importlib, jaxaudit
for module in pkgutil.walk_packages(jaxaudit.__path__, "jaxaudit."):
    if not module.name.startswith("jaxaudit.frontends.jaxpr") and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""

BOMB = """
import os, pathlib
pathlib.Path(__file__).with_name("exploded").write_text("I ran")

class Meta(type):
    def __new__(cls, *arguments):
        pathlib.Path(__file__).with_name("exploded").write_text("I ran")
        return super().__new__(cls, *arguments)

class Bomb(metaclass=Meta):
    pass
"""


def python(code: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


def test_the_core_is_importable_without_jax():
    done = python(BLOCK_JAX + IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_an_import_of_jax_would_be_seen():
    done = python(BLOCK_JAX + "import jax.numpy")
    assert done.returncode == 1
    assert "blocked: jax" in done.stderr


def test_check_loads_no_jax(tmp_path):
    (tmp_path / "train.py").write_text("import jax\n\ndef f(key):\n    return jax.random.normal(key)\n")
    code = "import sys, jaxaudit; jaxaudit.check('train.py'); print({'jax', 'numpy', 'train'} & set(sys.modules))"
    assert python(code, tmp_path).stdout == "set()\n"


def bomb(folder: Path) -> Path:
    package = folder / "bomb"
    package.mkdir()
    (package / "__init__.py").write_text(BOMB)
    (package / "user.py").write_text("import bomb\nfrom bomb import Bomb\n\nprint(Bomb())\n")
    (folder / "conftest.py").write_text(BOMB)
    return package


def test_check_never_runs_what_it_audits(tmp_path):
    package = bomb(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = python("import jaxaudit; print(len(jaxaudit.check('.').targets))", tmp_path)
    assert (done.stdout, done.stderr) == ("3\n", "")
    assert not (package / "exploded").exists()
    assert sorted(tmp_path.rglob("*")) == before, "check must not write into the project"


def test_running_it_would_be_seen(tmp_path):
    package = bomb(tmp_path)
    python("import bomb.user", tmp_path)
    assert (package / "exploded").exists()


def test_start_up_imports_nothing_heavy():
    code = "import sys, jaxaudit.surfaces.cli; print(sorted({'rich', 'msgspec', 'pathspec', 'subprocess'} & set(sys.modules)))"
    assert python(code).stdout == "[]\n"


def test_the_package_under_test_is_the_one_in_the_tree():
    assert Path(jaxaudit.__file__).parent == Path(__file__).parent.parent / "src" / "jaxaudit"


@pytest.mark.parametrize("module", ["random", "dataclasses", "typing", "tokenize", "rich"])
def test_files_of_the_user_take_the_place_of_no_module(tmp_path, module):
    (tmp_path / f"{module}.py").write_text("raise SystemExit('I ran')\n")
    command = [sys.executable, "-m", "jaxaudit", "check", f"{module}.py", "--no-cache"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "I ran" in done.stderr) == (0, False), done.stderr
    started_otherwise = python(f"import sys; sys.path.insert(0, ''); import {module}", tmp_path)
    assert "I ran" in started_otherwise.stderr
