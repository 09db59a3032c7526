"""Functions that a library calls by a protocol of its own, so that their arguments are known to belong together.

An optimizer of optax is a pair of functions. Whoever calls them gives `update` a state that `init` made, and gradients
and parameters of one structure. A schedule is given the number of steps that were taken.
"""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import FunctionValue
from jaxaudit.frontends.source.values.model import Leaf
from jaxaudit.ir import Declared
from jaxaudit.ir.basis import Basis
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span


def note(it: Interpreter, row: Row | None, given: Arguments) -> None:
    """Note the two functions of a new optimizer, and the schedule that it goes by."""
    if row is None:
        return
    for name, kind in row.kinds.items():
        schedule = given.get(row.position(name), name) if kind == "schedule" else None
        if isinstance(schedule, FunctionValue) and _takes(schedule, 1):
            it.schedules.add(schedule.node)
    if "optimizer.make" not in row.roles or given.star is not None or given.stars is not None:
        return
    init, update = given.get(0, "init"), given.get(1, "update")
    if isinstance(init, FunctionValue) and isinstance(update, FunctionValue) and _takes(init, 1) and _takes(update, 3):
        it.optimizers[update.node] = init


def by_protocol(it: Interpreter, function: FunctionValue, given: Arguments, span: Span) -> Arguments:
    """Return the arguments of a function that nobody visibly calls as the library would give them."""
    if function.node in it.schedules and len(given.positional) == 1 and isinstance(count := given.positional[0], Leaf):
        where = f"{function.module.path}:steps"
        it.declared.setdefault(count.value, Declared((), where, "library", basis=Basis.DECLARED))
    init = it.optimizers.get(function.node)
    if init is None or len(given.positional) != 3 or _takes_apart(function):
        return given
    updates, state, params = given.positional
    if not isinstance(params, Leaf) or not isinstance(updates, Leaf) or not isinstance(state, Leaf):
        return given
    made = it.call(init, Arguments((params,)), span)
    gradients = it.emit("tree.leaf", span, {"like": params.value, "tree": updates.value}).result
    gradients.name = updates.value.name
    return Arguments((Leaf(gradients), made, params), given.keywords, given.star, given.stars)


def _takes_apart(function: FunctionValue) -> bool:
    """Whether a function reads entries of its updates by name: then they have a form of their own."""
    params = [*function.node.args.posonlyargs, *function.node.args.args]
    first = params[0].arg if params else ""
    subscripts = (one for one in ast.walk(function.node) if isinstance(one, ast.Subscript))
    named = (one for one in subscripts if isinstance(one.value, ast.Name) and one.value.id == first)
    return any(isinstance(one.slice, ast.Constant) and isinstance(one.slice.value, str) for one in named)


def _takes(function: FunctionValue, count: int) -> bool:
    """Whether a function can be called with that many arguments."""
    given = function.node.args
    named = len(given.posonlyargs) + len(given.args)
    needed = any(default is None for default in given.kw_defaults)
    if function.owner is not None or needed:
        return False
    return named - len(given.defaults) <= count and (named >= count or given.vararg is not None)
