"""The rule `updates-as-parameters`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, contexts, origin, same
from jaxaudit.analyses.versions import is_optimizer_step
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Loop, Part
from jaxaudit.ir.ops import LOOPS
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved
from jaxaudit.rules.pytrees._shared.optimizers import APPLIES

_REPLACES = playing("train_state.replace")


class UpdatesAsParameters(Rule):
    """What an optimizer gives back is carried on in the place of the parameters.

    ## What it does
    Follows both results of every optimizer's `update`, the updates and the new state, to where a loop carries them on
    or a copy of the training state gets them, and checks that neither stands where the parameters stood, and that no
    turn of a loop starts from a state that is made anew.

    ## Why is this bad?
    Updates have the structure and the shapes of the parameters, so nothing raises: every step starts from a tiny
    network near zero instead of the trained one.

    ## Example
        updates, opt_state = tx.update(grads, opt_state, params)
        return updates, opt_state

    ## Use instead
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    ## When it cannot tell
    Steps whose results leave the code that was read are not listed.
    """

    summary = "The updates or the state of an optimizer take the place of the parameters."

    valid = (
        Example(
            "import optax\n\ntx = optax.sgd(0.1)\n\ndef fit(loss, params, xs):\n    def body(carry, x):\n"
            "        params, state = carry\n        grads = jax.grad(loss)(params, x)\n"
            "        updates, state = tx.update(grads, state, params)\n"
            "        return (optax.apply_updates(params, updates), state), None\n"
            "    return jax.lax.scan(body, (params, tx.init(params)), xs)\n",
            "applied",
        ),
        Example(
            "import optax\n\ntx = optax.sgd(0.1)\n\ndef fit(loss, params, last, xs):\n"
            "    def body(carry, x):\n        params, state, last = carry\n        grads = jax.grad(loss)(params, x)\n"
            "        last, state = tx.update(grads, state, params)\n"
            "        return (optax.apply_updates(params, last), state, last), None\n"
            "    return jax.lax.scan(body, (params, tx.init(params), last), xs)\n",
            "carried on beside the parameters",
        ),
        Example(
            "import optax\n\ntx = optax.adam(0.1)\n\ndef adapt(loss, params, tasks):\n    scores = []\n"
            "    for xs in tasks:\n        own, state = params, tx.init(params)\n        for x in xs:\n"
            "            updates, state = tx.update(jax.grad(loss)(own, x), state)\n"
            "            own = optax.apply_updates(own, updates)\n        scores.append(loss(own, xs[0]))\n"
            "    return scores\n",
            "a state for each task",
        ),
    )
    invalid = (
        Example(
            "import optax\n\ntx = optax.sgd(0.1)\n\ndef fit(loss, params, xs):\n    def body(carry, x):\n"
            "        params, state = carry\n        grads = jax.grad(loss)(params, x)\n"
            "        updates, state = tx.update(grads, state, params)\n"
            "        return (updates, state), None  #!\n"
            "    return jax.lax.scan(body, (params, tx.init(params)), xs)\n",
            "not applied",
        ),
        Example(
            "import optax\n\ntx = optax.adam(0.1)\n\ndef fit(loss, params, xs):\n    def body(carry, x):\n"
            "        params, state = carry\n        grads = jax.grad(loss)(params, x)\n"
            "        updates, state = tx.update(grads, state, params)\n"
            "        return (state, optax.apply_updates(params, updates)), None  #!\n"
            "    return jax.lax.scan(body, (params, tx.init(params)), xs)\n",
            "state and parameters exchanged",
        ),
        Example(
            "import optax\n\ntx = optax.sgd(0.1)\n\n@jax.jit\ndef step(params, state, x):\n"
            "    grads = jax.grad(lambda p: ((p * x) ** 2).sum())(params)\n"
            "    updates, state = tx.update(grads, state)\n    return updates, state  #!\n\n"
            "def fit(params, xs):\n    state = tx.init(params)\n    for x in xs:\n"
            "        params, state = step(params, state, x)\n    return params\n",
            "in a loop of Python",
        ),
        Example(
            "import optax\n\ntx = optax.adam(0.1)\n\ndef fit(loss, params, xs):\n    for x in xs:\n"
            "        state = tx.init(params)  #!\n        grads = jax.grad(loss)(params, x)\n"
            "        updates, state = tx.update(grads, state, params)\n"
            "        params = optax.apply_updates(params, updates)\n    return params\n",
            "a state that every turn makes anew",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where what an optimizer gives is carried on, and every place where it is applied."""
        flow = facts.flow
        loops = [loop for op in program.named(*LOOPS) if (loop := Loop.of(op)) is not None]
        yield from (
            one for loop in loops for context in contexts(flow, loop.op) for one in _looped(flow, loop, context)
        )
        if any(plays(op.qualified, "optimizer.init") for op in program.calls()):
            yield from (one for loop in loops for one in _remade(flow, loop))
        copies = dict.fromkeys((*program.calling(*_REPLACES), *program.named("py.replace")))
        yield from (one for op in copies for context in contexts(flow, op) for one in _replaced(flow, op, context))
        for op in program.calling(*APPLIES):
            yield from _applied(flow, op)


