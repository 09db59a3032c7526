"""What becomes of the state of modules: new state that nobody reads, and parts that the wrong function gets."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts, origin
from jaxaudit.analyses.lineage.skeletons import skeleton
from jaxaudit.analyses.queries import last, made_by, taken_apart, through_ops, walk
from jaxaudit.analyses.versions import COPIES
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Call
from jaxaudit.ir.ops import REMARKS, SELECTED
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.pytrees._shared.optimizers import resolved

_TRAIN_STATE = (*playing("train_state.create", "train_state.replace", "train_state.step"), *COPIES)
_PARTS = through_ops(*SELECTED)
_APART = "not <equinox."


def new_state(op: Op, flow: Flow) -> Value | None:
    """Return the state that a run of a module in training hands on beside its output, if a layer needs it."""
    # Haiku hands the state in and out beside the parameters, flax where a call says what is mutable.
    if not plays(op.qualified, "module.apply") or not (op.has("state") or op.arguments.get("mutable")):
        return None
    both = taken_apart(flow, op.result)
    kept = both.keys() == {0, 1} and (_has_averages(op, flow) or _is_handed_in(op))
    return both[1] if kept else None


def _is_handed_in(op: Op) -> bool:
    """Whether a run says that a collection is mutable which it is given: then the module has it, and changes it."""
    given, mutable = op.arguments.get("variables"), op.arguments.get("mutable")
    names = mutable if isinstance(mutable, tuple) else (mutable,)
    return isinstance(given, Mapping) and any(name in given for name in names if isinstance(name, str))


def _has_averages(op: Op, flow: Flow) -> bool:
    """Whether the code that a run of a module was followed into has a layer that keeps averages."""
    region = flow.places.region_of[op]
    runs = [one for one in region.ops if one.name == "py.call" and one.span == op.span]
    return any(plays(inner.qualified, "module.averages") for one in runs for inner in one.regions[0].walk())


def lost_in(flow: Flow, value: Value) -> Op | None:
    """Return the call out of which a value comes that nobody reads from there on; None where somebody may read it."""
    end = last(value, lambda one: _only_outside(flow, one))
    return None if _is_read(flow, end) or end in flow.leaving else flow.maker(end)


def _is_read(flow: Flow, value: Value) -> bool:
    return any(one.name not in REMARKS and one.name != "py.return" for one in flow.readers.get(value, ()))


def _only_outside(flow: Flow, value: Value) -> Value | None:
    """Return what a value is called where the one call that gives it away was made, if nobody reads it before."""
    regions = flow.leaving.get(value, [])
    holder = flow.places.holder.get(id(regions[0])) if len(regions) == 1 and not _is_read(flow, value) else None
    call = None if holder is None else Call.of(holder)
    if call is None:
        return None
    found = [made for at, made in enumerate(call.op.results) if call.inside(at) is value]
    return found[0] if len(found) == 1 else None


def handed_on(flow: Flow, op: Op, lost: Op) -> Op | None:
    """Return what hands the old state of a run on, beside the call in which the new one is lost."""
    region = flow.places.region_of[lost]
    old = [origin(flow, value, {}, in_turn=True).value for value in _old_state(op)]
    inner = dict(zip(lost.regions[0].params, lost.operands, strict=False))
    values = {inner.get(value, value) for value in (*old, *_old_state(op))}
    readers = [one for value in values for one in flow.readers.get(value, ())]
    beside = [one for one in readers if flow.places.region_of.get(one) is region]
    # The next state of training is made of the gradients that come out of the same call.
    gradients = walk(lost.results, lambda one: made_by(flow, one, _PARTS))
    stepped = (one for value in gradients for one in flow.readers.get(value, ()))
    kept = next((one for one in (*beside, *stepped) if one.qualified in _TRAIN_STATE), None)
    given = next((one for one in beside if one.name == "py.return"), None)
    if given is not None:
        return kept or given
    is_left = any(region in flow.leaving.get(value, ()) for value in values)
    return kept if kept in beside else (kept or lost) if is_left else None


def _old_state(op: Op) -> list[Value]:
    variables = op.arguments.get("variables")
    stats = [one for key, one in variables.items() if key != "params"] if isinstance(variables, Mapping) else []
    return list(values_in((op.arguments.get("state"), *stats)))


def static_part(op: Op, flow: Flow) -> bool:
    """Whether a gradient is taken of what `eqx.partition` leaves when the arrays are taken out."""
    if not op.spelling.startswith("jax."):
        return False
    values = [op.operands[at] for at in op.differentiated or ()]
    ways = [skeleton(flow, value, context).way for context in contexts(flow, op) for value in values]
    return bool(ways) and all(way[:1] and way[0].startswith(_APART) for way in ways)


def touches_leaves(op: Op, flow: Flow) -> bool:
    """Whether the `init` of an optimizer makes an array like each leaf of what it is given."""
    made = resolved(flow, op.arguments.get("self"))
    parts = () if made is None else walk((made,), lambda one: _chained(flow, one))
    return any(plays(one.qualified, "optimizer.moments") for one in parts)


def _chained(flow: Flow, op: Op) -> list[Op]:
    """Return the optimizers that one was put together of."""
    parts = values_in(op.arguments) if plays(op.qualified, "optimizer.chain") else ()
    return [made for value in parts if (made := resolved(flow, value)) is not None]
