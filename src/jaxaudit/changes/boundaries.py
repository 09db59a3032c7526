"""What other code relies on and is otherwise now: carries, mapped axes, options, results, parameters, types, keys."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from jaxaudit.changes.alignment import Alignment
from jaxaudit.changes.forms import Forms
from jaxaudit.changes.matching import Matching
from jaxaudit.reports.change import BoundaryChange
from jaxaudit.reports.model import Boundary, Crossing, Report, Transformation

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_CARRIED = "carried"
_KEY_USES = "key-reused"
"""The rule that lists one obligation for each use of a key."""

_VALUE = re.compile(r"%\d+:?")
"""The number of a value, which says nothing: every audit counts anew."""

Kind = TypeVar("Kind", Boundary, Transformation)


def boundary_changes(before: Report, after: Report, sides: Alignment, matching: Matching) -> tuple[BoundaryChange, ...]:
    """Return what is otherwise at the boundaries of functions and transformations, in the order of the files."""
    found = [
        *_signature_changes(sides),
        *_transformations(before.transformation_stack, after.transformation_stack, sides),
        *(one for pair in _pairs(before.boundaries, after.boundaries, sides) for one in _crossings(*pair, sides)),
        *_keys(matching, sides),
    ]
    # A body that is reached in several ways tells the same in each of them, and a type is the same on its way.
    once = {(one.kind, one.before, one.now, "" if one.kind == "type" else one.text): one for one in reversed(found)}
    return tuple(sorted(once.values(), key=lambda one: (one.path, one.line, one.kind)))


def _pairs(before: Sequence[Kind], after: Sequence[Kind], sides: Alignment) -> Iterator[tuple[Kind, Kind]]:
    """Pair transformations: those on one line, then those of one function, in order.

    A body that several roots reach is compared with itself as the same root reaches it, where that is still there.
    """
    left, rest = list(before), list(after)
    roots = {one.root for one in before} & {one.root for one in after}

    def root(one: Kind) -> str:
        return one.root if one.root in roots else ""

    passes: list[tuple[Callable[[Kind], Hashable], Callable[[Kind], Hashable]]] = [
        (
            lambda one: (root(one), *_now(one, sides), one.transform),
            lambda one: (root(one), one.path, one.line, one.transform),
        ),
        (
            lambda one: (root(one), sides.path(one.path), one.transform, one.function),
            lambda one: (root(one), one.path, one.transform, one.function),
        ),
    ]
    for old, new in passes:
        waiting: dict[Hashable, list[Kind]] = defaultdict(list)
        for one in rest:
            waiting[new(one)].append(one)
        for one in list(left):
            others = waiting.get(old(one))
            if others:
                other = others.pop(0)
                left.remove(one)
                rest.remove(other)
                yield one, other


def _now(one: Boundary | Transformation, sides: Alignment) -> tuple[str, int]:
    line = sides.line(one.path, one.line)
    return sides.path(one.path), line.number if line is not None and line.same else -1


def _transformations(
    before: Sequence[Transformation], after: Sequence[Transformation], sides: Alignment
) -> Iterator[BoundaryChange]:
    pairs = list(_pairs(before, after, sides))
    for old, new in pairs:
        for option in dict.fromkeys((*new.options, *old.options)):
            was, now = (_VALUE.sub("", one.options.get(option, "")) for one in (old, new))
            # How much is carried and mapped is told with what crosses.
            if was != now and option not in {"carry", "in_axes"}:
                yield _option(new, option, was, now)


def _option(new: Transformation, option: str, was: str, now: str) -> BoundaryChange:
    kind = "axis" if "axes" in option else "option"
    told = f"`{option}` of `{_called(new)}` is {now or 'not given'} now, and was {was or 'not given'}"
    return BoundaryChange(kind, new.path, new.line, new.function, was, now, told)


def _crossings(old: Boundary, new: Boundary, sides: Alignment) -> Iterator[BoundaryChange]:
    for way, was, now in (("takes", old.entries, new.entries), ("gives", old.exits, new.exits)):
        carried = [[one for one in side if one.how == _CARRIED] for side in (was, now)]
        if len(carried[0]) != len(carried[1]):
            if way == "takes":
                yield _carry(new, *carried)
        elif len(was) != len(now):
            static = list(_static(old, new, sides)) if way == "takes" and "jit" in new.transform else []
            yield from static or [_count(new, way, was, now)]
        else:
            yield from _values(new, was, now)


def _carry(new: Boundary, was: Sequence[Crossing], now: Sequence[Crossing]) -> BoundaryChange:
    gained, lost = _names(now) - _names(was), _names(was) - _names(now)
    parts = [f"gained {_listed(gained)}" if gained else "", f"lost {_listed(lost)}" if lost else ""]
    told = " and ".join(filter(None, parts)) or f"has {len(now)} values, and had {len(was)}"
    text = f"the carry of `{_called(new)}` {told}"
    return BoundaryChange("carry", new.path, new.line, new.function, _all(was), _all(now), text)


def _static(old: Boundary, new: Boundary, sides: Alignment) -> Iterator[BoundaryChange]:
    """Tell the parameters that a function had all along, and that only now become arrays inside, or no longer do."""
    gained, lost = _names(new.entries) - _names(old.entries), _names(old.entries) - _names(new.entries)
    if bool(gained) is bool(lost):
        return  # A tree that is taken apart has other names inside.
    known = {name for name, _ in _parameters(sides.before.forms(old.path), old)}
    for name, line in _parameters(sides.after.forms(new.path), new):
        was, now = (any(one.name == name for one in side.entries) for side in (old, new))
        if name in known and was != now:
            told = ("traced", "static") if was else ("static", "traced")
            text = f"`{name}` of `{_called(new)}` is {told[1]} now, and was {told[0]}"
            yield BoundaryChange("static", new.path, line, new.function, *told, text)


def _parameters(forms: Forms, one: Boundary) -> Iterator[tuple[str, int]]:
    """Return the parameters of the function that is transformed, and where it is."""
    for name, signature in _signatures(forms).items():
        if name == one.function or name.endswith(f".{one.function}"):
            yield from ((parameter, signature.line) for parameter in signature.parameters)


def _count(new: Boundary, way: str, was: Sequence[Crossing], now: Sequence[Crossing]) -> BoundaryChange:
    kind = "parameters" if way == "takes" else "results"
    values = "value" if len(now) == 1 else "values"
    text = f"`{_called(new)}` {way} {len(now)} {values} now, and {_PAST[way]} {len(was)}"
    return BoundaryChange(kind, new.path, new.line, new.function, _all(was), _all(now), text)


_PAST = {"takes": "took", "gives": "gave"}


def _values(new: Boundary, was: Sequence[Crossing], now: Sequence[Crossing]) -> Iterator[BoundaryChange]:
    """Compare what crosses one by one: how it does, and what its type is."""
    retyped: list[tuple[Crossing, Crossing]] = []
    for one, other in zip(was, now, strict=True):
        name = f"`{other.name}`" if other.name else "a value"
        if one.how != other.how:
            kind = "axis" if "axis" in one.how and "axis" in other.how else "mapping"
            text = f"{name} of `{_called(new)}` is {other.how} now, and was {one.how}"
            yield BoundaryChange(kind, new.path, new.line, new.function, one.how, other.how, text)
        elif one.inside != other.inside and _known(one.inside) and _known(other.inside):
            retyped.append((one, other))
    if retyped:
        one, other = retyped[0]
        name = f"`{other.name}`" if other.name else "a value"
        more = f", and {len(retyped) - 1} more are otherwise too" if len(retyped) > 1 else ""
        text = f"{name} is {other.inside} inside `{_called(new)}` now, and was {one.inside}{more}"
        yield BoundaryChange("type", new.path, new.line, new.function, one.inside, other.inside, text)


def _known(kind: str) -> bool:
    """Whether all of a type is known; what was not known before has not changed."""
    return bool(kind) and "?" not in kind


def _keys(matching: Matching, sides: Alignment) -> Iterator[BoundaryChange]:
    """Tell the functions that use keys more often than before: code that came on top, and took no other's place."""
    uses: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}
    for one in matching.come:
        at = sides.after.place(one.path, one.line, one.column)
        if one.rule == _KEY_USES and not at.hands_on:
            uses[one.path, at.function] += 1
            first.setdefault((one.path, at.function), one.line)
    for one in matching.gone:
        at = sides.before.place(one.path, one.line, one.column)
        if one.rule == _KEY_USES and not at.hands_on:
            uses[sides.path(one.path), at.function] -= 1
    for (path, function), more in uses.items():
        known = {name for _, _, name in sides.before.forms(path).outline}
        if more > 0 and function in known:
            times = "once" if more == 1 else f"{more} times"
            text = f"`{function}` uses a random key {times} more than before"
            yield BoundaryChange("keys", path, first[path, function], function, "", times, text)


