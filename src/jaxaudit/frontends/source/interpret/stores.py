"""What the code stores in the fields of its classes, for instances of which nothing else is known.

`def step(self, state: State)` is handed a state from outside. Whoever makes a `State` in this project says what its
fields look like: an instance that comes from elsewhere was most likely made there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from jaxaudit.frontends.source.classes.members import ancestry
from jaxaudit.frontends.source.values.callables import ClassValue, rebound
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf
from jaxaudit.ir import Argument, ArrayType, Region, Value
from jaxaudit.ir.record import mutable

_MOST = 32
"""How many things that are stored in one field are kept."""
_NUMBERS = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}


def _dtype(constant: object) -> str | None:
    """Return the dtype that JAX gives a number of Python; a size is an integer."""
    return next((dtype for kind, dtype in _NUMBERS.items() if isinstance(constant, kind)), None)


def _default(cls: ClassValue, name: str) -> tuple[ArrayType, ...]:
    """Return the type of the number that a field has by default."""
    values = (owner.defaults.get(name) for owner in ancestry(cls))
    dtypes = [dtype for value in values if isinstance(value, Const) and (dtype := _dtype(value.value)) is not None]
    return tuple(ArrayType((), dtype, weak=True) for dtype in dtypes[:1])


@mutable
class Stores:
    """The values that were stored in fields, and those that were read from instances from outside."""

    stored: dict[str, dict[ClassValue, list[Value | ArrayType]]] = field(default_factory=dict)
    """By field and class."""
    read: dict[Value, tuple[ClassValue, str]] = field(default_factory=dict)
    readers: dict[Region, set[ClassValue]] = field(default_factory=dict)
    """The roots that read such fields, with the classes they are of."""
    functions: dict[ClassValue, tuple[Abstract, dict[str, Abstract]]] = field(default_factory=dict)
    """By class, the object that its constructor made, and the functions that it left in attributes."""
    data: dict[ClassValue, Mapping[str, Argument]] = field(default_factory=dict)
    """By class, what its constructor left in attributes that no other code assigns, whatever it was given."""
    constructors: set[Region] = field(default_factory=set)
    """The roots that are constructors: what they leave is to be known before it is read."""
    shared: dict[Value, Argument] = field(default_factory=dict)
    """What was read of attributes that all objects of a class have in common."""

    def handed(self, root: Region) -> int:
        """Return of how many classes a root is handed instances: the fewer, the more it makes for others."""
        return 0 if root in self.constructors else len(self.readers.get(root, ()))

    def store(self, cls: ClassValue, attrs: Mapping[str, Abstract]) -> None:
        """Note what an object is made of, or what is assigned to its attributes."""
        for name, value in attrs.items():
            kept = self.stored.setdefault(name, {}).setdefault(cls, [])
            if len(kept) >= _MOST:
                continue
            if isinstance(value, Leaf):
                kept.append(value.value)
            elif isinstance(value, Const) and (dtype := _dtype(value.value)) is not None:
                kept.append(ArrayType((), dtype, weak=True))

    def construct(self, cls: ClassValue, made: Abstract, left: Mapping[str, Abstract]) -> None:
        """Note which functions a constructor left in the attributes of an object."""
        self.functions.setdefault(cls, (made, dict(left)))

    def keep(self, cls: ClassValue, data: Mapping[str, Argument], root: Region) -> None:
        """Note which data a constructor left in the attributes of an object, whatever it is given."""
        self.data.setdefault(cls, data)
        self.constructors.add(root)

    def function(self, cls: ClassValue, name: str, receiver: Abstract) -> Abstract | None:
        """Return the function that the constructor of a class leaves in an attribute of another object of the class."""
        owner = next((one for one in ancestry(cls) if one in self.functions), cls)
        made, kept = self.functions.get(owner, (receiver, dict[str, Abstract]()))
        return rebound(kept[name], made, receiver) if name in kept else None

    def reads(self, cls: ClassValue, name: str, value: Value, root: Region) -> None:
        """Note that a field of an instance from outside is read."""
        self.read[value] = (cls, name)
        self.readers.setdefault(root, set()).add(cls)

    def fields(self) -> dict[Value, tuple[Value | ArrayType, ...]]:
        """Return for each field that is read what the code stores in it, in instances of that class or of kin."""
        known: dict[tuple[ClassValue, str], tuple[Value | ArrayType, ...]] = {}
        for cls, name in set(self.read.values()):
            stored = [
                one
                for owner, values in self.stored.get(name, {}).items()
                if cls in ancestry(owner) or owner in ancestry(cls)
                for one in values
            ]
            known[cls, name] = (*stored, *_default(cls, name))
        return {value: known[what] for value, what in self.read.items() if known[what]}

    def settled(self) -> dict[Value, Argument]:
        """Return for each field that is read what the constructor of its class alone puts there, where that is so."""
        known = {what: self._settled(*what) for what in set(self.read.values())}
        found = {value: known[what] for value, what in self.read.items()}
        return {**{value: one for value, one in found.items() if one is not None}, **self.shared}

    def _settled(self, cls: ClassValue, name: str) -> Argument:
        """Return what the constructor of a class, or of the only one that is derived from it, leaves in a field."""
        kin = [owner for owner in self.stored.get(name, {}) if cls in ancestry(owner) or owner in ancestry(cls)]
        owner = kin[0] if len(kin) == 1 else cls
        return self.data.get(owner, {}).get(name)
