"""The rule `forgetful-average`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import holders, last
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_LITTLE = 0.05
"""At most so much of itself keeps an average that is as good as a copy."""
_CLOSE = 1e-6

_TARGET = """
def blend(online, target, rate):
    return jax.tree.map(lambda o, t: rate * o + (1.0 - rate) * t, online, target)

def update(params, slow):
    slow = blend({order}, 0.005){mark}
    return params, slow
"""


@record
class Blend:
    """A weighted mean of two values, the one with the small weight first."""

    op: Op
    weight: float
    small: Value
    large: Value
    result: Value


class ForgetfulAverage(Rule):
    """A moving average keeps next to nothing of itself in each step.

    ## What it does
    Finds weighted means of two values whose weights are known and add up to one, where the result takes the place of
    one of the two: it is bound to the same variable, or a loop carries it on. The value that is replaced must be the
    one with the large weight.

    ## Why is this bad?
    A target network or a running mean moves slowly because most of it stays. With the weights the other way round it
    is a copy of what it should follow at a distance, and nothing is raised.

    ## Example
        target = jax.tree.map(lambda t, o: 0.005 * t + 0.995 * o, target, online)

    ## Use instead
        target = jax.tree.map(lambda t, o: 0.995 * t + 0.005 * o, target, online)

    ## When it cannot tell
    Weights that are not constants, and weights above 0.05, are left alone.
    """

    summary = "A moving average keeps next to nothing of itself: its weights are the wrong way round."

    valid = (
        Example(_TARGET.format(order="params, slow", mark=""), "most of it stays"),
        Example("def mix(x, y):\n    z = 0.01 * x + 0.99 * y\n    return z, x\n", "nothing is replaced"),
        Example(
            "import optax\nfrom typing import NamedTuple\n\nclass Net(NamedTuple):\n    params: dict\n\n"
            "def update(fast, slow, updates):\n    fast = Net(params=optax.apply_updates(fast.params, updates))\n"
            "    return fast, Net(params=optax.incremental_update(fast.params, slow.params, 0.05))\n",
            "one field of two objects",
        ),
    )
    invalid = (
        Example(_TARGET.format(order="slow, params", mark="  #!"), "arguments of a helper"),
        Example("def track(mean, x):\n    mean = 0.01 * mean + 0.99 * x  #!\n    return mean\n", "a running mean"),
        Example(
            "import optax\n\ndef update(params, slow):\n"
            "    slow = optax.incremental_update(slow, params, 0.01)  #!\n    return params, slow\n",
            "arguments of a library's function",
        ),
        Example(
            "import optax\n\ndef update(params, slow):\n"
            "    slow = optax.incremental_update(slow, params, 0.01)  #!\n    return params, slow\n\n"
            "params = {'w': jnp.ones(3), 'b': jnp.ones(1)}\nslow = params\n"
            "for _ in range(5):\n    params, slow = update(params, slow)\n",
            "trees whose leaves are known",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every weighted mean that takes the place of one of its parts."""
        flow = facts.flow
        for op in chain(program.mapping("add"), program.named("tree.map", "py.call_library")):
            blends = list(_blends(op, flow)) if not op.is_derived and _may_replace(op, flow) else ()
            yield from (_finding(one, flow) for one in blends if _replaced(one.small, one, flow) is not None)
            yield from (_keeps_most(one) for one in blends if _replaced(one.large, one, flow) is not None)


def _may_replace(op: Op, flow: Flow) -> bool:
    """Whether something could take the place of a part of it: it has a name, or is handed on."""
    leaves = (made for value in op.results for one in flow.readers.get(value, ()) for made in one.results)
    return any(value.name or value in flow.leaving for value in (*op.results, *leaves))


