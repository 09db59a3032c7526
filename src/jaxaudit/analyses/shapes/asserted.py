"""What the assertions of chex fix where a value is made: ranks, sizes, names, and which arrays are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat

from jaxaudit.analyses.shapes.demands import always
from jaxaudit.ir import REST, Argument, Declared, Op, Program, Size, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.libraries.lookup import plays

Names = tuple[str, ...]


def asserted_axes(program: Program) -> dict[Value, Declared]:
    """Return the axes that assertions fix where a value is made."""
    found: dict[Value, Declared] = {}
    alike: list[tuple[Op, tuple[Value, ...]]] = []
    sized: list[Op] = []
    letters = _letters(program)
    asserting = {op for op in program.named("py.call_library") if plays(op.qualified, "assertion")}
    for region in program.regions() if asserting else ():
        if asserting.isdisjoint(region.ops):
            continue
        own = set(region.params)
        for op in always(region):
            own.update(op.results)
            if op not in asserting:
                continue
            if plays(op.qualified, "assertion.alike"):
                alike.append((op, tuple(value for value in _values(op) if value in own)))
            if plays(op.qualified, "assertion.axis") and set(_values(op)) <= own:
                sized.append(op)
            for value, names in asserted(op, letters):
                if value in own:
                    found[value] = _declared(op, _both(found.get(value), names))
    for op, values in alike:
        _spread(op, values, found)
    for op in sized:
        _size(op, found)
    return found


def _size(op: Op, found: dict[Value, Declared]) -> None:
    """Note the size of one axis, where the number of axes is known already."""
    axis, size = op.argument("axis"), op.argument("expected")
    for value in _values(op):
        known = found.get(value)
        if known is None or known.rank is None or not isinstance(axis, int) or not isinstance(size, int):
            continue
        if -known.rank <= axis < known.rank:
            names = list(known.names)
            names[axis] = names[axis] or _entry(size)
            found[value] = _declared(op, tuple(names))


def asserted(op: Op, letters: Mapping[Value, Names] | None = None) -> Iterator[tuple[Value, Names]]:
    """Return the values that one assertion speaks of, each with what it says of their axes."""
    reads = next((reads for role, reads in _READS.items() if plays(op.qualified, role)), None)
    expected = op.argument("expected_shapes", "expected_ranks")
    if reads is None or expected is None:
        return
    if isinstance(expected, Value):
        expected = (letters or {}).get(expected)
    values = _values(op)
    for value, names in zip(values, reads(expected, len(values)), strict=False):
        if names is not None:
            yield value, names


def _values(op: Op) -> list[Value]:
    given = op.argument("inputs", "trees", "x", "tensor")
    return [one for one in (given if isinstance(given, tuple) else (given,)) if isinstance(one, Value)]


def _shapes(expected: Argument | Names, count: int) -> Sequence[Names | None] | Iterator[Names | None]:
    if not isinstance(expected, tuple):
        return ()
    several = bool(expected) and all(isinstance(one, tuple) for one in expected)
    return [_shape(one) for one in expected] if several else repeat(_shape(expected), count)


def _shape(expected: Argument | Names) -> Names | None:
    """Return what is said of each axis; None where a shape is not written out."""
    if not isinstance(expected, tuple):
        return None
    names = tuple(_entry(one) for one in expected)
    return None if names.count(REST) > 1 else names


def _entry(one: Argument) -> str:
    if isinstance(one, Size | Value):
        return one.name
    if isinstance(one, str):
        return one
    return str(one) if isinstance(one, int) and not isinstance(one, bool) and one >= 0 else ""


def _ranks(expected: Argument | Names, count: int) -> Sequence[Names | None] | Iterator[Names | None]:
    if isinstance(expected, int) and not isinstance(expected, bool):
        return repeat(_rank(expected), count)
    # A set of ranks says that either will do.
    return [_rank(one) for one in expected] if isinstance(expected, tuple) and len(expected) == count else ()


def _rank(number: Argument) -> Names | None:
    known = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 12
    return ("",) * number if known and isinstance(number, int) else None


_READS: Mapping[str, Callable[[Argument | Names, int], Sequence[Names | None] | Iterator[Names | None]]] = {
    "assertion.shapes": _shapes,
    "assertion.ranks": _ranks,
}


def _letters(program: Program) -> dict[Value, Names]:
    """Return the shapes that `chex.Dimensions` is asked for: `dims["BT"]` has an axis for each letter."""
    made = {op.result for op in program.named("py.call_library") if plays(op.qualified, "assertion.letters")}
    found: dict[Value, Names] = {}
    for op in program.named("py.item") if made else ():
        index = op.arguments.get("index")
        if op.arguments.get("base") in made and isinstance(index, str):
            found[op.result] = tuple(letter if letter.isalpha() else "" for letter in index)
    return found


def _both(before: Declared | None, names: Names) -> Names:
    """Put together what two assertions say of one value."""
    if before is None or REST in names or len(before.names) != len(names):
        return names
    return tuple(new or old for old, new in zip(before.names, names, strict=True))


def _declared(op: Op, names: Names) -> Declared:
    return Declared(names, f"{op.span.path}:asserts", "assertion", op.span, Basis.DECLARED)


def _spread(op: Op, values: Sequence[Value], found: dict[Value, Declared]) -> None:
    """Return arrays that are said to be alike the rank that one of them is known to have, and its sizes."""
    known = next((found[value] for value in values if value in found and found[value].rank is not None), None)
    if known is None:
        return
    shared = tuple(name if name.isdigit() else "" for name in known.names) if "shape" in op.function else None
    for value in values:
        if value not in found:
            found[value] = _declared(op, ("",) * len(known.names) if shared is None else shared)
