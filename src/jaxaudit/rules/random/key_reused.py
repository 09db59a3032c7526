"""The rule `key-reused`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Scope, Use
from jaxaudit.analyses.keys.conflicts import Conflict, is_in_rule
from jaxaudit.analyses.keys.terms import Number, Row, Split, is_opaque
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program, Value
from jaxaudit.ir.ops import SELECTED
from jaxaudit.rules.base import Obligation, Rule, Severity, Subject, proved, unknown
from jaxaudit.rules.random._shared.colliding import colliding
from jaxaudit.rules.random._shared.phrases import doer, key_name, line_of, short, steps, way_to
from jaxaudit.rules.random._shared.reseeded import Twins, twins
from jaxaudit.rules.random._shared.unrolled import is_library, is_repeated, is_unrolled
from jaxaudit.spans import Span

_PAST = {How.DRAW: "drew from", How.SPLIT: "split", How.PASS: "was given"}
_APART = "give each purpose a key of its own to fold numbers into: split the key before, or fold in a constant first"


class KeyReused(Rule):
    """A random key is used a second time.

    ## What it does
    Follows every key from its seed through splits, fold-ins, containers, function calls and transformations, and asks
    of each use whether the same key was used before on the same path. Drawing numbers and splitting both use a key up.
    Folding data in does not, as long as the data differ: a loop that counts from 0 meets the 0 of another place, and
    the sum of two counts (`epoch + i`) is the same in many turns.
    Functions that make a key of a seed are asked as well: what two calls of one give is the same, and must not be
    trained side by side.

    ## Why is this bad?
    JAX's random functions are pure: the same key gives the same random bits. Two draws from one key are not
    independent (a proposal and its acceptance, noise and dropout mask), and a key that was split shares its bits with
    its subkeys. Nothing fails; the statistics are silently wrong.

    ## Example
        noise = jax.random.normal(key, (3,))
        keep = jax.random.bernoulli(key, 0.9, (3,))

    ## Use instead
        noise_key, keep_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (3,))
        keep = jax.random.bernoulli(keep_key, 0.9, (3,))

    A key that is shared on purpose (common random numbers, two networks that start alike) is a warning where the code,
    a comment or a name says so; `jax.random.clone(key)` says it in code.
    So is one in a benchmark or a main block, and one that Flax folds the paths of modules into; tests are left open.

    ## When it cannot tell
    When the key is given to a function that cannot be followed (a warning where that gives something for it), when two
    rows of an array of keys are picked, or numbers folded in, that may or may not be equal, and when one of several
    keys may be meant. These are reported as unknown.
    """

    summary = "A random key is used a second time, so two results share their random numbers."
    needs = (KeyFacts, Shapes)

    valid = """
    ## keys that a scan collects unused
    def f(key):
        def body(key, _):
            key, used, kept = jax.random.split(key, 3)
            return key, (jax.random.normal(used), kept)

        key, (noise, keys) = jax.lax.scan(body, key, None, length=4)
        return noise, jax.vmap(jax.random.uniform)(keys)

    ## each subkey is used once
    def sample(key):
        noise_key, keep_key = jax.random.split(key)
        noise = jax.random.normal(noise_key, (3,))
        return noise * jax.random.bernoulli(keep_key, 0.9, (3,))

    ## only one of the two draws happens
    def sample(key, flat):
        if flat:
            return jax.random.uniform(key, (3,))
        return jax.random.normal(key, (3,))

    ## different data folded in
    def layers(key, x):
        for i in range(3):
            x = x + jax.random.normal(jax.random.fold_in(key, i), x.shape)
        return x, jax.random.uniform(jax.random.fold_in(key, 99), x.shape)

    ## a callee that only writes a key down, and one that gives the next key
    def step(key, state, save, kernel):
        save(key)
        key, noise_key = jax.random.split(key)
        state, key = kernel(key, state)
        return state + jax.random.normal(noise_key), jax.random.uniform(key)

    ## the same noise added and taken away again, and a step along it
    def move(params, key, amount):
        leaves, structure = jax.tree.flatten(params)
        keys = jax.random.split(key, len(leaves))
        moved = [p + amount * jax.random.normal(k, p.shape) for p, k in zip(leaves, keys)]
        return jax.tree.unflatten(structure, moved)

    @jax.jit
    def step(params, key, eps, rate):
        params = move(params, key, eps)
        up = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        params = move(params, key, -2 * eps)
        down = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        params = move(params, key, eps)
        return move(params, key, -rate * (up - down) / (2 * eps))

    def main(params, key):
        return step(params, key, 0.01, 0.1)

    ## a target that starts as what it follows, and two runs on equal terms
    def weights():
        return jax.random.normal(jax.random.key(0), (3,))

    @jax.jit
    def learn(w, target, x):
        goal = jnp.tanh(x @ target)
        w = w - 0.1 * jax.grad(lambda w: (x @ w - goal) ** 2)(w)
        return w, 0.9 * target + 0.1 * w

    def run(rate, x):
        w, target = weights(), weights()
        for _ in range(9):
            w, target = learn(w, target, rate * x)
        return w

    def main():
        return run(0.1, jnp.ones(3)), run(0.2, jnp.ones(3))

    ## a key that is shared on purpose
    def pair(key):
        first = jax.random.normal(key, (3,))
        second = jax.random.normal(jax.random.clone(key), (3,))
        return first, second
    """
    invalid = """
    ## keys that a scan uses and collects
    def f(key):
        def body(key, _):
            key, subkey = jax.random.split(key)
            return key, (jax.random.normal(subkey), subkey)

        key, (noise, subkeys) = jax.lax.scan(body, key, None, length=4)
        return noise, jax.vmap(jax.random.uniform)(subkeys)  #!

    ## two draws from one key
    def sample(key):
        noise = jax.random.normal(key, (3,))
        keep = jax.random.bernoulli(key, 0.9, (3,))  #!
        return noise * keep

    ## two helpers are given the same key
    def propose(key, x):
        return x + jax.random.normal(key, x.shape)

    def accept(key, ratio):
        return jax.random.uniform(key, ratio.shape) < ratio

    def step(key, x, ratio):
        y = propose(key, x)
        return y, accept(key, ratio)  #!

    ## the key that was split is drawn from
    def sample(key):
        key_a, key_b = jax.random.split(key)
        a = jax.random.normal(key_a, (3,))
        b = jax.random.normal(key, (3,))  #!
        return a + b, jax.random.uniform(key_b)

    ## a row of keys that were all used
    def sample(key, n):
        keys = jax.random.split(key, 4)
        a = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
        return a, jax.random.uniform(keys[0], (3,))  #!

    ## a paired evaluation: a warning, because it may be meant
    def score(params, key):
        return (params * jax.random.normal(key, (3,))).sum()

    def slope(params, key):
        return score(params + 0.1, key) - score(params - 0.1, key)  #?

    ## given to what cannot be followed, which gives something for it: a warning
    def step(key, state, kernel):
        state = kernel(key, state)
        return state + jax.random.normal(key, state.shape)  #?

    ## two critics that both learn are made of one seed
    class Critic:
        def __init__(self, size):
            self.w = jax.random.normal(jax.random.key(0), (size,))

    @jax.jit
    def learn(w1, w2, x):
        goal = jnp.minimum(x @ w1, x @ w2)
        def move(w):
            return w - 0.1 * jax.grad(lambda w: (x @ w - goal) ** 2)(w)
        return move(w1), move(w2)

    def main(x):
        one = Critic(3)
        two = Critic(3)  #!
        w1, w2 = one.w, two.w
        for _ in range(9):
            w1, w2 = learn(w1, w2, x)
        return w1, w2

    ## split twice, but nobody draws from the same row: a warning
    def move(key, x):
        _, noise_key = jax.random.split(key)
        return x + jax.random.normal(noise_key, x.shape)

    def step(key, x):
        x = move(key, x)
        accept_key, _ = jax.random.split(key)  #?
        return x, jax.random.uniform(accept_key)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of a key."""
        keys = facts.get(KeyFacts)
        yield from (one for scope, found in keys.conflicts_in(program) for one in _judge(scope, found, keys))
        yield from map(_reseeded, twins(keys, facts))
        yield from colliding(program, facts)


def _judge(scope: Scope, found: Mapping[Use, Conflict], keys: KeyFacts) -> Iterator[Obligation]:
    for use in scope.uses:
        conflict = found.get(use)
        if conflict is None:
            if use.consumes:
                yield _first(keys, use)
        elif conflict.handed and _is_drawn_from(conflict, keys):
            yield _finding(scope, keys, conflict)
        elif not conflict.certain:
            yield unknown(use.spot.span, _doubt(keys, conflict))
        elif is_library(conflict):
            yield _inside(keys, conflict)
        elif use.spot not in keys.repeated and not is_unrolled(conflict):
            yield _finding(scope, keys, conflict)


def _reseeded(found: Twins) -> Obligation:
    """Blame the second of two calls that draw the same for things which are to differ."""
    function = callee_of(found.second)
    return Obligation(
        found.second.span,
        message=short(f"`{function}` makes its key of the same seed again: both calls give the same numbers"),
        current="both results are trained side by side, and they start and stay equal",
        expected="what is made several times so that it differs gets a key of its own each time",
        steps=steps(
            (found.first.span, f"`{function}` is called for the first time"),
            (found.seed.span, "the key is made here, of the same seed in both calls"),
            (found.draw.span, "this is drawn from it"),
            (found.together.span, "here both are used"),
        ),
        suggestion=f"give `{function}` a key, and split one before the calls",
    )


def _is_drawn_from(conflict: Conflict, keys: KeyFacts) -> bool:
    """Whether the callee that could not be followed draws from the key that it is given, as far as can be seen."""
    if conflict.second.spot in keys.repeated or is_unrolled(conflict):
        return False
    return any(keys.is_drawn_from(use) for use in (conflict.first, conflict.second))


def _first(keys: KeyFacts, use: Use) -> Obligation:
    """Judge a use that no other one is known to repeat."""
    open_for = ""
    if is_opaque(use.term):
        open_for = f"where {key_name(keys, use)} comes from could not be followed"
    elif use.term in keys.handed_out:
        open_for = f"{key_name(keys, use)} is returned too, and what callers do with it is not known"
    if open_for:
        return unknown(use.spot.span, open_for)
    return proved(use.spot.span, _reason(keys, use))


def _inside(keys: KeyFacts, conflict: Conflict) -> Obligation:
    """Judge two uses inside one call of a library: its caller gives the key away once, and can only be warned."""
    name, span = key_name(keys, conflict.second), conflict.second.spot.span
    if is_repeated(conflict):
        return proved(span, f"{name} gives the same numbers twice inside one call of a library")
    library = conflict.second.origin.site.library
    where = f"`{library}` of a library" if library else "the library that is called here"
    drawn = [one.origin.site.function or one.how.value for one in (conflict.first, conflict.second)]
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=short(f"{where} uses {name} twice: its random numbers depend on each other"),
        current=f"inside it, `{drawn[0]}` and `{drawn[1]}` see the same random bits",
        expected="every key is used once, by libraries too",
        suggestion="look for a newer version of the library, or draw the numbers outside it",
    )


def _reason(keys: KeyFacts, use: Use) -> str:
    name = key_name(keys, use)
    if isinstance(use.term, Row) and isinstance(use.term.base, Split) and isinstance(use.term.index, Number):
        split = use.term.base.tag[-1].span
        where = line_of(split, use.spot.span)
        # Under `vmap` a row is taken of every split at once: `[:, 0]`.
        row = str(use.term.index.value).removeprefix("[:, ").removesuffix("]")
        return f"{name} is row {row} of the split on {where}, and no other use on its path has that row"
    return f"nothing else on the same path uses {name}"


def _doubt(keys: KeyFacts, conflict: Conflict) -> str:
    use, other = conflict.second, conflict.first
    name = key_name(keys, use)
    where = line_of(other.spot.span, use.spot.span)
    for one in (other, use):
        if one.origin.how is How.PASS or one.how is How.PASS:
            there = "" if one is use else f" on {where}"
            return f"{name} is also given to {doer(one)}{there}, which could not be followed"
    return f"{name} may be the same key as the one that {doer(other)} uses on {where}"


def _finding(scope: Scope, keys: KeyFacts, conflict: Conflict) -> Obligation:
    first, use = conflict.first, conflict.second
    span = _blame(scope, conflict, keys.places)
    name = key_name(keys, use)
    where = line_of(first.spot.span, span)
    past = f"already {_PAST.get(first.origin.how, 'used')} it on {where}"
    # A library that folds something into the key draws other numbers from it than a plain draw does.
    effect = "" if any(one.origin.spot.folds for one in (first, use)) else ", so both see the same random bits"
    return Obligation(
        span,
        severity=Severity.ERROR if conflict.certain else Severity.WARNING,
        message=_message(keys, conflict, name, where),
        current=f"{doer(use)} uses {name}, and {doer(first)} {past}{effect}",
        expected="every key is used once",
        steps=steps(*way_to(keys, first), (first.spot.span, "first used here"), *way_to(keys, use)),
        suggestion=_APART if conflict.folds_meet else _suggestion(name, where),
        subject=Subject(uses=(first, use), about="numbers"),
        cause=tuple(_taken_apart(keys, use)),
    )


def _taken_apart(keys: KeyFacts, use: Use) -> Iterator[Value]:
    """Return what the key of a use is a part of."""
    makers = (keys.places.maker.get(one.value) for one in use.chain if one.value is not None)
    bases = (op.argument("iterable", "base") for op in makers if op is not None and op.name in SELECTED)
    return (base for base in bases if isinstance(base, Value))


def _blame(scope: Scope, conflict: Conflict, places: Places) -> Span:
    """A function that is given one key as two arguments does nothing wrong itself: its caller does."""
    params = scope.region.params
    one, other = conflict.first.value, conflict.second.value
    direct = conflict.first.inner is None and conflict.second.inner is None
    if scope.op is not None and direct and one is not other and one in params and other in params:
        return scope.op.span
    if is_in_rule(conflict.first.origin.site, conflict.second.origin.site):
        return conflict.second.origin.site.span
    first, second = (_written(use, places) for use in (conflict.first, conflict.second))
    # One function that is called twice draws in one place: the second call is the one too many.
    return conflict.second.spot.span if first.spot is second.spot else second.spot.span


def _written(use: Use, places: Places) -> Use:
    """Return the use where the key is written down.

    A function that reads it from around is not given it in its call.
    """
    value, inner = use.value, use.inner
    if value is None or inner is None or value in use.spot.operands:
        return use
    maker = places.maker.get(value)
    home = places.owner.get(value) if maker is None else places.region_of.get(maker)
    return inner if home is not None and home is places.region_of.get(use.spot) else use


def _message(keys: KeyFacts, conflict: Conflict, name: str, where: str) -> str:
    first = conflict.first
    if conflict.folds_meet:
        return short(f"{name} is a key of {where} again: the same number is folded in")
    if conflict.collision:
        return short(f"{name} equals {key_name(keys, first)}, used on {where}: `split` and `fold_in` meet")
    if conflict.first.spot is conflict.second.spot:
        return short(f"{name} is given twice to {doer(first)}, which uses both")
    return short(f"{name} is used again: {doer(first)} {_PAST.get(first.origin.how, 'used')} it on {where}")


def _suggestion(name: str, where: str) -> str:
    plain = name.strip("`") if name.startswith("`") else "key"
    return f"split it before {where}: `{plain}, subkey = jax.random.split({plain})`, and use each part once"
