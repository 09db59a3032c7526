"""The rule `statistics-not-applied`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import gradients_of
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.lineage.origins import Context, contexts, origin
from jaxaudit.analyses.meaning.read import is_mean, is_spread
from jaxaudit.analyses.queries import ahead, nothing, reached, readers, walk
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import leaves_as
from jaxaudit.ir.ops import CONTRACTIONS, DERIVATIVES, JOINING, KEEPING, NOTES, UNFOLLOWED
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown
from jaxaudit.spans import Span

_HANDED_ON = NOTES | {"py.return", "py.store_attr", "py.print", "py.format", "py.container", "array.shape"}
"""Ops that compute nothing of what they are given."""

_FITTED = """
def net(w, x):
    return jnp.tanh(x @ w["in"]) @ w["out"]

def fit(w, x, y):
    mean, std = y.mean(axis=0), y.std(axis=0) + 1e-6
    goal = (y - mean) / std
    for _ in range(9):
        grads = jax.grad(lambda w: jnp.mean((net(w, x) - goal) ** 2))(w)
        w = {{name: w[name] - 0.1 * grads[name] for name in w}}
    return w, mean, std

def main(key):
    x = jax.random.normal(key, (30, 4))
    w, mean, std = fit({{"in": jnp.ones((4, 8)), "out": jnp.ones((8, 4))}}, x, 7.0 + 3.0 * jnp.sin(x))
    return x + {used}{mark}
"""


class StatisticsNotApplied(Rule):
    """A network is fitted to normalised data, and used without the statistics that were kept for it.

    ## What it does
    Finds data that are normalised by their mean and spread, and that a loss gives a network as its input or compares
    its output with. Where the function keeps the statistics, and the trained network is used elsewhere, the statistics
    must be applied there too: to the input, or to undo them in the output.

    ## Why is this bad?
    The network answers in units of the spread, around zero, or is asked in another unit than it was trained in. All
    shapes fit, and the loss of training looks fine.

    ## Example
        goal = (delta - mean) / std
        ...
        following = state + net(params, state)

    ## Use instead
        following = state + net(params, state) * std + mean

    ## When it cannot tell
    Statistics that stay in the function that trains may be wanted for training alone. Those that code gets which is not
    followed may be applied there.
    """

    summary = "A network is trained on normalised data and used without the statistics that were kept."

    valid = (Example(_FITTED.format(used="net(w, x) * std + mean", mark=""), "the normalisation is undone"),)
    invalid = (Example(_FITTED.format(used="net(w, x)", mark="  #!"), "the output as it comes"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every normalisation whose statistics are kept beside what is trained with it."""
        found = list(_normalisations(facts.flow))
        for gradient in gradients_of(facts) if found else ():
            if gradient.op.name == "grad" and gradient.op.regions:
                yield from (one for form in found for one in _judge(form, gradient.op, found, facts.flow))


@record
class _Normalisation:
    """Data less their mean, divided by their spread, as the function that asks for it sees them."""

    op: Op
    made: Value
    mean: Value
    spread: Value
    kept: object
    """What tells the spread from others that the same helper computes."""


def _normalisations(flow: Flow) -> Iterator[_Normalisation]:
    for op in flow.program.mapping("divide"):
        above, below = op.value("x"), op.value("y")
        made = flow.maker(whole_of(flow, above)) if above is not None and not op.backward else None
        centre = made.value("y") if made is not None and made.function == "subtract" else None
        for context in contexts(flow, op) if centre is not None and below is not None else ():
            found = _seen(flow, op, context, (op.result, centre, below))
            if found is not None:
                yield found


def _seen(flow: Flow, op: Op, context: Context, values: tuple[Value | None, ...]) -> _Normalisation | None:
    """Return a normalisation as it is seen from outside of the helpers that several calls share."""
    region = flow.places.region_of[op]
    while (call := context.get(id(region))) is not None:
        values = tuple(_around(call, region, one) for one in values)
        region = flow.places.region_of[call]
    made, mean, spread = values
    if made is None or mean is None or spread is None:
        return None
    source = origin(flow, spread, context)
    if source.op is None or not is_spread(source.op, flow) or not is_mean(whole_of(flow, mean), flow):
        return None
    home = flow.places.region_of_value(source.value)
    helper = None if home is None else source.context.get(id(flow.places.top(home)))
    return _Normalisation(op, made, mean, spread, (source.value, helper))


def _around(call: Op, region: Region, value: Value | None) -> Value | None:
    """Return what a parameter or a result of a function is for one call of it."""
    if value in region.params and len(region.params) == len(call.operands):
        return call.operands[region.params.index(value)]
    return next(leaves_as(call, region, value), value) if value is not None else None


