"""Whether the results of two ops are compared with each other further on: the mark of a paired evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.ops import VOCABULARY

_UNEQUAL = frozenset(("!=", "not_equal"))
_EQUAL = frozenset(("==", "equal", "allclose", "isclose", "array_equal")) | frozenset(
    ("assert_allclose", "assert_array_equal", "assert_array_almost_equal", "assert_equal", "assert_trees_all_close")
)
_DIFFER = frozenset(("-", "/", "<", ">", "<=", ">=", "subtract", "divide", "less", "greater")) | frozenset(
    ("less_equal", "greater_equal")
)
_RANKS = frozenset(("max", "min", "argmax", "argmin", "nanargmin", "nanargmax", "top_k", "argsort", "sort"))
_KEEPS = frozenset(("py.append", "py.set_item", "py.store_attr", "py.store_global", "py.store_nonlocal", "py.return"))
_REPORTS = frozenset(("py.append", "py.format", "py.print"))
_PARTS = frozenset(("py.item", "py.unpack", "py.element", "py.container"))
_PLOTS = frozenset(
    """plot scatter fill_between errorbar hist hist2d imshow pcolormesh contour contourf semilogx semilogy loglog bar
    step stairs axhline axvline vlines hlines quiver boxplot violinplot text annotate""".split()
)
_MAX_OPS = 400
_MAX_STEPS = 8
_PYTHON_LOOPS = ("py.loop", "py.while")


class Users:
    """Who reads what, and what becomes of it."""

    def __init__(self, flow: Flow) -> None:
        program = flow.program
        self._of, self._left = flow.readers, flow.leaving
        self._owner = {op.result: op.operands[0] for op in program.named("py.attr") if op.operands}
        self._outside: defaultdict[Value, list[Value]] = defaultdict(list)
        """What a value is called after the branches and loops of Python that it leaves, and in their next turn."""
        self._gone = {value for root in program.roots for value in root.region.results}
        """Values that leave functions, or in ways that are not followed."""
        dropped = [op.values for op in program.named("py.drop")]
        self._dropped = {value for values in dropped if isinstance(values, tuple) for value in values}
        for op in program.walk():
            for region in op.regions:
                self._follow(op, region)

    def _follow(self, op: Op, region: Region) -> None:
        if op.name not in (*_PYTHON_LOOPS, "py.branch") or len(op.results) != len(region.results):
            self._gone.update(region.results)
            return
        again = region.params[len(region.params) - len(region.results) :] if op.name in _PYTHON_LOOPS else ()
        for left, made in zip(region.results, op.results, strict=True):
            self._outside[left].append(made)
        for left, param in zip(region.results, again, strict=False):
            self._outside[left].append(param)

    def reached(self, values: Iterable[Value]) -> tuple[set[Value], list[Op]]:
        """Return the values and ops that depend on some values, nearest first and not without end."""
        seen = set(values)
        ops: list[Op] = []
        met: set[Op] = set()
        pending = list(seen)
        for value in pending:
            for op in self._of.get(value, ()):
                if op in met or len(ops) >= _MAX_OPS:
                    continue
                met.add(op)
                ops.append(op)
                fresh = [made for made in _made_from(op, value) if made not in seen]
                seen.update(fresh)
                pending.extend(fresh)
        return seen, ops

    def are_equated(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are checked to be equal or close."""
        return self._meet(first, second, _EQUAL)

    def are_told_apart(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are checked for differences."""
        return self._meet(first, second, _UNEQUAL)

    def are_compared(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are subtracted, divided or ordered."""
        return self._meet(first, second, _DIFFER)

    def _meet(self, first: Op, second: Op, functions: frozenset[str]) -> bool:
        from_first, ops = self.reached(first.results)
        from_second, _ = self.reached(second.results)
        return any(function_of(op) in functions and _joins(op, from_first, from_second) for op in ops)

    def are_ranked(self, op: Op) -> bool:
        """Whether the results of an op are ranked or searched for the best one."""
        return any(function_of(user) in _RANKS for user in self.reached(op.results)[1])

    def is_tabulated(self, op: Op) -> bool:
        """Whether a result is entered into a table under a key that is not constant."""
        return any(
            user.name == "py.set_item" and isinstance(user.arguments.get("index"), Value)
            for user in self.reached(op.results)[1]
        )

    def share_owner(self, first: Op, second: Op) -> bool:
        """Whether two calls are alike but for operands that are two parts of one object."""
        pairs = [pair for pair in zip(first.operands, second.operands, strict=False) if pair[0] is not pair[1]]
        owners = [(self._owner.get(one), self._owner.get(other)) for one, other in pairs]
        alike = len(first.operands) == len(second.operands) and bool(pairs)
        return alike and all(one is not None and one is other for one, other in owners)

    def comes_to_nothing(self, op: Op) -> bool:
        """Whether whatever is computed from an op is dropped in the end: a dry run, to see whether parts fit."""
        seen, ops = self.reached(op.results)
        if not op.results or len(ops) >= _MAX_OPS or not self._left.keys().isdisjoint(seen):
            return False
        return not any(VOCABULARY[user.name].effect for user in ops)

    def is_reported_now_and_then(self, op: Op, loop: Op) -> bool:
        """Whether some turns of a Python loop judge what the turn made, and no later turn gets the result."""
        if loop.name != "py.loop" or not any(op in _ops(region) for branch in _branches(loop) for region in branch):
            return False
        seen, ops = self.reached(op.results)
        kept = {value for region in loop.regions for value in region.results}
        if len(ops) >= _MAX_OPS or not seen.isdisjoint(kept) or any(user.name in _KEEPS for user in ops):
            return False
        mark = loop.entered
        begun = mark[0] if isinstance(mark, tuple) else 0
        judges = [op, *(user for user in ops if user.name not in ("py.print", "py.format"))]
        return any(value.id > begun and value not in seen for user in judges for value in user.operands)

    def is_only_reported(self, op: Op) -> bool:
        """Whether all that becomes of results are Python floats and text, which are listed or printed."""
        ways = self._ways(op, _looks, lambda reader: reader.name in _REPORTS)
        return ways is not None and any(one.name == "py.to_python" for one in ways)

    def is_only_plotted(self, op: Op) -> bool:
        """Whether all that becomes of an op's results is shown in plots, whatever is computed of them before."""
        ways = self._ways(op, _computes, _plots)
        return ways is not None and any(map(_plots, ways))

    def _ways(self, op: Op, passes: Callable[[Op], bool], ends: Callable[[Op], bool]) -> list[Op] | None:
        """Return the ops that read results, and what some of them make of these; None where any other op reads them."""
        pending, seen, met = list(op.results), set(op.results), list[Op]()
        for value in pending:
            made = list(self._outside.get(value, ()))
            for reader in self._of.get(value, ()):
                if reader.name in _PYTHON_LOOPS:
                    made += _carried(reader, (value,))
                elif passes(reader):
                    made += reader.results
                elif not ends(reader):
                    return None
                met.append(reader)
            if value in self._gone or len(seen) > _MAX_OPS:
                return None
            pending += [one for one in made if one not in seen]
            seen.update(made)
        return met

    def only_choice(self, op: Op) -> tuple[Op, Value] | None:
        """Return the `where` or `select` that all of a result goes to, and the value that arrives there."""
        if len(op.results) != 1:
            return None
        value = op.result
        for _ in range(_MAX_STEPS):
            readers = self._of.get(value, ())
            if value in self._left or len(readers) != 1:
                return None
            reader = readers[0]
            if reader.name == "array.select":
                return reader, value
            if reader.regions or not reader.name.startswith("array.") or len(reader.results) != 1:
                return None
            value = reader.result
        return None

    def only_shows(self, op: Op, is_end: Callable[[Op], bool]) -> bool:
        """Whether whatever is computed from an op ends in ops of a kind, to which it is not the only way in."""
        pending, seen, inside = list(op.results), set(op.results), set[Value]()
        ended = False
        for value in pending:
            if (value in self._left and value not in inside) or len(seen) > _MAX_OPS:
                return False
            for reader in self._of.get(value, ()):
                if reader.name == "py.return" and value in inside:
                    continue
                if is_end(reader):
                    ended = True
                    continue
                made = _made_from(reader, value)
                if not made or (VOCABULARY[reader.name].effect and reader.name != "py.call_unknown"):
                    return False
                inside.update(left for region in reader.regions for left in region.results)
                pending.extend(one for one in made if one not in seen)
                seen.update(made)
        return ended

    def is_overwritten(self, op: Op) -> bool:
        """Whether nobody reads a result before a loop puts another one in its place, if it is carried at all."""
        users = [user for value in op.results for user in self._of.get(value, ())]
        if not self._left.keys().isdisjoint(op.results) or any(user.name not in _PYTHON_LOOPS for user in users):
            return False
        carried = [param for user in users for param in _carried(user, op.results)]
        return not any(self._of.get(param, ()) or param in self._left for param in carried)

    def is_dropped(self, op: Op) -> bool:
        """Whether an op stands as a statement, and nothing is done with what it gives."""
        return not self._dropped.isdisjoint(op.results) and not self.is_read(op)

    def is_read(self, op: Op) -> bool:
        """Whether anything is done with the results of an op."""
        return not op.results or any(self._of.get(value, ()) or value in self._left for value in op.results)


def function_of(op: Op) -> str:
    """Return the bare name of the function or operator that an op stands for."""
    return (op.qualified or op.operator or op.callee).rpartition(".")[2]


def _looks(op: Op) -> bool:
    """Whether an op only takes values apart, or makes Python's floats of them."""
    if op.name == "py.to_python":
        return function_of(op) in ("float", "item")
    return op.name in _PARTS or op.name in ("array.reduce", "array.numpy")


def _computes(op: Op) -> bool:
    return op.name in _PARTS or op.name.startswith("array.")


def _plots(op: Op) -> bool:
    return op.name == "py.call_unknown" and function_of(op) in _PLOTS


def _branches(loop: Op) -> Iterator[Sequence[Region]]:
    """Return the sides of the branches that are part of a loop's own body."""
    for region in loop.regions:
        yield from (op.regions for op in _ops(region) if op.name == "py.branch")


def _ops(region: Region) -> Iterator[Op]:
    """Return the ops of a region and of the branches in it."""
    for op in region.ops:
        yield op
        if op.name == "py.branch":
            yield from (inner for side in op.regions for inner in _ops(side))


def _made_from(op: Op, value: Value) -> tuple[Value, ...]:
    inside = [
        region.params[i]
        for region in op.regions
        if len(region.params) == len(op.operands)
        for i, operand in enumerate(op.operands)
        if operand is value
    ]
    return (*op.results, *inside)


def _carried(loop: Op, values: tuple[Value, ...]) -> Iterator[Value]:
    """Return the parameters of a loop's regions that start as one of some values.

    Others, such as a count, come first.
    """
    for region in loop.regions:
        pairs = zip(reversed(region.params), reversed(loop.operands), strict=False)
        yield from (param for param, operand in pairs if operand in values)


def _joins(op: Op, first: set[Value], second: set[Value]) -> bool:
    only_first = any(value in first and value not in second for value in op.operands)
    only_second = any(value in second and value not in first for value in op.operands)
    return only_first and only_second
