"""Members of classes: looking a name up along the bases, and which libraries' classes are among them."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.frontends.source.values.callables import ClassValue, Library
from jaxaudit.frontends.source.values.model import Abstract


def ancestry(cls: ClassValue) -> Iterator[ClassValue]:
    """Return a class and its bases of the audited code, nearest first, each once."""
    pending, seen = [cls], set()
    while pending:
        current = pending.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending.extend(base for base in current.bases if isinstance(base, ClassValue))


def find_in_class(cls: ClassValue, name: str) -> Abstract | None:
    """Return a member of a class or of its bases of the audited code."""
    for current in ancestry(cls):
        if name in current.namespace:
            return current.namespace[name]
    return None


def library_bases(cls: ClassValue) -> Iterator[str]:
    """Return the qualified names of the library classes a class inherits from."""
    for current in ancestry(cls):
        for base in current.bases:
            if isinstance(base, Library):
                yield base.name


def has_unknown_base(cls: ClassValue) -> bool:
    """Whether some base is neither of the audited code nor a named library class."""
    return any(not isinstance(base, ClassValue | Library) for current in ancestry(cls) for base in current.bases)
