"""Whether instances of a class can be hashed, as static arguments must be."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxaudit.frontends.source.classes.members import ancestry, has_unknown_base, library_bases
from jaxaudit.frontends.source.values.callables import ClassValue

UNHASHABLE = "unhashable "
"""What comes before the name of a class whose instances cannot be hashed."""
_PLAIN = frozenset("builtins.object abc.ABC typing.Generic typing.Protocol typing_extensions.Protocol".split())
_DATACLASS = "dataclasses.dataclass"


def is_unhashable(cls: ClassValue) -> bool:
    """Whether Python takes the hash from instances of a class for sure.

    It does so where a class says when instances are equal, but not how they are hashed.
    """
    if has_unknown_base(cls) or not _PLAIN.issuperset(library_bases(cls)) or cls.kind not in ("plain", "dataclass"):
        return False
    for current in ancestry(cls):
        if "__hash__" in current.namespace or any(name != _DATACLASS for name in current.decorators):
            return False
        options = _options(current) if current.decorators else {"eq": False}
        if options.get("eq") is not False:
            return not options.get("frozen") and not options.get("unsafe_hash")
        if "__eq__" in current.namespace:
            return True
    return False


def _options(cls: ClassValue) -> dict[str | None, object]:
    """Return the options of the dataclass decorator; where some are not constants, it may be frozen."""
    words = [word for one in _calls(cls) for word in one.keywords]
    if not all(isinstance(word.value, ast.Constant) and word.arg for word in words):
        return {"frozen": True}
    return {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}


def _calls(cls: ClassValue) -> Iterator[ast.Call]:
    decorators = cls.node.decorator_list if cls.node is not None else ()
    yield from (one for one in decorators if isinstance(one, ast.Call))
