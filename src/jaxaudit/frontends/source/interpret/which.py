"""Which code a call runs: whether it is the function that is known here, or may be another one in its place.

Whoever says what a function takes, or how many parameters it has, asks here first.
"""

from __future__ import annotations

from jaxaudit.frontends.source.classes.members import (
    ancestry,
    find_in_class,
    has_unknown_base,
    is_abstract,
    resolution_order,
)
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.callables import BoundMethod, ClassValue, FunctionValue, Library, PartialValue
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Ref
from jaxaudit.libraries.classes import bases

_NEUTRAL = bases("neutral")


def other_code(it: Interpreter, callee: Abstract) -> str:
    """Return why other code than a function may be called in its place; empty where it is this one for sure."""
    match callee:
        case BoundMethod():
            return _other_method(it, callee)
        case FunctionValue():
            return _overridden(it, callee)
        case PartialValue(function=function):
            return other_code(it, function)
    return ""


def _overridden(it: Interpreter, function: FunctionValue) -> str:
    """Return why another method may be called: a subclass in sight has one of its own, or is expected to."""
    owner, name = function.owner, function.name
    if owner is None:
        return ""
    if is_abstract(function):
        return f"`{name}` is left to subclasses"
    heirs = (one for one in it.heirs.get(owner, ()) if one is not owner and name in one.namespace)
    other = next(heirs, None)
    return "" if other is None else f"`{other.name}` has a `{name}` of its own"


def _other_method(it: Interpreter, method: BoundMethod) -> str:
    """Return why another method than this one may be called: the object may be of another class in sight."""
    behind, receiver, function = method.behind, method.receiver, method.function
    box = it.heap[receiver] if isinstance(receiver, Ref) else None
    exact = box.cls if isinstance(box, ObjectBox) and box.value is None and not has_unknown_base(box.cls) else None
    if behind is None:
        if exact is not None and not is_abstract(function):
            return ""
        return _replaced(it, function) or _overridden(it, function)
    for cls in it.heirs.get(behind, ()) if exact is None else [exact]:
        if _found_behind(cls, behind, function.name) is not function:
            return f"which `{function.name}` `super()` finds in a `{cls.name}` is not known"
    return ""


def _replaced(it: Interpreter, function: FunctionValue) -> str:
    """Return why a subclass's method may not be meant: what calls it is written for the one of its own class."""
    caller = None if it.frame.function is None else it.frame.function.owner
    own = None if caller is None or caller is function.owner else find_in_class(caller, function.name)
    if function.owner is None or not isinstance(own, FunctionValue) or own is function or is_abstract(own):
        return ""
    return f"no such call on a `{function.owner.name}` is in sight" if caller in ancestry(function.owner) else ""


def _found_behind(cls: ClassValue, owner: ClassValue, name: str) -> Abstract | None:
    """Return the member that `super()` in a method of `owner` finds in an object of a class; None where open."""
    order = resolution_order(cls)
    for one in order[order.index(owner) + 1 :] if owner in order else ():
        if isinstance(one, ClassValue):
            if name in one.namespace:
                return one.namespace[name]
        elif not isinstance(one, Library) or one.name not in _NEUTRAL:
            return None
    return None
