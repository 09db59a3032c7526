"""What crosses the border of a region: arguments become tracers on the way in, arrays come out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.tracing.context import Context
from jaxaudit.analyses.tracing.facts import ARRAY, CONCRETE, NUMPY, STATIC, UNKNOWN, Kind, Trace, join, revised
from jaxaudit.ir import Op, Region
from jaxaudit.ir.functions import JACOBIANS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.libraries.packages import FILTERING, PLAIN, package

_TO_ARRAY = ("array", "numpy", "number")
_FIELD = Trace(Kind.UNKNOWN, "field")
"""A field of an object that may be traced or not."""
COUNTER = Trace(Kind.STATIC, "number", turn=True)
"""The number of the turn of a Python loop."""
_WHOLE = ("pmap", "shard_map", "scan", "map", "abstract")


def entering(op: Op, region: Region, read: Read[Trace]) -> Sequence[Trace]:
    """Return the facts of a region's parameters from those of the op's operands."""
    facts = [_settled(read(value)) for value in op.operands]
    if len(op.held or ()) == len(facts):
        facts = [_field(fact) if inside else fact for fact, inside in zip(facts, op.held or (), strict=True)]
    match op.name:
        case "jit" | "checkpoint":
            return [_staged(op, fact, static) for fact, static in zip(facts, _statics(op, len(facts)), strict=True)]
        case "vmap":
            axes = op.in_axes or ("?",) * len(facts)
            return [_mapped(op, fact, axis) for fact, axis in zip(facts, axes, strict=True)]
        case "fori":
            index = Trace(Kind.TRACED, "array", by=op, way="index")
            bounds = len(facts) - len(Loop(op).carried)
            return [index, *(_traced(op, fact, "carry") for fact in facts[bounds:])]
        case "while":
            return [_traced(op, fact, "carry") for fact in facts]
        case "cond":
            return _fitted([_traced(op, fact, "argument") for fact in facts[1:]], region)
        case "grad" | "jvp" | "vjp":
            # Numbers are traced too where they are differentiated.
            chosen = op.differentiated or ()
            open_to = [(Kind.CONCRETE, Kind.STATIC) if at in chosen else (Kind.CONCRETE,) for at in range(len(facts))]
            return [
                revised(fact, kind=Kind.UNKNOWN) if fact.kind in kinds else fact
                for fact, kinds in zip(facts, open_to, strict=True)
            ]
        case "tree.map":
            leaves = [leaf_of(fact) for fact in facts]
            # Where None is a leaf, no leaf is an array for sure.
            return [revised(fact, what="") for fact in leaves] if op.is_leaf else leaves
        case "callback":
            return _fitted([NUMPY for _ in facts], region)
        case "associative_scan":
            # Nothing is staged: the function is called with stretches of the arrays.
            return _fitted([UNKNOWN if fact.kind is Kind.STATIC else fact for fact in facts] * 2, region)
        case "transform":
            return _fitted([fact if fact.kind is Kind.TRACED else UNKNOWN for fact in facts], region)
        case "py.loop" | "py.while":
            return [COUNTER, *facts]
        case name if name in _WHOLE:
            count = op.carry or 0 if name == "scan" else 0
            fixed = _statics(op, len(facts))
            if name == "abstract" and package(op.spelling) in FILTERING:
                fixed = tuple(True if fact.kind is Kind.STATIC else None for fact in facts)
            told = (True, None) if name == "pmap" and op.static is not None else (True,)
            # What `shard_map` has no spec for it hands on as it is.
            return [
                (fact if name == "shard_map" else _staged(op, fact, fixed[at]))
                if fixed[at] in told
                else _traced(op, fact, "carry" if at < count else "element")
                for at, fact in enumerate(facts)
            ]
        case _:
            return _fitted(facts, region)


def _field(fact: Trace) -> Trace:
    """Return the fact of an object's field: arrays are traced, all else may be declared static by its class."""
    return fact if fact.kind is Kind.TRACED or fact.what in ("array", "numpy") else _FIELD


def _fitted(facts: list[Trace], region: Region) -> list[Trace]:
    missing = len(region.params) - len(facts)
    return [*facts[: len(region.params)], *([UNKNOWN] * missing)]


def _settled(fact: Trace) -> Trace:
    return revised(fact, again=False) if fact.again else fact


def _statics(op: Op, count: int) -> tuple[object, ...]:
    return op.static if op.static is not None and len(op.static) == count else (None,) * count


def _staged(op: Op, fact: Trace, static: object) -> Trace:
    if static is True:
        return fact if fact.kind is Kind.STATIC else STATIC
    if static is None:
        return fact if fact.kind is Kind.TRACED else UNKNOWN
    library = package(op.spelling)
    if library in PLAIN or fact.what in ("array", "numpy"):
        return _traced(op, fact, "argument")
    if library in FILTERING and fact.kind is Kind.STATIC:
        return fact
    return fact if fact.kind is Kind.TRACED else UNKNOWN


