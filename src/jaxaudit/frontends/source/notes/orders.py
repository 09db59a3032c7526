"""Notes in which order the items of sequences stand that are put together item by item."""

from __future__ import annotations

from collections.abc import Sequence as Seq

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.heap import DictBox, ListBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref, Sequence, TupleValue, Zip
from jaxaudit.ir import Value
from jaxaudit.spans import NOWHERE, Span

Order = tuple[tuple[object, ...], Value | None, Span]
"""The keys of the dict that a sequence runs through, the sequence as one value, and where it is made, if known."""


def keys_of(it: Interpreter, value: Abstract) -> tuple[object, ...]:
    """Return the keys of the dict whose entries a sequence runs through, in its order; nothing where it is no such."""
    match value:
        case TupleValue(keys=keys) | Sequence(keys=keys):
            return keys
        case Zip(parts=parts):
            # Parts in several orders are noted where they meet; the pairs have none of them.
            found = {keys_of(it, part) for part in parts}
            return found.pop() if len(found) == 1 else ()
        case Ref():
            match it.heap[value]:
                case ListBox(keys=keys):
                    return keys
                case DictBox(entries=entries, rest=None):
                    return tuple(entries)
    return ()


def orders(it: Interpreter, parts: Seq[Abstract]) -> tuple[Order, ...]:
    """Return in which order the items of some sequences stand."""
    return tuple([_order(it, part) for part in parts])


def _order(it: Interpreter, part: Abstract) -> Order:
    box = it.heap[part] if isinstance(part, Ref) else part
    made = box.made if isinstance(box, TupleValue | ListBox | DictBox) else NOWHERE
    whole = part.item if isinstance(part, Sequence) else part
    return keys_of(it, part), whole.value if isinstance(whole, Leaf) else None, made


def note_paired(it: Interpreter, parts: Seq[Abstract], span: Span) -> None:
    """Note sequences that are run through side by side, where at least one of them has the order of a dict."""
    if len(parts) > 1 and any(keys_of(it, part) for part in parts):
        it.emit("tree.paired", span, attrs={"orders": orders(it, parts)}, results=0)
