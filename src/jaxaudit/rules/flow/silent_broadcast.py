"""The rule `silent-broadcast`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.lopsided import is_lopsided
from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.axes.normalised import same_values
from jaxaudit.analyses.axes.roots import Landed, landed
from jaxaudit.analyses.axes.symmetric import Skewed, skewed
from jaxaudit.analyses.dims import differ, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import made_by, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ROOTS
from jaxaudit.ir.ops import PASSED_ON, REARRANGED
from jaxaudit.rules.axes._shared.phrases import axes_facts, axis_of, broadcasts, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved
from jaxaudit.rules.flow._shared.columns import columns_met
from jaxaudit.rules.flow._shared.kept_axes import kept_and_lost
from jaxaudit.rules.flow._shared.lined_up import lined_up


class SilentBroadcast(Rule):
    """Broadcasting lines up an axis with one that is another thing and has the same size.

    ## What it does
    Compares the axes that broadcasting lines up, from the last one backwards. Where an array with fewer axes lands on
    an axis of another name, while the axis it belongs to stands elsewhere in the other operand, it is reported. So is
    the column `(n, 1)` of a layer with one output where it meets a row `(n,)`: together they make `(n, n)`; and an
    array that meets its own reduction, `x - x.max(axis=1)`, after the axis is gone; or two reductions of it, of which
    one has kept the axis.

    ## Why is this bad?
    A bias with one entry for each channel, added to images laid out as `(batch, channel, height, width)`, lands on
    the width. As long as there are as many columns as channels nothing is raised, and every result is wrong.

    ## Example
        C, H, W = 8, 8, 8
        jnp.zeros((4, C, H, W)) + jnp.ones(C)

    ## Use instead
        C, H, W = 8, 8, 8
        jnp.zeros((4, C, H, W)) + jnp.ones(C)[:, None, None]

    ## When it cannot tell
    When the sizes have no names, or when no axis of the other operand would fit better.
    """

    summary = "Broadcasting lines up two axes that are different things of equal size."
    needs = (Axes, Shapes)

    valid = (
        Example(
            "C, H, W = 8, 8, 8\ny = jnp.zeros((4, C, H, W)) + jnp.ones(C)[:, None, None]\n",
            "new axes put it in its place",
        ),
        Example("IN, HIDDEN = 8, 8\ny = jnp.zeros((4, IN)) + jnp.ones(HIDDEN)\n", "no axis fits better"),
        Example(
            """
            def distances(x):
                points = jnp.ones((8, 3)) @ jnp.ones(3)
                return points[:, None] - points
            """,
            "all pairs on purpose",
        ),
        Example("def f(x):\n    return jax.vmap(lambda row: row / row.sum(-1))(x)\n", "a row"),
        Example(
            "def f(x, y):\n    top = jnp.max(x, axis=1, keepdims=True)\n"
            "    return (x - top) / x.std(axis=0), y - y.max(0)\n",
            "its own maximum, with its axis",
        ),
        Example(
            """
            def logsumexp(x):
                top = jnp.max(x, axis=-1, keepdims=True)
                return top[..., 0] + jnp.log(jnp.sum(jnp.exp(x - top), axis=-1))

            def distances(x):
                squares = jnp.sum(x**2, axis=-1, keepdims=True)
                return squares + jnp.sum(x**2, axis=-1) - 2.0 * x @ x.T
            """,
            "an axis is taken away, and all pairs on purpose",
        ),
        Example(
            """
            def distances(a, b):
                first, second = jnp.sum(a**2, axis=1), jnp.sum(b**2, axis=1)
                return first[:, None] + second - 2.0 * a @ b.T

            def layer(w, x):
                return (x @ w) * jnp.sum(w**2, axis=0) + jnp.sum(x @ w, axis=0)

            distances(jnp.ones((8, 3)), jnp.zeros((8, 3))), layer(jnp.ones((3, 8)), jnp.ones((8, 3)))
            """,
            "each on its own side",
        ),
        Example(
            """
            def step(state, fresh):
                done = jnp.abs(state).max(axis=-1) > 2.0
                return jnp.where(done[:, None], fresh, state), jnp.where(state.mean(axis=0) > 0, fresh, state)

            first, second = jax.random.split(jax.random.key(0))
            step(jax.random.normal(first, (4, 4)), jax.random.normal(second, (4, 4)))
            """,
            "flags for rows, and flags for columns",
        ),
        Example(
            """
            def scaled(key, x):
                edges = jax.random.bernoulli(key, 0.5, (6, 6)).astype(float)
                both = edges + edges.T
                degree = both.sum(axis=1)
                counts = edges.sum(axis=1)
                return (both / jnp.sqrt(degree)[:, None]) / jnp.sqrt(degree), edges / counts[:, None], edges.T / counts
            """,
            "a symmetric matrix, and rows of its own",
        ),
    )
    invalid = (
        Example("C, H, W = 8, 8, 8\ny = jnp.zeros((4, C, H, W)) + jnp.ones(C)  #!\n", "lands on the width"),
        Example(
            """
            def loss(w, y):
                prediction = jnp.ones((8, 3)) @ jnp.ones((3, 1))
                return jnp.mean((prediction - jnp.zeros(8)) ** 2)  #!
            """,
            "a column against a row",
        ),
        Example(
            """
            def value(w, scale, x):
                return scale * (x @ w) + jnp.ones((8, 1))

            def loss(w, scale):
                return jnp.square(value(w, scale, jnp.ones((8, 3))) - jnp.zeros(8)).mean()  #!

            loss(jnp.ones((3, 1)), jnp.ones((8, 1)))
            """,
            "a column that was scaled and shifted by others",
        ),
        Example(
            """
            def score(w, obs, actions):
                mean = jnp.squeeze(obs @ w)  #!
                return jnp.sum((actions - mean) ** 2)

            score(jnp.ones((3, 1)), jnp.ones((8, 3)), jax.random.normal(jax.random.key(0), (8, 1)))
            """,
            "an action of one dimension is squeezed",
        ),
        Example("def f(x):\n    top = jnp.max(x, axis=1)\n    return jnp.exp(x - top)  #!\n", "its own maximum"),
        Example("def share(p):\n    return p / p.sum(axis=-1)  #?\n", "its own sum, right for one axis alone"),
        Example("def rest(p):\n    return p[:, 1:] / p[:, 1:].sum(axis=-1)  #!\n", "its own sum, of two axes or more"),
        Example("def unit(w):\n    return w / jnp.linalg.norm(w, axis=1)  #!\n", "its own length"),
        Example(
            """
            def step(state, fresh):
                done = jnp.abs(state).max(axis=-1) > 2.0
                return jnp.where(done, fresh, state)  #!

            first, second = jax.random.split(jax.random.key(0))
            step(jax.random.normal(first, (4, 4)), jax.random.normal(second, (4, 4)))
            """,
            "a flag for each row decides for each column",
        ),
        Example(
            """
            def shares(states):
                counts = jnp.zeros((4, 4)).at[states[:-1], states[1:]].add(1.0) + 1.0
                return counts / counts.sum(axis=1)  #!

            def weights(key):
                first, second = jax.random.normal(key, (2, 9, 3))
                scores = jnp.exp(first @ second.T)
                return scores / scores.sum(axis=-1)  #!

            def centred(rewards):
                _, returns = jax.lax.scan(lambda g, r: (r + 0.9 * g,) * 2, jnp.zeros(8), rewards, reverse=True)
                return returns - returns.mean(axis=1)  #!

            centred(jax.random.normal(jax.random.key(0), (8, 8)))
            """,
            "a square matrix that is not symmetric",
        ),
        Example(
            """
            def distances(a, b):
                squares = jnp.sum(a**2, axis=1)
                return squares - 2.0 * a @ b.T  #!

            distances(jnp.ones((8, 3)), jnp.zeros((8, 3)))
            """,
            "the rows of a product",
        ),
        Example(
            """
            def logsumexp(x):
                top = jnp.max(x, axis=-1, keepdims=True)
                return top + jnp.log(jnp.sum(jnp.exp(x - top), axis=-1))  #!
            """,
            "a maximum with its axis, and a sum without",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every meeting of two arrays, element by element."""
        axes, shapes = axes_facts(facts), facts.get(Shapes)
        found = [(one.meeting.op, _finding(one)) for one in axes.caused(Cause.MISPLACED) if is_broadcast(one)]
        found += [(one.blamed, _blended(one)) for one in axes.caused(Cause.BLENDED)]
        found += [(one.op, _skewed(one)) for one in skewed(facts)]
        halves = dict(kept_and_lost(facts.flow, shapes))
        found += halves.items()
        found += ((op, one) for op, one in columns_met(facts.flow, shapes) if op not in halves)
        found += _met_themselves(facts)
        themselves = {op for op, _ in found}
        found += [(one.op, _landed(one)) for one in landed(facts) if one.op not in themselves]
        agreed = {op: why for op, meeting in axes.agreed.items() if (why := _agreed(meeting))}
        yield from (one for _, one in found)
        judged = {*(op for op, _ in found), *agreed}
        yield from (proved(op.span, why) for op, why in agreed.items())
        yield from lined_up(program, shapes, judged)


