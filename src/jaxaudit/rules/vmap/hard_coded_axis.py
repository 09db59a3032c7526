"""The rule `hard-coded-axis`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, nothing, sources, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import REORDERED, REORDERINGS, SORTED, SPREADS
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, UNFOLLOWED
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, named, proved, unknown
from jaxaudit.rules.vmap._shared.layers import has_outputs_last, is_layer, layer_ahead, layer_behind, takes_statistics
from jaxaudit.rules.vmap._shared.scalars import Scalar, counted, outcome_for_number, pointless, reductions

_ENTRY_BY_ENTRY = through_ops(*ELEMENTWISE, *KEEPING)

_PROGRAM = """
def loss(ratio, adv):
    {inside}
    return ratio * adv


def batch_loss(ratios, advs):
    {outside}
    return jax.vmap(loss)(ratios, advs).mean()


batch_loss(jnp.ones(64), jnp.ones(64))
"""

_BATCHED = """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False{options})(nn.Dense(4)(x)){mark}

def apply(variables, x):
    return Net().apply(variables, x, mutable=["batch_stats"])

y, stats = jax.vmap(apply, in_axes=(None, 0), axis_name="batch")({{}}, jnp.ones(({shape})))
"""


class HardCodedAxis(Rule):
    """A function that reduces over the batch is mapped over the batch, where nothing is left to reduce.

    ## What it does
    Finds reductions under `vmap` of a value that has no axes there, where the result is the same number whatever the
    value is: a standard deviation, an `argmax`, or a mean or sum that is subtracted from the value itself or divides
    it. So are those that count to the axis of a layer's outputs, `h.mean(axis=1)`, and hand what is left to the next
    layer.

    ## Why is this bad?
    Inside `vmap` a function sees one element. Advantages that are normalised there are normalised one by one: each is
    zero, every gradient vanishes, and nothing is raised.

    ## Example
        def loss(ratio, adv):
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            return ratio * adv


        jax.vmap(loss)(ratios, advs).mean()

    ## Use instead
        advs = (advs - advs.mean()) / (advs.std() + 1e-8)
        jax.vmap(lambda ratio, adv: ratio * adv)(ratios, advs).mean()

    ## When it cannot tell
    When the rank of what is reduced is not known.
    """

    summary = "Under `vmap` a reduction has no axis left and gives a constant."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(inside="pass", outside="advs = advs - advs.mean()"), "outside of vmap"),
        Example("y = jax.vmap(lambda row: (row - row.mean()) / row.std())(jnp.ones((4, 3)))\n", "each row has an axis"),
        Example("y = jax.vmap(lambda x: jnp.mean(x))(jnp.ones(4))\n", "a mean that changes nothing does no harm"),
        Example(
            "y = jax.vmap(lambda w, x, y: jnp.sum((x * w - y) ** 2) / x.shape[0])"
            "(jnp.ones((8, 6)), jnp.ones((8, 6)), jnp.ones(8))\n",
            "a sum over the features",
        ),
        Example("y = jax.vmap(lambda x: jnp.sum(x**2) / x.size)(jnp.ones(4))\n", "for any shape"),
        Example("y = jax.vmap(lambda x: x / jnp.exp(jnp.sum(x)))(jnp.ones(4))\n", "divided by something else"),
        Example(
            """
            import flax.linen as nn

            def read(x):
                h = nn.Dense(32).apply({}, x)
                return nn.Dense(4).apply({}, h.mean(axis=0)), h.mean(axis=1)

            y = jax.vmap(read)(jnp.ones((8, 20, 3)))
            """,
            "over the steps, or for no layer",
        ),
        Example(
            """
            def mixed(w, key, xs):
                others = jax.random.permutation(key, xs)
                gaps = jax.vmap(lambda x, other: (x - other) @ w)(xs, others)
                slopes = jax.vmap(lambda x: jnp.roll(x, 1, axis=0) - x)(xs)
                return gaps, slopes, jax.vmap(lambda x: jnp.roll(x, 1, axis=0) @ w)(xs)

            mixed(jnp.ones(5), jax.random.key(0), jnp.ones((8, 5)))
            """,
            "the batch is reordered, or what is reordered meets no weights, or only so",
        ),
        Example(_BATCHED.format(options=', axis_name="batch"', mark="", shape="8, 20"), "statistics of the batch"),
        Example(_BATCHED.format(options="", mark="", shape="3, 8, 20"), "a batch for each member"),
    )
    invalid = (
        Example(_PROGRAM.format(inside="adv = adv - adv.mean()  #!", outside="pass"), "zero for every element"),
        Example("y = jax.vmap(lambda x: x / jnp.std(x))(jnp.ones(4))  #!\n", "one number has no spread"),
        Example(
            _PROGRAM.format(inside="adv = adv / (jnp.sum(adv) + 1e-8)  #!", outside="pass"),
            "a share of the batch that is always one",
        ),
        Example(
            _PROGRAM.format(inside="adv = jnp.exp(adv - jax.nn.logsumexp(adv))  #!", outside="pass"),
            "the same of logarithms",
        ),
        Example(
            _PROGRAM.format(inside="adv = adv / jnp.sqrt(jnp.mean(adv**2) + 1e-8)  #!", outside="pass"),
            "divided by its own size",
        ),
        Example(
            _PROGRAM.format(inside="adv = adv / jnp.max(jnp.abs(adv))  #!", outside="pass"), "only the sign is left"
        ),
        Example(
            """
            def shortfall(loss, level=0.9):
                tail = jnp.quantile(loss, level)  #!
                return tail + jnp.mean(jax.nn.relu(loss - tail)) / (1.0 - level)

            y = jax.vmap(lambda w, x: shortfall(w @ x), in_axes=(None, 0))(jnp.ones(3), jnp.ones((8, 3)))
            """,
            "the tail of one number",
        ),
        Example(
            """
            def spread(z, least=1.0):
                return jnp.mean(jax.nn.relu(least - jnp.sqrt(z.var(axis=0) + 1e-4)))  #!

            def terms(w, x):
                return spread(x @ w) + spread(2.0 * x @ w)

            y = jax.vmap(terms, in_axes=(None, 0))(jnp.ones((6, 4)), jnp.ones((32, 6))).mean()
            """,
            "what the statistic leaves is reduced again",
        ),
        Example(
            """
            def loss(w, x, y):
                return jnp.sum((x @ w - y) ** 2) / x.shape[0]  #!

            y = jax.vmap(loss, in_axes=(None, 0, 0))(jnp.ones(6), jnp.ones((32, 6)), jnp.ones(32)).mean()
            """,
            "one error by the number of features",
        ),
        Example(
            "def centre(row):\n    return row - jnp.mean(row, axis=0)  #?\n\njax.vmap(centre)(jnp.ones((4, 3)))\n",
            "the first axis of an element is not the batch",
        ),
        Example(
            """
            import flax.linen as nn

            def standardised(x):
                centred = x - jnp.mean(x, axis=0)  #?
                return centred / (jnp.std(x, axis=0) + 1e-6)  #!

            def score(params, reading):
                return nn.Dense(1).apply(params, standardised(reading))

            y = jax.vmap(score, in_axes=(None, 0))({}, jnp.ones((64, 8)))
            """,
            "what was to be each feature of the batch",
        ),
        Example(
            """
            import flax.linen as nn

            class Pooled(nn.Module):
                @nn.compact
                def __call__(self, x):
                    h = nn.relu(nn.Dense(32)(x))
                    return nn.Dense(4)(h.mean(axis=1))  #!

            y = jax.vmap(lambda x: Pooled().apply({}, x))(jnp.ones((8, 20, 3)))
            """,
            "over the features, not over the steps",
        ),
        Example(
            """
            def loss(w, key, x, y):
                other = jax.random.permutation(key, x)  #!
                return ((0.7 * x + 0.3 * other) @ w - y) ** 2

            keys = jax.random.split(jax.random.key(0), 8)
            jax.vmap(loss, in_axes=(None, 0, 0, 0))(jnp.ones(5), keys, jnp.ones((8, 5)), jnp.ones(8))
            """,
            "mixed with its own entries",
        ),
        Example(
            """
            import flax.linen as nn

            net = nn.Dense(4)

            def gap(params, x):
                return net.apply(params, x) - net.apply(params, jnp.roll(x, 1, axis=0))  #!

            jax.vmap(gap, in_axes=(None, 0))({}, jnp.ones((8, 5)))
            """,
            "compared with its own entries",
        ),
        Example(_BATCHED.format(options="", mark="  #!", shape="8, 20"), "statistics of one example"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every reduction under `vmap`, and every `vmap` of a function without one."""
        shapes, flow = facts.get(Shapes), facts.flow
        bad = {one.op: one for one in pointless(facts, shapes)}
        for op, value in reductions(facts):
            dims = shapes.of(value).dims
            if op in bad:
                if bad[op].index is None:
                    yield _finding(bad[op])
            elif dims and (layers := _layers_around(op, value, len(dims), facts)) is not None:
                yield _outputs_reduced(op, layers)
            elif dims and len(dims) == 1 and op.argument("axis") == 0 and outcome_for_number(op, value, flow):
                yield _only_axis(op, value, facts)
            elif dims:
                yield proved(op.span, "an axis is left under `vmap` for this to reduce")
            elif dims is None and (op.argument("axis") is not None or outcome_for_number(op, value, flow)):
                yield unknown(op.span, "the rank of what is reduced under `vmap` is not known")
            elif any(dims is None or shapes.of(one).dims is None for one in counted(op, flow)):
                yield unknown(op.span, "whether this has as many terms as it is divided by is not known")
            else:
                yield proved(op.span, "even one number would be reduced to what is wanted")
        yield from (_layer(op, shapes) for op in mapped_ops(facts) if takes_statistics(op, flow))
        yield from (_shuffled(*one) for one in _reordered_inputs(facts))
        reduced = {op for op, _ in reductions(facts)}
        for op in program.named("vmap"):
            inside = [one for region in op.regions for one in region.walk()]
            if inside and not any(one in reduced or one.name in UNFOLLOWED for one in inside):
                yield proved(op.span, "nothing that it runs is reduced")


