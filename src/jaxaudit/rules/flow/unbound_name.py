"""The rule `unbound-name`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.reads import ScopeReads, Sure, Unbound
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, Step, proved, unknown


class UnboundName(Rule):
    """A name is read that has no value.

    ## What it does
    Follows every function, class and module along its branches, loops and exceptions, and asks of each name that is
    read whether something has given it a value: on this path, in the scopes around, or in Python itself.

    ## Why is this bad?
    Python looks names up when a line runs, so a misspelt name, one that was renamed elsewhere, or a variable that only
    one branch binds is a `NameError` on the day that somebody gets there.

    ## Example
        def loss(params, batch, weights=None):
            if weights is None:
                scale = 1.0
            return scale * error(params, batch)

    ## Use instead
        def loss(params, batch, weights=None):
            scale = 1.0 if weights is None else weights.mean()
            return scale * error(params, batch)

    ## When it cannot tell
    It is an error where nothing binds the name at all, and where a branch that somebody wrote, or a condition on
    parameters alone, leads to the read without a value. It is a warning where a further condition stands in between, or
    an object decides. Left open: chains of conditions without an `else`, loops that may run no turn, what is tried and
    may fail, what a function reads that is bound after it on some paths only, or after the function is used, names from
    `import *` of a module that was not read, `exec` and `globals()`.
    """

    summary = "A name is read that has no value on the way there."
    valid = """
    ## one condition for both
    def f(x, flag):
        if flag:
            y = x + 1
        return y if flag else x

    ## the other side is left
    def f(x, kind):
        if kind == "a":
            y = x
        else:
            raise ValueError(kind)
        return y

    ## bound later, read when called
    def f(x):
        def inner():
            return y

        y = x + 1
        return inner()

    ## a variable of the function around it
    def f(xs, step):
        state = xs[0]

        def run():
            nonlocal state
            for x in xs:
                out, state = step(state, x)
            return out

        return run()

    ## the first turn binds it
    def f(xs):
        for i in range(3):
            if i == 0:
                best = xs[0]
            best = jnp.maximum(best, xs[i])
        return xs

    ## an import that may fail
    try:
        import optional_library
    except ImportError:
        optional_library = None

    def f(x):
        return x if optional_library is None else optional_library.run(x)
    """
    invalid = """
    ## misspelt
    def f(value):
        return jnp.sin(valeu)  #!

    ## one branch alone
    def f(x, scale=None):
        if scale is None:
            y = x
        return y * 2  #!

    ## the branch that was written has none
    def f(x, table):
        if table.is_small():
            first = x
        else:
            second = x
        return first  #!

    ## read in the statement that binds it
    def f(x):
        total = total.at[0].set(x)  #!
        return total

    ## another condition in between
    def f(name, known, pixels):
        if name in known:
            kind = 0
        else:
            domain, kind = name.split("-")
        if pixels:
            return domain  #?
        return kind
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every scope whose names all have values, and every name of the others that may have none."""
        for scope in program.reads:
            if scope.count and not scope.unbound:
                yield proved(scope.span, f"each of the {scope.count} names read in `{scope.label}` is bound")
            for reads in _by_name(scope):
                yield _judged(scope, reads)


def _by_name(scope: ScopeReads) -> Iterator[list[Unbound]]:
    """Return the reads of a scope that miss a value for one reason, together."""
    together = defaultdict[tuple[object, ...], list[Unbound]](list)
    for one in scope.unbound:
        together[one.name, one.sure, one.why].append(one)
    return iter(together.values())


def _judged(scope: ScopeReads, reads: list[Unbound]) -> Obligation:
    first, *others = reads
    if first.sure is Sure.OPEN:
        return unknown(first.span, f"`{first.name}` may have no value here: {first.why}")
    steps = [] if first.cause is None else [Step(first.cause, f"this decides whether `{first.name}` has a value")]
    return Obligation(
        first.span,
        severity=Severity.ERROR if first.sure is Sure.CERTAIN else Severity.WARNING,
        message=f"`{first.name}` has no value here: {first.why}"
        if first.sure is Sure.CERTAIN
        else f"`{first.name}` may have no value here: {first.why}",
        current=f"`{scope.label}` raises a `NameError` when it gets here",
        expected=f"`{first.name}` has a value on every path that leads here",
        steps=(*steps, *(Step(one.span, f"`{first.name}` is read again here") for one in others)),
        suggestion=f"bind `{first.name}` on every path, or read the name that was meant",
        raises=Raises.TRACING,
    )
