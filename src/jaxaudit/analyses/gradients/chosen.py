"""Which parameters of a differentiated function a derivative is taken by."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import ARRAYS, PYTHON_LOOPS
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.lookup import playing
from jaxaudit.libraries.packages import DIFFERENTIABLE

_VARIABLES = playing("module.variable")
_NUMBERS = frozenset(("builtins.bool", "builtins.float", "builtins.int"))


def chosen_params(flow: Flow, op: Op) -> list[Value]:
    """Return the parameters that hold what is differentiated.

    `nnx.grad` leaves out what is in no variable of its own class, `eqx.filter_grad` what is no array.
    """
    params, places = op.regions[0].params, op.differentiated
    positions = [at for at in places if at < len(params)] if places else list(range(len(params)))
    only, border = DIFFERENTIABLE.get(op.spelling.rpartition(".")[0]), op.border
    # An argument may come with a filter of its own: `nnx.DiffState(0, nnx.BatchStat)`.
    filtered = isinstance((op.options or {}).get("argnums"), Value)
    if only is None or border is None or filtered:
        return [params[at] for at in positions]
    held = {value for tree in border.trees for value in _left_out(flow, tree, only)}
    return [params[at] for at in positions if at >= len(op.operands) or op.operands[at] not in held]


def _left_out(flow: Flow, tree: Tree, only: str) -> Iterator[Value]:
    """Return the values in an argument that are surely not of the kind that is differentiated."""
    for one in tree.children:
        if one.value is None:
            yield from _left_out(flow, one, only)
            continue
        maker = origin(flow, one.value, {}).op
        # A variable of another class, seen where it is made; layers hold variables of every class.
        other = maker is not None and maker.qualified != only and maker.qualified in _VARIABLES
        if one.name in _NUMBERS or other or (only in _VARIABLES and _is_plain(flow, one.value)):
            yield one.value


def _is_plain(flow: Flow, value: Value) -> bool:
    """Whether a value is an array or a number, and no variable that holds one."""
    found = origin(flow, value, {})
    value, maker = found.value, found.op
    if maker is None:
        return False
    if maker.name in PYTHON_LOOPS:
        at, body = maker.results.index(value), maker.regions[-1].results
        return at < len(body) and _is_plain(flow, body[at])
    if maker.name == "py.element":
        held = maker.arguments.get("iterable")
        return not isinstance(held, Value) or _is_plain(flow, held)
    return maker.name in ARRAYS