def _applied(flow: Flow, op: Op) -> Iterator[Obligation]:
    for value in values_in(op.arguments.get("updates")):
        if _given(flow, origin(flow, value, {})) is not None:
            yield proved(op.span, "the updates are applied to the parameters")
            return


def _looped(flow: Flow, loop: Loop, context: Context) -> Iterator[Obligation]:
    for (param, _, _), result in zip(loop.carried, loop.body.results, strict=False):
        found = origin(flow, result, context, in_turn=True)
        given = _given(flow, found)
        if given is None:
            continue
        step, position = given
        if any(_is(flow, one, param, found.context) for one in _parameters(flow, step, found.context)):
            yield _misplaced(_place(flow, found.value, step), step, position)
            return


def _remade(flow: Flow, loop: Loop) -> Iterator[Obligation]:
    """Judge the states that the steps in a loop start from: made anew in every turn, they remember nothing."""
    inner = list(loop.body.walk())
    made_here = {op for op in inner if plays(op.qualified, "optimizer.init")}
    carried = [param for param, following in loop.successors if following is not param]
    for step in inner if made_here else ():
        for context in contexts(flow, step) if is_optimizer_step(step) else ():
            state = step.value("state")
            made = None if state is None else origin(flow, state, context, in_turn=True).op
            params = _parameters(flow, step, context)
            if made in made_here and any(_is(flow, one, param, context) for one in params for param in carried):
                yield _forgetful(made, step)


def _forgetful(made: Op | None, step: Op) -> Obligation:
    return Obligation(
        step.span if made is None else made.span,
        message="the state of the optimizer is made anew in every turn, while the parameters go on",
        current="moments, counters and schedules start again at each step, and what the step before gave is lost",
        expected="the state is made once, and each step starts from what the step before gave",
        steps=(Step(step.span, "the optimizer starts from it here"),),
        suggestion="move `init` out of the loop and carry the state",
    )


def _replaced(flow: Flow, op: Op, context: Context) -> Iterator[Obligation]:
    """Compare the fields of a copy with the fields that the parameters of a step were read from."""
    for name, value in _fields(op):
        given = _given(flow, origin(flow, value, context))
        if given is None:
            continue
        step, position = given
        read = [flow.maker(origin(flow, one, context).value) for one in _parameters(flow, step, context)]
        if any(one is not None and one.name == "py.attr" and one.label == name for one in read):
            yield _misplaced(op, step, position)


def _fields(op: Op) -> Iterator[tuple[str, Value]]:
    fields = op.replaced or {} if op.name == "py.replace" else op.arguments
    for name, value in fields.items():
        if isinstance(value, Value) and name != "self":
            yield name, value


def _given(flow: Flow, found: Origin) -> tuple[Op, int] | None:
    """Return the optimizer's step that a value comes out of, and which of its two results it is."""
    op, value = found.op, found.value
    if op is not None and op.name == "tree.leaf":
        tree = op.arguments.get("tree")
        op, value = (flow.maker(tree), tree) if isinstance(tree, Value) else (None, value)
    part = Part.of(op, value)
    step = None if part is None else flow.maker(part.whole)
    if part is None or step is None or not is_optimizer_step(step):
        return None
    return (step, part.at) if part.at in (0, 1) else None


def _parameters(flow: Flow, step: Op, context: Context) -> Iterator[Value]:
    """Return the parameters that a step is about: those it was given, and those the gradients are of."""
    yield from values_in(step.arguments.get("params"))
    for value in values_in(step.arguments.get("updates")):
        made = origin(flow, value, context)
        if made.op is not None and made.op.name == "grad" and made.op.differentiated is not None:
            at = made.op.results.index(made.value) - len(made.op.regions[0].results)
            yield from (made.op.operands[place] for place in made.op.differentiated[at : at + 1] if at >= 0)


def _is(flow: Flow, value: Value, param: Value, context: Context) -> bool:
    found = origin(flow, value, context, in_turn=True)
    return same(flow, found, Origin(param, None, context=found.context))


def _place(flow: Flow, value: Value, step: Op) -> Op:
    """Return the `return` that hands the value on, else the step itself."""
    returns = (one for one in flow.places.region_of[step].ops if one.name == "py.return" and value in one.operands)
    return next(returns, step)


def _misplaced(op: Op, step: Op, position: int) -> Obligation:
    updates = position == 0
    return Obligation(
        op.span,
        message="the updates take the place of the parameters"
        if updates
        else "the new state of the optimizer takes the place of the parameters",
        current="the next step starts from the updates as if they were the parameters"
        if updates
        else "the next step starts from a tree that is not that of the parameters",
        expected="the parameters after `optax.apply_updates` are handed on",
        steps=(Step(step.span, "the optimizer gives updates and its new state here"),),
        suggestion="hand on `optax.apply_updates(params, updates)` in this place",
    )
