"""What the bodies of loops call the leaves that they are given; JAX forgets it when it maps or differentiates them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.wrappers import parameter_names

LEAVES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "scan": ("f", ("init", "xs"), "[0]"),
    "while_loop": ("body_fun", ("init_val",), ""),
    "map": ("f", ("xs",), ""),
}
"""Of each loop: its body, the arguments that become those of the body, and where its result has the first of them."""


def leaves_of_turn(
    kind: str, original: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the leaves that a body is given, and where the carried ones sit in the result."""
    body, arguments, first = LEAVES[kind]
    try:
        bound = inspect.signature(original).bind(*args, **options).arguments
        names = parameter_names(bound[body])
        paths = [_paths(bound.get(argument)) for argument in arguments]
    except (TypeError, ValueError, KeyError):
        return (), ()
    turn = tuple(name + path for name, own in zip(names, paths, strict=False) for path in own)
    return turn, () if kind == "map" else tuple(f"{first}{path}" for path in paths[0])


def _paths(tree: Any) -> list[str]:
    return [compat.tree_util.keystr(path) for path, _ in compat.tree_util.tree_flatten_with_path(tree)[0]]
