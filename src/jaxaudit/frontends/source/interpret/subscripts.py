"""Items: reading and writing `base[index]`."""

from __future__ import annotations

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret.asked import hashed
from jaxaudit.frontends.source.interpret.attributes import forget, note_captured
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.settings import is_namespace
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
)
from jaxaudit.frontends.source.values.frames import is_private
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import (
    Abstract,
    Const,
    Leaf,
    Record,
    Ref,
    Sequence,
    Slice,
    TupleValue,
    Zip,
    placed,
)
from jaxaudit.frontends.source.values.structure import argument, common_class, kind_of, materialise, options, rebuild
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.record import replace
from jaxaudit.libraries.jax import REFERENCE
from jaxaudit.spans import Span

_GRIDS = frozenset("r_ c_ mgrid ogrid".split())
"""Objects of NumPy that are given slices and arrays in brackets, and make something of them as functions do."""


def read(it: Interpreter, base: Abstract, index: Abstract, span: Span) -> Abstract:
    """Return `base[index]`."""
    if isinstance(base, (TupleValue, Record)):
        known = _pick(base.items, index)
        if known is not None:
            return TupleValue(known) if isinstance(known, tuple) else known
    elif isinstance(base, Ref):
        found = _read_box(it, base, index, span)
        if found is not None:
            return found
        if isinstance(index, Const):
            made = item(it, base, index, span)
            note_captured(it, base, "item", index.value, span, made)
            return made
    elif isinstance(base, Sequence):
        return _read_sequence(it, base, index, span)
    elif isinstance(base, Zip) and isinstance(index, Const) and isinstance(index.value, int) and index.value >= 0:
        row = tuple(read(it, part, index, span) for part in base.parts)
        return TupleValue((index, *row) if base.counted else row)
    elif isinstance(base, Library) and base.name.startswith("jaxtyping."):
        # An alias `Obs = Float[Array, "batch obs"]` keeps what it says of the axes.
        return PartialValue(base, index.items if isinstance(index, TupleValue) else (index,), {})
    elif isinstance(base, Library) and base.name.rpartition(".")[2] == "s_":
        return index
    elif isinstance(base, Library) and base.name.rpartition(".")[2] in _GRIDS:
        return it.call(base, Arguments(index.items if isinstance(index, TupleValue) else (index,)), span)
    elif isinstance(base, ClassValue) and base.kind == "enum":
        # A member by its name: `Kind["FULL"]`.
        if isinstance(index, Const) and index.value in base.namespace:
            return Attribute(base, str(index.value))
        return it.unknown("which member it is", span, base.name)
    elif isinstance(base, (Library, ClassValue)):
        # `list[int]`, `Float[Array, "b"]`: an annotation used as a value.
        return base
    return item(it, base, index, span)


def _pick(items: tuple[Abstract, ...], index: Abstract) -> Abstract | tuple[Abstract, ...] | None:
    if isinstance(index, Const) and isinstance(index.value, int) and -len(items) <= index.value < len(items):
        return items[index.value]
    if isinstance(index, Slice):
        bounds = _bounds(index)
        return None if bounds is None or bounds.step == 0 else items[bounds]
    return None


def _bounds(index: Slice) -> slice | None:
    found: list[int | None] = []
    for part in (index.start, index.stop, index.step):
        if not isinstance(part, Const) or not (part.value is None or isinstance(part.value, int)):
            return None
        found.append(part.value)
    return slice(*found)


def _read_box(it: Interpreter, base: Ref, index: Abstract, span: Span) -> Abstract | None:
    box = it.heap[base]
    if isinstance(box, ListBox):
        known = _pick(box.items, index)
        if isinstance(index, Const) and known is not None and not isinstance(known, tuple):
            note_captured(it, base, "item", index.value, span, known)
        if known is None and box.items and (cls := common_class(box.items)):
            return Leaf(item(it, base, index, span).value, cls, options=options(it, box.items))
        return it.heap.new(ListBox(known)) if isinstance(known, tuple) else known
    if isinstance(box, DictBox) and isinstance(index, Const) and _hashable(index.value):
        if index.value in box.entries:
            note_captured(it, base, "item", index.value, span, box.entries[index.value])
            return box.entries[index.value]
        if box.rest is not None:
            found = item(it, Leaf(box.rest), index, span)
            # Two reads of one entry are one value until somebody writes to the dict.
            it.heap[base] = DictBox({**box.entries, index.value: found}, box.rest)
            return found
    entries = box.entries.values() if isinstance(box, DictBox) and box.rest is None else ()
    if len(entries) == 1 and not isinstance(index, Const) and not _is_shared(it, base):
        return next(iter(entries))
    if parts := options(it, tuple(entries)):
        return Leaf(item(it, base, index, span).value, options=parts)
    if isinstance(box, ObjectBox):
        if is_namespace(box.cls) and isinstance(index, Const) and index.value in box.attrs:
            return box.attrs[str(index.value)]
        method = find_in_class(box.cls, "__getitem__")
        if isinstance(method, FunctionValue):
            return it.call(BoundMethod(method, base), Arguments((index,)), span)
    return None


def _is_shared(it: Interpreter, ref: Ref) -> bool:
    """Whether code out of sight may fill a container: it was handed there, or a module or class holds it."""
    if ref.id in it.handed:
        return True
    frames = (module.frame for module in it.project.modules.values() if module.frame is not None)
    spaces = (*(frame.env for frame in frames), *(cls.namespace for cls in it.classes))
    return any(value == ref for space in spaces for value in space.values())


