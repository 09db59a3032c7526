"""Signs that random numbers are shared on purpose, in how functions and objects are given their keys.

Each function looks at the one or two uses of a key that an obligation is about, and says what it sees, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts, Use
from jaxaudit.analyses.keys.fates import is_init
from jaxaudit.analyses.keys.terms import Repeat, Split, Stack, history, root, rows_behind
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, operands_of, reached, through_ops, walk
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import PLACES, REORDERINGS
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.ops import MAPPED, PYTHON_LOOPS
from jaxaudit.rules.base import Obligation
from jaxaudit.rules.intent.names import are_inverse, says_follower
from jaxaudit.rules.intent.subjects import asks_for_key, keys_of

_STORES = frozenset(("py.store_attr", "py.store_nonlocal", "py.store_global"))
_TAKEN = through_ops("py.item", "py.attr", "py.unpack")
_HELD = through_ops("py.call_library", "py.container", "py.attr", "py.item")
_PICKS = frozenset(("array.gather", "array.scatter", "array.at", "array.move", "py.item"))


def undone(one: Obligation, facts: Facts) -> str:
    """Read from the names of a function and its inverse: `inverse_rotate(round(rotate(x, key)), key)`."""
    uses = one.subject.uses
    names = [callee_of(use.spot) for use in uses]
    if len(uses) != 2 or uses[0].spot is uses[1].spot or not are_inverse(*names):
        return ""
    return f"`{names[1]}` undoes what `{names[0]}` did, with the same numbers, it seems"


def alike(one: Obligation, facts: Facts) -> str:
    """Read from two calls of one initialiser: `net.init(key, x)` for a target too."""
    uses = one.subject.uses
    if len(uses) != 2 or uses[0].spot is uses[1].spot:
        return ""
    if _is_same_start(uses[0].spot, uses[1].spot) or _is_one_module(uses[0], uses[1]):
        return f"both are made by the same `{callee_of(uses[0].spot)}`, so that they start alike, it seems"
    return ""


def followed(one: Obligation, facts: Facts) -> str:
    """Read from the name of one of two that start alike: `target_params = net.init(key, x)`."""
    if not alike(one, facts):
        return ""
    says = [any(map(says_follower, _names_of(use.spot, facts.flow))) for use in one.subject.uses]
    return "one of them follows the other, and starts as it, by its name" if sum(says) == 1 else ""


def _names_of(op: Op, flow: Flow) -> Iterator[str]:
    """Return the first names of what an op gives, or of the objects that hold it."""

    def step(value: Value) -> Iterator[Value]:
        return iter(()) if value.name else ahead(flow, value, _HELD)

    return (value.name for value in walk(op.results, step))


def aligned(one: Obligation, facts: Facts) -> str:
    """Read from draws of places in several arrays: `permutation(key, images)`, `permutation(key, labels)`."""
    uses, around = one.subject.uses, one.subject.around
    if len(uses) == 2:
        first, second = (use.spot for use in uses)
        same = callee_of(first) == callee_of(second) and first is not second and _settings(first) == _settings(second)
        apart = first.operands != second.operands and _picks(facts, first) and _picks(facts, second)
        reordered = all(use.origin.spot.function in REORDERINGS for use in uses)
        return "picking the same places in two arrays keeps them aligned" if reordered or (same and apart) else ""
    draw = uses[0].origin.spot
    reordered = around is not None and around.name in MAPPED and draw.function in REORDERINGS
    if reordered or (around is not None and _has_items(facts, around, uses[0]) and _picks(facts, draw)):
        return "picking the same places in every item keeps them aligned"
    return ""


def reordered(one: Obligation, facts: Facts) -> str:
    """Read from one order for all parts of a batch: `tree.map(lambda x: permutation(key, x), batch)`."""
    uses, around = one.subject.uses, one.subject.around
    whole = len(uses) == 2 if around is None else around.name == "tree.map"
    if not whole or not all(use.origin.spot.function in REORDERINGS for use in uses):
        return ""
    first, second = uses[0].origin.spot, uses[-1].origin.spot
    same = around is not None or (first.function == second.function and _settings(first) == _settings(second))
    return "one order for all arrays keeps them aligned" if same else ""


def held_fixed(one: Obligation, facts: Facts) -> str:
    """Read from closures and objects that hold a key: `sample = partial(f, key)` at several points."""
    keys, uses, around = keys_of(facts), one.subject.uses, one.subject.around
    closed = all(use.inner is not None and not _is_given(keys, use.spot, use) for use in uses)
    if len(uses) == 2:
        networks = all(callee_of(use.origin.spot) == "apply" for use in uses)
        same = callee_of(uses[0].spot) == callee_of(uses[1].spot) and uses[0].spot is not uses[1].spot
        return f"`{callee_of(uses[0].spot)}` holds its key fixed, it seems" if closed and same and networks else ""
    if around is None:
        return ""
    outside = uses[0].inner is not None and not _is_given(keys, around, uses[0])
    if around.name == "pmap" and outside and not _maps_keys_alone(keys, around):
        return "the mapped function holds its key fixed, which is often meant for devices"
    if around.name == "vmap" and not _is_given(keys, around, uses[0]) and asks_for_key(uses[0].origin.spot):
        return "the mapped function holds it fixed, and `apply` asks for a key whether it draws or not"
    if around.name in PYTHON_LOOPS and closed and _is_given_data(around, uses[0].spot):
        return f"`{callee_of(uses[0].spot)}` holds its key fixed and is given one piece of data after the other"
    return ""


def renewed(one: Obligation, facts: Facts) -> str:
    """Read from what each turn of a loop stores: `self.key, key = jax.random.split(self.key)`."""
    around, uses = one.subject.around, one.subject.uses
    turns = around is not None and around.name in (*PYTHON_LOOPS, "tree.map") and len(uses) == 1
    if around is not None and turns and _is_renewed(keys_of(facts), around, uses[0]):
        return "every turn puts a new key into an object, which may be the one that is used"
    return ""


def spelled_out(one: Obligation, facts: Facts) -> str:
    """Read from `in_axes`, where it says None for the key that a caller gives: `vmap(f, (None, 0))(key, channels)`."""
    around, keys = one.subject.around, keys_of(facts)
    if around is None or around.name != "vmap" or not around.in_axes:
        return ""
    # What `*` and `**` hand on is a caller's too.
    given = {param for start in facts.program.roots for param in start.region.params}
    given |= {value for op in facts.program.named("py.unknown") for value in op.results}
    used = root(one.subject.uses[0].term)
    shared = (value for value, axis in zip(around.operands, around.in_axes, strict=False) if axis is None)
    keyed = [value for value in shared if root(keys.term(value)) is used]
    said = any(
        not given.isdisjoint(walk((value,), lambda part: operands_of(facts.flow, part, _TAKEN))) for value in keyed
    )
    return "`in_axes` says so for the key that a caller gives" if said else ""


def drawn_once(one: Obligation, facts: Facts) -> str:
    """Read from a map around, over keys alone: `vmap(lambda key: vmap(lambda x: net(x, key))(points))(keys)`."""
    around, keys = one.subject.around, keys_of(facts)
    inner = Mapped.of(around) if around is not None and around.name == "vmap" else None
    if inner is None or around is None:
        return ""
    used, points = set(history(one.subject.uses[0].term)), [whole for _, whole in inner.elements]
    for _, outer in keys.places.up(keys.places.region_of[around]):
        mapped = Mapped.of(outer) if outer is not None else None
        elements = [param for param, _ in mapped.elements] if mapped is not None else []
        if any(keys.term(param) in used for param in elements):
            shared = reached(facts.flow, elements).isdisjoint(points)
            return "each key of the map around is drawn from once for all the points, it seems" if shared else ""
    return ""


def _maps_keys_alone(keys: KeyFacts, around: Op) -> bool:
    """Whether all that elements could differ in are copies of one key: then each computes what all others do."""
    mapped = Mapped.of(around)
    terms = [keys.term(whole) for _, whole in mapped.elements] if mapped is not None else []
    return bool(terms) and all(isinstance(term, Repeat | Stack) for term in terms)


def _is_same_start(first: Op, second: Op) -> bool:
    if first.name != second.name or not callee_of(first).startswith("init") or callee_of(first) != callee_of(second):
        return False
    if (receiver := first.arguments.get("self")) is not None:
        return receiver is second.arguments.get("self")
    same = [one is other for one, other in zip(first.operands, second.operands, strict=False)]
    # The key is one of the operands; a network that starts alike shares an input too.
    return len(first.operands) == len(second.operands) and (all(same) or (first.name == "key.draw" and sum(same) > 1))


def _is_one_module(first: Use, second: Use) -> bool:
    """Whether one module is initialised twice with one key, wherever that is written."""
    ways = [one.origin.spot for one in (first, second)]
    if not all(map(is_init, ways)):
        return False
    module, operands = ways[0].object_id, first.spot.operands == second.spot.operands
    if module is None:
        # A transformed function of a library: one call of it, made twice with the same arguments.
        return ways[0].qualified == ways[1].qualified and operands
    return module == ways[1].object_id and (ways[0] is not ways[1] or operands)


def _settings(op: Op) -> dict[str, Argument]:
    """Return what a draw is given besides the array that it picks from."""
    arguments = op.arguments.items() if op.name == "key.draw" else ()
    return {name: given for name, given in arguments if name not in ("a", "x")}


def _picks(facts: Facts, op: Op) -> bool:
    """Whether all that an op draws are places in arrays, directly or after a little arithmetic."""
    draws = [op] if op.name == "key.draw" else [one for one in _inside(op) if one.name == "key.draw"]
    return bool(draws) and all(one.function in PLACES and _is_index(facts.flow, one) for one in draws)


def _is_index(flow: Flow, draw: Op) -> bool:
    def step(value: Value) -> Iterator[Value]:
        return (one for op in flow.readers.get(value, ()) if op.name.startswith("array.") for one in op.results)

    drawn = walk(draw.results, step)
    picked = (op.name in _PICKS for value in drawn for op in flow.readers.get(value, ()))
    return isinstance(draw.argument("x", "a"), Value) or any(picked)


def _inside(op: Op) -> Iterator[Op]:
    return (inner for region in op.regions for inner in region.walk())


def _has_items(facts: Facts, around: Op, use: Use) -> bool:
    """Whether each turn of a loop has another array to pick from."""
    if around.name == "tree.map":
        return True
    elements = [op for op in around.regions[0].ops if op.name == "py.element"] if around.name == "py.loop" else []
    counts = all(isinstance(op.arguments.get("iterable"), Mapping) for op in elements)
    if not elements or (use.inner is not None and not counts):
        return bool(elements)
    changing = reached(facts.flow, (*around.regions[0].params, *(made for op in elements for made in op.results)))
    if use.inner is not None:
        return not changing.isdisjoint(use.spot.operands)
    drawn = reached(facts.flow, use.spot.results)
    picks = (op for value in drawn for op in facts.flow.readers.get(value, ()) if op.name in _PICKS and op.operands)
    bases = {op.operands[0] for op in picks} - drawn
    return not changing.isdisjoint((*use.spot.operands, *bases))


def _is_given(keys: KeyFacts, call: Op, use: Use) -> bool:
    """Whether the key of a use, or what it is a part of, is an argument of the call."""
    return any(root(keys.term(value)) is root(use.term) for value in call.operands)


def _is_given_data(loop: Op, call: Op) -> bool:
    """Whether a call is given something of this turn, and nothing that the turns hand on."""
    carried = set(loop.regions[-1].params)
    begun = loop.entered[0] if loop.entered else 0
    return any(value.id > begun for value in call.operands) and carried.isdisjoint(call.operands)


def _is_renewed(keys: KeyFacts, op: Op, use: Use) -> bool:
    """Whether a body puts a key of the same split into an object that outlives it, for the next turn to find."""
    behind = {use.origin.site, *rows_behind((use.term, use.origin.term))}
    stores = (inner for inner in _inside(op) if inner.name in _STORES)
    return any(_split_behind(keys, value) in behind for store in stores for value in store.operands)


def _split_behind(keys: KeyFacts, value: Value) -> Op | None:
    term = root(keys.term(value))
    made = keys.terms.made_by.get(term)
    return term.tag[-1] if isinstance(term, Split) else None if made is None else made[0]
