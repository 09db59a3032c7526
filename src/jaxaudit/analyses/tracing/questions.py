"""Conditions that ask whether something is a tracer: code behind them takes another path for tracers.

The question is often asked in a helper (`has_tracers(tree)`), so the answer is followed through calls, loops and the
operators that put truth values together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.packages import TRACER_TESTS

_CLASSES = ("Tracer", "DynamicJaxprTracer", "JVPTracer", "BatchTracer")
_NEVER_TRACED = frozenset(("numpy.ndarray", "numpy.generic"))
"""Classes that no tracer is an instance of."""
_PYTHON = frozenset(f"builtins.{name}" for name in "int float bool complex str bytes".split())
_PASSING = frozenset("py.operator py.join py.call_library py.container py.to_python py.element".split())
"""Ops whose result answers the question when an operand does."""


def tracer_questions(program: Program) -> set[Value]:
    """Return the values that say whether something is a tracer."""
    asked = program.named("py.operator", "py.call_library", "py.call_unknown")
    found = {value for op in asked if _asks(op) for value in op.results}
    return set(walk(found, _answers(program).__getitem__)) if found else found


def asked_numbers(program: Program) -> dict[Value, Value]:
    """Return the conditions that ask for one of Python's own numbers or texts, each with what is asked.

    No tracer is, so what they guard never happens to one.
    """
    found: dict[Value, Value] = {}
    for op in program.named("py.operator"):
        asked, classes = op.arguments.get("x"), op.arguments.get("y")
        if op.operator == "isinstance" and isinstance(asked, Value):
            if all(one in _PYTHON for one in (classes if isinstance(classes, tuple) else (classes,))):
                found[op.result] = asked
    return found


def _asks(op: Op) -> bool:
    if op.name == "py.operator":
        asked = _texts(op.arguments.get("y")) if op.operator == "isinstance" else ()
        return any(name.rpartition(".")[2] in _CLASSES or name in _NEVER_TRACED for name in asked)
    function = op.qualified or op.callee
    return function.rpartition(".")[2] in TRACER_TESTS


def _texts(argument: object) -> list[str]:
    if isinstance(argument, tuple):
        return [text for part in argument for text in _texts(part)]
    return [argument] if isinstance(argument, str) else []


def _answers(program: Program) -> Mapping[Value, list[Value]]:
    """Return the values that answer a question when a value does."""
    found: defaultdict[Value, list[Value]] = defaultdict(list)
    for op in program.walk():
        for value in op.operands if op.name in _PASSING else ():
            found[value].extend(op.results)
        for region in op.regions:
            # A loop that builds a list gives what its turns add after what it carries, in the order of its results.
            for made, inner in zip(op.results, region.results, strict=False):
                found[inner].append(made)
    return found
