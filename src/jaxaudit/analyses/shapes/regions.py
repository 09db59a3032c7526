"""What the regions of an op take and leave: calls, transformations, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from jaxaudit.analyses.dims import UNKNOWN, ZERO, Atom, Dim, constant, product, same
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.labels import made_by
from jaxaudit.analyses.regroup import product_of
from jaxaudit.analyses.shapes import mapped
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array, as_number, atoms_of, forget, join, sequence
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.analyses.shapes.transfer import meshes
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.functions import JACOBIANS
from jaxaudit.ir.interfaces import Branch, Loop
from jaxaudit.ir.ops import BODIES, PYTHON_LOOPS
from jaxaudit.ir.types import Exit

Facts = Sequence[ShapeFact]


def enter(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    """Return the facts of a region's parameters."""
    taken = _ENTER.get(op.name, _body if op.name in BODIES else _nothing)
    made = list(taken(op, region, read, turn))[: len(region.params)]
    return made + [NOTHING] * (len(region.params) - len(made))


def leave(op: Op, look: Look) -> Facts:
    """Return the facts of an op's results."""
    left = _LEAVE.get(op.name, _returned if op.name in BODIES else _none_left)
    return left(op, look)


def _nothing(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    return [NOTHING] * len(region.params)


def _none_left(op: Op, look: Look) -> Facts:
    return ()


def _body(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    return [read(value) for value in op.operands]


def _returned(op: Op, look: Look) -> Facts:
    region = op.regions[0]
    if op.transformation == "make_jaxpr":
        return ()
    left = [look.read(value) for value in region.results]
    if op.transformation in JACOBIANS:
        return _jacobians(op, left, look)
    if op.yields:
        return [_column(fact, region) for fact in left]
    if not region.shared:
        return left
    visible = {atom for value in op.operands for atom in atoms_of(look.read(value))}
    return [forget(fact, lambda atom: atom in visible or atom.born == 0) for fact in left]


def _jacobians(op: Op, left: Facts, look: Look) -> Facts:
    """A Jacobian has the axes of what the function gives, then those of its argument; a Hessian these twice."""
    chosen, argnums, aux = op.differentiated, op.option("argnums", 0), op.option("has_aux", False)
    several = isinstance(argnums, tuple)
    count = len(argnums) if isinstance(argnums, tuple) else 1
    # Of what holds several leaves each has a Jacobian of its own, in a tree that is not seen here.
    if chosen is None or len(chosen) != count or (aux is not False and len(left) != 2):
        return ()
    inputs = [look.read(op.operands[at]) for at in chosen]

    def of(fact: ShapeFact) -> ShapeFact:
        made = [
            NOTHING
            if fact.dims is None or one.dims is None
            else array((*fact.dims, *one.dims * (2 if op.transformation == "hessian" else 1)), fact.dtype)
            for one in inputs
        ]
        return sequence(tuple(made)) if several else made[0]

    return [of(fact) if at == 0 or aux is False else fact for at, fact in enumerate(left)]


def _column(fact: ShapeFact, region: Region) -> ShapeFact:
    """Return the sequence of what a generator gives in all turns: what it makes inside may differ from turn to turn."""
    first = next((value.id for op in region.ops for value in op.results), 0)
    return ShapeFact(each=forget(fact, lambda atom: atom.born < first))


def _gradient(op: Op, look: Look) -> Facts:
    """The function's own results come first, then a gradient for each leaf of the chosen arguments."""
    own = list(_returned(op, look))
    if own and _is_open(own[0]) and (op.option("has_aux", False) is False or len(own) > 1):
        # JAX takes gradients of single numbers alone.
        own[0] = ShapeFact((), own[0].dtype)
    extra = op.results[len(own) :]
    chosen, argnums = op.differentiated, op.option("argnums", 0)
    in_order = not isinstance(argnums, tuple) or list(argnums) == sorted(argnums)  # type: ignore[type-var]
    if chosen is None or len(chosen) != len(extra) or not in_order:
        return own
    # A number has a gradient of its shape, and no value that is known.
    return [*own, *(traced(look.read(op.operands[at])) for at in chosen)]


def _scanned(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    loop = Loop(op)
    carry = [traced(read(one.start)) for one in loop.carried]
    return [*carry, *(mapped.without_axis(read(whole), 0) for _, whole in loop.elements)]


def _after_scan(op: Op, look: Look) -> Facts:
    length = scan_length(op, look.read).labelled(made_by("scan", op))
    steps = op.regions[0].results[len(Loop(op).carried) :]
    return [*_after_carry(op, look), *(mapped.with_axis(look.read(value), 0, length) for value in steps)]


def scan_length(op: Op, read: Read[ShapeFact]) -> Dim:
    """Return how many turns a scan takes, from its inputs or from `length`."""
    found = (mapped.size_along(read(whole), 0) for _, whole in Loop(op).elements)
    sizes = [size for size in found if size is not None]
    if sizes:
        return sizes[0].labelled(frozenset().union(*(size.labels for size in sizes)))
    given = stated_length(op, read)
    return UNKNOWN if given is None else given


def stated_length(op: Op, read: Read[ShapeFact]) -> Dim | None:
    """Return the `length` that was asked for."""
    given = op.length
    return None if given is None else as_number(literal(given, read))  # type: ignore[arg-type]


def traced(fact: ShapeFact) -> ShapeFact:
    """Return a fact as a tracer has it: a number's value is not known while tracing."""
    return fact if fact.number is None else ShapeFact(fact.dims, fact.dtype, fact.weak)


def _after_carry(op: Op, look: Look) -> Facts:
    """A carry leaves a loop with the type it came in with, but that weak types yield to what the body makes."""
    made: list[ShapeFact] = []
    loop = Loop(op)
    for one, end in zip(loop.carried, loop.body.results, strict=False):
        first, last = look.read(one.param), look.read(end)
        if first.dims is not None and first.weak and last.dtype != first.dtype:
            first = ShapeFact(first.dims, last.dtype)
        elif last.dims is not None and first.symbol and all(dim.constant is not None for dim in last.dims):
            # What the body gives for the next turn has the type of what it got.
            first = ShapeFact(last.dims, last.dtype)
        made.append(first)
    return made


def _looped(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    return [traced(read(one.start)) for one in Loop(op).carried_in(region)]


def taken(op: Op, read: Read[ShapeFact]) -> int | None:
    """Return the position of the branch of an `if` that runs; None where either may."""
    if op.name != "py.branch" or not op.operands or [region.label for region in op.regions] != ["then", "else"]:
        return None
    known = truth(read(op.operands[0]))
    return None if known is None else 0 if known else 1


def truth(condition: ShapeFact) -> bool | None:
    """Return whether a condition holds, where sizes decide it."""
    if condition.items is not None:
        # `if x.shape:` asks whether there are axes.
        return bool(condition.items)
    known = condition.number.constant if condition.dtype == "bool" and condition.number is not None else None
    return None if known is None else bool(known)


def _joined(op: Op, look: Look) -> Facts:
    only = taken(op, look.read)
    arms = [region for region in Branch(op).arms if only is None or region is op.regions[only]]
    ways = [[look.read(value) for value in region.results] for region in arms]
    return [reduce(join, facts) for facts in zip(*ways, strict=False)]


def _agreed(op: Op, look: Look) -> Facts:
    """The branches of a `cond` give one type: what is known of one of them holds for those of which nothing is."""
    ways = zip(*([look.read(value) for value in region.results] for region in Branch(op).arms), strict=False)
    return [reduce(join, [fact for fact in facts if not _is_open(fact)] or facts) for facts in ways]


def _is_open(fact: ShapeFact) -> bool:
    """Whether something may be an array, and nothing is known of its shape."""
    return bool(fact.symbol) and fact.outline is None and fact.sizes is None


def _turn(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    """A Python loop starts with its operands and goes on with what the last turn left."""
    params = region.params[1:]
    facts = [read(value) for value in (region.results if turn else op.operands)[: len(params)]]
    # An object of which only the identity is known is another one in the next turn, unless it is handed on.
    ends = zip(facts, params, region.results, strict=False)
    facts[: len(region.results)] = [NOTHING if fact.symbol and end is not param else fact for fact, param, end in ends]
    return [ShapeFact((), "int32", True, UNKNOWN), *facts]


def _after_turns(op: Op, look: Look) -> Facts:
    region = op.regions[0]
    inside = region.params[0].id if region.params else 0

    def stays(atom: Atom) -> bool:
        return atom.born < inside

    count = len(region.params) - 1
    left = [forget(look.read(value), stays) for value in region.results]
    columns = op.kind == "comprehension"
    turns = _turns(op, look) if op.every_turn else UNKNOWN
    # An empty list among the elements of another is there to be filled, by whoever finds it there.
    kept = [NOTHING if columns and fact.items == () else fact for fact in left]
    made = [
        join(_before_end(op, i, look, stays), fact)
        if i < count
        else _listed(fact, turns, chained=op.chained)
        if columns
        else fact
        for i, fact in enumerate(kept)
    ]
    for at, part in _collected(op, look):
        each = forget(literal(part, look.read), stays)
        made[at] = ShapeFact(each=each, length=_turns(op, look).labelled(made_by("ordered", op)))
    return made


def _listed(fact: ShapeFact, turns: Dim, *, chained: bool) -> ShapeFact:
    """Return what a comprehension makes that gets an item a turn, or a list of them."""
    if chained:
        parts = (turns, fact.length or UNKNOWN)
        turns = product(parts).labelled(product_of(parts, None))
        fact = fact.each or NOTHING
    return ShapeFact(each=fact, length=turns if turns.known else None)


def _before_end(op: Op, at: int, look: Look, stays: Callable[[Atom], bool]) -> ShapeFact:
    """Return what a loop may leave beside what its last turn makes: what it was started with, if it may not run."""
    start, carried = look.read(op.operands[at]), look.read(op.regions[0].params[at + 1])
    parted = start.rank is not None and carried.rank is not None and start.rank != carried.rank
    if parted and _is_positive(_turns(op, look)):
        return forget(carried, stays)
    return start


def _is_positive(count: Dim) -> bool:
    """Whether a number of turns is surely not zero, arrays without elements aside."""
    terms = count.terms or ()
    sizes = all(atom.kind == "size" for monomial, _ in terms for atom in monomial)
    return bool(terms) and sizes and all(factor > 0 for _, factor in terms)


def _collected(op: Op, look: Look) -> Iterator[tuple[int, Argument]]:
    """Return where a loop hands on a list that was empty before, and what every turn puts at its end."""
    region, carried = op.regions[0], op.regions[0].params[1:]
    appended = {one.results[0]: one for one in region.ops if one.name == "py.append" and one.results}
    for at, (param, end) in enumerate(zip(carried, region.results, strict=False)):
        last = appended.get(end)
        once = last is not None and last.arguments.get("list") is param and last.method == "append"
        if last is not None and once and look.read(op.operands[at]).items == ():
            yield at, last.arguments.get("value")


def _turns(op: Op, look: Look) -> Dim:
    """Return how many turns a loop takes, by the shortest thing it runs through; unknown where it may end before."""
    region = op.regions[0]
    if any(inner.exit is not Exit.FALL for one in region.walk() for inner in one.regions):
        return UNKNOWN
    elements = [one for one in region.ops if one.name == "py.element" and one.argument("index") is region.params[0]]
    lengths = [_count(one.arguments.get("iterable"), look) for one in elements]
    first = lengths[0] if lengths else UNKNOWN
    if first != UNKNOWN and all(same(first, other) for other in lengths):
        return first
    counts = [one.constant for one in lengths if one.constant is not None]
    if counts and len(counts) == len(lengths):
        return constant(min(counts))
    open_ends = any(one.known and one.constant is None for one in lengths)
    return UNKNOWN if op.trips is None or open_ends else constant(op.trips)


def _count(over: Argument | None, look: Look) -> Dim:
    """Return how many elements a range, an array or a list has."""
    if isinstance(over, Mapping):
        first, stop = (as_number(literal(over.get(name), look.read)) for name in ("start", "stop"))
        if over.get("step") != 1 or first is None or stop is None:
            return UNKNOWN
        return stop if same(first, ZERO) else stop - first
    fact = look.read(over) if isinstance(over, Value) else NOTHING
    if fact.items is not None:
        return constant(len(fact.items))
    return fact.dims[0] if fact.dims else fact.length or UNKNOWN


def _pair_of_elements(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Facts:
    """The two elements are stretches of the input along an axis, of any length."""
    axis = op.axis
    made = [mapped.resized(read(value), axis, UNKNOWN) for value in op.operands]
    return made if len(made) == len(region.params) else [*made, *made]


_MOST_LEAVES = 64
_PLAIN = 24
"""How many ops a function on leaves may have to be run for each leaf."""


def _each_leaf(op: Op, look: Look) -> Facts | None:
    """Run the function of a `tree.map` for each leaf; None where it is more than a few plain ops."""
    region, count = op.regions[0], len(op.regions[0].results)
    trees = [look.read(value).leaves for value in op.operands]
    if op.is_leaf is True and not all(part.placed for parts in trees for part in parts or (NOTHING,)):
        # The function sees larger parts of the tree than its leaves, where these are not taken apart any further.
        return None
    plain = _length(region) <= _PLAIN
    leaves = len(op.results) - count
    if not plain or count != 1 or not 0 < leaves <= _MOST_LEAVES or not trees or trees[0] is None:
        return None
    if len(region.params) != len(trees) or any(parts is not None and len(parts) != leaves for parts in trees):
        return None
    rows = [[NOTHING if parts is None else parts[at] for parts in trees] for at in range(leaves)]
    return [_one_leaf(region, row, look, {})[0] for row in rows]


def _length(region: Region) -> int:
    """Return how many ops run where only functions are called; more than any number where there is more to it."""
    calls = [op for op in region.ops if op.regions]
    if any(op.name != "py.call" or len(op.operands) != len(op.regions[0].params) for op in calls):
        return _PLAIN + 1
    return len(region.ops) + sum(_length(op.regions[0]) for op in calls)


def _one_leaf(region: Region, given: Facts, look: Look, around: Mapping[Value, ShapeFact]) -> list[ShapeFact]:
    facts = {**around, **dict(zip(region.params, given, strict=True))}
    for op in region.ops:
        if op.regions:
            inside = [facts.get(value) or look.read(value) for value in op.operands]
            facts.update(zip(op.results, _one_leaf(op.regions[0], inside, look, facts), strict=False))
            continue
        transfer = TABLE.get(op.name)
        here = Look(op, lambda value: facts.get(value) or look.read(value))
        made = () if transfer is None else transfer(op, here)
        look.inner.append((here, made))
        for at, value in enumerate(op.results):
            fact = made[at] if at < len(made) else None
            facts[value] = NOTHING if fact is None else fact
    return [facts.get(value, NOTHING) for value in region.results]


_ELEMENTWISE = ("array.map", "array.select", "array.convert", "grad.stop", "py.return", "py.const")


def _after_leaves(op: Op, look: Look) -> Facts:
    """A function that works elementwise on every leaf of a tree keeps the shape of each."""
    count = len(op.regions[0].results)
    each = _each_leaf(op, look)
    if each is not None:
        return [*[NOTHING] * count, *each]
    made = [NOTHING] * count
    parts = look.read(op.operands[0]).leaves if op.operands else None
    if parts is None or len(parts) != len(op.results) - count or not _is_elementwise(op.regions[0]):
        return made
    return [*made, *(ShapeFact(part.dims) for part in parts)]


def _is_elementwise(region: Region) -> bool:
    return bool(region.params) and all(
        step.name in _ELEMENTWISE or step.qualified.endswith("_like") for step in region.ops
    )


Enter = Callable[[Op, Region, Read[ShapeFact], int], Facts]
Leave = Callable[[Op, Look], Facts]

_ENTER: Mapping[str, Enter] = {
    "transform": _nothing,
    "scan": _scanned,
    "fori": lambda op, region, read, turn: [ShapeFact((), "int32", True), *_looped(op, region, read, turn)],
    "while": _looped,
    "cond": lambda op, region, read, turn: [traced(read(value)) for value in Branch(op).operands],
    "vmap": mapped.enter,
    "pmap": mapped.enter,
    "shard_map": meshes.enter,
    "map": mapped.enter_map,
    "associative_scan": _pair_of_elements,
    **dict.fromkeys(PYTHON_LOOPS, _turn),
}
_LEAVE: Mapping[str, Leave] = {
    "transform": _none_left,
    "grad": _gradient,
    "scan": _after_scan,
    "fori": _after_carry,
    "while": _after_carry,
    "cond": _agreed,
    "py.branch": _joined,
    "vmap": mapped.leave,
    "pmap": mapped.leave,
    "shard_map": meshes.leave,
    "map": mapped.leave_map,
    "associative_scan": lambda op, look: [look.read(value) for value in op.operands],
    "tree.map": _after_leaves,
    **dict.fromkeys(PYTHON_LOOPS, _after_turns),
}
