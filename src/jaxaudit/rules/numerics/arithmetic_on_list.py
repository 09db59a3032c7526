"""The rule `arithmetic-on-list`."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.python_values import PythonValues, python_values
from jaxaudit.analyses.queries import depends, holders, walk
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.functions import ARITHMETIC, TAKES_SEQUENCES
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.operators import SIGNS
from jaxaudit.ir.ops import CALCULATING
from jaxaudit.ir.record import replace
from jaxaudit.libraries.lookup import lookup
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, Verdict, proved, unknown

_PYTHON = {"tuple": (tuple,), "list": (list,), "dict": (dict, OrderedDict, Counter, defaultdict)}
"""What a container may be, by its kind: dicts are not told apart."""


class ArithmeticOnList(Rule):
    """Arithmetic that an array was meant for is done on a Python list, tuple or dict.

    ## What it does
    Looks at operators with a list, a tuple or a dict on one side, and a number or an array of JAX on the other; at
    lists that a function of `jax.numpy` is to calculate with or to rearrange; and at lists of different numbers that
    are repeated.

    ## Why is this bad?
    `[0.1, 0.2] * 2` is `[0.1, 0.2, 0.1, 0.2]`. All other arithmetic with a list raises `TypeError`, also with arrays:
    unlike NumPy, JAX does not take a list for an array.

    ## Example
        weights = [0.1, 0.9]
        scaled = jnp.array(weights * 2)
        loss = weights * losses

    ## Use instead
        weights = jnp.array([0.1, 0.9])
        scaled = weights * 2
        loss = weights * losses

    ## When it cannot tell
    Repeating a list is often meant, so that is a warning, and only for several different numbers. A parameter that is
    sometimes a list and sometimes a number is not judged.
    """

    summary = "A list or tuple is used in arithmetic: it is repeated or raises, where an array would be computed with."
    needs = (TracingFacts,)

    valid = (
        Example("def product(a, b):\n    return jnp.matmul(*jnp.broadcast_arrays(a, b))\n", "the items of a tuple"),
        Example(
            "def joined(a, b):\n    first, second = {'x': a}, {'y': b}\n"
            "    if not first.keys().isdisjoint(second.keys()):\n        raise KeyError\n"
            "    return {**first, **second}\n",
            "views of dicts",
        ),
        Example(
            """
            import numpy as np

            def f(x, n):
                shape = (n, *x.shape) + (1, 2)
                return jnp.zeros([4] * 3), [0.0, 0.0] * 4, np.ones(2) * [1.0, 2.0], shape
            """,
            "shapes, repetition, NumPy",
        ),
        Example(
            "def f(x, y):\n    return jnp.max(jnp.stack([x, y]), axis=(0, 1)), jnp.array_equal([1], x)\n",
            "axes, and functions that convert",
        ),
    )
    invalid = """
    ## a list with an array
    def loss(x):
        weights = [0.1, 0.9]
        return weights * jnp.abs(x)  #!

    ## a list with a number
    def scaled():
        weights = [0.1, 0.9]
        return weights / 2  #!

    ## a list of arrays
    def larger(a, b):
        return jnp.max([a, b])  #!

    ## a list that a loop fills
    def mean(n, x):
        means = []
        for i in range(n):
            means.append(jnp.mean(x * i))
        return jnp.std(means)  #!

    ## a mask that is none
    def mean(x):
        return jnp.mean(x, where=())  #!

    ## a tuple of arrays that is rearranged and asked for its shape
    def batches(a, b, n):
        both = jax.tree.map(lambda x: x + 1, (a, b))
        flat = jnp.swapaxes(both, 0, 1)  #!
        return flat, jnp.zeros((n, *both.shape[1:]))  #!

    ## a caller that gives both results for the first
    @jax.jit
    def moved(state):
        return state.position + state.velocity, state.velocity

    def advanced(state):
        return state, state.position

    def run(state):
        state = advanced(state)
        return moved(state)  #!

    ## a tree of gradients
    def step(w, x, rate):
        params = {"w": w}
        grads = jax.grad(lambda p: jnp.sum(p["w"] * x))(params)
        return grads / 3, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  #!

    ## a list that is repeated
    def scaled():
        weights = [0.1, 0.9]
        return jnp.array(weights * 2)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every operator with a list or tuple on one side."""
        values = python_values(facts)
        yield from map(_repeated, program.named("py.repeat"))
        operators = (op for op in program.named("array.map", "array.dot") if op.is_operator)
        yield from (one for op in operators for one in _judge(op, values))
        yield from (one for op in program.named(*sorted(CALCULATING)) for one in _given(op, values))
        yield from (one for op in program.named("py.attr") for one in _attribute(op, facts))


def _judge(op: Op, values: PythonValues) -> Iterator[Obligation]:
    x, y = op.arguments.get("x"), op.arguments.get("y")
    if op.function in ARITHMETIC and any(isinstance(one, Mapping) for one in (x, y)):
        yield from _with_dict(op, y if isinstance(x, Mapping) else x, values)
        return
    other = y if isinstance(x, tuple) else x
    if isinstance(x, tuple) == isinstance(y, tuple) or op.function not in ARITHMETIC:
        return
    if values.is_jax_array(other):
        yield _raises(op, "an array of JAX")
    elif op.own and _refuses(op.function, other, values):
        yield _raises(op, "a number")
    elif values.is_number(other) or values.is_sequence(other):
        yield proved(op.span, "lists are joined or repeated here")
    else:
        yield unknown(op.span, "what a list or tuple is joined with or repeated by is not known")


def _with_dict(op: Op, other: Argument, values: PythonValues) -> Iterator[Obligation]:
    """Judge an operator with a dict on one side: only an object with operators of its own knows what to do with it."""
    if isinstance(other, Mapping):
        yield _tree(op, "another")
    elif values.is_number(other):
        yield _tree(op, "a number")
    elif values.is_jax_array(other):
        yield _tree(op, "an array of JAX")
    else:
        yield unknown(op.span, "what a dict is combined with is not known")


def _tree(op: Op, other: str) -> Obligation:
    found = _refused(op, f"`{SIGNS[op.function]}` between a dict and {other} raises `TypeError`")
    if found.verdict is Verdict.UNKNOWN:
        return found
    return replace(
        found,
        current="a dict has no arithmetic",
        expected="the arithmetic is done with each leaf of the tree",
        suggestion="go through the leaves: `jax.tree.map(lambda leaf: ..., tree)`",
    )


def _given(op: Op, values: PythonValues) -> Iterator[Obligation]:
    """Judge what a function of `jax.numpy` calculates with; the options of it may well be tuples."""
    if isinstance(op.arguments.get("where"), tuple):
        yield _refused(op, f"`{op.function}` raises `TypeError` for a Python list or tuple as `where`")
        return
    # Of `f(*values, **options)` nobody knows which parameter gets what.
    row = lookup(op.qualified) if op.qualified.startswith("jax.numpy.") and not op.has("*", "**") else None
    if row is None or row.params[0].startswith("*") or op.function in TAKES_SEQUENCES:
        return
    first = next(iter(op.arguments.values()), None)
    if isinstance(first, Mapping) or values.is_sequence(first):
        name = op.qualified.removeprefix("jax.numpy.")
        yield _refused(op, f"`jnp.{name}` raises `TypeError` for a Python list or tuple")
    elif values.is_jax_array(first):
        yield proved(op.span, "what is calculated with is an array")


def _attribute(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge what is read of a container that was just put together."""
    base = op.arguments.get("base")
    maker = facts.flow.maker(base) if isinstance(base, Value) else None
    kind = maker.kind if maker is not None and maker.name == "py.container" else ""
    if maker is None or kind not in _PYTHON or any(hasattr(cls, op.label) for cls in _PYTHON[kind]):
        return
    if _is_asked_about(maker, op, facts.flow):
        yield unknown(op.span, f"a condition asks about this {kind}, and whether it comes here is not known")
        return
    refused = _refused(op, f"a Python {kind} has no `.{op.label}`: this raises `AttributeError`")
    if refused.verdict is Verdict.UNKNOWN:
        yield refused
        return
    refused = replace(
        refused,
        current=f"a {kind} of Python is asked for what it does not have",
        expected="an object that has it",
        suggestion="give the object itself",
        cause=maker.operands,
    )
    givers = _givers(maker, facts.flow)
    for one in givers:
        given = f"`{one.function}` is given a Python {kind}, which has no `.{op.label}`: this raises `AttributeError`"
        read = Step(op.span, f"`.{op.label}` is asked for here")
        yield replace(refused, span=one.span, message=given, steps=(read,), cause=one.operands)
    if not givers:
        yield refused