def _shuffled(op: Op, layer: Op) -> Obligation:
    """Tell of a function that was to reorder the batch, and reorders what one element consists of."""
    name = named(op.operands[-1])
    return Obligation(
        op.span,
        message=f"`{op.function}` moves the entries of one element under `vmap`, and not the elements of the batch",
        current=f"`vmap` took the batch axis away; each input of the layer is another entry of {name} than before",
        expected="the elements of the batch change places, outside of the mapped function",
        steps=(Step(layer.span, f"this takes {name} as it was, and reordered, for its inputs"),),
        suggestion=f"`{op.function}` the whole batch before `vmap`, and map what it gives",
        cause=op.results,
    )


def _layers_around(op: Op, value: Value, rank: int, facts: Facts) -> tuple[Op, Op] | None:
    """Return the layers before and behind a reduction that counts to the last axis as if a batch stood in front."""
    axis = op.argument("axis")
    if rank < 2 or isinstance(axis, bool) or axis != rank - 1 or op.name != "array.reduce":
        return None
    before, behind = layer_behind(value, op, facts.flow), layer_ahead(op.result, facts.flow)
    plain = before is not None and is_layer(before) and has_outputs_last(before, facts.get(Shapes))
    return (before, behind) if before is not None and behind is not None and plain else None


