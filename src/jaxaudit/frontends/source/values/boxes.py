"""What can be changed in place: boxes in the heap, which a `Ref` names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.ir import Value
from jaxaudit.ir.record import entity

if TYPE_CHECKING:
    from jaxaudit.frontends.source.values.callables import ClassValue
    from jaxaudit.frontends.source.values.model import Abstract


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
