"""The rule `order-not-restored`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.axes.directions import Meeting, meeting, undone
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, left, nothing, readers, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import REST, Argument, Op, Program, Value
from jaxaudit.ir.interfaces import Recurrence, Turn
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown

_ELEMENTWISE = (KEEPING - {"array.permute", "array.reshape"}) | ELEMENTWISE

_RETURNS = """
def returns(rewards, values):
    def step(total, reward):
        total = reward + 0.99 * total
        return total, total

    _, out = jax.lax.scan(step, 0.0, rewards[::-1])
    return {out} - 0.1 * rewards{mark}
"""

_GAINS = """
def solve(costs, end):
    def back(value, cost):
        gain = value / (1.0 + value)
        return cost + value * (1.0 - gain), gain

    _, gains = jax.lax.scan(back, end, costs, reverse=True)
    return {out}{mark}


def simulate(x, gains):
    return jax.lax.scan(lambda x, gain: (x - gain * x, x), x, gains)[1]


simulate(1.0, solve(jnp.ones(9), 5.0))
"""


class OrderNotRestored(Rule):
    """What a scan over turned arrays gives meets arrays in their own order.

    ## What it does
    Lists the scans and cumulative functions that get all of their elements back to front (`xs[::-1]`, `jnp.flip(xs)`).
    What they give is back to front too. It must be turned again before it meets, element by element, what was not
    turned. With `reverse=True` it is the other way round: what is given is in the order of the elements, and must not
    be turned. An axis that is turned and turned back has to be the one that something goes through in between.

    ## Why is this bad?
    The last step is weighed with the return of the first. Shapes fit and nothing is raised.

    ## Example
        _, out = jax.lax.scan(step, 0.0, rewards[::-1])
        loss = (log_probs * out).mean()

    ## Use instead
        _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)

    ## When it cannot tell
    Where it cannot be seen what meets the result, it is left open; where `reverse=True` is given and the result is
    turned all the same, that is a warning.
    """

    summary = "The results of a scan over turned arrays are not turned back."
    needs = (Shapes,)

    valid = (
        Example(_RETURNS.format(out="out[::-1]", mark=""), "turned back"),
        Example(_RETURNS.format(out="out.sum()", mark=""), "a sum has no order"),
        Example(
            "def to_go(x):\n    turned = jnp.flip(x, axis=(-1,)).cumsum(axis=-1)\n"
            "    return jnp.flip(turned, axis=1)\n\nto_go(jnp.ones((3, 4)))\n",
            "an axis that is counted from the back",
        ),
        Example(_RETURNS.format(out="out[-1]", mark=""), "that of the first step"),
        Example(_RETURNS.replace("rewards[::-1])", "rewards, reverse=True)").format(out="out", mark=""), "backwards"),
        Example(_GAINS.format(out="gains", mark=""), "in the order of the costs"),
        Example(
            "def to_go(rewards):\n    return jnp.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]\n\n"
            "def weighed(x, w):\n    return jnp.cumsum(x[::-1] * w, axis=1)[::-1]\n\n"
            "to_go(jnp.ones((4, 5)))\nweighed(jnp.ones((4, 5)), jnp.ones((4, 1)))\n",
            "the axis of the sum, and what meets others while it is turned",
        ),
        Example(
            "def both(cell, h, xs):\n    _, there = jax.lax.scan(cell, h, xs)\n"
            "    _, back = jax.lax.scan(cell, h, there[::-1])\n    return xs + back[::-1]\n",
            "there and back",
        ),
        Example(
            "def times(rate):\n    _, gaps = jax.lax.scan(lambda t, _: (t + rate, t), 0.0, None, 9, reverse=True)\n"
            "    return gaps[::-1]\n",
            "without elements the first turn is the last entry",
        ),
    )
    invalid = (
        Example(_RETURNS.format(out="out", mark="  #!"), "back to front"),
        Example(_RETURNS.format(out="jnp.sqrt(out + 1.0)", mark="  #!"), "computed with before"),
        Example(
            """
def both(cell, h, xs):
    _, forward = jax.lax.scan(cell, h, xs)
    _, backward = jax.lax.scan(cell, h, jnp.flip(xs, axis=0))
    return jnp.concatenate([xs, backward], axis=-1), forward  #!
