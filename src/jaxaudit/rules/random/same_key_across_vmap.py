"""The rule `same-key-across-vmap`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.turns import Turn
from jaxaudit.analyses.keys.turns import Verdict as Turned
from jaxaudit.analyses.queries import reached, walk
from jaxaudit.analyses.replication import is_copied, is_repeated
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.ops import CALCULATING, DEVICE_MAPS
from jaxaudit.rules.base import Obligation, Rule, Severity, Subject, proved, unknown
from jaxaudit.rules.random._shared.phrases import doer, key_name, short, steps, way_to

_WORDS = {
    "vmap": ("`vmap`", "mapped element"),
    "pmap": ("`pmap`", "device"),
    "shard_map": ("`shard_map`", "shard"),
    "map": ("`lax.map`", "element"),
    "tree.map": ("`tree.map`", "leaf"),
}


class SameKeyAcrossVmap(Rule):
    """A mapped function uses the same random key for every element.

    ## What it does
    For every `vmap`, `pmap`, `shard_map`, `lax.map` and `tree.map`, looks at the keys that the mapped function uses and
    asks whether each element gets its own: because keys are mapped too, or because something mapped is folded in.

    ## Why is this bad?
    A key that is closed over, or given with `in_axes=None`, is the same for all elements: all environments take the
    same random action, all examples get the same dropout mask, all members of an ensemble start alike. Nothing fails.

    ## Example
        jax.vmap(lambda o: act(params, o, key))(obs)

    ## Use instead
        keys = jax.random.split(key, obs.shape[0])
        jax.vmap(lambda o, k: act(params, o, k))(obs, keys)

    ## When it cannot tell
    When it is not known which arguments are mapped, or where a key inside comes from. Results that are ranked against
    each other (common random numbers), numbers that every shard of a `shard_map` is to share, and keys that a caller
    gives and `in_axes` says None for are warnings.
    """

    summary = "A mapped function uses the same random key for every element."
    needs = (KeyFacts, Shapes)

    valid = """
    ## one key for each element
    def noisy(key, xs):
        keys = jax.random.split(key, xs.shape[0])
        return jax.vmap(lambda x, k: x + jax.random.normal(k, x.shape))(xs, keys)

    ## the index folded in
    def noisy(key, xs):
        def one(i, x):
            return x + jax.random.normal(jax.random.fold_in(key, i), x.shape)
        return jax.vmap(one)(jnp.arange(xs.shape[0]), xs)

    ## the next one for each leaf
    def start(key, shapes):
        keys = iter(jax.random.split(key, 9))
        return jax.tree.map(lambda shape: jax.random.normal(next(keys), shape), shapes)
    """
    invalid = """
    ## the mapped function closes over a key
    def noisy(key, xs):
        return jax.vmap(lambda x: x + jax.random.normal(key, x.shape))(xs)  #!

    ## the key is not mapped
    def one(x, key):
        return x + jax.random.normal(key, x.shape)

    def noisy(xs):
        return jax.vmap(one, in_axes=(0, None))(xs, jax.random.key(0))  #!

    ## `in_axes` says so for a key that a caller gives: all channels of an image may be turned alike
    def one(x, key):
        return x + jax.random.normal(key, x.shape)

    def noisy(key, xs):
        return jax.vmap(one, in_axes=(0, None))(xs, key)  #?

    ## one seed, or one number folded in, for all
    def replicas(n, seed):
        keys = jax.vmap(jax.random.key)(jnp.full((n,), seed))
        return jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)  #!

    def streams(key, n):
        return jax.vmap(lambda i: jax.random.normal(jax.random.fold_in(key, i), (3,)))(jnp.ones(n, int))  #!

    ## every leaf gets the same noise
    def perturb(key, params):
        return jax.tree.map(lambda p: p + jax.random.normal(key, p.shape), params)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mapped function that uses keys."""
        keys = facts.get(KeyFacts)
        for scope, turned in keys.mapped:
            if scope.op is not None:
                yield from _judge(scope.op, turned, keys, facts)


def _judge(op: Op, turned: Sequence[Turned], keys: KeyFacts, facts: Facts) -> Iterator[Obligation]:
    same = [one.use for one in turned if one.turn in (Turn.SAME, Turn.SEEDED)]
    # A draw says more than the split it comes from.
    same.sort(key=lambda use: use.origin.how is not How.DRAW)
    kind, element = _WORDS[op.name]
    if same and ((op.options or {}).get("axis_size") == 1 or _is_array(op, facts)):
        yield proved(op.span, f"{kind} has one {element} only")
        return
    if same and op.name in DEVICE_MAPS and all(callee_of(use.origin.spot) == "init" for use in same):
        yield proved(op.span, f"every {element} is to start from the same parameters")
        return
    if same and op.name in DEVICE_MAPS and _makes_copies(op, facts):
        yield unknown(op.span, f"whether every {element} is to make the same is not known")
        return
    if same:
        seeded = any(one.turn is Turn.SEEDED and one.use is same[0] for one in turned)
        yield _finding(
            op, same[0], keys, _doubt(op, same, facts) or ("it is seeded inside the mapped function" if seeded else "")
        )
        return
    doubtful = [one.use for one in turned if one.turn in (Turn.UNKNOWN, Turn.CHOSEN)]
    if doubtful:
        name = key_name(keys, doubtful[0])
        yield unknown(op.span, f"whether {name} differs for each {element} of {kind} could not be told")
    elif turned:
        name = key_name(keys, turned[0].use)
        yield proved(op.span, f"{name} is another key for each {element} of {kind}")


def _doubt(op: Op, same: Sequence[Use], facts: Facts) -> str:
    """Return why the same numbers may be meant for every shard: they are the same thing on all devices."""
    if op.name != "shard_map":
        return ""
    drawn = reached(facts.flow, [value for use in same for value in use.origin.spot.results])
    shapes = facts.get(Shapes) if facts.program.front_end == "source" else None
    return "" if is_repeated(op, shapes, drawn) else "a replicated key is often meant under `shard_map`"


def _makes_copies(op: Op, facts: Facts) -> bool:
    """Whether devices are given keys alone and put nothing together: copies of what one of them would make."""
    given = [one for _, one in Mapped(op).elements]
    inner = walk(op.regions, lambda region: (one for step in region.ops for one in step.regions))
    together = any(step.name == "collective" for region in inner for step in region.ops)
    alone = bool(given) and len(given) == len(op.operands)
    return alone and not together and all(is_copied(facts.flow, one) for one in given)


def _is_array(op: Op, facts: Facts) -> bool:
    """Whether the tree that a function is mapped over is computed with as an array is: it has one leaf."""
    if op.name != "tree.map" or not op.operands:
        return False
    places = facts.places
    readers = (one for one in facts.flow.readers.get(op.operands[0], ()) if one.name in CALCULATING)
    return any(places.within(places.region_of[op], places.region_of[one]) for one in readers)


def _finding(op: Op, use: Use, keys: KeyFacts, doubt: str) -> Obligation:
    kind, element = _WORDS[op.name]
    name = key_name(keys, use)
    current = f"{doer(use)} uses {name} for every {element}, so all of them see the same random bits"
    return Obligation(
        op.span,
        severity=Severity.WARNING if doubt else Severity.ERROR,
        message=short(f"{name} is the same for every {element} of {kind}, so the numbers repeat"),
        current=current + (f"; {doubt}" if doubt else ""),
        expected=f"every {element} uses a key of its own",
        steps=steps(*way_to(keys, use), (use.spot.span, f"{doer(use)} uses {name} inside the mapped function")),
        suggestion=_suggestion(op, name),
        subject=Subject(uses=(use,), around=op, about="numbers"),
    )


def _suggestion(op: Op, name: str) -> str:
    plain = name.strip("`") if name.startswith("`") else "key"
    if op.name == "tree.map":
        return f"make a tree of keys: split `{plain}` once for each leaf and map over both trees"
    return f"`keys = jax.random.split({plain}, n)` and map over `keys` as well"
