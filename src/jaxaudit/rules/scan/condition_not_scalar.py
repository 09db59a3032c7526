"""The rule `condition-not-scalar`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown
from jaxaudit.spans import Span

_SHOWN = {"while": "`while_loop`", "cond": "`cond`"}


class ConditionNotScalar(Rule):
    """The condition of a loop or branch of JAX is not one truth value.

    ## What it does
    Looks at what the condition of every `while_loop` gives, and at the predicate of every `cond` and the index of every
    `switch`: it must have no axes, and that of a loop must be a boolean.

    ## Why is this bad?
    A loop goes on or ends, and one branch runs or the other, for all elements alike. JAX raises `TypeError` for an
    array of conditions, and for a number where a loop wants a truth value.

    ## Example
        jax.lax.while_loop(lambda x: jnp.abs(x) > 1e-3, lambda x: x / 2, jnp.ones(4))

    ## Use instead
        jax.lax.while_loop(lambda x: jnp.any(jnp.abs(x) > 1e-3), lambda x: x / 2, jnp.ones(4))

    ## When it cannot tell
    When the shape of the condition is not known. Under `vmap` each example has a condition of its own.
    """

    summary = "The condition of a `while_loop`, `cond` or `switch` is an array, or no truth value."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## one truth value; one for each example
    def halve(x):
        return jax.lax.while_loop(lambda x: jnp.max(x) > 1e-3, lambda x: x / 2, x)

    def newton(x):
        return jax.lax.while_loop(lambda x: jnp.abs(x**2 - 2) > 1e-3, lambda x: x - (x**2 - 2) / (2 * x), x)

    def main():
        halve(jnp.ones(4))
        jax.vmap(newton)(jnp.ones(4))
        jax.lax.switch(jnp.argmax(jnp.ones(4)), [jnp.sin, jnp.cos], 1.0)
        return jax.lax.cond(jnp.all(jnp.ones(4) > 0), jnp.sin, jnp.cos, jnp.ones(4))
    """
    invalid = """
    ## a loop that has a condition for each element
    def halve(x, tol):
        def go_on(state):
            x, turn = state
            return (jnp.abs(x) > tol) & (turn < 9)

        return jax.lax.while_loop(go_on, lambda state: (state[0] / 2, state[1] + 1), (x, 0))  #!

    def main():
        return halve(jnp.ones(4), 1e-3)

    ## a number
    def count():
        return jax.lax.while_loop(lambda n: 9 - n, lambda n: n + 1, 0)  #!

    ## two values
    def count(x):
        return jax.lax.while_loop(lambda s: (s[0] > 1.0, s[1] < 9), lambda s: (s[0] / 2, s[1] + 1), (x, 0))  #!

    ## a branch for each element
    class Gate:
        def __call__(self, x):
            return jax.lax.cond(x > 0, jnp.sin, jnp.cos, x)  #!

    def main():
        return Gate()(jnp.ones(4)) + jax.lax.switch(jnp.arange(2), [jnp.sin, jnp.cos], jnp.ones(4))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List the condition of every loop and branch of JAX."""
        shapes = facts.get(Shapes)
        for op in program.named(*_SHOWN):
            given = op.regions[0].results if op.name == "while" and op.regions else op.operands[:1]
            made = facts.flow.maker(given[0]) if len(given) == 1 else None
            if made is not None and made.name == "py.container":
                yield _violation(op, given[0], f"its condition gives a {made.kind}", "join its parts with `&`")
            elif len(given) == 1:
                yield from (_judge(op, given[0], context) for context in shapes.contexts(op))


def _judge(op: Op, condition: Value, context: Context) -> Obligation:
    fact, name = context.of(condition), named(condition, "the condition")
    if fact.dims:
        return _violation(
            op, condition, f"{name} has shape {shape_text(fact.dims)}", "reduce it with `jnp.any` or `jnp.all`"
        )
    if op.name == "while" and fact.dtype not in (None, "bool"):
        return _violation(op, condition, f"{name} is {fact.dtype}", "compare it with something")
    if fact.dims is None or (op.name == "while" and fact.dtype is None):
        return unknown(op.span, f"the type of {name} is not known")
    return proved(op.span, f"{name} is one truth value" if op.name == "while" else f"{name} has no axes")


def _place(op: Op, condition: Value) -> Span:
    """Return where a condition is computed; what is only handed through is returned somewhere."""
    body = op.regions[0] if op.name == "while" and op.regions else None
    given = [one.span for one in body.ops if one.name == "py.return"] if body is not None else []
    return given[-1] if body is not None and given and condition in body.params else condition.span


def _violation(op: Op, condition: Value, what: str, remedy: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"{_SHOWN[op.name]} needs one truth value, but {what}",
        current="JAX refuses this: it raises `TypeError`",
        expected="one condition, without axes, for all elements alike",
        steps=(Step(_place(op, condition), "the condition is computed here"),),
        suggestion=f"{remedy}, or map the function with `jax.vmap`",
    )
