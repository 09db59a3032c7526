"""The rule `uneven-reset`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import blended
from jaxaudit.analyses.queries import behind, depends, last, made_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NEGATIONS, QUANTIFIERS
from jaxaudit.ir.ops import BODIES, MAPPED, MOVING, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.envs._shared.carried_flags import carried_flags, is_read
from jaxaudit.rules.envs._shared.left_behind import left_behind
from jaxaudit.rules.envs._shared.left_over import left_over
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.rules.intent.names import is_unwanted

_CALLS = (BODIES | MAPPED | {"py.call_unknown", "py.call_library"}) - {"tree.map"}
_PARTS = MOVING | {"py.attr", "py.container"}

_STEP = """
def step(env, key, state, action):
    obs_next, state_next, reward, done = env.step(key, state, action)
    obs_first, state_first = env.reset(key)
    state = jax.tree.map(lambda x, y: jnp.where(done, x, y), state_first, state_next)
    obs = {obs}
    return obs, state, reward, done
"""

_HELPER = """
def step(env, key, state, action):
    def reset(done, obs_first, state_first, obs_next, state_next):
        return {obs}, jnp.where(done, state_first, state_next)

    obs_next, state_next, reward, done = env.step(key, state, action)
    obs_first, state_first = env.reset(key){mark}
    obs, state = reset(done, obs_first, state_first, obs_next, state_next)
    return obs, state, reward, done
"""

_LOOP = """
def rollout(net, x, keys):
    def body(carry, key):
        x, h, done = carry
        h = jnp.tanh({h} + net * x)  #!
        x = x + h
        done = jnp.abs(x) > 3.0
        x = jnp.where(done, jax.random.normal(key), x)
        return (x, h, done), x

    return jax.lax.scan(body, (x, 0.0, False), keys)[1]
"""

_WINDOW = """
def rollout(policy, x, keys):
    def body(carry, key):
        x, frames = carry
        x = x + policy(frames)
        done = jnp.abs(x) > 3.0
        x = jnp.where(done, jax.random.normal(key), x)
        frames = jnp.concatenate([frames[1:], x[None]]){mark}{more}
        return (x, frames), done

    return jax.lax.scan(body, (x, jnp.zeros(4)), keys)
"""

_TOLD = """
def step(env, state, action):
    inner, reward, done = env.step(state["inner"], action)
    total, steps = state["total"] + reward, state["steps"] + 1{mark}
    last = jnp.where(done, steps, state["last"])
    return {{"inner": inner, "total": total * (1 - done), "steps": {steps}, "last": last}}, reward
"""

_RECORD = """
def start(key):
    place, speed = jax.random.split(key)
    return {{"x": jax.random.normal(place), "v": jax.random.normal(speed), "t": jnp.int32(0)}}

def run(gain, key):
    def body(state, key):
        v = state["v"] - gain * state["x"]
        x, t = state["x"] + 0.1 * v, state["t"] + 1
        over = (jnp.abs(x) > 3.0) | (t > 50)
        fresh = start(key){mark}
        x, t = jnp.where(over, fresh["x"], x), jnp.where(over, fresh["t"], t)
        return {{"x": x, "v": {v}, "t": t}}, over

    first, later = jax.random.split(key)
    return jax.lax.scan(body, start(first), jax.random.split(later, 99))
