"""One vocabulary: attributes are read by type, and functions by their canonical ids, outside of `ir` and front ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxaudit
from jaxaudit.ir import functions
from jaxaudit.ir.attributes import Attribute, Attributes
from jaxaudit.ir.functions import ALIASES, canonical

SOURCE = Path(jaxaudit.__file__).parent
JUDGES = [path for room in ("analyses", "rules", "reports") for path in sorted((SOURCE / room).rglob("*.py"))]


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in JUDGES:
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def test_nobody_reads_attributes_by_key() -> None:
    read = [
        f"{path.name}:{node.lineno}"
        for path, node in trees()
        if isinstance(node, ast.Attribute) and node.attr == "attrs"
    ]
    assert read == []


@pytest.mark.parametrize(
    ("op", "spelled", "function"),
    [
        ("array.map", "jax.lax.sub", "subtract"),
        ("array.map", "operator.sub", "subtract"),
        ("array.map", "jax.lax.max", "maximum"),
        ("array.reduce", "jax.numpy.amax", "max"),
        ("array.map", "jax.lax.rem", "fmod"),
        ("key.draw", "jax.random.logistic", "logistic"),
        ("py.call_library", "optax.tree.sub", "sub"),
    ],
)
def test_canonical_ids(op: str, spelled: str, function: str) -> None:
    assert canonical(op, spelled) == function


def test_comparisons_use_canonical_ids() -> None:
    """Comparing an op's function with an alias would never hold."""
    wrong = [
        f"{path.name}:{node.lineno}: {item.value}"
        for path, node in trees()
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "function"
        for side in node.comparators
        for item in ast.walk(side)
        if isinstance(item, ast.Constant) and item.value in ALIASES
    ]
    assert wrong == []


def test_traits_are_used_where_they_exist() -> None:
    """A set of functions that is a trait already would be the same idea, written a second time."""
    traits = {trait: name for name, trait in vars(functions).items() if isinstance(trait, frozenset) and len(trait) > 1}
    again = [
        f"{path.name}:{node.lineno}: {traits[frozenset(names)]}"
        for path, node in trees()
        if isinstance(node, ast.Tuple | ast.Set)
        and (names := [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)])
        and len(names) == len(node.elts)
        and frozenset(names) in traits
    ]
    assert again == []


def test_every_attribute_is_declared_once() -> None:
    names = [name for name, one in vars(Attributes).items() if isinstance(one, Attribute)]
    assert len(names) == len(set(names)) > 100


@pytest.mark.parametrize("name", ["functions", "ops"])
def test_every_trait_is_defined_once(name: str) -> None:
    tree = ast.parse((Path(jaxaudit.__file__).parent / "ir" / f"{name}.py").read_text(encoding="utf-8"))
    names = [
        one.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for one in node.targets
        if isinstance(one, ast.Name)
    ]
    assert len(names) == len(set(names))


def test_few_sets_of_function_names_stand_outside_of_the_vocabulary() -> None:
    """A set of functions is a trait (`ir/functions.py`) or a role (`libraries`); tables of transfer functions are none."""
    known = {one for trait in vars(functions).values() if isinstance(trait, frozenset) for one in trait}
    judges = [path for path in JUDGES if "transfer" not in path.parts]
    sets = [
        f"{path.name}:{node.lineno}"
        for path in judges
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if not any(isinstance(part, ast.Dict | ast.DictComp) for part in ast.walk(node.value))
        if len(names := _words(node.value)) > 1 and sum(one in known for one in names) * 2 >= len(names)
    ]
    assert len(sets) <= 20, sets


def _words(node: ast.AST) -> list[str]:
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return [word for text in texts for word in text.split()]
