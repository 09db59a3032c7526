"""Which calls source followed: what it says of a function holds for these, and for no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from jaxaudit.ir import Program


class Calls:
    """The calls of one program: where each function is entered from."""

    def __init__(self, program: Program) -> None:
        self._entered: dict[tuple[str, str], set[int]] = defaultdict(set)
        for op in program.walk():
            for region in op.regions:
                name = region.label.rpartition(".")[2]
                self._entered[op.span.path, name].update(range(op.span.line, op.span.end_line + 1))

    def unfollowed(self, chain: Iterable[tuple[str, int, str]], shown: Mapping[str, str]) -> str:
        """Return the outermost call of a chain that was not followed; empty where all of them were."""
        for path, line, callee in reversed(list(chain)):
            name = shown.get(path, path)
            if line not in self._entered.get((name, callee), ()):
                return f"{name.rpartition('/')[2]}:{line} {callee}"
        return ""