"""


class UnevenReset(Rule):
    """What one call gives is replaced by what another gives where a flag says so, but not all of it alike.

    ## What it does
    Lists every choice (`jnp.where`, `lax.select`, `lax.cond`) between a result of one call and a result of another, as
    between a fresh state and the next one. Of two calls all results that correspond must be chosen by the same flag,
    and the same one of the two where it is set. A flag that resets a part of a loop's state and is carried into the
    next turn must be read there: the other parts are reset by it. Of a fresh state that is taken in part, no part may
    be left out that the others are computed from, and the memory of a recurrent network that acts on it is cleared.
    A window of the last observations is filled anew where the state is
    reset, and a sum that is told of at the end of an episode starts anew there (a warning).

    ## Why is this bad?
    Where an episode ends, the observation is that of a new one and the state that of the old one, or the other way
    round in all other steps. Shapes fit and nothing is raised.

    ## Example
        state = jax.tree.map(lambda x, y: jnp.where(done, x, y), state_first, state_next)
        obs = jnp.where(done, obs_next, obs_first)

    ## Use instead
        obs = jnp.where(done, obs_first, obs_next)

    ## When it cannot tell
    Where parts are chosen by flags that have nothing to do with each other, it is left open which one is meant.
    """

    needs = (Shapes,)
    summary = "Some parts of a state are reset where an episode ends, and others otherwise or never."

    valid = (
        Example(_STEP.format(obs="jnp.where(done, obs_first, obs_next)"), "both alike"),
        Example(_STEP.format(obs="jnp.where(~done, obs_next, obs_first)"), "the same flag, turned"),
        Example(_STEP.format(obs="done * obs_first + (1 - done) * obs_next"), "multiplied"),
        Example(_HELPER.format(obs="jnp.where(done, obs_first, obs_next)", mark=""), "in a helper"),
        Example(_LOOP.format(h="jnp.where(done, 0.0, h)").replace("  #!", ""), "the memory is cleared"),
        Example(_WINDOW.format(mark="", more="\n        frames = jnp.where(done, x, frames)"), "the window is cleared"),
        Example(_TOLD.format(steps="steps * (1 - done)", mark=""), "a sum that starts anew where it is told of"),
        Example(_RECORD.format(v="jnp.where(over, fresh['v'], v)", mark=""), "all of a fresh state is taken"),
        Example(
            """
def train(weights, x, key):
    def body(carry, key):
        x, done = carry
        x = x + jnp.tanh(weights * x)
        done = jnp.abs(x) > 3.0
        return (jnp.where(done, jax.random.normal(key), x), done), x

    carry = (x, jnp.zeros(x.shape, bool))
    for i in range(10):
        carry, seen = jax.lax.scan(body, carry, jax.random.split(jax.random.fold_in(key, i), 8))
        weights = weights - 0.1 * seen.mean()
    return weights
""",
            "what learns goes on beyond the end of episodes",
        ),
        Example(
            """
def exchanged(kernel, other, state, accept):
    first, info = kernel(state)
    second, more = other(state)
    return jnp.where(accept, second, first), jnp.where(accept, first, second), info, more
""",
            "each gets what the other does not",
        ),
        Example(
            """
def joined(extend, shrink, right):
    left_a, right_a = extend(1.0)
    left_b, right_b = shrink(2.0)
    return jnp.where(right, left_a, left_b), jnp.where(right, right_b, right_a)
""",
            "the two ends of one trajectory",
        ),
        Example(
            """
def rollout(network, x, keys):
    def body(carry, key):
        x, age, memory = carry
        done = jnp.abs(network(memory, x, age)) > 3.0
        age = jnp.where(done, 0, age + 1)
        memory = jnp.concatenate([memory[1:], network(memory, x, age)[None]])
        return (x, age, memory), done

    return jax.lax.scan(body, (x, 0, jnp.zeros(4)), keys)