def _called(one: Boundary | Transformation) -> str:
    return f"{one.transform}({one.function})"


def _names(values: Sequence[Crossing]) -> Counter[str]:
    return Counter(one.name for one in values if one.name)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _all(values: Sequence[Crossing]) -> str:
    return ", ".join(one.name or "?" for one in values)


@dataclass(frozen=True, slots=True)
class _Signature:
    """What callers see of a function."""

    line: int
    parameters: tuple[str, ...]
    returns: int | None
    """How many values it returns as a tuple; None where that differs or cannot be told."""


def _signature_changes(sides: Alignment) -> Iterator[BoundaryChange]:
    """Return the functions that take or return another number of values than before, in files that differ."""
    for path in sides.before.state.files:
        if not sides.is_same(path):
            now = sides.path(path)
            old, new = _signatures(sides.before.forms(path)), _signatures(sides.after.forms(now))
            for name in old.keys() & new.keys():
                yield from _compared(now, name, old[name], new[name])


def _compared(path: str, name: str, old: _Signature, new: _Signature) -> Iterator[BoundaryChange]:
    if old.returns is not None and new.returns is not None and old.returns != new.returns:
        text = f"`{name}` returns {_counted(new.returns)} now, and returned {_counted(old.returns)}"
        yield BoundaryChange("results", path, new.line, name, str(old.returns), str(new.returns), text)
    if len(old.parameters) != len(new.parameters):
        gained = [one for one in new.parameters if one not in old.parameters]
        lost = [one for one in old.parameters if one not in new.parameters]
        parts = (f"takes {_listed(gained)} too" if gained else "", f"does not take {_listed(lost)}" if lost else "")
        text = f"`{name}` {' and '.join(filter(None, parts))} now"
        told = (", ".join(old.parameters), ", ".join(new.parameters))
        yield BoundaryChange("parameters", path, new.line, name, *told, text)


def _counted(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _signatures(forms: Forms) -> Mapping[str, _Signature]:
    """Return the signature of every function of a file, by its qualified name."""
    if forms.tree is None:
        return {}
    return {name: _signature(node) for name, node in _functions(forms.tree, "")}


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield prefix + child.name, child
        named = isinstance(child, _Function | ast.ClassDef)
        yield from _functions(child, f"{prefix}{child.name}." if named else prefix)


def _signature(node: _Function) -> _Signature:
    args = node.args
    names = [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    counts = {_returned_count(one.value) for one in _returns(node)}
    return _Signature(node.lineno, tuple(names), counts.pop() if len(counts) == 1 else None)


def _returned_count(value: ast.expr | None) -> int | None:
    """Return how many values a returned expression is, None where it may be a tuple that was made elsewhere."""
    match value:
        case ast.Tuple(elts=items):
            return None if any(isinstance(one, ast.Starred) for one in items) else len(items)
        case None | ast.Constant():
            return 1
    return None


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        if not isinstance(child, _Function | ast.ClassDef | ast.Lambda):
            yield from _returns(child)
