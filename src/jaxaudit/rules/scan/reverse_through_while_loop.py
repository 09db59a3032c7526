"""The rule `reverse-through-while-loop`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.tangents import smooth_in
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved, unknown

_PROGRAM = """
def solve(w, x):
    def go_on(state):
        step, value = state
        return step < 10

    def body(state):
        step, value = state
        return step + 1, jnp.tanh(w * value)

    return jax.lax.while_loop(go_on, body, (0, x))[1]{mark}


def loss(w):
    return jnp.sum(solve({w}, jnp.ones(3)))


jax.grad(loss)(0.5)
"""


class ReverseThroughWhileLoop(Rule):
    """A derivative is taken backwards through a `while_loop`.

    ## What it does
    Follows the values that `grad`, `value_and_grad` and `jacrev` differentiate into the function, and reports a
    `while_loop` whose carry or body depends on them where the function's result depends on the loop.

    ## Why is this bad?
    The backward pass needs the values of every turn, and for a loop of unknown length there is no room for them: JAX
    raises `ValueError: Reverse-mode differentiation does not work for lax.while_loop`.

    ## Example
        jax.grad(lambda w: jax.lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * w), (0, 1.0))[1])(0.5)

    ## Use instead
        jax.grad(lambda w: jax.lax.scan(lambda s, _: (s * w, None), 1.0, length=9)[0])(0.5)

    ## When it cannot tell
    When the loop lies behind a call that cannot be followed. Loops in functions with a derivative rule of their own are
    fine.
    """

    summary = "A gradient is taken through a `while_loop`, which JAX cannot do."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(w="jax.lax.stop_gradient(w)", mark=""), "nothing to differentiate in the loop"),
        Example(
            "def count(x):\n    return jax.lax.while_loop(lambda n: n < 9, lambda n: n + 1, 0)\n\n"
            "y = jax.grad(lambda w: w * count(w))(0.5)\n",
            "the loop counts",
        ),
        Example(_PROGRAM.format(w="w", mark="").replace("jax.grad(loss)", "loss"), "no derivative"),
    )
    invalid = (
        Example(_PROGRAM.format(w="w", mark="  #!"), "the body depends on what is differentiated"),
        Example(
            "def f(x):\n"
            "    return jax.lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]  #!\n\n"
            "y = jax.value_and_grad(f)(0.5)\n",
            "the carry does",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `while_loop` in a function that is differentiated backwards."""
        if any(program.named("while")):
            shapes, flow = facts.get(Shapes), facts.flow
            grads = [op for op in program.named("grad", "vjp") if op.name == "grad" or _spelling(op) == "jacrev"]
            yield from (one for op in grads for one in _judge(op, flow, shapes))


def _spelling(op: Op) -> str:
    return op.spelling.rpartition(".")[2]


def _judge(grad: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    body, start = grad.regions[0], _differentiated(grad)
    loops = [op for op in body.walk(enters=_takes_derivative) if op.name == "while" and op.regions]
    if not loops or not body.results:
        return
    smooth = smooth_in(flow, start)
    for loop in loops:
        through = _through(loop, smooth, shapes)
        if loop.kind in ("checkpointed", "bounded"):
            reason = "this loop stores what its backward pass needs"
        elif not start:
            yield unknown(loop.span, "what is differentiated is open")
            continue
        elif not through:
            reason = "what the loop computes does not depend on what is differentiated"
        elif body.results[0] in smooth_in(flow, through):
            yield _finding(loop, grad)
            continue
        else:
            reason = "the result that is differentiated does not depend on the loop"
        yield proved(loop.span, reason)


def _takes_derivative(op: Op) -> bool:
    """Whether the inside of an op is differentiated: that of a function with a rule of its own is not."""
    return op.name not in ("custom_vjp", "custom_jvp") and op.role != "derivative"


def _differentiated(grad: Op) -> list[Value]:
    """Return the parameters of a function that stand for the arguments that are differentiated."""
    region = grad.regions[0]
    if (grad.options or {}).get("argnums", 0) != 0:
        return []
    count = len(grad.results) - len(region.results) if grad.name == "grad" else 1
    return list(region.params[: max(count, 1)])


def _through(loop: Op, smooth: set[Value], shapes: Shapes) -> list[Value]:
    """Return the results of a loop that a derivative has to pass."""
    body = loop.regions[-1]
    return [
        made
        for made, end, first in zip(loop.results, body.results, body.params, strict=False)
        if (end in smooth or first in smooth) and not _is_whole(shapes, made, first)
    ]


def _is_whole(shapes: Shapes, *values: Value) -> bool:
    return any((shapes.of(value).dtype or "").startswith(("int", "uint", "bool")) for value in values)


def _finding(loop: Op, grad: Op) -> Obligation:
    return Obligation(
        loop.span,
        message="a gradient is taken through this `while_loop`",
        current="JAX raises an error when the gradient is computed: the length of the loop is not known beforehand",
        raises=Raises.TRACING,
        expected="loops with a gradient have a fixed number of turns",
        steps=(Step(grad.span, f"`{_spelling(grad)}` differentiates a function that depends on the loop"),),
        suggestion="use `scan`, or `fori_loop` with constant bounds; or stop the gradient before the loop",
    )
