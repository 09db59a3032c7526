"""The rule `index-not-integer`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.values import Symbol, index_parts
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved
from jaxaudit.rules.numerics._shared.floats import floats


class IndexNotInteger(Rule):
    """An array is indexed by floats, or by text as if it were a dict.

    ## What it does
    Looks at every index into an array that is computed, at those of `.at[]`, `take`, `take_along_axis` and at the
    starts of dynamic slices, and asks whether it is of integers. A quotient never is, nor is what `floor` and `round`
    give of floats.

    ## Why is this bad?
    JAX and NumPy refuse it, but only once this line runs. The loss in the place of the metrics is a common case of
    text.

    ## Example
        middle = x[x.shape[0] / 2]
        nearest = table[jnp.round(position)]

    ## Use instead
        middle = x[x.shape[0] // 2]
        nearest = table[jnp.round(position).astype(jnp.int32)]

    ## When it cannot tell
    When the index comes from outside: nothing is said of it.
    """

    summary = "An index is a float, an array of floats, or text, which raises."
    needs = (Shapes, TracingFacts)
    always_raises = True

    valid = """
    ## integers, masks, and keys of dicts
    def f(x, scores):
        rows = {0.5: x, 1.0: x + 1}
        at = jnp.floor(0.5 * scores).astype(jnp.int32)
        middle = jnp.zeros(9)[x.shape[0] // 2]
        return jnp.zeros(9)[at], jnp.zeros(9).at[at].add(1.0), middle, rows[1 / 2], jnp.ones(4)[jnp.ones(4) > 0.5]

    ## metrics in their place
    def evaluate(loss_fn, params, batch):
        (loss, metrics), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        value, metrics_too = loss_fn(params, batch)
        return grads, loss, metrics["accuracy"] + metrics_too["accuracy"], value

    ## a range between sizes that have names
    def starts_of_rows():
        cells, width = 24, 6
        return jnp.zeros(cells, dtype=bool).at[jnp.arange(0, cells, width)].set(True)
    """
    invalid = """
    ## a quotient
    def middle(x):
        rows = x.shape[0]
        return x[rows / 2]  #!

    ## an array for a dict
    def evaluate(loss_fn, params, batch):
        (metrics, loss), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        return grads, loss, metrics["accuracy"]  #!

    def totals(scores):
        total = jnp.sum(scores)
        total["mean"] = jnp.mean(scores)  #!
        return total

    ## rounded floats
    def nearest(table, position):
        at = jnp.round(0.5 * position)
        counts = jnp.zeros(9).at[at].add(1.0)  #!
        return jnp.take(table, at, axis=0), counts  #!

    def window(x, share):
        start = jnp.floor(share * 0.5)
        return jax.lax.dynamic_slice(x, (start,), (4,))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every index that is computed and of a known type."""
        shapes = facts.get(Shapes)
        kinds = python_values(facts)
        for op in program.named("py.item", "py.set_item"):
            base = op.argument("base")
            made = facts.flow.maker(base) if isinstance(base, Value) else None
            # What a part of a tree is, an array or a tree by itself, is not told by how it was traced.
            is_part = made is None or made.name in ("py.element", "py.item", "py.attr", "tree.leaf")
            if (name := _name(op)) and kinds.is_jax_array(base) and not is_part:
                yield _named(op, name)
        for op in program.named("py.item", "array.at", "array.gather", "array.scatter"):
            base = op.argument("base", "a", "arr", "operand")
            if op.name == "py.item" and not (isinstance(base, Value) and _is_array(base, facts)):
                continue
            found = [one for one in _indices(op) if isinstance(one, Value)]
            wrong = next((one for one in found if floats(facts)(one)), None)
            if wrong is not None:
                yield _violated(op, wrong, facts)
            elif found and all("int" in (shapes.of(one).dtype or "") for one in found):
                yield proved(op.span, "what it is indexed by is of integers")


def _is_array(value: Value, facts: Facts) -> bool:
    """Whether something is an array, or has a shape as arrays do."""
    if facts.get(Shapes).of(value).dims or python_values(facts).is_jax_array(value):
        return True
    return any(op.name == "array.shape" for op in facts.flow.readers.get(value, ()))


def _indices(op: Op) -> Iterator[Argument]:
    """Return every part of an index, and every start of a slice."""
    for name in ("index", "indices", "start_index", "start_indices"):
        if op.has(name):
            yield from index_parts(op.arguments[name])


def _name(op: Op) -> str:
    """Return the text among what something is indexed by; empty where there is none."""
    texts = [one for one in _indices(op) if isinstance(one, str) and not isinstance(one, Symbol)]
    return texts[0] if texts else ""


def _named(op: Op, name: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"{named(op.base, 'this')} is an array, which has no entry `{name}`",
        current="this raises an error as soon as the line runs",
        raises=Raises.TRACING,
        expected="a dict, or an index of integers",
        suggestion="read the entry of the dict that was meant",
    )


def _violated(op: Op, index: Value, facts: Facts) -> Obligation:
    maker = facts.flow.maker(index)
    return Obligation(
        op.span,
        message=f"{named(index, 'the index')} is of floats, and only integers index an array",
        current="JAX raises an error as soon as this line is traced",
        raises=Raises.TRACING,
        expected="an index of integers",
        steps=(Step(maker.span, "it is made here"),) if maker is not None and maker.span != op.span else (),
        suggestion="divide by `//`, or convert it: `.astype(jnp.int32)`",
    )
