"""The rule `seed-for-given-key`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, holders, through_ops, walk, whole_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import BODIES, MAPPED
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Subject, proved
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.intent.names import is_unwanted

_KEYS = ("key.split", "key.seed", "key.fold_in", "key.clone", "key.wrap")
_HELD = through_ops("py.unpack", "py.item", "py.element", "py.container", "array.reshape", "array.gather")


class SeedForGivenKey(Rule):
    """A function is given a key, and draws from a seed of its own instead.

    ## What it does
    Looks at functions with a parameter that callers give a key for and that nothing reads, or with a subkey that
    nothing reads, and asks whether the function draws from a key of a constant.

    ## Why is this bad?
    Every call draws the same numbers, whatever key it is given. All environments start alike, every batch has the same
    noise, and nothing raises.

    ## Example
        def noise(key, shape):
            return jax.random.normal(jax.random.key(0), shape)

    ## Use instead
        def noise(key, shape):
            return jax.random.normal(key, shape)

    ## When it cannot tell
    When nobody visibly calls the function. A parameter whose name says that nobody reads it (`_key`) is meant so.
    """

    summary = "A function that is given a key draws from a constant seed instead."

    valid = """
    ## the key is used, or there is none
    def noise(key, shape):
        return jax.random.normal(key, shape)

    def pattern(shape):
        return jax.random.normal(jax.random.key(0), shape)

    def silence(key, shape):
        return jnp.zeros(shape)

    def both(x, key):
        first, second = jax.random.split(key)
        return x + noise(first, x.shape) + pattern(x.shape) + silence(second, x.shape)

    def main(x):
        return [both(x, key) for key in jax.random.split(jax.random.key(1), 3)]
    """
    invalid = """
    ## a subkey was split off for it
    def act(key, scores, epsilon):
        explore, choose = jax.random.split(key)
        random = jax.random.uniform(jax.random.key(0)) < epsilon  #!
        return jnp.where(random, jax.random.randint(choose, (), 0, 4), jnp.argmax(scores))

    ## a seed that was left from trying it out
    def noise(key, shape):  #!
        return jax.random.normal(jax.random.key(0), shape)

    def both(x, key):
        first, second = jax.random.split(key)
        return x + noise(first, x.shape) * jax.random.uniform(second)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every parameter that a key is given for and nothing reads."""
        for note in program.named("py.unread"):
            if note.kind == "variable" and not is_unwanted(note.label) and _is_subkey(note, facts.flow):
                yield from (_left_over(note, seed) for seed in _drawn_from_seed(note, facts.flow))
            call = _given_key(note, facts.flow) if note.kind == "parameter" and not note.is_stub else None
            if call is None:
                continue
            seed = next(filter(_is_fixed, facts.places.region_of[note].walk()), None)
            if seed is None:
                yield proved(note.span, f"`{note.qualified}` draws from no seed of its own")
            else:
                yield _violated(note, call, seed)


def _given_key(note: Op, flow: Flow) -> Op | None:
    """Return the call that gives a key for a parameter."""
    value, region = noted(note), flow.places.region_of[note]
    if value is None or value not in region.params:
        return None
    for call in holders(flow, region):
        given = given_as(call, region, value) if call.name in BODIES | MAPPED else ()
        if any(_is_key(one, flow) for one in given):
            return call
    return None


def _is_subkey(note: Op, flow: Flow) -> bool:
    """Whether a variable holds a part of what a split gives."""
    value = noted(note)
    made = None if value is None else flow.maker(whole_of(flow, value))
    return made is not None and made.name == "key.split"


def _drawn_from_seed(note: Op, flow: Flow) -> Iterator[Op]:
    """Return the first constant seed below a note that something in the same function draws from at once."""
    ops = flow.places.region_of[note].ops
    draws = (op for op in ops[ops.index(note) :] if op.name == "key.draw")
    makers = (flow.maker(key) for op in draws if (key := op.value("key")) is not None)
    yield from islice((made for made in makers if made is not None and _is_fixed(made)), 1)


def _left_over(note: Op, seed: Op) -> Obligation:
    name = note.label
    return Obligation(
        seed.span,
        message=f"a draw takes a seed of its own here, and nothing draws from the subkey `{name}`",
        current="every call draws the same numbers, whatever key it is given",
        expected=f"it draws from `{name}`",
        steps=(Step(note.span, f"`{name}` is split off here"),),
        suggestion=f"use `{name}`",
        subject=Subject(names=(name,)),
    )


def _is_key(value: Value, flow: Flow) -> bool:
    makers = (flow.maker(one) for one in walk((value,), lambda one: behind(flow, one, _HELD)))
    return any(op is not None and op.name in _KEYS for op in makers)


def _is_fixed(op: Op) -> bool:
    return op.name == "key.seed" and isinstance(op.arguments.get("seed"), int)


def _violated(note: Op, call: Op, seed: Op) -> Obligation:
    name, function = note.label, note.qualified
    return Obligation(
        note.span,
        # A method that overrides another one may have to take a key.
        severity=Severity.WARNING if note.may_override else Severity.ERROR,
        message=f"`{function}` is given a key for `{name}`, and draws from a seed of its own instead",
        current="every call draws the same numbers, whatever key it is given",
        expected=f"`{function}` draws from `{name}`",
        steps=(Step(call.span, f"a key is given for `{name}` here"), Step(seed.span, "the seed is always the same")),
        suggestion=f"use `{name}`",
        subject=Subject(names=(name,)),
    )