def _mapped(op: Op, fact: Trace, axis: object) -> Trace:
    if axis is None or (axis == "?" and fact.kind is Kind.TRACED):
        return fact
    if axis == "?" or op.spelling != "jax.vmap":
        return revised(fact, kind=Kind.UNKNOWN) if fact.kind is not Kind.TRACED else fact
    return _traced(op, fact, "argument")


def _traced(op: Op, fact: Trace, way: str) -> Trace:
    if fact == _FIELD:
        return UNKNOWN
    what = "array" if fact.what in _TO_ARRAY else ""
    return Trace(Kind.TRACED, what, mask=fact.mask, by=op, way=way)


def leaf_of(fact: Trace) -> Trace:
    """Return one leaf of a tree: under plain transformations, and of what these give, each of them is an array."""
    plain = fact.kind is Kind.TRACED and fact.by is not None and package(fact.by.spelling) in PLAIN
    if plain or fact.what == "tree":
        return revised(fact, what="array")
    return revised(fact, what="") if fact.kind is Kind.TRACED else UNKNOWN


def leaving(op: Op, read: Read[Trace], context: Context) -> Sequence[Trace | None]:
    """Return the facts of an op's results from what its regions leave behind; `context` is that of the op itself."""
    inner = [read(value) for value in op.regions[-1].results] if op.regions else []
    operands = [read(value) for value in op.operands]
    match op.name:
        case "py.call" | "custom_jvp" | "custom_vjp" | "transform":
            return _padded(inner, op)
        case "py.loop" | "py.while":
            return _after_loop(op, inner, operands)
        case "jit" | "pmap" | "shard_map" | "scan" | "map" | "fori" | "while" | "associative_scan" | "checkpoint":
            traced, whole = _first_traced(operands), package(op.spelling) in PLAIN
            return _padded(_given_back(op, inner, context, traced, whole=whole), op)
        case "vmap" | "grad" | "jvp" | "vjp":
            # Of a function's own results a gradient hands on what is no array, too; the gradient is one.
            traced, whole = _first_traced(operands), package(op.spelling) in PLAIN
            given = _given_back(op, inner, context, traced, whole=whole and op.name == "vmap")
            if whole and _begins_with_loss(op):
                given[0] = revised(given[0], what="array")
            return _padded(given, op, _outside(CONCRETE, context, traced, whole=whole))
        case "cond":
            regions = zip(*([read(value) for value in region.results] for region in op.regions), strict=True)
            return _padded([_outside(reduce(join, column), context, operands) for column in regions], op)
        case "abstract":
            return [STATIC] * len(op.results)
        case "callback":
            return [_outside(ARRAY, context, operands)] * len(op.results)
        case "tree.map":
            return _padded(inner, op, revised(inner[0], what="") if inner else UNKNOWN)
        case _:
            return [UNKNOWN] * len(op.results)


def _begins_with_loss(op: Op) -> bool:
    """Whether the first of a function's own results is a loss, which JAX takes gradients of only as one array."""
    alone = len(op.regions[0].results) == 1
    return op.name == "grad" and op.transformation not in JACOBIANS and (alone or op.option("has_aux") is True)


def _padded(facts: list[Trace], op: Op, rest: Trace = UNKNOWN) -> list[Trace]:
    return [*facts, *([rest] * (len(op.results) - len(facts)))][: len(op.results)]


def _after_loop(op: Op, inner: list[Trace], operands: list[Trace]) -> list[Trace]:
    carry = len(operands)
    later = [revised(fact, again=True) if fact.kind is Kind.TRACED else fact for fact in inner[:carry]]
    joined = [revised(join(a, b), again=False) for a, b in zip(operands, later, strict=False)]
    return _padded([*joined, *inner[carry:]], op)


def _first_traced(operands: list[Trace]) -> list[Trace]:
    """Find the operand that tells what results are, once for all of them: a model may have thousands."""
    return [one for one in operands if one.kind is Kind.TRACED][:1]


def _given_back(
    op: Op, inner: list[Trace], context: Context, traced: list[Trace], *, whole: bool = False
) -> list[Trace]:
    """Return the results as the code around sees them; what is part of an object's structure stays what it is."""
    flags = op.kept if op.kept is not None and len(op.kept) == len(inner) else (False,) * len(inner)
    pairs = zip(inner, flags, strict=True)
    return [fact if stays else _outside(fact, context, traced, whole=whole) for fact, stays in pairs]


def _outside(fact: Trace, context: Context, operands: list[Trace], *, whole: bool = False) -> Trace:
    """Return a result as the code around a transformation sees it; `whole` where it makes arrays of all leaves."""
    what = "array" if fact.what in _TO_ARRAY else "tree" if whole else ""
    stage = context.stage
    if stage is not None:
        return Trace(Kind.TRACED, what, mask=fact.mask, by=stage, way="made")
    outer = next((one for one in operands if one.kind is Kind.TRACED), None)
    if outer is not None:
        return Trace(Kind.TRACED, what, mask=fact.mask, by=outer.by, way=outer.way)
    if context.tracer is not None:
        return Trace(Kind.UNKNOWN, what, mask=fact.mask)
    return Trace(Kind.CONCRETE, what, mask=fact.mask)
