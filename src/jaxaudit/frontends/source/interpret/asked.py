"""What Python asks of values to go on: their truth, their order, their hash.

`if x`, `x in (1, 3)`, `sorted((a, b))`, `any(xs)`, `table[x]` and `case 0:` all need the value itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.elements import element
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Range, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.model import Sequence as SequenceValue
from jaxaudit.frontends.source.values.structure import argument, materialise
from jaxaudit.ir import Value
from jaxaudit.spans import Span

_MOST = 16
"""How many items are asked one by one; the others look like them."""


def test(it: Interpreter, value: Abstract, construct: str, span: Span) -> Value:
    """Note that Python asks for the truth of a value, and give that value."""
    asked = materialise(it, value, span)
    it.emit("py.test", span, {"value": asked}, {"construct": construct}, results=0)
    return asked


def member(it: Interpreter, item: Abstract, container: Abstract, construct: str, span: Span) -> None:
    """Note what `item in container` asks for: a hash, or whether one item after the other equals it."""
    box = it.heap[container] if isinstance(container, Ref) else None
    if isinstance(box, DictBox) or (isinstance(box, ListBox | OpaqueBox) and box.kind == "set"):
        hashed(it, item, construct, span)
    elif isinstance(container, Leaf) and not _is_text(item):
        test(it, container, construct, span)
    elif isinstance(container, Range):
        equal(it, item, Const(0), construct, span)
    elif isinstance(container, TupleValue | Record | SequenceValue | Ref):
        for one in _some(it, container, span):
            equal(it, item, one, construct, span)


def equal(it: Interpreter, left: Abstract, right: Abstract, construct: str, span: Span) -> None:
    """Note that Python asks whether two values are equal, one of which it may not know yet."""
    sides = (left, right)
    if not any(map(_is_open, sides)) or left == right or any(map(_is_word, sides)):
        return
    parts = {"x": argument(it, left, span), "y": argument(it, right, span)}
    made = it.emit("array.map", span, parts, {"function": "equal", "operator": True}).result
    made.name = next(side.value.name for side in sides if isinstance(side, Leaf))
    test(it, Leaf(made), construct, span)


def hashed(it: Interpreter, key: Abstract, construct: str, span: Span) -> None:
    """Note that Python asks for the hash of a value, which no array of JAX has."""
    if isinstance(key, TupleValue):
        for part in key.items:
            hashed(it, part, construct, span)
    elif _is_open(key):
        test(it, key, construct, span)


def truths(it: Interpreter, given: Arguments, construct: str, span: Span) -> None:
    """Note what `any(items)` and `all(items)` ask for."""
    if len(given.positional) == 1:
        for item in _some(it, given.positional[0], span):
            if truth(it, item) is None:
                test(it, item, construct, span)


def order(it: Interpreter, given: Arguments, construct: str, span: Span) -> None:
    """Note what `sorted(items, key=f)`, `max(a, b)` and their kin ask for: which of two comes first."""
    several = (*given.positional, *(() if given.star is None else _some(it, given.star, span)))
    spread = len(given.positional) != 1 or given.star is not None
    items = several if spread else _some(it, given.positional[0], span)
    key = given.keywords.get("key")
    ranked = items if key is None or key == Const(None) else [it.call(key, Arguments((one,)), span) for one in items]
    if len(ranked) > 1 or given.star is not None or (not spread and known_items(it, given.positional[0]) is None):
        for item in ranked:
            if _is_open(leading := _leading(it, item)):
                test(it, leading, construct, span)


def chosen(it: Interpreter, given: Arguments, construct: str, span: Span) -> None:
    """Note what `filter(f, items)` asks for."""
    if len(given.positional) == 2:
        ask, items = given.positional
        for item in _some(it, items, span):
            answer = item if ask == Const(None) else it.call(ask, Arguments((item,)), span)
            if truth(it, answer) is None:
                test(it, answer, construct, span)


def patterns(it: Interpreter, subject: Abstract, found: Iterable[ast.pattern], span: Span) -> None:
    """Note what the cases of a `match` compare their subject with."""
    for pattern in found:
        match pattern:
            case ast.MatchValue(value=node):
                equal(it, subject, it.evaluate(node), "match", span)
            case ast.MatchOr(patterns=several):
                patterns(it, subject, several, span)
            case ast.MatchAs(pattern=ast.pattern() as inner):
                patterns(it, subject, [inner], span)
            case ast.MatchSequence(patterns=parts) if (items := known_items(it, subject)) and len(items) == len(parts):
                for part, item in zip(parts, items, strict=True):
                    patterns(it, item, [part], span)


def _some(it: Interpreter, items: Abstract, span: Span) -> Sequence[Abstract]:
    """Return the items of something as far as they may differ; one stands for all where they are not known."""
    known = known_items(it, items)
    if known is not None:
        numbers = [one for one in known if isinstance(one, Const) and not _is_word(one)]
        return [one for one in known if one not in numbers[1:]][:_MOST]
    if isinstance(items, SequenceValue):
        return [items.item]
    return [element(it, items, Leaf(materialise(it, Const(0), span)), span)]


def _leading(it: Interpreter, item: Abstract) -> Abstract:
    """Return what decides the order of an item first: tuples and lists go by their first entry."""
    items = known_items(it, item)
    return item if not items or isinstance(item, Record) else _leading(it, items[0])


def _is_open(value: Abstract) -> bool:
    """Whether a value may be an array: text and what `int` or `float` gives is none."""
    return isinstance(value, Leaf) and not value.cls.startswith("builtins.")


def _is_text(value: Abstract) -> bool:
    return (isinstance(value, Const) and isinstance(value.value, str)) or (
        isinstance(value, Leaf) and value.cls == "builtins.str"
    )


def _is_word(value: Abstract) -> bool:
    """Whether a value is text or None: Python knows that no array equals it."""
    return isinstance(value, Const) and (value.value is None or isinstance(value.value, str))


ASKING: dict[str, Callable[[Interpreter, Arguments, str, Span], None]] = {
    **dict.fromkeys(("any", "all"), truths),
    **dict.fromkeys(("max", "min", "sorted"), order),
    "filter": chosen,
    "hash": lambda it, given, construct, span: hashed(it, TupleValue(given.positional), construct, span),
}
"""Functions of Python itself that ask, by their names."""
