"""The shape of a tree of containers, as a front end saw it where values cross a border or are mapped over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from jaxaudit.ir.record import record
from jaxaudit.ir.values import Value
from jaxaudit.spans import NOWHERE, Span


@record
class Tree:
    """One node. Kinds that hold others: `tuple`, `list`, `dict`, `namedtuple`, `object`, `sequence` (unknown length).

    An object that the audited code did not make (`self` of a method nobody visibly calls) has the kind `outside`.
    Kinds that hold nothing: `none`, `number`, `text`, `callable`, `value` (anything at all, seen as one value) and
    `other`.
    """

    kind: str
    name: str = ""
    """The class of an object, a named tuple or a library's object; of a sequence `list` or `tuple`."""
    keys: tuple[str, ...] = ()
    """The names of the children, where they have some."""
    children: tuple[Tree, ...] = ()
    value: Value | None = None
    """The value itself, for the kind `value`."""
    registered: str = ""
    """For objects: `yes` when JAX can take them apart, `no` when it cannot, else why that is not known."""
    where: Span = NOWHERE
    """For objects: the place of their class."""
    fixed: tuple[tuple[str, object], ...] = ()
    """For objects: fields that are part of their structure, with the constants that they hold."""
    made: Span = field(default=NOWHERE, compare=False)
    """Where it is written, made, or put into what holds it, as far as that is known."""

    @property
    def written(self) -> Span:
        """Where a container or an object is written; nowhere for what holds nothing."""
        return NOWHERE if self.kind in ("value", "text") else self.made

    @property
    def is_text(self) -> bool:
        """Whether it is text, which JAX takes for no leaf."""
        return self.kind == "text" or self.name == "builtins.str"

    @property
    def holds_shape(self) -> bool:
        """Whether it is, or holds, a tuple of numbers, which may be meant as one leaf: a shape."""
        if self.kind == "tuple" and self.children:
            return all(child.kind == "number" for child in self.children)
        return self.kind in CONTAINERS and any(child.holds_shape for child in self.children)

    def texts(self) -> Iterator[tuple[str, Tree]]:
        """Return the text in containers that JAX takes apart, with the keys that lead there as they are written."""
        if self.is_text:
            yield "", self
        for at, child in enumerate(self.children if self.kind in CONTAINERS or self.kind == "sequence" else ()):
            key = self.keys[at] if at < len(self.keys) else at
            step = f".{key}" if self.kind == "namedtuple" else "[...]" if self.kind == "sequence" else f"[{key!r}]"
            yield from ((step + path, text) for path, text in child.texts())

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.children))
        keyed = ", ".join(f"{key}: {child}" for key, child in zip(self.keys, self.children, strict=False))
        return f"{self.name or self.kind}({keyed or inner})" if self.children else self.name or self.kind

    def child(self, key: str) -> Tree | None:
        """Return the child of a name."""
        return self.children[self.keys.index(key)] if key in self.keys else None

    def values(self) -> Iterator[Value]:
        """Return every value that it holds, in order."""
        if self.value is not None:
            yield self.value
        for child in self.children:
            yield from child.values()

    def leaves(self) -> dict[tuple[str, ...], Value]:
        """Return every value that it holds by the keys and positions that lead to it."""
        found: dict[tuple[str, ...], Value] = {} if self.value is None else {(): self.value}
        for at, child in enumerate(self.children):
            key = self.keys[at] if at < len(self.keys) else str(at)
            found |= {(key, *path): value for path, value in child.leaves().items()}
        return found

    def aligned(self, other: Tree) -> Iterator[tuple[str, Tree, Tree]]:
        """Return what two trees of one kind hold at the same place, with its key or position."""
        for at, child in enumerate(self.children):
            key = self.keys[at] if at < len(self.keys) else str(at)
            met = other.child(key) if self.kind in ("dict", "object") else next(iter(other.children[at:]), None)
            if met is not None:
                yield key, child, met


CONTAINERS = frozenset(("tuple", "list", "dict", "namedtuple"))
"""The kinds that JAX takes apart without being told how."""


@record
class Border:
    """What crosses into a transformed function."""

    trees: tuple[Tree, ...]
    """The positional arguments, then the keyword arguments."""
    params: tuple[str, ...] = ()
    """The names of the positional parameters, where they are known."""
    keywords: tuple[str, ...] = ()
    """The names of the keyword arguments."""
    open_ended: bool = False
    """True when further arguments come by an unknown `*` or `**`."""

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.trees)) + ")"

    @property
    def positional(self) -> tuple[Tree, ...]:
        """The positional arguments alone."""
        return self.trees[: len(self.trees) - len(self.keywords)]

    def name(self, position: int) -> str:
        """Name an argument for people."""
        if position >= len(self.positional):
            return self.keywords[position - len(self.positional)]
        return self.params[position] if position < len(self.params) else ""


def split_path(path: str) -> tuple[str, str]:
    """Return the argument that the path of a leaf begins with, and the rest: `params` and `['w']`."""
    at = min((place for place in map(path.find, "[.") if place > 0), default=len(path))
    return path[:at], path[at:]