def _outputs_reduced(op: Op, layers: tuple[Op, Op]) -> Obligation:
    before, behind = layers
    axis = op.argument("axis")
    return Obligation(
        op.span,
        message=f"axis {axis} is that of the outputs under `vmap`, and `{op.function}` leaves none of them apart",
        current="`vmap` took the batch axis away, so each axis of an element is one further to the front",
        expected=f"the reduction runs over an axis before that of the outputs: axis {int(str(axis)) - 1}",
        steps=(
            Step(before.span, "these outputs are reduced to one number"),
            Step(behind.span, "this layer takes what is left, an axis of the data, for its inputs"),
        ),
        suggestion="count the axes of one element, or count them from the end",
        cause=(*op.results, *behind.results),
    )


def _layer(op: Op, shapes: Shapes) -> Obligation:
    """Judge a layer that takes the statistics of a batch of what one element has."""
    given = op.arguments.get("x")
    dims = shapes.of(given).dims if isinstance(given, Value) else None
    if dims is None or len(dims) > 1:
        return unknown(op.span, "whether what is left under `vmap` is a batch is not known")
    return Obligation(
        op.span,
        message=f"each feature of {named(given)} is one number under `vmap`, and is normalised by itself to 0",
        current="`vmap` took the batch axis away, so the mean of each feature is the feature",
        expected="the statistics are those of the batch",
        suggestion='give the layer `axis_name="batch"` and `vmap` the same, or call it on the whole batch',
    )


