"""The rule `too-few-subkeys`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.explain import name_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Split, length
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Edit, Example, Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.random._shared.phrases import short
from jaxaudit.spans import Span


class TooFewSubkeys(Rule):
    """The number of subkeys asked for is not the number that is taken.

    ## What it does
    Compares the count that `split` was asked for (two, when nothing is said) with the number of names its result is
    unpacked into, and with the constant indices it is read at.

    ## Why is this bad?
    Unpacking into another number of names raises `ValueError`, often only when that layer is built for the first time.
    Reading row 5 of 3 raises nothing: JAX clamps the index, and two consumers silently share the last key.

    ## Example
        k1, k2, k3 = jax.random.split(key)

    ## Use instead
        k1, k2, k3 = jax.random.split(key, 3)

    ## When it cannot tell
    When the count is computed at run time, such as `split(key, depth + 1)`.
    """

    summary = "A split gives another number of subkeys than is unpacked or indexed."
    needs = (KeyFacts,)

    valid = (
        Example("def f(key):\n    a, b = jax.random.split(key)\n    return a, b\n", "two by default"),
        Example("def f(key):\n    a, *rest = jax.random.split(key, 4)\n    return a, rest\n", "a starred name"),
        Example("def f(key):\n    keys = jax.random.split(key, 3)\n    return keys[2], keys[-3]\n", "the last row"),
    )
    invalid = (
        Example("def f(key):\n    a, b, c = jax.random.split(key)  #!\n    return a, b, c\n", "three of two"),
        Example("def f(key):\n    a, b = jax.random.split(key, 3)  #!\n    return a, b\n", "two of three"),
        Example(
            "def f(key):\n    keys = jax.random.split(key, 3)\n    return keys[0], keys[3]  #!\n", "a row past the end"
        ),
        Example("def f(key):\n    a, b, *c, d = jax.random.split(key)  #!\n    return a, b, c, d\n", "starred"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where the result of a split is taken apart."""
        keys = facts.get(KeyFacts)
        yield from (one for op in program.named("py.unpack", "py.item") for one in _judge(op, keys))


def _judge(op: Op, keys: KeyFacts) -> Iterator[Obligation]:
    if op.name == "py.unpack":
        term = keys.term(op.operands[0])
        if isinstance(term, Split):
            yield _unpacked(op, term, keys)
    elif op.name == "py.item":
        base, index = op.arguments.get("base"), op.arguments.get("index")
        term = keys.term(base) if isinstance(base, Value) else None
        if isinstance(term, Split) and isinstance(index, int):
            yield _indexed(op, term, index, keys)


def _unpacked(op: Op, split: Split, keys: KeyFacts) -> Obligation:
    given = length(split)
    star = op.star
    names = len(op.results) - (star is not None)
    if given is None:
        return _unknown(op, f"how many subkeys the split of {name_of(keys, split.parent)} gives is not known")
    at_least = "at least " if star is not None else ""
    if names == given or (star is not None and names < given):
        reason = f"the split on line {split.tag[-1].span.line} gives {given} subkeys and {at_least}{names} are taken"
        return proved(op.span, reason)
    return Obligation(
        op.span,
        message=short(f"`split` gives {given} subkeys but {at_least}{names} are unpacked"),
        current=f"{given} subkeys are unpacked into {at_least}{names} names, which raises ValueError",
        raises=Raises.TRACING,
        expected=f"`split` is asked for {names} subkeys",
        steps=(Step(split.tag[-1].span, f"this gives {given} subkeys"),),
        suggestion=f"ask for {names}: `jax.random.split({_plain(keys, split)}, {names})`",
        edits=_edits(split.tag[-1], names),
    )


def _indexed(op: Op, split: Split, index: int, keys: KeyFacts) -> Obligation:
    given = length(split)
    if given is None and index in (0, -1):
        return proved(op.span, "a split gives at least one subkey")
    if given is None:
        return _unknown(op, f"how many subkeys the split of {name_of(keys, split.parent)} gives is not known")
    if -given <= index < given:
        return proved(op.span, f"row {index} exists: there are {given}")
    last = given - 1 if index > 0 else 0
    return Obligation(
        op.span,
        message=short(f"row {index} of {given} subkeys does not exist; JAX silently gives row {last}"),
        current=f"the index is clamped, so this is the same key as row {last}",
        expected=f"`split` is asked for at least {index + 1 if index >= 0 else -index} subkeys",
        steps=(Step(split.tag[-1].span, f"this gives {given} subkeys"),),
        suggestion=f"ask for more: `jax.random.split({_plain(keys, split)}, {index + 1 if index >= 0 else -index})`",
    )


def _unknown(op: Op, reason: str) -> Obligation:
    return unknown(op.span, reason)


def _plain(keys: KeyFacts, split: Split) -> str:
    given = split.tag[-1].arguments.get("key")
    name = name_of(keys, split.parent, given if isinstance(given, Value) else None)
    return name.strip("`") if name.startswith("`") else "key"


def _edits(split: Op, count: int) -> tuple[Edit, ...]:
    """Add the count before the closing parenthesis, where none was written."""
    if "num" in split.arguments:
        return ()
    path, _, _, line, column = split.span
    return (Edit(Span(path, line, column - 1, line, column - 1), f", {count}"),)
