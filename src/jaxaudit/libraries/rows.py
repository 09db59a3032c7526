"""The row type of the library tables and the one way to look a name up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """How one library function lowers to an op."""

    op: str
    """A name of `ir.ops.VOCABULARY`."""
    params: tuple[str, ...] = ()
    """The function's parameters in order, by the library's own names; `*name` takes the remaining positional ones.
    Keyword-only parameters need no row: keywords bind by their name."""
    key: str = ""
    """The parameter that holds the random key, for `key.*` ops. Always lowered as argument `key`. A call that gives it
    no value uses no key, and is then an ordinary library call."""
    attrs: Mapping[str, object] = field(default_factory=dict)
    """Further attributes of the op."""
    result: str = ""
    """The qualified class of the result (`distrax.Distribution`), so that its methods can be looked up; else empty.
    `A,B` is a tuple of two objects."""
