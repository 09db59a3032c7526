"""Rows: a slice that is squeezed is `a[i]` in Python, with a constant or a traced index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat, variables
from jaxaudit.frontends.jaxpr.primitives.base import numbers
from jaxaudit.frontends.jaxpr.primitives.indexing import WHOLE, python_index, static_index
from jaxaudit.frontends.jaxpr.runs import Run
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.ir import Argument

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body


def lower_row(body: Body, run: Run) -> None:
    """Lower a slice and the squeeze after it as one `py.item`."""
    taken, squeezed = body.equations[run.start : run.stop]
    site = body.sites[run.stop - 1]
    dropped = numbers(squeezed.params["dimensions"])
    if taken.primitive.name == "slice":
        index = static_index(body.plain(taken), dropped)
    else:
        found = _dynamic_index(body, taken, dropped)
        if found is None:
            body.lower_equation(run.start)
            body.lower_equation(run.start + 1)
            return
        index = found
    names = (_unpacked(site, index),)
    names = names if any(names) else body.names(run.stop - 1)
    arguments: dict[str, Argument] = {"base": body.read(taken.invars[0]), "index": index}
    body.bind(squeezed.outvars, body.writer.emit("py.item", site, arguments, {}, squeezed.outvars, names))


def lower_unstack(body: Body, equation: Any, site: Site) -> None:
    """Lower `unstack`: what Python's unpacking of an array becomes."""
    axis = int(equation.params["axis"])
    base = body.read(equation.invars[0])
    names = variables.names_at(site.span) if site.own else ()
    if axis == 0:
        attrs = {"count": len(equation.outvars), "star": None}
        body.bind(equation.outvars, body.writer.emit("py.unpack", site, {"base": base}, attrs, equation.outvars, names))
        return
    for i, out in enumerate(equation.outvars):
        arguments: dict[str, Argument] = {"base": base, "index": (*(WHOLE,) * axis, i)}
        body.bind((out,), body.writer.emit("py.item", site, arguments, {}, (out,), names[i : i + 1]))


def _unpacked(site: Site, index: Argument) -> str:
    """Name a row that Python unpacked; under `vmap` the axes before it are taken whole."""
    names = variables.names_at(site.span) if site.own else ()
    rows = [part for part in (index if isinstance(index, tuple) else (index,)) if part != WHOLE]
    row = rows[0] if len(rows) == 1 else None
    return names[row] if isinstance(row, int) and len(names) > 1 and 0 <= row < len(names) else ""


def _dynamic_index(body: Body, taken: Any, dropped: tuple[int, ...]) -> Argument | None:
    """Return the index of a dynamic slice that takes whole axes but for those that are squeezed away."""
    kind = compat.type_of(taken.invars[0])
    if kind is None:
        return None
    parts: list[Argument] = []
    for axis, (size, whole) in enumerate(zip(numbers(taken.params["slice_sizes"]), kind.shape, strict=True)):
        if axis in dropped and size != whole:
            start = body.read(origin(body, taken.invars[1 + axis]))
            parts.append(_clamped(start, size, whole) if isinstance(start, int) else start)
        elif axis in dropped:
            parts.append(0)
        elif size == whole:
            parts.append(WHOLE)
        else:
            return None
    return python_index(parts)


def origin(body: Body, atom: Any) -> Any:
    """Look through what JAX does to an index before it uses it: negative ones are counted from the end."""
    while not compat.is_literal(atom) and atom in body.made:
        maker = body.made[atom]
        name = maker.primitive.name
        if name == "convert_element_type":
            atom = maker.invars[0]
        elif name == "select_n" and len(maker.invars) == 3 and _counts_from_end(body, maker):
            atom = maker.invars[1]
        else:
            break
    return atom


def _counts_from_end(body: Body, select: Any) -> bool:
    which, index, moved = select.invars
    test, shift = (None if compat.is_literal(atom) else body.made.get(atom) for atom in (which, moved))
    if test is None or shift is None or test.primitive.name != "lt" or shift.primitive.name != "add":
        return False
    return all(
        _are_same(_unconverted(body, one), _unconverted(body, index)) for one in (test.invars[0], shift.invars[0])
    )


def _unconverted(body: Body, atom: Any) -> Any:
    while not compat.is_literal(atom) and atom in body.made:
        maker = body.made[atom]
        if maker.primitive.name != "convert_element_type":
            break
        atom = maker.invars[0]
    return atom


def _are_same(one: Any, other: Any) -> bool:
    if compat.is_literal(one) and compat.is_literal(other):
        return bool(one.val == other.val)
    return one is other


def lower_dynamic_slice(body: Body, equation: Any, site: Site) -> None:
    """Lower a slice whose position is traced; when that turns out to be constant it is a plain slice."""
    starts = [body.read(origin(body, atom)) for atom in equation.invars[1:]]
    plain = body.plain(equation)
    sizes = numbers(equation.params["slice_sizes"])
    if not all(isinstance(start, int) for start in starts):
        body.by_table(equation, site, ())
        return
    parts: list[Argument] = []
    for start, size, whole in zip(starts, sizes, plain.shape(), strict=True):
        first = _clamped(start, size, whole)
        parts.append(WHOLE if size == whole else {"start": first, "stop": first + size, "step": 1})
    arguments: dict[str, Argument] = {"base": plain.inputs[0], "index": python_index(parts)}
    body.bind(equation.outvars, body.writer.emit("py.item", site, arguments, {}, equation.outvars))


def _clamped(start: Argument, size: int, whole: int) -> int:
    first = start if isinstance(start, int) else 0
    return max(0, min(first + whole if first < 0 else first, whole - size))
