"""Library functions that give a tree like one they were given: new parameters, updates, trees of zeros.

Where the tree was taken apart, so is what the function gives, leaf by leaf; each leaf is like the one it was made from.
"""

from __future__ import annotations

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import leaves, rebuild
from jaxaudit.ir import Value
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span


def alike(it: Interpreter, row: Row, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return what a library function gives with the structure of the argument that it follows."""
    whole = row.like()
    like = whole or row.like(0)
    if like is None or not like.dtypes or not isinstance(made, Leaf) or row.op.startswith("array."):
        return made
    if given.get(row.position("dtype"), "dtype") is not None:
        return made
    tree = given.get(row.position(like.param), like.param)
    if whole is not None and isinstance(tree, Leaf) and tree.cls:
        return Leaf(made.value, tree.cls, tree.holds)
    if tree is None or not _is_apart(it, tree):
        return made
    if whole is not None:
        return leaf_by_leaf(it, tree, made.value, span)
    updates, state = it.emit("py.unpack", span, {"base": made.value}, {"count": 2, "star": None}, results=2).results
    return TupleValue((leaf_by_leaf(it, tree, updates, span), Leaf(state)))


def _is_apart(it: Interpreter, tree: Abstract) -> bool:
    if isinstance(tree, TupleValue | Record):
        return True
    box = it.heap[tree] if isinstance(tree, Ref) else None
    if isinstance(box, DictBox):
        return box.rest is None
    return isinstance(box, ListBox) or (isinstance(box, ObjectBox) and box.value is None)


def leaf_by_leaf(it: Interpreter, tree: Abstract, whole: Value, span: Span) -> Abstract:
    """Return a tree of the same structure whose leaves lie in one value."""
    places = {value: at for at, value in enumerate(dict.fromkeys(leaves(it, tree)))}

    def leaf(like: Leaf) -> Leaf:
        attrs = {"position": places[like.value], "count": len(places)} if like.value in places else {}
        made = it.emit("tree.leaf", span, {"like": like.value, "tree": whole}, attrs).result
        made.name = like.value.name
        return like.at(made)

    return rebuild(tree, leaf, it, data=True)
