"""The rule `reshape-mixes-axes`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.pieces import Crossed, astray
from jaxaudit.analyses.regroup import apart, crossings, is_accounted_for
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.rules.axes._shared.phrases import shape_of
from jaxaudit.rules.axes._shared.reshapes import Reshape, exchanges_own_sizes, permutes, reshapes, undoes_cut
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown


class ReshapeMixesAxes(Rule):
    """A reshape swaps the sizes of two axes where a transpose was meant.

    ## What it does
    Compares the axes before and after a reshape, by the constants that gave their sizes or by symbols (`b, t =
    x.shape`). An axis is the same only if as many elements come after it as before. A part of an axis (`d // heads`)
    has to lie within it, and a multiple (`heads * d`) has to hold it. Parts of two axes, counted by
    `(h // p) * (w // p)`, become one axis by a transpose between two reshapes, and by no reshape alone. Parts that were
    brought together so come back by another transpose, and not by taking them apart in the order of the cut. Axes that
    one reshape takes apart, and the next one puts together as they were, were cut for nothing.

    ## Why is this bad?
    A reshape does not move data. `(time, batch)` reshaped to `(batch, time)` has the right shape, but each row holds
    steps of several sequences.

    ## Example
        b, t = x.shape
        x.reshape(t, b)

    ## Use instead
        x.swapaxes(0, 1)

    ## When it cannot tell
    When two axes have one name, or equal sizes that are plain numbers.
    """

    summary = "A reshape is used where a transpose was meant, and mixes two axes."
    needs = (Shapes,)

    valid = (
        Example("y = jnp.arange(6).reshape(2, -1).ravel(order='F')\n", "cut by rows, and put together by columns"),
        Example("def f(raw):\n    return raw.reshape(raw.shape[::-1]).T\n", "the order in memory is turned round"),
        Example("T, B = 16, 4\n\ny = jnp.zeros((T, B, 3)).swapaxes(0, 1).reshape(B, T * 3)\n", "transposed first"),
        Example(
            "def heads(x, n):\n    b, t, d = x.shape\n    return x.reshape(b, t, n, d // n)\n", "taken apart in place"
        ),
        Example("def f(x):\n    b, t, d = x.shape\n    return x.reshape(b * t, d)\n", "made one in order"),
        Example(
            "best, at = jax.lax.top_k(jnp.tanh(jnp.ones((4, 128 * 64))).reshape(4 * 128, 64), 4)\n"
            "y = jax.lax.top_k(best.reshape(4, 128 * 4), 4)\n",
            "rows cut into groups, as many as each row has elements",
        ),
        Example(
            "H, W, P = 32, 32, 8\n\nx = jnp.zeros((2, H, W, 3))\n"
            "y = x.reshape(2, H // P, P, W // P, P, 3).transpose(0, 1, 3, 2, 4, 5)\n"
            "z = y.reshape(2, H * W // P // P, P * P * 3)\n",
            "patches",
        ),
        Example(
            "def patches(x, p):\n    b, h, w, c = x.shape\n    rows, columns = h // p, w // p\n"
            "    x = x.reshape(b, rows, p, columns, p, c).swapaxes(2, 3)\n"
            "    y = x.reshape(b, rows * columns, p * p * c)\n    return y, y.reshape(b, rows, columns, p, p, c)\n\n\n"
            "def strips(x, p):\n    b, h, w = x.shape\n"
            "    return x.reshape(b, h * (w // p), p), x.reshape(b, h // p, p * w)\n",
            "patches by symbols, and strips of rows",
        ),
        Example(
            "R, C, S = 4, 4, 4\n\n\ndef tiles(x):\n"
            "    return x.reshape(R, S, C, S).swapaxes(1, 2).reshape(R * C, S * S)\n\n\n"
            "def laid_out(y):\n    return y.reshape(R, C, S, S).swapaxes(1, 2).reshape(R * S, C * S)\n\n\n"
            "z = laid_out(jnp.tanh(tiles(jnp.ones((R * S, C * S)))))\n",
            "tiles are laid out again",
        ),
        Example(
            "x = jnp.tanh(jnp.ones((12, 10, 5)))\ny = x.reshape(3, 4, 10, 5).reshape(3, 40, 5)\n"
            "z = x.reshape(5, 10, 12).T\nw = x.reshape(12, 2, 5, 5)\nv = w.sum(axis=1), w.reshape(12, 10, 5)\n",
            "cut in two steps, the order in memory turned round, a cut that is read",
        ),
    )
    invalid = (
        Example(
            "def merge(x):\n    b, h, t, d = x.shape\n    return x.reshape(b, t, h * d)  #!\n\n\n"
            "y = merge(jnp.ones((2, 4, 5, 8)))\n",
            "heads are merged without a transpose",
        ),
        Example(
            "H, W, P = 32, 32, 8\n\ny = jnp.zeros((2, H, W, 3)).reshape(2, H // P, W // P, P, P, 3)  #!\n",
            "patches are cut without a transpose",
        ),
        Example(
            "def patches(x, p):\n    b, h, w, c = x.shape\n"
            "    return x.reshape(b, (h // p) * (w // p), p * p * c)  #!\n\n\n"
            "x = patches(jnp.ones((2, 16, 12, 3)), 4)\n\nS, P = 16, 4\n"
            "G = S // P\ny = jnp.zeros((2, S, S, 3)).reshape(2, G * G, P * P * 3)  #!\n"
            "H, W = 24, 8\nz = jnp.zeros((H, W)).reshape((H // P) * (W // P), -1)  #!\n",
            "patches are counted, and rows are cut",
        ),
        Example(
            "R, C, S = 4, 4, 4\n\n\ndef tiles(x):\n"
            "    return x.reshape(R, S, C, S).swapaxes(1, 2).reshape(R * C, S * S)\n\n\n"
            "def laid_out(y):\n    return y.reshape(R, S, C, S).reshape(R * S, C * S)  #!\n\n\n"
            "z = laid_out(jnp.tanh(tiles(jnp.ones((R * S, C * S)))))\n",
            "tiles are laid out again without a transpose",
        ),
        Example(
            "def shuffled(x, groups):\n    b, h, w, c = x.shape\n    x = x.reshape(b, h, w, groups, c // groups)\n"
            "    return x.reshape(b, h, w, c)  #!\n\n\n"
            "def tokens(x, p):\n    b, h, w, c = x.shape\n    x = x.reshape(b, h // p, p, w // p, p, c)\n"
            "    return x.reshape(b, -1, p * p * c)  #!\n\n\n"
            "x = jnp.tanh(jnp.ones((2, 16, 16, 12)))\ny = shuffled(x, 3), tokens(x, 4)\n",
            "cut, and put together without a transpose",
        ),
        Example("y = jnp.tanh(jnp.ones((8, 100, 12))).reshape(8, 12, 100)  #!\n", "by numbers"),
        Example("T, B = 16, 4\ny = jnp.zeros((T, B, 3)).reshape(B, T, 3)  #!\n", "by names"),
        Example("def f(x):\n    b, t, d = x.shape\n    return x.reshape(t, b, d)  #!\n", "by symbols"),
        Example("def f(x):\n    return x @ x.reshape(x.shape[::-1])  #!\n", "whatever shape it has"),
        Example(
            "def f(q):\n    w = q + jnp.zeros((4, 4))\n    return w @ w.reshape(w.shape[1], w.shape[0])  #!\n",
            "nothing at all",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every reshape of axes with names or symbols."""
        shapes = facts.get(Shapes)
        moved = {op for op in program.named("array.reshape") if exchanges_own_sizes(facts.flow, op)}
        undone = {op: undoes_cut(facts, op) for op in program.named("array.reshape")}
        listed = (one for one in reshapes(facts.flow, shapes) if not one.unflattens and one.op not in moved)
        yield from (_judged(one) if undone[one.op] is False else _uncertain(one.op) for one in listed)
        told = {one.op for one in reshapes(facts.flow, shapes) if one.moved}
        yield from (_judged(one) for one in reshapes(facts.flow, shapes) if one.op in told & moved)
        exchanged = {op for op in program.named("array.reshape") if shapes.look is None and permutes(facts, op)}
        yield from (_exchanged(op) for op in (moved | exchanged) - told)
        yield from (_undone(op) for op, sure in undone.items() if sure)
        yield from _mixed_parts(program, shapes)


