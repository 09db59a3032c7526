"""The rule `aux-mishandled`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.record import replace
from jaxaudit.ir.trees import Tree
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, Applied, applied, behind, by_hand, made_as, own_results
from jaxaudit.rules.gradients._shared.phrases import taken_at
from jaxaudit.rules.gradients._shared.updates import updates_in
from jaxaudit.spans import Span

_PROGRAM = """
import jax, jax.numpy as jnp, optax

optimiser = optax.adam(1e-3)

def loss(params, x):
    error = x @ params["w"]
    return {result}

def step(params, state, x):
    {call}
    updates, state = optimiser.update(grads, state, params){mark}
    return optax.apply_updates(params, updates), state
"""


class AuxMishandled(Rule):
    """What a function gives beside its loss is not declared, or taken for something else.

    ## What it does
    Compares what a differentiated function returns with `has_aux`, and what `grad` and `value_and_grad` give back with
    what is made of it: which of the results reaches the optimizer as gradients.

    ## Why is this bad?
    A pair without `has_aux=True` is no loss, and JAX raises `TypeError`. Results in the wrong order may go on for long:
    an optimizer that is given the loss or the metrics instead of the gradients.

    ## Example
        grads = jax.grad(loss, has_aux=True)(params, x)
        updates, state = optimiser.update(grads, state, params)

    ## Use instead
        grads, metrics = jax.grad(loss, has_aux=True)(params, x)
        updates, state = optimiser.update(grads, state, params)

    ## When it cannot tell
    When it is not known what the function returns, or `has_aux` is not a constant.
    """

    summary = "`has_aux` does not fit what the function returns, or its results are taken in the wrong order."
    needs = ()

    valid = (
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2), error",
                call="(value, error), grads = jax.value_and_grad(loss, has_aux=True)(params, x)",
                mark="",
            ),
            "declared and unpacked",
        ),
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2)", call="value, grads = jax.value_and_grad(loss)(params, x)", mark=""
            ),
            "the loss alone",
        ),
        Example(
            """
            import optax

            def fit(agent, state, opt_state, batch):
                (loss, outputs), grads = jax.value_and_grad(agent.loss, has_aux=True)(state.params, batch)
                updates, opt_state = agent.optimizer.update(grads, opt_state, state.params)
                return optax.apply_updates(state.params, updates), opt_state, outputs

            def remember(table, batch):
                loss, grads = jax.value_and_grad(table.loss)(batch)
                table.totals.update({"loss": loss})
                return table, grads
            """,
            "an optimizer and a dict in fields of something unknown",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2), error",
                call="value, grads = jax.value_and_grad(loss)(params, x)  #!",
                mark="",
            ),
            "a pair without `has_aux`",
        ),
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2)", call="grads, value = jax.value_and_grad(loss)(params, x)", mark="  #!"
            ),
            "the loss is taken for the gradients",
        ),
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2), error", call="grads = jax.grad(loss, has_aux=True)(params, x)", mark="  #!"
            ),
            "the pair is taken for the gradients",
        ),
        Example(
            _PROGRAM.format(
                result="jnp.mean(error**2)", call="grads, error = jax.grad(loss, has_aux=True)(params, x)  #!", mark=""
            ),
            "nothing beside the loss",
        ),
        Example(
            """
            import optax

            tx = optax.adam(1e-3)

            def step(loss, params, state, x):
                metrics, grads = jax.grad(loss, has_aux=True)(params, x)
                updates, state = tx.update(grads, state, params)  #!
                return optax.apply_updates(params, updates), state

            def by_hand(loss, params, x):
                grads, value = jax.value_and_grad(loss)(params, x)
                return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  #!
            """,
            "whatever the loss is",
        ),
        Example(
            """
            def step(loss, state, x):
                grads, (value, metrics) = jax.value_and_grad(loss, has_aux=True)(state.params, x)
                grads = jax.lax.pmean(grads, "devices")
                return state.apply_gradients(grads=grads), metrics  #!

            def train(loss, state, x):
                (value, metrics), grads = jax.value_and_grad(loss)(state.params, x)  #!
                return state.apply_gradients(grads=grads), metrics
            """,
            "whatever the loss and the state are",
        ),
        Example(
            """
            import optax

            def fit(agent, state, opt_state, batch):
                grads, (loss, outputs) = jax.value_and_grad(agent.loss, has_aux=True)(state.params, batch)
                updates, opt_state = agent.optimizer.update(grads, opt_state, state.params)  #!
                return optax.apply_updates(state.params, updates), opt_state, outputs

            def fit_once(agent, params, batch):
                grads, loss = jax.value_and_grad(agent.loss)(params, batch)
                updates, _ = agent.optimizer.update(grads, None, params)  #!
                return optax.apply_updates(params, updates)
            """,
            "an optimizer in a field of something unknown",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient, and every call that takes gradients."""
        if program.front_end == "jaxpr":
            yield from _traced(facts)
            return
        flow = facts.flow
        yield from (one for op in program.named("grad") for one in _returned(op, flow))
        yield from _handed_on(program, flow)


def _traced(facts: Facts) -> Iterator[Obligation]:
    """Judge what reaches an optimizer: some of it must be gradients."""
    for update in updates_in(facts):
        if update.sources and "gradient" not in update.roles and update.roles & {"value", "auxiliary"}:
            op, at = update.sources[0]
            reader = next(iter(facts.flow.readers.get(op.results[at], ())), update.op)
            yield _not_gradients(reader.span, op, _own(op, update.roles == {"auxiliary"}))
        elif "gradient" in update.roles:
            yield proved(update.op.span, "the optimizer is given gradients, and not what stands beside them")


