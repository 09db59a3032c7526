"""The rule `wrong-argnums`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.record import record
from jaxaudit.ir.trees import split_path
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import applied, behind, in_turns, origins, own_results
from jaxaudit.rules.gradients._shared.phrases import taken_at
from jaxaudit.rules.gradients._shared.updates import updates_in

_STEP = """
import jax, jax.numpy as jnp, optax

optimiser = optax.adam(1e-3)

def loss(batch, params):
    return jnp.mean((batch @ params) ** 2)

def step(params, state, batch):
    grads = jax.grad(loss{argnums})(batch, params){mark}
    updates, state = optimiser.update(grads, state)
    return optax.apply_updates(params, updates), state
"""


class WrongArgnums(Rule):
    """The gradient is taken with respect to the wrong argument.

    ## What it does
    Looks at which argument `argnums` names: whether it exists, whether it can be differentiated (a random key or an
    integer cannot), and whether it is the one that the gradient is applied to afterwards.

    ## Why is this bad?
    `argnums` is 0 unless it is given. Where the parameters come second, the gradient is that of the data; with equal
    shapes nothing is raised.

    ## Example
        def loss(batch, params): ...


        grads = jax.grad(loss)(batch, params)

    ## Use instead
        grads = jax.grad(loss, argnums=1)(batch, params)

    ## When it cannot tell
    When `argnums` is not a constant, or it is not known what is done with the gradient.
    """

    summary = "`argnums` names data, a key or nothing at all instead of the parameters."
    needs = (Shapes,)

    valid = (
        Example(_STEP.format(argnums=", argnums=1", mark=""), "the second argument"),
        Example(
            """
            def energy(q, p):
                return jnp.sum(q**2) + jnp.sum(p**2)

            def leapfrog(q, p):
                p = p - 0.05 * jax.grad(energy)(q, p)
                return q + 0.1 * jax.grad(energy, argnums=1)(q, p), p
            """,
            "equations of motion cross over on purpose",
        ),
    )
    invalid = (
        Example(_STEP.format(argnums="", mark="  #!"), "the gradient of the data is applied to the parameters"),
        Example(
            """
            def loss(key, w):
                return jnp.sum(w * jax.random.normal(key, (3,)))

            def step(w):
                return jax.grad(loss)(jax.random.key(0), w)  #!
            """,
            "a key has no gradient",
        ),
        Example(
            """
            def loss(w, x):
                return jnp.sum(w * x)

            def step(w, x):
                return jax.grad(loss, argnums=2)(w, x)  #!
            """,
            "no such argument",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient."""
        if program.front_end == "jaxpr":
            yield from _traced(facts)
            return
        flow, shapes = facts.flow, facts.get(Shapes)
        uses = _uses(program, flow)
        yield from (_judge(op, flow, shapes, uses) for op in program.named("grad"))


def _traced(facts: Facts) -> Iterator[Obligation]:
    """Judge the gradients that reach an optimizer: each leaf is given its own."""
    for update in updates_in(facts):
        for op in dict.fromkeys(op for op, _ in update.sources):
            name = f"`{op.qualified.rpartition('.')[2] or 'the function'}`"
            chosen = op.differentiated
            beside = [one for at, one in enumerate(op.operands) if chosen is not None and at not in chosen]
            own = {origin(facts.flow, one, {}).value for one in update.trained}
            if update.param in own:
                yield proved(op.span, f"the gradient of {name} is applied to what it was taken with respect to")
            elif own and update.param in {origin(facts.flow, one, {}).value for one in beside}:
                yield _applied_elsewhere(op, update.op)


def _judge(op: Op, flow: Flow, shapes: Shapes, uses: _Uses) -> Obligation:
    chosen = op.differentiated
    name = f"`{op.qualified.rpartition('.')[2] or 'the function'}`"
    if chosen is None:
        return unknown(op.span, "`argnums` is not a constant")
    if (missing := _missing(op)) is not None:
        message = f"`argnums={missing}` is out of range: {name} is called with {_count(op)} positional arguments"
        return _refused(op, message, "`argnums` must be less than the number of positional arguments")
    for at in chosen:
        kind = _undifferentiable(op, op.operands[at], flow, shapes)
        if kind:
            value = op.regions[0].params[at]
            what = f"`{value.name}`" if value.name else "the argument"
            message = f"the gradient is taken with respect to {what}, which is {kind}"
            return _refused(op, message, "grad requires real- or complex-valued inputs")
    if op in uses.crossed:
        return _applied_elsewhere(op, uses.crossed[op])
    if op in uses.own:
        return proved(op.span, f"the gradient of {name} is applied to {_chosen(op)}, its own argument")
    if len(chosen) == len(op.operands):
        return proved(op.span, f"{name} is differentiated in all that it is given")
    return unknown(op.span, f"{name} is differentiated in {_chosen(op)}; who applies that is not seen")


