"""Calls of `jax.random`, each one op, whatever equations JAX made of it and whether keys are typed or raw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import LIBRARY
from jaxaudit.frontends.jaxpr.primitives.base import numbers
from jaxaudit.frontends.jaxpr.runs import Run, outside_inputs
from jaxaudit.ir import Argument

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

_OPS = {
    "split": "key.split",
    "fold_in": "key.fold_in",
    "PRNGKey": "key.seed",
    "key": "key.seed",
    "seed_with_impl": "key.seed",
    "random_seed": "key.seed",
    "threefry2x32_key": "key.seed",
    "unsafe_rbg_key": "key.seed",
    "rbg_key": "key.seed",
    "wrap_key_data": "key.wrap",
    "key_data": "key.wrap",
    "random_wrap": "key.wrap",
    "random_unwrap": "key.wrap",
    "clone": "key.clone",
}
"""Functions of `jax.random` that are no draws."""


def lower_random(body: Body, run: Run) -> bool:
    """Lower a call of `jax.random`; False when it has no key after all and is nothing special."""
    equations = body.equations[run.start : run.stop]
    inputs = outside_inputs(equations)
    key = _key(equations, inputs)
    op = _OPS.get(run.function, "key.draw")
    if key is None and op != "key.seed":
        return False
    site = body.sites[run.stop - 1]
    outs = _left(body, run)
    others = [atom for atom in inputs if atom is not key]
    arguments = _arguments(body, op, key, others, equations, outs)
    attrs: dict[str, object] = {"function": f"jax.random.{run.function}"}
    if op == "key.seed":
        attrs["typed"] = run.function != "PRNGKey"
    if site.origin.caller == LIBRARY:
        attrs["caller"] = LIBRARY
    if body.context.recomputed or site.around.recomputed:
        op, attrs = "array.create", {**attrs, "recomputed": True}
    names = body.names(run.stop - 1)
    body.bind(outs, body.writer.emit(op, site, arguments, attrs, outs, names if len(outs) == 1 else ()))
    return True


def _key(equations: Sequence[Any], inputs: Sequence[Any]) -> Any | None:
    """Find the key among what a call is given: a typed one, or raw data that the call takes for one."""
    outside = {id(atom) for atom in inputs}
    for equation in equations:
        for atom in equation.invars:
            if id(atom) in outside and (equation.primitive.name == "random_wrap" or compat.is_key(atom)):
                return atom
    return None


def _arguments(
    body: Body, op: str, key: Any, others: Sequence[Any], equations: Sequence[Any], outs: Sequence[Any]
) -> dict[str, Argument]:
    given = [body.read(atom) for atom in others]
    if op == "key.seed":
        return {"seed": given[0] if given else None}
    found: dict[str, Argument] = {"key": body.read(key)}
    if op == "key.split":
        shape = next((one.params["shape"] for one in equations if one.primitive.name == "random_split"), (2,))
        found["num"] = numbers(shape)[0] if len(shape) == 1 else numbers(shape)
    elif op == "key.fold_in":
        found["data"] = given[0] if given else None
    elif op == "key.draw":
        kind = compat.type_of(outs[0])
        found["shape"] = kind.shape if kind is not None else None
        if given:
            found["operands"] = tuple(given)
    return found


def _left(body: Body, run: Run) -> list[Any]:
    """Return the variables of a run that are read after it; its last one when none is."""
    equations = body.equations[run.start : run.stop]
    outs = [out for one in equations for out in one.outvars]
    read = [out for out in outs if body.last_use.get(out, -1) >= run.stop]
    return read or outs[-1:]
