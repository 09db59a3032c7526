"""The rule `changed-copy-dropped`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import entered, left, through_ops, walk
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import BRANCHES, LOOPS, REMARKS, STORES
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.libraries.packages import HANDING_BACK
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown, wrapping
from jaxaudit.rules.pytrees._shared.evaluations import AVERAGING, gradient_around, is_training

_CHANGING = playing("model.train", "model.update", "object.change")
_HELD = through_ops("py.container")

_TRAINED = """
## {title}
import optax
from flax import nnx

def loss_fn(model, x, y):
    return jnp.mean((model(x) - y) ** 2)

{decorator}
def step(model, optimizer, x, y):
    grads = nnx.grad(loss_fn)(model, x, y)
    optimizer.update(model, grads){mark}
    return {result}

def main(x, y):
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for _ in range(9):
        {given}step(model, optimizer, x, y)
    print(model(x))
"""

_VALID = """
## a dict that is handed out again
@jax.jit
def count(stats, x):
    stats["seen"] = stats["seen"] + x.sum()
    return stats

def main(x):
    return count({"seen": jnp.zeros(())}, x)

## a change for the code inside
@jax.jit
def loss(batch):
    batch["x"] = batch["x"] / 255.0
    return (batch["x"] ** 2).mean()

def main(x):
    return loss({"x": x})

## where nothing is traced
import dataclasses

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Schedule:
    rate: jax.Array
    shown: float

def step(schedule, x):
    rate = schedule.rate * 0.5
    if not isinstance(rate, jax.core.Tracer):
        schedule.shown = float(rate)
    return x - rate

def later(schedule, x):
    if isinstance(x, jax.core.Tracer):
        return x - schedule.rate
    schedule.shown = float(x.sum())
    return x

def main(x):
    schedule = Schedule(jnp.ones(()), 1.0)
    return step(schedule, x), jax.jit(step)(schedule, x), jax.jit(later)(schedule, x)

## a list of its own
@jax.jit
def outer(x):
    parts = []
    parts.append(x)
    parts.append(x + 1)
    return x

## put into one array where it is handed out
@jax.jit
def outer(parts, x):
    for i in range(3):
        parts.append(x * i)
    return jnp.stack(parts)

def main(x):
    return outer([x], x)
""" + "".join(
    _TRAINED.format(title=title, decorator=decorator, mark="", result=result, given=given)
    for title, decorator, result, given in (
        ("a transformation that hands changes back", "@nnx.jit", "0", ""),
        ("handed out", "@jax.jit", "model, optimizer", "model, optimizer = "),
        ("read inside after the change", "@jax.jit", "loss_fn(model, x, y)", ""),
        ("its new state handed out", "@jax.jit", "nnx.state((model, optimizer))", "state = "),
    )
)

_INVALID = """
## an entry of a dict
@jax.jit
def count(stats, x):
    stats["seen"] = stats["seen"] + x.sum()  #!
    return x * 2

def main(x):
    return count({"seen": jnp.zeros(())}, x)

## a method of a registered class
from dataclasses import dataclass

@jax.tree_util.register_dataclass
@dataclass
class Buffer:
    data: jax.Array
    size: jax.Array

    def push(self, x):
        self.data = self.data.at[self.size].set(x)  #!

@jax.jit
def collect(buffer, x):
    buffer.push(x)
    return x

def main(x):
    buffer = Buffer(jnp.zeros(8), jnp.array(0))
    collect(buffer, x)
    return buffer

## a list of the caller's, element by element
def main(xs):
    seen = [jnp.zeros(3)]

    def one(seen, x):
        seen.append(x * 2)  #!
        return x

    return jax.vmap(one, in_axes=(None, 0))(seen, xs), seen

## a variable of a module
from flax import nnx

class Counted(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls.value = self.calls.value + 1  #!
        return self.linear(x)

def main(x):
    model = Counted(nnx.Rngs(0))
    forward = jax.jit(lambda model, x: model(x))
    forward(model, x)
    print(forward(model, x), model.calls)

## averages of a layer
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x):
        return self.norm(x)  #!