def _blended(conflict: Conflict) -> Obligation:
    first, second = conflict.left.name, conflict.right.name
    whole = conflict.fitting[0] if conflict.fitting is not None else conflict.astray.value
    return violated(
        conflict,
        f"`{first}` and `{second}` are lined up here, and then meet an array that has both as axes of their own",
        f"`{first}` and `{second}` are two axes, as {name_of(whole)} has them",
        f"add axes so that `{first}` stands beside `{second}`, for example by `[:, None, None]`",
    )


def _landed(one: Landed) -> Obligation:
    vector, array = name_of(one.vector), name_of(one.array)
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if one.sure else Severity.WARNING,
        message=f"{vector} has an entry for each row along axis {one.place} of {array}, and lands on its last axis",
        current="both axes have as many entries, so nothing is raised, and each entry goes to another row",
        expected=f"the entries of {vector} meet axis {one.place}, which they were computed along",
        suggestion="add an axis behind the entries, by `[:, None]` or `keepdims=True`",
        cause=(one.vector, one.array),
    )


def _skewed(one: Skewed) -> Obligation:
    name = name_of(one.vector)
    return Obligation(
        one.op.span,
        message=f"{name} lands on one axis of a matrix alone, which `{one.reader.function}` takes for a symmetric one",
        current="each entry goes to a whole row or column: element (i, j) is no longer element (j, i)",
        expected=f"the entries of {name} stand on the diagonal, or go in along both axes",
        steps=(Step(one.reader.span, "the matrix has to be symmetric here"),),
        suggestion=f"put them on the diagonal: `jnp.diag({one.vector.name or '...'})`",
    )


