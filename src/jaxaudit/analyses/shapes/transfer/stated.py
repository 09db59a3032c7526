"""What the row of a library function states about its result, computed from the arguments of a call.

A call with an option that its row does not model gives something unknown. Layers are made first and called later: what
they were made with is in the fact of the layer, and counts among the options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from jaxaudit.analyses.dims import UNKNOWN, variable
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array, integer, sequence
from jaxaudit.analyses.shapes.literals import array_like, shaped
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.transfer import distributions, environments, keys, layers, windows
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Like, Made, Number, Parts, Result, Shaped

_ALWAYS = frozenset(("self", "key", "dtype", "param_dtype", "out_sharding"))
"""Arguments that every stated result takes into account."""


_STATED = distributions.SHAPES | environments.SPACES
"""What facts of objects say that are no options of theirs."""


def stated(look: Look, name: str) -> ShapeFact | None:
    """Return what a call gives by the row of its function; None where the row says nothing of shapes."""
    row = lookup(name)
    if row is None or not _speaks(row.result):
        return None
    if not look.op.arguments.keys() <= _modelled(name):
        return NOTHING
    layer = look.fact("self").layer
    if layer is not None and not layer.names <= _modelled(layer.name) | row.computed_from | _STATED:
        return NOTHING
    return _computed(look, row.result)


@cache
def _modelled(name: str) -> frozenset[str]:
    """Return the arguments of a function that its row takes into account."""
    row = lookup(name)
    if row is None:
        return _ALWAYS
    return _ALWAYS | row.plain | row.computed_from | {param.lstrip("*") for param in row.params}


def _speaks(result: Result) -> bool:
    """Whether a result says anything about shapes."""
    if isinstance(result, Parts):
        return any(map(_speaks, result.items))
    return isinstance(result, Like | Number | Shaped) or (isinstance(result, Made) and result.inside is not None)


def _computed(look: Look, result: Result) -> ShapeFact:
    match result:
        case Like(param=param, dtypes=dtypes):
            given = look.fact(param)
            known = given if given.dims is not None or given.layer is not None else NOTHING
            layer = look.fact("self").layer
            told = look.has("dtype") or (layer is not None and "dtype" in layer.names)
            return known if dtypes and not told else array(known.dims, None)
        case Number(dtype="int32", python=True):
            return integer(UNKNOWN)
        case Number(dtype=dtype, python=python, sizes=sizes):
            own = look.op.results[0].id
            return array(tuple(variable(f"{size}#{own}", "size", own) for size in sizes), dtype, weak=python)
        case Shaped(function=function, arguments=arguments):
            return _FUNCTIONS[function](look, *arguments)
        case Made(inside=inside):
            return array_like(_computed(look, inside))
        case Parts(items=items):
            return sequence(tuple(_computed(look, item) for item in items))
    return NOTHING


def _pairwise(look: Look, *names: str) -> ShapeFact:
    """What compares or joins elements."""
    given = [array_like(look.fact(name)) for name in names if look.has(name)]
    dims, _ = broadcast([fact.dims for fact in given])
    return array(dims, promote(given)[0])


def _without(look: Look, scores: str, axis: str) -> ShapeFact:
    """What uses up the axis of classes."""
    given = look.fact(scores)
    if look.raw(axis) not in (None, -1):
        return NOTHING
    return array(without_axis(given, -1).dims, given.dtype)


def _per_label(look: Look, scores: str, labels: str, axis: str) -> ShapeFact:
    """The same where the labels have an index for each example."""
    each, rows = look.fact(labels).dims, _without(look, scores, axis).dims
    if each is None or look.raw(axis) not in (None, -1):
        return _without(look, scores, axis)
    # Scores and labels go row by row: what is known of an axis of the one holds for the other.
    met = each if rows is None or len(rows) != len(each) else broadcast([each, rows])[0] or each
    return array(met, look.fact(scores).dtype)


def _specified(look: Look, shape: str, dtype: str) -> ShapeFact:
    """What has the shape and the dtype that are given."""
    return shaped(look.fact(shape), look.dtype(dtype))


_FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {
    "broadcast": _pairwise,
    "without": _without,
    "specified": _specified,
    "per_label": _per_label,
    **keys.FUNCTIONS,
    **distributions.FUNCTIONS,
    **environments.FUNCTIONS,
    **layers.FUNCTIONS,
    **windows.FUNCTIONS,
}
"""The functions that rows name, by their names there."""