def _only_axis(op: Op, value: Value, facts: Facts) -> Obligation:
    """Warn of a statistic over axis 0, the batch of the whole array, that is over the only axis of an element."""
    name = named(value)
    around = (holder for _, holder in facts.places.up(facts.places.region_of[op]))
    maps = [one for one in around if one is not None and one.name in ("vmap", "pmap")]
    params = {param for one in maps[:1] for param, _ in Mapped(one).elements}
    given = not params.isdisjoint(sources(facts.flow, (value,), nothing))
    # What a layer gives may be normalised before the next one; what comes in has entries of different kinds.
    again = _reduced_again(op, facts)
    sure = again is not None or (op.function in SPREADS and given and bool(_layers_given(op.result, facts.flow)))
    steps = [Step(one.span, "the batch axis is taken away here") for one in maps[:1]]
    steps += [] if again is None else [Step(again.span, "what is left is reduced here, and it is one number already")]
    return Obligation(
        op.span,
        Verdict.VIOLATED if sure else Verdict.UNKNOWN,
        f"axis 0 is the only axis of {name} under `vmap`; whether that one is meant is not known",
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{op.function}` over axis 0 runs over the entries of one element under `vmap`, not over the batch",
        current=f"`vmap` took the batch axis away, and axis 0 of {name} is the only one that is left",
        expected="statistics of the batch are taken outside of the mapped function, those of an element over all of it",
        steps=tuple(steps),
        suggestion="take the statistic before `vmap`, or leave `axis` out where the entries are meant",
    )


def _reduced_again(op: Op, facts: Facts) -> Op | None:
    """Return what reduces the outcome of a reduction once more, element by element, though no axis is left."""
    ways = walk(op.results, lambda one: ahead(facts.flow, one, _ENTRY_BY_ENTRY))
    later = (one for value in ways for one in facts.flow.readers.get(value, ()) if one.name == "array.reduce")
    empty = (one for one in later if facts.get(Shapes).of(one.operands[0]).dims == ())
    return next((one for one in empty if one.argument("axis") is None), None)


def _finding(scalar: Scalar) -> Obligation:
    name = named(scalar.value)
    return Obligation(
        scalar.op.span,
        message=f"{name} is one number under `vmap`: {scalar.outcome}",
        current=f"`vmap` took the batch axis away, so {name} has no axis left to reduce",
        expected="the reduction runs over the batch, outside of the mapped function",
        suggestion="reduce before `vmap`, or give `vmap` an `axis_name` and use `jax.lax.pmean`",
    )


def _reordered_inputs(facts: Facts) -> Iterator[tuple[Op, Op]]:
    """Return what reorders the only axis of an element, with a layer that also sees it as it was.

    Each entry of what a layer is given meets weights of its own, so entries that change places are no other example.
    """
    for op in mapped_ops(facts):
        array = op.operands[-1] if op.function in REORDERED - SORTED and op.operands else None
        axis = op.argument("axis")
        by_default = axis is None and op.function in REORDERINGS
        if array is None or not (axis == 0 or by_default) or isinstance(op.argument("shift"), Value):
            continue
        known = [context.of(array).dims for context in facts.get(Shapes).contexts(op)]
        if not known or any(dims is None or len(dims) != 1 for dims in known):
            continue
        before = _layers_given(array, facts.flow, without=op)
        layer = next((one for one in _layers_given(op.result, facts.flow) if _is_among(one, before, facts.flow)), None)
        if layer is not None:
            yield op, layer


def _layers_given(value: Value, flow: Flow, without: Op | None = None) -> list[Op]:
    """Return the layers and products that are given a value, as it is or entry by entry."""
    ways = walk((value,), lambda one: ahead(flow, one, lambda op: op is not without and _ENTRY_BY_ENTRY(op)))
    return [op for one in ways for op in flow.readers.get(one, ()) if is_layer(op) or op.name == "array.dot"]


def _is_among(layer: Op, others: list[Op], flow: Flow) -> bool:
    """Whether a layer, or another call of it with the same weights, is one of some."""
    weights = sources(flow, layer.operands, nothing)
    return layer in others or any(not weights.isdisjoint(sources(flow, one.operands, nothing)) for one in others)
