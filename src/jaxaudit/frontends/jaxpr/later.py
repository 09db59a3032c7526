"""Later calls of what was compiled: the last one that was looked at is kept beside the first.

Arrays of JAX do not change, so that keeping one costs its memory alone; there is room for a few megabytes.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.places import caller
from jaxaudit.frontends.jaxpr.protocol import Frame
from jaxaudit.frontends.jaxpr.replay.kept import Form, Kept


@dataclass(slots=True, eq=False)
class Later:
    """The last call of a compiled function that was looked at."""

    form: Form
    donated: bool
    """Whether calls may give their arrays away."""
    number: int = 0
    call: Frame | None = None
    given: list[Any] | None = None
    """Its arrays, one for each variable of the program; None where there was no room, or no such call."""
    goes_on: bool = False
    """Whether a call was given what an earlier one gave: what is computed is a state that advances."""
    _gave: list[weakref.ref[Any]] = field(default_factory=list)

    def see(self, kept: Kept, number: int, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Keep a call in place of the one before it."""
        leaves = self.form.variables(args, kwargs)
        if leaves is None:
            return
        gave = {id(one) for one in (ref() for ref in self._gave) if one is not None}
        self.goes_on |= any(id(leaf) in gave for leaf in leaves)
        kept.release(self.given)
        self.number, self.call, self.given = number, caller(), kept.keep(leaves, donated=self.donated)

    def gave(self, result: Any) -> None:
        """Note what a call gave, to know it again."""
        jax = the_jax()
        leaves = jax.tree_util.tree_leaves(result)
        self._gave = [weakref.ref(leaf) for leaf in leaves if isinstance(leaf, jax.Array)]
