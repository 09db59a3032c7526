"""Stands before the functions by which classes are registered, so that their objects are watched."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.rebuilt import REBUILDS


def registrations() -> Mapping[str, Callable[..., Any]]:
    """Return what stands for the functions of `jax.tree_util`, by name; what they do is left to JAX."""
    plainly = compat.tree_util.register_pytree_node
    with_keys = compat.tree_util.register_pytree_with_keys

    # The parameters have the names that JAX gives them: they may be given by keyword.
    def node(nodetype: type, flatten_func: Any, unflatten_func: Any, *rest: Any, **options: Any) -> Any:
        watched = REBUILDS.watched(nodetype, flatten_func, unflatten_func)
        return plainly(nodetype, watched, unflatten_func, *rest, **options)

    def node_with_keys(nodetype: type, flatten_with_keys: Any, unflatten_func: Any, flatten_func: Any = None) -> Any:
        plain = _without_keys(flatten_with_keys) if flatten_func is None else flatten_func
        return with_keys(nodetype, flatten_with_keys, unflatten_func, REBUILDS.watched(nodetype, plain, unflatten_func))

    def node_class(cls: Any) -> Any:
        node(cls, cls.tree_flatten, cls.tree_unflatten)
        return cls

    def node_class_with_keys(cls: Any) -> Any:
        node_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten, getattr(cls, "tree_flatten", None))
        return cls

    return {
        "register_pytree_node": node,
        "register_pytree_node_class": node_class,
        "register_pytree_with_keys": node_with_keys,
        "register_pytree_with_keys_class": node_class_with_keys,
    }


def _without_keys(keyed: Any) -> Any:
    """Return what JAX makes where only a function with keys is given."""

    @functools.wraps(keyed)
    def flatten(thing: Any) -> Any:
        children, aux = keyed(thing)
        return [child for _, child in children], aux

    return flatten
