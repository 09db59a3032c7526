"""The rule `carry-parts-swapped`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown

_CELL = """
    ## a cell
    def run(p, xs):
        def cell(carry, x):
            {unpacked} = carry
            i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"], 4, axis=-1)
            c2 = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h2 = jax.nn.sigmoid(o) * jnp.tanh(c2)
            return (c2, h2), h2{mark}

        return jax.lax.scan(cell, (jnp.zeros((4, 8)), jnp.zeros((4, 8))), xs)[1]
"""


class CarryPartsSwapped(Rule):
    """A turn of a loop gives the next value of one part of its state in the place of another one.

    ## What it does
    Takes what each turn gives for the next one apart. A sum with a part of the state in it, as it is or gated, is what
    becomes of that part. Where it stands in the place of another part, which it has nothing of, and that other part
    goes into what stands in the first place, the two have changed places.

    ## Why is this bad?
    Both have the same shape, so the loop runs: a cell takes its output for its memory and its memory for its output.

    ## Example
        c, h = carry
        c2 = f * c + i * g
        return (o * jnp.tanh(c2), c2), None

    ## Use instead
        c, h = carry
        c2 = f * c + i * g
        return (c2, o * jnp.tanh(c2)), None

    ## When it cannot tell
    Where each part is what became of the other one, it is a warning: halves change places on purpose, too. Parts that
    are handed on as they are, `(b, a + b)`, are a shift.
    """

    summary = "A loop hands the successor of one part of its state on as another part."
    valid = (
        _CELL.format(unpacked="c, h", mark="")
        + """
    ## a shift
    def fibonacci(n):
        return jax.lax.scan(lambda s, _: ((s[1], s[0] + s[1]), s[0]), (jnp.float32(0), jnp.float32(1)), None, length=n)

    ## two steps of time
    def verlet(x, force, dt):
        return jax.lax.fori_loop(0, 9, lambda i, s: (s[1], 2.0 * s[1] - s[0] + dt * force(s[1])), (x, x))

    ## a measurement of the state
    def track(x, y, noise, plant):
        return jax.lax.scan(lambda s, n: ((plant(s[0], s[1]), s[0] + n), s[1]), (x, y), noise)

    ## the change of the state
    def follow(x, v, xs, plant):
        def body(s, u):
            new = plant(s[0], s[1], u)
            return (new, new - s[0]), new

        return jax.lax.scan(body, (x, v), xs)

    ## a delay line
    def filtered(xs, a, b):
        def body(s, x):
            first, second = s
            return (a * x + second, b * x), first

        return jax.lax.scan(body, (0.0, 0.0), xs)[1]
    """
    )
    invalid = (
        _CELL.format(unpacked="h, c", mark="  #!")
        + """
    ## momentum
    def descend(p, slope):
        def body(i, state):
            p, m = state
            m = 0.9 * m + slope(p)
            return m, p - 0.1 * m  #?

        return jax.lax.fori_loop(0, 9, body, (p, jnp.zeros_like(p)))
    """
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that carries several parts."""
        for op in program.named("scan", "fori", "while"):
            loop = None if op.is_derived or op.library else Loop.of(op)
            if loop is not None and len(loop.successors) > 1:
                yield _judged(loop, facts)


@record
class _Part:
    """One part of a loop's state, and what a turn gives for it."""

    param: Value
    end: Value
    products: tuple[Product, ...]

    def updates(self, param: Value) -> Product | None:
        """Return the part of the sum by which it is what becomes of a part of the state."""
        if len(self.products) < 2:
            return None
        return next((one for one in self.products if one.coefficient > 0 and one.factors.count(param) == 1), None)

    def has(self, param: Value) -> bool:
        """Whether a part of the state stands in the sum."""
        return any(param in one.factors for one in self.products)


def _judged(loop: Loop, facts: Facts) -> Obligation:
    sums = Sums.of(facts.flow, {})
    parts = [_Part(param, end, sums.products(end)) for param, end in loop.successors]
    for first, second in permutations(parts, 2):
        gated = second.updates(first.param)
        if gated is None or second.has(second.param) or first.updates(first.param) is not None:
            continue
        if first.end is second.param or not _crosses(first, second, facts.flow):
            continue
        both = first.updates(second.param) is not None
        if both or len(gated.factors) > 1:
            severity = Severity.WARNING if both else Severity.ERROR
            return _finding(_returned(loop, first, second) or loop.op, first, second, severity)
    if all(part.has(part.param) for part in parts):
        return proved(loop.op.span, "each part of the state stands in what is given for it")
    return unknown(loop.op.span, "of which part of the state each result of a turn is the next one is not known")


def _crosses(first: _Part, second: _Part, flow: Flow) -> bool:
    """Whether what stands in the place of one part is computed of the other one."""
    return depends(flow, first.end, [second.param])


def _returned(loop: Loop, first: _Part, second: _Part) -> Op | None:
    """Return where a function gives both parts."""
    given = {first.end, second.end}
    return next((op for op in loop.body.walk() if op.name == "py.return" and given <= set(op.operands)), None)


def _finding(where: Op, first: _Part, second: _Part, severity: Severity) -> Obligation:
    old, place = named(first.param, "one part of the state"), named(second.param, "another part of the state")
    if old == place:
        old, place = "one part of the state", "another part of it"
    return Obligation(
        where.span,
        severity=severity,
        message=f"what becomes of {old} is handed on as {place}",
        current=f"the next turn takes the new {old} for {place}, and something else for {old}",
        expected=f"each turn gives the new {old} in the place of {old}",
        steps=(Step(second.end.span, f"this is what becomes of {old}"),),
        suggestion="give the parts of the state in the order in which they come in",
        cause=(second.end,),
    )