def _judge(form: _Normalisation, gradient: Op, forms: list[_Normalisation], flow: Flow) -> Iterator[Obligation]:
    side = _side(form, gradient, flow)
    if side is None or not _is_kept(form, gradient, flow):
        return
    applied = [op for one in (form.mean, form.spread) for op in _applied(one, flow) if not _is_own(op, form, flow)]
    applied += [one.op for one in forms if one.kept == form.kept and one.made is not form.made]
    if applied:
        surely = [op for op in applied if op.name not in UNFOLLOWED | {"py.call_library"}]
        if surely:
            yield proved(form.op.span, f"the statistics are applied again, line {surely[0].span.line}")
        else:
            yield unknown(form.op.span, "what becomes of the statistics is not followed")
        return
    used = next(_used(gradient, flow), None)
    if used is not None and _carried(form, flow).isdisjoint(_read_by(used)):
        yield _finding(form, gradient, side, used)
    else:
        yield unknown(form.op.span, "where the trained network is used without a loss is not in sight")


def _carried(form: _Normalisation, flow: Flow) -> set[Value]:
    """Return the normalised data under all their names."""
    return set(walk((form.made,), lambda one: ahead(flow, one, lambda op: op.name in KEEPING | JOINING)))


def _read_by(op: Op) -> Iterator[Value]:
    inside = (one for region in op.regions for one in region.walk())
    return (value for one in (op, *inside) for value in one.operands)


def _side(form: _Normalisation, gradient: Op, flow: Flow) -> str | None:
    """Return what normalised data are in a loss: the input of a network, or what its output is compared with."""
    inside = set(gradient.regions[0].walk())
    for value in _carried(form, flow):
        for op in flow.readers.get(value, ()):
            if op not in inside:
                continue
            if op.name in CONTRACTIONS or op.qualified.endswith(".__call__"):
                return "input"
            if op.function == "subtract" or op.loss:
                return "target"
    return None


def _is_kept(form: _Normalisation, gradient: Op, flow: Flow) -> bool:
    """Whether the spread leaves a function that trains, beside what it trains."""
    around = [region for region, _ in flow.places.up(flow.places.region_of[gradient])]
    names = set(walk((form.spread,), lambda one: ahead(flow, one, lambda op: op.name in KEEPING)))
    leaving = [op for region in around for op in region.ops if op.name == "py.return"]
    return any(not names.isdisjoint(op.operands) for op in leaving)


def _applied(value: Value, flow: Flow) -> Iterator[Op]:
    """Return the ops that compute something of a statistic."""
    for op in readers(flow, value):
        if not op.regions and op.name not in _HANDED_ON and not op.backward:
            yield op


def _is_own(op: Op, form: _Normalisation, flow: Flow) -> bool:
    """Whether an op belongs to the normalisation of what is trained with."""
    return op is form.op or any(form.op in flow.readers.get(one, ()) for one in op.results) or op.name in KEEPING


def _used(gradient: Op, flow: Flow) -> Iterator[Op]:
    """Return where the trained network is used, outside of losses: as a call of the same function, or a layer."""
    trained = reached(flow, gradient.results)
    region = gradient.regions[0]
    learned = [one for at, one in enumerate(region.params) if at in (gradient.differentiated or ())]
    aliases = set(walk(learned, lambda one: ahead(flow, one, nothing)))
    calls = [op for op in region.walk() if op.name == "py.call" and op.regions]
    networks = {_definition(op) for op in calls if not aliases.isdisjoint(_read_by(op))}
    for op in flow.program.walk():
        if op.backward or not op.results or _is_in_loss(op, flow):
            continue
        own = op.name == "py.call" and bool(op.regions) and _definition(op) in networks
        if own and not trained.isdisjoint(_read_by(op)):
            yield op
        elif op.qualified.endswith(".__call__") and op.value("self") in trained:
            yield op
        elif plays(op.qualified, "module.apply") and op.value("variables", "params") in trained:
            yield op


def _definition(op: Op) -> Span:
    return op.regions[0].span


def _is_in_loss(op: Op, flow: Flow) -> bool:
    holders = [holder for _, holder in flow.places.up(flow.places.region_of[op])]
    return any(one is not None and one.name in DERIVATIVES for one in holders)


def _finding(form: _Normalisation, gradient: Op, side: str, used: Op) -> Obligation:
    spread = named(form.spread, "their spread")
    a_target = side == "target"
    undone = "its output is not brought back to the unit of the data" if a_target else "its input is not normalised"
    return Obligation(
        used.span,
        message=f"the network was trained on data divided by {spread}, which nothing applies here",
        current=f"here {undone}, and nothing else reads the statistics that were kept",
        expected="the statistics of training are applied wherever the network is used",
        steps=(
            Step(form.op.span, f"what it is trained with, its {side}, is normalised here"),
            Step(gradient.span, "it is trained here"),
            Step(form.spread.span, f"{spread} is computed here, and kept"),
        ),
        suggestion="multiply the output by the spread and add the mean" if a_target else "normalise the input alike",
    )