""",
            "what reads the window is told how old the episode is",
        ),
    )
    invalid = (
        Example(_STEP.format(obs="jnp.where(done, obs_next, obs_first)  #!"), "the wrong way round"),
        Example(_STEP.format(obs="jnp.where(~done, obs_first, obs_next)  #!"), "turned"),
        Example(_STEP.format(obs="(1 - done) * obs_first + done * obs_next  #!"), "multiplied, the wrong way round"),
        Example(_STEP.format(obs="obs_next").replace("key)\n", "key)  #!\n"), "never reset"),
        Example(_HELPER.format(obs="obs_next", mark="  #!"), "never reset, in a helper"),
        Example(_STEP.format(obs="jnp.where(done.any(), obs_first, obs_next)  #?"), "by any of the flags"),
        Example(_LOOP.format(h="h"), "the memory goes on"),
        Example(_WINDOW.format(mark="  #!", more=""), "the window goes on"),
        Example(_TOLD.format(steps="steps", mark="  #?"), "a sum that is told of, and goes on"),
        Example(_RECORD.format(v="v", mark="  #!"), "a part of a fresh state is left"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every choice between the results of two calls."""
        groups: dict[frozenset[Op | Value], list[_Choice]] = defaultdict(list)
        for op in (*program.named("array.select", "cond"), *program.mapping("add")):
            for one in _choices(op, facts):
                groups[frozenset((one.chosen.source, one.other.source))].append(one)
        notes = _notes(program, facts.flow) if groups else {}
        for found in groups.values():
            yield from _compared(found, facts.flow)
            yield from _left_out(found, notes, facts.flow)
        yield from carried_flags(program, facts)
        yield from left_over(facts)
        yield from left_behind(program, facts)


@record
class _Part:
    """Something that a call or a parameter gives, and the values it was on its way."""

    source: Op | Value
    met: frozenset[Value]

    @property
    def name(self) -> str:
        """What people call the source."""
        return named(self.source, "the argument") if isinstance(self.source, Value) else f"`{called(self.source)}`"

    @property
    def own(self) -> frozenset[Value]:
        """The values that are this part alone, where the call gives several."""
        whole = (self.source,) if isinstance(self.source, Value) else self.source.results
        return self.met.difference(whole) or self.met

    @property
    def all(self) -> frozenset[Value]:
        """This part, and what else the call gives."""
        return self.own if isinstance(self.source, Value) else self.met.union(self.source.results)


@record
class _Choice:
    """A choice between the results of two calls."""

    op: Op
    flag: Value
    chosen: _Part
    """What it gives where the flag is set."""
    other: _Part
    reduced: Op | None
    """What makes one truth value of many flags, where something does."""


def _choices(op: Op, facts: Facts) -> Iterator[_Choice]:
    flow = facts.flow
    for condition, *pair in _arms(op, facts):
        flag, turned, reduced = _flag(condition, flow)
        ways = [_way(one, flow) for one in pair]
        met = next(((one, two) for one in ways[0] for two in ways[1] if _is_beside(one.source, two.source, flow)), None)
        if met is not None and not any(_holds(one.source, op, flow) for one in met) and not _follows(*met, flow):
            yield _Choice(op, flag, *(reversed(met) if turned else met), reduced=reduced)


def _arms(op: Op, facts: Facts) -> Iterator[tuple[Value, Value, Value]]:
    """Return what decides in an op, and what it gives where that is set and where it is not."""
    if op.name == "cond":
        # The regions are those of true and false, in this order.
        pairs = zip(*(region.results for region in op.regions), strict=False) if len(op.regions) == 2 else ()
        yield from ((op.operands[0], *pair) for pair in pairs if op.operands)
    elif op.name == "array.select":
        given = (op.value("condition", "pred"), op.value("x", "on_true"), op.value("y", "on_false"))
        if given[0] is not None and given[1] is not None and given[2] is not None:
            yield given[0], given[1], given[2]
    elif (found := blended(op, facts)) is not None:
        yield found.flag, found.yes, found.no


def _is_beside(one: Op | Value, other: Op | Value, flow: Flow) -> bool:
    homes = [flow.places.owner.get(at) if isinstance(at, Value) else flow.places.region_of[at] for at in (one, other)]
    return one is not other and homes[0] is homes[1] and not (isinstance(one, Value) and isinstance(other, Value))


