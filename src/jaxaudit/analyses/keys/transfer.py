"""What each op does to terms: one small function a kind of op, in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.domain import Read, Transfer
from jaxaudit.analyses.keys.terms import (
    Fold,
    Global,
    Repeat,
    Row,
    Seed,
    Split,
    Stack,
    Steps,
    Term,
    Terms,
    Tick,
    View,
    is_single,
    length,
)
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, COPIED_ALONG, UNIFORM

Facts = Sequence[Term | None]

_VIEWS = ("array.reshape", "array.permute", "array.move")
_FRESH_NAMES = ("next", "new", "fresh", "split", "pop", "get", "make", "advance")
"""A property with such a name may give another key each time it is read."""


class TransferTable:
    """The transfer functions of the keys domain, bound to one table of terms."""

    def __init__(self, terms: Terms, program: Program) -> None:
        self.terms = terms
        # What a path that never runs makes of `None` is no key.
        self._no_key = terms.number("no key")
        self.stored_names, self.changed = _stored(program)
        self.table: Mapping[str, Transfer[Term]] = {
            "py.const": self._const,
            "py.global": self._module_variable,
            "py.attr": self._attribute,
            "py.item": self._item,
            "py.unpack": self._unpack,
            "py.element": self._element,
            "py.join": self._join,
            "py.container": self._container,
            "key.seed": self._seed,
            "key.split": self._split,
            "key.fold_in": self._fold_in,
            "key.wrap": self._same,
            "key.within": self._same,
            "key.stream": self._stream,
            "key.clone": self._stream,
            "py.call_library": self._library,
            "array.convert": self._same,
            "device.place": self._same,
            "grad.stop": self._same,
            "array.join": self._stack,
            "array.create": self._stack,
            "array.select": self._select,
            "array.expand": self._expand,
            "array.map": self._repeated,
            "array.squeeze": self._squeeze,
            "array.gather": self._gather,
            "array.scatter": self._scatter,
            **dict.fromkeys(_VIEWS, self._view),
        }

    def _argument(self, argument: Argument, read: Read[Term], missing: Term) -> Term:
        """Return the term of an argument that is a value or a constant."""
        if isinstance(argument, Value):
            return read(argument)
        return self.terms.number(argument) if isinstance(argument, int | str) else missing

    def _const(self, op: Op, read: Read[Term]) -> Facts:
        value = op.constant
        # Any other constant, `None` above all, is no key either.
        return (self.terms.number(value if isinstance(value, int | str) else f"constant {value!r}"),)

    def _module_variable(self, op: Op, read: Read[Term]) -> Facts:
        name = op.label
        stored = name.rpartition(".")[2] in self.stored_names
        return (None if stored or not name else self.terms.make(Global, name),)

    def _attribute(self, op: Op, read: Read[Term]) -> Facts:
        name = op.label
        if not op.operands or name in self.stored_names or name.lstrip("_").startswith(_FRESH_NAMES):
            return (None,)
        return (self.terms.make(Row, self._base(op.operands[0], read), self.terms.number(f".{name}")),)

    def _base(self, value: Value, read: Read[Term]) -> Term:
        return self.terms.shallow(read(value), value)

    def _item(self, op: Op, read: Read[Term]) -> Facts:
        base, index = op.arguments.get("base"), op.arguments.get("index")
        if not isinstance(base, Value) or base in self.changed:
            return (None,)
        term = self._base(base, read)
        if isinstance(index, Value):
            return (self.terms.row(term, read(index)),)
        if isinstance(index, int | str):
            return (self.terms.row(term, self.terms.number(index)),)
        if isinstance(index, Mapping):
            return (self._slice(op, term, index),)
        if isinstance(index, tuple) and _is_constant(index):
            return (self.terms.make(Row, term, self.terms.number(_index_text(index))),)
        return (self._arranged(op, term),)

    def _slice(self, op: Op, base: Term, index: Mapping[str, Argument]) -> Term:
        start, stop, step = (index.get(name) for name in ("start", "stop", "step"))
        plain = isinstance(start, int | None) and isinstance(stop, int | None) and step in (None, 1)
        if not plain:
            return self.terms.make(View, base, (op,))
        return self.terms.part(base, start or 0, stop)  # type: ignore[arg-type]

    def _unpack(self, op: Op, read: Read[Term]) -> Facts:
        base = self._base(op.operands[0], read)
        star, count = op.star, len(op.results)
        if star is None:
            return tuple(self.terms.row(base, self.terms.number(i)) for i in range(count))
        after = count - star - 1
        before = [self.terms.row(base, self.terms.number(i)) for i in range(star)]
        rest = self.terms.part(base, star, -after if after else None)
        return (*before, rest, *(self.terms.row(base, self.terms.number(i)) for i in range(-after, 0)))

    def _element(self, op: Op, read: Read[Term]) -> Facts:
        iterable, index = op.arguments.get("iterable"), op.arguments.get("index")
        turn = self._argument(index, read, self.terms.number(0))
        if isinstance(iterable, Value):
            base = self._base(iterable, read)
            if isinstance(base, Repeat) and base.tag[-1].name == "array.map":
                return (base.base,)
            return (self.terms.row(base, turn),)
        if isinstance(iterable, tuple):
            items = tuple(self._argument(item, read, self.terms.number("?")) for item in iterable)
            if len(items) > 1 and set(items) == {items[0]}:
                return (items[0],)
            return (self.terms.row(self.terms.make(Stack, items, True), turn),)
        if not isinstance(iterable, Mapping):
            return (None,)
        return (self.terms.make(Tick, turn, self._range(iterable, read)),)

    def _range(self, given: Mapping[str, Argument], read: Read[Term]) -> Term:
        ends = [self._argument(given.get(name), read, self.terms.number(0)) for name in ("start", "stop")]
        return self.terms.make(Steps, *ends, self._argument(given.get("step"), read, self.terms.number(1)))

    def _join(self, op: Op, read: Read[Term]) -> Facts:
        return (self.terms.any_of([read(value) for value in op.operands]) if op.operands else None,)

    def _container(self, op: Op, read: Read[Term]) -> Facts:
        rows = op.arguments.get("rows")
        if isinstance(rows, Value):
            return (read(rows),)
        return (self.terms.make(Stack, tuple(read(value) for value in op.operands), False),)

    def _seed(self, op: Op, read: Read[Term]) -> Facts:
        data = self._argument(op.arguments.get("seed"), read, self.terms.number("?"))
        return (self.terms.make(Seed, (op,), data),)

    def _split(self, op: Op, read: Read[Term]) -> Facts:
        key, num = op.arguments.get("key"), op.arguments.get("num", 2)
        if not isinstance(key, Value):
            return (self._no_key,)
        if isinstance(num, tuple) and num:
            num = num[0]
        count = self._argument(2 if num is None else num, read, self.terms.number("?"))
        return (self.terms.make(Split, self._base(key, read), (op,), count),)

    def _stream(self, op: Op, read: Read[Term]) -> Facts:
        """A source of keys gives another one each time, and a clone counts as one."""
        return [self.terms.atom(value) for value in op.results]

    def _library(self, op: Op, read: Read[Term]) -> Facts:
        return self._stream(op, read) if op.qualified == "builtins.next" else ()

    def _fold_in(self, op: Op, read: Read[Term]) -> Facts:
        key = op.arguments.get("key")
        if not isinstance(key, Value):
            return (self._no_key,)
        data = op.arguments.get("data")
        known = isinstance(data, Value | int | str)
        folded = self._argument(data, read, self.terms.number(0)) if known else None
        return (None if folded is None else self.terms.make(Fold, self._base(key, read), folded),)

    def _stack(self, op: Op, read: Read[Term]) -> Facts:
        if op.function in UNIFORM:
            # All of its elements are one number, which is no seed of its own for each.
            fill = self._argument(op.arguments.get("fill_value", op.function), read, self._no_key)
            return (self.terms.make(Repeat, fill, (op,)),)
        # In a trace the position along a map is a row of numbers too, of which each element has one.
        if op.function == "arange" and op.api != "axis_index":
            alone = "stop" not in op.arguments
            return (self._range({"stop": op.arguments.get("start")} if alone else op.arguments, read),)
        items = op.arguments.get("arrays") or next(iter(op.arguments.values()), None)
        plain = op.function in ARRAYS_OF_ITEMS or op.function == "copy"
        if isinstance(items, Value) and (plain or isinstance(read(items), Repeat)):
            return (read(items),)
        if not isinstance(items, tuple) or not items or not all(isinstance(item, Value) for item in items):
            return (None,)
        aligned = op.function in ARRAYS_OF_ITEMS or op.function == "stack"
        return (self.terms.make(Stack, tuple(read(item) for item in items if isinstance(item, Value)), aligned),)

    def _select(self, op: Op, read: Read[Term]) -> Facts:
        ways = [value for name in ("x", "y") if isinstance(value := op.arguments.get(name), Value)]
        return (self.terms.any_of([read(value) for value in ways]) if len(ways) == 2 else None,)

    def _repeated(self, op: Op, read: Read[Term]) -> Facts:
        """Return the list of copies that `[key] * n` is; what else is calculated is no key."""
        items = op.arguments.get("x")
        only = items[0] if op.function == "multiply" and isinstance(items, tuple) and len(items) == 1 else None
        return (self.terms.make(Repeat, read(only), (op,)) if isinstance(only, Value) else None,)

    def _expand(self, op: Op, read: Read[Term]) -> Facts:
        if op.function not in COPIED_ALONG or not op.operands:
            return self._view(op, read)
        return (self.terms.make(Repeat, read(op.operands[0]), (op,)),)

    def _view(self, op: Op, read: Read[Term]) -> Facts:
        return (self._arranged(op, self._base(op.operands[0], read)),) if op.operands else (None,)

    def _arranged(self, op: Op, term: Term) -> Term:
        """A key that is alone stays alone, however it is arranged."""
        return self.terms.make(Stack, (term,), True) if is_single(term) else self.terms.make(View, term, (op,))

    def _squeeze(self, op: Op, read: Read[Term]) -> Facts:
        term = self._base(op.operands[0], read)
        return (self.terms.row(term, self.terms.number(0)),) if length(term) == 1 else self._view(op, read)

    def _gather(self, op: Op, read: Read[Term]) -> Facts:
        index = op.arguments.get("index", op.arguments.get("indices"))
        if not op.operands or not isinstance(index, Value | int) or "slice" in op.qualified:
            return self._view(op, read)
        return (self.terms.row(self._base(op.operands[0], read), self._argument(index, read, self.terms.number(0))),)

    def _scatter(self, op: Op, read: Read[Term]) -> Facts:
        base, value = op.arguments.get("base"), op.arguments.get("value")
        if not isinstance(base, Value) or not isinstance(value, Value):
            return (None,)
        rest = self.terms.make(View, self._base(base, read), (op,))
        return (self.terms.make(Stack, (rest, read(value)), False),)

    def _same(self, op: Op, read: Read[Term]) -> Facts:
        given = next(iter(op.arguments.values()), None)
        if isinstance(given, tuple) and all(isinstance(item, Value) for item in given):
            return (self.terms.make(Stack, tuple(read(item) for item in given if isinstance(item, Value)), True),)
        alone = isinstance(given, Value) or len(op.operands) == 1
        return (read(op.operands[0]),) if alone else (None,)


def _stored(program: Program) -> tuple[set[str], set[Value]]:
    """Names that are stored to somewhere, and values whose items are: reading those twice may give two keys."""
    stores = program.named("py.store_attr", "py.store_global", "py.store_nonlocal")
    changed = (op.argument("base", "list") for op in program.named("py.set_item", "py.append"))
    return {op.label.rpartition(".")[2] for op in stores}, {one for one in changed if isinstance(one, Value)}


def _is_constant(index: Argument) -> bool:
    if isinstance(index, tuple):
        return all(_is_constant(item) for item in index)
    if isinstance(index, Mapping):
        return all(_is_constant(item) for item in index.values())
    return not isinstance(index, Value)


def _index_text(index: tuple[Argument, ...]) -> str:
    return "[" + ", ".join(":" if isinstance(item, Mapping) else repr(item) for item in index) + "]"
