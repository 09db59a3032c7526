"""The rule `raw-gradient-applied`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.versions import given_by_place
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.gradients._shared.left_out import LeftOut, partial_optimizers
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, Applied, applied, behind, parts, raw, unknown_steps
from jaxaudit.spans import Span

_PROGRAM = """
import optax

def step(optimiser, loss, params, state, x):
    grads = jax.grad(loss)(params, x)
    updates, state = optimiser.update(grads, state, params)
    return optax.apply_updates(params, {given}), state{mark}
"""

_MASKED = """
import optax

def train(params, xs):
    head, body = {{"head": True, "body": False}}, {{"head": False, "body": True}}
    tx = {tx}
    state = tx.init(params)
    for x in xs:
        grads = jax.grad(lambda p: jnp.mean((x @ p["body"] @ p["head"]) ** 2))(params)
        updates, state = tx.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params
"""


class RawGradientApplied(Rule):
    """The gradient is added to the parameters, and not what an optimizer makes of it.

    ## What it does
    Looks at what `apply_updates` adds to parameters: the updates of an optimizer, or a gradient as it was taken. An
    optimizer that is masked, or one of several beside `optax.identity`, hands on the gradients of the other parameters.

    ## Why is this bad?
    `apply_updates` adds. Updates point downhill and are scaled by the learning rate; a gradient points uphill, so the
    loss grows, with steps of any size.

    ## Example
        updates, state = optimiser.update(grads, state, params)
        params = optax.apply_updates(params, grads)

    ## Use instead
        updates, state = optimiser.update(grads, state, params)
        params = optax.apply_updates(params, updates)

    ## When it cannot tell
    Where no optimizer is given the same gradient it is a warning: somebody may climb on purpose.
    """

    summary = "`apply_updates` is given the gradient itself, not the optimizer's updates."

    valid = (
        Example(_PROGRAM.format(given="updates", mark=""), "updates"),
        Example(
            _MASKED.format(
                tx="optax.chain(optax.masked(optax.adam(1e-3), head), optax.masked(optax.set_to_zero(), body))"
            ),
            "what is left out is set to zero",
        ),
        Example(
            _MASKED.format(tx="optax.chain(optax.masked(optax.scale_by_adam(), head), optax.scale(-1e-3))"),
            "all are scaled",
        ),
        Example(
            _MASKED.format(tx="optax.masked(optax.adam(1e-3), head)").replace(
                'x @ p["body"]', 'x @ jax.lax.stop_gradient(p["body"])'
            ),
            "no gradient of what is left out",
        ),
    )
    invalid = (
        Example(_MASKED.format(tx="optax.masked(optax.adam(1e-3), head)  #!"), "for some parameters alone"),
        Example(
            _MASKED.format(
                tx='optax.partition({"a": optax.sgd(0.1), "b": optax.identity()}, {"head": "a", "body": "b"})  #!'
            ),
            "identity hands gradients on",
        ),
        Example(_PROGRAM.format(given="grads", mark="  #!"), "the gradient that an optimizer was given too"),
        Example(
            "import optax\n\ndef climb(value, params):\n"
            "    return optax.apply_updates(params, jax.grad(value)(params))  #?\n",
            "no optimizer at all",
        ),
        Example(
            "import optax\n\ndef apply(optimiser, params, state, grads):\n"
            "    updates, state = optimiser.update(grads, state, params)\n"
            "    return optax.apply_updates(params, grads), state  #!\n",
            "what an optimizer was given, wherever it comes from",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that is added to parameters."""
        flow = facts.flow
        for one in partial_optimizers(program, flow) if program.front_end == "source" else ():
            yield _of_others(one)
        calls = list(applied(program, flow)) if program.front_end == "source" else []
        steps = [Applied(op, given_by_place(op)[0], None) for op, _ in unknown_steps(program, flow)]
        steps += [call for call in calls if call.op.qualified not in APPLIES]
        stepped = {op: call.op for call in steps if (op := raw(flow, call)) is not None}
        unused = {
            value: step
            for step, both in unknown_steps(program, flow)
            if not flow.is_read(both[0])
            for value in parts(flow, given_by_place(step)[0])
        }
        for call in calls:
            if call.op.qualified not in APPLIES:
                continue
            if (source := raw(flow, call)) is not None:
                yield _finding(call, source.span, stepped.get(source))
            elif (step := _given_to_step(flow, call, unused)) is not None:
                yield _finding(call, None, step)
            elif any(behind(flow, call.gradients)):
                yield proved(call.op.span, "what is applied is made of the gradient")
            else:
                yield unknown(call.op.span, "what is applied was not followed to a gradient")


def _of_others(one: LeftOut | Op) -> Obligation:
    """Judge a transformation for some of the parameters."""
    if isinstance(one, Op):
        return unknown(one.span, "what becomes of the gradients that are left out is not known")
    if one.step is None:
        return unknown(one.op.span, "which gradients go through what is masked is not known")
    name = one.op.qualified.rpartition(".")[2]
    return Obligation(
        one.op.span,
        message=f"`{name}` hands the gradients of all other parameters through, and they are applied as they are",
        current="the parameters that are left out go uphill, by their whole gradients",
        expected="the updates of what is left out are zero, or made by an optimizer too",
        steps=(Step(one.step.span, "the gradients of all parameters go through it here"),),
        suggestion='`optax.multi_transform({"train": optimiser, "freeze": optax.set_to_zero()}, labels)`',
    )


def _given_to_step(flow: Flow, call: Applied, unused: Mapping[Value, Op]) -> Op | None:
    """Return the step of an optimizer that is given all that a call applies, and whose updates nobody reads."""
    steps = {unused.get(value) for value in parts(flow, call.gradients)}
    return steps.pop() if len(steps) == 1 else None


def _finding(call: Applied, source: Span | None, step: Op | None) -> Obligation:
    taken = () if source is None else (Step(source, "the gradient is taken here"),)
    beside = () if step is None else (Step(step.span, "the optimizer makes updates of it here"),)
    return Obligation(
        call.op.span,
        severity=Severity.WARNING if step is None else Severity.ERROR,
        message="the gradient itself is added to the parameters, not the updates of an optimizer",
        current="`apply_updates` adds, so this goes uphill, by the whole gradient",
        expected="what the optimizer's `update` gives is applied",
        steps=(*taken, *beside),
        suggestion="pass the updates: `updates, state = optimiser.update(grads, state, params)`",
    )