def _read_sequence(it: Interpreter, base: Sequence, index: Abstract, span: Span) -> Abstract:
    one = rebuild(base.item, lambda leaf: leaf.at(item(it, leaf, index, span, base.kind).value), it)
    return Sequence(one, kind=base.kind) if isinstance(index, Slice) else one


def item(it: Interpreter, base: Abstract, index: Abstract, span: Span, kind: str = "") -> Leaf:
    """Emit the reading of one item of a value that is not known item by item; `kind` says what holds it."""
    whole = materialise(it, base, span)
    arguments = {"base": whole, "index": _index(it, index, span)}
    if not isinstance(base, Leaf) or not isinstance(index, Const) or not isinstance(index.value, str):
        array = isinstance(base, Leaf) and base.array
        kind = kind if isinstance(base, Leaf) else kind_of(it, base)
        return Leaf(it.emit("py.item", span, arguments, {"kind": kind} if kind else {}).result, array=array)
    # Two reads of one entry are one value until somebody may have written to the object.
    key = (whole, entry_key(index.value))
    if key not in it.loaded:
        made = it.emit("py.item", span, arguments).result
        made.name = index.value if index.value.isidentifier() else ""
        it.remember(key, Leaf(made))
    return it.loaded[key]


def _index(it: Interpreter, index: Abstract, span: Span) -> Argument:
    """Return an index as an argument: a tuple has an entry for each axis, and a list is one entry."""
    given = argument(it, index, span)
    return (given,) if isinstance(index, Ref) and isinstance(it.heap[index], ListBox) else given


def entry_key(name: str) -> str:
    """Return what an entry of an object is remembered under, beside its attributes."""
    return f"[{name!r}]"


def at_item(it: Interpreter, base: Abstract, index: Abstract, span: Span) -> Leaf:
    """Emit `x.at[index]`."""
    if _is_reference(base):
        return replace(item(it, base, index, span), cls=REFERENCE)
    arguments = {"base": materialise(it, base, span), "index": _index(it, index, span)}
    made = it.emit("array.at", span, arguments).result
    it.updates[made] = arguments
    return Leaf(made, "array.at")


def _is_reference(value: Abstract) -> bool:
    return isinstance(value, Leaf) and value.cls == REFERENCE


def write(
    it: Interpreter, base: Abstract, index: Abstract, value: Abstract, span: Span, augmented: bool = False
) -> None:
    """Interpret `base[index] = value`."""
    if isinstance(base, Leaf) and it.loaded:
        forget(it, base.value)
    value = placed(value, span)
    known = isinstance(base, Ref) and _write_box(it, base, index, value, span)
    arguments = {"index": _index(it, index, span), "value": argument(it, value, span)}
    kind = "reference" if _is_reference(base) else kind_of(it, base)
    attrs: dict[str, object] = {"augmented": augmented, "kind": kind}
    either = it.heap.origins(base) if isinstance(base, Ref) else ()
    for one in (one for one in either if not isinstance(it.heap[one], ObjectBox)):
        # It may be this one that is changed.
        parts = (materialise(it, one, span), materialise(it, value, span))
        made = it.emit("py.container", span, attrs={"kind": kind_of(it, one)}, operands=parts).result
        it.heap[one] = OpaqueBox(made, kind_of(it, one))
    if isinstance(base, Ref):
        attrs |= {"object": base.id, "private": is_private(it.frame, base)}
    if isinstance(base, Leaf) and isinstance(index, Const) and isinstance(index.value, str):
        # An entry under a text: a dict, and no array that the rules on arrays tell of.
        changed = it.emit("py.set_item", span, {"base": base.value, **arguments}, attrs).result
        renew(it, base, changed)
        return
    if known or not isinstance(base, Ref):
        whole = {} if known else {"base": materialise(it, base, span)}
        it.emit("py.set_item", span, {**whole, **arguments}, attrs, results=0)
        return
    changed = it.emit("py.set_item", span, {"base": materialise(it, base, span), **arguments}, attrs).result
    it.heap[base] = OpaqueBox(changed, kind_of(it, base))


def renew(it: Interpreter, changed: Leaf, value: Value) -> None:
    """Give the variables that hold a container known as one value the value that it is after a change."""
    env = it.frame.env
    for name in [name for name, held in env.items() if isinstance(held, Leaf) and held.value is changed.value]:
        env[name] = changed.at(value)


def _write_box(it: Interpreter, base: Ref, index: Abstract, value: Abstract, span: Span) -> bool:
    box = it.heap[base]
    if isinstance(box, DictBox):
        if isinstance(index, Const) and _hashable(index.value):
            it.heap[base] = DictBox({**box.entries, index.value: value}, box.rest)
            return True
        hashed(it, index, "dict", span)
        return False
    if isinstance(box, ObjectBox) and is_namespace(box.cls) and isinstance(index, Const):
        it.heap[base] = replace(box, attrs={**box.attrs, str(index.value): value})
        return True
    if isinstance(box, ListBox) and isinstance(index, Const) and isinstance(index.value, int):
        if -len(box.items) <= index.value < len(box.items):
            items = list(box.items)
            items[index.value] = value
            it.heap[base] = ListBox(tuple(items), box.kind)
            return True
    return False


def _hashable(value: object) -> bool:
    return isinstance(value, str | int | float | bytes | bool | None)
