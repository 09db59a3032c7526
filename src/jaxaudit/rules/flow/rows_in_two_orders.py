"""The rule `rows-in-two-orders`."""

from __future__ import annotations

from collections.abc import Iterator, Set
from itertools import permutations, product

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients.graph import reads_parameters
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.lineage.rows import Pick, RowOrders, Rows, row_orders
from jaxaudit.analyses.queries import ahead, depends, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import DERIVATIVES, MAPPED, UNFOLLOWED
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, named, proved, unknown

_MEETING = ("array.map", "py.call_library", "scan", "vmap", "map")
"""Ops that take the rows of two arrays one by one, or compute a loss of them."""
_OUTSIDE = UNFOLLOWED | {"py.unpack", "py.attr", "py.item", "py.call_library"}
"""Ops that give what code out of sight has made."""

_PROGRAM = """
def load(key):
    x = jax.random.normal(key, (200, 3))
    return x, jnp.tanh(x @ jnp.ones(3))

def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

def epoch(key, w, x, y):
    k1, k2 = jax.random.split(key)
{shuffle}
    return w - 0.1 * jax.grad(loss)(w, xs, ys)

x, y = load(jax.random.key(0))
w = epoch(jax.random.key(1), jnp.zeros(3), x, y)
"""


class RowsInTwoOrders(Rule):
    """Two arrays whose rows belong together are put into two orders, by two draws or one for one of them alone.

    ## What it does
    Follows the order of rows from every shuffle and every draw of rows (`permutation`, `choice`, an index that was
    drawn, the `argsort` of random numbers) to where two arrays meet row by row: in arithmetic, a loss, a `vmap` or a
    `scan`. Rows belong together where one array was computed from the other row by row, both from a third, or both were
    made in the same turns of a loop or a map, or picked by one draw before. What is shuffled must not meet rows of its
    own that were left as they were: an error where other arrays are shuffled with it, and one was forgotten.

    ## Why is this bad?
    Each input is paired with the label of another one. Shapes fit, nothing is raised, and the best that can be learned
    is the mean of all labels.

    ## Example
        k1, k2 = jax.random.split(key)
        states = jax.random.permutation(k1, states)
        actions = jax.random.permutation(k2, actions)

    ## Use instead
        order = jax.random.permutation(key, len(states))
        states, actions = states[order], actions[order]

    ## When it cannot tell
    Rows that are also paired in one order nearby may be mixed on purpose, as for negatives. Rows that are drawn from
    two arrays, and are not trained on as inputs and labels, may be meant to be independent: then it is a warning, and
    so it is where only that one function is given both arrays says that they belong together.
    """

    summary = "Two arrays whose rows belong together are put into two different orders."
    needs = (KeyFacts, Shapes)
    valid = (
        Example(
            _PROGRAM.format(shuffle="    order = jax.random.permutation(k1, 200)\n    xs, ys = x[order], y[order]"),
            "one order",
        ),
        Example(
            _PROGRAM.format(
                shuffle="    xs, ys = jax.random.permutation(k1, x), jax.random.permutation(k1, y)  # the same order"
            ).replace("k1, k2 =", "k1, _ ="),
            "drawn twice from one key: the same order",
        ),
        Example(
            """
def contrast(w, key, x, y):
    k1, k2 = jax.random.split(key)
    i, j = jax.random.randint(k1, (32,), 0, 200), jax.random.randint(k2, (32,), 0, 200)
    score = lambda a, b: jnp.sum((a @ w) * b, -1)
    return jnp.mean(score(x[i], y[j]) - score(x[i], y[i]))

def run(key):
    k1, k2 = jax.random.split(key)
    x = jax.random.normal(k1, (200, 3))
    return jax.grad(contrast)(jnp.eye(3), k2, x, jnp.tanh(x))
""",
            "negatives",
        ),
        Example(
            """
def run(key):
    kx, ky, k1, k2 = jax.random.split(key, 4)
    x, y = jax.random.normal(kx, (200, 3)), jax.random.uniform(ky, (200, 3))
    return jnp.mean((jax.random.permutation(k1, x) - jax.random.permutation(k2, y)) ** 2)
""",
            "two samples that have nothing to do with each other",
        ),
        Example(
            """
def mixed(key, x, y):
    k1, k2 = jax.random.split(key)
    order, share = jax.random.permutation(k1, 200), jax.random.beta(k2, 0.4, 0.4)
    return share * x + (1 - share) * x[order], share * y + (1 - share) * y[order]

def run(key):
    x = jax.random.normal(key, (200, 3))
    return mixed(key, x, jnp.sum(x, -1))
""",
            "mixed with itself",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(
                shuffle="    xs = jax.random.permutation(k1, x)\n    ys = jax.random.permutation(k2, y)  #!"
            ),
            "two permutations",
        ),
        Example(
            _PROGRAM.format(
                shuffle="    i = jax.random.choice(k1, 200, (32,))\n    j = jax.random.choice(k2, 200, (32,))\n"
                "    xs = x[i]\n    ys = jnp.take(y, j, axis=0)  #!"
            ),
            "inputs and labels by two draws",
        ),
        Example(
            _PROGRAM.format(
                shuffle="    xs = jax.random.permutation(k1, x)\n    ys = jax.random.permutation(k2, y)  #!"
            ).replace("jnp.ones(3))\n", "jnp.ones(3)) + 0.1 * jax.random.normal(jax.random.key(7), (200,))\n"),
            "labels with noise of their own",
        ),
        Example(
            """
def walk(x, key):
    return x + 0.1 * jax.random.normal(key), (x, jnp.sin(x))

def run(key):
    k1, k2, k3 = jax.random.split(key, 3)
    _, (xs, ys) = jax.lax.scan(walk, 0.0, jax.random.split(k1, 200))
    xs = xs[jnp.argsort(jax.random.uniform(k2, (200,)))]
    ys = ys[jnp.argsort(jax.random.uniform(k3, (200,)))]  #!
    return jax.vmap(lambda a, b: jnp.abs(a - b))(xs, ys)
""",
            "sorted by two draws",
        ),
        Example(
            """
def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

def update(w, key, x, y):
    k1, k2 = jax.random.split(key)
    xs = jax.random.permutation(k1, x)
    ys = jax.random.permutation(k2, y)  #?
    return w - 0.1 * jax.grad(loss)(w, xs, ys)
""",
            "arrays from outside, one of which is predicted from the other",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where rows in drawn orders meet."""
        orders = row_orders(facts)
        picked = [(op, one) for op in program.walk() if not op.regions and (one := orders.pick(op)) is not None]
        if not picked:
            return
        read = {(orders.name(base), pick) for _, (base, pick) in picked}
        drawn = {*walk([value for op, _ in picked for value in op.results], lambda one: ahead(facts.flow, one))}
        met = [one for op in program.named(*_MEETING) for one in _met(op, orders, drawn)]
        told = set[tuple[Op, Op | Value]]()
        for one in met:
            found = _judged(one, read, orders) if one.right.picks else _left_out(one, read, orders)
            if found is not None and (found.verdict is not Verdict.VIOLATED or one.key not in told):
                told.update([one.key] if found.verdict is Verdict.VIOLATED else [])
                yield found


@record
class _Met:
    """Rows of two arrays that meet one by one."""

    op: Op
    left: Rows
    right: Rows
    values: tuple[Value, Value]

    @property
    def first(self) -> Pick:
        """The pick that orders the one."""
        return self.left.picks[-1]

    @property
    def second(self) -> Pick:
        """The pick that orders the other."""
        return self.right.picks[-1]

    @property
    def key(self) -> tuple[Op, Op | Value]:
        """The two picks; a draw and what was not picked by it."""
        return self.both if self.right.picks else (self.first.draw, self.right.base)

    @property
    def both(self) -> tuple[Op, Op]:
        """The two picks, in the order in which they stand in the program."""
        first, second = sorted((self.first.op, self.second.op), key=lambda op: (op.span.line, op.span.column))
        return first, second


def _met(op: Op, orders: RowOrders, drawn: Set[Value]) -> Iterator[_Met]:
    """Return the rows that meet in an op, but for those of one array, where at least one side was picked.

    What was picked is among the values that depend on a draw, and stands on the left where only one side was.
    """
    given = list(dict.fromkeys(op.operands))
    if op.name in MAPPED and op.in_axes is not None:
        given = [one for one, axis in zip(op.operands, op.in_axes, strict=False) if axis == 0]
    if len(given) < 2 or drawn.isdisjoint(given):
        return
    picked = {one: [found for found in orders.of(one) if found.picks] for one in given}
    # What was not picked has rows of its own, whatever they were computed from.
    rows = {one: found or [Rows(orders.name(one))] for one, found in picked.items()}
    for at, one in enumerate(given):
        for other in given[at + 1 :]:
            for left, right in product(rows[one], rows[other]):
                if left.base is not right.base and left.picks:
                    yield _Met(op, left, right, (one, other))
                elif left.base is not right.base and right.picks:
                    yield _Met(op, right, left, (other, one))


def _judged(one: _Met, read: set[tuple[Value, Pick]], orders: RowOrders) -> Obligation:
    first, second = one.first, one.second
    if orders.same(first, second) and not orders.one_order(first, second):
        return unknown(second.op.span, "whether these rows and those that they meet are in one order is not known")
    if orders.same(first, second):
        return proved(second.op.span, "these rows and those that they meet are picked by one draw")
    if any(orders.same(*both) for both in product(one.left.picks[-1:], one.right.picks[:-1])):
        return unknown(second.op.span, "what is picked once more is not followed")
    trained, evidence = _is_trained(one, orders), _together(one, orders)
    if not evidence and not (trained and _are_given(one, orders)):
        return unknown(second.op.span, "whether these rows belong to those that they meet is not known")
    if _also_paired(one, read, orders) or _meet_as_they_are(one, orders):
        return unknown(second.op.span, "the same rows also meet in one order, and may be mixed on purpose")
    sure = bool(evidence) and (trained or (first.whole and second.whole))
    return _finding(one, evidence or "one is trained to predict the other", sure=sure)


def _left_out(one: _Met, read: set[tuple[Value, Pick]], orders: RowOrders) -> Obligation | None:
    """Judge rows in a drawn order that meet rows in the order that they came in; None where they are strangers."""
    pick, kept, evidence = one.first, one.right.base, _together(one, orders)
    if not evidence or not pick.whole:
        return None
    span, name = pick.op.span, named(one.values[1], "the other array")
    if not orders.are_as_long(*one.values):
        return unknown(span, f"whether each of these rows meets a row of {name} is not known")
    if _also_paired(one, read, orders) or _meet_as_they_are(one, orders):
        return unknown(span, "the same rows also meet in one order, and may be mixed on purpose")
    others = {base for base, other in read if orders.same(pick, other)} - {one.left.base}
    sure = any(_are_kin(base, kept, orders) for base in others)
    if not _is_trained(one, orders):
        return unknown(span, f"whether these rows and those of {name} are to be in one order is not known")
    left = named(one.left.base, "one array")
    return Obligation(
        span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"the rows of {left} are put into another order, and those of {name} that they belong to are not",
        current=f"each row of {left} meets a row of {name} that belongs to another one",
        expected="one draw orders both",
        steps=(Step(one.op.span, f"the rows meet here; {evidence}"),),
        suggestion=f"index {name} with the same order",
        cause=(*pick.op.results, kept),
    )


def _together(one: _Met, orders: RowOrders) -> str:
    """Return why the rows of two arrays belong together; empty where nothing says so."""
    if any(orders.same(*both) for both in zip(one.left.picks[:-1], one.right.picks[:-1], strict=False)):
        return "both were picked by one draw before"
    if not _are_kin(one.left.base, one.right.base, orders):
        return ""
    if one.left.base in orders.sources(one.right.base) or one.right.base in orders.sources(one.left.base):
        return "one is computed from the other, row by row"
    return "both are made together, row by row"


def _are_kin(first: Value, second: Value, orders: RowOrders) -> bool:
    """Whether the rows of two arrays were computed from rows of one array, or made in the same turns."""
    return not orders.sources(first).isdisjoint(orders.sources(second))


def _also_paired(one: _Met, read: set[tuple[Value, Pick]], orders: RowOrders) -> bool:
    """Whether one of the arrays is elsewhere put into the order of the other."""
    if not one.right.picks:
        ordered = {base for base, pick in read if orders.same(pick, one.first)} - {one.left.base}
        return not ordered.isdisjoint(orders.forms(one.right.base))
    pairs = ((one.left.base, one.second), (one.right.base, one.first))
    return any(base is array and orders.same(pick, other) for base, pick in pairs for array, other in read)


def _meet_as_they_are(one: _Met, orders: RowOrders) -> bool:
    """Whether rows of both arrays meet in the order that they came in, in the same derivative or outside of all."""
    home, forms = _home(one.op, orders), [{one.left.base}, {one.right.base}]
    forms[1].update(() if one.right.picks else orders.forms(one.right.base))
    for op in orders.facts.program.named(*_MEETING):
        if op is one.op or len(set(op.operands)) < 2 or _home(op, orders) is not home:
            continue
        sources = map(orders.sources, dict.fromkeys(op.operands))
        held = [[not found.isdisjoint(form) for form in forms] for found in sources]
        if any(a[0] and b[1] for a, b in permutations(held, 2)):
            return True
    return False


def _home(op: Op, orders: RowOrders) -> Op | None:
    """Return the derivative that an op stands in."""
    around = orders.facts.places.up(orders.facts.places.region_of[op])
    return next((holder for _, holder in around if holder is not None and holder.name in DERIVATIVES), None)


def _are_given(one: _Met, orders: RowOrders) -> bool:
    """Whether both arrays come from outside: what was drawn here has rows of its own."""
    makers = [orders.facts.flow.maker(rows.base) for rows in (one.left, one.right)]
    return all(op is None or op.name in _OUTSIDE for op in makers)


def _is_trained(one: _Met, orders: RowOrders) -> bool:
    """Whether one of two values depends on what is trained where they meet, and the other does not."""
    facts, places = orders.facts, orders.facts.places
    for _, holder in places.up(places.region_of[one.op]):
        if holder is not None and holder.name in DERIVATIVES:
            trained = facts.memo(_trained, holder)
            return sum(depends(orders.facts.flow, value, trained) for value in one.values) == 1
    return False


def _trained(facts: Facts, derivative: Op) -> list[Value]:
    """Return what a derivative is taken with respect to, and what layers make that read their parameters by name."""
    region = derivative.regions[0]
    layers = (made for op in region.walk() if reads_parameters(op) for made in op.results)
    return [*(region.params[at] for at in derivative.differentiated or () if at < len(region.params)), *layers]


def _finding(one: _Met, evidence: str, *, sure: bool) -> Obligation:
    first, second = one.both
    left, right = named(first.results[0], "one array"), named(second.results[0], "the other")
    return Obligation(
        second.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"the rows of {left} and {right} belong together, and are put into two orders",
        current=f"each row of {left} meets a row of {right} that belongs to another one",
        expected="one draw orders both",
        steps=(
            Step(first.span, f"{left} is put into an order of its own"),
            Step(one.op.span, f"the rows meet here; {evidence}"),
        ),
        suggestion="draw one order, and index both arrays with it",
        cause=(*first.results, *second.results),
    )
