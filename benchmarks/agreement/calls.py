"""Which calls source followed: what it says of a function holds for these, and for no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from jaxaudit.ir import Program, Root


class Calls:
    """The calls of one program: where each function is entered from."""

    def __init__(self, program: Program) -> None:
        self._entered: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._open: dict[tuple[str, str], list[Root]] = defaultdict(list)
        """What is entered with what it may be given at all."""
        for op in program.walk():
            for region in op.regions:
                name = region.label.rpartition(".")[2]
                self._entered[op.span.path, name].update(range(op.span.line, op.span.end_line + 1))
        names = {root.name for root in program.roots}
        called = {name for _, name in self._entered}
        for root in program.roots:
            around, _, name = root.name.rpartition(".")
            if around in names or around.rpartition(".")[2] not in called:
                self._open[root.path, name].append(root)

    def unfollowed(self, chain: Iterable[tuple[str, int, str]], shown: Mapping[str, str]) -> str:
        """Return the outermost call of a chain that was not followed; empty where all of them were.

        A function that something unwatched called is followed where it is open, and so are the functions around it.
        """
        for path, line, callee in reversed(list(chain)):
            name = shown.get(path, path)
            if line < 0:
                spans = [root.region.span for root in self._open.get((name, callee), ())]
                followed = any(span.line <= -line <= span.end_line for span in spans)
            else:
                followed = line in self._entered.get((name, callee), ())
            if not followed:
                return f"{name.rpartition('/')[2]}:{abs(line)} {callee}"
        return ""