def _holds(source: Op | Value, op: Op, flow: Flow) -> bool:
    """Whether a choice is made inside of a call."""
    regions = () if isinstance(source, Value) else source.regions
    return any(flow.places.within(flow.places.region_of[op], region) for region in regions)


def _follows(one: _Part, other: _Part, flow: Flow) -> bool:
    """Whether one part is computed from the other: a step that is taken or left out, and not a fresh start."""
    return any(depends(flow, value, other.own) for value in one.own) or any(
        depends(flow, value, one.own) for value in other.own
    )


def _flag(value: Value, flow: Flow) -> tuple[Value, bool, Op | None]:
    """Return what a condition is made of, whether that is turned, and what reduces it."""
    turned, reduced = False, None
    while True:
        value = last(value, lambda one: _before(one, flow, PASSED_ON))
        op = flow.maker(value)
        if op is None or not op.operands:
            return value, turned, reduced
        if op.name == "array.reduce" and op.function in QUANTIFIERS:
            reduced = op
        elif op.function in NEGATIONS:
            turned = not turned
        else:
            return value, turned, reduced
        value = op.operands[0]


def _before(value: Value, flow: Flow, through: frozenset[str]) -> Value | None:
    """Return what a value is outside of a region, or before ops that only take a part of it."""
    op = flow.maker(value)
    if op is None:
        found = behind(flow, value)
        return found[0] if len(found) == 1 else None
    return op.operands[0] if op.operands and (op.name in through or _only_moves(op, flow, through)) else None


def _only_moves(op: Op, flow: Flow, through: frozenset[str]) -> bool:
    """Whether a map over one tree gives its leaves as they are, or rows of each."""
    if op.name != "tree.map" or len(op.operands) != 1 or len(op.regions[0].params) != 1:
        return False
    return all(made_of(flow, end, through_ops(*through)) is op.regions[0].params[0] for end in op.regions[0].results)


def _way(value: Value, flow: Flow) -> list[_Part]:
    """Return the calls that give a value, the innermost first, or the parameter that it is a field of."""

    def step(one: Value) -> Iterator[Value]:
        found = _before(one, flow, _PARTS)
        yield from () if found is None else (found,)

    met = list(walk((value,), step))
    made = flow.maker(met[-1])
    if made is None:
        return [_Part(met[-1], frozenset(met))] if len(met) > 1 else []
    around = [made, *(op for _, op in flow.places.up(flow.places.region_of[made]))]
    return [_Part(op, frozenset(met)) for op in around if op is not None and op.name in _CALLS]


def _compared(found: Sequence[_Choice], flow: Flow) -> Iterator[Obligation]:
    """Compare the choices between the results of two calls with the one that most of them are like."""
    alike = [sum(_agree(one, other) for other in found) for one in found]
    model = found[alike.index(max(alike))]
    names = (model.chosen.name, model.other.name)
    for one in found:
        if one.flag is not model.flag:
            reason = f"results of {names[0]} and {names[1]} are chosen by several flags: which is meant is not known"
            yield unknown(one.op.span, reason)
        elif one.chosen.source is model.other.source and not _is_exchange(one, model):
            if _judges_one(model, flow):
                yield _turned(one, model, *names)
            else:
                yield unknown(one.op.span, "parts of two states are put together by a flag: it may be meant")
        elif (one.reduced is None) is not (model.reduced is None):
            yield _reduced(one, model)
        else:
            yield proved(one.op.span, f"results of {names[0]} and {names[1]} are chosen by one flag")


def _is_exchange(one: _Choice, other: _Choice) -> bool:
    """Whether two choices are between the same two values, so that one gets what the other does not."""
    return not (one.chosen.own.isdisjoint(other.other.own) or one.other.own.isdisjoint(other.chosen.own))


def _judges_one(one: _Choice, flow: Flow) -> bool:
    """Whether the flag is about one of the two: a state that has come to its end, and is replaced."""
    judged = [depends(flow, one.flag, part.all) for part in (one.chosen, one.other)]
    return sum(judged) == 1


