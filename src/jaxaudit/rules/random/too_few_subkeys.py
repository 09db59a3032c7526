"""The rule `too-few-subkeys`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, constant
from jaxaudit.analyses.explain import name_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Split, length
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Edit, Example, Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.random._shared.phrases import short
from jaxaudit.spans import Span


class TooFewSubkeys(Rule):
    """The number of subkeys asked for is not the number that is taken.

    ## What it does
    Compares the count that `split` was asked for (two, when nothing is said) with the number of names its result is
    unpacked into, with the constant indices it is read at, with the items beside it in a `zip`, and with how often
    `next` takes one.

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
    needs = (KeyFacts, Shapes)

    valid = (
        Example("def f(key):\n    a, b = jax.random.split(key)\n    return a, b\n", "two by default"),
        Example("def f(key):\n    a, *rest = jax.random.split(key, 4)\n    return a, rest\n", "a starred name"),
        Example("def f(key):\n    keys = jax.random.split(key, 3)\n    return keys[2], keys[-3]\n", "the last row"),
        Example(
            """
            def start(key, sizes):
                keys = jax.random.split(key, len(sizes) - 1)
                layers = [jax.random.normal(k, pair[1:]) for k, *pair in zip(keys, sizes, sizes[1:])]
                rest = iter(jax.random.split(layers[0], 2))
                return layers, next(rest), next(rest), next(rest, None)

            start(jax.random.key(0), (4, 16, 2))
            """,
            "one for each pair of sizes",
        ),
    )
    invalid = (
        Example("def f(key):\n    a, b, c = jax.random.split(key)  #!\n    return a, b, c\n", "three of two"),
        Example("def f(key):\n    a, b = jax.random.split(key, 3)  #!\n    return a, b\n", "two of three"),
        Example(
            "def f(key):\n    keys = jax.random.split(key, 3)\n    return keys[0], keys[3]  #!\n", "a row past the end"
        ),
        Example(
            """
            def start(key, sizes):
                keys = jax.random.split(key, len(sizes) - 1)
                return [jax.random.normal(k, (size,)) for size, k in zip(sizes, keys)]  #!
            """,
            "one less than there are sizes",
        ),
        Example(
            """
            class Block:
                def __init__(self, key, n):
                    keys = iter(jax.random.split(key))
                    self.first = jax.random.normal(next(keys), (n,))
                    self.second = jax.random.normal(next(keys), (n,))
                    self.third = jax.random.normal(next(keys), (n,))  #!
            """,
            "the third of two",
        ),
        Example("def f(key):\n    a, b, *c, d = jax.random.split(key)  #!\n    return a, b, c, d\n", "starred"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where the result of a split is taken apart."""
        keys = facts.get(KeyFacts)
        yield from (one for op in program.named("py.unpack", "py.item") for one in _judge(op, keys))
        yield from (one for op in program.named("py.loop") for one in _side_by_side(op, facts))
        yield from _one_by_one(program, keys)


def _side_by_side(loop: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge a loop over subkeys and other items side by side: it ends with the shorter ones."""
    keys, shapes = facts.get(KeyFacts), facts.get(Shapes)
    index = loop.regions[0].params[0] if loop.regions and loop.regions[0].params else None
    elements = [op for op in loop.regions[0].ops if op.name == "py.element" and op.argument("index") is index]
    rows = {op: op.argument("iterable") for op in elements if index is not None}
    for op, iterable in rows.items():
        term = keys.term(iterable) if isinstance(iterable, Value) else None
        others = [one for one in rows.values() if one is not iterable]
        if not isinstance(term, Split) or not others:
            continue
        asked = term.tag[-1].arguments.get("num", 2)
        given, counts = _number(asked, shapes), [_count(one, facts.flow, shapes) for one in others]
        lacking = [None if given is None or one is None else (one - given).constant for one in counts]
        if any(one is not None and one <= 0 for one in lacking):
            yield proved(op.span, "there is a subkey for every turn")
        elif None in lacking:
            yield unknown(op.span, "whether there is a subkey for each of the items beside is not known")
        else:
            yield _ends_early(op, term, min(one for one in lacking if one is not None), keys)


def _number(given: object, shapes: Shapes) -> Dim | None:
    """Return a count as it is computed."""
    if isinstance(given, Value):
        fact = shapes.of(given)
        return fact.number if fact.number is not None else fact.integer
    return constant(given) if isinstance(given, int) else None


def _count(iterable: object, flow: Flow, shapes: Shapes) -> Dim | None:
    """Return how many items something has that a loop goes over."""
    if isinstance(iterable, tuple):
        return constant(len(iterable))
    if not isinstance(iterable, Value):
        return None
    fact = shapes.of(iterable)
    if fact.items is not None or fact.length is not None:
        return constant(len(fact.items)) if fact.items is not None else fact.length
    asked = [op for op in flow.readers.get(iterable, ()) if op.name == "array.shape" and op.function == "len"]
    return fact.dims[0] if fact.dims else next((_number(op.result, shapes) for op in asked), None)


def _ends_early(op: Op, split: Split, lacking: int, keys: KeyFacts) -> Obligation:
    made = split.tag[-1].span
    return Obligation(
        op.span,
        message=short(f"the subkeys end {lacking} short of the items beside them, and `zip` leaves those out"),
        current=f"`zip` ends with the subkeys, so the last {lacking} of the items have no turn",
        expected="`split` is asked for a subkey for each item",
        steps=(Step(made, "the subkeys are made here"),),
        suggestion=f"ask for as many as there are items: `jax.random.split({_plain(keys, split)}, len(...))`",
    )


def _one_by_one(program: Program, keys: KeyFacts) -> Iterator[Obligation]:
    """Judge subkeys that are taken from an iterator one after the other."""
    taken: dict[tuple[Value, int], list[Op]] = {}
    for op in program.named("py.call_library"):
        if op.qualified == "builtins.next" and op.has("iterator"):
            region = keys.places.region_of[op]
            taken.setdefault((op.operands[0], id(region)), []).append(op)
    for (value, _), ops in taken.items():
        term = keys.term(value)
        given = length(term) if isinstance(term, Split) else None
        if isinstance(term, Split) and given is not None and len(ops) > given:
            yield Obligation(
                ops[given].span,
                message=short(f"`split` gives {given} subkeys, and this takes number {given + 1}"),
                current="the iterator is at its end, and `next` raises StopIteration",
                raises=Raises.TRACING,
                expected=f"`split` is asked for {len(ops)} subkeys",
                steps=(Step(term.tag[-1].span, f"this gives {given} subkeys"),),
                suggestion=f"ask for {len(ops)}: `jax.random.split({_plain(keys, term)}, {len(ops)})`",
            )
        elif given is not None and isinstance(term, Split):
            yield proved(ops[-1].span, f"the split on line {term.tag[-1].span.line} gives {given} subkeys")


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
