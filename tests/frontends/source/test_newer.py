"""Syntax of newer versions of Python is told from mistakes."""

import pytest

from jaxaudit.frontends.newer import newer_syntax

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