def _turned(one: _Choice, model: _Choice, first: str, second: str) -> Obligation:
    flag = named(one.flag, "the flag")
    return Obligation(
        one.op.span,
        message=f"this takes what {second} gives where {flag} is set, and another part is then from {first}",
        current=f"where {flag} is set, one part is from {first} and the other from {second}",
        expected="all parts are from the same call",
        steps=(Step(model.op.span, f"here it is {first} where {flag} is set"),),
        suggestion="exchange the two sides of the choice",
    )


def _agree(one: _Choice, other: _Choice) -> bool:
    alike = one.flag is other.flag and one.chosen.source is other.chosen.source
    return alike and (one.reduced is None) is (other.reduced is None)


def _reduced(one: _Choice, model: _Choice) -> Obligation:
    op = one.reduced or model.reduced
    assert op is not None
    return Obligation(
        one.op.span,
        severity=Severity.WARNING,
        message=f"one part is chosen by {named(one.flag, 'a flag')}, another by `{op.function}` of it",
        current="where there is more than one flag, the two parts are not of the same state",
        expected="all parts are chosen by the same flag",
        steps=(Step(model.op.span, "the other part is chosen here"),),
        suggestion="choose both by the flag of each element",
    )


def _notes(program: Program, flow: Flow) -> dict[Op, Op]:
    """Return for each call the note on the variables that take its results."""
    found: dict[Op, Op] = {}
    for note in program.named("py.taken"):
        values = next((values for values in note.values or () if values), ())
        sources = (part.source for part in _way(values[0], flow)) if values else ()
        calls = (one for one in sources if not isinstance(one, Value) and _is_beside(one, note, flow))
        # Another call that gives one of the results back comes later.
        for call in calls:
            found.setdefault(call, note)
    return found


def _left_out(found: Sequence[_Choice], notes: Mapping[Op, Op], flow: Flow) -> Iterator[Obligation]:
    """Find a result that nobody reads of a call whose others replace those at the same place of another call."""
    first, second = found[0].chosen.source, found[0].other.source
    if (
        len({(one.flag, one.chosen.source) for one in found}) > 1
        or isinstance(first, Value)
        or isinstance(second, Value)
    ):
        return
    for call, instead_of in ((first, second), (second, first)) if _judges_one(found[0], flow) else ():
        note, other = notes.get(call), notes.get(instead_of)
        if note is None or other is None:
            continue
        names, taken = (note.written or (), note.values or ()), (other.written or (), other.values or ())
        slots = list(zip(*names, *taken, strict=False))
        paired = [one for one in found for _, mine, _, theirs in slots if _is_between(one, mine, theirs)]
        for name, mine, instead, theirs in slots if paired else ():
            forgotten = bool(mine) and not is_unwanted(name) and not any(is_read(one, flow) for one in mine)
            if forgotten and any(is_read(one, flow) for one in theirs):
                yield _forgotten(note, call, name, instead, paired[0])


def _is_between(one: _Choice, mine: Sequence[Value], theirs: Sequence[Value]) -> bool:
    sides = (one.chosen.met, one.other.met)
    return any(not first.isdisjoint(mine) and not second.isdisjoint(theirs) for first, second in (sides, sides[::-1]))


def _forgotten(note: Op, call: Op, name: str, instead: str, chosen: _Choice) -> Obligation:
    flag = named(chosen.flag, "a flag")
    return Obligation(
        note.span,
        message=f"`{name}` is never read: what else `{called(call)}` gives is chosen by {flag}, but `{instead}` is not",
        current=f"`{instead}` goes on as it is where {flag} chooses the other results",
        expected=f"`{name}` and `{instead}` are chosen by {flag} too",
        steps=(Step(chosen.op.span, "the other results are chosen here"),),
        suggestion=f"choose between `{name}` and `{instead}` by {flag}",
    )
