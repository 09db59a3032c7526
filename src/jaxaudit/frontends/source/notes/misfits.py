"""Calls of functions and classes in sight: whether what they are given fits their parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.classes.members import (
    ancestry,
    constructor,
    find_in_class,
    has_unknown_base,
    is_abstract,
    library_bases,
)
from jaxaudit.frontends.source.values.arguments import Arguments, misfit
from jaxaudit.frontends.source.values.callables import BoundMethod, ClassValue, FunctionValue, PartialValue
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.libraries.classes import bases, has_own_calls
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_PLAIN = bases("stateless") | bases("namedtuple") | bases("fields")
"""Bases that add no fields to a record."""


def note_call(it: Interpreter, callee: Abstract, given: Arguments, span: Span) -> bool:
    """Note why a function or class of the audited code cannot be called as it is, and tell whether it cannot."""
    while isinstance(callee, BoundMethod | PartialValue):
        if isinstance(callee, BoundMethod):
            given = given.prepended(callee.receiver)
        else:
            keywords = {**callee.kwargs, **given.keywords}
            given = Arguments((*callee.args, *given.positional), keywords, given.star, given.stars)
        callee = callee.function
    if isinstance(callee, ClassValue):
        reason = _class_misfit(callee, given)
    elif isinstance(callee, FunctionValue) and callee.node is not it.uncalled:
        reason = "" if may_be_another(it, callee) else misfit(callee, given)
    else:
        return False
    if reason:
        it.emit("py.refused", span, attrs={"callee": callee.name, "reason": reason}, results=0)
    return bool(reason)


def may_be_another(it: Interpreter, function: FunctionValue) -> bool:
    """Whether a subclass in sight has a method of its own instead, or is expected to."""
    owner, name = function.owner, function.name
    if owner is None:
        return False
    heirs = (one for one in it.classes if one is not owner and any(base is owner for base in ancestry(one)))
    return is_abstract(function) or any(name in one.namespace for one in heirs)


def _class_misfit(cls: ClassValue, given: Arguments) -> str:
    """Return why a class cannot be given some arguments; empty where it can, or its constructor is not known."""
    init = constructor(cls)
    if "" in cls.decorators or has_unknown_base(cls) or any(map(has_own_calls, library_bases(cls))):
        return ""
    if find_in_class(cls, "__new__") is not None:
        return ""
    if isinstance(init, FunctionValue):
        own = init.owner is cls or not any(name not in _PLAIN for name in library_bases(cls))
        return misfit(init, given.prepended(cls)) if own else ""
    if cls.kind not in ("dataclass", "namedtuple") or not _PLAIN.issuperset(library_bases(cls)):
        return ""
    if len(given.positional) > len(cls.fields):
        return f"has {len(cls.fields)} fields and is given {len(given.positional)}"
    strange = [name for name in given.keywords if name not in cls.fields]
    if strange:
        return f"has no field `{strange[0]}`"
    missing = [name for name in cls.fields[len(given.positional) :] if name not in {**given.keywords, **cls.defaults}]
    unseen = given.star is not None or given.stars is not None
    return f"is given nothing for its field `{missing[0]}`" if missing and not unseen else ""