def _mixed_parts(program: Program, shapes: Shapes) -> Iterator[Obligation]:
    """Find the reshapes that make one axis of parts of two."""
    for op in program.named("array.reshape") if shapes.look is None else ():
        base, found, torn, left = op.base, None, None, None
        for context in shapes.contexts(op) if base is not None and not op.qualified.startswith("einops.") else ():
            old, new = context.of(base).dims, context.of(op.result).dims
            if old is not None and new is not None:
                found, torn = next(crossings(old, new), found), _not_together(op, old, new) or torn
                left = astray(old, new) or left
        yield from () if found is None else (_crossed(op, found),)
        yield from () if torn is None else (torn,)
        yield from () if left is None else (_left_astray(op, left),)


def _not_together(op: Op, old: tuple[Dim, ...], new: tuple[Dim, ...]) -> Obligation | None:
    """Tell of a new axis that is to hold parts of several old ones, as the patches of an image are."""
    found = apart(old, new)
    if found is None:
        return None
    wholes, place = found
    names = " and ".join(f"axis {at}" for at in wholes)
    return Obligation(
        op.span,
        message=f"a new axis is to hold parts of {names}, which this reshape does not bring together",
        current=f"data stays where it is: the new axis {place} runs through whole rows",
        expected="each axis is cut into its parts, and a transpose brings those together that become one",
        suggestion="reshape to the outer and the inner part of each axis, transpose, then reshape again",
    )


