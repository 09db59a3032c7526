"""What can be called or looked into: functions, classes, modules, and functions under a transformation."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from jaxaudit.ir.record import entity, record, replace
from jaxaudit.spans import NOWHERE, Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.modules import Module
    from jaxaudit.frontends.source.values.frames import Frame
    from jaxaudit.frontends.source.values.model import Abstract


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

    @property
    def scope(self) -> Frame:
        """The scope around it, as it is when the function is called."""
        return self.frame.departed.get(self.node, self.frame)


@entity
class BoundMethod:
    """A function of the audited code with its first argument."""

    function: FunctionValue
    receiver: Abstract
    behind: ClassValue | None = None
    """The class whose `super()` found it: what comes behind that one."""


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
    defaults: dict[str, Abstract] = field(default_factory=dict)
    frozen: bool = False
    """True when attributes cannot be set after construction."""
    decorators: tuple[str, ...] = ()
    """The qualified names of its decorators, empty for one that is not known."""
    keyword_only: frozenset[str] = frozenset()
    """The fields that a generated constructor takes by name alone."""

    @property
    def placed(self) -> tuple[str, ...]:
        """The fields that a generated constructor takes by position, in order."""
        return tuple([name for name in self.fields if name not in self.keyword_only])


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
    span: Span = NOWHERE
    """Where it was made."""


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
    static: bool = False
    """Whether it is a static method, which is given no object."""


def made_static(function: Abstract) -> Abstract:
    """Return a static method of what is under transformations."""
    if isinstance(function, Transformed):
        return replace(function, function=made_static(function.function), static=True)
    return replace(function, kind="static") if isinstance(function, FunctionValue) else function


Callables = (
    FunctionValue | BoundMethod | ClassValue | ModuleValue | Library | Attribute | Super | PartialValue | Transformed
)


def written_in(callee: Abstract) -> tuple[FunctionValue | None, int]:
    """Return the function of the audited code behind a callee, and how many of its parameters are bound already."""
    bound = 0
    while isinstance(callee, Transformed | PartialValue | BoundMethod):
        bound += len(callee.args) if isinstance(callee, PartialValue) else isinstance(callee, BoundMethod)
        callee = callee.function
    return (callee, bound) if isinstance(callee, FunctionValue) else (None, 0)


def rebound(function: Abstract, old: Abstract, new: Abstract) -> Abstract:
    """Return a function with another object in the place of one whose methods it runs."""
    match function:
        case BoundMethod(receiver=receiver) if receiver == old:
            return replace(function, receiver=new)
        case Transformed(function=inner) | PartialValue(function=inner):
            return replace(function, function=rebound(inner, old, new))
        case _:
            return function


def name_of(function: Abstract) -> str:
    """Name a function for people."""
    match function:
        case FunctionValue(name=name) | Library(name=name):
            return name
        case BoundMethod(function=inner) | PartialValue(function=inner) | Transformed(function=inner):
            return name_of(inner)
        case _:
            return ""
