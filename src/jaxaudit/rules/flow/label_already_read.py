"""The rule `label-already-read`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, depends, last, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import CAUSAL, NORMALISED_EXPONENTIALS
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, LOOPS, PASSED_ON
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_MODEL = """
import optax

def model(w, tokens):
    def read(h, token):
        h = jnp.tanh(w["in"][token] + h @ w["on"])
        return h, h @ w["out"]
    return jax.lax.scan(read, jnp.zeros(8), tokens)[1]

def loss(w, batch):
    logits = jax.vmap(lambda tokens: model(w, tokens))(batch)
    losses = optax.softmax_cross_entropy_with_integer_labels({pair}){mark}
    return losses.mean()

w = {{"in": jnp.ones((12, 8)), "on": jnp.eye(8), "out": jnp.ones((8, 12))}}
jax.grad(loss)(w, jnp.zeros((4, 9), int))
"""


class LabelAlreadyRead(Rule):
    """A model that reads step by step is asked for the very token that it has read in that step.

    ## What it does
    Looks at losses whose labels are what the model reads. From the prediction of each step it goes back through what
    is computed at that step alone: layers, elementwise functions, residual connections, the turn of a scan. Where that
    leads to the label itself, and the model sees no later steps (a scan, a triangular mask), the labels are not
    shifted.

    ## Why is this bad?
    The loss falls to zero, as the model only has to copy. Whoever samples from it gets the same token for ever.

    ## Example
        losses = cross_entropy(logits, tokens)

    ## Use instead
        losses = cross_entropy(logits[:, :-1], tokens[:, 1:])

    ## When it cannot tell
    Where the model may see all steps, or reads the tokens with some of them masked, it may be meant to restore them.
    """

    summary = "A model is asked for the token that it has just read."
    needs = (Shapes,)
    valid = (
        Example(_MODEL.format(pair="logits[:, :-1], batch[:, 1:]", mark=""), "the next token"),
        Example(
            "import optax\n\ndef loss(w, ids, hidden):\n    seen = jnp.where(hidden, 0, ids)\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(w[seen] @ w.T, ids).mean()\n",
            "hidden tokens are restored",
        ),
        Example(
            """
            import optax

            def loss(w, x, labels):
                return optax.softmax_cross_entropy_with_integer_labels(x @ w, labels).mean()

            def fit(w, x, labels):
                def body(w, _):
                    return w - 0.1 * jax.grad(loss)(w, x, labels), None
                return jax.lax.scan(body, w, None, length=9)[0]

            labels = jnp.arange(12) % 3
            x = jnp.ones((3, 4))[labels] + jax.random.normal(jax.random.key(0), (12, 4))
            fit(jnp.ones((4, 3)), x, labels)
            """,
            "examples that are made of their classes, and trained on in a loop",
        ),
    )
    invalid = (Example(_MODEL.format(pair="logits, batch", mark="  #!"), "the token of the same step"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loss whose labels the prediction is made of."""
        for op in program.walk():
            logits, labels = (op.argument("logits"), op.argument("labels")) if op.loss else (None, None)
            if isinstance(logits, Value) and isinstance(labels, Value):
                yield from _judge(op, logits, labels, facts)


def _judge(op: Op, logits: Value, labels: Value, facts: Facts) -> Iterator[Obligation]:
    flow, dtype = facts.flow, facts.get(Shapes).of(labels).dtype or ""
    (whole, begin), (scores, shift) = _cut(_source(labels, flow), flow), _cut(logits, flow)
    source = _source(whole, flow)
    if not dtype.startswith(("int", "uint")) or not depends(flow, scores, (source,)):
        return
    beside = list(walk((scores,), lambda one: _beside(one, flow)))
    read = [
        start + shift
        for one in beside
        for array, start in (_cut(_source(one, flow), flow),)
        if _source(array, flow) is source
    ]
    causal = _sees_no_later_steps(beside, flow)
    if not read or not causal:
        yield unknown(op.span, "which steps of the labels each prediction is made of is not known")
    elif all(begin > start for start in read):
        yield proved(op.span, "each prediction is compared with what is read after it")
    else:
        name = named(labels, named(source, "it"))
        yield Obligation(
            op.span,
            message=f"each prediction is made of its own label: the model reads {name} in that step",
            current="the model only has to hand on what it reads",
            expected="the prediction of each step is compared with what comes next",
            steps=(Step(source.span, "the model reads this, and it is also what is to be predicted"),),
            suggestion="compare `logits[:, :-1]` with `labels[:, 1:]`",
            cause=(labels,),
        )