def _is_asked_about(made: Op, op: Op, flow: Flow) -> bool:
    """Whether a condition around an op asks about what a container is made of; about constants any one may ask."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    conditions = [value for one in around if one is not None and one.name == "py.branch" for value in one.operands]
    return any(not made.operands or depends(flow, value, made.operands) for value in conditions)


def _givers(made: Op, flow: Flow) -> list[Op]:
    """Return the calls that hand in what a container is made of, where it came into the function as an argument.

    The outermost ones: what only hands on its own argument is not at fault.
    """

    def step(parts: tuple[Op, tuple[Value, ...]]) -> Iterator[tuple[Op, tuple[Value, ...]]]:
        for caller, region in _entered_by(parts[1], flow):
            outside = tuple(one for part in parts[1] for one in given_as(caller, region, part))
            yield caller, outside

    return [op for op, parts in walk(((made, made.operands),), step) if op is not made and not _entered_by(parts, flow)]


def _entered_by(parts: tuple[Value, ...], flow: Flow) -> list[tuple[Op, Region]]:
    """Return the calls through which all parts come in, each with the region that it runs."""
    regions = {flow.places.owner.get(part) for part in parts}
    region = regions.pop() if len(regions) == 1 else None
    return [] if region is None else [(caller, region) for caller in holders(flow, region)]


def _refuses(function: str, other: Argument, values: PythonValues) -> bool:
    """Whether no list or tuple does this with a number: it can only be repeated a whole number of times."""
    return isinstance(other, float) if function == "multiply" else values.is_number(other)


def _raises(op: Op, other: str) -> Obligation:
    return _refused(op, f"`{SIGNS[op.function]}` between a Python list or tuple and {other} raises `TypeError`")


def _refused(op: Op, message: str) -> Obligation:
    if op.guarded:
        return unknown(op.span, f"{message}, but that may be caught, or not run")
    return Obligation(
        op.span,
        message=message,
        current="Python's lists and tuples have no arithmetic, and JAX does not take them for arrays",
        raises=Raises.TRACING,
        expected="the arithmetic of arrays",
        suggestion="make an array of the list: `jnp.array(values)`",
        cause=op.operands,
    )


def _repeated(op: Op) -> Obligation:
    values = op.values or ()
    if len(set(values)) < 2 or not any(isinstance(one, float) for one in values):
        return proved(op.span, "what is repeated is one value, or no numbers")
    return Obligation(
        op.span,
        Verdict.UNKNOWN,
        "whether the list is meant to be repeated or multiplied is not known",
        severity=Severity.WARNING,
        message="`*` repeats this list of numbers, it does not multiply them",
        current="the list gets longer",
        expected="a longer list, or an array that is multiplied",
        suggestion="make an array of the list first, if its numbers are to be multiplied",
    )
