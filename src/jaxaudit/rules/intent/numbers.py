"""Signs that random numbers are shared on purpose, or to no harm, as the flow of data shows.

Each function looks at the one or two uses of a key that an obligation is about, and says what it sees, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.fates import Fate, is_init
from jaxaudit.analyses.keys.terms import Each, Split, root, rows_behind
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import reached, walk
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import PLACES, REORDERINGS
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.ops import MAPPED
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Obligation
from jaxaudit.rules.intent.names import are_inverse, says_evaluation
from jaxaudit.spans import Span

_STORES = frozenset(("py.store_attr", "py.store_nonlocal", "py.store_global"))
_PICKS = frozenset(("array.gather", "array.scatter", "array.at", "array.move", "py.item"))
_PYTHON_LOOPS = ("py.loop", "py.while")


def keys_of(facts: Facts) -> KeyFacts:
    """Return what is known of keys."""
    return facts.get(KeyFacts)


def names_of(one: Obligation, facts: Facts) -> Iterator[str]:
    """Return the names that the key of an obligation goes by."""
    keys, around = keys_of(facts), one.subject.around
    for use in one.subject.uses[-1:]:
        inner: Use | None = use
        while inner is not None:
            yield inner.value.name if inner.value is not None else ""
            inner = inner.inner
        yield from (made[1].name for term in (use.term, root(use.term)) if (made := keys.terms.made_by.get(term)))
    axes = None if around is None else around.in_axes
    if around is not None and isinstance(axes, tuple):
        yield from (value.name for value, axis in zip(around.operands, axes, strict=False) if axis is None)


def places_of(one: Obligation, facts: Facts) -> Iterator[Span]:
    """Return the places where a comment may speak of a key: its uses, and where it is made."""
    for use in one.subject.uses:
        yield from (use.spot.span, use.origin.spot.span)
    for use in one.subject.uses[-1:]:
        made = (keys_of(facts).terms.made_by.get(term) for term in (use.term, root(use.term)))
        yield from (found[0].span for found in made if found is not None)


def is_in_test_function(one: Obligation, facts: Facts) -> bool:
    """Whether a key is used in a function that test runners would call."""
    for use in one.subject.uses[-1:]:
        places = keys_of(facts).places
        around = (region for region, _ in places.up(places.region_of[use.spot]))
        function = next((region for region in around if region.kind in ("function", "root")), None)
        return function is not None and function.label.rpartition(".")[2].startswith("test_")
    return False


def compared(one: Obligation, facts: Facts) -> str:
    """Read from what becomes of results, set against each other or ranked: `loss(a, key) - loss(b, key)`."""
    keys, uses, around = keys_of(facts), one.subject.uses, one.subject.around
    if len(uses) == 2 and uses[0].spot is not uses[1].spot:
        first, second = (use.spot for use in uses)
        judged = callee_of(first) == callee_of(second) and not keys.fates.gives_samples(first)
        if keys.fates.are_equated(first, second) or (judged and keys.fates.are_compared(first, second)):
            return "both results are compared with each other, on common random numbers, it seems"
        if _is_default(keys, uses[1]) and keys.fates.are_apart(first, second):
            return "it is the default of a parameter, and two runs on the same numbers are compared, it seems"
    if len(uses) == 2:
        return ""
    use = uses[0]
    if use.inner is not None and says_evaluation(callee_of(use.spot)):
        return f"`{callee_of(use.spot)}` sounds like a comparison on the same numbers"
    if around is not None and (_tries(around, use) or _judges_parameters(facts, around) or _is_mapped_inside(use)):
        return "each turn tries another alternative on common random numbers, it seems"
    mapped = around is not None and around.name in MAPPED
    if keys.fates.are_ranked(around) if around is not None and mapped else keys.fates.are_tabulated(use.spot):
        return "the results are ranked or listed beside each other, on common random numbers, it seems"
    if around is not None and keys.fates.is_now_and_then(use.spot, around):
        return "only some turns use it, and no later turn gets the result: a report on equal terms, it seems"
    return ""


def not_used(one: Obligation, facts: Facts) -> str:
    """Read from what becomes of results, dropped, shown, or of some shape only: `net.init(other, normal(key))`."""
    keys, uses = keys_of(facts), one.subject.uses
    spots = [use.spot for use in uses]
    # A trace does not show what Python reads, prints or stores. Whoever drops a split may think that it renews the key.
    if facts.program.front_end == "source":
        splits = all(use.how is How.SPLIT for use in uses)
        if idle := [
            op for op in spots if (splits or op.name != "key.split" or op is spots[-1]) and keys.fates.is_unused(op)
        ]:
            return f"nothing is done with what `{callee_of(idle[0])}` gives"
    if fruitless := [use for use in uses[:-1] if _is_fruitless(keys, use)]:
        return f"nothing is drawn from the keys that `{callee_of(fruitless[0].spot)}` splits off"
    direct = [op for op in spots if op.name.startswith("key.") and not is_init(op)]
    if shapes := [op for op in direct if Fate.SHAPE in keys.fates.of(op) <= {Fate.SHAPE, Fate.HANDED}]:
        return f"what `{callee_of(shapes[0])}` gives only shows its shape"
    alone = len(spots) == 1 or (spots[0] is not spots[1] and keys.fates.are_apart(*spots))
    if alone and all(use.inner and keys.fates.of(use.spot) == {Fate.SHOWN} for use in uses):
        return f"what `{callee_of(spots[-1])}` gives is only reported: an evaluation on equal terms, it seems"
    return ""


def alike(one: Obligation, facts: Facts) -> str:
    """Read from two calls of one initialiser, or of a function and its inverse: `net.init(key, x)` for a target too."""
    uses = one.subject.uses
    if len(uses) != 2 or uses[0].spot is uses[1].spot:
        return ""
    names = [callee_of(use.spot) for use in uses]
    if are_inverse(*names):
        return f"`{names[1]}` undoes what `{names[0]}` did, with the same numbers, it seems"
    if _is_same_start(uses[0].spot, uses[1].spot) or _is_one_module(uses[0], uses[1]):
        return f"both are made by the same `{callee_of(uses[0].spot)}`, so that they start alike, it seems"
    return ""


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


def not_shared(one: Obligation, facts: Facts) -> str:
    """Read from rows, conditions and paths that Flax folds in: `model.init(key, x)` beside a draw from `key`."""
    keys, uses = keys_of(facts), one.subject.uses
    if len(uses) != 2:
        return ""
    first, second = (use.spot for use in uses)
    if folding := [use.origin.spot for use in uses if use.origin.spot.folds]:
        if len(folding) == 1 or _run_other_parts(keys, *folding):
            return "Flax folds the path of each module into the key, so the numbers differ where the paths do"
    if _gives_other_rows(keys, uses[0].origin, uses[1].origin):
        return "both splits give the same keys, but so far nobody uses the same one twice"
    if _is_excluded(keys, first, second):
        return "a condition keeps only one of the two results"
    if first.name == "key.draw" and keys.fates.of(first) and not keys.fates.of(first, beside=second):
        return "what is drawn first is read only where the second use does not happen"
    if _is_asked_for(keys, uses[0], uses[1]):
        return "a condition says whether both are to use one key"
    if first.span == second.span and all(use.origin.spot.caller == "library" for use in uses):
        return "both uses are inside one call of a library"
    return ""


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
    if around.name in (*_PYTHON_LOOPS, "tree.map") and _is_renewed(keys, around, uses[0]):
        return "every turn puts a new key into an object, which may be the one that is used"
    outside = uses[0].inner is not None and not _is_given(keys, around, uses[0])
    if around.name == "pmap" and outside:
        return "the mapped function holds its key fixed, which is often meant for devices"
    if around.name == "vmap" and not _is_given(keys, around, uses[0]) and _asks_for_key(uses[0].origin.spot):
        return "the mapped function holds it fixed, and `apply` asks for a key whether it draws or not"
    if around.name in _PYTHON_LOOPS and closed and _is_given_data(around, uses[0].spot):
        return f"`{callee_of(uses[0].spot)}` holds its key fixed and is given one piece of data after the other"
    return ""


def _is_default(keys: KeyFacts, use: Use) -> bool:
    """Whether a key is made in the head of a function that uses it: `def draw(n, key=jax.random.key(0))`."""
    made = keys.terms.made_by.get(root(use.term))
    if made is None:
        return False
    home = keys.places.region_of[made[0]]
    around = (region for region, _ in keys.places.up(keys.places.region_of[use.origin.spot]))
    functions = (region for region in around if region.kind == "function" and not keys.places.within(home, region))
    line = made[0].span.line
    return any(one.span.path == made[0].span.path and one.span.line <= line <= one.span.end_line for one in functions)


def _tries(loop: Op, use: Use) -> bool:
    """Whether a loop goes over constants that are written out, and a call in it is given the one of the turn.

    A draw is no trial: the constants are the shapes of what is drawn.
    """
    for op in loop.regions[0].ops if loop.name == "py.loop" and use.spot.name != "key.draw" else ():
        items = op.arguments.get("iterable") if op.name == "py.element" else None
        if isinstance(items, tuple) and not any(isinstance(item, Value) for item in items):
            return any(made in use.spot.operands for made in op.results)
    return False


def _is_mapped_inside(use: Use) -> bool:
    """Whether a function mapped further in gives every element a key of its own from the shared array."""
    inner: Use | None = use
    while inner is not None:
        if inner.site.name in ("vmap", "pmap") and isinstance(inner.term, Each):
            return True
        inner = inner.inner
    return False


def _judges_parameters(facts: Facts, op: Op) -> bool:
    """Whether what is mapped are the parameters of a network, and nothing else."""
    mapped = Mapped.of(op)
    if op.name != "vmap" or mapped is None or op.in_axes is None:
        return False
    calls = facts.program.calling(*playing("module.apply"))
    applied = {value for one in calls for value in values_in(one.arguments.get("variables"))}
    return all(not applied.isdisjoint(reached(facts.flow, (param,))) for param, _ in mapped.elements)


def _is_fruitless(keys: KeyFacts, use: Use) -> bool:
    """Whether a callee splits the key for its own ends, and its caller drops what it gives."""
    return use.inner is not None and use.origin.how is How.SPLIT and use.origin.site not in keys.fruitful


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
    if not elements or use.inner is None or not counts:
        return bool(elements)
    changing = reached(facts.flow, (*around.regions[0].params, *(made for op in elements for made in op.results)))
    return not changing.isdisjoint(use.spot.operands)


def _run_other_parts(keys: KeyFacts, first: Op, second: Op) -> bool:
    """Whether two runs of networks go through other modules: other methods, or inputs of other names."""
    return _method_of(keys, first) != _method_of(keys, second) or _inputs(first) != _inputs(second)


def _method_of(keys: KeyFacts, op: Op) -> object:
    method = op.arguments.get("method")
    maker = keys.places.maker.get(method) if isinstance(method, Value) else None
    name = maker.label if maker is not None else ""
    return (callee_of(op), op.object_id, name or method)


def _inputs(op: Op) -> list[frozenset[str]]:
    """Return the names under which a run of a module is given its inputs, where they are in dicts."""
    given = op.arguments.get("args")
    return (
        [frozenset(map(str, part)) for part in given if isinstance(part, Mapping)] if isinstance(given, tuple) else []
    )


def _gives_other_rows(keys: KeyFacts, first: Use, second: Use) -> bool:
    """Whether two splits of one key give the same keys, but nobody uses the same one."""
    if first.how is not How.SPLIT or second.how is not How.SPLIT or first.site is second.site:
        return False
    one, other = (keys.fruitful.get(use.site, frozenset()) for use in (first, second))
    return bool(one and other) and None not in (*one, *other) and one.isdisjoint(other)


def _is_excluded(keys: KeyFacts, first: Op, second: Op) -> bool:
    """Whether both results go to one choice between them, and nowhere else."""
    ends = [keys.fates.only_choice(op) for op in (first, second)]
    if first is second or ends[0] is None or ends[1] is None:
        return False
    (choice, one), (other_choice, other) = ends[0], ends[1]
    asked = choice.argument("condition", "pred", "which", "condlist")
    return choice is other_choice and one is not other and asked is not one and asked is not other


def _is_asked_for(keys: KeyFacts, one: Use, other: Use) -> bool:
    """Whether an `if` puts the first key in the place of another one that was there before."""
    first, second = one.value, other.value
    branch = None if second is None else keys.places.maker.get(second)
    if first is None or second is None or branch is None or branch.name != "py.branch" or len(branch.regions) != 2:
        return False
    if any(len(region.results) != len(branch.results) for region in branch.regions):
        return False
    then, otherwise = (region.results[branch.results.index(second)] for region in branch.regions)
    made = keys.places.region_of_value(otherwise)
    return then is first and otherwise is not first and made is not branch.regions[1]


def _is_given(keys: KeyFacts, call: Op, use: Use) -> bool:
    """Whether the key of a use, or what it is a part of, is an argument of the call."""
    return any(root(keys.term(value)) is root(use.term) for value in call.operands)


def _is_given_data(loop: Op, call: Op) -> bool:
    """Whether a call is given something of this turn, and nothing that the turns hand on."""
    carried = set(loop.regions[-1].params)
    mark = loop.entered
    begun = mark[0] if isinstance(mark, tuple) else 0
    return any(value.id > begun for value in call.operands) and carried.isdisjoint(call.operands)


def _asks_for_key(op: Op) -> bool:
    """Whether an op runs a module with a key for it as a whole, though it may draw nothing."""
    return op.name == "key.draw" and plays(op.qualified, "module.apply") and not op.folds


def _is_renewed(keys: KeyFacts, op: Op, use: Use) -> bool:
    """Whether a body puts a key of the same split into an object that outlives it, for the next turn to find."""
    behind = {use.origin.site, *rows_behind((use.term, use.origin.term))}
    stores = (inner for inner in _inside(op) if inner.name in _STORES)
    return any(_split_behind(keys, value) in behind for store in stores for value in store.operands)


def _split_behind(keys: KeyFacts, value: Value) -> Op | None:
    term = root(keys.term(value))
    made = keys.terms.made_by.get(term)
    return term.tag[-1] if isinstance(term, Split) else None if made is None else made[0]