def _left_astray(op: Op, part: Label) -> Obligation:
    return Obligation(
        op.span,
        message="the parts of two axes stand in another order than this reshape takes them apart",
        current="outer and inner parts were brought together by a transpose, which nothing has undone here",
        expected="the parts are taken apart in the order in which they stand, and a transpose brings them back",
        steps=() if part.op is None else (Step(part.op.span, "the axes are cut here"),),
        suggestion="reshape to both outer and then both inner parts, transpose, then put each axis together",
    )


def _exchanged(op: Op) -> Obligation:
    name = "what is reshaped" if op.base is None else named(op.base, "what is reshaped")
    return Obligation(
        op.span,
        message=f"the sizes of {name} stand here in another order: a reshape mixes its axes, and transposes nothing",
        current="data stays where it is: rows are cut anew, and where all sizes are equal nothing happens at all",
        expected="a transpose exchanges the axes",
        suggestion="use `.T`, `swapaxes` or `transpose`",
    )


def _crossed(op: Op, found: Crossed) -> Obligation:
    cuts = [label.op for label in (found.outer, found.inner) if label.op is not None]
    return Obligation(
        op.span,
        severity=Severity.ERROR if found.is_restored else Severity.WARNING,
        message="the outer part of one axis is put together with the inner part of another one",
        current="rows and columns change places within each block, and nothing else: the shape is right",
        expected="both parts of an axis become one again, in the order in which they were cut",
        steps=tuple(Step(one.span, "the axes are taken apart here") for one in dict.fromkeys(cuts)),
        suggestion="bring each inner part behind the outer part of its own axis before the reshape",
    )


def _uncertain(op: Op) -> Obligation:
    return unknown(op.span, "the reshape before it may have cut what is put together here")


def _undone(op: Op) -> Obligation:
    cut = op.base.span if op.base is not None else op.span
    return Obligation(
        op.span,
        message="axes that were just taken apart are put together again as they were: nothing has moved",
        current="the two reshapes together do what one would: what was cut is whole again",
        expected="a transpose between the two reshapes brings the parts together that become one axis",
        steps=(Step(cut, "the axes are taken apart here"),),
        suggestion="transpose after the first reshape, as in `x.transpose(0, 1, 3, 2, 4, 5)`",
    )


def _judged(one: Reshape) -> Obligation:
    span = one.op.span
    if not one.moved and not is_accounted_for(one.old, one.new):
        return unknown(span, f"which axes of {shape_of(one.old)} become which of {shape_of(one.new)} is not known")
    if not one.moved:
        return proved(span, f"the axes of {shape_of(one.new)} keep their order and stride")
    if not one.fits:
        reason = f"{shape_of(one.old)} has not as many elements as {shape_of(one.new)}, so it is not the whole story"
        return unknown(span, reason)
    return Obligation(
        span,
        message=f"reshaping {shape_of(one.old)} to {shape_of(one.new)} does not move `{one.moved}`, it mixes axes",
        current=f"data stays where it is, so the new axis `{one.moved}` runs through other elements than the old one",
        expected=f"a transpose brings `{one.moved}` to its new place",
        suggestion="use `swapaxes`, `moveaxis` or `transpose`, then reshape",
    )
