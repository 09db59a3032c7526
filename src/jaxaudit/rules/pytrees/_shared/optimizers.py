"""The trees that meet in an optimizer: what it was started with, what is differentiated, and what is updated."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, origin
from jaxaudit.analyses.lineage.skeletons import skeleton
from jaxaudit.analyses.queries import last
from jaxaudit.analyses.versions import is_optimizer_step
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.lookup import playing, plays

BLENDS = playing("average")
"""Functions that mix two trees leaf by leaf."""
APPLIES = playing("optimizer.apply")
Network = tuple[str, object]
"""The class of a module; or the function that haiku makes one of, and the place."""


def optimised_trees(flow: Flow, op: Op, context: Context) -> tuple[Value, Value] | None:
    """Return two trees that must have one structure: of the gradients, and of the state or the parameters."""
    gradient = differentiated(flow, _value(op, "updates"), context)
    if op.qualified in APPLIES:
        known = _value(op, "params") or _value(op, "model")
    else:
        started = _init_of(flow, op, context)
        known = None if started is None else _value(started, "params")
    return None if gradient is None or known is None else (gradient, known)


def started_with(flow: Flow, op: Op, context: Context) -> tuple[Op, Tree] | None:
    """Return the call that made the state of an optimizer's step, and the tree that it was made for."""
    made = _init_of(flow, op, context)
    return None if made is None or made.border is None or not made.border.trees else (made, made.border.trees[0])


def _init_of(flow: Flow, op: Op, context: Context) -> Op | None:
    """Return the call that made the state of an optimizer's step."""
    state = _value(op, "state")
    made = None if state is None else origin(flow, state, context).op
    return made if made is not None and plays(made.qualified, "optimizer.init") else None


def other_module(flow: Flow, gradient: Value, known: Value, context: Context) -> str:
    """Return that two trees are variables of modules of different classes; empty where they are not, or unknown."""
    first, second = (skeleton(flow, value, context) for value in (gradient, known))
    if first.op is None or second.op is None or first.way != second.way:
        return ""
    made, other = _made_for(flow, first.op), _made_for(flow, second.op)
    if made is None or other is None or made == other or made[0] == other[0] != "lambda":
        return ""
    first_name, second_name = (f"a `{name}`" if name != "lambda" else "" for name, _ in (made, other))
    return (
        f"the gradients are those of {first_name or 'one network'}, "
        f"and the other tree belongs to {second_name or 'another network'}"
    )


def _made_for(flow: Flow, op: Op) -> Network | None:
    """Return the network whose variables an op makes."""
    return network_of(flow, op) if plays(op.qualified, "module.init") else None


def network_of(flow: Flow, op: Op) -> Network | None:
    """Return what an `init` or `apply` belongs to: the class of a module, or the function that haiku transforms."""
    if op.object_id is not None:
        return (op.module, None) if op.module else None
    made = resolved(flow, op.arguments.get("self"))
    made = None if made is None else last(made, lambda one: _converted(flow, one))
    known = made is not None and plays(made.qualified, "module.make")
    return (str(made.arguments.get("f")), made.span) if made is not None and known else None


def _converted(flow: Flow, op: Op) -> Op | None:
    """Return the module that a module was made of."""
    return resolved(flow, op.arguments.get("f")) if plays(op.qualified, "module.convert") else None


def resolved(flow: Flow, value: object) -> Op | None:
    """Return what made a value, also where a function reads it as a global variable."""
    found = origin(flow, value, {}).op if isinstance(value, Value) else None
    held = found.constant if found is not None and found.name == "py.global" else None
    return flow.maker(held) if isinstance(held, Value) else found


def differentiated(flow: Flow, updates: Value | None, context: Context) -> Value | None:
    """Return what a tree of gradients, or of updates made from gradients, is the gradient of."""
    if updates is None:
        return None
    contexts = {updates: context}

    def before_step(value: Value) -> Value | None:
        """Return the gradients that an optimizer made updates from."""
        made = origin(flow, value, contexts[value])
        part = Part.of(made.op, made.value)
        step = flow.maker(part.whole) if part is not None and part.at == 0 else None
        given = _value(step, "updates") if step is not None and is_optimizer_step(step) else None
        if given is not None:
            contexts.setdefault(given, made.context)
        return given

    first = last(updates, before_step)
    found = origin(flow, first, contexts[first])
    if found.op is None or found.op.name != "grad":
        return None
    at = found.op.results.index(found.value) - len(found.op.regions[0].results)
    first_alone = (found.op.options or {}).get("argnums", 0) == 0
    return found.op.operands[at] if first_alone and 0 <= at < len(found.op.operands) else None


def _value(op: Op, name: str) -> Value | None:
    value = op.arguments.get(name)
    return value if isinstance(value, Value) else None
