"""The rule `one-key-as-many`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Part, Split, Term, is_single
from jaxaudit.analyses.queries import nothing, sources
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved, unknown

_SPENT = ("key.draw", "key.split", "key.fold_in")


class OneKeyAsMany(Rule):
    """One random key is taken apart as if it were several, or several are used as one.

    ## What it does
    Looks at every loop over keys, every unpacking of keys and every map over keys: what is taken apart must be an array
    of keys, not a key that something draws from or splits. What is drawn from or split must be one key, not all that a
    split gave.

    ## Why is this bad?
    The parts of a raw key are the two words of its data. They are no keys: what draws from them raises, and a `zip`
    over them ends after two turns. A typed key raises at once.

    ## Example
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, key):
            x = layer(x, key=k)

    ## Use instead
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, keys):
            x = layer(x, key=k)

    ## When it cannot tell
    Where nothing in sight says whether what is taken apart is one key or several. Of values that nothing uses as keys,
    nothing is said.
    """

    summary = "A single random key is looped over or unpacked, as if it were an array of keys."
    needs = (KeyFacts,)

    valid = """
    ## the subkeys
    def run(key, layers, x):
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, keys):
            x = layer(x, k)
        return x

    ## each element its own
    def sample(key, x):
        first, second = jax.random.split(key)
        return x + jax.random.normal(first, x.shape) + jax.random.normal(jax.random.fold_in(second, 1), x.shape)

    def run(key, xs):
        some = jax.vmap(sample)(jax.random.split(key, len(xs)), xs)
        more = [sample(one, x) for one, x in zip(jax.random.split(key, 3)[1:], xs)]
        last = jax.lax.map(lambda one: sample(*one), (jax.random.split(key, len(xs)), xs))
        _, rest = jax.lax.scan(lambda c, one: (c, sample(one, c)), xs[0], jax.random.split(key, 7))
        rows = jax.vmap(jax.vmap(jax.random.normal))(jax.random.split(key, (3, 4)))
        many = jax.vmap(lambda k: jax.random.split(k, 3))(jax.random.split(key, 5))
        return some, more, last, rest, rows, jax.vmap(jax.vmap(jax.random.normal))(many)

    ## environments that take as many keys as there are of them
    from brax import envs

    def run(key):
        env = envs.create("ant", batch_size=8)
        return env.reset(jax.random.split(key, 8))

    ## keys in rows, or made by a map
    def noisy(key):
        return jax.random.normal(key)

    def run(key, n):
        first, second, third = jax.random.split(key, 3)
        rows = jax.vmap(jax.vmap(noisy))(jax.random.split(first, (n, 3)))
        folded = jax.vmap(lambda i: jax.random.fold_in(second, i))(jnp.arange(n))
        pairs = jax.vmap(jax.random.split)(jax.random.split(third, n))
        return rows, jax.vmap(noisy)(folded), jax.vmap(noisy)(pairs[:, 0])

    ## either one key or several
    def run(key, single):
        if single:
            return [jax.random.normal(key)]
        return [jax.random.normal(k) for k in key]
    """
    invalid = """
    ## all subkeys in the place of one
    def run(key, logits):
        keys = jax.random.split(key, logits.shape[0])
        return jax.random.categorical(keys, logits)  #!

    ## a function of one key that is not mapped
    def sample(key, x):
        return x + jax.random.normal(key, x.shape)  #!

    def run(key, xs):
        return sample(jax.random.split(key, len(xs)), xs)

    ## the key in place of its subkeys
    def run(key, layers, x):
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, key):  #!
            x = layer(x, k)
        return x, keys

    ## one key for all devices, or for all elements
    def noisy(key, x):
        return x + jax.random.normal(key, x.shape)

    class Sampler:
        def __init__(self, scale):
            self.scale = scale
            self.run = jax.pmap(self.draw)

        def draw(self, key):
            return self.scale * jax.random.normal(key, (3,))

        def __call__(self, key):
            return self.run(key)  #!

    def main(xs):
        key, sub = jax.random.split(jax.random.PRNGKey(0))
        first = jax.vmap(noisy)(sub, xs)  #!
        second = jax.pmap(noisy, in_axes=(0, 0))(jax.random.fold_in(key, 1), xs)  #!
        return first, second, [Sampler(2.0)(k) for k in jax.random.split(key, 3)]
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every array of keys that is taken apart."""
        keys = facts.get(KeyFacts)
        yield from (_several(op, keys) for op in program.named(*_SPENT) if _is_array(_key(op, keys)))
        for op in program.named("py.element", "py.unpack"):
            base = op.argument("iterable", "base")
            if isinstance(base, Value):
                yield from _judge(op, base, keys)
        # What was traced went through.
        for op in program.named("vmap", "pmap", "map", "scan") if program.front_end == "source" else ():
            yield from _mapped(op, keys)


def _mapped(op: Op, keys: KeyFacts) -> Iterator[Obligation]:
    """Judge the keys that a map or a loop takes one element of at a time."""
    loop, mapped = Loop.of(op), Mapped.of(op)
    wholes = [whole for _, whole in loop.elements] if loop is not None else []
    wholes += [one for at, one in enumerate(op.operands) if mapped is not None and mapped.is_mapped(at)]
    for whole in wholes:
        given = [keys.term(one) for one in sources(keys.facts.flow, (whole,), nothing)]
        if given and all(map(is_single, given)):
            yield _finding(op, whole, named(whole, "what is mapped"), None)
        elif _is_array(keys.term(whole)):
            yield proved(op.span, f"{named(whole, 'what is mapped')} holds the keys that `split` gives")


def _judge(op: Op, base: Value, keys: KeyFacts) -> Iterator[Obligation]:
    term, name = keys.term(base), named(base, "what is taken apart")
    drawn = any(one for part in op.results for one in _spending(part, keys))
    spent = next((one for one in _spending(base, keys) if keys.places.both_happen(one, op)), None)
    if _is_array(term):
        yield proved(op.span, f"{name} holds the keys that `split` gives")
    elif op.listed:
        yield from [proved(op.span, f"{name} is a list or an iterator, and its items are the keys")] if drawn else ()
    elif spent is not None or (drawn and is_single(term)):
        yield _finding(op, base, name, spent)
    elif drawn:
        yield unknown(op.span, f"whether {name} is one key or several is not known")
    elif is_single(term):
        yield unknown(op.span, f"{name} is one key, and what becomes of its parts is not known")


def _key(op: Op, keys: KeyFacts) -> Term | None:
    """Return what a function of JAX is given that takes one key; others may take as many as they like."""
    key = op.arguments.get("key") if op.qualified.startswith("jax.random.") else None
    return keys.term(key) if isinstance(key, Value) else None


def _several(op: Op, keys: KeyFacts) -> Obligation:
    """Return that what is used as one key is all that a split gives."""
    key = op.value("key")
    made = None if key is None else keys.facts.flow.maker(key)
    name = "what `split` gives" if key is None else named(key, "what `split` gives")
    return Obligation(
        op.span,
        message=f"{name} holds several keys, and `{op.function}` takes one",
        current="JAX raises: an array of keys is no key",
        raises=Raises.TRACING,
        expected="one of the keys, or a `vmap` over them",
        steps=() if made is None else (Step(made.span, "a split gives several keys here"),),
        suggestion="map over the keys with `jax.vmap`, or take one of them",
        cause=() if key is None else (key,),
    )


def _spending(key: Value, keys: KeyFacts) -> Iterator[Op]:
    """Return the ops that use a value as one key."""
    readers = keys.facts.flow.readers.get(key, ())
    return (one for one in readers if one.name in _SPENT and one.arguments.get("key") is key)


def _is_array(term: Term | None) -> bool:
    """Whether a term is an array of keys for sure: what one split made, or a stretch of it."""
    return isinstance(term, Split) or (isinstance(term, Part) and _is_array(term.base))


def _finding(op: Op, base: Value, name: str, spent: Op | None) -> Obligation:
    return Obligation(
        op.span,
        message=f"{name} is one key, and here it is {'mapped over' if op.regions else 'taken apart'}",
        current="the parts of a raw key are the words of its data, and a typed key raises TypeError",
        raises=Raises.TRACING,
        expected="the keys that `split` gave",
        steps=() if spent is None else (Step(spent.span, f"{name} is used as one key here"),),
        suggestion="take the result of `jax.random.split` apart",
        cause=(base,),
    )
