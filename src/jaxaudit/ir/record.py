"""Small immutable objects: what `dataclass(frozen=True, slots=True)` would make, at a fraction of its cost.

`dataclass` writes Python for each class and compiles it, which was a quarter of the time that a small audit takes;
msgspec makes the same class, and its objects, in C. What reads dataclasses (`replace`, `asdict`, `fields`) reads these
too. The tracer's child may run where there is nothing but the standard library: there they are dataclasses.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, TypeVar, dataclass_transform

try:
    import msgspec
except ImportError:
    msgspec = None

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Made]) -> type[Made]:
    """Make a slotted class that compares by content and that nobody changes."""
    if msgspec is None or _is_special(cls):
        return dataclass(slots=True, unsafe_hash=True)(cls)
    return _made(cls, frozen=True)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def entity(cls: type[Made]) -> type[Made]:
    """Make one like `record` that compares by identity: two with the same content are still two."""
    if msgspec is None or _is_special(cls):
        return dataclass(slots=True, eq=False)(cls)
    return _made(cls, eq=False)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[Made]) -> type[Made]:
    """Make a slotted class whose objects may be changed, and therefore have no hash."""
    if msgspec is None or _is_special(cls):
        return dataclass(slots=True)(cls)
    return _made(cls)


def replace(one: Made, /, **changes: Any) -> Made:
    """Return a copy of an object with some fields changed, of any of these kinds or of a dataclass."""
    if msgspec is not None and isinstance(one, msgspec.Struct):
        return msgspec.structs.replace(one, **changes)
    made: Any = one
    return dataclasses.replace(made, **changes)


class _Fields:
    """The fields of a class as dataclasses tell them, made when somebody asks."""

    def __init__(self, plain: type) -> None:
        self.plain = plain
        self.found: dict[str, Field[Any]] | None = None

    def __get__(self, instance: object, owner: type | None = None) -> dict[str, Field[Any]]:
        if self.found is None:
            fields: Any = dataclass(self.plain)
            self.found = {one.name: one for one in dataclasses.fields(fields)}
        return self.found


def _is_special(cls: type) -> bool:
    """Whether msgspec has no word for it: a base, or a field that is no part of the constructor or of comparison."""
    fields = (one for one in vars(cls).values() if isinstance(one, Field))
    return cls.__bases__ != (object,) or not all(one.init and one.compare for one in fields)


def _made(cls: type[Made], **options: Any) -> type[Made]:
    assert msgspec is not None
    names = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    names |= {name: _default(value) for name, value in names.items() if isinstance(value, Field)}
    names["__dataclass_fields__"] = _Fields(cls)
    if "__eq__" in names:
        # Structs have a `!=` of their own, which knows nothing of an `==` that a class defines.
        names.setdefault("__ne__", object.__ne__)
    make: Any = type(msgspec.Struct)
    return make(cls.__name__, (msgspec.Struct,), names, **options)


def _default(given: Field[Any]) -> object:
    assert msgspec is not None
    factory = given.default_factory
    return given.default if factory is MISSING else msgspec.field(default_factory=factory)
