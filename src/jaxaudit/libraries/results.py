"""What a library function gives, and the notation that rows write it in.

    tree'               a newer version of the argument `tree`, of its structure, shapes and dtypes
    like tree           of the structure, shapes and dtypes of that argument; not its dtypes where a `dtype` is given
    form of tree        of its structure and shapes, whatever its dtypes
    float32[]  []       a number of that dtype, or of any
    bool[n,d]           an array with as many axes; a size that is called the same elsewhere in the result is the same
    int float           a number of Python's, which yields to the dtype of an array
    last(features)      by a function of the shapes domain, from these arguments
    optax.Schedule      an object of that class; `itself` is one of the class that the row is of
    Param around like x an object of that class around such an array
    (updates', ?)       a tuple; `?` is anything
    {rewards: [n], ...} a dict with these entries

What a row does not say is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from jaxaudit.ir.record import record


@record
class Like:
    """Something like one of the arguments."""

    param: str
    newer: bool = False
    """Whether it is a newer version of the argument, which should be used from then on."""
    dtypes: bool = True
    """Whether the dtypes are those of the argument too."""


@record
class Number:
    """An array without axes or with a known number of them, or a number of Python's."""

    dtype: str | None
    python: bool = False
    sizes: tuple[str, ...] = ()
    """What the sizes of its axes are called."""


@record
class Shaped:
    """An array, or several, whose shape a function of the shapes domain computes."""

    function: str
    arguments: tuple[str, ...]


@record
class Made:
    """An object of a class of the library."""

    cls: str
    inside: Like | Shaped | None = None
    """The array that the object is around, and is as good as."""


@record
class Parts:
    """A tuple, or a dict."""

    items: tuple[Result, ...]
    names: tuple[str, ...] = ()
    """The keys of a dict."""


Result = Like | Number | Shaped | Made | Parts | None
"""None is a result of which nothing is known."""

ITSELF = "itself"
"""The row belongs to a class, and the result is an object of it."""

_PYTHON = {"int": "int32", "float": "float32"}
"""The numbers of Python, and what JAX makes of them."""

_CALL = re.compile(r"(\w+)\((.*)\)")


@cache
def parse(text: str) -> Result:
    """Return the result that a text in the notation of this module stands for."""
    text = text.strip()
    if text in ("", "?"):
        return None
    if text.startswith("("):
        return Parts(tuple(map(parse, _split(text[1:-1]))))
    if text.startswith("{"):
        entries = [entry.partition(":") for entry in _split(text[1:-1])]
        return Parts(tuple(parse(value) for _, _, value in entries), tuple(name.strip() for name, _, _ in entries))
    if text.endswith("'"):
        return Like(text[:-1], newer=True)
    if text.startswith("like "):
        return Like(text.removeprefix("like "))
    if text.startswith("form of "):
        return Like(text.removeprefix("form of "), dtypes=False)
    if text in _PYTHON:
        return Number(_PYTHON[text], python=True)
    if text.endswith("]"):
        dtype, _, sizes = text[:-1].partition("[")
        return Number(dtype or None, sizes=tuple(_split(sizes)))
    cls, around, inside = text.partition(" around ")
    if around:
        array = parse(inside)
        assert isinstance(array, Like | Shaped), text
        return Made(cls, array)
    call = _CALL.fullmatch(text)
    if call is not None:
        return Shaped(call[1], tuple(_split(call[2])))
    return Made(text)


def _split(text: str) -> Iterator[str]:
    """Divide a text at the commas that stand in no brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(f"{text},"):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            if part := text[start:at].strip():
                yield part
            start = at + 1
