"""The rule `broken-straight-through`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import permutations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.flat import FlatValues
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.queries import reached, walk
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.ops import SELECTED
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, proved, unknown

_PROGRAM = """
def sample(logits):
    soft = jax.nn.softmax(logits)
    hard = jax.nn.one_hot(jnp.argmax(soft, axis=-1), 4)
    return {result}


jax.grad(lambda logits: sample(logits).sum())(jnp.ones(4))
"""


@record
class Counts:
    """How often a value stands in a sum: forwards, and where gradient reaches it."""

    forward: int = 0
    gradient: int = 0
    times: int = 0
    stopped: bool = False
    """Whether `stop_gradient` is around it somewhere."""

    def plus(self, whole: Counts, sign: int, *, stops: bool) -> Counts:
        """Count it once more wherever a sum counts that it is a part of."""
        return Counts(
            self.forward + sign * whole.forward,
            self.gradient + (0 if stops else sign * whole.gradient),
            self.times + whole.times,
            self.stopped or whole.stopped or stops,
        )


class BrokenStraightThrough(Rule):
    """A straight-through estimator stops the gradient of the wrong part.

    ## What it does
    Takes sums with `stop_gradient` apart. Where a value is added and its own `stop_gradient` is taken away, the two
    cancel in the forward pass and only the gradient of the value stays. If that value has no gradient (it comes from an
    `argmax`, a rounding, a comparison), nothing stays at all. Signs count too: the soft value must leave its gradient
    as it is, and the hard value must be added.

    ## Why is this bad?
    The forward pass gives the soft value instead of the hard choice, and nothing is raised: training goes on with a
    relaxation that was meant for the gradient alone.

    ## Example
        soft + hard - jax.lax.stop_gradient(hard)

    ## Use instead
        hard + soft - jax.lax.stop_gradient(soft)

    ## When it cannot tell
    A sum of one value alone whose gradient has the other sign, `2 * stop_gradient(x) - x`, reverses it on purpose.
    When the value comes from code that was not followed: then it may have a gradient, and nothing is reported.
    """

    summary = "A straight-through estimator cancels the hard value instead of the soft one."
    needs = (Shapes, TracingFacts)

    valid = (
        Example(_PROGRAM.format(result="hard + soft - jax.lax.stop_gradient(soft)"), "the hard value stays"),
        Example(_PROGRAM.format(result="soft + jax.lax.stop_gradient(hard - soft)"), "the other way to write it"),
        Example(
            """
            def reversed_gradient(x):
                return jax.lax.stop_gradient(x) + jax.lax.stop_gradient(x) - x

            jax.grad(lambda x: reversed_gradient(x).sum())(jnp.ones(3))
            """,
            "a gradient that is reversed",
        ),
        Example(
            """
            def loss(params, x):
                z = x @ params["encoder"]
                code = params["codes"][jnp.argmin(jnp.sum((params["codes"] - z) ** 2, axis=-1))]
                straight = z + jax.lax.stop_gradient(code - z)
                fit = jnp.mean((code - jax.lax.stop_gradient(z)) ** 2)
                commit = jnp.mean((z - jax.lax.stop_gradient(code)) ** 2)
                return jnp.sum((straight - x) ** 2) + fit + 0.25 * commit

            jax.grad(loss)({"encoder": jnp.ones((2, 2)), "codes": jnp.ones((5, 2))}, jnp.ones(2))
            """,
            "the errors of a codebook",
        ),
        Example(
            """
            def exact_sum(a, b):
                total = a + b
                rest = total - a
                return total, (a - (total - rest)) + (b - rest)

            jax.grad(lambda a: exact_sum(a, 2.0)[1])(1.0)
            """,
            "what rounding leaves of a sum",
        ),
        Example(
            """
            def moved(params, old, new):
                return (old * params + old - new) / new

            def renewed(x):
                scale = jnp.round(x)
                return moved(x, scale, scale)

            jax.grad(renewed)(1.5)
            """,
            "one thing that is given for two",
        ),
        Example(
            """
            def packed(texts, width):
                line, at = np.zeros(width), 0
                while at < width:
                    free = width - at
                    line[at : at + free] = texts.pop()[:free]
                    at += free
                return line
            """,
            "the rest of a length",
        ),
    )
    invalid = (
        Example(
            """
            def loss(params, x):
                z = x @ params["encoder"]
                code = params["codes"][jnp.argmin(jnp.sum((params["codes"] - z) ** 2, axis=-1))]
                return jnp.sum((z + (code - z) - x) ** 2)  #!

            jax.grad(loss)({"encoder": jnp.ones((2, 2)), "codes": jnp.ones((5, 2))}, jnp.ones(2))
            """,
            "nothing is stopped",
        ),
        Example(_PROGRAM.format(result="soft + hard - jax.lax.stop_gradient(hard)  #!"), "the hard value cancels"),
        Example(_PROGRAM.format(result="(hard - jax.lax.stop_gradient(hard)) + soft  #!"), "in another order"),
        Example(
            _PROGRAM.format(result="hard + jax.lax.stop_gradient(soft) - soft  #!"), "the gradient is turned around"
        ),
        Example(_PROGRAM.format(result="soft + jax.lax.stop_gradient(soft - hard)  #!"), "the wrong one is subtracted"),
        Example(
            """
            def quantised(codes, z):
                nearest = codes[jnp.argmin(jnp.sum((z[:, None] - codes) ** 2, axis=-1), axis=-1)]
                return nearest + jax.lax.stop_gradient(z - nearest)  #!

            jax.grad(lambda codes, z: quantised(codes, z).sum())(jnp.ones((5, 2)), jnp.ones((3, 2)))
            """,
            "what is left is not quantised",
        ),
        Example(
            """
            def codebook_loss(codes, z):
                code = codes[jnp.argmin(jnp.sum((codes - z) ** 2, axis=-1))]
                straight = z + jax.lax.stop_gradient(code - z)
                return jnp.mean((straight - jax.lax.stop_gradient(z)) ** 2)  #!

            jax.grad(codebook_loss)(jnp.ones((5, 2)), jnp.ones(2))
            """,
            "an error of what is straight-through already",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every value that a sum adds and takes away again under `stop_gradient`."""
        shapes, flow = facts.get(Shapes), facts.flow
        flat = FlatValues(flow)
        sums = list(program.mapping(*SUMS_OF_TWO))
        inner = {flow.stands_for(value) for op in sums for value in op.operands}
        outer = [op for op in sums if op.result not in inner and not _counts(shapes.of(op.result))]
        yield from (one for op in outer for one in _judge(op, flat, shapes, flow))
        for op, value in _taken_back(program, flow):
            # Numbers of Python and arrays of NumPy have no gradient to lose.
            if not flat.is_flat(value) and not _counts(shapes.of(op.result)):
                sure = python_values(facts).is_jax_array(op.result)
                yield _pointless(op, value) if sure else unknown(op.span, "whether it has a gradient is not known")


