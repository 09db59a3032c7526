"""Values that are one of several things which do not merge: functions, objects of different classes, and None.

`act = jnp.tanh if gated else None` is one value to the analyses. Whoever calls it, or reads an attribute of it, does so
with each of the things it may be, in a branch for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret.branches import Arm, run_arms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.notes import misfits
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import Transformed
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Leaf, Ref, TupleValue
from jaxaudit.ir import Exit
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span

_RESULT = " chosen"
"""The blank in the name keeps this temporary apart from every variable of the program."""


def called(it: Interpreter, leaf: Leaf, given: Arguments, span: Span) -> Abstract:
    """Call each of the things that a value may be, and that can be called like this."""
    fitting = tuple(option for option in leaf.options if option != NONE and _takes(it, option, given))
    chosen = replace(leaf, options=fitting) if fitting else leaf
    return each(it, chosen, lambda option: it.call(option, given, span), span, doubtful=bool(fitting))


def _takes(it: Interpreter, option: Abstract, given: Arguments) -> bool:
    """Whether something can be called with these arguments; what cannot is not what is meant here."""
    if isinstance(option, Transformed):
        axes = option.options.get("in_axes")
        fits = not isinstance(axes, TupleValue) or given.star is not None or len(axes.items) == len(given.positional)
        return fits and _takes(it, option.function, given)
    box = it.heap[option] if isinstance(option, Ref) else None
    method = find_in_class(box.cls, "__call__") if isinstance(box, ObjectBox) else None
    if isinstance(method, Transformed):
        return _takes(it, method.function, given.prepended(option))
    return misfits.takes(it, option, given)


def each(
    it: Interpreter, leaf: Leaf, act: Callable[[Abstract], Abstract], span: Span, *, doubtful: bool = True
) -> Abstract:
    """Do something with each of the things that a value may be, None excepted, and merge what comes of it.

    Which of them it is may hang together with what else is known here, so it is doubtful that what raises is meant.
    """
    options = [option for option in leaf.options if option != NONE]
    if len(options) == 1:
        return act(options[0])
    run_arms(it, _arms(it, options, act, doubtful=doubtful), span, "one of", leaf.value)
    return it.frame.env.pop(_RESULT)


def _arms(
    it: Interpreter, options: Sequence[Abstract], act: Callable[[Abstract], Abstract], *, doubtful: bool
) -> list[Arm]:
    def arm(option: Abstract) -> Arm:
        def run() -> Exit:
            it.frame.guarded += doubtful
            try:
                it.frame.env[_RESULT] = act(option)
            finally:
                it.frame.guarded -= doubtful
            return Exit.FALL

        return Arm("one of", run)

    return [arm(option) for option in options]