def main(xs):
    model = Net(nnx.Rngs(0))
    for x in xs:
        grads = jax.grad(lambda model: (model(x) ** 2).sum())(model)
        nnx.update(model, jax.tree.map(lambda p, g: p - g, nnx.state(model), nnx.state(grads)))
    model.eval()
    return model(xs[0])

""" + _TRAINED.format(title="a model", decorator="@jax.jit", mark="  #!", result="0", given="")


class ChangedCopyDropped(Rule):
    """An argument of a compiled function is changed in place, and the change is lost.

    ## What it does
    Looks at what code under `jax.jit`, `jax.vmap`, `jax.grad` and their kin changes in place of what it was given:
    attributes of registered classes, entries of dicts, items of lists, models and optimizers of `flax.nnx`.

    ## Why is this bad?
    JAX takes arguments apart and puts copies of them together inside. What changes a copy changes nothing outside, and
    raises nothing: the model never learns, the buffer stays empty.

    ## Example
        @jax.jit
        def step(model, optimizer, x):
            optimizer.update(model, nnx.grad(loss)(model, x))

    ## Use instead
        @nnx.jit
        def step(model, optimizer, x):
            optimizer.update(model, nnx.grad(loss)(model, x))

    ## When it cannot tell
    What reads the changed copy inside may be all that it was changed for. That stays open, and so does a change that
    only happens where something is found not to be traced.
    """

    summary = "An argument is changed in place inside a transformation, which changes a copy."
    needs = (TracingFacts,)

    valid = _VALID
    invalid = _INVALID

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every change in place of what came into a transformation as an argument."""
        flow, tracing = facts.flow, facts.get(TracingFacts)
        stores = {op: found for op in program.named(*STORES) if (found := _copied_by(flow, op)) is not None}
        asked = {op for op, border in stores.items() if tracing.is_asked(flow.around(op, border))}
        kept = {op: None if op in asked else _stored(flow, op, border) for op, border in stores.items()}
        useful = {op.object_id for op, found in kept.items() if found is not False}
        open_spans = {op.span for op, found in kept.items() if found is None}
        for op, border in stores.items():
            sure = None if op.span in open_spans else kept[op]
            yield _judge(op, border, sure, Severity.WARNING if op.object_id in useful else Severity.ERROR)
        layers = (op for op in program.calling(*AVERAGING) if _trains(flow, op))
        for op in (*program.calling(*_CHANGING), *program.named("py.store_attr"), *layers):
            for border, held in _changed(flow, op).items():
                asked_first = tracing.is_asked(flow.around(op, border))
                yield _judge(op, border, None if asked_first else _kept(flow, op, border, held))


def _trains(flow: Flow, op: Op) -> bool:
    """Whether a layer changes the averages that it keeps, because a gradient is taken of it."""
    own = plays(op.qualified.removesuffix(".__call__"), "module.own_averages")
    gradient = gradient_around(flow, op) if own else None
    return gradient is not None and is_training(op, flow, until=gradient) is True


def _copied_by(flow: Flow, op: Op) -> Op | None:
    """Return the transformation that copied the object which an op changes."""
    if op.object_id is None or any(base.startswith(("flax.linen", "haiku")) for base in map(str, op.bases or ())):
        return None
    around = (one for _, one in flow.places.up(flow.places.region_of[op]) if one is not None)
    found = next((one for one in around if one.entered and one.entered[1] < op.object_id <= (one.arrived or 0)), None)
    return None if found is None or _hands_back(found) else found


def _hands_back(op: Op) -> bool:
    return op.spelling.rpartition(".")[0] in HANDING_BACK


def _stored(flow: Flow, op: Op, border: Op) -> bool | None:
    """Whether a stored value leaves a transformation; None where code inside reads it, or it is not known."""
    values = list(values_in(op.arguments.get("value")))
    repeated = any(one.name in LOOPS or one.name in BRANCHES for one in flow.around(op, border))
    if (op.name == "py.append" and repeated) or any(values_in(op.arguments.get("index"))):
        # What a container holds is not kept apart where nobody knows its length or the place.
        return None
    # What a container of open size becomes is a value of its own, and holds what was stored.
    names = list(walk((*values, *op.results), lambda one: _outwards(flow, one, border)))
    if any(border.regions[0] in flow.leaving.get(one, ()) for one in names):
        return True
    is_read = any(one is not op and one.name not in REMARKS for name in names for one in flow.readers.get(name, ()))
    return None if is_read or not values else False


