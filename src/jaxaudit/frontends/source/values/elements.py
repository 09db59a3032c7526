"""Elements: what a loop variable holds in one turn, and how many turns there are."""

from __future__ import annotations

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue
from jaxaudit.frontends.source.values.heap import DictBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Range, Record, Ref, Sequence, TupleValue, Zip
from jaxaudit.frontends.source.values.structure import argument, common_class, materialise, options, rebuild
from jaxaudit.ir import Argument
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span

BAR = "tqdm.tqdm"


def run_through(iterable: Abstract) -> Abstract:
    """Return what a loop runs through: a progress bar gives the elements of what it was put around."""
    if isinstance(iterable, Leaf) and iterable.cls == BAR and iterable.holds is not None:
        return iterable.holds
    return iterable


def element(it: Interpreter, iterable: Abstract, index: Leaf, span: Span) -> Abstract:
    """Return the element of an iterable in the turn that `index` counts."""
    iterable = run_through(iterable)
    if isinstance(iterable, Zip):
        parts = tuple([element(it, part, index, span) for part in iterable.parts])
        return TupleValue((Leaf(index.value), *parts)) if iterable.counted else TupleValue(parts)
    if isinstance(iterable, Range):
        parts = {"start": iterable.start, "stop": iterable.stop, "step": iterable.step}
        bounds = {name: argument(it, part, span) for name, part in parts.items()}
        return _emit(it, bounds, index, span)
    if isinstance(iterable, Sequence):
        return rebuild(iterable.item, lambda leaf: leaf.at(_emit(it, leaf.value, index, span, listed=True).value), it)
    items = known_items(it, iterable)
    if items:
        return _of_known(it, items, index, span)
    given = _from_object(it, iterable, index, span)
    if given is not None:
        return given
    row = _emit(it, materialise(it, iterable, span), index, span)
    return replace(row, array=isinstance(iterable, Leaf) and iterable.array)


def _from_object(it: Interpreter, iterable: Abstract, index: Leaf, span: Span) -> Abstract | None:
    """Return the element that an object of the audited code gives by its own methods; None where it has none."""
    box = it.heap[iterable] if isinstance(iterable, Ref) else None
    if not isinstance(box, ObjectBox):
        return None
    if isinstance(following := find_in_class(box.cls, "__next__"), FunctionValue):
        return it.call(BoundMethod(following, iterable), Arguments(), span)
    if isinstance(iterator := find_in_class(box.cls, "__iter__"), FunctionValue):
        return element(it, it.call(BoundMethod(iterator, iterable), Arguments(), span), index, span)
    if isinstance(item := find_in_class(box.cls, "__getitem__"), FunctionValue):
        return it.call(BoundMethod(item, iterable), Arguments((index,)), span)
    return None


def _of_known(it: Interpreter, items: tuple[Abstract, ...], index: Leaf, span: Span) -> Abstract:
    if len(items) == 1:
        return items[0]
    first = items[0]
    tuples = [item for item in items if isinstance(item, TupleValue | Record)]
    kinds = {(item.cls if isinstance(item, Record) else None, len(item.items)) for item in tuples}
    if len(tuples) == len(items) and len(kinds) == 1:
        columns = zip(*(item.items for item in tuples), strict=True)
        made = tuple([_of_known(it, column, index, span) for column in columns])
        return Record(first.cls, made) if isinstance(first, Record) else TupleValue(made)
    boxes = [it.heap[item] for item in items if isinstance(item, Ref)]
    dicts = [box.entries for box in boxes if isinstance(box, DictBox) and box.rest is None]
    if len(dicts) == len(items) and all(entries.keys() == dicts[0].keys() for entries in dicts):
        columns = {key: tuple([entries[key] for entries in dicts]) for key in dicts[0]}
        return it.heap.new(DictBox({key: _of_known(it, column, index, span) for key, column in columns.items()}))
    whole = tuple([argument(it, item, span) for item in items])
    either = Leaf(_emit(it, whole, index, span).value, common_class(items), options=options(it, items))
    if len(boxes) == len(items) and isinstance(first, Ref) and isinstance(box := boxes[0], ObjectBox):
        if all(isinstance(other, ObjectBox) and other.cls is box.cls for other in boxes):
            # Some instance of that class: its methods are known, its attributes are not.
            return it.heap.new(ObjectBox(box.cls, {}, either.value))
    return either


def _emit(it: Interpreter, iterable: Argument, index: Leaf, span: Span, *, listed: bool = False) -> Leaf:
    """Emit the choice of an element; `listed` says that the items of a list are meant, not the rows of an array."""
    attrs = {"listed": True} if listed else {}
    return Leaf(it.emit("py.element", span, {"iterable": iterable, "index": index.value}, attrs).result)


def turns(it: Interpreter, iterable: Abstract) -> dict[str, object]:
    """Return what a loop over an iterable tells of its turns: how many there are, or how many at most."""
    trips = trip_count(it, iterable)
    return {"trips": trips} if trips is not None else {"trips": None, "bound": _most_trips(it, iterable)}


def _most_trips(it: Interpreter, iterable: Abstract) -> int | None:
    """Return the turns of a loop at most: a zip ends with its shortest part, whatever the others are."""
    if not isinstance(iterable, Zip):
        return trip_count(it, iterable)
    return min((count for part in iterable.parts if (count := _most_trips(it, part)) is not None), default=None)


def trip_count(it: Interpreter, iterable: Abstract) -> int | None:
    """Return how often a loop over an iterable runs, where that is known."""
    iterable = run_through(iterable)
    if isinstance(iterable, Range):
        bounds = (iterable.start, iterable.stop, iterable.step)
        numbers = [part.value for part in bounds if isinstance(part, Const) and isinstance(part.value, int)]
        return len(range(*numbers)) if len(numbers) == 3 and numbers[2] != 0 else None
    if isinstance(iterable, Zip):
        counts = [trip_count(it, part) for part in iterable.parts]
        # A part of unknown length may end the loop before the others do.
        known = [count for count in counts if count is not None]
        return min(known, default=None) if len(known) == len(counts) or 0 in known else None
    if isinstance(iterable, Const) and isinstance(iterable.value, str | bytes):
        return len(iterable.value)
    items = known_items(it, iterable)
    return None if items is None else len(items)
