"""The rule `non-scalar-grad`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import taken_at


class NonScalarGrad(Rule):
    """The gradient is taken of a function that gives an array.

    ## What it does
    Looks at the shape of what a function gives whose gradient is taken with `grad` or `value_and_grad`. What `vmap`
    gives has an axis, whatever else is known of it.

    ## Why is this bad?
    The gradient is defined for one number. For a loss with one value an example JAX raises `TypeError`; a missing
    `mean` is the usual cause.

    ## Example
        def loss(w, x, y):
            return (x @ w - y) ** 2  # (batch,)


        jax.grad(loss)(w, x, y)

    ## Use instead
        def loss(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

    ## When it cannot tell
    When the shape of the result is not known.
    """

    summary = "`grad` is taken of a function that gives an array instead of one number."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## a mean
    def loss(w):
        return jnp.mean(jnp.ones((8, 3)) @ w)

    def step():
        return jax.grad(loss)(jnp.ones(3))

    ## arrays beside the loss
    def loss(w):
        errors = jnp.ones((8, 3)) @ w
        return errors.sum(), errors

    def step():
        return jax.value_and_grad(loss, has_aux=True)(jnp.ones(3))
    """
    invalid = """
    ## one value an example
    def loss(w):
        return jnp.ones((8, 3)) @ w

    def step():
        return jax.grad(loss)(jnp.ones(3))  #!

    ## a loss for each element of a map, of which nothing else is known
    def step(network, params, batch):
        def loss(params):
            return 0.5 * jax.vmap(lambda example: network(params, example))(batch)

        return jax.grad(loss)(params)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient."""
        shapes = facts.get(Shapes)
        traced = program.front_end == "jaxpr"
        for op in program.named("grad"):
            if traced:
                yield proved(op.span, "JAX took this gradient, so it is of one number")
            elif (loss := _loss(op)) is not None:
                mapped = _mapped(loss, facts.flow)
                yield from (_judge(op, loss, context, mapped) for context in shapes.contexts(op) or (None,))


def _loss(op: Op) -> Value | None:
    """Return what is differentiated: the only result, or the first where there are others beside it."""
    results = op.regions[0].results
    beside = op.option("has_aux") is True
    return results[0] if results and (beside or len(results) == 1) else None


def _mapped(loss: Value, flow: Flow) -> Op | None:
    """Return the map whose axis is still there in what is differentiated: nothing but elementwise ops came after it."""

    def before(value: Value) -> Sequence[Value]:
        op = flow.maker(value)
        return op.operands if op is not None and (op.name == "array.map" or op.name in PASSED_ON) else ()

    makers = (flow.maker(one) for one in walk((loss,), before))
    maps = (op for op in makers if op is not None and op.name == "vmap")
    return next((op for op in maps if isinstance(op.option("out_axes", 0), int)), None)


def _follows_argument(op: Op, dims: Sequence[Dim], context: Context) -> bool:
    """Whether the sizes of a result are those that annotations say of the argument it is differentiated by."""
    params, at = op.regions[0].params, op.option("argnums", 0)
    if not isinstance(at, int) or not 0 <= at < min(len(params), len(op.operands)):
        return False
    inside, outside = context.of(params[at]).dims, context.of(op.operands[at]).dims
    said = {atom for dim in inside or () for atom in dim.atoms()}
    return outside is None and all(dim.constant is None and said.issuperset(dim.atoms()) for dim in dims)


def _judge(op: Op, loss: Value, context: Context | None, mapped: Op | None) -> Obligation:
    dims = None if context is None else context.of(loss).dims
    name = op.function or "the function"
    if dims is None and mapped is not None:
        return _finding(
            op, f"`{name}`, which gives a value for each element of a `vmap`", mapped, "its axis is made here"
        )
    if dims is None:
        return unknown(op.span, f"the shape of what `{name}` gives is unknown")
    if not dims:
        return proved(op.span, f"`{name}` gives one number")
    if context is not None and _follows_argument(op, dims, context):
        reason = f"`{name}` gives as many numbers as it is given, and how many that are here is only annotated"
        return unknown(op.span, reason)
    shape = shape_text(dims)
    found = _finding(op, f"`{name}`, which gives an array of shape {shape}", loss, f"this has shape {shape}")
    return replace(found, way=() if context is None else context.way)


def _finding(op: Op, what: str, place: Op | Value, step: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"the gradient is taken of {what}",
        current="JAX raises TypeError: gradients are defined for functions that give one number",
        expected="the function gives one number, such as the mean over the batch",
        steps=(*taken_at(op), Step(place.span, step)),
        suggestion="reduce the result with `jnp.mean(...)`, or use `jax.jacrev` if every entry's gradient is meant",
    )
