"""Exceptions of callbacks: Python functions that a compiled program calls."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, rows
from jaxaudit.spans import Span

_FAMILY = ("JaxRuntimeError", "XlaRuntimeError", "RuntimeError")


def told_place(facts: Facts) -> Span | None:
    """Return the innermost line of the user's that the message itself names."""
    named = [(facts.shown(path), int(line)) for path, line in re.findall(r'File "(.+?)", line (\d+)', facts.message)]
    own = [(path, line) for path, line in named if path in facts.files]
    return Span(own[-1][0], own[-1][1], 0, own[-1][1], 0) if own else None


def _raised(facts: Facts, match: re.Match[str]) -> Explanation:
    """A callback raised: the last line of the message says what, its frames say where."""
    return Explanation(
        "script-failed",
        f"a callback stops with an exception: {first_line(match[1])}",
        current="the compiled program that called it stops too",
        expected="the callback gives its result for every input",
        suggestion="correct the callback; call it by itself with NumPy arrays to try it",
        span=told_place(facts),
        steps=((facts.span, "the program that calls it runs here"),) if facts.span else (),
    )


def _shape(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "axis-conflict",
        f"a callback gives an array of {match['what']} {match['got']} where {match['wanted']} was announced",
        current="the compiled program stops with an exception",
        expected="exactly what `result_shape_dtypes` says, in shape and dtype",
        suggestion="correct `jax.ShapeDtypeStruct`, or what the callback gives",
        span=told_place(facts),
    )


ROWS = (
    *rows(
        r"""
current: the call stops with an exception
NotImplementedError: vmap is only supported for the (\w+) primitive when vmap_method is one of .* Got vmap_method=None
    script-failed: a callback is mapped by `vmap`, and nothing says how
    expected: `vmap_method=` in the call of `{1}`
    suggestion: `vmap_method='sequential'` calls it for each element, `'expand_dims'` once with a leading axis
TypeError: first argument to (\S+) must be callable, but got an object of type <class '([^']+)'>
    invalid-input-type: `{1}` is given a value where the function to call is needed
    expected: the function first, then what it is called with
    suggestion: `{1}(function, value)`
"""
    ),
    Row(
        r"Incorrect output (?P<what>shape|dtype) for return value #\d+: Expected: (?P<wanted>.+?), "
        r"Actual: (?P<got>.+?)\s*$",
        _shape,
        _FAMILY,
    ),
    Row(r"callback: Traceback .*\n(\S[^\n]*)\s*$", _raised, _FAMILY),
)

PRINT_ROWS = rows(
    r"""
current: the call stops with an exception
KeyError, IndexError: ^'?(\w+)'?$|tuple index out of range|Replacement index \d+ out of range
    print-in-traced-code: the format of `jax.debug.print` has places for which no value is given (`{1}`)
    expected: one value for each pair of braces, by name or by position
    suggestion: pass it: `jax.debug.print('{{x}}', x=x)`; write `{{{{` for a brace
"""
)
"""Rows that hold only on a line with `debug.print`."""