def _taken_back(program: Program, flow: Flow) -> Iterator[tuple[Op, Value]]:
    """Return every `x + (y - x)`: the other ways to write it are those in which rounding is made up for."""
    for op in program.mapping("add"):
        for value, other in permutations(op.operands, 2):
            inner = flow.own_maker(other)
            if inner is not None and inner.function == "subtract" and inner.argument("y") is value:
                yield op, value


def _pointless(op: Op, value: Value) -> Obligation:
    name = _named(value)
    return _broken(op, f"{name} cancels and leaves no gradient", f"{name} is added and taken away without a stop")


def _counts(fact: ShapeFact) -> bool:
    """Whether a sum is one of sizes or indices, which have no gradient to lose."""
    return fact.number is not None or (fact.dtype or "").startswith(("int", "uint", "bool"))


def _judge(op: Op, flat: FlatValues, shapes: Shapes, flow: Flow) -> Iterator[Obligation]:
    parts = _parts(op, flow)
    if all(counts.times == 1 for counts in parts.values()) or _given_twice(op, flow):
        return
    if all(map(flat.is_flat, parts)):
        # Of constants alone there is no gradient that anything could stand in for.
        return
    hard = [value for value in parts if flat.is_choice(value)]
    # Without a stop anywhere, only an array shows that a sum is no arithmetic on sizes.
    if not any(counts.stopped for counts in parts.values()) and shapes.of(op.result).dtype is None:
        return
    for value, counts in parts.items():
        if counts.times > 1:
            found = None if value in hard else _source(value, parts, flat, flow)
            yield from (
                _verdict(op, value, counts, hard, parts) if found is None else _soft_left(op, value, counts, found)
            )


def _given_twice(op: Op, flow: Flow) -> bool:
    """Whether a function of which a sum has several parameters is given one value for two of them."""
    summed = walk((op.result,), lambda one: [part for part, _, _ in _terms(flow.own_maker(one))])
    params = {one for one in summed if flow.stands_for(one) is not one}
    return len({(id(flow.places.owner.get(one)), flow.stands_for(one)) for one in params}) < len(params)


def _parts(op: Op, flow: Flow) -> dict[Value, Counts]:
    """Return how often a sum counts each of its parts, through the sums it is made of and through `stop_gradient`."""
    terms: dict[Value, list[tuple[Value, int, bool]]] = {}
    pending = [op.result]
    for value in pending:
        if value not in terms:
            made = _terms(flow.own_maker(value))
            terms[value] = [(flow.stands_for(one), sign, stops) for one, sign, stops in made]
            pending += [part for part, _, _ in terms[value]]
    if len(pending) == len(terms):
        # Nothing stands in the sum twice.
        return {}
    counts = _counted(op.result, terms)
    # A sum that cancels is one value: what it takes away itself says nothing about the sums that it stands in.
    used = Counter(part for parts in terms.values() for part, _, _ in parts)
    whole = {one for one in terms if used[one] > 1 and counts[one].forward == 0}
    if any(terms[one] for one in whole):
        terms |= {one: [] for one in whole}
        terms = {one: terms[one] for one in walk((op.result,), lambda value: [part for part, _, _ in terms[value]])}
        counts = _counted(op.result, terms)
    return {value: counts[value] for value, parts in terms.items() if not parts}