def _agreed(meeting: Meeting) -> str:
    low, high = sorted((meeting.left, meeting.right), key=lambda side: len(side.dims))
    if not broadcasts(meeting):
        return ""
    one, other = f"`{axis_of(low.dim)}` of {name_of(low.value)}", f"`{axis_of(high.dim)}` of {name_of(high.value)}"
    return f"{one} meets {other} {shape_of(high.dims)}, and is copied along the other axes"


def is_broadcast(conflict: Conflict) -> bool:
    """Whether an operand with fewer axes is lined up with one that has more."""
    meeting = conflict.meeting
    return meeting.how == "elementwise" and len(meeting.left.dims) != len(meeting.right.dims)


def _finding(conflict: Conflict) -> Obligation:
    sides = (conflict.meeting.left, conflict.meeting.right)
    low, high = sorted(sides, key=lambda side: len(side.dims))
    here, there = axis_of(low.dim), axis_of(high.dim)
    return violated(
        conflict,
        f"{name_of(low.value)}, one for each `{here}`, is broadcast along `{there}`",
        f"`{here}` of {name_of(low.value)} meets `{here}` of {name_of(high.value)} {shape_of(high.dims)}",
        f"add axes to {name_of(low.value)} so that it lines up with `{here}`, for example by `[:, None]`",
    )


def _met_themselves(facts: Facts) -> Iterator[tuple[Op, Obligation]]:
    """Return every op where an array meets its own reduction over an axis other than the first."""
    if facts.program.front_end == "jaxpr":
        return
    flow, mapped = facts.flow, frozenset(mapped_ops(facts))
    for op in facts.program.named("array.map"):
        if len(op.operands) == 2:
            for whole, part in (op.operands, op.operands[::-1]):
                reduction = _reduction(part, flow)
                if reduction is not None and _is_one(whole, reduction.operands[0], flow):
                    yield from ((op, one) for one in _judge(op, whole, reduction, facts, single=op in mapped))


