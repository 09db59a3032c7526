"""Whose structure a tree has: mapping, differentiating and updating change the leaves of a tree and keep its form.

A skeleton is a value that is followed no further and the way from its tree to the one that was asked about: entries,
fields, items. Two trees with one skeleton have one structure, though nobody knows which.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, origin, same
from jaxaudit.analyses.queries import made_of, nothing
from jaxaudit.ir import Op, Symbol, Value
from jaxaudit.ir.interfaces import Loop, Part, given_to
from jaxaudit.ir.record import record
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.lookup import like, playing, plays
from jaxaudit.libraries.packages import DIFFERENTIABLE

_BRANCHES = 3
"""How many branches inside one another are followed."""

Way = tuple[str, ...]
_CHOSEN = "part chosen on line "

_ONE = {"tree.leaf": "like", "key.within": "value"}
"""Ops that give something like one of their arguments."""
_FILTERS = playing("model.filter", "model.partition")
_BY_TREE = "tree "
"""How the way through a filter begins that a tree describes, and no predicate."""
_STATES = playing("train_state.create", "train_state.replace", "train_state.step")


@record
class Skeleton:
    """A tree, and the way in it."""

    origin: Origin
    way: Way = ()

    @property
    def op(self) -> Op | None:
        """What made the tree that the way starts from."""
        return self.origin.op


def skeleton(flow: Flow, value: Value, context: Context, *, loose: bool = False, depth: int = _BRANCHES) -> Skeleton:
    """Follow a tree back as long as its structure is the same, over everything that only changes its leaves.

    With `loose` a tree that has further trees in the place of leaves counts as the one without them.
    """
    found, way = origin(flow, value, context), Way()
    seen: set[Value] = set()
    while found.op is not None and found.value not in seen:
        seen.add(found.value)
        before = _before(flow, found, way, loose=loose, depth=depth)
        if before is None:
            break
        if isinstance(before, Skeleton):
            return Skeleton(before.origin, (*before.way, *way))
        found, way = origin(flow, before[0], found.context), before[1]
    return Skeleton(found, way)


def one_structure(flow: Flow, first: Skeleton, second: Skeleton) -> bool:
    """Whether two trees surely have one structure."""
    if first.way != second.way:
        return False
    return same(flow, first.origin, second.origin) or _made_alike(flow, first.origin, second.origin)


def _made_alike(flow: Flow, first: Origin, second: Origin) -> bool:
    """Whether two trees are the variables of one module, or states of one optimizer for one structure."""
    one, other = first.op, second.op
    if one is None or other is None or one.qualified != other.qualified:
        return False
    if not one.qualified.endswith(".init") or len(one.results) != 1:
        return False
    if one.object_id is not None or other.object_id is not None:
        return one.object_id == other.object_id and _same_keywords(one, other)
    mine, theirs = _argument(one, "self"), _argument(other, "self")
    if mine is None or theirs is None:
        return False
    owners = origin(flow, mine, first.context), origin(flow, theirs, second.context)
    if not (same(flow, *owners) or _one_global(*owners)):
        return False
    mine, theirs = _argument(one, "params"), _argument(other, "params")
    if mine is None or theirs is None:
        return one.name == "key.draw" and _same_keywords(one, other)
    return one_structure(flow, skeleton(flow, mine, first.context), skeleton(flow, theirs, second.context))


def _same_keywords(one: Op, other: Op) -> bool:
    """Whether two calls differ in their key and in arrays alone."""
    mine, theirs = (
        {name: value for name, value in op.arguments.items() if name != "key" and not isinstance(value, Value)}
        for op in (one, other)
    )
    return one.arguments.keys() == other.arguments.keys() and _plain(mine) == _plain(theirs)


def _plain(given: Mapping[str, object]) -> list[tuple[str, object]]:
    flat = [(name, one) for name, many in given.items() for one in (many if isinstance(many, tuple) else (many,))]
    return [(name, None if isinstance(one, Value) else one) for name, one in flat]


def _one_global(first: Origin, second: Origin) -> bool:
    names = [one.op.label if one.op is not None and one.op.name == "py.global" else "" for one in (first, second)]
    return bool(names[0]) and names[0] == names[1]


def _before(flow: Flow, found: Origin, way: Way, *, loose: bool, depth: int) -> tuple[Value, Way] | Skeleton | None:
    """Return the tree that one was made from and the way in it, or where all branches lead."""
    op, value = found.op, found.value
    assert op is not None
    if op.name in ("py.branch", "cond"):
        return _joined(flow, found, loose=loose, depth=depth)
    if op.qualified in _STATES:
        return _of_state(op, way)
    taken = _taken(flow, op, value)
    if taken is not None:
        return taken[0], (*taken[1], *way)
    if op.name == "grad":
        return _gradient(op, value, way)
    kept = _like_operand(flow, found, loose=loose)
    return None if kept is None else (kept, way)


def _joined(flow: Flow, found: Origin, *, loose: bool, depth: int) -> Skeleton | None:
    """Return the skeleton that what every branch gives has."""
    op = found.op
    if op is None or depth == 0:
        return None
    at = flow.position(op.results, found.value)
    ends = [region.results[at] for region in op.regions if at < len(region.results)]
    if not ends or len(ends) < len(op.regions):
        return None
    operands = {param: given for region in op.regions for param, given in given_to(op, region)}
    ways = [skeleton(flow, operands.get(end, end), found.context, loose=loose, depth=depth - 1) for end in ends]
    return ways[0] if all(one_structure(flow, ways[0], one) for one in ways[1:]) else None


def _taken(flow: Flow, op: Op, value: Value) -> tuple[Value, Way] | None:
    """Return the tree that a part was taken from, and the way to it."""
    base = op.arguments.get("base")
    if op.qualified in _FILTERS:
        return _filtered(flow, op)
    if plays(op.qualified, "model.state"):
        return _state(op)
    if plays(op.qualified, "tree.parted"):
        return _parted(op)
    if not isinstance(base, Value):
        return None
    if op.name == "py.attr":
        return base, (f".{op.label}",)
    if op.name == "py.item":
        index = op.arguments.get("index")
        if not isinstance(index, int | str) or isinstance(index, Symbol):
            return None
        return _part(flow, base, index)
    if op.name == "py.unpack" and op.star is None:
        return _part(flow, base, flow.position(op.results, value))
    return None


def _part(flow: Flow, base: Value, index: int | str) -> tuple[Value, Way] | None:
    made = flow.maker(base)
    function = "" if made is None else made.qualified
    kept = like(function, index) if isinstance(index, int) else None
    if made is not None and kept is not None:
        tree = _argument(made, kept.param)
        return None if tree is None else (tree, ())
    if made is not None and plays(function, "tree.parted"):
        return _parted(made, f"[{index}]")
    if made is not None and plays(function, "model.partition") and index in (0, 1):
        part = _filtered(flow, made)
        return part if part is None or index == 0 else (part[0], (f"not {part[1][0]}",))
    return base, (f"[{index!r}]",)


def _parted(op: Op, place: str = "") -> tuple[Value, Way] | None:
    """Return the tree that a function of the caller's chooses entries from: each call may choose others."""
    tree = _argument(op, "structure")
    return None if tree is None else (tree, (f"{_CHOSEN}{op.span.line}{place}",))


