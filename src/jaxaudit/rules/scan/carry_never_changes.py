"""The rule `carry-never-changes`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.ranges import DEEP, Ranges
from jaxaudit.analyses.ranges.result import number_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import COMPARISONS, LARGER, SMALLER
from jaxaudit.ir.interfaces import Carried, Loop
from jaxaudit.ir.ops import NOTES
from jaxaudit.ir.values import is_integer
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Verdict, proved, unknown
from jaxaudit.rules.handing import handed_on, names_inside
from jaxaudit.spans import Span

_PROGRAM = """
import jax, jax.numpy as jnp

def returns(rewards):
    def body(total, reward):
        following = reward + 0.9 * total
        return {handed_on}, following

    return jax.lax.scan(body, jnp.zeros(3), rewards, reverse=True)[1]{mark}
"""
# What sums, products, minima and maxima start with.
_NEUTRAL = (0, 1, math.inf, -math.inf)
_LARGEST = LARGER | frozenset(("logaddexp",))


class CarryNeverChanges(Rule):
    """A loop calculates with a part of its state that starts as zeros and stays so.

    ## What it does
    Looks at each part of the state of `scan`, `fori_loop` and `while_loop` that the body hands on as it came in. One
    that starts as an array of equal numbers, and that the body calculates with, has lost its update. So has a product
    that starts as zero: whatever it is multiplied with, it stays zero. So has what the condition of a `while_loop`
    compares with something that does not change either: the answer is the same after every turn. And a `scan` that
    goes through nothing has to change its state.

    ## Why is this bad?
    Every turn sees the first value: returns are not discounted sums but single rewards, a mask stays open. Shapes fit,
    and nothing is raised.

    ## Example
        def body(total, reward):
            following = reward + 0.9 * total
            return total, following

    ## Use instead
        def body(total, reward):
            following = reward + 0.9 * total
            return following, following

    ## When it cannot tell
    A part that starts as anything but 0, 1 or infinity may be a constant that the loop only hands through.
    """

    summary = "A part of a loop's state starts as zeros, is calculated with, and never changes."
    needs = (Ranges,)

    valid = (
        Example(
            "def root(x, tolerance):\n    def body(state):\n        x, limit, change = state\n"
            "        step = (x * x - 2) / (2 * x)\n        return x - step, limit, jnp.abs(step)\n\n"
            "    return jax.lax.while_loop(lambda s: s[2] > s[1], body, (x, 1e-6, jnp.inf))[0]\n",
            "a limit that is carried",
        ),
        Example(_PROGRAM.format(handed_on="following", mark=""), "renewed"),
        Example(
            "import jax\n\ndef run(w, xs):\n    return jax.lax.scan(lambda w, x: (w, w @ x), w, xs)[1]\n",
            "parameters that are handed through",
        ),
        Example(
            """
            def survival(hazards):
                def body(alive, hazard):
                    alive = alive * (1.0 - hazard)
                    return alive, alive

                return jax.lax.scan(body, jnp.ones(6), hazards)[1]

            def returns(rewards, discounts):
                def body(total, step):
                    total = total * step[1] + step[0]
                    return total, total

                return jax.lax.scan(body, jnp.zeros(6), (rewards, discounts), reverse=True)[1]
            """,
            "a product from one, a sum from zero",
        ),
        Example(
            """
            def impulse(forces):
                def body(state, force):
                    weights, total = state
                    return (weights, total + weights * force), total

                return jax.lax.scan(body, (jnp.full(4, 2.5), jnp.zeros(4)), forces)[0][1]
            """,
            "weights that are carried beside what is summed",
        ),
        Example(
            """
            def clipped(xs):
                def visit(carry, x):
                    floor, offset, scale, total = carry
                    total = total + scale * jnp.maximum(floor, x) + offset
                    return (floor, offset, scale, total), None

                return jax.lax.scan(visit, (jnp.full(3, 0.1), 0.0, 1.0, jnp.zeros(3)), xs)[0][3]
            """,
            "settings that are carried",
        ),
    )
    invalid = (
        Example(
            "import jax\n\ndef simulate(state, rate):\n    def step(state, _):\n"
            "        x, v = state\n        newer = x + 0.1 * v, v - 0.1 * rate * x\n        return state, newer\n\n"
            "    return jax.lax.scan(step, state, None, length=20)  #!\n",
            "the newer state is only recorded",
        ),
        Example(
            "def root(x, tolerance):\n    def body(state):\n        x, i, change = state\n"
            "        step = (x * x - 2) / (2 * x)\n        return x - step, i, jnp.abs(step)  #!\n\n"
            "    def goes_on(state):\n        _, i, change = state\n"
            "        return (i < 50) & (change > tolerance)\n\n"
            "    return jax.lax.while_loop(goes_on, body, (x, 0, jnp.inf))[0]\n",
            "a limit on turns that are not counted",
        ),
        Example(_PROGRAM.format(handed_on="total", mark="  #!"), "handed on as it came in"),
        Example(
            """
            def softmax_sums(blocks):
                def visit(carry, block):
                    top, total = carry
                    higher = jnp.maximum(top, block.max(axis=-1))
                    total = total * jnp.exp(top - higher) + jnp.exp(block - higher[:, None]).sum(axis=-1)
                    return (top, total), None

                start = jnp.full(4, -1e9), jnp.zeros(4)
                (top, total), _ = jax.lax.scan(visit, start, blocks)  #!
                return top + jnp.log(total)
            """,
            "a running maximum that stays where it starts",
        ),
        Example(
            """
            def mean(xs):
                def visit(carry, x):
                    average, count = carry
                    return (average + (x - average) / (count + 1), count), None

                return jax.lax.scan(visit, (jnp.zeros(3), 0), xs)[0][0]  #!
            """,
            "a count that is not counted",
        ),
        Example(
            "import jax, jax.numpy as jnp\n\ndef run(xs):\n    def body(state):\n        seen, total = state\n"
            "        return seen, total + xs.sum() - seen\n"
            "    return jax.lax.while_loop(lambda s: (s[0] < 3).all(), body, (jnp.zeros(4), 0.0))  #!\n",
            "an array that the condition waits for",
        ),
        Example(
            """
            def survival(hazards):
                def body(alive, hazard):
                    alive = alive * (1.0 - hazard)
                    return alive, alive

                return jax.lax.scan(body, jnp.zeros(6), hazards)[1]  #!
            """,
            "a product that starts as zero",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every part of every loop's state, which is a constant where one of several calls makes it one."""
        told: dict[tuple[Span, int], list[Obligation]] = defaultdict(list)
        for op in program.named("scan", "fori", "while"):
            loop = None if op.is_derived or op.library else Loop.of(op)
            for at, one in _judged(loop, facts) if loop is not None else ():
                told[op.span, at].append(one)
        for (span, _), ones in told.items():
            wrong = [one.verdict is Verdict.VIOLATED for one in ones]
            yield from (one for one, is_wrong in zip(ones, wrong, strict=True) if all(wrong) or not is_wrong)
            if any(wrong) and not all(wrong):
                yield unknown(span, "what stays as it starts in one call is a setting, or changes, in another")


