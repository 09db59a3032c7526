"""Uses of one key that share no number that counts, as the flow of data shows: a warning at most.

Two draws of which a condition keeps one, a draw that is read where the second use is not, a draw whose result only
shows a network the shape of its input, one crop for several arrays, and a function whose key is fixed inside before it
is applied to one piece of data after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.conflicts import Conflict
from jaxaudit.analyses.keys.meet import Users
from jaxaudit.analyses.keys.terms import root, rows_behind
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import BRANCHES, VOCABULARY
from jaxaudit.rules.random._shared.alignment import picks

_STORES = frozenset(("py.store_attr", "py.store_nonlocal", "py.store_global"))
_MAKES = frozenset(("key.draw", "key.split", "key.fold_in"))
_MOST = 40
_PLACES = frozenset({"randint", "permutation", "shuffle"})


def reason_of_pair(keys: KeyFacts, conflict: Conflict) -> str:
    """Say why two uses of one key do no harm, or give an empty text."""
    first, second = conflict.first.spot, conflict.second.spot
    if _excluded(keys.users, first, second):
        return "a condition keeps only one of the two results"
    if first.name == "key.draw" and _read_elsewhere(keys.facts.flow, first, second):
        return "what is drawn first is read only where the second use does not happen"
    draws = [one.spot for one in (conflict.first, conflict.second) if one.how is How.DRAW and not _is_init(one.spot)]
    if any(keys.users.only_shows(one, _is_init) for one in draws):
        return "what is drawn only shows `init` the shape of its input"
    makes = [one for one in (first, second) if one.name in _MAKES]
    if shown := [one for one in makes if keys.users.only_shows(one, _is_abstract)]:
        return f"what `{callee_of(shown[0])}` gives only serves to find out shapes"
    if _same_places(keys.facts.flow, first, second):
        return f"`{callee_of(first)}` picks the same places in two arrays, it seems"
    if _shared_on_request(keys, conflict):
        return "a condition says whether both are to use one key"
    if networks := _networks(keys, conflict):
        return networks
    # A trace does not show what Python reads of the first split.
    if keys.program.front_end != "jaxpr" and _split_for_nobody(keys, conflict):
        return "nobody uses the keys of one of the splits"
    return ""


def _shared_on_request(keys: KeyFacts, conflict: Conflict) -> bool:
    """Whether an `if` puts the first key in the place of another one that was there before."""
    first, second = conflict.first.value, conflict.second.value
    branch = None if second is None else keys.places.maker.get(second)
    if first is None or second is None or branch is None or branch.name != "py.branch" or len(branch.regions) != 2:
        return False
    if any(len(region.results) != len(branch.results) for region in branch.regions):
        return False
    then, otherwise = (region.results[branch.results.index(second)] for region in branch.regions)
    made = keys.places.region_of_value(otherwise)
    return then is first and otherwise is not first and made is not branch.regions[1]


def _networks(keys: KeyFacts, conflict: Conflict) -> str:
    """Say why two runs of networks need not draw the same numbers, or may well be meant to."""
    first, second = (use.origin.spot for use in (conflict.first, conflict.second))
    if first is second or any(op.name != "key.draw" or callee_of(op) != "apply" for op in (first, second)):
        return ""
    one, other = _method_of(keys, first), _method_of(keys, second)
    if first.folds and one != other:
        return f"`{one}` and `{other}` draw other numbers where they use other submodules"
    if first.folds and _inputs(first) != _inputs(second):
        return "inputs of other names go through other submodules, it seems, which draw other numbers"
    calls = (conflict.first, conflict.second)
    closed = all(use.inner is not None and not is_given(keys, use.spot, use) for use in calls)
    if closed and callee_of(calls[0].spot) == callee_of(calls[1].spot):
        return f"`{callee_of(calls[0].spot)}` holds its key fixed: one function at several points, it seems"
    return ""


def _method_of(keys: KeyFacts, op: Op) -> object:
    """Return the method that a run of a module calls."""
    method = op.arguments.get("method")
    maker = keys.places.maker.get(method) if isinstance(method, Value) else None
    if method is None:
        return "__call__"
    return maker.label or method if maker is not None else method


def _inputs(op: Op) -> list[frozenset[str]]:
    """Return the names under which a run of a module is given its inputs, where they are in dicts."""
    given = op.arguments.get("args")
    parts = given if isinstance(given, tuple) else ()
    return [frozenset(map(str, part)) for part in parts if isinstance(part, Mapping)]


def fixed_inside(keys: KeyFacts, loop: Op, use: Use) -> bool:
    """Whether a loop applies a function to one piece of data after the other, whose key is fixed inside it."""
    call = use.spot
    if loop.name not in ("py.loop", "py.while") or use.inner is None or is_given(keys, call, use):
        return False
    carried = set(loop.regions[-1].params)
    mark = loop.entered
    begun = mark[0] if isinstance(mark, tuple) else 0
    return any(value.id > begun for value in call.operands) and carried.isdisjoint(call.operands)


def is_given(keys: KeyFacts, call: Op, use: Use) -> bool:
    """Whether the key of a use, or what it is a part of, is an argument of the call."""
    return any(root(keys.term(value)) is root(use.term) for value in call.operands)


def renewed_inside(keys: KeyFacts, op: Op, use: Use) -> bool:
    """Whether a body puts a key of the same split into an object that outlives it, for the next turn to find."""
    behind = {use.origin.site, *rows_behind((use.term, use.origin.term))}
    stores = (inner for region in op.regions for inner in _walk(region.ops) if inner.name in _STORES)
    return any(_split_behind(keys, value) in behind for store in stores for value in store.operands)


def _split_behind(keys: KeyFacts, value: Value) -> Op | None:
    for _ in range(4):
        op = keys.places.maker.get(value)
        if op is None or not op.operands or op.name in ("key.split", "key.fold_in"):
            return op
        value = op.operands[0]
    return None


def _walk(ops: list[Op] | tuple[Op, ...]) -> Iterator[Op]:
    for op in ops:
        yield op
        for region in op.regions:
            yield from _walk(region.ops)


def _excluded(users: Users, first: Op, second: Op) -> bool:
    """Whether both results go to one choice between them, and nowhere else."""
    ends = [users.only_choice(op) for op in (first, second)]
    if first is second or ends[0] is None or ends[1] is None:
        return False
    (choice, one), (other_choice, other) = ends[0], ends[1]
    asked = choice.argument("condition", "pred", "which", "condlist")
    return choice is other_choice and one is not other and asked is not one and asked is not other


def _read_elsewhere(flow: Flow, first: Op, second: Op) -> bool:
    """Whether whatever is computed from a draw is read on paths alone that the second use is not on."""
    pending, seen, elsewhere = list(first.results), set(first.results), False
    for value in pending:
        elsewhere = elsewhere or _is_read_apart(flow, value, second)
        made = [*_passed_on(flow, value, second), *_left_to(flow, value, second)]
        if None in made or len(seen) > _MOST:
            return False
        fresh = [one for one in made if one is not None and one not in seen]
        pending += fresh
        seen.update(fresh)
    return elsewhere and len(seen) > len(first.results)


def _is_read_apart(flow: Flow, value: Value, second: Op) -> bool:
    """Whether something reads a value, or it leaves, where the second use does not happen."""
    around, places = flow.places.region_of[second], flow.places
    holders = [(region, places.holder.get(id(region))) for region in flow.leaving.get(value, ())]
    others = [other for region, op in holders if op is not None for other in op.regions if other is not region]
    apart = (op for op in flow.readers.get(value, ()) if not places.both_happen(op, second))
    return any(places.within(around, other) for other in others) or any(
        not places.both_happen(second, op) for op in apart
    )


def _passed_on(flow: Flow, value: Value, second: Op) -> Iterator[Value | None]:
    """Return what pure ops make of a value on the paths of the second use; None for any other reader there."""
    for op in flow.readers.get(value, ()):
        if flow.places.both_happen(op, second) or flow.places.both_happen(second, op):
            pure = op.name == "vmap" or (not op.regions and not VOCABULARY[op.name].effect)
            yield from op.results if pure and op.results else (None,)


def _left_to(flow: Flow, value: Value, second: Op) -> Iterator[Value | None]:
    """Return what a value is called after the branches it leaves; None where it leaves a function or a loop."""
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        if holder is None or holder.name not in BRANCHES or len(holder.results) != len(region.results):
            yield None
            continue
        around = flow.places.region_of[second]
        if not any(flow.places.within(around, other) for other in holder.regions if other is not region):
            yield holder.results[region.results.index(value)]


def _is_init(op: Op) -> bool:
    return op.name == "key.draw" and callee_of(op) == "init"


def _is_abstract(op: Op) -> bool:
    return op.name == "abstract"


def _same_places(flow: Flow, first: Op, second: Op) -> bool:
    """Whether one function is called for two arrays, and all that it draws are places in them."""
    if first is second or callee_of(first) != callee_of(second) or not first.regions:
        return False
    draws = [op for region in first.regions for op in _walk(region.ops) if op.name == "key.draw"]
    same = first.operands == second.operands
    return bool(draws) and not same and all(callee_of(op) in _PLACES and picks(flow, op) for op in draws)


def _split_for_nobody(keys: KeyFacts, conflict: Conflict) -> bool:
    """Whether two splits give the same keys, of which nobody uses those of one."""
    first, second = conflict.first.origin, conflict.second.origin
    splits = first.how is How.SPLIT and second.how is How.SPLIT and first.site is not second.site
    if second.how is How.SPLIT and conflict.second.inner is None and not keys.users.is_read(second.site):
        return True
    return splits and first.site not in keys.fruitful and keys.users.is_overwritten(first.site)
