"""Abstract values: what the interpreter knows of each Python object while it reads a program.

Structure that Python code takes apart (tuples, dicts, records, functions with their closures, modules) is kept here;
everything else is a `Leaf`, an IR value about which the analyses decide. Objects that can be changed in place live in
the heap and are named by a `Ref`, so that two variables can hold the same list.
"""

from __future__ import annotations

from dataclasses import field

from jaxaudit.frontends.source.values.callables import Callables, ClassValue
from jaxaudit.ir import Size, Value
from jaxaudit.ir.record import entity, record
from jaxaudit.spans import NOWHERE, Span


@record
class Const:
    """A Python constant."""

    value: object
    put: Span = field(default=NOWHERE, compare=False)
    """Where text was put into the container or handed to the function that has it."""


@entity
class Leaf:
    """An IR value; `cls` is the qualified library class of the object where it is known."""

    value: Value
    cls: str = ""
    holds: Abstract | None = None
    """What a library object was made of that it calls later: the function of `hk.transform`, the layers of a
    `Sequential`."""
    array: bool = False
    """True for what is surely an array: neither None nor a container."""
    options: tuple[Abstract, ...] = ()
    """What it may be, where it is one of several functions, objects or None."""
    exists: bool = False
    """True for what is surely not None, whatever it is: the result of an operator, or numbers that were drawn."""

    def at(self, value: Value) -> Leaf:
        """Return the same object as another value, beyond the border of a region."""
        return Leaf(value, self.cls, self.holds, self.array, self.options, self.exists)


@entity
class TupleValue:
    """A tuple whose items are known one by one."""

    items: tuple[Abstract, ...]
    made: Span = NOWHERE
    """Where it is written."""
    keys: tuple[object, ...] = ()
    """The keys of the dict whose entries it runs through, in its order."""


@entity
class Record:
    """An instance of a NamedTuple: immutable, with named items."""

    cls: ClassValue
    items: tuple[Abstract, ...]
    made: Span = NOWHERE
    """Where it is written."""
    derived: bool = False
    """True where an annotation alone tells its class: it may be of one that is derived from it, or None."""

    def field(self, name: str) -> Abstract | None:
        """Return the item of that name."""
        names = self.cls.fields
        return self.items[names.index(name)] if name in names else None


@entity
class Sequence:
    """A sequence of unknown length whose items all look like `item`; each leaf of `item` stands for all of them."""

    item: Abstract
    lazy: bool = False
    """True for a generator."""
    kind: str = "list"
    """What it is when it is not lazy: `list` or `tuple`."""
    keys: tuple[object, ...] = ()
    """The keys of the dict whose entries it runs through, in its order."""


@record
class Ref:
    """A name for a box in the heap."""

    id: int


@entity
class Slice:
    """A slice object."""

    start: Abstract
    stop: Abstract
    step: Abstract


@entity
class Range:
    """A `range`."""

    start: Abstract
    stop: Abstract
    step: Abstract


@entity
class Zip:
    """A `zip`, or (with one part and `counted`) an `enumerate`."""

    parts: tuple[Abstract, ...]
    counted: bool = False
    listed: bool = False
    """True once `list` or `tuple` has run through it."""


Abstract = Const | Leaf | TupleValue | Record | Sequence | Ref | Slice | Range | Zip | Callables

NONE = Const(None)
TUPLE = "builtins.tuple"
"""The class of a tuple of which only one value is known, such as the rows of an array."""


def sized(value: Abstract, name: str, scope: str) -> Abstract:
    """Return an integer constant the first name it goes by; zero says nothing about sizes."""
    if not isinstance(value, Const):
        return value
    if type(value.value) is int and value.value > 0:
        return Const(Size(value.value, name, scope))
    if isinstance(value.value, Size) and not value.value.name:
        return Const(Size(value.value, name, scope, value.value.of, value.value.how))
    return value


def placed(value: Abstract, span: Span) -> Abstract:
    """Return text after noting where it is put into something; all else tells by itself where it comes from."""
    return Const(value.value, span) if isinstance(value, Const) and isinstance(value.value, str) else value


def named(value: Abstract, name: str) -> Abstract:
    """Return a value after noting the first name it goes by."""
    if isinstance(value, Leaf) and not value.value.name:
        value.value.name = name
    return value
