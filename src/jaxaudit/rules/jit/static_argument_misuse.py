"""The rule `static-argument-misuse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved, unknown
from jaxaudit.spans import Span

_NO_HASH = "unhashable "
"""What a front end says before the class of an object that cannot be hashed."""


class StaticArgumentMisuse(Rule):
    """A static argument cannot be hashed, or names no parameter.

    ## What it does
    Looks at `static_argnums` and `static_argnames`: do they fit the function's parameters, and is what the calls give
    for them hashable?

    ## Why is this bad?
    JAX keeps compiled code by the hash of the static arguments. Lists, dicts, sets and arrays have none, so the call
    raises `ValueError`; a number or name that fits no parameter does so too.

    ## Example
        @functools.partial(jax.jit, static_argnames=("sizes",))
        def split(x, sizes):
            return [x[:n] for n in sizes]


        split(x, [1, 2, 3])

    ## Use instead
        split(x, (1, 2, 3))

    ## When it cannot tell
    Objects of classes that define their own hash, and options that are not literals, are not judged.
    """

    summary = "A static argument is unhashable, or its number or name fits no parameter."
    needs = (Shapes, TracingFacts)

    valid = """
    ## a tuple, a number, text
    import functools

    @functools.partial(jax.jit, static_argnums=(1, 2), static_argnames="mode")
    def split(x, sizes, dim, *, mode):
        return [x[:n] for n in sizes]

    def main(x):
        return split(x, (1, 2, 3), x.shape[0], mode="full")

    ## a method of an object that is traced itself
    import functools
    from flax.training import train_state

    @functools.partial(jax.jit, static_argnums=0)
    def act(apply_fn, params, obs):
        return apply_fn({"params": params}, obs)

    def loss(params, apply_fn, batch):
        return act(apply_fn, params, batch).sum()

    @jax.jit
    def train(state: train_state.TrainState, batches):
        for batch in zip(*batches):
            grads = jax.grad(loss)(state.params, state.apply_fn, batch[0])
            state = state.apply_gradients(grads=grads)
        return state
    """
    invalid = """
    ## a list
    import functools

    @functools.partial(jax.jit, static_argnames=("sizes",))
    def split(x, sizes):
        return [x[:n] for n in sizes]

    def main(x):
        return split(x, [1, 2, 3])  #!

    ## a dict that holds text, and a list in a tuple
    import functools

    @functools.partial(jax.jit, static_argnames=("spec", "sizes"))
    def bands(x, spec, sizes=()):
        return x * spec["gain"]

    def main(x):
        spec = dict(kind="hann", gain=2.0)
        return bands(x, spec=spec)  #!

    def other(x, key):
        return bands(x, key, sizes=([1, 2], 3))  #!

    ## an array
    import functools

    @functools.partial(jax.jit, static_argnums=1)
    def shift(x, offset):
        return x + offset

    def main(x):
        return shift(x, jnp.ones(3))  #!

    ## a name that no parameter has
    def scale(x, factor):
        return x * factor

    fast = jax.jit(scale, static_argnames=("facter",))

    def main(x):
        return fast(x, 2.0)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every static argument of every call."""
        shapes, classes = facts.get(Shapes), {f"`{one.name}`": one.span for one in program.members}
        for visit in facts.get(TracingFacts).of("jit", "pmap"):
            yield from _judge(visit, shapes, classes)


def _judge(visit: Visit, shapes: Shapes, classes: Mapping[str, Span]) -> Iterator[Obligation]:
    op = visit.op
    for misfit in op.misfits or ():
        text = f"`{misfit}` is declared static, but `{op.qualified}` has no such parameter"
        yield replace(_violation(op, text, "name one of the function's parameters"), definition=op.wrapped)
    for name, kind, static in op.given or ():
        if static is True and kind.startswith(_NO_HASH):
            what = kind.removeprefix(_NO_HASH)
            repair = "define `__hash__`, or make the dataclass frozen" if "`" in what else "give a tuple"
            made = tuple(Step(classes[one], f"{one} is defined here") for one in what.split()[:1] if one in classes)
            found = _violation(op, f"`{name}` is static, but a {what} cannot be hashed", repair)
            yield replace(found, steps=(*made, *found.steps))
        elif static is True and kind:
            yield proved(op.span, "the static arguments can be hashed")
    for value, static in zip(op.operands, op.static or (), strict=False):
        fact, name = visit.of(value), named(value, "this argument")
        if static is True and (what := _array(fact, shapes.of(value))):
            yield _violation(op, f"{name} is static, but {what} cannot be hashed", "leave the argument traced")
        elif static is True and fact.what in ("number", "shape"):
            yield proved(op.span, "the static arguments can be hashed")
        elif static is True and (fact.kind is not Kind.STATIC or fact.what):
            yield unknown(op.span, f"{name} is static, and what it is is not known")


def _array(fact: Trace, shape: ShapeFact) -> str:
    if fact.traced_array:
        return "a traced array"
    if fact.kind is Kind.CONCRETE and fact.what == "array":
        return "a JAX array"
    # NumPy's functions also give scalars, which can be hashed.
    return "a NumPy array" if fact.kind is Kind.CONCRETE and fact.what == "numpy" and shape.dims else ""


def _violation(op: Op, message: str, suggestion: str) -> Obligation:
    return Obligation(
        op.span,
        message=message,
        current="the call raises `ValueError`",
        raises=Raises.TRACING,
        expected="static arguments are hashable and fit the parameters",
        steps=() if op.wrapped is None else (Step(op.wrapped, "it is declared static here"),),
        suggestion=suggestion,
    )