def _counted(result: Value, terms: Mapping[Value, Sequence[tuple[Value, int, bool]]]) -> dict[Value, Counts]:
    """Return how often a sum counts itself and each value that it is made of, step by step."""
    counts = {value: Counts() for value in terms} | {result: Counts(1, 1, 1)}
    inner_first = TopologicalSorter({value: [part for part, _, _ in parts] for value, parts in terms.items()})
    for value in reversed([*inner_first.static_order()]):
        for part, sign, stops in terms[value]:
            counts[part] = counts[part].plus(counts[value], sign, stops=stops)
    return counts


def _terms(made: Op | None) -> Iterator[tuple[Value, int, bool]]:
    """Return what a sum adds with its signs, or what a `stop_gradient` is around; nothing for any other op."""
    if made is None or not (made.name == "grad.stop" or (made.name == "array.map" and made.function in SUMS_OF_TWO)):
        return
    stops, second = made.name == "grad.stop", 1 if made.function == "add" else -1
    for role, sign in (("x", 1), ("y", second)):
        part = made.arguments.get(role)
        if isinstance(part, Value):
            yield part, sign, stops


def _verdict(
    op: Op, value: Value, counts: Counts, hard: list[Value], parts: dict[Value, Counts]
) -> Iterator[Obligation]:
    name = f"`{value.name}`" if value.name else "a value"
    if value in hard:
        if counts.forward == 0 and counts.gradient:
            yield _broken(
                op,
                f"{name} is added and taken away again, and has no gradient to leave behind",
                f"{name} and its `stop_gradient` cancel, so the sum is what is left without them",
            )
    elif counts.forward == 0 and any(parts[one].forward * counts.gradient < 0 for one in hard):
        yield _broken(op, f"the gradient of {name} is turned around", f"{name} cancels and leaves minus its gradient")
    elif counts.forward * counts.gradient < 0 and _meets_others(value, parts):
        yield _turned(op, value, counts)
    elif counts.forward == 2 and counts.gradient == 1 and any(parts[one].forward == -1 for one in hard):
        now = f"the forward pass gives twice {name} minus the hard value"
        yield _broken(op, "the hard value is taken away where it should be added", now)
    elif counts.forward == 0 and (counts.gradient > 0 or (hard and counts.gradient)):
        yield proved(op.span, f"{name} cancels in the forward pass and leaves its gradient")


def _meets_others(value: Value, parts: dict[Value, Counts]) -> bool:
    """Whether other values are left in a sum; of one alone, a gradient is reversed on purpose."""
    return any(counts.forward for one, counts in parts.items() if one is not value)


def _turned(op: Op, value: Value, counts: Counts) -> Obligation:
    name = _named(value)
    done, passed = ("added", "taken away") if counts.forward > 0 else ("taken away", "added")
    return Obligation(
        op.span,
        message=f"{name} is {done} here, but has the gradient of something that is {passed}",
        current=f"a loss of this moves {name} away from what it is compared with",
        expected=f"{name} has the same sign in the forward pass and in its gradient, or no gradient at all",
        suggestion="compare the hard value itself, before `stop_gradient` made a straight-through value of it",
    )


def _source(value: Value, parts: dict[Value, Counts], flat: FlatValues, flow: Flow) -> Value | None:
    """Return the stopped value that alone is left of a sum, where what cancels was looked up by an index made of it."""
    left = [one for one, counts in parts.items() if one is not value and counts.forward]
    made = flow.maker(value)
    if len(left) != 1 or parts[left[0]] != Counts(1, 0, 1, stopped=True) or made is None or made.name not in SELECTED:
        return None
    chosen = [one for one in made.operands if flat.is_flat(one)]
    return left[0] if reached(flow, left).intersection(chosen) else None


def _named(value: Value) -> str:
    return f"`{value.name}`" if value.name else "the value"


def _soft_left(op: Op, value: Value, counts: Counts, left: Value) -> Iterator[Obligation]:
    if counts.forward == 0 and counts.gradient > 0:
        name = _named(value)
        now = f"the forward pass gives {_named(left)}, as if {name} had never been looked up"
        yield _broken(op, f"{name} is added and taken away again, and what it was chosen for is left", now)


def _broken(op: Op, message: str, now: str) -> Obligation:
    return Obligation(
        op.span,
        message=message,
        current=now,
        expected="the soft value cancels and leaves its gradient; the hard value stays",
        suggestion="`hard + soft - jax.lax.stop_gradient(soft)`",
    )
