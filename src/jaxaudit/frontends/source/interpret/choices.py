"""Values that are one of several things which do not merge: functions, objects of different classes, and None.

`act = jnp.tanh if gated else None` is one value to the analyses. Whoever calls it, or reads an attribute of it, does so
with each of the things it may be, in a branch for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from jaxaudit.frontends.source.interpret.branches import Arm, run_arms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, fit, parameters
from jaxaudit.frontends.source.values.callables import FunctionValue, Transformed
from jaxaudit.frontends.source.values.model import NONE, Abstract, Leaf, TupleValue
from jaxaudit.ir import Exit
from jaxaudit.spans import Span

_RESULT = " chosen"
"""The blank in the name keeps this temporary apart from every variable of the program."""


def called(it: Interpreter, leaf: Leaf, given: Arguments, span: Span) -> Abstract:
    """Call each of the things that a value may be, and that can be called like this."""
    fitting = tuple(option for option in leaf.options if option != NONE and _takes(it, option, given))
    chosen = replace(leaf, options=fitting) if fitting else leaf
    return each(it, chosen, lambda option: it.call(option, given, span), span)


def _takes(it: Interpreter, option: Abstract, given: Arguments) -> bool:
    """Whether a function can be given these arguments; one that cannot is not the one that is meant here."""
    if given.star is not None or given.stars is not None:
        return True
    if isinstance(option, Transformed):
        axes = option.options.get("in_axes")
        fits = not isinstance(axes, TupleValue) or len(axes.items) == len(given.positional)
        return fits and _takes(it, option.function, given)
    return not isinstance(option, FunctionValue) or not fit(parameters(option), given).wrong


def each(it: Interpreter, leaf: Leaf, act: Callable[[Abstract], Abstract], span: Span) -> Abstract:
    """Do something with each of the things that a value may be, None excepted, and merge what comes of it."""
    options = [option for option in leaf.options if option != NONE]
    if len(options) == 1:
        return act(options[0])
    run_arms(it, _arms(it, options, act), span, "one of", leaf.value)
    return it.frame.env.pop(_RESULT)


def _arms(it: Interpreter, options: Sequence[Abstract], act: Callable[[Abstract], Abstract]) -> list[Arm]:
    def arm(option: Abstract) -> Arm:
        def run() -> Exit:
            # Which of them it is may hang together with what else is known here: what raises is not meant.
            it.frame.guarded += 1
            try:
                it.frame.env[_RESULT] = act(option)
            finally:
                it.frame.guarded -= 1
            return Exit.FALL

        return Arm("one of", run)

    return [arm(option) for option in options]
