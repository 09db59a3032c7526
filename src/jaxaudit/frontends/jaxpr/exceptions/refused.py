"""Exceptions that no row knows: what was called, what it was given, and what it says against that."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, first_line

_SHAPES = re.compile(
    r"\b(shapes?|dim(?:ension)?s?|dimensional|ndim|rank|ax[ei]s|sizes?|lengths?|broadcast\w*|divisible|divide|"
    r"1-?d|2-?d|square|out of bounds|zero-size|empty)\b",
    re.IGNORECASE,
)
_TYPES = re.compile(
    r"\b(dtypes?|data type|types?|integers?|float\w*|int\d*|callable|ArrayLike|iterable|promotion|None|strings?)\b"
)


def failed(facts: Facts, match: re.Match[str] | None) -> Explanation:
    """Explain an exception that no row knows; what a library refuses is told with what it was given."""
    name = facts.failure.type.rpartition(".")[2]
    said = _joined(facts.message)
    if facts.call and facts.inner and name in _REFUSALS:
        return _refused(facts, name, said)
    told = first_line(said)
    return Explanation(
        "script-failed",
        f"the program stops here with {name}" + (f": {told}" if told else ""),
        current="what would have run after this line was not observed",
    )


_REFUSALS = ("TypeError", "ValueError", "IndexError", "AssertionError", "NotImplementedError", "RuntimeError")


def _refused(facts: Facts, name: str, said: str) -> Explanation:
    told = first_line(said, 120).rstrip(".")
    rule = "script-failed"
    if name != "RuntimeError":
        rule = "axis-conflict" if _SHAPES.search(said) else "invalid-input-type" if _TYPES.search(said) else rule
    return Explanation(
        rule,
        f"`{facts.call}` refuses what it is given" + (f": {told}" if told else f", with a bare {name}"),
        expected=_EXPECTED[rule],
        suggestion=_CURES[rule],
    )


_EXPECTED = {
    "axis-conflict": "arguments whose axes are as the message says",
    "invalid-input-type": "arguments of the types that the message names",
    "script-failed": "arguments that the function takes",
}
_CURES = {
    "axis-conflict": "compare the shapes that are given with what the function says",
    "invalid-input-type": "convert the argument before the call, or pass another one",
    "script-failed": "compare what is given with the documentation of the function",
}


def _joined(message: str) -> str:
    """Put a message together that a library gave in pieces: `('Input needs rank 3,', ' but ...')`."""
    parts = re.findall(r"'([^']*)'", message) if re.fullmatch(r"\((?:'[^']*',? ?)+\)", message.strip()) else []
    return "".join(parts) or re.sub(r"\s*\(https?://\S+\)", "", message)


def array_or(kind: str) -> str:
    """Name a type for people; all of JAX's own are arrays."""
    short = kind.rpartition(".")[2]
    if short in ("ArrayImpl", "ndarray", "Array", "ShapedArray", "PRNGKeyArray") or short.endswith("Tracer"):
        return "an array"
    return "None" if short == "NoneType" else f"{'an' if short[:1] in 'aeiou' else 'a'} {short}"
