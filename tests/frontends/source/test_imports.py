"""Names are resolved through every way of importing them."""

from __future__ import annotations

import pytest

from .reading import functions, ops, read


@pytest.mark.parametrize(
    "code",
    [
        "import jax\njax.random.normal(jax.random.key(0))",
        "import jax.random as jr\njr.normal(jr.key(0))",
        "from jax import random\nrandom.normal(random.key(0))",
        "from jax.random import normal, key\nnormal(key(0))",
        "from jax.random import normal as draw, key\ndraw(key(0))",
        "import jax\nrandom = jax.random\nrandom.normal(random.key(0))",
        "def f():\n    import jax.random as jr\n    return jr.normal(jr.key(0))",
        "try:\n    from jax import random\nexcept ImportError:\n    random = None\nrandom.normal(random.key(0))",
        "import jax\nif True:\n    from jax import random as r\nr.normal(jax.random.key(0))",
        "from jax._src import random\nrandom.normal(random.key(0))",
    ],
)
def test_spellings_of_one_function(code: str) -> None:
    assert functions(code) == ["jax.random.normal"]


_HELPER = "import jax\ndef draw(key):\n    return jax.random.normal(key)\n"


@pytest.mark.parametrize(
    "files",
    [
        {"helper.py": _HELPER, "main.py": "import helper, jax\nhelper.draw(jax.random.key(0))"},
        {"helper.py": _HELPER, "main.py": "from helper import draw as d\nimport jax\nd(jax.random.key(0))"},
        {"helper.py": _HELPER, "main.py": "from helper import *\nimport jax\ndraw(jax.random.key(0))"},
        {
            "pkg/__init__.py": "from .helper import draw",
            "pkg/helper.py": _HELPER,
            "main.py": "import jax\nfrom pkg import draw\ndraw(jax.random.key(0))",
        },
        {
            "pkg/__init__.py": "",
            "pkg/helper.py": _HELPER,
            "pkg/main.py": "import jax\nfrom . import helper\nhelper.draw(jax.random.key(0))",
        },
        {
            "pkg/__init__.py": "",
            "pkg/a/__init__.py": "",
            "pkg/helper.py": _HELPER,
            "pkg/a/main.py": "import jax\nfrom ..helper import draw\ndraw(jax.random.key(0))",
        },
        {
            "__init__.py": "'''The package.'''",
            "../pkg/__init__.py": "'''The package.'''",
            "helper.py": _HELPER,
            "main.py": "import jax\nfrom pkg.helper import draw\ndraw(jax.random.key(0))",
        },
        {
            "src/pkg/__init__.py": "",
            "src/pkg/helper.py": _HELPER,
            "main.py": "import jax\nimport pkg.helper as h\nh.draw(jax.random.key(0))",
        },
        {
            "pkg/__init__.py": "",
            "pkg/bare/helper.py": _HELPER,
            "pkg/main.py": "import jax\nfrom pkg.bare import helper\nhelper.draw(jax.random.key(0))",
        },
    ],
    ids=["import", "alias", "star", "re-export", "relative", "parent", "from inside", "src layout", "bare folder"],
)
def test_functions_of_other_files_are_followed(files: dict[str, str]) -> None:
    calls = ops(files, "py.call")
    assert [call.qualified for call in calls] == ["draw"]


def test_files_outside_the_audited_set_are_read_on_demand() -> None:
    calls = ops({"main.py": "import jax, helper\nhelper.draw(jax.random.key(0))"}, "py.call", {"helper.py": _HELPER})
    assert len(calls) == 1


@pytest.mark.parametrize(
    "use", ["through.draw", "through.again", "starred.draw", "outer.draw"], ids=["name", "alias", "star", "twice"]
)
def test_what_unaudited_files_import_is_read_when_somebody_asks_for_it(use: str) -> None:
    others = {
        "helper.py": _HELPER,
        "through.py": "from helper import draw\nfrom unread import other\nagain = draw",
        "starred.py": "from through import *",
        "outer.py": "from through import draw, again",
        "unread.py": "other = 1",
    }
    code = f"import jax, {use.partition('.')[0]}\n{use}(jax.random.key(0))"
    reading = read({"main.py": code}, others)
    assert [op.qualified for op in reading.program.walk() if op.name == "py.call"] == ["draw"]
    asked = {root.path for root in reading.program.roots}
    assert ("unread.py" in asked) == use.startswith("starred")


def test_circular_imports_end() -> None:
    files = {"a.py": "import b\ndef f():\n    return b.g()\n", "b.py": "import a\ndef g():\n    return 1\n"}
    assert read(files).reach.entered == 2


def test_star_import_honours_all() -> None:
    files = {"helper.py": "__all__ = ['f']\ndef f(): pass\ndef g(): pass", "main.py": "from helper import *\nf()\ng()"}
    assert [op.qualified for op in ops(files, "py.call")] == ["f"]


def test_libraries_are_never_read_from_the_folder_beside() -> None:
    beside = {"jax/__init__.py": "raise SystemExit", "jax/random.py": "raise SystemExit"}
    assert len(ops({"main.py": "import jax\njax.random.normal(jax.random.key(0))"}, "key.draw", beside)) == 1


def test_a_file_that_cannot_be_parsed_is_told_once() -> None:
    user = "from broken import f\nimport broken\n"
    reading = read({"broken.py": "def f(:\n", "main.py": user, "a/one.py": user, "a/b/two.py": user})
    assert [problem.path for problem in reading.problems] == ["broken.py"]


@pytest.mark.parametrize(
    "line", ["from ..numpy import zeros", "from . import numpy\nzeros = numpy.zeros", "from .jax.numpy import zeros"]
)
def test_a_relative_import_never_means_a_library(line: str) -> None:
    assert functions(f"{line}\nzeros(3)", "array.numpy") == functions(f"{line}\nzeros(3)", "array.create") == []


def test_a_relative_import_finds_the_file_beside_it() -> None:
    files = {"a/b/main.py": "from .helper import draw\nfrom ..other import draw as o\ndraw(1)\no(1)"}
    beside = {"a/b/helper.py": _HELPER, "a/other.py": _HELPER}
    assert [op.qualified for op in ops(files, "py.call", beside)] == ["draw", "draw"]
