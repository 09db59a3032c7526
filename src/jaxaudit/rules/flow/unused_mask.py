"""The rule `unused-mask`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import holders
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import CONJUNCTIONS, DISJUNCTIONS
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import BODIES
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved
from jaxaudit.rules.flow._shared.masks import half_applied, is_mask, reduced_without
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import goes_on_from

_MASK, _SUBKEY = "a mask", "a subkey"
_MAKES = ("array.map", "key.draw", "array.create", "array.convert", "py.unpack")


class UnusedMask(Rule):
    """A mask or a random key is made and never used.

    ## What it does
    Finds variables that nothing reads and that hold a comparison of arrays, a triangular or causal mask, a random
    mask, or one of the keys of a split. A mean whose count is that of a mask, while the sum is over everything, uses
    the mask in one of two places.

    ## Why is this bad?
    A mask is made to be applied. Where it is not, padding counts in the mean, the future leaks into attention, or
    dropout drops nothing; no shape is wrong and nothing is raised. A subkey that nobody draws from often means that
    somebody else draws from the wrong key.

    ## Example
        valid = tokens != PAD
        return losses.mean()

    ## Use instead
        valid = tokens != PAD
        return (losses * valid).sum() / valid.sum()

    ## When it cannot tell
    A mask may be left over, so this is a warning. It is an error where the function goes on to reduce or normalise
    something of the mask's own shape, or what the mask was sized by, or reads one of the two masks that it was
    combined of. Name it with an underscore if it is not needed.
    """

    summary = "A mask or a subkey is made and nothing reads it."
    needs = (Shapes,)

    valid = (
        Example("def f(x, n):\n    mask = jnp.arange(8) < n\n    return (x * mask).sum()\n", "applied"),
        Example("def f(i, n):\n    last = i == n - 1\n    return n\n", "not known to be of arrays"),
    )
    invalid = (
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
        Example(
            "def f(key, x):\n    key, sub = jax.random.split(key)  #?\n"
            "    return x + jax.random.normal(key, x.shape)\n",
            "a subkey",
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
        elif what and not op.label.startswith("_"):
            masks = what == _MASK
            missed = (reduced_without(op, value, flow, shapes) or _part_applied(op, value, flow)) if masks else None
            yield _unused(op, what, missed)
    elif value is not None and op.kind == "parameter" and _is_given_masks(op, value, flow, shapes):
        missed = reduced_without(op, value, flow, shapes)
        if missed is not None:
            yield _unused(op, _MASK, missed)


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


def _unused(note: Op, what: str, missed: Op | None) -> Obligation:
    name = note.label
    steps = () if missed is None else (Step(missed.span, "everything counts here, whatever the mask says"),)
    return Obligation(
        note.span,
        severity=Severity.WARNING if missed is None else Severity.ERROR,
        message=f"`{name}`, {what}, is never used",
        current=f"{what} is made and bound to `{name}`; nothing reads it",
        expected=f"`{name}` is applied, or not made at all",
        steps=steps,
        suggestion=f"use `{name}` where it was meant, or remove it",
    )
