"""The axes that `einsum` names, NumPy's and that of einops: a name for each axis of the operands and of the result.

The same name is the same axis. Axes under an ellipsis get names of their own, counted from the back, so that those
that broadcast together have one name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxaudit.ir import REST, Argument, Op

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
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
