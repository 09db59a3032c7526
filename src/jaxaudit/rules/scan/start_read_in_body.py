"""The rule `start-read-in-body`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, depends, entered, last, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop, Part, made_inside
from jaxaudit.ir.ops import BODIES, CARRYING, MOVING
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.scan._shared.sums import adds, terms_of


class StartReadInBody(Rule):
    """The body of a loop reads what the loop began with, and not what it carries.

    ## What it does
    Looks at every value that a compiled loop starts with, renews, and whose body reads the start from outside. It is
    wrong where the turn is computed from the start alone, so that no turn goes on from the one before, where other
    parts of the carry go on from what is added to the start, and where of two updates side by side one is at the
    carried place and one at the place the loop began with.

    ## Why is this bad?
    Nothing is raised: types and shapes fit. But every turn does the first one again.

    ## Example
        def body(x, u):
            return step(x0, u), None

        jax.lax.scan(body, x0, us)

    ## Use instead
        def body(x, u):
            return step(x, u), None

    ## When it cannot tell
    Where a step that gives other results beside the next carry is given the start, and the carry only decides on its
    other arguments, it is a warning: a solver may go back to its start. It is left open where the body reads both, or
    goes on with something else that it carries: a loop may well compare with its start, or go back to it; and where
    it only brings the start into another shape.
    """

    summary = "A loop's body reads the value from before the loop where it carries a newer one."

    valid = """
    ## back to the start, and compared with it
    def run(x0, us):
        def body(x, u):
            x = jnp.where(u > 1, x0, x + u)
            return x, x - x0

        return jax.lax.scan(body, x0, us)

    ## a step from the carry, with the start beside it
    def unroll(env, policy, first, keys):
        def body(state, key):
            state, reward = env.step(state, policy(first.goal, key))
            return state, reward

        return jax.lax.scan(body, first, keys)

    ## what came of the start is only looked at
    def path(x0, rates):
        def body(carry, rate):
            _, spent = carry
            spent = spent + rate
            return (x0 + jnp.sin(spent), spent), None

        return jax.lax.scan(body, (x0, 0.0), rates)

    ## a loop of one turn, as a branch
    def refreshed(wanted, x):
        x = x * 2.0
        return jax.lax.while_loop(lambda state: state[0], lambda state: (False, jnp.sqrt(x)), (wanted, x))
    """
    invalid = """
    ## what was observed is carried, and the step is taken from the start: a warning
    def unroll(env, policy, first, keys):
        def body(state, key):
            action = policy(state.obs, key)
            state, reward = env.step(first, action)  #?
            return state, reward

        return jax.lax.scan(body, first, keys)

    ## the first turn again and again
    def run(x0, us):
        def body(x, u):
            x = x0 * 0.9 + u  #!
            return x, x

        return jax.lax.scan(body, x0, us)

    ## one of two parts that go on from each other
    def leapfrog(place, speed, slope):
        def body(carry, _):
            place, _ = carry
            half = speed - 0.05 * slope(place)  #!
            place = place + 0.1 * half
            return (place, half - 0.05 * slope(place)), place

        return jax.lax.scan(body, (place, speed), None, length=20)

    ## in a body that is compiled by itself
    def unroll(env, first, keys):
        @jax.jit
        def body(state, key):
            state, reward = env.step(first, jax.random.randint(key, (), 0, 4))  #!
            return state, reward

        return jax.lax.scan(body, first, keys)

    ## values stay behind their keys
    def fill(keys, values, first):
        def body(state):
            at, keys, values = state
            return at + 1, keys.at[at].set(1.0), values.at[first].set(2.0)  #!

        return jax.lax.while_loop(lambda state: state[0] < 8, body, (first, keys, values))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every start of a loop that its body reads."""
        flow = facts.flow
        for op in program.named(*CARRYING):
            loop = Loop.of(op)
            for one, (param, after) in zip(loop.carried, loop.successors, strict=False) if loop is not None else ():
                reads = [] if after in (param, one.start) else list(_reads(one.start, op, flow))
                if reads:
                    yield _judge(op, reads, param, after, flow)


def _reads(value: Value, loop: Op, flow: Flow) -> Iterator[Op]:
    """Return the ops inside of a loop that read a value from outside of it."""
    bodies = {id(region) for region in loop.regions}
    for op in flow.readers.get(value, ()):
        if op is not loop and any(id(region) in bodies for region, _ in flow.places.up(flow.places.region_of[op])):
            yield op


def _judge(loop: Op, reads: list[Op], param: Value, after: Value, flow: Flow) -> Obligation:
    start = next(value for value in reads[0].operands if value in loop.operands)
    carried = [op for one in _names(param, flow) for op in flow.readers.get(one, ()) if op.results]
    carried, after = [op for op in carried if op.name not in BODIES], last(after, lambda one: _given_inside(one, flow))
    if not carried and not _runs_once(loop, flow) and _begins_anew(loop, reads, start, after, flow):
        return _finding(loop, reads[0], start, param, "every turn is computed from the start, and none goes on")
    if not carried and _steps_from(loop, reads, start, after, flow):
        return _finding(loop, reads[0], start, param, "every turn adds to the start, and the others go on from that")
    for op in reads:
        beside = next((one for one in carried if _is_update(op, start) and _is_update(one, param)), None)
        if beside is not None and op.name == beside.name and op.function == beside.function:
            return _finding(loop, op, start, param, "this update stays at one place, the one beside it moves on")
    span = reads[0].span
    if (step := _stepped(reads, start, param, after, flow)) is not None:
        current = "every turn takes its step from the start, with what was computed from the carry"
        return replace(_finding(loop, step, start, param, current), severity=Severity.WARNING)
    if any({start, param} <= set(op.operands) for op in reads):
        return proved(span, f"{named(start, 'the start')} meets what became of it")
    return unknown(span, f"whether {named(start, 'the start')} is meant, and not what became of it, is not known")


def _runs_once(loop: Op, flow: Flow) -> bool:
    """Whether the first turn puts out the flag that a loop asks for: such a loop stands for a branch."""
    asked = loop.regions[0]
    flag = asked.results[0] if loop.name == "while" and asked.results else None
    if flag is None or flag not in asked.params:
        return False
    put_out = flow.maker(loop.regions[-1].results[asked.params.index(flag)])
    return put_out is not None and put_out.name == "py.const" and put_out.constant is False


def _begins_anew(loop: Op, reads: list[Op], start: Value, after: Value, flow: Flow) -> bool:
    """Whether a turn computes something from the start, and from nothing that the loop carries."""
    moved = walk((start,), lambda one: ahead(flow, one, through_ops(*MOVING)))
    computed = depends(flow, after, [made for op in reads for made in op.results]) and after not in moved
    names = [name for one in Loop(loop).carried for name in _names(one.param, flow)]
    return computed and not depends(flow, after, names)


def _steps_from(loop: Op, reads: list[Op], start: Value, after: Value, flow: Flow) -> bool:
    """Whether a turn adds to the start what it computes, and another part of the carry is computed from the sum."""
    terms = terms_of(after, flow)
    sums = [made for op in reads if adds(op) for made in op.results if made in terms]
    others = (other for _, other in Loop(loop).successors if other is not after)
    return start in terms and any(depends(flow, other, sums) for other in others)


def _names(param: Value, flow: Flow) -> Iterator[Value]:
    """Return what a value is called here and in the functions that it is handed to as it is."""

    def inside(one: Value) -> Iterator[Value]:
        calls = (op for op in flow.readers.get(one, ()) if op.name in BODIES)
        return (name for op in calls for name in entered(op, one))

    return walk((param,), inside)


def _given_inside(value: Value, flow: Flow) -> Value | None:
    """Return what the function that gives a value calls it."""
    made = flow.maker(value)
    inner = made_inside(made, made.regions[0], value) if made is not None and made.name in BODIES else iter(())
    return next(inner, None)


def _stepped(reads: list[Op], start: Value, param: Value, after: Value, flow: Flow) -> Op | None:
    """Return the call that gives the next carry beside other results, of the start in the place of the carry."""
    part = Part.of(flow.maker(after), after)
    made = None if part is None else flow.maker(part.whole)
    return made if made in reads and param not in made.operands and depends(flow, after, (param,)) else None


def _is_update(op: Op, index: Value) -> bool:
    return op.name == "array.scatter" and op.arguments.get("index") is index


def _finding(loop: Op, op: Op, start: Value, param: Value, current: str) -> Obligation:
    name = named(start, "this")
    other = named(param, "the carry") if param.name != start.name else "what the loop carries"
    return Obligation(
        op.span,
        message=f"{name} is what the loop began with, and the loop carries a newer one",
        current=current,
        expected=f"the body reads {other}",
        steps=(Step(loop.span, f"the loop begins with {name} here"),),
        suggestion=f"read {other} instead of {name}",
    )