def _outwards(flow: Flow, value: Value, border: Op) -> Iterable[Value]:
    """Return what a value is called outside of the branches, loops and calls that it leaves inside of an op."""
    return () if border.regions[0] in flow.leaving.get(value, ()) else left(flow, value)


def _changed(flow: Flow, op: Op) -> dict[Op, list[Value]]:
    """Return the leaves of the objects that an op changes, as those transformations have them that copied these."""
    first = op.argument("self", "node") if op.name != "py.store_attr" else op.arguments.get("object")
    given = op.arguments.get("args") if plays(op.qualified, "model.train") else None
    changed = (first, given[0] if isinstance(given, tuple) and given else None)
    found: dict[Op, list[Value]] = {}
    for leaf in (leaf for one in values_in(changed) for leaf in _leaves(flow, one)):
        entry = flow.entered(leaf)
        while entry is not None and (entry.op.in_place or _hands_back(entry.op)) and entry.op.operands:
            leaf = entry.op.operands[flow.position(entry.region.params, leaf)]
            entry = flow.entered(leaf)
        if entry is not None and entry.op.entered is not None and entry.op.spelling and not _is_static(entry, leaf):
            found.setdefault(entry.op, []).append(leaf)
    return found


def _leaves(flow: Flow, value: Value) -> Iterator[Value]:
    """Return the leaves that an object was put together of; itself where it was not."""
    made = flow.maker(value)
    return iter(made.operands if made is not None and _HELD(made) else (value,))


def _is_static(entry: tuple[Op, Region], leaf: Value) -> bool:
    op, region = entry
    static = op.static or ()
    at = region.params.index(leaf)
    return at < len(static) and static[at] is not False


def _kept(flow: Flow, op: Op, border: Op, held: Collection[Value]) -> bool | None:
    """Whether changed objects leave the transformation; None where code inside reads them after the change."""
    region = border.regions[0]
    names = list(walk(held, lambda one: _aliases(flow, one, border)))
    if any(one in region.results for one in names):
        return True
    loop = next((one for one in flow.around(op, border) if one.name in LOOPS), op)
    readers = {one for value in names for one in flow.readers.get(value, ()) if one is not op and not one.regions}
    later = (one for one in readers if flow.places.order[one] > flow.places.order[loop] and not _HELD(one))
    return None if any(one.name not in REMARKS for one in later) else False


def _aliases(flow: Flow, value: Value, border: Op) -> Iterator[Value]:
    """Return what an object is called elsewhere inside of a transformation."""
    for op in flow.readers.get(value, ()):
        yield from op.results if _HELD(op) else entered(op, value) if op.regions else ()
    yield from _outwards(flow, value, border)


def _judge(op: Op, border: Op, kept: bool | None, severity: Severity = Severity.ERROR) -> Obligation:
    if kept:
        return proved(op.span, f"what changes here leaves `{border.spelling}` again")
    if kept is None:
        return unknown(op.span, "a copy is changed here; whether for the code inside alone is not known")
    plain = border.spelling or border.name
    thing = f"`{op.label}`" if op.name == "py.store_attr" and op.label else named(op.argument("self", "node"), "this")
    return Obligation(
        op.span,
        severity=severity,
        message=f"{thing} is changed inside `{plain}`, which changes a copy, and the copy is dropped",
        current=f"`{plain}` gives its function copies of what it is called with: the caller's object stays as it was",
        expected="what changes is returned, and takes the place of the old one outside",
        steps=(*wrapping(border), Step(border.span, f"it comes into `{plain}` as an argument here")),
        suggestion="return the changed object and bind it again; for `flax.nnx`, use its own transformation",
    )