def _chosen(op: Op) -> str:
    border, numbers = op.border, _argnums(op)
    paths, chosen = op.paths, op.differentiated
    if isinstance(paths, tuple) and chosen is not None:
        roots = dict.fromkeys(split_path(str(paths[at]))[0] for at in chosen if at < len(paths))
        return ", ".join(f"`{one}`" for one in roots)
    if border is None or not numbers:
        return "its first argument"
    named = [border.name(at) or f"argument {at}" for at in numbers if 0 <= at < len(border.trees)]
    return ", ".join(f"`{one}`" for one in named) or "its first argument"


def _argnums(op: Op) -> tuple[int, ...]:
    given = op.option("argnums", 0)
    return tuple(one for one in (given if isinstance(given, tuple) else (given,)) if isinstance(one, int))


def _count(op: Op) -> int:
    return 0 if op.border is None else len(op.border.positional)


def _missing(op: Op) -> int | None:
    """Return an `argnums` that no argument has."""
    border, count = op.border, _count(op)
    # Nobody writes a call without arguments: it stands for one whose `*args` are unknown.
    if border is None or border.open_ended or not count:
        return None
    if not op.spelling.startswith("jax."):
        return None
    return next((one for one in _argnums(op) if not -count <= one < count), None)


def _undifferentiable(op: Op, operand: Value, flow: Flow, shapes: Shapes) -> str:
    """Return what an argument is that JAX refuses to differentiate; empty where it may be differentiated."""
    if op.option("allow_int", False) is not False or not op.spelling.startswith("jax."):
        return ""
    made = origin(flow, operand, {}).op
    if made is not None and made.name in ("key.seed", "key.split", "key.fold_in"):
        return "a random key"
    dtype = shapes.of(operand).dtype or ""
    return "an array of integers" if dtype.startswith(("int", "uint")) and shapes.of(operand).dims else ""


def _refused(op: Op, message: str, why: str) -> Obligation:
    return Obligation(
        op.span,
        message=message,
        current=f"JAX raises an exception: {why}",
        raises=Raises.TRACING,
        expected="`argnums` names the parameters",
        steps=taken_at(op),
        suggestion="pass the position of the parameters as `argnums`, or put them first",
    )


@record
class _Uses:
    """Where gradients are applied: to what they were taken at, or to another argument, by the call that does it."""

    own: set[Op] = field(default_factory=set)
    crossed: dict[Op, Op] = field(default_factory=dict)


def _uses(program: Program, flow: Flow) -> _Uses:
    """Return what becomes of gradients that are seen to be applied."""
    found = _Uses()
    for call in applied(program, flow):
        for op, position in behind(flow, call.gradients):
            chosen = op.differentiated
            if position < own_results(op) or chosen is None:
                continue
            changed, own, rest = _sides(flow, call.params, op, chosen)
            if changed & own:
                found.own.add(op)
            elif changed & rest:
                found.crossed[op] = call.op
    for loop, call in in_turns(program, flow):
        carried = [start for start, _, _ in loop.carried]
        for op, position in behind(flow, call.gradients):
            if position < own_results(op) or op.differentiated is None:
                continue
            mine = [op.operands[at] for at in op.differentiated]
            own, rest = origins(flow, tuple(mine), in_turn=True), origins(flow, op.operands, in_turn=True)
            if call.params in own:
                found.own.add(op)
            # In mechanics each of two moves along the gradient of the other one.
            elif call.params in rest and not any(depends(flow, one, carried) for one in mine):
                found.crossed[op] = call.op
    return found


def _sides(flow: Flow, params: Argument, op: Op, chosen: tuple[int, ...]) -> tuple[set[Value], set[Value], set[Value]]:
    """Return what is changed, what a derivative is taken with respect to, and its other arguments, by origin.

    Parameters and their slow copy start alike: then the turn of the loop decides.
    """
    mine = tuple(op.operands[at] for at in chosen)
    others = tuple(value for at, value in enumerate(op.operands) if at not in chosen)
    started = origins(flow, mine) & origins(flow, others)
    changed, own, rest = (origins(flow, one, in_turn=bool(started)) for one in (params, mine, others))
    return changed, own, rest


def _applied_elsewhere(op: Op, call: Op) -> Obligation:
    return Obligation(
        op.span,
        message=f"the gradient is taken with respect to {_chosen(op)}, and applied to another argument",
        current="the parameters are changed along the gradient of something else",
        expected="the gradient is that of the parameters it is applied to",
        steps=(*taken_at(op), Step(call.span, "the gradient is applied here")),
        suggestion="pass the position of the parameters as `argnums`",
    )
