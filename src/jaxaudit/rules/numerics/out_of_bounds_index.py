"""The rule `out-of-bounds-index`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.extents import size_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact, outline_of, shown
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Argument, Op, Program
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Rule, proved
from jaxaudit.rules.numerics._shared.index_extents import judge_choices, judge_extents, judge_places, judge_starts
from jaxaudit.rules.numerics._shared.index_ranges import judge_ranges
from jaxaudit.rules.numerics._shared.index_sentinels import judge_sentinels
from jaxaudit.rules.numerics._shared.padding import padded_reads

_READS = ("py.item", "array.at", "array.scatter", "array.gather")


class OutOfBoundsIndex(Rule):
    """An index lies beyond the end of an array.

    ## What it does
    Compares indices that are numbers with the size of the axis they index: constants, and sizes such as
    `x.shape[0]` with something added. Index arrays, what is drawn and what counts a loop are compared by how far
    they reach: `arange(n) + 1` and `randint(key, (), 1, n + 1)` go one too far, `argmax`, `clip` and `%` stay
    inside. Positions along one axis of an array, or numbers below a named size, have to select along that axis, and
    the last of the slices that start at an index has to end within the array. A `switch` has to have a branch for
    each index, a segment sum a segment, a position that a loop moves on a place in every turn. Numbers that stand for
    nothing (`where(valid, i, -1)`, `full(shape, PAD)` before it is filled) need an element of their own or a mask:
    beyond the end the last one is read, and -1 is the last one. What `nonzero(mask, size=n)` has not found is index 0.

    ## Why is this bad?
    JAX raises nothing for it. Reading gives the last element instead, and an update is silently dropped.

    ## Example
        last = x[x.shape[0]]

    ## Use instead
        last = x[x.shape[0] - 1]

    ## When it cannot tell
    When the size of the axis is not known, or the range of the index. What a mask may leave out afterwards is left
    alone.
    """

    summary = "An index lies beyond the end of an axis; JAX silently takes the last element or drops the update."
    needs = (Ranges, Shapes)

    valid = """
    ## within the array
    def f(x):
        rows = x.shape[0]
        y = jnp.zeros((rows, 3))
        return y[rows - 1], y[-1, 2], y[:, :5]

    ## padding is masked
    def average(features, neighbours):
        present = neighbours >= 0
        gathered = jnp.where(present[:, :, None], features[neighbours], 0.0)
        return gathered.sum(axis=1) / present.sum(axis=1, keepdims=True)

    ## masked, clipped, wrapped, or stopped in time
    def steps(table, scores):
        x = jnp.zeros((8,))
        i = jnp.arange(8)
        following = jnp.where(i < 7, x[i + 1], 0.0)
        inside = x[jnp.minimum(i + 1, 7)] + x[jnp.argmax(x)] + x[(i + 3) % 8]
        return following, inside, jax.lax.fori_loop(0, 7, lambda k, total: total + x[k + 1], 0.0)

    ## as far as the axis goes
    def choose(x, codes, distances, key):
        rows, columns = x.shape
        drawn = x[jax.random.randint(key, (3,), 0, rows)] + x[:, jnp.arange(columns)][:3]
        diagonal = x[jnp.arange(rows), jnp.arange(rows)]
        best = jnp.take_along_axis(x, jnp.argmax(x, axis=1, keepdims=True), axis=1)
        return drawn, diagonal, best, codes[jnp.argmin(distances, axis=-1)]

    ## a slice within
    def window(x, key, length):
        start = jax.random.randint(key, (), 0, x.shape[0] - length + 1)
        return jax.lax.dynamic_slice_in_dim(x, start, length)

    ## a place for each
    def ring(xs):
        def write(carry, x):
            buffer, at = carry
            return (buffer.at[at % 32].set(x), at + 1), None
        return jax.lax.scan(write, (jnp.zeros(32), 0), jnp.ones(100))[0]

    def frames(x):
        signal = jnp.zeros(1216)
        cut = jax.vmap(lambda start: jax.lax.dynamic_slice(signal, (start,), (256,)))(64 * jnp.arange(16))
        return cut, jax.lax.map(lambda i: jax.lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), jnp.arange(3))

    def first_of_them():
        places = jnp.arange(20)
        return jnp.zeros(8)[places[:4]]

    ## looked up among edges, and what stands for nothing
    def corrected(x, y, edges):
        place = jnp.clip(jnp.digitize(x, edges) - 1, 0, edges.shape[0] - 2)
        counts = jnp.zeros(edges.shape[0] + 1).at[jnp.digitize(x, edges)].add(1.0)
        return jnp.zeros(edges.shape[0] - 1).at[place].add(y), counts

    def compact(mask, x):
        place = jnp.where(mask, jnp.cumsum(mask) - 1, x.shape[0])
        return jnp.zeros_like(x).at[place].set(x, mode="drop")

    def nearest(distances, radius, values):
        found = jnp.where(distances.min(axis=1) < radius, jnp.argmin(distances, axis=1), -1)
        return jnp.where((found >= 0)[:, None], values[found], 0.0).sum(axis=0)

    ## each index selects along the axis that it counts
    MEMBERS, ROWS = 5, 5

    def sample(key, w, x):
        who = jax.random.randint(key, (ROWS,), 0, MEMBERS)
        scores = jax.vmap(lambda wi: x @ wi)(w)
        return scores[who, jnp.arange(ROWS)], scores.T[jnp.arange(ROWS), jnp.argmax(scores, axis=0)]

    sample(jax.random.key(0), jnp.ones((MEMBERS, 3)), jnp.ones((ROWS, 3)))
    """
    invalid = """
    ## rows of a table that stay -1
    import numpy as np

    def pooled(x, lists):
        table = np.full((8, 4), -1)
        for row, found in enumerate(lists):
            table[row, : len(found)] = found
        return x[jnp.asarray(table)].sum(axis=1)  #!

    ## beyond the end
    def f(x):
        y = jnp.zeros((5, 3))
        return y[5], y[0, -4]  #!

    ## one too far
    def f(x):
        rows, columns = x.shape
        return x.at[rows].set(0.0)  #!

    ## looked up among edges
    def table(x, y, n):
        edges = jnp.linspace(0.0, 1.0, n + 1)
        place = jnp.digitize(x, edges)  #!
        return jnp.zeros((n,)).at[place].add(y)

    def average(x, y, edges):
        place = jnp.searchsorted(edges, x, side="right")
        return jax.ops.segment_sum(y, place, num_segments=edges.shape[0] - 1)  #!

    ## rounded places, and frames up to the number of frames
    def levels(x):
        place = jnp.floor(jnp.clip(x, -1.0, 1.0) * 8 + 8).astype(jnp.int32)
        counts = jnp.zeros(16).at[place].add(1.0)  #!
        return counts, jnp.ones(16)[place]  #?

    def frames(video, k):
        return video[jnp.linspace(0, video.shape[0], k).astype(jnp.int32)]  #!

    ## what stands for nothing has no row, or that of another
    VOCABULARY = 50

    def embedded(table, tokens):
        start = jnp.full((tokens.shape[0], 1), VOCABULARY)
        return table[jnp.concatenate([start, tokens[:, :-1]], axis=1)]  #!

    embedded(jnp.zeros((VOCABULARY, 8)), jnp.zeros((4, 7), jnp.int32))

    def keep(scores, values):
        found = jnp.where(scores.max(axis=1) > 0.5, jnp.argmax(scores, axis=1), -1)
        return jnp.zeros(scores.shape[1]).at[found].add(values)  #!

    ## its own size
    def last(x):
        return x[x.shape[0]]  #!

    ## padding is averaged in
    def average(features, neighbours):
        degree = jnp.sum(neighbours >= 0, axis=1, keepdims=True)
        gathered = features[neighbours]  #!
        return gathered.sum(axis=1) / degree

    ## counted one too far
    def differences():
        x = jnp.ones((8,))
        i = jnp.arange(8)
        return x[i + 1] - x[i]  #!

    def total():
        x = jnp.ones((8,))
        return jax.lax.fori_loop(0, 8, lambda k, sum: sum + x[k + 1], 0.0)  #!

    ## read beyond the end, and then a part of every row
    def scores():
        table = jnp.ones((5, 24, 3))
        rows = table[jnp.arange(24), jnp.arange(24)]  #!
        return rows[:, 0] + rows[:, 1]

    ## positions along another axis
    MEMBERS, ROWS = 5, 5

    def sample(key, w, x):
        who = jax.random.randint(key, (ROWS,), 0, MEMBERS)
        scores = jax.vmap(lambda wi: x @ wi, out_axes=1)(w)
        return scores[who, jnp.arange(ROWS)]  #!

    sample(jax.random.key(0), jnp.ones((MEMBERS, 3)), jnp.ones((ROWS, 3)))

    ## one too far, of any size
    def choose(table, key):
        return table[jax.random.randint(key, (), 1, table.shape[0] + 1)]  #!

    def neighbours(x):
        return jax.vmap(lambda i: x[i + 1] - x[i])(jnp.arange(x.shape[0]))  #!

    ## positions along another axis
    def best(scores):
        rows, actions = scores.shape
        first = scores[jnp.argmax(scores, axis=-1)]  #!
        second = jnp.take_along_axis(scores, jnp.argsort(scores, axis=1), axis=0)  #!
        return first, second, scores[jnp.arange(actions)]  #?

    ## a class too few
    def encoded(scores):
        rows, actions = scores.shape
        return jax.nn.one_hot(jnp.argmax(scores, axis=-1), actions - 1)  #!

    ## drawn or picked
    def act(key, values):
        best = jnp.argmax(values, axis=-1)
        more = jax.random.randint(key, best.shape, 0, values.shape[-1] + 1)  #!
        less = jax.random.randint(key, best.shape, 0, values.shape[-1] - 1)  #?
        return jnp.where(values[0] > 0, more, best), jnp.where(values[0] > 0, best, less)

    ## a slice whose start is moved back
    def window(x, key, length):
        start = jax.random.randint(key, (), 0, x.shape[0])
        last = jax.lax.dynamic_slice(jnp.ones((20, 6)), (18, 0), (5, 6))  #!
        return jax.lax.dynamic_slice_in_dim(x, start, 4), last  #!

    ## a position that a loop moves on
    def record(buffer, at, x):
        return buffer.at[at].set(x), at + 1  #!

    def run():
        return jax.lax.scan(lambda carry, x: (record(*carry, x), None), (jnp.zeros(32), jnp.int32(0)), jnp.ones(100))[0]

    def fill():
        out, at = jnp.zeros(8), 0
        for _ in range(5):
            out = jax.lax.dynamic_update_slice(out, jnp.ones(2), (at,))  #!
            at = at + 2
        return out

    ## frames, branches, segments, keys
    def frames(x):
        signal = jnp.zeros(1200)
        return jax.vmap(lambda start: jax.lax.dynamic_slice(signal, (start,), (256,)))(64 * jnp.arange(19))  #!

    def stages(x):
        return jax.lax.map(lambda i: jax.lax.switch(i + 1, [jnp.sin, jnp.cos, jnp.tan], x), jnp.arange(3))  #!

    def groups():
        return jax.ops.segment_sum(jnp.ones(12), jnp.arange(12) // 3 + 1, num_segments=4)  #!

    def weights(key):
        keys = jax.random.split(key, 4)
        return [jax.random.normal(keys[i + 1], (3,)) for i in range(4)]  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every index that is a number."""
        shapes = facts.get(Shapes)
        # A list that grows or shrinks somewhere has not always the length that was asked for.
        lists = {value for op in program.named("py.append") for value in op.operands[:1]}
        for op in program.named(*_READS):
            if op.arguments.get("base") not in lists:
                yield from (one for context in shapes.contexts(op) for one in _judge(op, context))
                yield from judge_ranges(op, facts)
                yield from judge_extents(op, facts)
                yield from judge_starts(op, facts)
                yield from judge_sentinels(op, facts)
        for op in program.named("array.expand", "array.reduce", "cond"):
            placed = op.has("num_classes", "segment_ids", "length") or op.name == "cond"
            yield from judge_places(op, facts) if placed else ()
        for op in program.named("array.select"):
            yield from judge_choices(op, facts)
        yield from padded_reads(program, facts.flow, facts.get(Ranges))


def _judge(op: Op, context: Context) -> Iterator[Obligation]:
    base, index = context.of(op.arguments.get("base")), op.arguments.get("index")
    for size, number in _pairs(base, index, context):
        # An empty array stands in until there is data: code that indexes it asks first, or meets a larger one.
        fit = Fit.OPEN if size.constant == 0 else _within(number, size)
        if fit is Fit.CLASHES:
            yield _beyond(op, number, size)
        elif fit is Fit.FITS:
            yield proved(op.span, f"index {shown(number)} lies within an axis of size {shown(size)}")


def _pairs(base: ShapeFact, index: Argument, context: Context) -> Iterator[tuple[Dim, Dim]]:
    """Pair the axes of an array with the numbers that index them, as far as it is known which those are."""
    if (base.dims is None and outline_of(base) is None) or base.number is not None:
        return
    axis = 0
    parts = [part for part in index_parts(index) if part is not None]
    for part in parts:
        if part == "...":
            # Behind it, axes are counted from the end.
            axis += 1 - len(parts)
            continue
        whole = isinstance(part, Mapping)
        fact = context.of(part)
        beyond = base.dims is not None and axis >= len(base.dims)
        if beyond or not (whole or fact.dims == ()):
            return
        if not whole and fact.number is not None:
            size = size_of(base, axis)
            if size is not None:
                yield size, fact.number
        axis += 1


def _within(number: Dim, size: Dim) -> Fit:
    over = (number - size).constant
    if over is not None and over >= 0:
        return Fit.CLASHES
    if number.constant is not None and number.constant < 0:
        under = (size + number).constant
        return Fit.OPEN if under is None else Fit.FITS if under >= 0 else Fit.CLASHES
    return Fit.FITS if over is not None else Fit.OPEN


def _beyond(op: Op, number: Dim, size: Dim) -> Obligation:
    update = op.name != "py.item"
    return Obligation(
        op.span,
        message=f"index {shown(number)} lies outside an axis of size {shown(size)}",
        current="JAX silently drops this update" if update else "JAX raises nothing and gives the element at the end",
        expected=f"an index from 0 to {shown(size)} - 1" if size.constant is None else f"an index below {shown(size)}",
        suggestion="the last element has index -1",
        cause=op.results,
    )
