"""The rule `updates-for-other-parameters`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.versions import OPTIMIZER_STEPS, Ground, Versions, given_by_place, unknown_step
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.ops import HOLDING
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, behind, own_results, parts
from jaxaudit.rules.gradients._shared.sides import are_others
from jaxaudit.rules.successions import keeps_something


class UpdatesForOtherParameters(Rule):
    """An optimizer is told of one set of parameters, and its updates are applied to another.

    ## What it does
    Compares the parameters that `tx.update(grads, state, params)` is given with those that `apply_updates` adds the
    updates to, and with where the gradient was taken. Also finds one state that is handed to two optimizers, or used
    for two sets of parameters.

    ## Why is this bad?
    Weight decay and trust ratios are computed of the wrong values. Where a gradient is taken at a point a little way
    off, as in sharpness-aware training, updates that are applied to that point never undo the way there. Nothing is
    raised: both have the same shapes.

    ## Example
        probe = jax.tree.map(lambda p, g: p + rho * g, params, grads)
        updates, state = tx.update(jax.grad(loss)(probe), state, params)
        params = optax.apply_updates(probe, updates)

    ## Use instead
        probe = jax.tree.map(lambda p, g: p + rho * g, params, grads)
        updates, state = tx.update(jax.grad(loss)(probe), state, params)
        params = optax.apply_updates(params, updates)

    ## When it cannot tell
    Parameters that were filtered, cast or decayed between both calls may well be meant; they are left open.
    """

    summary = "An optimizer makes updates for one set of parameters, and they are applied to another."
    needs = (Versions,)
    valid = """
    ## one set of parameters
    import optax

    tx = optax.adamw(1e-3)

    def step(params, state, loss):
        updates, state = tx.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    ## there and back
    import optax

    tx = optax.sgd(1e-2)

    def step(params, state, loss):
        probe = jax.tree.map(lambda p, g: p + 0.05 * g, params, jax.grad(loss)(params))
        updates, state = tx.update(jax.grad(loss)(probe), state, params)
        return optax.apply_updates(params, updates), state

    ## decayed by hand
    import optax

    tx = optax.sgd(1e-2)

    def step(params, state, loss):
        updates, state = tx.update(jax.grad(loss)(params), state, params)
        params = jax.tree.map(lambda p: 0.999 * p, params)
        return optax.apply_updates(params, updates), state

    ## two steps, each where it was taken
    import optax

    tx = optax.sgd(1e-2)

    def step(params, state, loss):
        inner = jax.tree.map(lambda p, g: p - 0.05 * g, params, jax.grad(loss)(params))
        updates, state = tx.update(jax.grad(loss)(inner), state, inner)
        return optax.apply_updates(inner, updates), state

    ## the arrays of a model
    import equinox as eqx
    import optax

    tx = optax.adamw(1e-3)

    def step(model, state, loss):
        grads = eqx.filter_grad(loss)(model)
        updates, state = tx.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state

    ## two optimizers
    import optax

    first, second = optax.adam(1e-3), optax.adam(1e-4)

    def step(a, b, one, other, loss):
        grads = jax.grad(loss, argnums=(0, 1))(a, b)
        to_a, one = first.update(grads[0], one, a)
        to_b, other = second.update(grads[1], other, b)
        return optax.apply_updates(a, to_a), optax.apply_updates(b, to_b), one, other

    ## two tasks from the state that an optimizer begins with
    import optax

    tx = optax.adam(1e-3)

    def adapt(a, b, loss):
        start = tx.init(a)
        to_a, _ = tx.update(jax.grad(loss)(a), start, a)
        to_b, _ = tx.update(jax.grad(loss)(b), start, b)
        return optax.apply_updates(a, to_a), optax.apply_updates(b, to_b)
    """
    invalid = """
    ## one optimizer, and one state for two
    import optax

    tx = optax.adam(1e-3)

    def step(nets, states, loss):
        to_a, one = tx.update(jax.grad(loss)(nets["a"]), states["a"], nets["a"])
        to_b, other = tx.update(jax.grad(loss)(nets["b"]), states["a"], nets["b"])  #!
        nets = {"a": optax.apply_updates(nets["a"], to_a), "b": optax.apply_updates(nets["b"], to_b)}
        return nets, {"a": one, "b": other}

    ## there and not back
    import optax

    tx = optax.sgd(1e-2)

    def step(params, state, loss):
        probe = jax.tree.map(lambda p, g: p + 0.05 * g, params, jax.grad(loss)(params))
        updates, state = tx.update(jax.grad(loss)(probe), state, params)
        return optax.apply_updates(probe, updates), state  #!

    ## of an optimizer from elsewhere
    import optax

    def step(params, state, tx, loss):
        probe = params + 0.05 * jax.grad(loss)(params)
        updates, state = tx.update(jax.grad(loss)(probe), state, params)
        return optax.apply_updates(probe, updates), state  #!

    ## told of the other network
    import optax

    tx = optax.adamw(1e-3)

    def step(actor, critic, state, loss):
        updates, state = tx.update(jax.grad(loss)(critic), state, actor)  #!
        return optax.apply_updates(critic, updates), actor, state

    ## one state for two
    import optax

    first, second = optax.adam(1e-3), optax.adam(1e-4)

    def step(a, b, one, other, loss):
        grads = jax.grad(loss, argnums=(0, 1))(a, b)
        to_a, one_next = first.update(grads[0], one, a)
        to_b, other = second.update(grads[1], one, b)  #!
        return optax.apply_updates(a, to_a), optax.apply_updates(b, to_b), one_next, other

    ## the state that the step of the other one has just given
    import optax

    tx = optax.adam(1e-3)

    def step(a, b, one, other, loss):
        to_a, one = tx.update(jax.grad(loss)(a), one)
        to_b, other = tx.update(jax.grad(loss)(b), one)  #!
        return optax.apply_updates(a, to_a), optax.apply_updates(b, to_b), one, other
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every application of updates whose optimizer was told parameters, and every state of an optimizer."""
        for op in program.calling(*APPLIES):
            call = _Call.of(op, facts.flow)
            if call is not None:
                yield _judge(call, facts)
        yield from _states(program, facts.flow)


@record
class _Call:
    """Updates that are applied: to what, and for what the optimizer made them of which gradient."""

    op: Op
    step: Op
    applied: tuple[Value, ...]
    told: tuple[Value, ...]
    taken: tuple[Value, ...]

    @staticmethod
    def of(op: Op, flow: Flow) -> _Call | None:
        """Return the view of a call that applies updates; None where the optimizer was not told any parameters."""
        step = _step_of(flow, op.arguments.get("updates"))
        if step is None:
            return None
        if step.arguments:
            gradients, told = step.arguments.get("updates"), step.argument("params")
        else:
            gradients, _, *params = given_by_place(step)
            told = params[0] if params else None
        if told is None:
            return None
        changed = op.arguments.get("params", op.arguments.get("model"))
        return _Call(op, step, _resolved(flow, changed), _resolved(flow, told), _taken(flow, gradients))


def _step_of(flow: Flow, updates: Argument) -> Op | None:
    """Return the step of an optimizer that made updates."""
    for value in parts(flow, updates):
        if (found := unknown_step(flow, value)) is not None:
            return found[0]
        made = origin(flow, value, {}, in_turn=True)
        if made.op is not None and made.op.name == "tree.leaf" and (tree := made.op.value("tree")) is not None:
            made = origin(flow, tree, {}, in_turn=True)
        part = Part.of(made.op, made.value)
        whole = None if part is None or part.at != 0 else origin(flow, part.whole, {}, in_turn=True).op
        if whole is not None and whole.qualified in OPTIMIZER_STEPS:
            return whole
    return None


def _resolved(flow: Flow, argument: Argument) -> tuple[Value, ...]:
    return tuple(origin(flow, one, {}, in_turn=True).value for one in parts(flow, argument))


def _taken(flow: Flow, gradients: Argument) -> tuple[Value, ...]:
    """Return what the gradients were taken by."""
    found: list[Value] = []
    for source, at in behind(flow, gradients):
        places, position = source.differentiated or (), at - own_results(source)
        if 0 <= position < len(places):
            found.append(origin(flow, source.operands[places[position]], {}, in_turn=True).value)
    return tuple(found)


def _judge(call: _Call, facts: Facts) -> Obligation:
    applied, told, taken = set(call.applied), set(call.told), set(call.taken)
    if applied == told:
        return proved(call.op.span, "the optimizer was told what its updates are applied to")
    if taken and taken <= applied:
        if _is_moved(call, facts):
            return _left_there(call)
        if are_others(facts.flow, call.told, call.applied):
            return _told_others(call)
    return unknown(call.op.span, "whether the optimizer was told what its updates are applied to is not known")


def _is_moved(call: _Call, facts: Facts) -> bool:
    """Whether something was added to what the optimizer was told, leaf by leaf, to get what updates are applied to."""
    versions, told = facts.get(Versions), set(call.told)

    def is_moved(value: Value) -> bool:
        version, made = versions.of(value), facts.flow.maker(value)
        by_nature = version is not None and version.ground in (Ground.STRUCTURE, Ground.NATURE)
        old = version.in_order if version is not None and by_nature else ()
        if made is not None and made.function in SUMS_OF_TWO:
            old = made.operands
        return any(origin(facts.flow, one, {}, in_turn=True).value in told for one in old)

    return bool(call.applied) and all(map(is_moved, call.applied))


def _states(program: Program, flow: Flow) -> Iterator[Obligation]:
    """List the state that each step is given: what it keeps is of the parameters that this step is for."""
    steps: defaultdict[tuple[Value, ...], list[Op]] = defaultdict(list)
    for op in program.calling(*OPTIMIZER_STEPS):
        if state := _resolved(flow, op.arguments.get("state")):
            beside = [one for one in steps[state][-1:] if flow.places.both_happen(one, op)]
            before = [one for one in map(partial(_giver, flow), state) if one is not None and one is not op]
            steps[state].append(op)
            if wrong := [one for one in (*beside, *before) if _are_two(one, op, one in before, flow)]:
                yield _one_state(wrong[0], op, state, handed_on=wrong[0] in before)
            elif _is_begun_for(op, state, flow):
                yield proved(op.span, "the state was begun for the parameters that this step is for")
            else:
                yield unknown(op.span, "which parameters the state is of is not known")


def _giver(flow: Flow, state: Value) -> Op | None:
    """Return the step of an optimizer that gave a state."""
    made = origin(flow, state, {}, in_turn=True)
    part = Part.of(made.op, made.value)
    step = None if part is None or part.at != 1 else origin(flow, part.whole, {}, in_turn=True).op
    return step if step is not None and step.qualified in OPTIMIZER_STEPS else None


def _is_begun_for(step: Op, state: Sequence[Value], flow: Flow) -> bool:
    """Whether a state was begun for what a step takes the gradient at, and later turns go on from this very step."""
    inits = {origin(flow, one, {}).op for one in state}
    first = next(iter(inits))
    if len(inits) != 1 or first is None or not plays(first.qualified, "optimizer.init"):
        return False
    around = [(one, loop) for one in state if (loop := flow.loop_of(one)) is not None]
    goes_on = all(_giver(flow, new) is step for one, loop in around for old, new in loop.successors if old is one)
    begun = {origin(flow, one, {}).value for one in parts(flow, first.arguments.get("params"))}
    taken = {origin(flow, one, {}).value for one in _taken(flow, step.arguments.get("updates"))}
    return goes_on and bool(taken) and begun == taken


def _are_two(first: Op, second: Op, handed_on: bool, flow: Flow) -> bool:
    """Whether two steps are for different parameters by different optimizers, or by one that keeps something of each.

    From the state that an optimizer begins with, several may start; one that the first has handed on has run.
    """
    optimizers, told = ([_resolved(flow, op.argument(name)) for op in (first, second)] for name in ("self", "params"))
    taken = [_taken(flow, op.arguments.get("updates")) for op in (first, second)]
    others = all(told) and are_others(flow, *told)
    has_run = handed_on or _has_run(second, flow)
    apart = optimizers[0] != optimizers[1] or (has_run and keeps_something(flow, second.value("self")))
    return bool(apart) and (others or (all(taken) and are_others(flow, *taken)))


def _has_run(step: Op, flow: Flow) -> bool:
    """Whether a step is given a state that comes from an earlier one: an argument, or a part of what a loop carries."""
    states = _resolved(flow, step.arguments.get("state"))
    return all((made := flow.maker(one)) is None or made.name in HOLDING for one in states)


def _name(values: Sequence[Value], otherwise: str) -> str:
    return named(values[0], otherwise) if len(values) == 1 else otherwise


def _left_there(call: _Call) -> Obligation:
    at, told = _name(call.applied, "what was moved"), _name(call.told, "the parameters")
    return Obligation(
        call.op.span,
        message=f"updates for {told} are applied to {at}, which is some way off",
        current=f"the way from {told} to {at} stays in the result, beside what the optimizer does",
        expected=f"a gradient that is taken at {at} for the optimizer of {told} is applied to {told}",
        steps=(Step(call.step.span, f"the optimizer is told {told} here"),),
        suggestion=f"apply the updates to {told}; or tell the optimizer {at}, if it is what is trained",
    )


def _told_others(call: _Call) -> Obligation:
    at, told = _name(call.applied, "what is trained"), _name(call.told, "others")
    return Obligation(
        call.step.span,
        message=f"the optimizer is told {told}, and its updates are applied to {at}",
        current=f"weight decay and the like are computed of {told}",
        expected=f"the optimizer is told {at}",
        steps=(Step(call.op.span, f"the updates are applied to {at} here"),),
        suggestion=f"give it {at}",
    )


def _one_state(first: Op, second: Op, state: tuple[Value, ...], *, handed_on: bool) -> Obligation:
    name = _name(state, "this state")
    comes = "comes from a step that trains" if handed_on else "is handed to two steps that train different"
    return Obligation(
        second.span,
        message=f"{name} {comes} {'other ' if handed_on else ''}parameters",
        current="this step starts from the moments of the other parameters",
        expected="what is trained by itself has a state of its own",
        steps=(Step(first.span, f"{name} is {'made' if handed_on else 'handed to the other one'} here"),),
        suggestion="give it the state that its own `init` made",
    )
