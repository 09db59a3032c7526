"""The rule `invalid-input-type`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Program
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved, unknown, wrapping
from jaxaudit.rules.jit._shared.phrases import transform
from jaxaudit.rules.pytrees._shared.crossing import is_called
from jaxaudit.spans import NOWHERE


class InvalidInputType(Rule):
    """Something that is no array is given to a compiled function, and not declared static.

    ## What it does
    Looks at every call of a function under `jax.jit` or `jax.pmap`: each argument must be an array, a number, a
    container of these, or declared static.

    ## Why is this bad?
    JAX raises `TypeError: Cannot interpret value of type <class 'str'> as an abstract array`.

    ## Example
        @jax.jit
        def loss(x, mode):
            return x.mean() if mode == "mean" else x.sum()


        loss(x, "mean")

    ## Use instead
        @functools.partial(jax.jit, static_argnames=("mode",))
        def loss(x, mode):
            return x.mean() if mode == "mean" else x.sum()

    ## When it cannot tell
    Arguments whose type is not known are counted as unknown. A default that nobody overrides is not traced.
    """

    summary = "Text or a function is given to a compiled function that would have to declare it static."
    needs = (TracingFacts,)

    valid = """
    ## declared static
    import functools

    @functools.partial(jax.jit, static_argnames=("mode",))
    def loss(x, mode="mean"):
        return x.mean() if mode == "mean" else x.sum()

    def main(x):
        return loss(x, "sum") + loss(x, mode="mean") + loss(x)
    """
    invalid = """
    ## text
    @jax.jit
    def loss(x, mode):
        return x.mean() if mode == "mean" else x.sum()

    def main(x):
        return loss(x, "mean")  #!

    ## text deep in what a loader gives
    from typing import NamedTuple

    class Batch(NamedTuple):
        x: jax.Array
        meta: dict

    class Loader:
        def __init__(self, split):
            self.split = split

        def batches(self):
            for _ in range(3):
                yield Batch(jnp.zeros(3), {"source": {"split": self.split}})

    @jax.jit
    def mean(batch):
        return batch.x.mean()

    def main():
        return [mean(batch) for batch in Loader("train").batches()]  #!

    ## a function
    def apply(f, x):
        return f(x)

    def main(x):
        return jax.jit(apply)(jnp.sin, x)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every argument of every call of a compiled function."""
        yield from (one for visit in facts.get(TracingFacts).of("jit", "pmap") for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op = visit.op
    # Transformations of other libraries sort out themselves what JAX does not take.
    given = (op.given or ()) if package(op.spelling) in PLAIN else ()
    refused = False
    trees = op.border.trees if op.border is not None else ()
    for at, (name, kind, static) in enumerate(given):
        texts = dict(trees[at].texts()) if static is False and at < len(trees) else {}
        if static is False and (wrong := _wrong(kind, texts)):
            refused = True
            shown = f"`{name}`" if name else f"argument {at}"
            # What is written in the call itself needs no step that leads there.
            put = [(f"`{name}{path}`", one.made) for path, one in texts.items() if one.made != NOWHERE]
            steps = [Step(span, f"{what} is text: it is put in here") for what, span in put if not op.span.covers(span)]
            yield _violation(op, shown, name, wrong, (*steps[:1], *wrapping(op)))
    if given and not refused and is_called(op):
        yield _unrefused(visit, [kind for _, kind, static in given if static is not True])


_TAKEN = frozenset(("int", "float", "bool", "complex", "list", "dict", "tuple", "NoneType"))
"""Kinds that JAX takes as they are, or for what they hold."""


def _unrefused(visit: Visit, kinds: list[str]) -> Obligation:
    """Prove that JAX takes what a call traces, where all of it is known: what variables and containers hold, too."""
    op = visit.op
    held = [one for one, static in zip(op.operands, op.static or (), strict=False) if static is not True]
    unclear = next((one for one in held if not _is_data(visit.of(one))), None)
    if unclear is not None:
        return unknown(op.span, f"what {named(unclear, 'an argument')} is is not known")
    if not held and not _TAKEN.issuperset(kinds):
        return unknown(op.span, "what it is given is not known")
    return proved(op.span, "every argument is one JAX takes")


def _is_data(fact: Trace) -> bool:
    return fact.kind is Kind.TRACED or fact.what in ("array", "numpy", "number", "shape")


_NOT_TRACED = {
    "str": "text",
    "bytes": "bytes",
    "function": "a function",
    "flax.linen.Module": "a Flax module",
    "optax.GradientTransformation": "an optimiser (a tuple of functions)",
}


def _wrong(kind: str, texts: Mapping[str, Tree]) -> str:
    """Return what an argument is that cannot be traced; empty for one that can. `texts` is what it holds of these."""
    if texts and "" not in texts:
        return f"a {kind.rpartition(' ')[2] or 'container'} that holds text"
    for inner in ("str", "function"):
        if kind.startswith(f"{inner} in a "):
            return f"a {kind.removeprefix(f'{inner} in a ')} that holds {_NOT_TRACED[inner]}"
    is_function = kind.startswith(("function ", "jax.numpy.", "jax.nn.", "jax.lax."))
    return "a function" if is_function else _NOT_TRACED.get(kind, "")


def _violation(op: Op, shown: str, name: str, wrong: str, steps: tuple[Step, ...]) -> Obligation:
    static = f'static_argnames=("{name}",)' if name else "`static_argnums`"
    return Obligation(
        op.span,
        message=f"{shown} is {wrong}, which {transform(op)} does not take unless it is declared static",
        current=f"the call raises `TypeError`: {wrong} cannot be traced",
        raises=Raises.TRACING,
        expected="arguments that are no arrays are declared static",
        steps=steps,
        suggestion=f"declare it static: `jax.jit(..., {static})`" if name else f"declare it static with {static}",
    )
