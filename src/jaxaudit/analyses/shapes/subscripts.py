"""The axes that `einsum` names, NumPy's and that of einops: a name for each axis of the operands and of the result.

The same name is the same axis. Axes under an ellipsis get names of their own, counted from the back, so that those
that broadcast together have one name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant, same, variable
from jaxaudit.analyses.labels import Label, length_labels
from jaxaudit.ir import REST, Argument, Op
from jaxaudit.ir.record import record

Names = tuple[str, ...]


@record
class Subscripts:
    """What a call of `einsum` says of its operands."""

    operands: tuple[Argument, ...]
    inputs: tuple[Names, ...]
    """The names of each operand's axes, with `...` where an ellipsis stands."""
    output: Names | None
    """The names of the result's axes; None where they are left to NumPy's rule."""

    def spelled(self, ranks: Sequence[int | None]) -> tuple[tuple[Names | None, ...], Names] | None:
        """Write out every ellipsis; None for operands of unknown rank, and for all where the result stays open."""
        inputs = tuple(_spelled(names, rank) for names, rank in zip(self.inputs, ranks, strict=True))
        bare = [names for names, written in zip(self.inputs, inputs, strict=True) if REST in names and written is None]
        output = self._output()
        if REST not in output:
            return inputs, output
        if bare:
            return None
        rest = max((_extra(one) for one in inputs if one is not None), default=0)
        hidden = tuple(f"{REST}{at}" for at in reversed(range(rest)))
        at = output.index(REST)
        return inputs, (*output[:at], *hidden, *output[at + 1 :])

    def _output(self) -> Names:
        if self.output is not None:
            return self.output
        every = [name for names in self.inputs for name in names]
        rest = (REST,) if REST in every else ()
        return (*rest, *sorted(name for name in set(every) if name != REST and every.count(name) == 1))


def _spelled(names: Names, rank: int | None) -> Names | None:
    if REST not in names:
        return names
    extra = -1 if rank is None else rank - len(names) + 1
    if extra < 0:
        return None
    at = names.index(REST)
    return (*names[:at], *(f"{REST}{one}" for one in reversed(range(extra))), *names[at + 1 :])


def _extra(names: Names) -> int:
    return sum(name.startswith(REST) for name in names)


def subscripts(op: Op) -> Subscripts | None:
    """Read the names that a call of `einsum` gives; None where they are not written out."""
    words = op.arguments.get("tensors_and_pattern")
    if isinstance(words, tuple) and words and isinstance(words[-1], str):
        return _read(words[-1], words[:-1], lambda side: tuple(side.split()))
    text, given = op.arguments.get("subscripts"), op.arguments.get("operands")
    if op.function != "einsum" or not isinstance(text, str) or not isinstance(given, tuple):
        return None
    return _read(text.replace(" ", ""), given, _letters)


def _read(text: str, operands: tuple[Argument, ...], names: Callable[[str], Names]) -> Subscripts | None:
    left, arrow, right = text.partition("->")
    inputs = tuple(names(part) for part in left.split(","))
    if len(inputs) != len(operands) or any(one.count(REST) > 1 for one in inputs):
        return None
    return Subscripts(operands, inputs, names(right) if arrow else None)


def _letters(side: str) -> Names:
    head, dots, tail = side.partition(REST)
    return (*head, REST, *tail) if dots else tuple(side)


def piece(op: Op, first: Dim, last: Dim, size: Dim) -> Dim:
    """Return the size of `x[i * n : (i + 1) * n]` or `x[i : i + n]` in a loop over `i`; unknown where it is none."""
    gap = (last - first).labelled(length_labels(first, last))
    if gap.constant is None or gap.constant < 1:
        return UNKNOWN
    if _ends_inside(last, size):
        return gap
    bounds = _bounds(first)
    if bounds is None or bounds[1] != gap.constant:
        return UNKNOWN
    stop, step = bounds
    rest = _last(stop, step, size)
    if _comes_out_even(stop, step, size) or (rest is not None and rest >= step):
        return gap
    return Dim(None, frozenset((Label("piece", op=op, factors=(gap, UNKNOWN if rest is None else constant(rest))),)))


def _bounds(first: Dim) -> tuple[Dim, int] | None:
    """Return where a multiple of a loop variable stops, and by how much it grows from turn to turn."""
    if first.terms is None or len(first.terms) != 1 or len(first.terms[0][0]) != 1:
        return None
    (atom,), factor = first.terms[0]
    step = None if atom.turns is None else atom.turns[1].constant
    if atom.turns is None or step is None or factor < 1:
        return None
    return atom.turns[0] * constant(factor), step * factor


def _ends_inside(last: Dim, size: Dim) -> bool:
    """Whether a loop stops before its slice goes beyond the end: `range(0, len(x) - n + 1, n)`."""
    counters = [(term[0], factor) for term, factor in last.terms or () if len(term) == 1 and term[0].turns is not None]
    if len(counters) != 1 or counters[0][1] < 1:
        return False
    atom, factor = counters[0]
    turns = atom.turns or (ONE, ONE)
    highest = last + (turns[0] - ONE - variable(atom.text, atom.kind, atom.born)) * constant(factor)
    left = (size - highest).constant
    return left is not None and left >= 0


def _comes_out_even(stop: Dim, step: int, size: Dim) -> bool:
    """Whether there are as many turns as whole pieces: `len(x) // n`."""
    monomial, factor = stop.terms[0] if stop.terms is not None and len(stop.terms) == 1 else ((), 0)
    parts = monomial[0].parts if len(monomial) == 1 and monomial[0].kind == "quotient" else None
    return parts is not None and same(parts[0], size) and parts[1].constant == factor == step


def _last(stop: Dim, step: int, size: Dim) -> int | None:
    """Return how many rows are left for the last turn; None where that depends on sizes that are not known."""
    if same(stop, size) and stop.constant is None:
        return None
    if stop.constant is None or size.constant is None or stop.constant < 1:
        return None
    start = (stop.constant - 1) // step * step
    return size.constant - start


def shortest(dim: Dim) -> int | None:
    """Return how many rows the last of several pieces has, where this axis is a piece and that is known."""
    return next((label.factors[1].constant for label in dim.labels if label.kind == "piece"), None)
