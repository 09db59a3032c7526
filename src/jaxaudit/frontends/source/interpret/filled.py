"""Loops that fill an empty list with one record a turn: what they leave is what a comprehension would."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.notes.bindings import held
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue
from jaxaudit.frontends.source.values.frames import changing
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref, Sequence, TupleValue
from jaxaudit.frontends.source.values.structure import argument, materialise, rebuild
from jaxaudit.ir import Exit, Value

_LEAVING = ast.Break | ast.Continue | ast.Return | ast.Yield | ast.YieldFrom | ast.Try


class Filled:
    """A list that the last statement of a loop's body appends to, and nothing else in sight changes.

    for key in keys:
        layers.append({"w": init(key), "b": zeros})
    """

    def __init__(self, it: Interpreter, name: str, ref: Ref, body: list[ast.stmt], item: ast.expr) -> None:
        self.it, self.name, self.ref, self.body, self.item = it, name, ref, body, item
        self._made: list[Abstract] = []
        self._leaves: list[Value] = []

    def turn(self) -> Exit:
        """Execute the body once, and keep what it appends."""
        it, span = self.it, self.it.span(self.item)
        leaving = it.execute(self.body)
        value = it.evaluate(self.item)
        attrs = {"method": "append", "object": self.ref.id}
        it.emit("py.append", span, {"value": argument(it, value, span)}, attrs, results=0)
        self._made = [plain(it, value)]
        self._leaves = ordered_leaves(it, self._made[0])
        return leaving

    def collect(self) -> list[Value]:
        """Return the values that the last turn appended."""
        return list(self._leaves)

    def leave(self, collected: list[Value]) -> None:
        """Let the variable hold the records of all turns."""
        outside = iter(collected)
        item = rebuild(self._made[0], lambda leaf: leaf.at(next(outside)), self.it)
        self.it.frame.env[self.name] = Sequence(item)


def filled(it: Interpreter, node: ast.For | ast.AsyncFor) -> Filled | None:
    """Return the list that a loop fills with records; None where it does more with it, or that cannot be seen."""
    last = node.body[-1]
    call = last.value if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) else None
    method = call.func if call is not None and isinstance(call.func, ast.Attribute) else None
    if call is None or method is None or method.attr != "append" or not isinstance(method.value, ast.Name):
        return None
    name = method.value.id
    ref = it.frame.env.get(name)
    box = it.heap[ref] if isinstance(ref, Ref) else None
    if not isinstance(ref, Ref) or not isinstance(box, ListBox) or box.items or box.kind != "list" or node.orelse:
        return None
    if len(call.args) != 1 or call.keywords or not _is_record(it, call.args[0]):
        return None
    nodes = list(walk(node))
    read = sum(isinstance(one, ast.Name) and one.id == name for one in nodes)
    aliased = sum(one == ref for one in it.frame.env.values()) > 1
    if read > 1 or aliased or any(isinstance(one, _LEAVING) for one in nodes) or not _is_own(it, node, name):
        return None
    return Filled(it, name, ref, node.body[:-1], call.args[0])


def _is_record(it: Interpreter, node: ast.expr) -> bool:
    """Whether an expression makes something that has parts."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return isinstance(held(it, node.func), FunctionValue | ClassValue)
    return isinstance(node, ast.Dict | ast.Tuple)


def _is_own(it: Interpreter, loop: ast.stmt, name: str) -> bool:
    """Whether a function makes a list in front of a loop, on the same path, and changes it in no other statement."""
    if it.frame.function is None:
        return False
    scope = it.frame.function.node
    changes = sum(isinstance(base, ast.Name) and base.id == name for base, *_ in changing(scope))
    blocks = [block for one in walk(scope) for _, block in ast.iter_fields(one) if isinstance(block, list)]
    before = [one for block in blocks if loop in block for one in block[: block.index(loop)]]
    made = [one for one in before if isinstance(one, ast.Assign | ast.AnnAssign) and isinstance(one.value, ast.List)]
    targets = [target for one in made for target in (one.targets if isinstance(one, ast.Assign) else [one.target])]
    return changes == 1 and any(isinstance(target, ast.Name) and target.id == name for target in targets)


def plain(it: Interpreter, item: Abstract, depth: int = 0) -> Abstract:
    """Keep structure, constants and functions apart; a container of unknown make becomes one leaf."""
    if isinstance(item, TupleValue):
        return TupleValue(tuple([plain(it, part, depth) for part in item.items]))
    if not isinstance(item, Ref):
        return item
    box = it.heap[item]
    if depth < _DEEPEST:
        match box:
            case DictBox(entries=entries, rest=None):
                return it.heap.new(DictBox({key: plain(it, part, depth + 1) for key, part in entries.items()}))
            case ObjectBox(cls=cls, attrs=attrs, value=None):
                parts = {name: plain(it, part, depth + 1) for name, part in attrs.items()}
                return it.heap.new(ObjectBox(cls, parts))
    return Leaf(materialise(it, item, it.builder.region.span))


def ordered_leaves(it: Interpreter, item: Abstract) -> list[Value]:
    """Return the values of one item, in order."""
    found: list[Value] = []

    def note(leaf: Leaf) -> Leaf:
        found.append(leaf.value)
        return leaf

    rebuild(item, note, it)
    return found


_DEEPEST = 3
"""How deep containers in the items of a list are kept apart."""