def _filtered(flow: Flow, op: Op) -> tuple[Value, Way] | None:
    """Return what a filter leaves parts out of, and by what: a predicate, or a tree that says so leaf by leaf."""
    tree, spec = _argument(op, "pytree"), op.arguments.get("filter_spec")
    if isinstance(spec, Value):
        spec = f"{_BY_TREE}{made_of(flow, spec, nothing).id}"
    if tree is None or not isinstance(spec, str) or not op.arguments.keys() <= {"pytree", "filter_spec"}:
        return None
    return tree, (f"<{spec}>",)


def _state(op: Op) -> tuple[Value, Way] | None:
    node, filters = _argument(op, "node"), op.arguments.get("filters")
    only = filters[0] if isinstance(filters, tuple) and len(filters) == 1 else None
    return (node, (f"<{only}>",)) if node is not None and isinstance(only, Symbol) else None


def _of_state(op: Op, way: Way) -> tuple[Value, Way] | None:
    """Return what a field of a flax `TrainState` was set to; the others are those of the state before."""
    if not way:
        state = _argument(op, "self")
        return (state, ()) if state is not None and op.arguments.keys() <= {"self", "grads"} else None
    given = _argument(op, way[0].removeprefix("."))
    if given is not None:
        return given, way[1:]
    before = _argument(op, "self")
    return None if before is None or way[0].removeprefix(".") in op.arguments else (before, way)


def _like_operand(flow: Flow, found: Origin, *, loose: bool) -> Value | None:
    """Return the operand whose structure a result has."""
    op, value = found.op, found.value
    assert op is not None
    if op.name == "tree.map":
        return _mapped(op, value, loose=loose)
    if op.name in ("scan", "fori", "while"):
        at = op.results.index(value)
        return next((one.start for one in Loop(op).carried if one.position == at), None)
    if op.name in ("grad.stop", "collective", "device.place") and len(op.operands) == 1:
        return op.operands[0]
    if op.name == "tree.other" and (built := _put_together(flow, op)) is not None:
        return built
    if op.name in _ONE:
        return _argument(op, _ONE[op.name])
    kept = like(op.qualified)
    return None if kept is None else _argument(op, kept.param)


