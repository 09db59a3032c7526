"""Abstract values: what the interpreter knows of each Python object while it reads a program.

Structure that Python code takes apart (tuples, dicts, records, functions with their closures, modules) is kept here;
everything else is a `Leaf`, an IR value about which the analyses decide. Objects that can be changed in place live in
the heap and are named by a `Ref`, so that two variables can hold the same list.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Union

from jaxaudit.ir import Size, Value
from jaxaudit.ir.record import entity, record
from jaxaudit.spans import NOWHERE, Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.modules import Module
    from jaxaudit.frontends.source.values.frames import Frame


@record
class Const:
    """A Python constant."""

    value: object


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

    def at(self, value: Value) -> Leaf:
        """Return the same object as another value, beyond the border of a region."""
        return Leaf(value, self.cls, self.holds, self.array, self.options)


@entity
class TupleValue:
    """A tuple whose items are known one by one."""

    items: tuple[Abstract, ...]


@entity
class Record:
    """An instance of a NamedTuple: immutable, with named items."""

    cls: ClassValue
    items: tuple[Abstract, ...]

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


@record
class Ref:
    """A name for a box in the heap."""

    id: int


@entity
class FunctionValue:
    """A function or lambda of the audited code, with the frame it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    name: str
    frame: Frame
    defaults: Mapping[str, Abstract] = field(default_factory=dict)
    owner: ClassValue | None = None
    kind: str = "function"
    """`function`, `property`, `static`, `class`, `cached` (a functools cache) or `generator`."""
    made: int = 0
    """The youngest value when it was defined: a function made in a loop is another one in each turn."""

    @property
    def module(self) -> Module:
        """The module the function is written in."""
        return self.frame.module


@entity
class BoundMethod:
    """A function of the audited code with its first argument."""

    function: FunctionValue
    receiver: Abstract


@entity
class ClassValue:
    """A class of the audited code."""

    node: ast.ClassDef | None
    name: str
    frame: Frame
    bases: tuple[Abstract, ...] = ()
    namespace: dict[str, Abstract] = field(default_factory=dict)
    kind: str = "plain"
    """`plain`, `namedtuple`, `dataclass` (a generated __init__) or `enum`."""
    fields: tuple[str, ...] = ()
    defaults: Mapping[str, Abstract] = field(default_factory=dict)
    frozen: bool = False
    """True when attributes cannot be set after construction."""
    decorators: tuple[str, ...] = ()
    """The qualified names of its decorators, empty for one that is not known."""


@entity
class ModuleValue:
    """A module of the project."""

    module: Module


@record
class Library:
    """A library's module, function or class by its qualified name."""

    name: str


@entity
class Attribute:
    """A method of an object that is not of the audited code, before it is called."""

    receiver: Abstract
    name: str


@entity
class Super:
    """What `super()` gives in a method of `owner`."""

    owner: ClassValue
    receiver: Abstract


@entity
class PartialValue:
    """A `functools.partial`."""

    function: Abstract
    args: tuple[Abstract, ...]
    kwargs: Mapping[str, Abstract]
    made: int = 0
    """The youngest value when it was made."""


@entity
class Transformed:
    """A function under a transformation: the value of `jax.jit(f)`, `jax.vmap(f, in_axes=1)`, ..."""

    transform: str
    """An op name of the vocabulary."""
    function: Abstract
    options: Mapping[str, Abstract]
    spelling: str
    """The qualified name that made it, `equinox.filter_jit`."""
    made: int = 0
    """The youngest value when it was made."""
    span: Span = NOWHERE
    """Where it was made."""


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


Abstract = Union[  # noqa: UP007 - a string-free alias of classes defined above
    Const,
    Leaf,
    TupleValue,
    Record,
    Sequence,
    Ref,
    FunctionValue,
    BoundMethod,
    ClassValue,
    ModuleValue,
    Library,
    Attribute,
    Super,
    PartialValue,
    Transformed,
    Slice,
    Range,
    Zip,
]

NONE = Const(None)
TUPLE = "builtins.tuple"
"""The class of a tuple of which only one value is known, such as the rows of an array."""


def sized(value: Abstract, name: str, scope: str) -> Abstract:
    """Return an integer constant the first name it goes by; zero and one say nothing about sizes."""
    if not isinstance(value, Const):
        return value
    if type(value.value) is int and value.value > 1:
        return Const(Size(value.value, name, scope))
    if isinstance(value.value, Size) and not value.value.name:
        return Const(Size(value.value, name, scope, value.value.of, value.value.how))
    return value


def named(value: Abstract, name: str) -> Abstract:
    """Return a value after noting the first name it goes by."""
    if isinstance(value, Leaf) and not value.value.name:
        value.value.name = name
    return value


@entity
class ListBox:
    """A list or set whose items are known one by one."""

    items: tuple[Abstract, ...]
    kind: str = "list"
    count: int | None = None
    """The constant that says how many items there are, where one does: `[x] * N`."""


@entity
class DictBox:
    """A dict with constant keys. `rest` is there when further entries may exist that are not known."""

    entries: Mapping[Any, Abstract]
    rest: Value | None = None


@entity
class ObjectBox:
    """An instance of a class of the audited code."""

    cls: ClassValue
    attrs: Mapping[str, Abstract]
    value: Value | None = None
    """The instance as one value, where it came from outside (`self` of a method nobody visibly calls)."""
    changed: bool = False
    """True for a copy with other fields: what is not in `attrs` is read from `value`, but it is not that value."""


@entity
class OpaqueBox:
    """A changed container of which only one value is known."""

    value: Value
    kind: str = "list"


Box = ListBox | DictBox | ObjectBox | OpaqueBox
