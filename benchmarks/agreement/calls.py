"""Which calls source followed: what it says of a function holds for these, and for no others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from jaxaudit.ir import Program
from jaxaudit.spans import Span


class Calls:
    """The calls of one program: where each function is entered from."""

    def __init__(self, program: Program) -> None:
        self._entered: dict[tuple[str, str], list[tuple[Span, Span]]] = defaultdict(list)
        """By the file of the call and the name of what is called: the place of the call and that of the function."""
        self._open: dict[tuple[str, str], list[Span]] = defaultdict(list)
        """What is entered with what it may be given at all."""
        for op in program.walk():
            for region in op.regions:
                self._entered[op.span.path, region.label.rpartition(".")[2]].append((op.span, region.span))
        names = {root.name for root in program.roots}
        called = {name for _, name in self._entered}
        for root in program.roots:
            around, _, name = root.name.rpartition(".")
            if around in names or around.rpartition(".")[2] not in called:
                self._open[root.path, name].append(root.region.span)

    def unfollowed(self, chain: Sequence[tuple[str, int, str]], shown: Mapping[str, str], place: Span) -> str:
        """Return the outermost call of a chain to a place that was not followed; empty where all of them were.

        A function that something unwatched called is followed where it is open, and so are the functions around it.
        """
        inside = [(place.path, place.line), *((shown.get(path, path), abs(line)) for path, line, _ in chain)]
        for (path, line, callee), within in reversed([*zip(chain, inside, strict=False)]):
            name = shown.get(path, path)
            calls = self._entered.get((name, callee), ()) if line > 0 else ()
            bodies = [body for call, body in calls if call.line <= line <= call.end_line]
            bodies += self._open.get((name, callee), ()) if line < 0 else ()
            if not any(body.path == within[0] and body.line <= within[1] <= body.end_line for body in bodies):
                return f"{name.rpartition('/')[2]}:{abs(line)} {callee}"
        return ""
