"""The rule `size-not-integer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.queries import Answers, last
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.shapes.literals import is_slice
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ARITHMETIC, CUMULATIVE, SIZES
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import SIZED_BY
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved, unknown


class SizeNotInteger(Rule):
    """A size or the bound of a slice is a fraction, or a tuple among numbers.

    ## What it does
    Looks at every shape, size, count and bound of a slice that is computed, and asks whether it is an integer. `a / b`
    never is, even where it comes out even, nor is whatever is calculated with it; `a // b`, `int(...)` and `len(...)`
    are. A shape has numbers in it, and no further tuple.

    ## Why is this bad?
    JAX and NumPy refuse it, but only once this line runs.

    ## Example
        rows = x.reshape(x.shape[0] / 2, 2, x.shape[1:])

    ## Use instead
        rows = x.reshape(x.shape[0] // 2, 2, *x.shape[1:])

    ## When it cannot tell
    When a size is computed from what comes from outside, or from a function that is not known.
    """

    summary = "A size is a fraction or a tuple where only integers will do."
    needs = (Shapes, TracingFacts)

    valid = """
    ## integers
    import math

    def halves(x, n, key):
        half = x.shape[0] // 2
        wide = x.reshape(half, 2, *x.shape[1:])
        noise = jax.random.normal(key, (math.ceil(n / 2), int(n / 3)) + x.shape[1:])
        return wide, noise, x[:half], jnp.arange(n / 2), jnp.split(x, 6 / 2), jnp.zeros((half + 1, 3))

    ## widths are pairs
    def bordered(x, n):
        return jnp.pad(x, ((0, n), (0, 0)))

    ## a namespace that is handed around
    def square(xp, x, n):
        return xp.reshape(x, x.shape[:-1] + (n, n)), xp.reshape(x, (-1, n))
    """
    invalid = """
    ## a quotient
    def halves(x, n, key):
        size = n / 2
        noise = jax.random.normal(key, (size, 3))  #!
        return x.reshape(n, -1)[: n / 4], x.reshape(size - 1, -1), noise  #!

    ## a tuple in a tuple
    def minibatches(x, n):
        return jnp.reshape(x, (n, -1, x.shape[1:]))  #!

    ## bounds of parts
    import numpy as np

    def parts(x, n):
        return jnp.split(x, np.cumsum([n * i / 3 for i in range(1, 3)]))  #!

    ## how often
    def turns(x, n):
        for i in range(n / 2):  #!
            x = jnp.tile(x, 2)
        return jax.lax.fori_loop(0, x.shape[0] / 2, lambda i, x: x * 2, x)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every size that is computed."""
        kinds = _Kinds(facts)
        for op in program.named(*SIZED_BY, "py.item", "py.element", "fori"):
            found = {kind: (size, what) for size, what in _sizes(op, kinds) if (kind := kinds.of(size)) is not None}
            if _Kind.FRACTION in found or _Kind.SEVERAL in found:
                kind = _Kind.FRACTION if _Kind.FRACTION in found else _Kind.SEVERAL
                yield _violation(op, *found[kind], kind, kinds)
            elif _Kind.OPEN in found:
                size, what = found[_Kind.OPEN]
                yield unknown(op.span, f"whether {named(size, what)} is an integer is not known")
            elif found:
                yield proved(op.span, "what is computed for its sizes is an integer")


class _Kind(Enum):
    """What a size is."""

    INTEGER = "integer"
    FRACTION = "a fraction"
    SEVERAL = "a tuple"
    OPEN = "not known"


class _Kinds:
    """The kinds of sizes."""

    def __init__(self, facts: Facts) -> None:
        self.makers, self.readers = facts.program.makers, facts.flow.readers
        self.values = python_values(facts)
        self._shapes = facts.get(Shapes)
        self._answers: Answers[Value, _Kind] = Answers(self._answer, _Kind.OPEN)

    def of(self, size: Argument) -> _Kind | None:
        """Return the kind of a size; None for one that is written down, or comes from elsewhere as it is."""
        if isinstance(size, Value):
            kind, maker = self._answers(size), self.makers.get(size)
            computed = maker is not None and maker.is_operator
            return None if kind is _Kind.OPEN and not computed else kind
        if isinstance(size, float):
            return _Kind.FRACTION
        return _Kind.SEVERAL if isinstance(size, tuple) else None

    def is_array(self, value: Argument) -> bool:
        """Whether a value is surely an array."""
        fact = self._shapes.of(value) if isinstance(value, Value) else ShapeFact()
        return bool(fact.dims) or self.values.is_jax_array(value)

    def is_namespace(self, op: Op, sizes: tuple[Argument, ...]) -> bool:
        """Whether what looks like a method of an array may be a function of a namespace: `xp.reshape(x, shape)`."""
        receiver = next(iter(op.arguments.values()), None)
        if "." in op.qualified or len(sizes) != 2 or not isinstance(receiver, Value) or self.is_array(receiver):
            return False
        uses = self.readers.get(receiver, ())
        return not any(one.name == "array.shape" or one.is_operator for one in uses)

    def each(self, value: Value) -> Value | None:
        """Return what every element of a list of numbers is: `n / 2` of `np.cumsum([n / 2 for ...])`."""
        return _each(self.makers.get(value))

    def _answer(self, value: Value, ask: Callable[[Value], _Kind]) -> _Kind:
        fact, op = self._shapes.of(value), self.makers.get(value)
        if fact.number is not None and fact.dtype is not None:
            return _Kind.INTEGER
        if fact.items is not None or fact.each is not None:
            return _Kind.SEVERAL
        if fact.dims == () and fact.dtype is not None:
            return _Kind.INTEGER if fact.dtype.lstrip("u").startswith("int") else _of_number(op, ask)
        return _Kind.OPEN if op is None else _of_number(op, ask)


def _each(op: Op | None) -> Value | None:
    """Return what every element of an array of numbers is, or is added up from."""
    if op is None:
        return None
    if op.name == "py.loop" and op.regions and len(op.regions[0].results) == 1 and len(op.results) == 1:
        return op.regions[0].results[0] if not Loop(op).carried else None
    passes = op.name == "py.container" or op.function in CUMULATIVE
    return op.operands[0] if passes and len(op.operands) == 1 else None


def _of_number(op: Op | None, ask: Callable[[Value], _Kind]) -> _Kind:
    """Return the kind of what an op makes."""
    if op is None:
        return _Kind.OPEN
    if op.name == "py.item" and is_slice(op.arguments.get("index")):
        return _Kind.SEVERAL
    if op.name == "array.map" and op.is_operator and op.function in ARITHMETIC:
        return _of_parts(op.function, {_of_operand(one, ask) for one in op.arguments.values()})
    counts = op.name == "py.to_python" and op.function == "int"
    return _Kind.INTEGER if counts or (op.name == "array.shape" and op.function in SIZES - {"shape"}) else _Kind.OPEN


def _of_operand(argument: Argument, ask: Callable[[Value], _Kind]) -> _Kind:
    if isinstance(argument, Value):
        return ask(argument)
    if isinstance(argument, int | float):
        return _Kind.INTEGER if isinstance(argument, int) else _Kind.FRACTION
    return _Kind.SEVERAL


def _of_parts(function: str, parts: set[_Kind]) -> _Kind:
    """Return the kind of what arithmetic makes of its operands."""
    if _Kind.SEVERAL in parts:
        return _Kind.OPEN
    if function == "divide" or _Kind.FRACTION in parts:
        return _Kind.FRACTION
    return _Kind.INTEGER if parts == {_Kind.INTEGER} and function != "power" else _Kind.OPEN


def _sizes(op: Op, kinds: _Kinds) -> Iterator[tuple[Argument, str]]:
    """Return every size that an op is given, with what it is."""
    if op.name == "py.element":
        counted = op.arguments.get("iterable")
        bounds = counted.values() if isinstance(counted, Mapping) else ()
        yield from ((one, "a bound of the range") for one in bounds)
    elif op.name == "fori":
        yield from ((one, "a bound of the loop") for one in op.operands[:2])
    elif op.name == "py.item":
        if kinds.is_array(op.arguments.get("base")):
            parts = [part for part in index_parts(op.arguments.get("index")) if isinstance(part, Mapping)]
            yield from ((one, "a bound of the slice") for part in parts for one in part.values())
    else:
        for role in SIZED_BY[op.name]:
            given = op.arguments.get(role)
            if op.name == "array.split":
                # A fraction may say how many equal parts there are, but not where they end.
                each = last(given, kinds.each) if isinstance(given, Value) else given
                given = each if each is not given else None
            if isinstance(given, tuple) and kinds.is_namespace(op, given):
                return
            if isinstance(given, tuple):
                # `reshape(*shape)` may be given one shape in place of the sizes.
                yield from ((one, "a size") for one in given if len(given) > 1 or isinstance(one, float))
                yield from ((one, "a size") for one in given if len(given) == 1 and kinds.of(one) is _Kind.FRACTION)
            elif kinds.of(given) in (_Kind.INTEGER, _Kind.FRACTION):
                yield given, "a size"


def _violation(op: Op, size: Argument, what: str, kind: _Kind, kinds: _Kinds) -> Obligation:
    maker = kinds.makers.get(size) if isinstance(size, Value) else None
    divided = kind is _Kind.FRACTION
    return Obligation(
        op.span,
        message=f"{named(size, what)} is {kind.value}, and only integers will do here",
        current="`/` gives a fraction, also where it comes out even, which raises an error"
        if divided
        else "a tuple among the sizes raises an error",
        raises=Raises.TRACING,
        expected="an integer" if divided else "its items as sizes",
        steps=(Step(maker.span, "it is made here"),) if maker is not None and maker.span != op.span else (),
        suggestion="divide by `//`" if divided else "take it apart: `*shape`",
    )
