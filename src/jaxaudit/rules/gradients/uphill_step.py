"""The rule `uphill-step`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import ahead, readers, through_ops, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record, replace
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.gradients._shared.directions import Decay, Direction, Directions
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, STATES, outside, parts


class UphillStep(Rule):
    """A step makes a loss larger that has a smallest value and no largest one.

    ## What it does
    Follows every step that is added to parameters, or subtracted from them, back to its gradient, with all signs on the
    way: those of negations, of learning rates, and of optimizers, whose updates point downhill. Where the step goes
    uphill, the values that the loss can have tell whether that can be meant.

    The same holds for what has a largest value and no smallest one, such as a log-likelihood, and goes downhill; and
    for the share of the parameters that weight decay adds to a step: it grows them where the step was turned before.

    ## Why is this bad?
    An error is never below zero, and has no upper end. Parameters that climb it diverge; the loss that is printed
    grows, or is NaN after a while.

    ## Example
        params = jax.tree.map(lambda p, g: p + rate * g, params, jax.grad(error)(params))

    ## Use instead
        params = jax.tree.map(lambda p, g: p - rate * g, params, jax.grad(error)(params))

    ## When it cannot tell
    Where the same loss is also made smaller, two players may work against each other; where the raised point is only
    looked at, it is a point to take another gradient at. Of a single array it is a warning: inputs are changed so, too,
    to find where a network fails. So it is of a log-likelihood that becomes smaller.
    """

    summary = "A step goes uphill on a loss that can only grow without end."
    needs = (Ranges,)
    valid = """
    ## downhill
    def step(params, x, y, rate=0.1):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## uphill on the negated loss
    def step(params, x, y, rate=0.1):
        grads = jax.grad(lambda p: -jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p + rate * g, params, grads)

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## a point to look at
    def step(params, x, y):
        loss = lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
        ahead = jax.tree.map(lambda p, g: p + 0.05 * g, params, jax.grad(loss)(params))
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(ahead))

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## two steps downhill
    def step(params, x, y):
        loss = lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
        half = jax.tree.map(lambda p, g: p - 0.05 * g, params, jax.grad(loss)(params))
        return jax.tree.map(lambda p, g: p - 0.1 * g, half, jax.grad(loss)(half))

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## two players
    def gap(players, x):
        return jnp.mean((x @ players["w"] - x @ players["v"]) ** 2)

    def step(players, rivals, x):
        grads = jax.grad(gap)(players, x)
        other = jax.grad(gap)(rivals, x)
        return (
            jax.tree.map(lambda p, g: p - 0.1 * g, players, grads),
            jax.tree.map(lambda p, g: p + 0.1 * g, rivals, other),
        )

    step({"w": jnp.ones(3), "v": jnp.ones(3)}, {"w": jnp.ones(3), "v": jnp.zeros(3)}, jnp.ones((4, 3)))

    ## an optimizer in parts, of which one turns the gradient around
    import optax

    rate = optax.linear_schedule(1e-3, 1e-4, 9)
    tx = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(rate), optax.scale(-1.0))

    def step(params, state, x, y):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.ones(4))

    ## decay that is turned around with the gradient, or turned by hand
    import optax

    def optimizer(rate, wd):
        adam = optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(wd))
        return optax.chain(adam, optax.scale_by_learning_rate(rate)), optax.chain(
            optax.adam(1e-3), optax.add_decayed_weights(-1e-5)
        )

    ## an opponent that makes an error large
    import optax

    tx = optax.sgd(0.1)

    def step(params, state, x, y):
        grads = jax.grad(lambda p: -jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = tx.update(grads, state)
        return optax.apply_updates(params, updates), state

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.ones(4))

    ## a score that may have any value
    def step(params, x):
        grads = jax.grad(lambda p: jnp.mean(x @ p["w"] + p["b"]))(params)
        return jax.tree.map(lambda p, g: p + 0.1 * g, params, grads)

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)))
    """
    invalid = """
    ## by hand
    def step(params, x, y, rate=0.1):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        return jax.tree.map(lambda p, g: p + rate * g, params, grads)  #!

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## updates point downhill already
    import optax

    tx = optax.adam(1e-3)

    def step(params, state, x, y):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        return jax.tree.map(lambda p, u: p - u, params, updates), state  #!

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.ones(4))

    ## from the raised point
    def step(params, x, y):
        loss = lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
        ahead = jax.tree.map(lambda p, g: p + 0.05 * g, params, jax.grad(loss)(params))
        return jax.tree.map(lambda p, g: p - 0.1 * g, ahead, jax.grad(loss)(ahead))  #!

    step({"w": jnp.ones(3), "b": jnp.zeros(())}, jnp.ones((4, 3)), jnp.ones(4))

    ## an optimizer that turns nothing around
    import optax

    tx = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(optax.linear_schedule(1e-3, 1e-4, 100)))

    def step(params, state, x, y):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state  #!

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.ones(4))

    ## the negated gradient for an optimizer
    import optax

    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))

    def step(params, state, x, y):
        grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
        updates, state = tx.update(jax.tree.map(jnp.negative, grads), state, params)
        return optax.apply_updates(params, updates), state  #!

    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.ones(4))

    ## decay after the learning rate
    import optax

    tx = optax.chain(optax.adam(1e-3), optax.add_decayed_weights(1e-4))  #!

    ## decay after the learning rate, of a size that is not known
    import optax

    def optimizer(config):
        parts = [optax.scale_by_adam(), optax.scale_by_learning_rate(config.rate)]
        parts.append(optax.add_decayed_weights(config.decay))  #?
        return optax.chain(*parts)

    ## one array
    def step(w, x, y):
        return w + 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)  #?

    ## a log-likelihood for an optimizer
    import optax

    tx = optax.sgd(0.1)

    def step(params, state, x, labels):
        def loss(params):
            scores = jax.nn.log_softmax(x @ params["w"] + params["b"])
            return jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=-1))  #?

        updates, state = tx.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    step(params, tx.init(params), jnp.ones((4, 3)), jnp.zeros(4, int))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every step along a gradient or against it."""
        ranges, flow = facts.get(Ranges), facts.flow
        directions = Directions(flow, ranges)
        taken = list(_steps(program, flow, directions)) if program.front_end == "source" else []
        yield from (_judged(one, taken, ranges, flow) for one in taken)
        yield from (_decaying(one) for chain in _whole_chains(program, flow) for one in directions.decays(chain))


def _whole_chains(program: Program, flow: Flow) -> Iterator[Op]:
    """Return every optimizer that is put together and is no part of another one."""
    for op in program.calling(*playing("optimizer.chain")):
        inner = (reader for value in op.results for reader in readers(flow, value))
        if op.has("args") and not any(plays(one.qualified, "optimizer.chain") for one in inner):
            yield op


def _decaying(one: Decay) -> Obligation:
    if one.after < 0:
        return proved(one.op.span, "what comes after it turns the share of the parameters around, so they shrink")
    if not one.before or not one.after:
        return unknown(one.op.span, "whether a part of the optimizer turns the gradient around is not known")
    if one.before > 0:
        return unknown(one.op.span, "where the step is turned around is not known")
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if one.sure else Severity.WARNING,
        message="this share of the parameters is added after the step has been turned around, so they grow",
        current="each step adds the share as it is: it is neither subtracted nor scaled by the learning rate",
        expected="decay is added to the gradient before the learning rate turns both around",
        suggestion="put it before the part that scales by the learning rate",
    )


def _judged(one: _Taken, taken: Sequence[_Taken], ranges: Ranges, flow: Flow) -> Obligation:
    found, span = one.direction, one.op.span
    raised = next((other for other in taken if _undoes(one, other, flow)), None)
    if raised is not None:
        return _from_raised(one, raised)
    loss = ranges.of(found.source.regions[0].results[0])
    floor, ceiling = loss.low > float("-inf"), loss.high < float("inf")
    if floor == ceiling:
        return unknown(span, "whether the loss is to become smaller or larger, its values do not tell")
    if found.uphill != floor:
        return proved(span, "the step goes where the loss has an end")
    if _is_looked_at(one.op, flow):
        return unknown(span, "this may be a point to take another gradient at")
    if any(other.direction.uphill != found.uphill and _is_of_one_loss(other, one) for other in taken):
        return unknown(span, "the same loss goes the other way elsewhere, so that this may be its opponent")
    several = len(found.source.differentiated or ()) > 1 or found.optimizer is not None
    if not floor and (_is_negated(found.source.regions[0].results[0], flow) or not several):
        return unknown(span, "the loss has no lower end; that may be meant")
    if not floor:
        return _sinking(one, loss.high)
    return _finding(one, loss.low, Severity.ERROR if found.sure and several else Severity.WARNING)


def _is_of_one_loss(first: _Taken, second: _Taken) -> bool:
    """Whether the losses of two steps are computed at one place, whatever the functions are called."""
    one, other = (taken.direction.source.regions[0].results[0].span for taken in (first, second))
    return one == other


def _is_negated(loss: Value, flow: Flow) -> bool:
    """Whether somebody put a minus before a loss, or before what it is the mean of: then it is meant to grow."""

    def inside(value: Value) -> Iterator[Value]:
        made = (flow.maker(factor) for part in Sums.of(flow, {}).products(value) for factor in part.factors)
        return (op.operands[0] for op in made if op is not None and op.name == "array.reduce" and op.operands)

    parts = (part for value in walk((loss,), inside) for part in Sums.of(flow, {}).products(value))
    return any(part.coefficient < 0 for part in parts)


def _undoes(one: _Taken, other: _Taken, flow: Flow) -> bool:
    """Whether a step goes downhill from where another one has climbed on the same loss."""
    against = other.direction.uphill and not one.direction.uphill and _is_of_one_loss(one, other)
    return against and not one.changed.isdisjoint(_all_resolved(_given_on(other.op, flow), flow))


def _is_looked_at(op: Op, flow: Flow) -> bool:
    """Whether a derivative is taken at what a step gives, before the next turn of a loop."""
    found = (reader for value in _given_on(op, flow) for reader in flow.readers.get(value, ()))
    return any(reader.name == "grad" for reader in found)


def _from_raised(one: _Taken, raised: _Taken) -> Obligation:
    return Obligation(
        one.op.span,
        message="this step starts at the point that was raised to take the gradient at",
        current="the way up stays in the parameters, and the step back down is taken from there",
        expected="the gradient of the raised point is applied to the parameters before they were raised",
        steps=(
            Step(raised.op.span, "the parameters climb here"),
            Step(one.direction.source.span, "the gradient is taken at the raised point"),
        ),
        suggestion="apply the step to the parameters that the raised point was made from",
    )


def _finding(one: _Taken, least: float, severity: Severity) -> Obligation:
    found = one.direction
    made = () if found.optimizer is None else (Step(found.optimizer.span, "its updates point downhill already"),)
    if found.unturned is not None:
        made = (Step(found.unturned.span, "no part of this optimizer turns the gradient around"),)
    return Obligation(
        one.op.span,
        severity=severity,
        message=f"this step makes the loss larger, which is never below {least:g} and has no upper end",
        current="the parameters move along the gradient, so the loss grows with every step",
        expected="the parameters move against the gradient of what is to become small",
        steps=(Step(found.source.span, "the gradient is taken here"), *made),
        suggestion="turn the sign of the step, or negate what is to become large",
    )


def _sinking(one: _Taken, most: float) -> Obligation:
    loss = one.direction.source.regions[0].results[0]
    return Obligation(
        loss.span,
        severity=Severity.WARNING,
        message=f"this loss is never above {most:g} and has no lower end, and each step makes it smaller",
        current="what is at best a log-probability falls without end",
        expected="what is to become large is negated, or the parameters move along its gradient",
        steps=(
            Step(one.direction.source.span, "the gradient is taken here"),
            Step(one.op.span, "the parameters move against it"),
        ),
        suggestion="negate the loss",
    )


@record
class _Taken:
    """A step, and which way it goes."""

    op: Op
    direction: Direction
    changed: frozenset[Value]
    """What it starts from, leaf by leaf."""


def _steps(program: Program, flow: Flow, directions: Directions) -> Iterator[_Taken]:
    """Return every step of parameters whose direction is known: of an optimizer, or by hand."""
    for op in program.calling(*APPLIES):
        found = directions.of(op.arguments.get("updates"))
        if found is not None:
            changed = parts(flow, op.arguments.get("params", op.arguments.get("model")))
            yield _Taken(op, found, _all_resolved(changed, flow))
    for op in program.calling(*STATES):
        found = directions.of(op.arguments.get("grads"))
        if found is not None and directions.states_descend:
            yield _Taken(op, replace(found.turned(), optimizer=op), frozenset())
    for op in program.mapping("add", "subtract"):
        x, y = op.arguments.get("x"), op.arguments.get("y")
        for changed, step in ((x, y), (y, x)) if op.function == "add" else ((x, y),):
            found = directions.of(step) if isinstance(step, Value) else None
            leaves = outside(flow, changed) if found is not None and isinstance(changed, Value) else ()
            start = _all_resolved(leaves, flow)
            if found is not None and not start.isdisjoint(_taken_at(found, flow)):
                yield _Taken(op, found.turned(by=op.function == "subtract"), start)


def _taken_at(found: Direction, flow: Flow) -> frozenset[Value]:
    """Return where a gradient was taken, leaf by leaf."""
    operands = found.source.operands
    return _all_resolved([operands[at] for at in found.source.differentiated or () if at < len(operands)], flow)


def _all_resolved(values: Iterable[Value], flow: Flow) -> frozenset[Value]:
    """Return where values come from, in this turn of a loop."""
    return frozenset(origin(flow, one, {}, in_turn=True).value for one in values)


def _given_on(op: Op, flow: Flow) -> Iterator[Value]:
    """Return what a step gives, under all names that it has before the next turn of a loop."""

    def elsewhere(value: Value) -> Iterator[Value]:
        for one in ahead(flow, value, through_ops("tree.leaf")):
            entry = flow.entered(one)
            if entry is None or entry.op.name not in LOOPS:
                yield one

    return walk(op.results, elsewhere)
