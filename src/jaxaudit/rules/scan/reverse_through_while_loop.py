"""The rule `reverse-through-while-loop`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients.graph import applied_in, reads_parameters
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import entered, left, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.functions import ELEMENTS_IN_ORDER, FLAT, is_discrete
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.jit._shared.phrases import steps_of, transform

_ENDS = frozenset("grad.stop array.shape array.at py.test py.format py.print py.to_python py.operator".split())
_OWN_DERIVATIVE = CUSTOM_DERIVATIVES | {"transform", "abstract", "callback", "shard_map"}

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


_TURNS = """
import flax.linen as nn


class Recurrence(nn.Module):
    @nn.compact
    def __call__(self, x, length):
        w = self.param("w", nn.initializers.lecun_normal(), (4, 4))

        def body(t, h):
            return jnp.where(t < length, jnp.tanh(x[t] + w @ h), h)

        return jax.lax.fori_loop(0, {bound}, body, jnp.zeros(4)){mark}


net = Recurrence()


@jax.jit
def slope(params, x, length):
    return jax.grad(lambda p: net.apply(p, x, length).sum())(params)


def main(key):
    x, length = jnp.ones((7, 4)), jnp.asarray([3])
    return slope(net.init(key, x, length), x, length)
"""


class ReverseThroughWhileLoop(Rule):
    """A derivative is taken backwards through a `while_loop`.

    ## What it does
    Follows the values that `grad`, `value_and_grad` and `jacrev` differentiate into the function, and the parameters
    that modules read there, and reports a `while_loop` whose carry or body depends on them where the function's result
    depends on the loop. A `fori_loop` whose bounds JAX traces is a `while_loop`.

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
    needs = (Shapes, TracingFacts)

    valid = (
        Example(_PROGRAM.format(w="jax.lax.stop_gradient(w)", mark=""), "nothing to differentiate in the loop"),
        Example(
            "def count(x):\n    return jax.lax.while_loop(lambda n: n < 9, lambda n: n + 1, 0)\n\n"
            "y = jax.grad(lambda w: w * count(w))(0.5)\n",
            "the loop counts",
        ),
        Example(_PROGRAM.format(w="w", mark="").replace("jax.grad(loss)", "loss"), "no derivative"),
        Example(_TURNS.format(bound="x.shape[0]", mark=""), "the number of turns is known while tracing"),
    )
    invalid = (
        Example(_PROGRAM.format(w="w", mark="  #!"), "the body depends on what is differentiated"),
        Example(
            "def f(x):\n"
            "    return jax.lax.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]  #!\n\n"
            "y = jax.value_and_grad(f)(0.5)\n",
            "the carry does",
        ),
        Example(_TURNS.format(bound="length.max()", mark="  #!"), "a traced number of turns, and weights of a module"),
        Example(
            "def power(x, n, w):\n"
            "    return jax.lax.fori_loop(0, n, lambda i, y: y * w, x)  #!\n\n"
            "@jax.jit\n"
            "def slope(x, n, w):\n"
            "    return jax.grad(power, argnums=2)(x, n, w)\n\n"
            "def main():\n    return slope(1.0, 3, 0.5)\n",
            "an argument of a compiled function bounds the loop",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop of unknown length in a function that is differentiated backwards."""
        if any(program.named("while", "fori")):
            grads = [op for op in program.named("grad", "vjp") if op.name == "grad" or _spelling(op) == "jacrev"]
            yield from (one for op in grads for one in _judge(op, facts))


def _spelling(op: Op) -> str:
    return op.spelling.rpartition(".")[2]


def _judge(grad: Op, facts: Facts) -> Iterator[Obligation]:
    body, start = grad.regions[0], _differentiated(grad)
    flow, shapes, bounds = facts.flow, facts.get(Shapes), _bounds(grad, facts.get(TracingFacts))
    loops = [op for op in body.walk(enters=_takes_derivative) if op.regions and (op.name == "while" or op in bounds)]
    if not loops or not body.results:
        return
    smooth = _smooth_in(flow, (*start, *_read(body, start, facts)))
    for loop in loops:
        through = _through(loop, smooth, shapes)
        if loop.kind in ("checkpointed", "bounded"):
            reason = "this loop stores what its backward pass needs"
        elif not start:
            yield unknown(loop.span, "what is differentiated is open")
            continue
        elif not through:
            reason = "what the loop computes does not depend on what is differentiated"
        elif body.results[0] not in _smooth_in(flow, through):
            reason = "the result that is differentiated does not depend on the loop"
        elif loop in bounds and bounds[loop].kind is Kind.UNKNOWN:
            yield unknown(loop.span, "whether the number of turns is traced is not known")
            continue
        else:
            yield _finding(loop, grad, bounds.get(loop))
            continue
        yield proved(loop.span, reason)


def _takes_derivative(op: Op) -> bool:
    """Whether the inside of an op is differentiated: that of a function with a rule of its own is not."""
    return op.name not in ("custom_vjp", "custom_jvp") and op.role != "derivative"


def _bounds(grad: Op, tracing: TracingFacts) -> dict[Op, Trace]:
    """Return the counted loops under a derivative with what is known of a bound that Python does not know."""
    found: dict[Op, Trace] = {}
    for visit in tracing.of("fori"):
        facts = [visit.of(value) for value in visit.op.operands[:2]] if grad in visit.stack else []
        for fact in facts:
            if fact.kind is Kind.TRACED:
                found[visit.op] = fact
            elif fact.kind is Kind.UNKNOWN:
                found.setdefault(visit.op, fact)
    return found


def _read(body: Region, start: list[Value], facts: Facts) -> list[Value]:
    """Return the parameters and the results of layers in modules that are run with what is differentiated."""
    given = {value for values in applied_in(facts).values() for value in values}
    if given.isdisjoint(_smooth_in(facts.flow, start)):
        return []
    return [value for op in body.walk() if reads_parameters(op) for value in op.results]


def _differentiated(grad: Op) -> list[Value]:
    """Return the parameters of a function that stand for the arguments that are differentiated."""
    region = grad.regions[0]
    if grad.differentiated is not None:
        return [region.params[at] for at in grad.differentiated if at < len(region.params)]
    if (grad.options or {}).get("argnums", 0) != 0:
        return []
    count = len(grad.results) - len(region.results) if grad.name == "grad" else 1
    return list(region.params[: max(count, 1)])


def _through(loop: Op, smooth: set[Value], shapes: Shapes) -> list[Value]:
    """Return the results of a loop that a derivative has to pass."""
    body = loop.regions[-1]
    # A counted loop hands its count to the body before what it carries.
    carried = body.params[len(body.params) - len(body.results) :]
    return [
        made
        for made, end, first in zip(loop.results, body.results, carried, strict=False)
        if (end in smooth or first in smooth) and not _is_whole(shapes, made, first)
    ]


def _is_whole(shapes: Shapes, *values: Value) -> bool:
    return any((shapes.of(value).dtype or "").startswith(("int", "uint", "bool")) for value in values)


def _finding(loop: Op, grad: Op, bound: Trace | None) -> Obligation:
    what = "this `while_loop`" if bound is None else f"this `fori_loop`, whose bound {transform(bound.by)} traces"
    return Obligation(
        loop.span,
        message=f"a gradient is taken through {what}",
        current="JAX raises an error when the gradient is computed: the length of the loop is not known beforehand",
        raises=Raises.TRACING,
        expected="loops with a gradient have a fixed number of turns",
        steps=(
            Step(grad.span, f"`{_spelling(grad)}` differentiates a function that depends on the loop"),
            *(() if bound is None else steps_of(bound)),
        ),
        suggestion="use `scan`, or `fori_loop` with constant bounds; or stop the gradient before the loop",
    )


def _smooth_in(flow: Flow, values: Iterable[Value]) -> set[Value]:
    """Return the values that a derivative with respect to some values has to pass."""
    return set(walk(values, lambda value: (*_onwards(flow, value), *left(flow, value))))


def _onwards(flow: Flow, value: Value) -> Iterator[Value]:
    for op in flow.readers.get(value, ()):
        if op.name in _ENDS or _is_flat(op):
            continue
        if op.regions and op.name not in _OWN_DERIVATIVE:
            yield from entered(op, value)
        else:
            yield from op.results


def _is_flat(op: Op) -> bool:
    if op.name == "array.convert":
        return is_discrete(op.arguments.get("dtype", op.function))
    if op.name == "array.order":
        return op.function not in ELEMENTS_IN_ORDER
    return op.name == "array.map" and op.function in FLAT
