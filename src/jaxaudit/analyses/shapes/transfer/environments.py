"""Environments and their spaces: what is observed, where the library says it for an environment of that name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.dims import constant
from jaxaudit.analyses.shapes.facts import NOTHING, Layer, ShapeFact, array, integer, sequence
from jaxaudit.analyses.shapes.literals import shape_of
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.libraries.envs import ENVIRONMENTS
from jaxaudit.libraries.lookup import plays
from jaxaudit.libraries.rows import Row

SPACES = frozenset(("observation_space", "action_space"))
"""What the fact of an environment says about it."""


def made(look: Look, name: str, row: Row) -> ShapeFact | None:
    """Return a new environment, or a space; None for anything else."""
    if "environment.make" in row.roles:
        known = ENVIRONMENTS.get(str(look.raw("env_id"))) if look.op.arguments.keys() == {"env_id"} else None
        spaces = () if known is None else tuple(zip(sorted(SPACES, reverse=True), map(_space, known), strict=True))
        return sequence((ShapeFact(layer=Layer(name, spaces)), NOTHING)) if spaces else None
    if "environment.space" in row.roles:
        layer = look.fact("self").layer
        return None if layer is None else layer.get(look.function)
    if "space" not in row.roles:
        return None
    if look.has("num_categories"):
        return _space_of(sequence(()), look.fact("num_categories"))
    return _space_of(look.fact("shape")) if look.has("shape") else None


def _space(kind: tuple[int, ...] | int) -> ShapeFact:
    if isinstance(kind, int):
        return _space_of(sequence(()), integer(constant(kind)))
    return _space_of(sequence(tuple(integer(constant(size)) for size in kind)))


def _space_of(shape: ShapeFact, count: ShapeFact | None = None) -> ShapeFact:
    return ShapeFact(layer=Layer("space", (("shape", shape), *(() if count is None else (("n", count),)))))


def attribute(base: ShapeFact, name: str) -> ShapeFact | None:
    """Return the shape of a space, or how many things there are to choose from; None for anything else."""
    return base.layer.get(name) if base.layer is not None and base.layer.name == "space" else None


def _observed(look: Look) -> ShapeFact:
    """Return what an environment shows."""
    layer = look.fact("self").layer
    space = None if layer is None or not plays(layer.name, "environment.make") else layer.get("observation_space")
    shape = None if space is None or space.layer is None else space.layer.get("shape")
    return NOTHING if shape is None else array(shape_of(shape), None)


FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {"observed": _observed}
"""What environments give, by the names that rows use."""
