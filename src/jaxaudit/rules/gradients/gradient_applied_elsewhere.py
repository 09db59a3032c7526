"""The rule `gradient-applied-elsewhere`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.versions import given_by_place, unknown_step
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, Applied, behind, by_hand, own_results, parts
from jaxaudit.rules.gradients._shared.sides import are_others


class GradientAppliedElsewhere(Rule):
    """A gradient is applied to another value than the one that it was taken at.

    ## What it does
    Follows what `apply_updates` adds, and what is subtracted from a value by hand, back to the gradient, and compares
    what the gradient is taken of with what it is applied to.

    ## Why is this bad?
    The gradient by `alpha = exp(log_alpha)` is not the gradient by `log_alpha`: it lacks the factor `alpha`. The steps
    have the wrong size, and nothing is raised.

    ## Example
        alpha = jnp.exp(log_alpha)
        grad = jax.grad(loss)(alpha)
        log_alpha = log_alpha - rate * grad

    ## Use instead
        grad = jax.grad(lambda log_alpha: loss(jnp.exp(log_alpha)))(log_alpha)
        log_alpha = log_alpha - rate * grad

    ## When it cannot tell
    Where neither is computed from the other, the two may be one value under two names, unless both are parameters of
    one function, carries of one loop or parts of one object.
    """

    summary = "A gradient is applied to another value than the one that it was taken at."
    valid = """
    ## taken at what is changed
    def step(log_alpha, x):
        grad = jax.grad(lambda log_alpha: jnp.exp(log_alpha) * x.sum())(log_alpha)
        return log_alpha - 0.1 * grad

    ## a slow copy follows
    import optax

    tx = optax.sgd(1e-3)

    def step(fast, slow, state, loss):
        grads = jax.grad(loss)(fast)
        updates, state = tx.update(grads, state)
        fast = optax.apply_updates(fast, updates)
        return fast, optax.incremental_update(fast, slow, 0.1), state

    ## mechanics
    def leapfrog(position, momentum, potential):
        momentum = momentum - 0.1 * jax.grad(potential)(position)
        return position + 0.1 * momentum, momentum

    ## taken a little ahead
    def step(x, velocity, loss):
        grad = jax.grad(loss)(x + 0.9 * velocity)
        return x - 0.1 * grad
    """
    invalid = """
    ## taken at what the loop began with
    def train(params, xs):
        def step(p, x):
            grads = jax.grad(lambda p: ((x @ p) ** 2).sum())(params)  #!
            return p - 0.1 * grads, None

        return jax.lax.scan(step, params, xs)[0]

    ## by hand
    def step(log_alpha, x):
        alpha = jnp.exp(log_alpha)
        grad = jax.grad(lambda alpha: alpha * x.sum())(alpha)
        return log_alpha - 0.1 * grad  #!

    ## at a slow copy
    import optax

    tx = optax.sgd(1e-3)

    def step(fast, slow, state, loss):
        grads = jax.grad(loss)(slow)
        updates, state = tx.update(grads, state)
        fast = optax.apply_updates(fast, updates)  #!
        return fast, optax.incremental_update(fast, slow, 0.1), state

    ## by an optimizer
    import optax

    tx = optax.adam(1e-3)

    def step(log_alpha, state, x):
        alpha = jnp.exp(log_alpha)
        grad = jax.grad(lambda alpha: alpha * x.sum())(alpha)
        updates, state = tx.update(grad, state)
        return optax.apply_updates(log_alpha, updates), state  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every value that a gradient is applied to."""
        flow = facts.flow
        for op in program.calling(*APPLIES):
            changed = op.arguments.get("params", op.arguments.get("model"))
            found = list(_judge(Applied(op, _updates(flow, op.arguments.get("updates")), changed), flow))
            yield from found or [unknown(op.span, "from what gradient the updates are made is not known")]
        for call in by_hand(program, flow):
            yield from _judge(call, flow)


def _updates(flow: Flow, updates: Argument) -> Argument:
    """Return the gradients that the step of an unknown optimizer made updates from."""
    found = unknown_step(flow, updates) if isinstance(updates, Value) else None
    return updates if found is None else given_by_place(found[0])[0]


def _judge(call: Applied, flow: Flow) -> Iterator[Obligation]:
    """Set each derivative behind an update against what is updated, leaf by leaf where there are several."""
    changed, span = list(parts(flow, call.params)), call.op.span
    # Two carries that start alike are two values from the first turn on.
    meant = [_resolved(flow, one) for one in changed]
    sources = [(op, [at for _, at in found]) for op, found in groupby(behind(flow, call.gradients), lambda one: one[0])]
    for source, found in sources:
        places, own = source.differentiated or (), own_results(source)
        positions = [at - own for at in found]
        if not all(0 <= at < len(places) for at in positions) or not changed:
            yield unknown(span, "by what the gradient was taken is not known")
            continue
        taken = [_resolved(flow, source.operands[places[at]]) for at in positions]
        if set(taken) <= set(meant):
            yield proved(span, "the gradient was taken at what it is applied to")
        elif len(meant) == 1 and _is_computed(flow, taken[0], meant[0]):
            yield _finding(call.op, source, taken[0], meant[0])
        elif len(sources) == 1 and set(taken) <= {_began(flow, one) for one in meant}:
            yield _of_start(call.op, source, taken[0], meant[0])
        elif len(sources) == 1 and _is_trained(call, source, flow) and are_others(flow, taken, meant):
            yield _of_others(call.op, source, taken[0], meant[0])
        else:
            yield unknown(span, "whether the gradient was taken at what it is applied to is not known")


def _resolved(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value


def _began(flow: Flow, value: Value) -> Value | None:
    """Return what a loop began with, for a part of its state."""
    entry = flow.entered(value)
    loop = None if entry is None else Loop.of(entry.op)
    starts = () if loop is None else (one.start for one in loop.carried if one.param is value)
    return next((_resolved(flow, one) for one in starts), None)


def _is_trained(call: Applied, source: Op, flow: Flow) -> bool:
    """Whether an optimizer changes something that the loss is not given at all.

    In mechanics each of two moves along the gradient of the other, by hand. Other arguments are for `wrong-argnums`.
    """
    given = {_resolved(flow, one) for one in source.operands}
    return call.op.qualified in APPLIES and given.isdisjoint(_resolved(flow, one) for one in parts(flow, call.params))


def _is_computed(flow: Flow, value: Value, of: Value) -> bool:
    """Whether a value is a function of another one alone, such as `exp`.

    What is moved a little, `x + momentum`, is where some methods take the gradient on purpose.
    """

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        if op is None or op.name != "array.map" or len(op.operands) != 1:
            return None
        # Both may have come in through a transformation.
        return _resolved(flow, op.operands[0])

    chain = list(walk((value,), lambda one: [] if one is of or (found := before(one)) is None else [found]))
    makers = (flow.maker(one) for one in chain[:-1])
    return chain[-1] is of and any(op is not None and op.function not in SUMS_OF_TWO for op in makers)


def _of_others(op: Op, source: Op, taken: Value, meant: Value) -> Obligation:
    at, changed = named(taken, ""), named(meant, "")
    at, changed = (at, changed) if at != changed else ("", "")
    return Obligation(
        op.span,
        message=f"the gradient by {at or 'some parameters'} is applied to {changed or 'others'}",
        current="what is changed is not where the loss was evaluated, and what was evaluated does not change",
        expected="a gradient is applied to the values that it was taken at",
        steps=(
            Step(source.span, f"the gradient by {at or 'these parameters'} is taken here"),
            Step(meant.span, f"{changed or 'what it is applied to'} comes from here"),
        ),
        suggestion="differentiate by what the update is applied to",
    )


def _of_start(op: Op, source: Op, taken: Value, meant: Value) -> Obligation:
    at, changed = named(taken, "the start"), named(meant, "what it carries")
    return Obligation(
        source.span,
        message=f"the gradient is taken at {at}, which the loop began with, and applied to {changed}",
        current="every turn steps along the gradient at the start, however far it has come",
        expected=f"the gradient is taken at {changed}",
        steps=(Step(op.span, f"it is applied to {changed} here"),),
        suggestion=f"differentiate at {changed}",
    )


def _finding(op: Op, source: Op, taken: Value, meant: Value) -> Obligation:
    at, changed = named(taken, "a value"), named(meant, "what that is computed from")
    computed = f", which {at} is computed from" if meant.name else ""
    return Obligation(
        op.span,
        message=f"the gradient by {at} is applied to {changed}{computed}",
        current=f"the step lacks the derivative of {at} by {changed}, so it has the wrong size",
        expected=f"the gradient is taken by {changed}",
        steps=(Step(source.span, f"the gradient by {at} is taken here"),),
        suggestion=f"compute {at} inside of the function that is differentiated",
    )