def _judged(loop: Loop, facts: Facts) -> Iterator[tuple[int, Obligation]]:
    if loop.op.name == "scan" and not loop.elements and (still := _still(loop, facts.flow)):
        if not any(_kept(loop, one, facts.flow) for one in loop.carried):
            yield -1, _same_turns(loop, still, facts.flow)
            return
    for one in loop.carried:
        if one.position < len(loop.body.results):
            yield one.position, _of_part(loop, one, facts)


def _of_part(loop: Loop, one: Carried, facts: Facts) -> Obligation:
    """Judge a part of the state."""
    name = f"`{one.param.name}`" if one.param.name else "a part of the state"
    result, flow = loop.body.results[one.position], facts.flow
    factor = _multiplied(one, result, flow)
    if (factor is not None or result is one.param) and _kept(loop, one, flow):
        return unknown(loop.op.span, f"a condition of Python's, which has one answer here, leaves {name} as it is")
    if factor is not None:
        return _product(loop, one, name, factor, facts)
    if result is not one.param:
        return proved(loop.op.span, f"each turn gives {name} anew")
    if not (readers := _calculating(loop, one, flow)):
        return proved(loop.op.span, f"{name} is handed through, and nothing is calculated with it")
    if (start := _equal_numbers(one, readers, facts)) is not None:
        return _finding(loop, one, name, start, readers[0], flow)
    if (question := _asked_again(loop, one, flow)) is not None:
        return _idle(loop, one, name, question, flow)
    return unknown(loop.op.span, f"no turn changes {name}, which may be a constant that is handed through")


def _kept(loop: Loop, one: Carried, flow: Flow) -> bool:
    """Whether a turn leaves out what may change a part of the state, for an answer that Python knows in this call."""
    names = names_inside(one.param, flow)
    return any(op.name == "py.kept" and not names.isdisjoint(op.values or ()) for op in loop.body.walk())


def _still(loop: Loop, flow: Flow) -> list[Value]:
    """Return the state of a loop, where nothing of it changes and all that a turn gives is computed from it."""
    params = [one.param for one in loop.carried]
    given = [value for value, _ in loop.stacked]
    changes = any(after is not before for before, after in loop.successors)
    computes = not changes and given and all(value not in params and depends(flow, value, params) for value in given)
    return params if computes and len(loop.successors) == len(params) else []


def _same_turns(loop: Loop, still: Sequence[Value], flow: Flow) -> Obligation:
    place = handed_on(loop, still[0], flow)
    return Obligation(
        loop.op.span,
        message="every turn of this `scan` computes the same: it goes through nothing, and its state never changes",
        current="what a turn gives is computed from the state, and each turn starts from the first one",
        expected="a turn hands on what it makes of the state",
        steps=() if place == loop.op.span else (Step(place, "the state goes into the next turn as it came in"),),
        suggestion="return the newer state first, and what is to be stacked second",
        cause=(still[0],),
    )


