"""The rule `one-key-as-many`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Part, Split, Term, is_single
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, named, proved, unknown

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


def _spending(key: Value, keys: KeyFacts) -> Iterator[Op]:
    """Return the ops that use a value as one key."""
    readers = keys.facts.flow.readers.get(key, ())
    return (one for one in readers if one.name in _SPENT and one.arguments.get("key") is key)


def _is_array(term: Term) -> bool:
    """Whether a term is an array of keys for sure: what one split made, or a stretch of it."""
    return isinstance(term, Split) or (isinstance(term, Part) and _is_array(term.base))


def _finding(op: Op, base: Value, name: str, spent: Op | None) -> Obligation:
    return Obligation(
        op.span,
        message=f"{name} is one key, and here it is taken apart",
        current="the parts of a raw key are the words of its data, and a typed key raises TypeError",
        raises=Raises.TRACING,
        expected="the keys that `split` gave",
        steps=() if spent is None else (Step(spent.span, f"{name} is used as one key here"),),
        suggestion="take the result of `jax.random.split` apart",
        cause=(base,),
    )
