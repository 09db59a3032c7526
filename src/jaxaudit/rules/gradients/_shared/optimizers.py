"""Where gradients go: the calls that take them, and which gradient a value is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import last, walk
from jaxaudit.analyses.versions import OPTIMIZER_STEPS, given_by_place, is_optimizer_step, unknown_step
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import SCALINGS, SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop, Part, given_as, inside_of
from jaxaudit.ir.ops import BODIES, LOOPS
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import playing

APPLIES = playing("optimizer.apply")
STATES = playing("train_state.step")
_UNKNOWN_STATES = sorted({f".{name.rpartition('.')[2]}" for name in STATES})
"""The steps of training states by the names of the methods alone: people write such classes themselves."""


@record
class Applied:
    """A call that takes gradients, with the parameters it changes where it is given them."""

    op: Op
    gradients: Argument
    params: Argument


def applied(program: Program, flow: Flow) -> Iterator[Applied]:
    """Return every call that takes gradients, or updates made from them."""
    for step, both in unknown_steps(program, flow):
        if any(one.qualified in APPLIES for one in flow.readers.get(both[0], ())):
            gradients, _, *params = given_by_place(step)
            yield Applied(step, gradients, params[0] if params else None)
    for op in program.calling(*OPTIMIZER_STEPS):
        yield Applied(op, op.arguments.get("updates"), op.arguments.get("params"))
    for op in program.calling(*APPLIES):
        yield Applied(op, op.arguments.get("updates"), op.arguments.get("params", op.arguments.get("model")))
    for op in program.calling(*STATES):
        yield Applied(op, op.arguments.get("grads"), op.arguments.get("self"))
    for op in program.calling(*_UNKNOWN_STATES):
        if (gradients := (op.named or {}).get("grads")) is not None:
            yield Applied(op, gradients, op.operands[0])


def unknown_steps(program: Program, flow: Flow) -> Iterator[tuple[Op, Mapping[int, Value]]]:
    """Return every `.update` of something unknown that may be an optimizer, each once, and its two results."""
    parts = (value for op in program.named("py.unpack", "py.item") for value in op.results[:1])
    for value in parts:
        found = unknown_step(flow, value)
        if found is not None and found[1][0] is value:
            yield found


def by_hand(program: Program, flow: Flow) -> Iterator[Applied]:
    """Return every `p - rate * g`, also of a function that is mapped over trees."""
    for op in program.mapping("subtract"):
        scaled = flow.maker(op.operands[1]) if len(op.operands) == 2 else None
        if scaled is not None and scaled.function == "multiply":
            params, *gradients = (tuple(outside(flow, one)) for one in (op.operands[0], *scaled.operands))
            yield Applied(op, tuple(chain(*gradients)), params)


def in_turns(program: Program, flow: Flow) -> Iterator[tuple[Loop, Applied]]:
    """Return every part of a carry that a turn of a loop adds a gradient to: `p - rate * g`, `p + rate * g + noise`."""
    for op in program.named(*sorted(LOOPS)):
        loop = Loop(op)
        for (start, _, _), end in zip(loop.carried, loop.body.results if op.regions else (), strict=False):
            terms = parts_in_turn(flow, (end,), SUMS_OF_TWO)
            if start in terms:
                yield loop, Applied(op, tuple(parts_in_turn(flow, terms - {start}, SCALINGS)), start)


def parts_in_turn(flow: Flow, values: Iterable[Value], functions: frozenset[str]) -> set[Value]:
    """Return what values consist of in this turn, as sums or products, also of a function mapped over trees."""
    found = walk([_same(flow, one) for one in values], lambda one: operands_in_turn(flow, one, functions))
    return {one for one in found if not operands_in_turn(flow, one, functions)}


def operands_in_turn(flow: Flow, value: Value, functions: frozenset[str]) -> list[Value]:
    """Return what one of some functions makes a value of in this turn; nothing where another op makes it."""
    op = flow.maker(value)
    operands: Iterable[Value] = op.operands if op is not None and op.function in functions else ()
    if op is not None and op.name == "tree.map" and op.regions:
        operands = op.regions[0].results
    elif op is not None and op.name != "array.map":
        operands = ()
    return [_same(flow, leaf) for one in operands for leaf in outside(flow, one)]


def _same(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value


def outside(flow: Flow, value: Value) -> Iterator[Value]:
    """Return the leaves that a parameter of a function that is mapped over trees stands for; else the value itself."""
    entry = flow.entered(value)
    border = None if entry is None or entry.op.name != "tree.map" else entry.op.border
    if entry is None or border is None:
        yield value
    else:
        yield from (leaf for tree in border.trees[entry.region.params.index(value) :][:1] for leaf in tree.values())


def raw(flow: Flow, call: Applied) -> Op | None:
    """Return the derivative whose gradient is what a call is given, with nothing done to it."""
    for value in on_one_device(flow, call.gradients):
        made = made_as(flow, value)
        op = flow.maker(made)
        if op is not None and op.name == "grad" and op.results.index(made) >= own_results(op):
            return op
    return None


def parts(flow: Flow, argument: Argument) -> Iterator[Value]:
    """Return the values that an argument consists of, those of containers and records one by one."""
    for value in values_in(argument):
        made = flow.maker(value)
        yield from parts(flow, made.operands) if made is not None and made.name == "py.container" else (value,)


def on_one_device(flow: Flow, argument: Argument) -> Iterator[Value]:
    """Return the values that an argument consists of, and what they were before a mean over devices."""

    def before(value: Value) -> Iterable[Value]:
        op = flow.maker(made_as(flow, value))
        return parts(flow, op.operands) if op is not None and op.name == "collective" else ()

    return walk(parts(flow, argument), before)


def origins(flow: Flow, argument: Argument, *, in_turn: bool = False) -> set[Value]:
    """Return the objects that an argument consists of, or is an attribute of; `in_turn` in this turn of the loop."""
    return {_owner(flow, value, in_turn=in_turn) for value in parts(flow, argument)}


def _owner(flow: Flow, value: Value, *, in_turn: bool) -> Value:
    def base(one: Value) -> Value | None:
        op = flow.maker(one)
        whole = op.arguments.get("base") if op is not None and op.name == "py.attr" else None
        return origin(flow, whole, {}, in_turn=in_turn).value if isinstance(whole, Value) else None

    return last(origin(flow, value, {}, in_turn=in_turn).value, base)


def behind(flow: Flow, argument: Argument) -> Iterator[tuple[Op, int]]:
    """Return the derivatives that gradients or updates come from, each with the position among its results."""
    for value in walk(on_one_device(flow, argument), lambda one: on_one_device(flow, _before_step(flow, one))):
        made = made_as(flow, value)
        op = flow.maker(made)
        if op is not None and op.name == "grad":
            yield op, op.results.index(made)


def _before_step(flow: Flow, value: Value) -> Argument:
    """Return what an optimizer, or a function of trees, made updates from."""
    made = made_as(flow, value)
    op = flow.maker(made)
    if (part := Part.of(op, made)) is not None:
        step = flow.maker(part.whole) if part.at == 0 else None
        return step.arguments.get("updates") if step is not None and is_optimizer_step(step) else None
    tree = op.operands[-1] if op is not None and op.name == "tree.leaf" else None
    is_part = tree is not None and Part.of(flow.maker(tree), tree) is not None
    return op.arguments.get("like") if op is not None and is_part else None


def made_as(flow: Flow, value: Value) -> Value:
    """Follow a value back through calls, as far as the derivative that gives it."""
    return last(value, lambda one: _elsewhere(flow, one))


def _elsewhere(flow: Flow, value: Value) -> Value | None:
    """Return what a result of a call is inside, or what a parameter stands for outside."""
    op = flow.own_maker(value)
    if op is not None:
        is_call = op.name in BODIES and op.name != "grad" and op.regions
        return next((one for _, one in inside_of(op, op.results.index(value))), None) if is_call else None
    entry = flow.entered(value)
    return None if entry is None or entry.op.name not in BODIES else next(given_as(*entry, value), None)


def own_results(op: Op) -> int:
    """Return how many results of a derivative are the function's own, before the gradients."""
    return len(op.regions[0].results)
