"""The row type of the library model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxaudit.libraries.results import Like, Made, Parts, Result


@dataclass(frozen=True, slots=True)
class Row:
    """What one library function takes, does and gives."""

    op: str
    """A name of `ir.ops.VOCABULARY`: what a call of it lowers to."""
    params: tuple[str, ...] = ()
    """The function's parameters in order, by the library's own names; `*name` takes the remaining positional ones.
    Keyword-only parameters need no row: keywords bind by their name."""
    key: str = ""
    """The parameter that holds the random key, for `key.*` ops. Always lowered as argument `key`. A call that gives it
    no value uses no key, and is then an ordinary library call."""
    attrs: Mapping[str, object] = field(default_factory=dict)
    """Further attributes of the op."""
    result: Result = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What the parameters hold, of those for which the row says it: `tree`, `function`, ..."""
    role: str = ""
    """The part that the function plays in a protocol that several libraries share, such as `optimizer.step`."""

    @property
    def cls(self) -> str:
        """The qualified class of the result (`distrax.Distribution`), so that its methods can be looked up."""
        return self.result.cls if isinstance(self.result, Made) else ""

    @property
    def trees(self) -> tuple[str, ...]:
        """The parameters that hold trees, in order."""
        return tuple(name for name, kind in self.kinds.items() if kind == "tree")

    def position(self, param: str) -> int:
        """Return the place of a parameter among the positional ones, or -1."""
        return self.params.index(param) if param in self.params else -1

    def like(self, position: int | None = None) -> Like | None:
        """Return which argument the result is like, or that item of a result that is a tuple."""
        result = self.result
        if position is not None:
            items = result.items if isinstance(result, Parts) else ()
            result = items[position] if 0 <= position < len(items) else None
        return result if isinstance(result, Like) else None
