"""How far calls are followed: as far as cost stays linear in the text, whatever calls whatever how often.

Each root may take so many ops, and so may each function over all its calls. Both get less once the whole program has
become large for the text it was read from. A call into another file may take half of what its root has left, and
functions of the root's own file are followed beyond that, so that no library of the project takes what they need. What
is left out is counted, and the report says how much it is.
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


@record
class Opened:
    """What a budget was when a function or a module was entered."""

    emitted: int
    inner: int
    limit: int
    home: str
    away: bool


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

    home: str = ""
    """The file of this root."""
    away: bool = False
    """Whether a function of another file is open."""

    def begin_root(self, path: str, emitted: int) -> None:
        """Start on a root of a file."""
        self.limit = emitted + self._allowance(emitted).root
        self.inner, self.home, self.away = 0, path, False

    def open(self, path: str, emitted: int) -> Opened:
        """Enter a function of a file, and return what `close` needs."""
        opened = self._opened(emitted)
        self.inner = 0
        if path != self.home and not self.away:
            self.limit, self.away = emitted + max(0, self.limit - emitted) // 2, True
        return opened

    def close(self, node: FunctionNode, opened: Opened, emitted: int) -> None:
        """Note what a call took, all calls inside it included, and go back to its caller."""
        self.spent[node] = self.spent.get(node, 0) + emitted - opened.emitted - self.inner
        self._go_back(opened, emitted)

    def open_module(self, path: str, emitted: int) -> Opened:
        """Start on the top level of a file, and return what `close_module` needs."""
        opened = self._opened(emitted)
        self.begin_root(path, emitted)
        return opened

    def close_module(self, opened: Opened, emitted: int) -> None:
        """Go back to where a module was first imported, which pays nothing for it."""
        self._go_back(opened, emitted)
        self.limit += emitted - opened.emitted

    def _opened(self, emitted: int) -> Opened:
        return Opened(emitted, self.inner, self.limit, self.home, self.away)

    def _go_back(self, opened: Opened, emitted: int) -> None:
        self.inner = opened.inner + emitted - opened.emitted
        self.limit, self.home, self.away = opened.limit, opened.home, opened.away

    def refusal(self, node: FunctionNode, path: str, emitted: int) -> str:
        """Return why a call is not worth following; empty when it is."""
        more = self._allowance(emitted).root if path == self.home else 0
        if emitted <= self.limit + more and self.spent.get(node, 0) <= self._worth(node, emitted):
            return ""
        self.unfollowed += 1
        return _LARGE

    def _worth(self, node: FunctionNode, emitted: int) -> int:
        allowance = self._allowance(emitted)
        return allowance.function + allowance.line * ((node.end_lineno or node.lineno) - node.lineno + 1)

    def _allowance(self, emitted: int) -> Allowance:
        return PLENTY if emitted < _LARGE_OPS + _LARGE_OPS_A_LINE * self.lines else SCANT
