"""The rule `python-branch-on-traced`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Argument, Program
from jaxaudit.rules.base import Obligation, Raises, Rule, named, proved
from jaxaudit.rules.jit._shared.phrases import because, steps_of, transform, without_tracer

_REPAIR = {
    "if": "use `jnp.where` or `jax.lax.cond`, or declare the argument static",
    "while": "use `jax.lax.while_loop`",
    "assert": "use `jax.experimental.checkify.check`, or check before the traced call",
    "range": "use `jax.lax.fori_loop`, or declare the number static",
    "and": "use `jnp.logical_and`",
    "or": "use `jnp.logical_or`",
    "not": "use `jnp.logical_not`",
    "chained comparison": "write two comparisons joined by `&`",
    "conditional expression": "use `jnp.where` or `jax.lax.cond`",
    "max": "use `jnp.maximum`",
    "min": "use `jnp.minimum`",
    "in": "use `jnp.isin`",
    "not in": "use `~jnp.isin`",
    "sorted": "use `jnp.sort`",
    "any": "use `jnp.any`",
    "all": "use `jnp.all`",
    "match": "use `jax.lax.switch`",
}


class PythonBranchOnTraced(Rule):
    """Python asks for the value of an array that JAX is still tracing.

    ## What it does
    Looks at every `if`, `while`, `assert`, `and`, `or`, `not`, `in`, `match`, conditional expression, chained
    comparison, `range`, `max`, `min`, `sorted`, `any`, `all`, `filter` and at what sets and dicts hash, in code that
    `jit`, `vmap`, `scan` and their kin trace, at any depth of calls.

    ## Why is this bad?
    While JAX traces, an array has a shape and a dtype but no value yet. Asking for its truth raises
    `TracerBoolConversionError` (or `ConcretizationTypeError`) as soon as the function is called.

    ## Example
        @jax.jit
        def relu(x):
            if x > 0:
                return x
            return 0.0

    ## Use instead
        @jax.jit
        def relu(x):
            return jnp.where(x > 0, x, 0.0)

    ## When it cannot tell
    An argument that nobody visibly passes may be a dict or `None`, whose truth is known; such tests stay open.
    Shapes, dtypes, `len(x)`, `x is None`, `isinstance` and static arguments are known while tracing.
    """

    summary = "Python asks for the truth of a value that JAX traces."
    needs = (TracingFacts,)

    valid = """
    ## shapes and None are known while tracing
    @jax.jit
    def scale(x, factor=None):
        if factor is None:
            factor = 1.0 / x.shape[0]
        if x.ndim == 2 and len(x) > 3:
            x = x.sum(0)
        return jnp.where(x > 0, x, 0.0) * factor

    ## a static argument
    import functools

    @functools.partial(jax.jit, static_argnames=("train",))
    def forward(x, train):
        if train:
            return x * 0.5
        return x

    def main(x):
        return forward(x, train=True)

    ## what Python looks up by name, by identity or by shape
    LAYERS = {"small": 1, "large": 4}

    @jax.jit
    def total(batch, extra=None):
        x = batch["x"]
        if "mask" in batch and len(x) in (2, 4):
            x = x * batch["mask"]
        if any(one is None for one in (x, extra)) or x.dtype in (jnp.float16, jnp.bfloat16):
            x = x * LAYERS.get("small")
        parts = sorted({"b": x, "a": x + 1}.items())
        return sum(part for _, part in sorted(parts, key=lambda pair: pair[0]))

    def main(x):
        return total({"x": x})
    """
    invalid = """
    ## a comparison of an argument
    @jax.jit
    def relu(x):
        if x > 0:  #!
            return x
        return 0.0

    ## the carry of a scan
    def body(carry, x):
        total = carry + x
        total = total if total < 3 else 0.0  #!
        return total, total

    def run(xs):
        return jax.lax.scan(body, jnp.zeros(()), xs)

    ## a helper of a scan under `vmap` looks for a token in a tuple
    STOP = (1, 3)

    def is_stop(token):
        return jnp.asarray(token in STOP)  #!

    def decode(token):
        def step(token, _):
            return token + 1, is_stop(token)

        return jax.lax.scan(step, token, None, length=4)

    def main():
        return jax.jit(jax.vmap(decode))(jnp.arange(5))

    ## Python puts traced numbers in order, and counts those that are true
    @jax.jit
    def middle(a, b, c):
        good = all(part > 0 for part in (a, b + 1))  #!
        return good * sorted((a + 1, b, c))[1]  #!

    def main(a, b, c):
        return middle(a, b, c)

    ## a pattern
    @jax.jit
    def rest(x):
        match jnp.argmax(x):  #!
            case 0:
                return x
            case _:
                return -x

    ## a range that a traced number bounds
    @jax.jit
    def repeat(x, n):
        for _ in range(n):  #!
            x = x * 2
        return x

    def main(x):
        return repeat(x, 3)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place in traced code where Python needs a value."""
        visits = facts.get(TracingFacts).of("py.test", "py.element", "py.to_python")
        yield from (one for visit in visits if visit.tracer is not None for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op = visit.op
    match op.name:
        case "py.test":
            yield _verdict(visit, op.arguments.get("value"), op.construct)
        case "py.to_python" if op.qualified == "bool":
            yield _verdict(visit, op.arguments.get("a"), "bool")
        case "py.element" if isinstance(bounds := op.arguments.get("iterable"), Mapping):
            for bound in bounds.values():
                yield _verdict(visit, bound, "range")
        case _:
            return


def _verdict(visit: Visit, asked: Argument, construct: str) -> Obligation:
    fact, span, name = visit.of(asked), visit.op.span, named(asked)
    if fact.kind not in (Kind.STATIC, Kind.CONCRETE) and fact.what == "items":
        return proved(span, f"Python knows how many items {name} has")
    if (known := without_tracer(span, fact, name)) is not None:
        return known
    return Obligation(
        span,
        message=f"`{construct}` needs the value of {name}, but {transform(fact.by)} traces it",
        current=f"{because(fact)}: {name} has no value yet, and asking for it raises an error",
        raises=Raises.TRACING,
        expected="only what is known while tracing decides what Python does",
        steps=steps_of(fact),
        suggestion=_REPAIR.get(construct, "use `jnp.where` or `jax.lax.cond`"),
    )
