"""Which gradients of a backward rule are values that its forward pass computed and saved, handed on as they are.

Quantised training lets its statistics leave a function that way, new or unchanged: the optimiser takes them as they
come. Another argument that is handed on is no statistic but a derivative without its cotangent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.met import Met
from jaxaudit.frontends.jaxpr.probe.subject import Subject


def handed_on(subject: Subject, structs: Sequence[Any]) -> set[int]:
    """Return the positions of the arguments whose gradients are saved values that the forward pass computed."""
    if subject.met.kind != "custom_vjp":
        return set()
    try:
        return _read(subject, structs)
    except Exception:  # noqa: BLE001
        return set()


def _read(subject: Subject, structs: Sequence[Any]) -> set[int]:
    met, counts = subject.met, list[int]()

    def both(values: Sequence[Any]) -> Any:
        args = subject.arguments(values)
        out, saved = met.rule.fwd(*args)
        given = met.rule.bwd(*_static(met, args), saved, compat.tree_util.tree_map(compat.jax.numpy.ones_like, out))
        leaves = compat.tree_util.tree_leaves
        counts[:] = [len(leaves(saved)), *(len(leaves(one)) for one in given)]
        return leaves(saved), [leaves(one) for one in given]

    jaxpr = compat.open_jaxpr(compat.jax.make_jaxpr(both)(structs))
    computed = {one for equation in jaxpr.eqns for one in equation.outvars}
    inputs = dict(zip(map(id, jaxpr.invars), (leaf.position for leaf in subject.leaves), strict=False))
    saved, rest = set(map(id, jaxpr.outvars[: counts[0]])), list(jaxpr.outvars[counts[0] :])
    moving = [at for at in range(len(met.args)) if at not in met.static]
    found: set[int] = set()
    for at, count in zip(moving, counts[1:], strict=True):
        own, rest = rest[:count], rest[count:]
        if own and all((id(one) in saved and one in computed) or inputs.get(id(one)) == at for one in own):
            found.add(at)
    return found


def _static(met: Met, args: Sequence[Any]) -> list[Any]:
    return [args[at] for at in sorted(met.static)]
