"""The only way to make IR: hands out values and appends ops to the region that is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from jaxaudit.ir.types import Exit, Op, Region
from jaxaudit.ir.values import Argument, Value
from jaxaudit.spans import Span

_EMPTY: Mapping[str, Argument] = {}
_NO_ATTRS: Mapping[str, object] = {}


class Builder:
    """Builds regions inside regions; one builder serves one program, so value ids are unique in it."""

    def __init__(self) -> None:
        self._next_id = 0
        self._open: list[Region] = []
        self.emitted = 0
        """How many ops were made so far; front ends hold their budgets against it."""

    @property
    def region(self) -> Region:
        """The region that ops go to now."""
        return self._open[-1]

    @property
    def root(self) -> Region:
        """The outermost region that is open."""
        return self._open[0]

    @property
    def depth(self) -> int:
        """How many regions are open."""
        return len(self._open)

    @property
    def newest(self) -> int:
        """The id of the youngest value."""
        return self._next_id

    def unwind(self, depth: int) -> None:
        """Leave regions that an error left open."""
        del self._open[depth:]

    def value(self, span: Span, name: str = "") -> Value:
        """Make a value (a region's parameter, or an op's result)."""
        self._next_id += 1
        return Value(self._next_id, span, name)

    def emit(
        self,
        name: str,
        span: Span,
        arguments: Mapping[str, Argument] = _EMPTY,
        attrs: Mapping[str, object] = _NO_ATTRS,
        *,
        operands: tuple[Value, ...] | None = None,
        results: int | tuple[Value, ...] = 1,
        regions: tuple[Region, ...] = (),
    ) -> Op:
        """Append an op; its operands are the values in `arguments` unless they are given.

        `results` is how many values it makes, or the values themselves where they had to exist before the op.
        """
        if operands is None:
            operands = tuple(_values_of(arguments)) if arguments else ()
        if results == 1:
            # By far the most frequent case.
            made = (self.value(span),)
        else:
            made = results if isinstance(results, tuple) else tuple([self.value(span) for _ in range(results)])
        op = Op(name, operands, made, span, arguments, attrs, regions)
        self._open[-1].ops.append(op)
        self.emitted += 1
        return op

    @contextmanager
    def nested(self, kind: str, label: str, span: Span, params: Sequence[Value] = ()) -> Iterator[Region]:
        """Open a region; ops go to it until the block ends."""
        region = Region(kind, label, span, tuple(params))
        self._open.append(region)
        try:
            yield region
        finally:
            self._open.pop()

    @contextmanager
    def reopened(self, region: Region) -> Iterator[None]:
        """Append further ops to a region that was left before."""
        self._open.append(region)
        try:
            yield
        finally:
            self._open.pop()

    def close(self, region: Region, results: tuple[Value, ...] = (), exit: Exit = Exit.FALL) -> None:
        """Return what a region leaves behind and how control leaves it."""
        region.results = results
        region.exit = exit


_ATOMS = (str, int, float, type(None))


def _values_of(arguments: Mapping[str, Argument]) -> list[Value]:
    found: list[Value] = []
    for argument in arguments.values():
        if isinstance(argument, Value):
            found.append(argument)
        elif not isinstance(argument, _ATOMS):
            found += values_in(argument)
    return found


def mentioned(op: Op) -> Iterator[Value]:
    """Return the values that the attributes of an op speak of, besides its operands."""
    return values_in(tuple(op.attrs.values()))  # type: ignore[arg-type]


def values_in(argument: Argument) -> Iterator[Value]:
    """Return the values inside an argument, in order."""
    if isinstance(argument, Value):
        yield argument
    elif isinstance(argument, tuple):
        for item in argument:
            if not isinstance(item, _ATOMS):
                yield from values_in(item)
    elif not isinstance(argument, _ATOMS) and isinstance(argument, Mapping):
        for item in argument.values():
            yield from values_in(item)
