"""The rule `one-key-as-many`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Split
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved

_SPENT = ("key.draw", "key.split", "key.fold_in")


class OneKeyAsMany(Rule):
    """One random key is taken apart as if it were several.

    ## What it does
    Looks at every loop over keys and every unpacking of keys: what is taken apart must be an array of keys, not a key
    that something draws from or splits.

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
    Of what is taken apart and never used as one key, nothing is said.
    """

    summary = "A single random key is looped over or unpacked, as if it were an array of keys."
    may_raise = True
    needs = (KeyFacts,)

    valid = """
    ## the subkeys
    def run(key, layers, x):
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, keys):
            x = layer(x, k)
        return x

    ## either one key or several
    def run(key, single):
        if single:
            return [jax.random.normal(key)]
        return [jax.random.normal(k) for k in key]
    """
    invalid = """
    ## the key in place of its subkeys
    def run(key, layers, x):
        keys = jax.random.split(key, len(layers))
        for layer, k in zip(layers, key):  #!
            x = layer(x, k)
        return x, keys
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every array of keys that is taken apart."""
        keys = facts.get(KeyFacts)
        for op in program.named("py.element", "py.unpack"):
            base = op.argument("iterable", "base")
            if isinstance(base, Value):
                yield from _judge(op, base, keys)


def _judge(op: Op, base: Value, keys: KeyFacts) -> Iterator[Obligation]:
    if isinstance(keys.term(base), Split):
        yield proved(OneKeyAsMany.name, op.span, f"{named(base, 'what is taken apart')} is what `split` gives")
        return
    readers = (one for one in keys.facts.flow.readers.get(base, ()) if one.arguments.get("key") is base)
    spent = next((one for one in readers if one.name in _SPENT and keys.places.both_happen(one, op)), None)
    if spent is None:
        return
    name = named(base, "this value")
    yield Obligation(
        OneKeyAsMany.name,
        op.span,
        message=f"{name} is one key, and here it is taken apart",
        current="the parts of a raw key are the words of its data, and a typed key raises TypeError",
        raises=Raises.TRACING,
        expected="the keys that `split` gave",
        steps=(Step(spent.span, f"{name} is used as one key here"),),
        suggestion="take the result of `jax.random.split` apart",
    )