def _asked_again(loop: Loop, one: Carried, flow: Flow) -> Op | None:
    """Return the comparison of a part of the state that every turn leaves alone with what none changes either."""
    made = flow.maker(one.start)
    if loop.op.name != "while" or made is None or made.name != "py.const":
        return None
    tested = list(loop.carried_in(loop.op.regions[0]))
    params = [each.param for each in tested if each.position == one.position]
    results, body = loop.body.results, {each.position: each.param for each in loop.carried}
    changing = [each.param for each in tested if results[each.position] is not body[each.position]]
    asked = (op for param in params for op in flow.readers.get(param, ()) if op.function in COMPARISONS)
    return next((op for op in asked if op.results and not depends(flow, op.results[0], changing)), None)


def _idle(loop: Loop, one: Carried, name: str, question: Op, flow: Flow) -> Obligation:
    return Obligation(
        handed_on(loop, one.param, flow),
        message=f"no turn of the loop changes {name}, on which the loop is to end",
        current=f"{name} stays what it starts as, and nothing it is compared with changes",
        expected=f"each turn moves {name} on",
        steps=(Step(question.span, "this comparison comes out the same after every turn"),),
        suggestion=f"hand on the next {name}, such as `{one.param.name or 'i'} + 1`",
        cause=(one.param,),
    )


def _multiplied(one: Carried, end: Value, flow: Flow) -> Op | None:
    """Return what multiplies a part of the state, where all that a turn gives for it is multiples of it."""
    products = () if end is one.param else Sums.of(flow, {}).products(end)
    if not products or not all(one.param in part.factors and len(part.factors) > 1 for part in products):
        return None
    return next((op for op in flow.readers.get(one.param, ()) if op.name == "array.map"), None)


def _product(loop: Loop, one: Carried, name: str, factor: Op, facts: Facts) -> Obligation:
    start = facts.get(Ranges).of(one.start)
    if start.low > 0 or start.high < 0 or start.nonzero:
        return proved(loop.op.span, f"{name} is only multiplied, and starts as something else than 0")
    if not start.low == start.high == 0:
        return unknown(loop.op.span, f"{name} is only multiplied; whether it starts as 0 is not known")
    return Obligation(
        loop.op.span,
        message=f"{name} starts as 0 and is only multiplied, so that it stays 0",
        current="every turn multiplies 0 with something, and gives 0",
        expected=f"{name} starts as 1, or something is added to it",
        steps=(Step(factor.span, f"{name} is multiplied here"),),
        suggestion=f"start {name} as ones",
        cause=(one.param,),
    )


def _equal_numbers(one: Carried, readers: Sequence[Op], facts: Facts) -> str | None:
    """Return the number that a part of the state starts with everywhere; None for what may be constant on purpose.

    Only what changes nothing where it is added, multiplied or compared is there to be replaced: any other is a setting.
    So may 0 and 1 be where they are single numbers, and no count.
    """
    made, known = facts.flow.maker(one.start), facts.get(Ranges).of(one.start)
    if made is None or known.low != known.high:
        return None
    if made.name == "array.create":
        idle = known.low in _NEUTRAL or any(_is_idle(op, known.low) for op in readers)
    else:
        idle = any(_is_idle(op, known.low) and (op.function != "add" or _counts(op)) for op in readers)
    return number_text(known.low) if idle else None


def _is_idle(op: Op, number: float) -> bool:
    """Whether an op that takes a number for one of two gives the other one."""
    if op.function in _LARGEST:
        return number <= DEEP
    return number >= -DEEP if op.function in SMALLER else op.function == "add" and number == 0


def _counts(op: Op) -> bool:
    """Whether an op adds a whole number that is written down."""
    return any(is_integer(given) for given in op.arguments.values())


def _calculating(loop: Loop, one: Carried, flow: Flow) -> list[Op]:
    """Return the ops of the loop that read a part of its state for more than handing it on."""
    regions = loop.op.regions
    params = [each.param for region in regions for each in loop.carried_in(region) if each.position == one.position]
    readers = (op for param in params for op in flow.readers.get(param, ()))
    return [op for op in readers if op.name.startswith("array.") and op.name not in NOTES]


def _finding(loop: Loop, one: Carried, name: str, start: str, reader: Op, flow: Flow) -> Obligation:
    place = handed_on(loop, one.param, flow)
    steps = (Step(reader.span, f"{name} is calculated with here"),)
    if place != loop.op.span:
        steps = (*steps, Step(place, "it goes into the next turn as it came in"))
    return Obligation(
        loop.op.span,
        message=f"{name} starts as {start} everywhere, and no turn of the loop changes it",
        current=f"every turn calculates with {start}",
        expected=f"each turn hands on a new value of {name}",
        steps=steps,
        suggestion=f"hand on what the turn computes for {name}, or leave it out of the state",
        cause=(one.param,),
    )
