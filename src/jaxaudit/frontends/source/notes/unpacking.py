"""Whether what is unpacked has as many parts as there are variables for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue, PartialValue, Transformed
from jaxaudit.frontends.source.values.model import Abstract, Record, TupleValue
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter


def note_unpacking(it: Interpreter, count: int, star: int | None, value: Abstract, span: Span) -> None:
    """Note how the parts of a value compare with the variables that take them; lists may have changed since."""
    if not it.frame.module.audited:
        return
    match value:
        case TupleValue(items=items) | Record(items=items):
            fits = len(items) == count if star is None else len(items) >= count - 1
            many = f"{len(items)} value{'s' * (len(items) != 1)}"
            reason = f"{many} cannot be unpacked into {count - (star is not None)} variables"
        case Transformed(spelling=spelling):
            fits, reason = False, f"the function that `{spelling}` makes is unpacked, and was not called"
        case FunctionValue() | BoundMethod() | PartialValue():
            fits, reason = False, "a function is unpacked, and was not called"
        case _:
            return
    if fits:
        it.unpacked[span] = count
    else:
        doubtful = bool(it.frame.guarded) or it.frame.is_conditional
        attrs = {"reason": reason, "guarded": doubtful}
        it.emit("py.unfit", span, attrs=attrs, results=0)
