"""The rule `swapped-results`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends, made_of, through_ops, whole_of
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.versions import Ground, Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Call, Loop, given_to, made_inside
from jaxaudit.ir.names import names_one
from jaxaudit.ir.ops import CARRYING, DERIVATIVES, KEEPING
from jaxaudit.ir.trees import CONTAINERS
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Subject, proved, unknown
from jaxaudit.rules.intent.names import says_side

_CALLS = ("py.call", "jit", "grad", "py.call_unknown", *CARRYING)


class SwappedResults(Rule):
    """The results of a call are unpacked in another order than the function gives them.

    ## What it does
    Looks at every call whose results are unpacked. Where a function gives the next version of a value that it was
    given, the variable that held the value has to take it, and not another result. Where a result has a name in the
    function, and a variable of that name takes another result, it is a warning. Two parts of what a loop carries, or
    two gradients, that take each other's name are exchanged.

    ## Why is this bad?
    Where both have one shape, nothing is raised: the state is replaced by a flag.

    ## Example
        def step(state, x):
            return state.at[0].add(x), state[0] > 9


        done, state = step(state, x)

    ## Use instead
        state, done = step(state, x)

    ## When it cannot tell
    Where the other result may be a newer state as well, it is a warning. Where the function is not known, and its
    results have no names in it, it is left open.
    """

    summary = "The results of a call are unpacked in another order than the function gives them."
    needs = (Shapes, Versions)
    valid = """
    ## the path in the place of where it started, and nobody wants its end
    def walk(x, steps):
        _, x = jax.lax.scan(lambda x, step: (x + step, x), x, steps)
        return x

    ## each to its own
    def step(state, x):
        return state.at[0].add(x), state[0] > 9

    def run(state, x):
        state, done = step(state, x)
        return state, done
    """
    invalid = """
    ## the last carry, in another order than the body unpacks it
    def cell(params, xs):
        def step(carry, x):
            h, c = carry
            c = 0.9 * c + jnp.tanh(x + params @ h)
            return (jnp.tanh(c), c), None

        (c, h), _ = jax.lax.scan(step, (jnp.zeros(4), jnp.zeros(4)), xs)  #!
        return h, c

    ## gradients by two arguments
    def step(gen, disc, z, loss):
        g_disc, g_gen = jax.grad(loss, argnums=(0, 1))(gen, disc, z)  #?
        return gen + 0.1 * g_gen, disc - 0.1 * g_disc

    ## the state becomes a flag
    def step(state, x):
        return state.at[0].add(x), x > 9

    def run(state, x):
        done, state = step(state, x)  #!
        return state, done

    ## the state becomes what may be a state as well: a warning
    def step(state, x):
        return state.at[0].add(x), state[0]

    def run(state, x):
        first, state = step(state, x)  #?
        return state, first

    ## the stacked outputs in the place of the last carry
    def train(state, batches):
        def step(state, batch):
            state = {"params": state["params"] - batch, "steps": state["steps"] + 1}
            return state, jnp.mean(batch)

        losses, state = jax.lax.scan(step, state, batches)  #!
        return state, losses.mean()

    ## one part of the carry is bound to the whole of it: a warning
    def run(position, momentum, keys):
        def body(carry, key):
            position, momentum = carry
            return (position + momentum, momentum * key), position
        position, _ = jax.lax.scan(body, (position, momentum), keys)  #?
        return position

    ## exchanged by their names: a warning
    def estimate(rewards, values):
        advantages = rewards - values
        return advantages, advantages + values

    def loss(rewards, values):
        targets, advantages = estimate(rewards, values)  #?
        return (advantages * targets).sum()

    ## a cosine that is called a sine
    def tables(angles):
        scaled = 2.0 * angles
        return jnp.cos(scaled), jnp.sin(scaled)

    def rotate(x, y, angles):
        sin, cos = tables(angles)  #!
        return x * cos - y * sin, x * sin + y * cos

    ## the loss and what stands beside it
    def fit(params, x):
        def loss(params):
            errors = x @ params
            return jnp.mean(errors**2), errors

        (errors, value), grads = jax.value_and_grad(loss, has_aux=True)(params)  #?
        return params - 0.1 * grads, errors, value
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every unpacking of the results of a call."""
        for note in program.named("py.taken"):
            if note.packed or _call(note, facts.flow) is not None:
                yield _judge(note, facts)


def _judge(note: Op, facts: Facts) -> Obligation:
    names, taken = note.written or (), note.values or ()
    packed = [str(name) for name in note.packed or ()]
    if packed:
        return _whole(note, packed[0])
    for old, new in _exchanged(note, facts):
        severity = Severity.ERROR if _differ(note, old, facts) else Severity.WARNING
        return _finding(note, names[new], names[old], facts, taken[new][0] if taken[new] else None, severity)
    for new, meant, severity in _exchanged_by_name(note, facts.flow):
        return _by_name(note, names[new], names[meant], taken[new][0], severity)
    for new, meant in _computed_crosswise(note, facts.flow):
        return _by_name(note, names[new], names[meant], taken[new][0], Severity.ERROR)
    for new, meant in _named_crosswise(note, facts.flow):
        return _by_name(note, names[new], names[meant], taken[new][0])
    given = [at for at, old in enumerate(note.had or ()) if old]
    if given and all(_keeps(note, at, facts.get(Versions)) for at in given):
        return proved(note.span, "each variable that the call was given takes its own successor")
    return unknown(note.span, "what each result of the call is for is not known")


def _call(note: Op, flow: Flow) -> Op | None:
    """Return the call of a function of the program, or of an unknown one, whose results are unpacked."""
    whole = (flow.giver(whole_of(flow, leaf), note) for leaves in note.values or () for leaf in leaves)
    return next((made for made in whole if made is not None and made.name in _CALLS), None)


def _exchanged(note: Op, facts: Facts) -> Iterator[tuple[int, int]]:
    """Return the variables that lose their successor, each with the one that takes it."""
    versions = facts.get(Versions)
    taken, had, kinds = note.values or (), note.had or (), note.kinds or ()
    for at, old in enumerate(had):
        now, before = kinds[at]
        if before not in ("", *CONTAINERS) and now != before and [one for one, _ in kinds].count(before) == 1:
            # The only thing of the class that the variable was of goes to another one.
            yield at, next(other for other, (one, _) in enumerate(kinds) if one == before)
        kept, own = _keeps(note, at, versions), _given_once(note, old, facts.flow)
        for other, leaves in enumerate(taken):
            if own and taken[at] and leaves and not kept and other != at and not had[other]:
                if all(_succeeds(one, own, versions) for one in leaves) and any(map(facts.flow.is_read, leaves)):
                    yield at, other


def _given_once(note: Op, old: Collection[Value], flow: Flow) -> frozenset[Value]:
    """Return the values that the call is given by one variable alone: of others no successor tells whose it is."""
    call = _call(note, flow)
    given = Counter(() if call is None else call.operands)
    return frozenset(value for value in old if given[value] < 2)


def _named_crosswise(note: Op, flow: Flow) -> Iterator[tuple[int, int]]:
    """Return the variables that take a result which the function calls by the name of another one of them."""
    names, had = note.written or (), {value for old in note.had or () for value in old}
    own = [_own_name(leaves[0], note, flow) if len(leaves) == 1 else "" for leaves in note.values or ()]
    for at, name in enumerate(own):
        meant = names.index(name) if name in names and not says_side(name) else at
        # What the call was given has the caller's names.
        if meant != at and own[meant] != name and (note.values or ())[at][0] not in had:
            yield at, meant


def _computed_crosswise(note: Op, flow: Flow) -> Iterator[tuple[int, int]]:
    """Return two variables of which each has the name of the function that gives the other one: `sin` and `cos`."""
    names = note.written or ()
    found = (_inside(leaves[0], flow) or leaves[0] for leaves in note.values or () if len(leaves) == 1)
    made = [flow.maker(made_of(flow, one, through_ops(*KEEPING))) for one in found]
    functions = ["" if op is None else op.function for op in made]
    for at, meant in combinations(range(len(functions)) if len(functions) == len(names) else (), 2):
        if functions[at] == names[meant] and functions[meant] == names[at] and names[at] != names[meant]:
            yield at, meant


def _exchanged_by_name(note: Op, flow: Flow) -> Iterator[tuple[int, int, Severity]]:
    """Return two variables that take each other's part of what a loop carries, or each other's gradient, by name.

    A loop calls its parts as its body unpacks them, and a gradient has the name of what it was taken by. In mechanics
    the gradient by each of two is the change of the other.
    """
    call = _call(note, flow)
    parts = note.values or ()
    if call is None or call.name not in CARRYING | DERIVATIVES or any(len(leaves) != 1 for leaves in parts):
        return
    loop = Loop.of(call)
    shifted = loop is not None and any(end in loop.body.params and end is not one for one, end in loop.successors)
    severity = Severity.WARNING if loop is None or shifted else Severity.ERROR
    own, names = [leaves[0].name for leaves in parts], note.written or ()
    for at, meant in combinations(range(len(own)), 2):
        crosses = names_one(own[at], names[meant]) and names_one(own[meant], names[at])
        if crosses and not names_one(own[at], names[at]) and not names_one(own[meant], names[meant]):
            yield at, meant, severity


def _own_name(value: Value, note: Op, flow: Flow) -> str:
    """Return what the function that gives a result calls it; empty for an expression behind its `return`."""
    inner, call = _inside(value, flow) or value, flow.giver(whole_of(flow, value), note)
    made, region = flow.maker(inner), None if call is None or not call.regions else call.regions[0]
    if made is None or region is None or not flow.places.within(flow.places.region_of[made], region):
        return ""
    given = (one.span for one in region.ops if one.name == "py.return")
    return "" if any(span.covers(made.span) for span in given) else inner.name


def _keeps(note: Op, at: int, versions: Versions) -> bool:
    """Whether a variable takes what it held, or the successor of that."""
    old = (note.had or ())[at]
    return any(one in old or _succeeds(one, old, versions) for one in (note.values or ())[at])


def _succeeds(value: Value, old: Collection[Value], versions: Versions) -> bool:
    """Whether a value is the next version of one of some others, by what made it and not by its name."""
    found = versions.of(value)
    # What a loop of Python leaves behind in a variable has its name alone; a scan gives its last carry first.
    given = found is not None and (found.ground > Ground.LOOP or versions.maker(value).name == "scan")
    return found is not None and given and not found.old.isdisjoint(old)


def _differ(note: Op, at: int, facts: Facts) -> bool:
    """Whether what a variable takes is surely of another kind than what it held, or has nothing to do with it."""
    taken, had, shapes = (note.values or ())[at], (note.had or ())[at], facts.get(Shapes)
    if (note.kinds or ())[at][1] or len(taken) != len(had) or not any(_derives(one, had, facts.flow) for one in taken):
        return True
    pairs = [(shapes.of(one), shapes.of(other)) for one, other in zip(taken, had, strict=True)]
    return any(
        (one.dtype and other.dtype and one.dtype != other.dtype)
        or (one.dims is not None and other.dims is not None and len(one.dims) != len(other.dims))
        for one, other in pairs
    )


def _derives(value: Value, had: Collection[Value], flow: Flow) -> bool:
    """Whether a result of a call is computed from some of its arguments."""
    inner, made = _inside(value, flow), flow.maker(value)
    if inner is None or made is None:
        return depends(flow, value, had)
    params = [param for param, given in given_to(made, made.regions[0]) if given in had]
    return bool(params) and depends(flow, inner, params)


def _inside(value: Value, flow: Flow) -> Value | None:
    """Return what a result of a call is called in the function that gives it."""
    made = flow.maker(value)
    if made is None or made.name == "scan":
        return None if made is None else next(made_inside(made, made.regions[0], value), None)
    call = Call.of(made)
    return None if call is None or value not in call.op.results else call.inside(call.op.results.index(value))


def _finding(note: Op, taken: str, meant: str, facts: Facts, value: Value | None, severity: Severity) -> Obligation:
    inner = None if value is None else _inside(value, facts.flow)
    what = f"the next `{meant}`"
    return Obligation(
        note.span,
        severity=severity,
        message=f"`{taken}` takes {what}, and `{meant}` takes another result",
        current=f"the results are unpacked in another order than they are given: `{taken}` holds {what}",
        expected=f"`{meant}` takes {what}",
        steps=() if inner is None else (Step(inner.span, "it is made here"),),
        suggestion=f"exchange `{taken}` and `{meant}`",
    )


def _by_name(note: Op, taken: str, meant: str, value: Value, severity: Severity = Severity.WARNING) -> Obligation:
    return Obligation(
        note.span,
        severity=severity,
        message=f"`{taken}` takes what the function calls `{meant}`, and `{meant}` takes another result",
        current=f"the results may be unpacked in another order than they are given: `{taken}` holds `{meant}`",
        expected=f"`{meant}` takes what the function calls so",
        steps=(Step(value.span, f"`{meant}` is made here"),),
        suggestion=f"exchange `{taken}` and `{meant}`, or name them as the function does",
        subject=Subject(names=(taken, meant)),
    )


def _whole(note: Op, name: str) -> Obligation:
    return Obligation(
        note.span,
        severity=Severity.WARNING,
        message=f"`{name}` was one part of what the call was given, and now holds all of them together",
        current=f"the call gives all parts back, and all of them are bound to `{name}`",
        expected=f"`{name}` is the part that it was",
        suggestion=f"take the result apart, so that `{name}` takes its own part alone",
    )
