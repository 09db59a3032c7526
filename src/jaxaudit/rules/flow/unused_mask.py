"""The rule `unused-mask`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.domain import Facts
from jaxaudit.analyses.lineage import Flow, flow_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Verdict
from jaxaudit.rules.flow.words import is_test, proved

_COMPARES = frozenset(
    """less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not logical_xor isnan
    isfinite isinf isclose bitwise_and bitwise_or invert""".split()
)
_MASKS = frozenset("tril triu tri make_causal_mask make_attention_mask combine_masks bernoulli one_hot".split())


class UnusedMask(Rule):
    """A mask or a random key is made and never used.

    ## What it does

    Finds variables that nothing reads and that hold a comparison of arrays, a triangular or causal mask, a random
    mask, or one of the keys of a split.

    ## Why is this bad?

    A mask is made to be applied. Where it is not, padding counts in the mean, the future leaks into attention, or
    dropout drops nothing; no shape is wrong and nothing is raised. A subkey that nobody draws from often means that
    somebody else draws from the wrong key.

    ## Example

    ```python
    valid = tokens != PAD
    return losses.mean()
    ```

    ## Use instead

    ```python
    valid = tokens != PAD
    return (losses * valid).sum() / valid.sum()
    ```

    ## When it cannot tell

    Whether the mask was needed is not known, so this is a warning. Name it with an underscore if it is not.
    """

    name = "unused-mask"
    family = "flow"
    summary = "A mask or a subkey is made and nothing reads it."

    valid = (
        Example(
            "import jax.numpy as jnp\n\ndef f(x, n):\n    mask = jnp.arange(8) < n\n    return (x * mask).sum()\n",
            "applied",
        ),
        Example("def f(i, n):\n    last = i == n - 1\n    return n\n", "not known to be of arrays"),
    )
    invalid = (
        Example(
            "import jax.numpy as jnp\n\ndef f(x, n):\n    mask = jnp.arange(8) < n  #?\n    return x.mean()\n",
            "never applied",
        ),
        Example(
            "import jax\n\ndef f(key, x):\n    key, sub = jax.random.split(key)  #?\n"
            "    return x + jax.random.normal(key, x.shape)\n",
            "a subkey",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every named mask and subkey."""
        flow = flow_of(program)
        yield from (one for op in program.walk() for one in _judge(op, flow))


def _judge(op: Op, flow: Flow) -> Iterator[Obligation]:
    if op.name == "py.unread" and op.attrs.get("kind") == "variable":
        values, name = op.attrs.get("values"), op.text("name")
        value = values[0] if isinstance(values, tuple) and len(values) == 1 else None
        what = _kind(value, flow) if isinstance(value, Value) else ""
        if what == "a subkey" and op.attrs.get("renews"):
            yield proved(UnusedMask.name, op.span, f"`{name}` is renewed for whoever comes next")
        elif what and not name.startswith("_"):
            yield _unused(op, what)
    elif op.name in ("array.map", "key.draw", "array.create", "array.convert", "py.unpack"):
        for value in op.results:
            if value.name and flow.is_read(value) and (what := _kind(value, flow)):
                yield proved(UnusedMask.name, op.span, f"`{value.name}`, {what}, is used")


def _kind(value: Value, flow: Flow) -> str:
    op = flow.maker(value)
    if op is None:
        return ""
    if op.name == "py.unpack":
        base = op.arguments.get("base")
        made = flow.maker(base) if isinstance(base, Value) else None
        return "a subkey" if made is not None and made.name == "key.split" else ""
    last = op.text("function").rpartition(".")[2]
    if last in _MASKS:
        return "a mask"
    return "a mask" if op.name == "array.map" and last in _COMPARES and _of_arrays(op, flow) else ""


def _of_arrays(op: Op, flow: Flow) -> bool:
    makers = [flow.maker(value) for value in values_in(op.arguments)]
    return any(made is not None and made.text("function").startswith("jax.") for made in makers)


def _unused(note: Op, what: str) -> Obligation:
    name = note.text("name")
    return Obligation(
        UnusedMask.name,
        note.span,
        Verdict.PROVED if is_test(note.span) else Verdict.VIOLATED,
        reason="this is test code, where it may not matter",
        severity=Severity.WARNING,
        message=f"`{name}`, {what}, is never used",
        current=f"{what} is made and bound to `{name}`; nothing reads it",
        expected=f"`{name}` is applied, or not made at all",
        suggestion=f"use `{name}` where it was meant, or remove it",
    )
