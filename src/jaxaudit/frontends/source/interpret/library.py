"""Library functions: Python's own, transformations, and everything that has a row in the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Seq

from jaxaudit.frontends.source.interpret import (
    applied,
    arithmetic,
    calls,
    compositions,
    control_flow,
    ends,
    holders,
    likeness,
    prefixes,
    protocols,
    python_calls,
    settings,
    transforms,
)
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.operators import is_tuple
from jaxaudit.frontends.source.interpret.regions import data_leaves
from jaxaudit.frontends.source.interpret.staging import kind_of_argument
from jaxaudit.frontends.source.notes.orders import keys_of, orders
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import Library, name_of
from jaxaudit.frontends.source.values.heap import DictBox, ListBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Record, Ref, Sequence, TupleValue, Zip
from jaxaudit.frontends.source.values.structure import argument, in_a_row, kind_of, leaves, materialise, rebuild
from jaxaudit.frontends.source.values.trees import trees_of
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import SEVERAL_ARRAYS
from jaxaudit.ir.ops import ARRAYS
from jaxaudit.ir.trees import Border
from jaxaudit.libraries.lookup import ROWS, canonical, lookup, plays
from jaxaudit.libraries.results import Made, Parts, Shaped
from jaxaudit.libraries.rows import Row
from jaxaudit.libraries.unmodelled import UNMODELLED
from jaxaudit.spans import NOWHERE, Span

_COVERED = frozenset(name.partition(".")[0] for name in ROWS) - {"array", "numpy"}
"""The libraries whose functions were gone through: what takes a key there has a row."""


_TAKES_ARRAYS = frozenset(("array.join", "array.create", "array.reduce"))
"""Ops whose first argument may not be an iterator."""
_ITERATORS = frozenset(("builtins.map", "builtins.filter"))
_LEAF_BY_LEAF = frozenset(("collective", "grad.stop", "device.place"))
"""Ops that give back the tree they are given."""
_TAKES_SIZES = frozenset(("array.reshape", "array.permute"))
"""Ops whose sizes or axes may come one by one, or as one tuple."""
_TABLES = (arithmetic.HANDLERS, python_calls.HANDLERS, control_flow.HANDLERS, settings.HANDLERS, compositions.HANDLERS)
"""What knows single functions, in the order in which it is asked."""


def call(it: Interpreter, name: str, given: Arguments, span: Span) -> Abstract:
    """Call a library function by its qualified name."""
    name = canonical(name)
    for table in _TABLES:
        handler = table.get(name)
        if handler is not None:
            made = handler(it, given, span)
            if made is not None:
                return made
    if name in transforms.WRAPPERS:
        return transforms.wrap(it, name, given, span)
    row = _for_class(name, given) or lookup(name)
    if row is not None:
        made = likeness.alike(it, row, given, emit_row(it, row, name, given, span), span)
        protocols.note(it, row, given)
        return holders.parted(it, row, given, holders.holding(made, row, given), span)
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    cls = name if last[:1].isupper() else ""
    if package == "builtins" or (cls and package in _COVERED):
        # Built-ins take no key; constructors that do have rows.
        operands = tuple(dict.fromkeys(leaf for value in given.all() for leaf in leaves(it, value)))
        attrs: dict[str, object] = {"function": name}
        if cls and (by_name := {key: one.value for key, one in given.keywords.items() if isinstance(one, Leaf)}):
            attrs["named"] = by_name
        if name in _ITERATORS and given.positional:
            cls, attrs["of"] = name, name_of(given.positional[0])
        return Leaf(it.emit("py.call_library", span, attrs=attrs, operands=operands).result, cls)
    reason = UNMODELLED.get(name, f"{name} is not modelled")
    return calls.unknown_call(it, Library(name), given, reason, span, name, cls)


def _for_class(name: str, given: Arguments) -> Row | None:
    """Return the row of what makes a module of a module of some class, where that class has one of its own."""
    first = next(iter(given.all()), None) if plays(name, "module.convert") else None
    return lookup(f"{first.cls}.{name.rpartition('.')[2]}") if isinstance(first, Leaf) and first.cls else None


def row_of(name: str) -> Row | None:
    """Return the row of a library name."""
    return lookup(name)


def emit_row(
    it: Interpreter,
    row: Row,
    name: str,
    given: Arguments,
    span: Span,
    receiver: Ref | None = None,
    held: Iterable[Value] = (),
) -> Abstract:
    """Emit the op of a table row.

    `receiver` is the object of the audited code whose inherited method it is, and `held` what an object holds that is
    called itself.
    """
    attrs: dict[str, object] = {} if receiver is None else {"object": receiver.id, "module": kind_of(it, receiver)}
    if row.op in _LEAF_BY_LEAF and given.positional and isinstance(given.positional[0], TupleValue | Record | Ref):
        return _on_leaves(it, row, name, given, span)
    if row.op == "array.join" and given.positional and isinstance(first := given.positional[0], Ref):
        box = it.heap[first]
        if isinstance(box, ListBox) and box.count is not None:
            attrs["count"] = box.count
    if row.op == "array.join" and given.positional and keys_of(it, given.positional[0]):
        attrs["orders"] = orders(it, given.positional[:1])
    if row.op == "tree.other" or row.trees:
        attrs["border"] = _border(it, row, given)
        if any(keys_of(it, one) for one in given.positional):
            attrs["orders"] = orders(it, given.positional)
    elif row.op in _TAKES_ARRAYS and given.positional and _is_iterator(first := given.positional[0]):
        attrs["first"] = kind_of_argument(it, first)
    own = tuple(dict.fromkeys(held))
    arguments: dict[str, Argument] = {"self": own[0] if len(own) == 1 else own} if own else {}
    return _emit(it, row, name, arguments | bind_row(it, row, given, span), span, attrs)


def _is_iterator(value: Abstract) -> bool:
    if isinstance(value, Zip):
        return not value.listed
    return isinstance(value, Sequence) or (isinstance(value, Leaf) and value.cls in _ITERATORS)


def _on_leaves(it: Interpreter, row: Row, name: str, given: Arguments, span: Span) -> Abstract:
    """Interpret a function that takes any tree and gives the same tree back, leaf by leaf.

    Of a tree that says where each leaf lives, a leaf is given its own part.
    """
    whole = given.positional[0]
    # The names of axes that a collective goes over are for every leaf, even if there are as many of them as leaves.
    spread = given.positional[1:] if row.op == "device.place" else ()
    said = [prefixes.over_leaves(it, one, whole) for one in spread]
    own = {value: parts for value, *parts in zip(data_leaves(it, whole), *said, strict=False)}

    def on_leaf(leaf: Leaf) -> Leaf:
        rest = own.get(leaf.value) or given.positional[1:]
        told = [one if part is None else part for one, part in zip(given.positional[1:], rest, strict=True)]
        parts = Arguments((leaf, *told), given.keywords, given.star, given.stars)
        made = it.emit(row.op, span, bind_row(it, row, parts, span), {"function": name, **row.attrs}).result
        made.name = leaf.value.name
        return leaf.at(made)

    return rebuild(whole, on_leaf, it, number=lambda one: on_leaf(Leaf(materialise(it, one, NOWHERE))), data=True)


def _emit(
    it: Interpreter, row: Row, name: str, arguments: dict[str, Argument], span: Span, more: Mapping[str, object] = {}
) -> Abstract:
    keyless = row.op == "key.draw" and arguments.get("key") is None and "**" not in arguments
    attrs = {"function": name, **row.attrs, **more}
    op = it.emit("py.call_library" if keyless else row.op, span, ends.counted(it, arguments), attrs)
    return _result(it, op.result, row, name, span)


def _result(it: Interpreter, value: Value, row: Row, name: str, span: Span) -> Abstract:
    parts, keys = (row.result.items, row.result.names) if isinstance(row.result, Parts) else ((), ())
    if not keys and not any(isinstance(part, Made) for part in parts):
        like = row.like()
        cls = row.cls if like is None or like.param != "self" else name.rpartition(".")[0]
        # A key that is split gives one array of keys, unlike an array.
        several = bool(parts) or (row.op != "key.split" and name.rpartition(".")[2] in SEVERAL_ARRAYS)
        drawn = row.op == "key.draw" and isinstance(row.result, Shaped)
        return Leaf(value, cls, array=row.op in ARRAYS and not several and not cls, exists=drawn)
    classes = [part.cls if isinstance(part, Made) else "" for part in parts]
    unpacked = it.emit("py.unpack", span, {"base": value}, {"count": len(classes), "star": None}, results=len(classes))
    made = tuple(Leaf(part, cls) for part, cls in zip(unpacked.results, classes, strict=True))
    return it.heap.new(DictBox(dict(zip(keys, made, strict=True)))) if keys else TupleValue(made)


def bind_row(it: Interpreter, row: Row, given: Arguments, span: Span) -> dict[str, Argument]:
    """Bind a call's arguments to the parameter names of a row; the key is always called `key`."""
    bound: dict[str, Argument] = {}
    params, star, count = row.params, given.star, len(given.positional)
    gathers = next((at for at, name in enumerate(params) if name.startswith("*")), None)
    for position, value in enumerate(given.positional[:gathers]):
        bound[row.role(params[position] if position < len(params) else f"extra{position}")] = argument(it, value, span)
    takes = row.op in _TAKES_SIZES and isinstance(star, Leaf)
    if gathers is not None and (count > gathers or (count == gathers and takes)):
        bound[params[gathers][1:]] = _rest(it, row, given, given.positional[gathers:], span)
        star = None if takes else star
    for name, value in given.keywords.items():
        bound[row.role(name)] = argument(it, value, span)
    for name, value in (("*", star), ("**", given.stars)):
        if value is not None:
            bound[name] = tuple(leaves(it, value))
    return bound