def _reduction(value: Value, flow: Flow) -> Op | None:
    """Return the reduction that a value is, with constants added and roots taken."""
    *_, source = _elementwise(value, flow)
    op = flow.maker(source)
    reduces = op is not None and (op.name == "array.reduce" or (op.name == "array.linalg" and op.function in ROOTS))
    if op is None or not reduces or not op.operands or op.argument("keepdims"):
        return None
    return op if isinstance(op.argument("axis"), int) and not op.has("*", "**") else None


def _elementwise(value: Value, flow: Flow) -> Iterator[Value]:
    """Return a value and those that it was computed from, each element by itself."""

    def before(one: Value) -> tuple[Value, ...]:
        op = flow.maker(one)
        keeps = op is not None and (op.name == "array.map" or op.name in PASSED_ON)
        return op.operands if op is not None and keeps and len(op.operands) == 1 else ()

    return walk((value,), before)


def _is_one(whole: Value, reduced: Value, flow: Flow) -> bool:
    """Whether the array that is reduced is the other operand, or computed of it element by element."""
    return any(same_values(whole, one, flow) for one in _elementwise(reduced, flow)) or any(
        same_values(reduced, one, flow) for one in _elementwise(whole, flow)
    )


def _judge(op: Op, whole: Value, reduction: Op, facts: Facts, *, single: bool) -> Iterator[Obligation]:
    shapes = facts.get(Shapes)
    for context in shapes.contexts(op) or (None,):
        fact, axis = (context or shapes).of(whole), reduction.argument("axis")
        dims, rank = fact.dims, fact.least_rank
        if not isinstance(axis, int) or (dims is not None and rank < 2):
            continue
        place = axis if axis >= 0 else axis + rank
        if dims is None and rank < 2 and axis == -1 and not single:
            # Right for one axis, which hardly anybody counts from the end but for one of several elements.
            yield _own_finding(op, whole, reduction, axis, sure=False)
            return
        doubt = None if dims is None or place >= len(dims) else _doubt(dims, place)
        if doubt is not None and _is_mislaid(facts, whole, reduction, dims):
            doubt = None
        if place >= 1 and doubt != "none":
            yield _own_finding(op, whole, reduction, axis, sure=doubt is None)
            return


def _is_mislaid(facts: Facts, whole: Value, reduction: Op, dims: Dims | None) -> bool:
    """Whether a square matrix is surely not symmetric, and its reduction does not go in along both of its axes."""
    if dims is None or len(dims) != 2 or not same(*dims) or not is_lopsided(facts, whole):
        return False
    alike = walk((reduction.result,), lambda one: made_by(facts.flow, one, _maps_one))
    return not any(op.name in _PUTS_AXES for one in alike for op in facts.flow.readers.get(one, ()))


_PUTS_AXES = REARRANGED | {"py.item"}


def _maps_one(op: Op) -> bool:
    return len(op.operands) == 1 and (op.name == "array.map" or op.name in PASSED_ON)


def _doubt(dims: Dims, place: int) -> str | None:
    """Return `none` where sizes show a mistake already or a matrix is square on purpose, `some` where it may be."""
    pairs = [(dims[at], dims[at + 1]) for at in range(place)]
    if any(differ(one, other) for one, other in pairs):
        return "none"
    if all(same(one, other) for one, other in pairs):
        return "some" if all(one.constant is not None for one, _ in pairs) else "none"
    return None


def _own_finding(op: Op, whole: Value, reduction: Op, axis: int, *, sure: bool) -> Obligation:
    name = named(whole, "an array")
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{name} meets its own `{reduction.function}` over axis {axis}, which has lost that axis",
        current="broadcasting starts from the last axis, so each result lands on the wrong row, or JAX raises",
        expected="each result stays with what it was computed from",
        steps=(Step(reduction.span, f"axis {axis} is gone after this"),),
        suggestion=f"reduce with `keepdims=True`, or put the axis back with `jnp.expand_dims(..., {axis})`",
    )
