"""Syntax of newer versions of Python is told from mistakes."""

import sys

import pytest

from jaxaudit.frontends.newer import as_older, newer_syntax

from .reading import read

NEWER = {
    "def first[T](xs: list[T]) -> T:": (3, 12),
    "    async def get[**P](self): ...": (3, 12),
    "class Buffer[T]:": (3, 12),
    "class Buffer[T = int](Base):": (3, 13),
    "type Pair = tuple[int, int]": (3, 12),
    "type Pair[T] = tuple[T, T]": (3, 12),
    "except ValueError, jax.errors.JaxRuntimeError:": (3, 14),
    """print(f"x {d["a"]}")""": (3, 12),
    """text = f"{", ".join(names)}\"""": (3, 12),
    "text = f\"{'\\n'.join(names)}\"": (3, 12),
}
OLD = [
    "def first(xs:",
    "type(x) = 3",
    "except (ValueError, TypeError):",
    """f"{x\"""",
    """f"{a["b"]\"""",
    """f'{d["a"]}' if""",
    """f"{{ {x} }}" +""",
    """f"{x!r:>{width}}" (""",
    """x = 'a""",
    r"""x = "{'\n'}" +""",
]


@pytest.mark.parametrize("line", NEWER)
def test_newer_syntax_is_known_by_its_version(line):
    found = newer_syntax(line, (3, 11))
    assert found is not None
    assert found.version == NEWER[line]
    assert newer_syntax(line, found.version) is None


@pytest.mark.parametrize("line", OLD)
def test_mistakes_are_not_taken_for_newer_syntax(line):
    assert newer_syntax(line, (3, 11)) is None


@pytest.mark.parametrize("line", [line for line in NEWER if not line.startswith("except")])
def test_newer_syntax_is_read_as_older(line):
    older = as_older(line)
    assert older is not None
    assert len(older) == len(line)
    assert newer_syntax(older, (3, 11)) is None


def test_a_file_with_type_parameters_is_read():
    reading = read(
        "type Pair[T] = tuple[T, T]\ndef first[T](xs: Pair[T]) -> T:\n    return xs[0]\nprint(f'{first(('a', 1))}')\n"
    )
    assert (reading.problems, reading.reach.entered) == ((), 1)


def test_what_cannot_be_read_is_our_limit_and_not_an_error():
    (problem,) = read("try:\n    x = 1\nexcept ValueError, TypeError:\n    pass\n").problems
    assert problem.limit is (sys.version_info < (3, 14))
    (problem,) = read("def f(:\n    pass\n").problems
    assert not problem.limit
