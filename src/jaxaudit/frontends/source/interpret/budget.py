"""How far calls are followed: as far as cost stays linear in the text, whatever calls whatever how often.

Each root may take so many ops, and so may each function over all its calls. Both get less once the whole program has
become large for the text it was read from. What is left out for that is counted, and the report says how much it is.
"""

from __future__ import annotations

from dataclasses import field

from jaxaudit.frontends.source.interpret.syntax import FunctionNode
from jaxaudit.ir.record import mutable, record

MAX_DEPTH = 12
"""How deep calls are followed."""

_LARGE = "this program is too large to follow every call"


@record
class Allowance:
    """How many ops may be spent before further calls are left unfollowed."""

    root: int
    """On one root."""
    function: int
    """On one function, over all its calls and without those inside it."""
    line: int
    """On top of that, for each line of the function."""


PLENTY = Allowance(root=8_000, function=1_000, line=20)
SCANT = Allowance(root=4_000, function=100, line=8)
"""The same, once the program has become large."""

_LARGE_OPS, _LARGE_OPS_A_LINE = 20_000, 1
"""When a program is large: code that is read once takes about one op a line."""


@mutable
class Budget:
    """What has been spent so far."""

    lines: int
    spent: dict[FunctionNode, int] = field(default_factory=dict)
    """The ops of each function, over all its calls and without those inside it."""
    inner: int = 0
    """The ops of the calls inside the function that is open now."""
    limit: int = PLENTY.root
    """How many ops there may be before no call of this root is followed any more."""
    unfollowed: int = 0
    """Calls that were left out."""

    def begin_root(self, emitted: int) -> None:
        """Start on a root."""
        self.limit = emitted + self._allowance(emitted).root
        self.inner = 0

    def spend(self, node: FunctionNode, taken: int, outer: int) -> None:
        """Note what a call took, all calls inside it included, and go back to its caller, which had `outer` inside."""
        self.spent[node] = self.spent.get(node, 0) + taken - self.inner
        self.inner = outer + taken

    def refusal(self, node: FunctionNode, emitted: int) -> str:
        """Return why a call is not worth following; empty when it is."""
        if emitted <= self.limit and self.spent.get(node, 0) <= self._worth(node, emitted):
            return ""
        self.unfollowed += 1
        return _LARGE

    def _worth(self, node: FunctionNode, emitted: int) -> int:
        allowance = self._allowance(emitted)
        return allowance.function + allowance.line * ((node.end_lineno or node.lineno) - node.lineno + 1)

    def _allowance(self, emitted: int) -> Allowance:
        return PLENTY if emitted < _LARGE_OPS + _LARGE_OPS_A_LINE * self.lines else SCANT