""",
            "joined feature by feature",
        ),
        Example(
            "def excess(rewards):\n    total = jnp.cumsum(rewards[::-1])\n    return total - rewards  #!\n",
            "a cumulative sum",
        ),
        Example(_GAINS.format(out="gains[::-1]", mark="  #!"), "turned, though `reverse` keeps the order"),
        Example(
            "def to_go(rewards):\n    return rewards - jax.lax.cumsum(rewards, axis=1, reverse=True)[:, ::-1]  #!\n",
            "the same with a cumulative sum",
        ),
        Example(
            "def smooth(means, share):\n"
            "    def back(later, mean):\n        mean = mean + share * (later - mean)\n        return mean, mean\n\n"
            "    _, out = jax.lax.scan(back, means[-1], means[:-1], reverse=True)\n"
            "    return jnp.concatenate([out[::-1], means[-1:]])  #!\n",
            "the last one is put at the end",
        ),
        Example(
            "def to_go(rewards):\n    return jnp.cumsum(rewards[::-1], axis=1)[::-1]  #!\n\n"
            "def again(rewards):\n    turned = jnp.flip(0.5 * rewards, axis=-1)\n"
            "    return jnp.flip(jax.lax.cumsum(turned, axis=0), axis=-1)  #!\n\n"
            "to_go(jnp.ones((4, 5)))\nagain(jnp.ones((4, 5)))\n",
            "turned along another axis than the sum",
        ),
        Example(
            "def to_go(rewards):\n    return jnp.flip(jax.lax.cumsum(rewards, reverse=True), 0)  #?\n", "handed out"
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that goes through turned arrays, or backwards, and gives arrays in their order."""
        met = {turn: found for turn in _turns(program) if (found := meeting(facts, turn)) is not None}
        yield from (_finding(turn, found) for turn, found in met.items())
        yield from (_undone(turn, *found) for turn in _turns(program) if (found := undone(facts, turn)) is not None)
        for op in program.named("scan", "associative_scan", "array.scan"):
            view = Recurrence.of(op)
            if view is None:
                continue
            turns = [_turn(one, view.axis or 0, facts.flow) for one in view.elements]
            found = [one for one in turns if one is not None]
            if found and all(turns):
                yield from _judge(view, facts.flow) if met.keys().isdisjoint(found) else ()
            elif turns and not found and view.reverse:
                yield from _turned_again(view, facts.flow)


def _turns(program: Program) -> Iterator[Op]:
    """Return the ops that turn an array back to front."""
    return (op for op in program.named("array.move", "py.item", "py.call_library") if Turn.of(op) is not None)


def _judge(view: Recurrence, flow: Flow) -> Iterator[Obligation]:
    """Judge what goes through turned arrays, and meets none that are not."""
    if not view.stacked:
        return
    uses = [op for value in view.stacked for op in readers(flow, value) if op.name != "py.return" and not op.regions]
    if uses and all(_is_turn(op, view.axis or 0) for op in uses):
        yield proved(view.op.span, f"what the {_word(view.op)} gives is turned back")
    else:
        yield unknown(view.op.span, "what meets the results, which are back to front, is not known")


def _turned_again(view: Recurrence, flow: Flow) -> Iterator[Obligation]:
    """Judge what runs backwards through arrays in their own order, so that what it gives is in that order too."""
    op, axis = view.op, view.axis or 0
    turn = _again(view.stacked, axis, flow)
    if turn is None:
        if view.stacked:
            yield proved(op.span, f"what the {_word(op)} gives is in the order of its elements")
        return
    reader = _meeting(turn.results, _under_all_names(view.elements, flow), axis, flow)
    reader = reader or next(_continued(turn.results[0], view.elements, axis, flow), None)
    reader = reader or next(_going_forwards(turn.results[0], flow), None)
    yield _turned_twice(op, turn, reader)


def _meeting(given: Iterable[Value], plain: set[Value], axis: int, flow: Flow) -> Op | None:
    """Return the first op in which some arrays meet, element by element, others that are in another order."""
    onward = set(walk(given, lambda one: _onward(one, flow)))
    meetings = (reader for value in onward for reader in flow.readers.get(value, ()) if _meets(reader, axis))
    for reader in sorted(meetings, key=flow.places.order.__getitem__):
        others = [value for value in reader.operands if value not in onward]
        if any(one in plain for other in others for one in walk((other,), lambda one: _back(one, axis, flow))):
            return reader
    return None


def _again(given: Iterable[Value], axis: int, flow: Flow) -> Op | None:
    """Return the op that turns one of some arrays, perhaps after it was computed with."""
    onward = walk(given, lambda one: _onward(one, flow))
    readers = (reader for value in onward for reader in flow.readers.get(value, ()))
    return next((reader for reader in readers if _is_turn(reader, axis)), None)


def _continued(value: Value, elements: Iterable[Value], axis: int, flow: Flow) -> Iterator[Op]:
    """Return the ops that put an end of the arrays that were gone through at the same end of a value."""
    arrays = {_cut(one, flow)[0] for one in _under_all_names(elements, flow)}
    for op in readers(flow, value):
        given = op.arguments.get("arrays") if op.name == "array.join" else None
        if isinstance(given, tuple) and len(given) == 2 and op.arguments.get("axis", 0) == axis == 0:
            for end, other in (("stop", given[0]), ("start", given[1])):
                base, bounds = _cut(other, flow) if isinstance(other, Value) else (None, {})
                if base in arrays and bounds.get(end) == (1 if end == "stop" else -1):
                    yield op


