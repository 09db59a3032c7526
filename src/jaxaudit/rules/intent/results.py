"""Signs that random numbers are shared on purpose or to no harm, in what becomes of the results.

Each function looks at the one or two uses of a key that an obligation is about, and says what it sees, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.fates import Fate, is_init
from jaxaudit.analyses.keys.terms import Each, root
from jaxaudit.analyses.queries import made_by, reached, through_ops, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import MAPPED
from jaxaudit.libraries.lookup import playing
from jaxaudit.rules.base import Obligation
from jaxaudit.rules.intent.names import says_evaluation
from jaxaudit.rules.intent.subjects import asks_for_key, keys_of
from jaxaudit.spans import Span

_RUNS_OTHERS = "each turn runs another function, on common random numbers, it seems"


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
    if len(uses) == 2 and uses[0].spot.span == uses[1].spot.span and _draws(uses[0].spot) != _draws(uses[1].spot):
        return _RUNS_OTHERS
    if len(uses) == 2:
        return ""
    use = uses[0]
    mapped = around is not None and around.name in MAPPED
    # A function that is mapped as it is has no call of its own that would name it.
    calls = [op for op, named in ((use.spot, use.inner is not None), (around, mapped)) if op is not None and named]
    if judging := next((name for name in map(callee_of, calls) if says_evaluation(name)), ""):
        return f"`{judging}` sounds like a comparison on the same numbers"
    if around is not None and (_tries(around, use) or _judges_parameters(facts, around) or _is_mapped_inside(use)):
        return "each turn tries another alternative on common random numbers, it seems"
    if around is not None and _runs_other(use.spot, around, facts):
        return _RUNS_OTHERS
    if keys.fates.are_ranked(around) if around is not None and mapped else keys.fates.are_tabulated(use.spot):
        return "the results are ranked or listed beside each other, on common random numbers, it seems"
    if around is not None and keys.fates.is_now_and_then(use.spot, around):
        return "only some turns use it, and no later turn gets the result: a report on equal terms, it seems"
    if around is not None and keys.fates.are_rivals(use.spot, around):
        return "the results of the turns are only ordered against each other, on common random numbers, it seems"
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
    if fruitless := [use for use in uses if _is_fruitless(keys, use)]:
        return f"nothing is drawn from the keys that `{callee_of(fruitless[0].spot)}` splits off"
    direct = [op for op in spots if op.name.startswith("key.") and not is_init(op)]
    if shapes := [op for op in direct if Fate.SHAPE in keys.fates.of(op) <= {Fate.SHAPE, Fate.HANDED}]:
        return f"what `{callee_of(shapes[0])}` gives only shows its shape"
    alone = len(spots) == 1 or (spots[0] is not spots[1] and keys.fates.are_apart(*spots))
    if alone and all(use.inner and keys.fates.of(use.spot) == {Fate.SHOWN} for use in uses):
        return f"what `{callee_of(spots[-1])}` gives is only reported: an evaluation on equal terms, it seems"
    if told := [use for use in uses if len(uses) == 2 and use.inner and keys.fates.of(use.spot) == {Fate.SHOWN}]:
        # A split gives keys: what is drawn from these are other bits than those that are drawn from the key itself.
        if sorted(use.origin.how.value for use in uses) == ["draw", "split"] and told[-1].origin.how is How.SPLIT:
            return f"`{callee_of(told[-1].spot)}` splits it first, so its bits are others, and they are only reported"
    return ""


def runs_for_parameters(one: Obligation, facts: Facts) -> str:
    """Read from the run of a module that its own initialisation makes: `net.init(key, x, key)`."""
    spots = [use.spot for use in one.subject.uses]
    inside = [op for op in spots if op.name == "py.call" and not keys_of(facts).fates.of(op)]
    started = [op for op in spots if is_init(op) and any(op.span == other.span for other in inside)]
    return f"`{callee_of(started[0])}` gives parameters, and nothing of what it draws beside them" if started else ""


def draws_nothing(one: Obligation, facts: Facts) -> str:
    """Read from what a network runs that has to be given a key: `net.apply(params, key, x)` of linear layers."""
    for op in (use.origin.spot for use in one.subject.uses if asks_for_key(use.origin.spot)):
        given = (facts.flow.giver(value, op) for value in _run_by(op, facts))
        runs = {run for run in given if run is not None and run.regions}
        inside = (inner for run in runs for region in run.regions for inner in region.walk())
        if runs and not any(inner.name in ("key.stream", "key.draw") for inner in inside):
            return f"nothing in sight that `{op.function}` runs asks for random numbers"
    return ""


def _run_by(op: Op, facts: Facts) -> Iterator[Value]:
    """Return what the code gives that a run of a network was followed into."""
    for value in walk(op.results, lambda one: made_by(facts.flow, one, through_ops("py.unpack"))):
        withins = (reader for reader in facts.flow.readers.get(value, ()) if reader.name == "key.within")
        yield from (given for one in withins for given in values_in(one.arguments.get("value")))


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


def _runs_other(spot: Op, loop: Op, facts: Facts) -> bool:
    """Whether the turn of a loop of Python chooses which function it is that draws inside of a call."""
    turn = Loop.of(loop) if loop.name == "py.loop" else None
    ops = turn.body.ops if turn is not None and spot.name == "py.call" else ()
    of_turn = reached(facts.flow, [made for op in ops if op.name == "py.element" for made in op.results])
    inside = (inner for region in spot.regions for inner in region.walk())
    choices = [op for op in inside if op.construct == "one of" and not of_turn.isdisjoint(op.operands)]
    return any(_draws(op) for op in choices)


def _draws(op: Op) -> list[tuple[Span, str]]:
    """Return what draws inside of a call, in order."""
    inside = (inner for region in op.regions for inner in region.walk())
    return [(one.span, one.function) for one in inside if one.name == "key.draw"]


def _is_mapped_inside(use: Use) -> bool:
    """Whether a function mapped further in gives every element a key of its own from the shared array."""
    return any(one.site.name in ("vmap", "pmap") and isinstance(one.term, Each) for one in use.chain)


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
