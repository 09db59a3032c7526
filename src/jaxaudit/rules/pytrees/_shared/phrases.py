"""What the rules about trees share: reading borders and comparing structures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.ir import Op
from jaxaudit.ir.trees import CONTAINERS, Border, Tree

_CHECKS_ALL = frozenset(("jax.jit", "jax.checkpoint"))
_LOOPS = frozenset(("scan", "fori", "while"))
_SIMPLE = (bool, int, float, str)
_WORDS = {"tuple": "a tuple", "list": "a list", "dict": "a dict", "none": "None", "number": "a number"}


def is_called(op: Op) -> bool:
    """Whether a transformed function is called in the code: what nobody calls is entered where it is defined."""
    return op.span != op.regions[0].span


def crossing(op: Op, border: Border) -> Iterator[tuple[str, Tree]]:
    """Return by name what must consist of arrays: all that is traced, mapped, differentiated or carried."""
    if op.name in _LOOPS:
        yield from (("the carry", tree) for tree in border.trees[:1])
        yield from (("the scanned values", tree) for tree in border.trees[1:2])
    elif op.spelling in _CHECKS_ALL:
        yield from traced(op, border)
    elif op.spelling in ("jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad"):
        wanted, static = _positions(op), _chosen(_options(op).get("static_broadcasted_argnums"))
        if static is None:
            return
        for at, tree in enumerate(border.positional):
            if (wanted is None or at in wanted) and at not in static:
                yield _argument(border, at), tree


def _argument(border: Border, position: int) -> str:
    name = border.name(position)
    return f"`{name}`" if name else f"argument {position + 1}"


def _options(op: Op) -> Mapping[str, object]:
    options = op.options
    return options if isinstance(options, Mapping) else {}


def _positions(op: Op) -> set[int] | None:
    """Return the positions that are mapped or differentiated; None for all. Others may hold any object."""
    options = _options(op)
    if op.name == "grad":
        argnums = options.get("argnums", 0)
        return {one for one in (argnums if isinstance(argnums, tuple) else (argnums,)) if isinstance(one, int)}
    axes = options.get("in_axes", 0)
    if isinstance(axes, tuple):
        return {at for at, axis in enumerate(axes) if isinstance(axis, int)}
    return None if isinstance(axes, int) else set()


def traced(op: Op, border: Border) -> Iterator[tuple[str, Tree]]:
    """Return the arguments that are traced, by name: those declared static are left out."""
    options = _options(op)
    numbers, names = _chosen(options.get("static_argnums")), _chosen(options.get("static_argnames"))
    if numbers is None or names is None:
        return
    for position, tree in enumerate(border.trees):
        name = border.name(position)
        if position in numbers or position - len(border.params) in numbers or name in names:
            continue
        if names and not name:
            # A wrapper that takes any arguments: JAX asks the wrapped function which of them has the name.
            continue
        yield _argument(border, position), tree


def _chosen(option: object) -> set[object] | None:
    """Return the positions or names in an option; None when they are not known."""
    if option is None:
        return set()
    items = option if isinstance(option, tuple) else (option,)
    return set(items) if all(isinstance(item, int | str) for item in items) else None


def nodes(tree: Tree) -> Iterator[Tree]:
    """Return a tree and everything in it that JAX would take apart."""
    yield tree
    if tree.kind in (*CONTAINERS, "sequence") or tree.registered == "yes":
        for child in tree.children:
            yield from nodes(child)


def difference(first: Tree, second: Tree, path: str = "") -> str:
    """Say where the second tree cannot be mapped along the first; empty where that is not sure."""
    if "sequence" in (first.kind, second.kind) and _form(first) and _form(second) and _form(first) != _form(second):
        return f"{_place(path)} is a {_form(first)} in one and a {_form(second)} in the other"
    if first.kind == second.kind == "object" and first.registered == second.registered == "yes":
        return _difference_of_objects(first, second, path)
    if first.kind not in (*CONTAINERS, "none"):
        return ""
    if second.kind in ("value", "other", "object", "outside", "sequence", "callable", "text"):
        return ""
    if first.kind != second.kind or first.name != second.name:
        return f"{_place(path)} is {describe(first)} in one and {describe(second)} in the other"
    if first.kind == "dict" and set(first.keys) != set(second.keys):
        odd = sorted(set(first.keys) ^ set(second.keys))
        return f"{_place(path)} has the key {odd[0]!r} in one of them only"
    if len(first.children) != len(second.children):
        return f"{_place(path)} has {len(first.children)} items in one and {len(second.children)} in the other"
    for at, child in enumerate(first.children):
        key = first.keys[at] if at < len(first.keys) else str(at)
        other = second.child(key) if first.kind == "dict" else second.children[at]
        found = "" if other is None else difference(child, other, f"{path}[{key}]")
        if found:
            return found
    return ""


def _difference_of_objects(first: Tree, second: Tree, path: str) -> str:
    if (first.name, first.where) != (second.name, second.where):
        return f"{_place(path)} is {describe(first)} in one and {describe(second)} in the other"
    others = dict(second.fixed)
    for name, value in first.fixed:
        met = others.get(name, value)
        if isinstance(value, _SIMPLE) and isinstance(met, _SIMPLE) and value != met:
            return f"`{path}.{name}` is structure, and {value} in one and {met} in the other"
    for key, child in zip(first.keys, first.children, strict=True):
        other = second.child(key)
        found = "" if other is None else difference(child, other, f"{path}.{key}")
        if found:
            return found
    return ""


def _form(tree: Tree) -> str:
    """Name the kind of a list or tuple, whether or not its items are known one by one."""
    return tree.name if tree.kind == "sequence" else tree.kind if tree.kind in ("list", "tuple") else ""


def _place(path: str) -> str:
    return f"`{path}`" if path else "the top"


def describe(tree: Tree) -> str:
    """Name the kind of a tree for people."""
    return f"a `{tree.name}`" if tree.name else _WORDS.get(tree.kind, "a leaf")