def _blends(op: Op, flow: Flow) -> Iterator[Blend]:
    if plays(op.qualified, "average"):
        rate = op.arguments.get("step_size")
        if isinstance(rate, float) and 0 < rate <= _LITTLE:
            yield from (Blend(op, rate, new, old, made) for new, old, made in _averaged(op, flow))
    elif op.name == "tree.map" and op.regions and len(op.regions[0].params) == len(op.operands):
        given = dict(zip(op.regions[0].params, op.operands, strict=True))
        for value in op.regions[0].results[:1]:
            for one in _weighted(flow.maker(value), flow):
                if one.small in given and one.large in given:
                    yield from (Blend(op, one.weight, given[one.small], given[one.large], made) for made in op.results)
    elif op.name == "array.map":
        yield from _weighted(op, flow)


def _averaged(op: Op, flow: Flow) -> Iterator[tuple[Value, Value, Value]]:
    """Return what is mixed into what and what that gives: whole trees, or leaf by leaf where they are known."""
    whole = op.results[0]
    leaves = {one.arguments.get("like"): one.result for one in flow.readers.get(whole, ()) if one.name == "tree.leaf"}
    pairs = zip(*(values_in(op.argument(name)) for name in ("new_tensors", "old_tensors")), strict=False)
    yield from ((new, old, leaves.get(old, whole)) for new, old in pairs)


def _weighted(op: Op | None, flow: Flow) -> Iterator[Blend]:
    """Take a sum apart, where it is one of two values with weights that add up to one."""
    if op is None or op.name != "array.map" or op.function != "add":
        return
    for context in contexts(flow, op):
        parts = sorted(Sums.of(flow, context).products(op.results[0]), key=lambda part: part.coefficient)
        plain = len(parts) == 2 and all(len(part.factors) == 1 and not part.masks for part in parts)
        if plain and 0 < parts[0].coefficient <= _LITTLE and abs(sum(one.coefficient for one in parts) - 1) < _CLOSE:
            yield Blend(op, parts[0].coefficient, parts[0].factors[0], parts[1].factors[0], op.results[0])
            return


@record
class _Exchange:
    """A value, what it is mixed with, what may take its place, and the op that gives the latter."""

    value: Value
    other: Value
    result: Value
    op: Op

    @property
    def is_by_name(self) -> bool:
        """Whether both are bound to one name, which tells nothing where the other one has it too, as fields may."""
        name = self.value.name
        return bool(name) and name == self.result.name != self.other.name and self.value is not self.result


def _replaced(value: Value, blend: Blend, flow: Flow) -> Op | None:
    """Return the op that puts a blend in the place of a value, in the functions that call it or the loops around it."""

    def around(one: _Exchange) -> _Exchange | None:
        region = flow.places.owner.get(one.value)
        calls = holders(flow, region) if region is not None and one.result in region.results else ()
        if one.is_by_name or region is None or len(calls) != 1:
            return None
        (op,) = calls
        at, position = region.params.index(one.value), region.results.index(one.result)
        if len(op.operands) != len(region.params) or len(op.results) != len(region.results):
            return None
        other = op.operands[region.params.index(one.other)] if one.other in region.params else one.other
        return None if op.name in LOOPS else _Exchange(op.operands[at], other, op.results[position], op)

    other = blend.large if value is blend.small else blend.small
    end = last(_Exchange(value, other, blend.result, blend.op), around)
    if end.is_by_name:
        return end.op
    loop = flow.loop_of(end.value)
    return loop.op if loop is not None and (end.value, end.result) in loop.successors else None


def _finding(blend: Blend, flow: Flow) -> Obligation:
    put = _replaced(blend.small, blend, flow) or blend.op
    place = put if put.name not in LOOPS else blend.op
    share = f"{blend.weight:g}"
    return Obligation(
        place.span,
        message=f"a moving average keeps {share} of itself in each step: it is a copy of what it should follow",
        current=f"the value that is replaced has the weight {share}, and the new one the rest",
        expected="the value that is replaced has the large weight, the new one the small weight",
        steps=(Step(blend.op.span, "the two are blended here"),),
        suggestion="exchange the two values, or the two weights",
    )


def _keeps_most(blend: Blend) -> Obligation:
    share = f"{1 - blend.weight:g}"
    return proved(blend.op.span, f"what is replaced keeps {share} of itself")