def _cut(value: Value, flow: Flow) -> tuple[Value, int]:
    """Return the array that a value is a slice of, and how many entries are left out in front."""
    op = flow.own_maker(value)
    parts = index_parts(op.arguments.get("index")) if op is not None and op.name == "py.item" else ()
    starts = [part.get("start") or 0 for part in parts if isinstance(part, Mapping)]
    begins = [start for start in starts if start != 0]
    if op is None or not op.operands or len(starts) < max(len(parts), 1) or len(begins) > 1:
        return value, 0
    begin = begins[0] if begins else 0
    return (op.operands[0], begin) if isinstance(begin, int) and begin >= 0 else (value, 0)


def _source(value: Value, flow: Flow) -> Value:
    """Return the whole array that a value is, or is an element of, before it was handed on and reshaped."""

    def before(one: Value) -> Value | None:
        op = flow.own_maker(one)
        if op is not None and not op.regions:
            return op.operands[0] if op.name in KEEPING | PASSED_ON and op.operands else None
        found = _across(one, flow)
        return found[0] if len(found) == 1 else None

    return last(value, before)


def _across(one: Value, flow: Flow) -> Sequence[Value]:
    """Return what a value is on the other side of a border, in the same step."""
    op = flow.own_maker(one)
    if op is not None:
        carried = op.name in LOOPS and flow.position(op.results, one) < len(Loop(op).carried)
        return () if carried else behind(flow, one, nothing)
    loop, entry = flow.loop_of(one), flow.entered(one)
    if loop is not None:
        return [whole for param, whole in loop.elements if param is one]
    mapped = None if entry is None else Mapped.of(entry.op)
    elements = [whole for param, whole in mapped.elements if param is one] if mapped is not None else []
    return elements or behind(flow, one, nothing)


def _beside(one: Value, flow: Flow) -> Sequence[Value]:
    """Return what a value was computed from, each step from the same one."""
    op = flow.own_maker(one)
    if op is None or op.regions:
        return _across(one, flow)
    if op.name in ELEMENTWISE | KEEPING | PASSED_ON or op.function in _BY_STEP:
        return op.operands
    if op.name == "py.call_library":
        layer = op.value("self")
        return [value for value in op.operands if value is not layer] if op.qualified.endswith(".__call__") else ()
    if op.name == "py.unpack" or (op.name == "py.item" and isinstance(op.arguments.get("index"), int)):
        made = flow.maker(op.operands[0])
        return op.operands[:1] if made is not None and made.name == "py.call_library" else ()
    if op.name in ("py.item", "array.gather"):
        index = op.argument("index", "indices")
        return (index,) if isinstance(index, Value) else ()
    return op.operands[:1] if op.name == "array.dot" else ()


_BY_STEP = NORMALISED_EXPONENTIALS | {"one_hot"}


def _sees_no_later_steps(beside: Sequence[Value], flow: Flow) -> bool:
    """Whether steps are read one after the other, or a triangular mask hides the later ones."""
    loops = ((one, flow.loop_of(one)) for one in beside)
    elements = [loop for one, loop in loops if loop is not None and any(one is param for param, _ in loop.elements)]
    ops = [op for one in beside if (op := flow.own_maker(one)) is not None]
    masks = [mask for op in ops if isinstance(mask := op.argument("condition", "mask"), Value)]
    hidden = (flow.maker(one) for one in walk(masks, lambda one: behind(flow, one)))
    hides = any(op is not None and op.function in CAUSAL for op in hidden)
    return hides or (bool(elements) and not any(loop.op.reverse for loop in elements))
