"""The rule `none-leaf`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved
from jaxaudit.spans import Span


class NoneLeaf(Rule):
    """A function that is mapped over a tree waits for `None`, which never comes.

    ## What it does
    Finds functions given to `jax.tree.map` without `is_leaf` that ask whether their first argument is `None` and do
    something else than leave it so.

    ## Why is this bad?
    `None` is an empty tree, not a leaf: the function is never called for it. Missing entries stay missing, silently.

    ## Example
        jax.tree.map(lambda v: jnp.zeros(3) if v is None else v, batch)

    ## Use instead
        jax.tree.map(lambda v: jnp.zeros(3) if v is None else v, batch, is_leaf=lambda v: v is None)

    ## When it cannot tell
    A function with a name may be called elsewhere with `None`: then it is a warning.
    """

    summary = "A function mapped over a tree handles `None`, but `None` is no leaf."

    valid = (
        Example(
            "def f(t):\n"
            "    return jax.tree.map(lambda v: jnp.zeros(3) if v is None else v, t, is_leaf=lambda v: v is None)\n",
            "told so",
        ),
        Example("def f(g):\n    return jax.tree.map(lambda v: None if v is None else 2 * v, g)\n", "left None"),
        Example(
            "def f(p, g):\n    return jax.tree.map(lambda a, b: a if b is None else a - b, p, g)\n",
            "the second tree may hold None",
        ),
    )
    invalid = (
        Example("def f(t):\n    return jax.tree.map(lambda v: jnp.zeros(3) if v is None else v, t)  #!\n", "filled in"),
        Example(
            "def fill(v):\n    if v is None:\n        return jnp.zeros(3)\n"
            "    return v\n\ndef f(t):\n    return jax.tree.map(fill, t)  #?\n",
            "a function with a name",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mapped function that asks for None."""
        yield from (one for op in program.named("tree.map") for one in _judge(op, facts.flow))


def _judge(op: Op, flow: Flow) -> Iterator[Obligation]:
    region = op.regions[0]
    if not region.params:
        return
    for test in region.ops:
        if test.name == "py.operator" and test.operator in ("is", "is not") and _asks(test, region.params[0]):
            if op.is_leaf:
                yield proved(op.span, "`is_leaf` decides what counts as a leaf")
            elif any(_replaces(branch, test, region.params[0], flow) for branch in flow.readers.get(test.result, ())):
                yield _never(op, test)
            else:
                yield proved(op.span, "where the leaf is None, None is what is left")


def _asks(test: Op, leaf: Value) -> bool:
    return test.arguments.get("x") is leaf and test.arguments.get("y", "") is None


def _replaces(branch: Op, test: Op, leaf: Value, flow: Flow) -> bool:
    """Whether the branch for None gives something else than None."""
    if branch.name != "py.branch" or len(branch.regions) != 2:
        return False
    arm = branch.regions[0 if test.operator == "is" else 1]
    return any(value is not leaf and not _is_none(value, flow) for value in _given(arm))


def _given(arm: Region) -> tuple[Value, ...]:
    if arm.exit is Exit.RETURN:
        return next((op.operands for op in reversed(arm.ops) if op.name == "py.return"), ())
    return arm.results if arm.exit is Exit.FALL else ()


def _is_none(value: Value, flow: Flow) -> bool:
    made = flow.maker(value)
    return made is not None and made.name == "py.const" and made.constant is None


def _never(op: Op, test: Op) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.ERROR if op.inline else Severity.WARNING,
        message="`tree.map` never calls its function for `None`, which is no leaf",
        current="entries that are None stay None; the branch that handles them never runs",
        expected="None counts as a leaf here",
        steps=(
            Step(test.span, "this is never true under `tree.map`"),
            *([Step(_end(op.span), "`is_leaf` is not given")] if op.span.end_line > op.span.line else ()),
        ),
        suggestion="add `is_leaf=lambda x: x is None`",
    )


def _end(span: Span) -> Span:
    """Return the last character of a stretch."""
    return span._replace(line=span.end_line, column=max(span.end_column - 1, 0))
