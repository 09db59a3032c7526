"""The rule `same-key-in-loop`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.explain import Told
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Scope, Use
from jaxaudit.analyses.keys.conflicts import Conflict
from jaxaudit.analyses.keys.terms import root
from jaxaudit.analyses.keys.turns import Turn
from jaxaudit.analyses.keys.turns import Verdict as Turned
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Severity, Subject, Verdict
from jaxaudit.rules.handing import handed_on
from jaxaudit.rules.random._shared.phrases import doer, key_name, line_of, short, steps, way_to
from jaxaudit.rules.random._shared.unrolled import unrolled

_LOOPS = {
    "py.loop": "`for` loop",
    "py.while": "`while` loop",
    "scan": "`scan`",
    "fori": "`fori_loop`",
    "while": "`while_loop`",
    "associative_scan": "`associative_scan`",
}


class SameKeyInLoop(Rule):
    """A loop uses the same random key in every turn.

    ## What it does
    Looks at every use of a key in a `for` or `while` loop, a comprehension, `lax.scan`, `lax.fori_loop` and
    `lax.while_loop`, and asks whether the key is another one in the next turn: because it is split and carried on,
    because it is a row of an array of keys, or because something that changes is folded in.

    ## Why is this bad?
    Every turn draws the same numbers. Noise that should average out adds up instead, all layers start with equal
    weights, every step of a random walk goes the same way. Nothing fails.

    ## Example
        for i in range(10):
            x = x + jax.random.normal(key, x.shape)

    ## Use instead
        for i in range(10):
            key, subkey = jax.random.split(key)
            x = x + jax.random.normal(subkey, x.shape)

    Inside `fori_loop`, `jax.random.fold_in(key, i)` is the shortest way; for `scan`, scan over
    `jax.random.split(key, n)`.

    ## When it cannot tell
    When the key comes out of a call that cannot be followed, or changes only on some paths through the loop. A key
    that is made from a constant seed inside the loop, and loops that compare things on equal terms, are warnings.
    """

    summary = "A loop uses the same random key in every turn, so every turn sees the same numbers."
    needs = (KeyFacts,)

    valid = """
    ## split and carried on
    def walk(key, x):
        for _ in range(10):
            key, subkey = jax.random.split(key)
            x = x + jax.random.normal(subkey, x.shape)
        return x

    ## the loop index folded in
    def walk(key, x):
        def body(i, x):
            return x + jax.random.normal(jax.random.fold_in(key, i), x.shape)
        return jax.lax.fori_loop(0, 10, body, x)

    ## scan over an array of keys
    def walk(key, x):
        def step(x, k):
            return x + jax.random.normal(k, x.shape), None
        return jax.lax.scan(step, x, jax.random.split(key, 10))[0]

    ## Python hands out a key in every turn of its own loop, and gives it to what is compiled
    import itertools

    class Keys:
        def __init__(self, seed):
            self.root, self.count = jax.random.key(seed), itertools.count()

        def __call__(self):
            return jax.random.fold_in(self.root, next(self.count))

    @jax.jit
    def walk(key, x):
        return x + jax.random.normal(key, x.shape)

    def main(x):
        keys = Keys(0)
        for _ in range(10):
            x = walk(keys(), x)
        return x

    ## each noise in one turn, in an order that is drawn
    def jitter(x, first, second, key):
        for turn in jax.random.permutation(key, jnp.arange(2)):
            x = jax.lax.cond(turn == 0, lambda v: v + jax.random.normal(first, v.shape), lambda v: v, x)
            x = jax.lax.cond(turn == 1, lambda v: v * jax.random.normal(second, v.shape), lambda v: v, x)
        return x

    ## the loop ends with the use
    def first(key, xs):
        for x in xs:
            if x > 0:
                return jax.random.normal(key, (3,))
        return None

    ## one turn of those that are listed
    def block(key, x, params):
        for n in [0, 1]:
            if n == 1:
                x = x * jax.random.bernoulli(key, 0.9, x.shape)
            x = jnp.tanh(x @ params[n])
        return x

    def chain(key, x):
        for width, noisy in ((3, 0), (4, 1), (5, 0)):
            x = x + jax.random.normal(key, x.shape) if noisy >= 1 else x[:width]
        return x
    """
    invalid = """
    ## one key for all turns
    def walk(key, x):
        for _ in range(10):
            x = x + jax.random.normal(key, x.shape)  #!
        return x

    ## copies in a list
    def members(key, n):
        first = jnp.stack([jax.random.normal(k, (3,)) for k in [key] * 3])  #!
        keys = [jax.random.key(0)] * n
        out = []
        for k in keys:
            out.append(jax.random.normal(k, (3,)))  #!
        return first, jnp.stack(out)

    ## two turns of those that are listed
    def chain(key, x):
        for width, noisy in ((3, 0), (4, 1), (5, 1)):
            if noisy >= 1:
                x = x[:width] + jax.random.normal(key, (width,))  #!
        return x

    ## the body of a scan closes over a key
    def walk(key, x):
        def step(x, _):
            return x + jax.random.normal(key, x.shape), None  #!
        return jax.lax.scan(step, x, None, length=10)[0]

    ## Python counts once, while JAX traces: the key that it hands out is the same in every turn
    import itertools

    class Keys:
        def __init__(self, seed):
            self.root, self.count = jax.random.key(seed), itertools.count()

        def __call__(self):
            return jax.random.fold_in(self.root, next(self.count))

    def noise(keys, x):
        return jax.random.normal(keys(), x.shape)

    def walk(x):
        keys = Keys(0)
        def step(x, _):
            return x + noise(keys, x), None  #!
        return jax.lax.scan(step, x, None, length=10)[0]

    ## the same in a compiled function that a loop calls
    class Walker:
        def __init__(self, seed):
            self.root, self.turns = jax.random.key(seed), 0
            self.step = jax.jit(self._step)

        def _step(self, x):
            self.turns += 1
            return x + jax.random.normal(jax.random.fold_in(self.root, self.turns), x.shape)

    def main(x):
        walker = Walker(0)
        for _ in range(10):
            x = walker.step(x)  #!
        return x

    ## the wrong one of two keys is used: the next turn splits it
    def walk(key, x):
        for _ in range(10):
            key, subkey = jax.random.split(key)
            x = x + jax.random.normal(key, x.shape)  #!
        return x

    ## what cannot be followed gets the key that is carried on: a warning
    def walk(key, state, kernel):
        def step(carry, _):
            key, state = carry
            key, subkey = jax.random.split(key)
            state = kernel(key, state) + jax.random.normal(subkey)  #?
            return (key, state), None
        return jax.lax.scan(step, (key, state), None, length=10)

    ## seeded anew in every turn: a warning
    def walk(x):
        for _ in range(10):
            key = jax.random.key(0)
            x = x + jax.random.normal(key, x.shape)  #?
        return x

    ## the same numbers for every report on the way: a warning
    def train(key, params, steps, update, decode, writer):
        k_decode, k_train = jax.random.split(key)
        for i in range(steps):
            params = update(params, jax.random.fold_in(k_train, i))
            if i % 100 == 0:
                noise = jax.random.normal(k_decode, (8,))  #?
                writer.write(i, decode(params, noise))
        return params
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of a key in a loop."""
        keys = facts.get(KeyFacts)
        judged = ((scope, verdict) for scope, turned in keys.loops for verdict in turned)
        yield from (one for scope, verdict in judged for one in _judge(scope, verdict, facts))
        yield from (_unrolled(conflict, keys) for conflict in unrolled(keys))


def _judge(scope: Scope, verdict: Turned, facts: Facts) -> Iterator[Obligation]:
    use, op, keys = verdict.use, scope.op, facts.get(KeyFacts)
    if op is None:
        return
    name = key_name(keys, use)
    if verdict.turn is Turn.FRESH:
        yield _plain(use.spot, Verdict.PROVED, f"{name} is another key in every turn of the {_LOOPS[op.name]}")
    elif verdict.turn is Turn.ONCE:
        yield _plain(use.spot, Verdict.PROVED, f"the {_LOOPS[op.name]} uses {name} in one turn only")
    elif verdict.turn is Turn.CHOSEN:
        yield _plain(use.spot, Verdict.UNKNOWN, f"whether {name} is used in more than one turn depends on a comparison")
    elif verdict.turn is Turn.UNKNOWN:
        passed = use.origin.how is How.PASS or use.how is How.PASS
        why = f"{doer(use)} could not be followed" if passed else f"where {name} comes from could not be followed"
        yield _plain(use.spot, Verdict.UNKNOWN, f"{why}, in a {_LOOPS[op.name]}")
    elif not use.consumes and not keys.is_drawn_from(use):
        yield _plain(use.spot, Verdict.UNKNOWN, f"{doer(use)} could not be followed, in a {_LOOPS[op.name]}")
    elif verdict.turn is Turn.SEEDED and _is_chosen(use, keys):
        yield _plain(use.spot, Verdict.UNKNOWN, f"{name} is made anew in every turn, of a seed that somebody chooses")
    elif keys.places.is_handling(use.spot, op):
        yield _plain(use.spot, Verdict.UNKNOWN, f"whether {name} is used in more than one turn depends on exceptions")
    else:
        yield _finding(op, verdict, facts)


def _is_chosen(use: Use, keys: KeyFacts) -> bool:
    """Whether the seed of a key is a setting or an argument: whoever gives it asks for the same numbers every time."""
    made = keys.terms.made_by.get(root(use.term))
    return made is not None and bool(made[0].operands)


def _plain(op: Op, verdict: Verdict, reason: str) -> Obligation:
    return Obligation(op.span, verdict, reason)


def _carried_on(loop: Op, used: Op, flow: Flow) -> Iterator[Told]:
    """Return where a turn ends that hands the key on as it got it."""
    found = Loop(loop)
    for param in (one for one, following in found.successors if following is one):
        place = handed_on(found, param, flow)
        if place != loop.span and any(depends(flow, one, (param,)) for one in used.operands):
            yield place, "the turn goes on here with the key that it began with"


def _finding(loop: Op, verdict: Turned, facts: Facts) -> Obligation:
    use, keys = verdict.use, facts.get(KeyFacts)
    name, kind = key_name(keys, use), _LOOPS[loop.name]
    seeded = verdict.turn is Turn.SEEDED
    if verdict.turn is Turn.HANDED_ON and verdict.other is not None:
        line = line_of(verdict.other.spot.span, use.spot.span)
        message = f"{name} is used here and again by the next turn, on {line}"
        current = f"{doer(use)} uses {name}, which the {kind} carries on, so the next turn uses the same key"
    else:
        message = f"{name} is the same in every turn of this {kind}, so the numbers repeat"
        current = f"{doer(use)} gets the same key in every turn, so every turn sees the same random bits"
    repeated = None if verdict.turn is Turn.HANDED_ON else loop
    return Obligation(
        use.spot.span,
        severity=Severity.WARNING if seeded or not use.consumes else Severity.ERROR,
        message=short(message),
        current=current + ("; it is seeded inside the loop" if seeded else ""),
        expected="every turn uses a key of its own",
        steps=steps(
            (loop.span, f"the {kind} starts here"), *way_to(keys, use), *_carried_on(loop, use.spot, facts.flow)
        ),
        suggestion=_suggestion(loop, name),
        subject=Subject(uses=(use,), around=repeated, about="numbers"),
    )


def _unrolled(conflict: Conflict, keys: KeyFacts) -> Obligation:
    """Blame a place that several turns of a Python loop ran with one key."""
    use = conflict.second
    name = key_name(keys, use)
    return Obligation(
        use.spot.span,
        message=short(f"{name} is the same every time this is run, so the numbers repeat"),
        current=f"{doer(use)} gets the same key in several turns, so they see the same random bits",
        expected="every turn uses a key of its own",
        steps=steps(*way_to(keys, use)),
        suggestion=f"split {name} in every turn, and use a part of it once",
        subject=Subject(uses=(conflict.first, use), about="numbers"),
    )


def _suggestion(loop: Op, name: str) -> str:
    plain = name.strip("`") if name.startswith("`") else "key"
    if loop.name == "fori":
        return f"fold the loop index in: `jax.random.fold_in({plain}, i)`"
    if loop.name == "scan":
        return f"scan over `jax.random.split({plain}, n)` and use the key of each step"
    return f"`{plain}, subkey = jax.random.split({plain})` in every turn, and use `subkey`"
