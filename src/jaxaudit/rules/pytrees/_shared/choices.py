"""Trees that an optimizer is put together with, and that choose among the parameters that it is begun for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.lookup import plays
from jaxaudit.libraries.optax import CHOICES
from jaxaudit.rules.pytrees._shared.optimizers import resolved


def choices(begun: Op, flow: Flow) -> Iterator[tuple[Op, Mapping[str, object]]]:
    """Return what chooses among the parameters of an optimizer, as far as it is written as a dict, and who takes it."""
    made = resolved(flow, begun.arguments.get("self"))
    for op in walk((made,), lambda one: _inside(one, flow)) if made is not None else ():
        for name in CHOICES:
            if isinstance(given := op.arguments.get(name), Mapping):
                yield op, given


def _inside(op: Op, flow: Flow) -> Iterator[Op]:
    """Return the optimizers that one is put together of, where they see all parameters."""
    if plays(op.qualified, "optimizer.chain") and not any(op.has(name) for name in CHOICES):
        yield from (made for one in values_in(op.arguments) if (made := resolved(flow, one)) is not None)


def misplaced(chosen: Mapping[str, object], params: Tree, path: str = "") -> str:
    """Return where a choice and the parameters have other keys; empty where they fit, or that is not known."""
    if params.kind != "dict" or len(params.keys) != len(params.children):
        return ""
    place = f"`{path}`" if path else "the top"
    for key in (*chosen, *params.keys):
        if key not in params.keys or key not in chosen:
            return f"{place} has the key {key!r} in one of them only"
    below = dict(zip(params.keys, params.children, strict=True))
    inner = ((key, one) for key, one in chosen.items() if isinstance(one, Mapping))
    return next(filter(None, (misplaced(one, below[key], f"{path}[{key!r}]") for key, one in inner)), "")
