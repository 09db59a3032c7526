"""The rule `unused-mask`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import elements_of, maker_of_elements
from jaxaudit.analyses.queries import depends, holders, last, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import BOUNDS, CONJUNCTIONS, DISJUNCTIONS, EVEN, LINEAR, LOG_SPACE, LOGIC, MASKS, TRUTHS
from jaxaudit.ir.interfaces import given_as, moved
from jaxaudit.ir.ops import BODIES
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import goes_on_from

_MASK, _SUBKEY = "a mask", "a subkey"
_MAKES = ("array.map", "key.draw", "array.create", "array.convert", "py.unpack")


class UnusedMask(Rule):
    """A mask is made and never used.

    ## What it does
    Finds variables that nothing reads and that hold a comparison of arrays, a triangular or causal mask, or a random
    mask. A mean whose count is that of a mask, while the sum is over everything, uses
    the mask in one of two places.

    ## Why is this bad?
    A mask is made to be applied. Where it is not, padding counts in the mean, the future leaks into attention, or
    dropout drops nothing; no shape is wrong and nothing is raised.

    ## Example
        valid = tokens != PAD
        return losses.mean()

    ## Use instead
        valid = tokens != PAD
        return (losses * valid).sum() / valid.sum()

    ## When it cannot tell
    A mask may be left over, so this is a warning. It is an error where the function goes on to reduce or normalise
    something of the mask's own shape, or what the mask was sized by, or reads one of the two masks that it was
    combined of. Name it with an underscore if it is not needed. A subkey that nothing draws from may be left over too:
    it is left open, and `key-reused` speaks where somebody draws from the wrong one.
    """

    summary = "A mask is made and nothing reads it."
    needs = (Shapes,)

    valid = (
        Example("def f(x, n):\n    mask = jnp.arange(8) < n\n    return (x * mask).sum()\n", "applied"),
        Example("def f(i, n):\n    last = i == n - 1\n    return n\n", "not known to be of arrays"),
        Example(
            "def f(key, x):\n    key, sub = jax.random.split(key)\n    return x + jax.random.normal(key, x.shape)\n",
            "a subkey that is left over",
        ),
    )
    invalid = (
        Example(
            "def centred(x, n):\n    _mask = jnp.arange(x.shape[0]) < n\n"
            "    kept = x * _mask[:, None]\n    return kept - kept.sum(0) / n, _mask\n\n"
            "def f(x, n):\n    kept, mask = centred(x, n)  #?\n    return (kept ** 2).sum() / n\n",
            "applied already, and left over: a warning",
        ),
        Example("def f(x, n):\n    mask = jnp.arange(8) < n  #?\n    return x.mean()\n", "never applied"),
        Example(
            "def f(x, lengths):\n"
            "    valid = jnp.arange(x.shape[1])[None] < lengths[:, None]  #!\n    return jnp.mean(x)\n\n"
            "f(jnp.ones((3, 5)), jnp.array([1, 4, 2]))\n",
            "padding counts in the mean",
        ),
        Example(
            "def pooled(x, mask):  #!\n    return x.mean(axis=1)\n\n"
            "def f(x, lengths):\n    return pooled(x, jnp.arange(5) < lengths[:, None])\n\n"
            "f(jnp.ones((3, 5, 2)), jnp.array([1, 4, 2]))\n",
            "given and never read",
        ),
        Example(
            "import optax\n\ndef f(logits, labels, lengths):\n"
            "    valid = jnp.arange(logits.shape[1])[None] < lengths[:, None]  #!\n"
            "    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()\n",
            "sized by what is reduced",
        ),
        Example(
            "def f(x, y, lengths):\n"
            "    valid = jnp.arange(x.shape[1])[None] < lengths[:, None]\n    errors = jnp.square(x - y)\n"
            "    return errors.sum() / valid.sum()  #!\n",
            "counted and not applied",
        ),
        Example(
            "def f(scores, tokens):\n    causal = jnp.tril(jnp.ones((8, 8), bool))\n"
            "    valid = (tokens > 0)[:, None, :]\n    both = causal & valid  #!\n"
            "    return jnp.where(valid, scores, -1e9)\n",
            "one of two masks is applied",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every named mask and subkey."""
        flow, shapes = facts.flow, facts.get(Shapes)
        yield from (one for op in program.named("py.unread", *_MAKES) for one in _judge(op, flow, shapes))
        yield from (_half(*found) for found in half_applied(program, flow, shapes))