def _rest(it: Interpreter, row: Row, given: Arguments, values: Seq[Abstract], span: Span) -> Argument:
    """Return what a `*` parameter gets. `x.reshape(n, *rest)` and `x.reshape((n, *rest))` ask for one shape."""
    rest = tuple(argument(it, part, span) for part in values)
    if row.op not in _TAKES_SIZES:
        return rest
    if isinstance(given.star, Leaf):
        is_row = not rest and is_tuple(given.star)
        return given.star.value if is_row else in_a_row(it, [*([rest] if rest else ()), given.star.value], span).value
    return rest[0] if len(rest) == 1 and (isinstance(rest[0], tuple) or is_tuple(values[0])) else rest


def call_method(it: Interpreter, receiver: Leaf, cls: str, name: str, given: Arguments, span: Span) -> Abstract:
    """Call a method of a library object whose class is known."""
    qualified = f"{cls}.{name}"
    made = holders.instead(it, receiver, name, given, span) if receiver.holds is not None else None
    if made is None and qualified in settings.METHODS:
        made = settings.METHODS[qualified](it, receiver, given, span)
    if made is not None:
        return made
    row = lookup(qualified)
    if row is not None and (plain := canonical(qualified)) != f"{canonical(cls)}.{name}":
        # Another spelling of a function that takes the object first: `treedef.unflatten(leaves)`.
        return emit_row(it, row, plain, given.prepended(receiver), span)
    if row is None and (run := applied.run_layer(it, receiver, name, given, span)) is not None:
        return run
    if row is None:
        reason = f"{qualified} is not modelled"
        return calls.unknown_call(it, receiver, given, reason, span, qualified)
    if cls == "array.at":
        return _update(it, row, receiver, name, given, span)
    arguments = {"self": receiver.value, **bind_row(it, row, given, span)}
    more = {"border": _border(it, row, given)} if row.trees else {}
    made = likeness.alike(it, row, given, _emit(it, row, qualified, arguments, span, more), span)
    return holders.followed(it, receiver, row, given, made, span)


def _border(it: Interpreter, row: Row, given: Arguments) -> Border:
    """Return the trees that a function is given, in the order of its parameters and up to the first that is missing."""
    found: list[Abstract] = list(given.positional)
    if row.trees:
        each = [given.get(row.position(name), name) for name in row.trees]
        found = [one for at, one in enumerate(each) if one is not None and None not in each[:at]]
    return Border(trees_of(it, found))


def _update(it: Interpreter, row: Row, receiver: Leaf, name: str, given: Arguments, span: Span) -> Abstract:
    """Emit `x.at[i].set(v)` with its base and index."""
    place = it.updates.get(receiver.value, {})
    arguments = {**place, **bind_row(it, row, given, span)}
    return Leaf(it.emit(row.op, span, arguments, {"function": name, **row.attrs}).result, array=row.op in ARRAYS)
