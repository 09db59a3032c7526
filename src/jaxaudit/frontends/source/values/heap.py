"""The heap: boxes of objects that can be changed in place, with a journal so that branches can be undone and merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from jaxaudit.frontends.source.values.model import Ref
from jaxaudit.ir import Value
from jaxaudit.ir.record import entity
from jaxaudit.spans import NOWHERE, Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.values.callables import ClassValue
    from jaxaudit.frontends.source.values.model import Abstract


@entity
class ListBox:
    """A list, deque or set whose items are known one by one."""

    items: tuple[Abstract, ...]
    kind: str = "list"
    count: int | None = None
    """The constant that says how many items there are, where one does: `[x] * N`."""
    made: Span = NOWHERE
    """Where it is written."""
    keys: tuple[object, ...] = ()
    """The keys of the dict whose entries it runs through, in its order."""


@entity
class DictBox:
    """A dict with constant keys. `rest` is there when further entries may exist that are not known."""

    entries: Mapping[Any, Abstract]
    rest: Value | None = None
    made: Span = NOWHERE
    """Where it is written."""


@entity
class ObjectBox:
    """An instance of a class of the audited code."""

    cls: ClassValue
    attrs: Mapping[str, Abstract]
    value: Value | None = None
    """The instance as one value, where it came from outside (`self` of a method nobody visibly calls)."""
    changed: bool = False
    """True for a copy with other fields: what is not in `attrs` is read from `value`, but it is not that value."""
    made: Span = NOWHERE
    """Where it is constructed, or copied with other fields."""
    derived: bool = False
    """True where an annotation alone tells its class: it may be of one that is derived from it."""


@entity
class OpaqueBox:
    """A changed container of which only one value is known."""

    value: Value
    kind: str = "list"


Box = ListBox | DictBox | ObjectBox | OpaqueBox


class Moment:
    """A state of the heap that somebody asks for later; the heap remembers it as long as it is held."""

    __slots__ = ("__weakref__", "newest", "position")

    def __init__(self, position: int, newest: int) -> None:
        self.position, self.newest = position, newest


class Heap:
    """Maps references to boxes. Boxes are immutable; a change replaces the box and is noted in every open journal."""

    def __init__(self) -> None:
        self._boxes: dict[int, Box] = {}
        self._next = 0
        self._journals: list[tuple[int, dict[int, Box]]] = []
        self._origins: dict[int, tuple[Ref, ...]] = {}
        self._moments: WeakSet[Moment] = WeakSet()
        self._replaced: list[tuple[int, Box]] = []
        """What was replaced while some moment was held, in order."""

    def new(self, box: Box, origins: tuple[Ref, ...] = ()) -> Ref:
        """Put a box into the heap; `origins`: it is one of these, and nobody knows which."""
        self._next += 1
        self._boxes[self._next] = box
        if origins:
            self._origins[self._next] = origins
        return Ref(self._next)

    def origins(self, ref: Ref) -> tuple[Ref, ...]:
        """Return the objects of which a reference is one."""
        return self._origins.get(ref.id, ())

    def __getitem__(self, ref: Ref) -> Box:
        return self._boxes[ref.id]

    def __setitem__(self, ref: Ref, box: Box) -> None:
        for oldest_unseen, journal in self._journals:
            # Objects younger than a journal cannot be seen by what it would roll back to.
            if ref.id <= oldest_unseen:
                journal.setdefault(ref.id, self._boxes[ref.id])
        self._replace(ref.id, box)

    def _replace(self, id_: int, box: Box) -> None:
        if self._moments:
            self._replaced.append((id_, self._boxes[id_]))
        elif self._replaced:
            self._replaced.clear()
        self._boxes[id_] = box

    def moment(self) -> Moment:
        """Remember how objects are now."""
        found = Moment(len(self._replaced) if self._moments else 0, self._next)
        if not self._moments:
            self._replaced.clear()
        self._moments.add(found)
        return found

    def since(self, moment: Moment) -> Mapping[int, Box]:
        """Return the boxes that were replaced since a moment, as they were then."""
        replaced = reversed(self._replaced[moment.position :])
        return {id_: box for id_, box in replaced if id_ <= moment.newest}

    @property
    def newest(self) -> int:
        """The id of the youngest box."""
        return self._next

    @property
    def depth(self) -> int:
        """How many journals are open."""
        return len(self._journals)

    def unwind(self, depth: int) -> None:
        """Close journals that an error left open; what changed stays."""
        del self._journals[depth:]

    def begin(self) -> None:
        """Start noting changes."""
        self._journals.append((self._next, {}))

    def changes(self) -> Mapping[int, Box]:
        """Return the boxes that changed since the last `begin`, as they are now."""
        return {id_: self._boxes[id_] for id_ in self._journals[-1][1]}

    def undo(self) -> Mapping[int, Box]:
        """Take back all changes since the last `begin` and give what they were."""
        changes = self.changes()
        for id_, box in self._journals.pop()[1].items():
            self._replace(id_, box)
        return changes

    def keep(self) -> Mapping[int, Box]:
        """Stop noting changes and give them; they stay."""
        changes = self.changes()
        self._journals.pop()
        return changes