def _returned(op: Op, flow: Flow) -> Iterator[Obligation]:
    tree, aux = op.returned, _has_aux(op)
    name = f"`{op.qualified.rpartition('.')[2] or 'the function'}`"
    if tree is None:
        return
    if aux is None:
        yield unknown(op.span, "whether there is something beside the loss is decided elsewhere")
    elif not aux and tree.kind in ("tuple", "list", "dict", "namedtuple"):
        message = f"{name} gives a {_words(tree)}, but its gradient is taken without `has_aux=True`"
        suggestion = "pass `has_aux=True` and let the function give `(loss, rest)`"
        yield _refused(op.span, message, "gradients are defined for functions that give one number", suggestion, op)
    elif aux and (_is_array(tree, flow) or (tree.kind == "tuple" and len(tree.children) != 2)):
        message = f"`has_aux=True` is for a pair of loss and rest, but {name} gives {_thing(tree)}"
        suggestion = "give `(loss, rest)`, or leave `has_aux` out"
        yield _refused(op.span, message, "a function with `has_aux=True` gives a pair", suggestion, op)
    elif tree.kind == "value" and not _is_array(tree, flow):
        yield unknown(op.span, f"it is not known what {name} gives")
    else:
        yield proved(op.span, f"{name} gives what `has_aux` says")


def _has_aux(op: Op) -> bool | None:
    given = op.option("has_aux", False)
    return given if isinstance(given, bool) else None


def _is_array(tree: Tree, flow: Flow) -> bool:
    made = flow.maker(made_as(flow, tree.value)) if tree.kind == "value" and tree.value is not None else None
    return made is not None and made.name in ("array.reduce", "array.map", "array.dot")


def _words(tree: Tree) -> str:
    if tree.kind in ("dict", "namedtuple"):
        return "dict" if tree.kind == "dict" else "named tuple"
    return f"{tree.kind} of {len(tree.children)}"


def _thing(tree: Tree) -> str:
    return f"a {_words(tree)}" if tree.children else "one array"


def _refused(span: Span, message: str, why: str, suggestion: str, op: Op) -> Obligation:
    return Obligation(
        span,
        message=message,
        current=f"JAX raises TypeError: {why}",
        raises=Raises.TRACING,
        expected="the result of the function and `has_aux` agree",
        steps=(*taken_at(op), Step(op.regions[0].span, "the function is here")),
        suggestion=suggestion,
    )


def _handed_on(program: Program, flow: Flow) -> Iterator[Obligation]:
    calls = [*applied(program, flow), *(call for call in by_hand(program, flow) if _is_trained(call, flow))]
    used = {op for call in calls for op, position in behind(flow, call.gradients) if position >= own_results(op)}
    for call in calls:
        sources = list(behind(flow, call.gradients))
        wrong = next(((op, at) for op, at in sources if at < own_results(op)), None)
        if call.op.qualified in APPLIES or wrong is None:
            continue
        op, at = wrong
        whole = any(one is op and position >= own_results(op) for one, position in sources)
        found = _not_gradients(call.op.span, op, _whole(op) if whole else _own(op, at > 0))
        # What stands beside the loss may be gradients that the function took itself.
        taken_itself = at > 0 and op in used and not whole
        yield replace(found, severity=Severity.WARNING) if taken_itself else found
    for op in program.named("py.unpack"):
        if (source := _lone_loss(op, flow)) is not None:
            message = "the loss of `value_and_grad` is unpacked, but the function gives nothing beside it"
            suggestion = "unpack as `loss, grads = ...`, or give a pair with `has_aux=True`"
            yield _refused(op.span, message, "iteration over a 0-d array", suggestion, source)


def _is_trained(call: Applied, flow: Flow) -> bool:
    """Whether what a step by hand changes is what a derivative behind it was taken at."""
    changed = {origin(flow, one, {}).value for one in values_in(call.params)}
    taken = (op.operands[at] for op, _ in behind(flow, call.gradients) for at in op.differentiated or ())
    return any(origin(flow, one, {}).value in changed for one in taken)


def _whole(op: Op) -> str:
    return f"the whole result of `{op.spelling.rpartition('.')[2]}`"


def _own(op: Op, beside: bool) -> str:
    """Name a result that is the function's own."""
    name = op.spelling.rpartition(".")[2]
    return f"what stands beside the loss in `{name}`" if beside else f"the loss that `{name}` gives"


def _not_gradients(span: Span, op: Op, taken: str) -> Obligation:
    name = op.spelling.rpartition(".")[2]
    return Obligation(
        span,
        message=f"{taken} is used as the gradients",
        current="the optimizer is given something else than the gradients of the parameters",
        expected=f"`{_unpacking(op)} = {name}(...)(...)`, and only the gradients are handed on",
        steps=(*taken_at(op), Step(op.span, "the gradient is taken here")),
        suggestion=f"unpack the result as `{_unpacking(op)}`",
    )


def _unpacking(op: Op) -> str:
    if op.gives_value:
        return "(loss, aux), grads" if _has_aux(op) else "loss, grads"
    return "grads, aux" if _has_aux(op) else "grads"


def _lone_loss(op: Op, flow: Flow) -> Op | None:
    """Return the `value_and_grad` without `has_aux` whose loss is unpacked; whatever function it is of, that raises."""
    base = op.arguments.get("base")
    if not isinstance(base, Value):
        return None
    value = made_as(flow, base)
    made = flow.maker(value)
    if made is None or made.name != "grad" or _has_aux(made) is not False or not made.gives_value:
        return None
    return made if own_results(made) == 1 and made.results[0] is value else None
