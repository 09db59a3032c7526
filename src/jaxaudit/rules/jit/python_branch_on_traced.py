"""The rule `python-branch-on-traced`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, named, proved
from jaxaudit.rules.jit._shared.phrases import because, steps_of, transform, without_tracer
from jaxaudit.spans import Span

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

    ## an option that is static, one that is asked whether it is there, and one that nobody gives
    from functools import partial

    @partial(jax.jit, static_argnames="train")
    def sample(params, x, train=False, mask=None):
        if train:
            x = 2 * x
        return params * x if mask is None else params * x * mask

    @jax.jit
    def double(x, again=False):
        if again:
            x = 2 * x
        return 2 * x

    def main(x):
        return double(x)
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

    ## an option that nobody can give
    @jax.jit
    def sample(params, x, argmax=False, steps=3):
        for _ in range(steps):  #?
            x = params @ x
        if argmax:  #?
            return jnp.argmax(x)
        return x

    class Model:
        @staticmethod
        @jax.jit
        def apply(params, x, train=False):
            return _dropped(params * x, train)

    def _dropped(x, train):
        return x * 0.5 if train else x  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place in traced code where Python needs a value."""
        visits = facts.get(TracingFacts).of("py.test", "py.element", "py.to_python")
        for visit in (one for one in visits if one.tracer is not None):
            yield from (_verdict(visit, asked, construct, facts.flow) for asked, construct in _asked(visit.op))


def _asked(op: Op) -> Iterator[tuple[Argument, str]]:
    """Return what Python asks the value of, and in which construct."""
    if op.name == "py.test":
        yield op.arguments.get("value"), op.construct
    elif op.name == "py.to_python" and op.qualified == "bool":
        yield op.arguments.get("a"), "bool"
    elif op.name == "py.element" and isinstance(bounds := op.arguments.get("iterable"), Mapping):
        yield from ((bound, "range") for bound in bounds.values())


def _verdict(visit: Visit, asked: Argument, construct: str, flow: Flow) -> Obligation:
    fact, span, name = visit.of(asked), visit.op.span, named(asked)
    if fact.kind is Kind.UNKNOWN and (compiled := _left_to_default(asked, flow)) is not None:
        return _never_given(span, name, construct, compiled)
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


def _left_to_default(asked: Argument, flow: Flow) -> Op | None:
    """Return the compiled function of which something is an argument that is traced as soon as a caller gives it."""
    value = origin(flow, asked, {}).value if isinstance(asked, Value) else None
    compiled = (op for op in flow.readers.get(value, ()) if op.by_default) if value is not None else ()
    plain = (op for op in compiled if package(op.spelling) in PLAIN)
    return next((op for op in plain if (op.by_default or ())[op.operands.index(value)]), None)


def _never_given(span: Span, name: str, construct: str, compiled: Op) -> Obligation:
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=f"`{construct}` needs the value of {name}, which {transform(compiled)} traces once a caller gives it",
        current=f"as long as {name} is left to its default all is well, and whoever gives it gets an error",
        expected=f"{name} is declared static",
        suggestion="name it in `static_argnames`, or use `jnp.where`",
    )