def _judge(op: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    if op.name != "py.unread":
        for value in op.results:
            if value.name and flow.is_read(value) and (what := _kind(value, flow, shapes)):
                yield proved(op.span, f"`{value.name}`, {what}, is used")
        return
    value = noted(op)
    if value is not None and op.kind == "variable":
        what = _kind(value, flow, shapes)
        if what == _SUBKEY and op.renews:
            yield proved(op.span, f"`{op.label}` is renewed for whoever comes next")
        elif what == _SUBKEY:
            yield unknown(op.span, f"nothing draws from the subkey `{op.label}`, which may be left over")
        elif what and not op.label.startswith("_"):
            yield _unused(op, reduced_without(op, value, flow, shapes) or _part_applied(op, value, flow))
    elif value is not None and op.kind == "parameter" and _is_given_masks(op, value, flow, shapes):
        missed = reduced_without(op, value, flow, shapes)
        if missed is not None:
            yield _unused(op, missed)


def _kind(value: Value, flow: Flow, shapes: Shapes) -> str:
    op = flow.maker(value)
    if op is not None and op.name == "py.unpack":
        made = flow.maker(op.operands[0]) if op.operands else None
        return _SUBKEY if made is not None and made.name == "key.split" else ""
    return _MASK if is_mask(value, flow, shapes) else ""


def _part_applied(note: Op, value: Value, flow: Flow) -> Op | None:
    """Return the op that reads one part of a combined mask after the whole was made."""
    made = flow.maker(value)
    if made is None or len(made.operands) != 2:
        return None
    if made.function not in CONJUNCTIONS | DISJUNCTIONS and made.operator not in ("and", "or"):
        return None

    def is_part(name: str, leaves: tuple[Value, ...]) -> bool:
        return len(leaves) == 1 and leaves[0] in made.operands

    late = [leaves[0] for _, leaves, _ in goes_on_from(note, flow, is_part)]
    readers = (op for one in late for op in flow.readers.get(one, ()) if op.span.line > made.span.line)
    return next(readers, None) if len(late) == 1 else None


def _is_given_masks(note: Op, param: Value, flow: Flow, shapes: Shapes) -> bool:
    """Whether calls give a mask for a parameter whose name does not say that it is unused."""
    region = flow.places.region_of[note]
    if note.is_method or param not in region.params or is_unwanted(note.label):
        return False
    calls = [call for call in holders(flow, region) if call.name in BODIES]
    given = [one for call in calls for one in given_as(call, region, param)]
    return bool(given) and all(_kind(one, flow, shapes) == _MASK for one in given)


def _half(quotient: Op, mask: Value, total: Op) -> Obligation:
    name = named(mask, "the mask")
    return Obligation(
        total.span,
        message=f"everything is summed here, and divided by the count of {name} alone",
        current=f"what {name} leaves out is in the sum, and not in the count",
        expected=f"the sum is over what {name} lets through",
        steps=(Step(quotient.span, "the sum is divided by the count here"),),
        suggestion=f"multiply by {name} before the sum",
    )


def _unused(note: Op, missed: Op | None) -> Obligation:
    name = note.label
    steps = () if missed is None else (Step(missed.span, "everything counts here, whatever the mask says"),)
    return Obligation(
        note.span,
        severity=Severity.WARNING if missed is None else Severity.ERROR,
        message=f"`{name}`, a mask, is never used",
        current=f"a mask is made and bound to `{name}`; nothing reads it",
        expected=f"`{name}` is applied, or not made at all",
        steps=steps,
        suggestion=f"use `{name}` where it was meant, or remove it",
    )


def is_mask(value: Value, flow: Flow, shapes: Shapes) -> bool:
    """Whether a value is a comparison of arrays, or a mask by the function that makes it; cast or not."""
    op = maker_of_elements(flow, value)
    if op is None or op.function in MASKS:
        return op is not None
    if op.name != "array.map" or op.function not in TRUTHS | LOGIC:
        return False
    makers = [maker_of_elements(flow, one) for one in op.operands]
    of_arrays = any(made is not None and made.qualified.startswith("jax.") for made in makers)
    return bool(shapes.of(op.result).dims) or of_arrays


def reduced_without(note: Op, mask: Value, flow: Flow, shapes: Shapes) -> Op | None:
    """Return a later op that reduces or normalises what the mask must have been made for."""
    ops = flow.places.region_of[note].ops
    later = [op for op in ops[ops.index(note) + 1 :] if op.name in ("array.reduce", "array.normalise") and op.operands]
    wanted = shapes.of(mask).dims
    if wanted and not all(dim.constant == 1 for dim in wanted):
        compared = _compared(mask, flow)
        for op in later:
            dims = shapes.of(op.operands[0]).dims
            if dims is not None and _lines_up(wanted, dims) and not depends(flow, op.operands[0], compared):
                return op
    sized, read = _sized_by(mask, flow)
    # What else was computed from the numbers behind the mask may have left out by them what the mask would.
    without = (op for op in later if not depends(flow, op.operands[0], read))
    return next((op for op in without if depends(flow, op.operands[0], sized)), None)


def _compared(mask: Value, flow: Flow) -> list[Value]:
    """Return what a mask was compared from: a reduction of the same data may well be about them."""
    made = maker_of_elements(flow, mask)
    return [] if made is None else [value for value in made.operands if flow.maker(value) is not None]


def _sized_by(mask: Value, flow: Flow) -> tuple[set[Value], set[Value]]:
    """Return the arrays whose shape, and nothing else of them, a mask was made from, and what else it was made from."""

    def before(value: Value) -> tuple[Value, ...]:
        op = flow.maker(value)
        return () if op is None or op.regions or op.name == "array.shape" else op.operands

    sized, read = set[Value](), set[Value]()
    for value in walk((mask,), before):
        op = flow.maker(value)
        if op is None or op.regions:
            read.add(value)
        elif op.name == "array.shape":
            sized.update(op.operands)
    return sized - read, read


def _lines_up(mask: Dims, dims: Dims) -> bool:
    """Whether a mask could be applied to an array: it goes with its last axes, or with its first."""
    return len(dims) >= len(mask) and any(
        all(one.constant == 1 or (one - other).constant == 0 for one, other in zip(mask, part, strict=True))
        for part in (dims[-len(mask) :], dims[: len(mask)])
    )


def half_applied(program: Program, flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Value, Op]]:
    """Return every mean that counts by a mask and sums without it: the quotient, the mask, and the sum."""
    for op in program.mapping("divide"):
        above, below = (_sum(value, flow) for value in op.operands) if len(op.operands) == 2 else (None, None)
        if above is None or below is None or above is below or above.argument("axis") != below.argument("axis"):
            continue
        mask = below.operands[0]
        if is_mask(mask, flow, shapes) and _is_unmasked(above.operands[0], mask, flow):
            yield op, mask, above


def _sum(value: Value, flow: Flow) -> Op | None:
    """Return the sum that a value is, or that it is a bound on: `maximum(count, 1)`."""

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        bounded = op is not None and len(op.operands) == 1 and (op.function in BOUNDS or op.function == "add")
        return op.operands[0] if op is not None and bounded else moved(op)

    op = flow.maker(last(value, before))
    return op if op is not None and op.name == "array.reduce" and op.function == "sum" and op.operands else None


def _is_unmasked(value: Value, mask: Value, flow: Flow) -> bool:
    """Whether what is summed was computed here, and by nothing that could have masked it."""
    made = flow.maker(value)
    if made is None or depends(flow, value, (elements_of(flow, mask), mask)):
        return False
    if made.name == "py.call_library":
        return made.loss
    return made.name == "array.map" and made.function in EVEN | LOG_SPACE | LINEAR | {"exp"}
