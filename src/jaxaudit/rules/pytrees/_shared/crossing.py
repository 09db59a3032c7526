"""What crosses into transformed functions and has to consist of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.ir import Op
from jaxaudit.ir.ops import CARRYING
from jaxaudit.ir.trees import Border, Tree
from jaxaudit.libraries.lookup import lookup


def is_called(op: Op) -> bool:
    """Whether a transformed function is called in the code: what nobody calls is entered where it is defined."""
    # A function that is not known has no place of its own, and neither has one of a library.
    placeless = not op.qualified or not op.spelling or lookup(op.qualified) is not None
    return placeless or op.span != op.regions[0].span


def crossing(op: Op) -> Iterator[tuple[str, Tree]]:
    """Return by name what must consist of arrays: all that is traced, mapped, differentiated or carried."""
    border = op.border
    if border is None:
        return
    if op.name in CARRYING:
        yield from (("the carry", tree) for tree in border.trees[:1])
        yield from (("the scanned values", tree) for tree in border.trees[1:2])
    elif op.spelling in ("jax.jit", "jax.checkpoint"):
        yield from _traced(op, border)
    elif op.spelling in ("jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad"):
        wanted, static = _positions(op), _chosen((op.options or {}).get("static_broadcasted_argnums"))
        if static is None:
            return
        for at, tree in enumerate(border.positional):
            if (wanted is None or at in wanted) and at not in static:
                yield _argument(border, at), tree


def traced_arguments(op: Op) -> list[tuple[str, Tree]] | None:
    """Return by name the positional arguments that a transformation traces; None where they are not known."""
    border, options = op.border, op.options or {}
    numbers, names = _chosen(options.get("static_argnums")), _chosen(options.get("static_argnames"))
    if border is None or border.open_ended or border.keywords or numbers is None or names is None:
        return None
    if (names and len(border.params) < len(border.trees)) or len(set(border.params)) < len(border.params):
        # A wrapper that takes any arguments: JAX asks the wrapped function which of them has the name.
        return None
    return [
        (border.name(at), tree) for at, tree in enumerate(border.trees) if not _is_static(border, at, numbers, names)
    ]


def _is_static(border: Border, position: int, numbers: set[object], names: set[object]) -> bool:
    return position in numbers or position - len(border.params) in numbers or border.name(position) in names


def _argument(border: Border, position: int) -> str:
    name = border.name(position)
    return f"`{name}`" if name else f"argument {position + 1}"


def _positions(op: Op) -> set[int] | None:
    """Return the positions that are mapped or differentiated; None for all. Others may hold any object."""
    options = op.options or {}
    if op.name == "grad":
        argnums = options.get("argnums", 0)
        return {one for one in (argnums if isinstance(argnums, tuple) else (argnums,)) if isinstance(one, int)}
    axes = options.get("in_axes", 0)
    if isinstance(axes, tuple):
        return {at for at, axis in enumerate(axes) if isinstance(axis, int)}
    return None if isinstance(axes, int) else set()


def _traced(op: Op, border: Border) -> Iterator[tuple[str, Tree]]:
    """Return the arguments that are traced, by name: those declared static are left out."""
    options = op.options or {}
    numbers, names = _chosen(options.get("static_argnums")), _chosen(options.get("static_argnames"))
    if numbers is None or names is None:
        return
    for position, tree in enumerate(border.trees):
        name = border.name(position)
        if _is_static(border, position, numbers, names):
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
