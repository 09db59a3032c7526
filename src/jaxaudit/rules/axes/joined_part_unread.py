"""The rule `joined-part-unread`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown

_NO_READERS = ("py.return", "py.store_attr")
"""Ops that hand a value on without looking at it: whoever reads it later is seen by itself."""

_PROGRAM = """
    def table(count, width):
        angles = jnp.arange(count)[:, None] / 10.0 ** jnp.arange(width)
        return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis={axis}){mark}

    def embed(x):
        return x + table(64, 8)[: x.shape[1]].sum(axis=-1)

    y = embed(jnp.ones((4, 24)))
"""


class JoinedPartUnread(Rule):
    """Arrays are put one after the other, and what is read of them ends before the second begins.

    ## What it does
    Looks at arrays that `concatenate` makes and that are only ever read by a slice along the same axis. The slice has
    to reach into every part that was computed.

    ## Why is this bad?
    Sines and cosines that are joined along the positions, and not along the features, make a table of twice as many
    positions. Whoever reads the first ones gets sines alone, and nothing is raised.

    ## Example
        table = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=0)  # (2 * positions, features)
        x + table[:length]

    ## Use instead
        table = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        x + table[:length]

    ## When it cannot tell
    When a size is not known. Parts that are constant only fill up what may be too short.
    """

    summary = "What is read of joined arrays ends before one of them begins."
    needs = (Shapes,)

    valid = f"""
    ## along the features
    {_PROGRAM.format(axis=-1, mark="").strip()}

    ## filled up with zeros, or with itself
    def first(x, y):
        filled = jnp.concatenate([x, jnp.zeros((16, 3))])
        again = jnp.concatenate([y, y])
        return filled[:8], again[:4]

    z = first(jnp.ones((16, 3)), jnp.arange(8) * 2)

    ## into the second
    def window(x, y):
        return jnp.concatenate([jnp.sin(x), jnp.cos(y)])[:9]

    z = window(jnp.ones(8), jnp.ones(8))
    """
    invalid = f"""
    ## along the positions
    {_PROGRAM.format(axis=0, mark="  #!").strip()}
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every concatenation that is only read by slices along its axis."""
        for op in program.named("array.join", "array.numpy"):
            if op.function == "concatenate" and (slices := _slices(op, facts)):
                yield _judge(op, slices, facts)


def _slices(op: Op, facts: Facts) -> Sequence[Op]:
    """Return the slices that read an array, wherever it is handed on; none where anything else reads it."""
    flow, by_global = facts.flow, facts.memo(_globals)

    def further(value: Value) -> Iterator[Value]:
        yield from ahead(flow, value, _hands_on)
        yield from by_global.get(value, ())

    names = list(walk(op.results, further))
    kept = {value for root in facts.program.roots for value in root.region.results}
    readers = [one for name in names for one in flow.readers.get(name, ()) if one.name not in _NO_READERS]
    plain = [one for one in readers if not one.regions and not _hands_on(one)]
    if any(one.name != "py.item" or one.base not in names for one in plain) or any(name in kept for name in names):
        return ()
    return plain


def _globals(facts: Facts) -> Mapping[Value, Sequence[Value]]:
    """Return the names under which functions read what a module has made."""
    found: dict[Value, list[Value]] = {}
    for op in facts.program.named("py.global"):
        if isinstance(op.constant, Value):
            found.setdefault(op.constant, []).extend(op.results)
    return found


def _hands_on(op: Op) -> bool:
    """Whether an op gives the same array again, perhaps as one of JAX."""
    return op.name in ("array.convert", "device.place") or op.function in ARRAYS_OF_ITEMS


def _judge(op: Op, slices: Sequence[Op], facts: Facts) -> Obligation:
    shapes, parts = facts.get(Shapes), op.argument("arrays", "tup", "operands")
    ends, starts = {_end(one, op, shapes) for one in slices}, _starts(op, parts, shapes)
    if None in ends or starts is None or not isinstance(parts, tuple):
        return unknown(op.span, "how far the joined arrays are read is not known")
    reached = max(end for end in ends if end is not None)
    for part, start in zip(parts, starts, strict=True):
        if isinstance(part, Value) and start >= reached and part is not parts[0] and _is_computed(part, facts):
            return _finding(op, slices[0], start, reached)
    return proved(op.span, "what is read reaches into every part, or only leaves out what fills up")


def _starts(op: Op, parts: object, shapes: Shapes) -> list[int] | None:
    """Return where each part begins."""
    axis, starts = op.arguments.get("axis", 0), [0]
    for part in parts if isinstance(parts, tuple) else ():
        sizes = {_size(context.of(part).dims, axis) for context in shapes.contexts(op)}
        size = sizes.pop() if len(sizes) == 1 else None
        if size is None:
            return None
        starts.append(starts[-1] + size)
    return starts[:-1]


def _size(dims: Sequence[object] | None, axis: object) -> int | None:
    place = place_of(axis, len(dims)) if dims is not None and isinstance(axis, int) else None
    return None if dims is None or place is None else getattr(dims[place], "constant", None)


def _end(item: Op, op: Op, shapes: Shapes) -> int | None:
    """Return where the largest slice ends along the axis of the join, if it begins at the front."""
    axis, rank = op.arguments.get("axis", 0), shapes.of(op.result).rank
    place = place_of(axis, rank) if isinstance(axis, int) else None
    parts = index_parts(item.arguments.get("index"))
    # New axes stand in front of the one that is sliced, and are not taken from the array.
    places = [at for at, part in enumerate(parts) if part is not None]
    at = places[place] if place is not None and place < len(places) else None
    part = None if at is None else parts[at]
    if not isinstance(part, dict) or any(one is not None and not isinstance(one, dict) for one in parts):
        return None
    if part.get("start") not in (None, 0) or part.get("step") not in (None, 1):
        return None
    sizes = [_size(context.of(item.result).dims, at) for context in shapes.contexts(item)]
    known = [size for size in sizes if size is not None]
    return max(known) if known and len(known) == len(sizes) else None


def _is_computed(part: Value, facts: Facts) -> bool:
    """Whether a part is no constant, which would only fill up."""
    made = facts.flow.maker(part)
    return made is not None and bool(made.operands) and made.name not in ("array.create", "array.expand", "py.item")


def _finding(op: Op, item: Op, start: int, reached: int) -> Obligation:
    return Obligation(
        op.span,
        message=f"a part that begins at {start} is never read: all that reads the joined array ends at {reached}",
        current="the slice takes the front part alone, and what was computed for the other is lost",
        expected="what is read reaches into every part, or the arrays are joined along another axis",
        steps=(Step(item.span, f"this ends at {reached}"),),
        suggestion="join along the other axis: `axis=-1`",
    )