def _cut(value: Value, flow: Flow) -> tuple[Value, Mapping[str, Argument]]:
    """Return the array that a value is a stretch of, and from where to where; itself where it is none."""
    op = flow.maker(value)
    parts = index_parts(op.arguments.get("index")) if op is not None and op.name == "py.item" else ()
    base = op.value("base") if op is not None else None
    if len(parts) == 1 and isinstance(parts[0], Mapping) and base is not None:
        return base, parts[0]
    return value, {}


def _going_forwards(value: Value, flow: Flow) -> Iterator[Op]:
    """Return the scans that go through an array from its beginning, and give what is not turned back either."""
    for reader in readers(flow, value):
        view = Recurrence.of(reader) if reader.name == "scan" else None
        if view is not None and view.reverse is False and _again(view.stacked, 0, flow) is None:
            entering = set(walk((value,), lambda one: ahead(flow, one, nothing)))
            yield from (reader,) if entering.intersection(view.elements) else ()


def _turn(value: Value, axis: int, flow: Flow) -> Op | None:
    """Return the op that turns an array back to front, where a value is made by one."""
    for one in walk((value,), lambda one: behind(flow, one, nothing)):
        op = flow.maker(one)
        if op is not None and _is_turn(op, axis):
            return op
    return None


def _is_turn(op: Op, axis: int) -> bool:
    turn = Turn.of(op)
    return turn is not None and turn.axis == axis


def _under_all_names(values: Iterable[Value], flow: Flow) -> set[Value]:
    return set(walk(values, lambda one: behind(flow, one, nothing)))


def _onward(value: Value, flow: Flow) -> Iterator[Value]:
    """Return what is made of a value element by element, here or where it is handed to."""
    yield from ahead(flow, value, lambda op: op.name in _ELEMENTWISE)
    yield from left(flow, value)


def _meets(op: Op, axis: int) -> bool:
    """Whether an op takes two arrays element by element."""
    joined = op.name == "array.join" and op.arguments.get("axis", 0) not in (None, axis)
    return joined or (op.name in ELEMENTWISE and len(op.operands) > 1)


def _back(value: Value, axis: int, flow: Flow) -> Iterator[Value]:
    """Return what a value is made of element by element along an axis, up to where it is turned."""
    op = flow.maker(value)
    if op is None or op.regions:
        yield from behind(flow, value, nothing)
    elif op.name in _ELEMENTWISE:
        yield from op.operands
    elif op.name == "py.item" and not _is_turn(op, axis):
        parts = list(index_parts(op.arguments.get("index")))
        base = op.value("base")
        part = parts[axis] if -len(parts) <= axis < len(parts) else REST
        yield from (base,) if (part == REST or is_whole(part)) and base is not None else ()
        yield from (one for one in (part,) if axis == 0 and isinstance(one, Value))


def _word(op: Op) -> str:
    return "sum" if op.name == "array.scan" else "scan"


def _finding(turn: Op, met: Meeting) -> Obligation:
    by = met.turned.by
    steps = [Step(turn.span, "turned here")]
    if by is not None:
        steps.append(Step(by.span, "gone through step by step here: what comes out is back to front too"))
    return Obligation(
        met.op.span,
        severity=Severity.ERROR if met.is_sure else Severity.WARNING,
        message="what a scan over turned arrays gives meets here what is in its own order",
        current=f"the first element of {named(met.turned.slot.value, 'the result')} belongs to the last step",
        expected="both are in the same order",
        steps=tuple(steps),
        suggestion="turn the result back (`out[::-1]`), or give the scan `reverse=True` and no turned arrays",
    )


def _undone(turn: Op, back: Op, across: Op) -> Obligation:
    return Obligation(
        back.span,
        message=f"this turns back an axis that `{across.function}` did not go through: the two turns undo each other",
        current=f"`{across.function}` runs along another axis, and from its beginning",
        expected=f"the axis that is turned is the one that `{across.function}` runs along",
        steps=(Step(turn.span, "turned here"), Step(across.span, "another axis is gone through here")),
        suggestion=f"turn the axis that `{across.function}` runs along, before and after",
    )


def _turned_twice(op: Op, turn: Op, reader: Op | None) -> Obligation:
    """Tell that the order of what a scan gives was right and is turned; intent is open where nothing shows the use."""
    steps = [Step(op.span, f"the {_word(op)} runs backwards, and what it gives is in the order of its elements")]
    if reader is not None:
        met = "is gone through from the beginning" if reader.regions else "meets what is in its own order"
        met = "goes on with what is in its own order" if reader.name == "array.join" else met
        steps.append(Step(reader.span, f"what was turned {met} here"))
    return Obligation(
        turn.span,
        severity=Severity.WARNING if reader is None else Severity.ERROR,
        message="what `reverse=True` gives is turned here, though it is in the order of its elements already",
        current="the first element belongs to the last step",
        expected="with `reverse=True` the results need no turning",
        steps=tuple(steps),
        suggestion="leave the turning out",
    )