def structure_read(flow: Flow, treedef: Value, *, plainly: bool = True) -> Op | None:
    """Return the call that a structure was read off a tree by: `structure`, or `flatten`, whose second result it is.

    Read plainly, it is that of the whole tree, without an `is_leaf` that may leave a part of it unread.
    """
    made = flow.maker(treedef)
    if made is None or made.qualified != "jax.tree.structure":
        made = _second_of(flow, treedef, "jax.tree.flatten")
    return None if made is None or (plainly and "is_leaf" in made.arguments) else made


def _second_of(flow: Flow, part: Value, function: str) -> Op | None:
    """Return the call whose second result something is."""
    found = Part.of(flow.maker(part), part)
    call = None if found is None or found.at != 1 else flow.maker(found.whole)
    return call if call is not None and call.qualified == function else None


def _put_together(flow: Flow, op: Op) -> Value | None:
    """Return the tree whose structure leaves are put into."""
    if op.qualified == "jax.tree.unflatten":
        treedef = _argument(op, "treedef")
        made = None if treedef is None else structure_read(flow, treedef)
        return None if made is None else _argument(made, "tree")
    unravel = _argument(op, "self") if op.qualified == "jax.flatten_util.Unravel.__call__" else None
    made = None if unravel is None else _second_of(flow, unravel, "jax.flatten_util.ravel_pytree")
    return None if made is None else _argument(made, "pytree")


def _gradient(op: Op, value: Value, way: Way) -> tuple[Value, Way] | None:
    """Return what a gradient is taken of; what cannot be differentiated is missing in those of Equinox and nnx."""
    at = op.results.index(value) - len(op.regions[0].results)
    places = op.differentiated
    if places is None or not 0 <= at < len(places):
        return None
    library = op.spelling.rpartition(".")[0]
    only = DIFFERENTIABLE.get(library)
    return op.operands[places[at]], way if only is None else (f"<{only}>", *way)


def _mapped(op: Op, value: Value, *, loose: bool) -> Value | None:
    region = op.regions[0]
    at = op.results.index(value) - len(region.results)
    if at < 0 or op.paths or op.is_leaf not in (False, "kept"):
        return None
    if not loose and len(region.results) != 1:
        return None
    made = len(op.results) - len(region.results)
    if made == 1 and _is_whole(op):
        return op.operands[0]
    parts = _values(op.border.trees[0]) if op.border is not None and op.border.trees else []
    return parts[at] if len(parts) == made else None


def _is_whole(op: Op) -> bool:
    border = op.border
    return border is None or (bool(border.trees) and border.trees[0].kind == "value")


def _values(tree: Tree) -> list[Value | None]:
    """Return the values in a tree, in the order of its leaves."""
    if tree.children:
        return [one for child in tree.children for one in _values(child)]
    return [tree.value] if tree.kind == "value" else []


def _argument(op: Op, name: str) -> Value | None:
    value = op.arguments.get(name) if name else None
    return value if isinstance(value, Value) else None


def left_out(flow: Flow, part: Value, whole: Tree, context: Context) -> bool:
    """Whether one value is a tree without some of its leaves, as another tree that was made for it says."""
    inner = skeleton(flow, part, context)
    if whole.value is None:
        # An object that is known field by field is put together anew wherever it is needed as a whole.
        built, way = inner.op, Way()
        same_tree = built is not None and built.name == "py.container" and list(built.operands) == list(whole.values())
    else:
        outer = skeleton(flow, whole.value, context)
        way, same_tree = outer.way, same(flow, inner.origin, outer.origin)
    further = [step.removeprefix("not ") for step in inner.way[len(way) :]]
    filtered = all(step.startswith("<") for step in further) and any(step[1:].startswith(_BY_TREE) for step in further)
    return same_tree and filtered and inner.way[: len(way)] == way


def part_of(flow: Flow, part: Value, whole: Value, context: Context) -> str:
    """Return the key under which the structure of one value lies in that of another, or an empty text.

    Only keys that are texts count: a row of an array is found by a number.
    """
    outer, inner = skeleton(flow, whole, context), skeleton(flow, part, context)
    further = inner.way[len(outer.way) :]
    if not further or inner.way[: len(outer.way)] != outer.way:
        return ""
    named = all(step.startswith(("['", '["', _CHOSEN)) for step in further)
    return "".join(further) if named and same(flow, inner.origin, outer.origin) else ""
