"""Segments become ops: the equations between the entry and the exit of a transformation, in a region.

Types inside stay physical: under `vmap` each array still has the axis that was mapped, and so has every one further
out. The attributes say which axis that is: `mapped_in` for each parameter, `mapped_out` for each result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat, variables
from jaxaudit.frontends.jaxpr.branches import lower_branches
from jaxaudit.frontends.jaxpr.frames import NOWHERE
from jaxaudit.frontends.jaxpr.markers import MARKER, is_tangent, mapped_axis, shifted
from jaxaudit.frontends.jaxpr.nesting import Call
from jaxaudit.frontends.jaxpr.primitives.base import plain
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.segments import Segment, left_behind, lower_call, lower_reading
from jaxaudit.frontends.jaxpr.sites import BRANCHES, SEGMENTS, Site
from jaxaudit.ir import Value

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

DERIVATIVES = ("grad", "vjp", "jvp")
_ALL_ARGUMENTS = ("vjp", "jvp", "linearize")
_UNMARKED = ("checkpoint", "custom_jvp", "custom_vjp")
_EQUATION_OF = {"checkpoint": ("remat2", "checkpoint"), "custom_jvp": ("custom_jvp_call",)}
_EQUATION_OF["custom_vjp"] = ("custom_vjp_call", "custom_vjp_call_jaxpr")
"""Where nothing is differentiated these keep an equation, which says all there is to say."""


def lower_segment(body: Body, segment: Segment) -> None:
    """Lower one passage through a transformation or a function."""
    if isinstance(segment.key, Call):
        lower_call(body, segment, segment.key)
    elif segment.record is not None and segment.record.kind in BRANCHES:
        lower_branches(body, segment, segment.record)
    elif segment.record is None or _keeps_equation(body, segment, segment.record):
        body.lower(segment.items)
    elif segment.record.kind in _UNMARKED:
        record = segment.record
        attrs = {"function": record.function, "spelling": f"jax.{record.kind}"}
        lower_reading(body, segment, record, SEGMENTS[record.kind], attrs)
    else:
        _lower_passage(body, segment, segment.record)


def _lower_passage(body: Body, segment: Segment, record: Record) -> None:
    writer = body.writer
    start, stop = body.runs[segment.first].start, body.runs[segment.last].stop
    site = Site(record.span, True, NOWHERE, body.sites[start].around)
    marks = list(_marks(body, segment, record))
    posts = {one.outvars[0]: one for one in marks if _is_given(one)}
    entries = [one for one in marks if _enters(one, record.kind) and _known(body, _source(body, one))]
    operands = [body.value(_source(body, one), record.span) for one in entries]
    params = [_parameter(body, one, record) for one in entries]
    with writer.builder.nested("function", record.function, record.span, params) as region:
        handed_in = dict(zip((one.outvars[0] for one in entries), params, strict=True))
        body.env.update(handed_in)
        _lower_inside(body, segment, set(handed_in))
        left = [out for out in left_behind(body, start, stop, posts) if out not in handed_in]
        inner = [body.value(out, record.span) for out in left]
    writer.builder.close(region, tuple(inner))
    results = [_result(body, value, posts.get(out), record) for value, out in zip(inner, left, strict=True)]
    attrs = _attributes(record, entries, left, posts)
    if SEGMENTS[record.kind] in DERIVATIVES:
        attrs["outputs"] = _outputs(body, segment, record)
    writer.hold(SEGMENTS[record.kind], site, operands, attrs, results, (region,))
    body.bind(left, results)
    # What goes in and is read again further on (a backward pass does that) is what was outside all along.
    body.bind(list(handed_in), operands)


def _result(body: Body, inner: Value, post: Any, record: Record) -> Value:
    """Make what comes out of a transformation, called as the user calls it; `post` marks what is handed to the user."""
    made = body.writer.like(inner, record.span)
    leaf = record.leaves.get(("post", post.params["leaf"])) if post is not None else None
    own = variables.name_of_leaf(record.span, leaf.path) if leaf is not None else ""
    role, path = _role(record, post) if SEGMENTS[record.kind] == "grad" else ("", "")
    made.name = own or (f"gradient of {path}" if role == "gradient" and path else made.name)
    return made


def _keeps_equation(body: Body, segment: Segment, record: Record) -> bool:
    names = _EQUATION_OF.get(record.kind, ())
    return any(
        not isinstance(item, Segment) and body.equations[body.runs[item].start].primitive.name in names
        for item in segment.items
    )


def _marks(body: Body, segment: Segment, record: Record) -> Iterator[Any]:
    """Return the markers of a segment's own call, in order of sides and leaves."""
    found = [
        equation
        for item in segment.items
        if not isinstance(item, Segment)
        for equation in body.equations[body.runs[item].start : body.runs[item].stop]
        if equation.primitive.name == MARKER and equation.params["uid"] == record.uid
    ]
    yield from sorted(found, key=lambda one: (is_tangent(one.params["trail"]), one.params["leaf"]))


def _enters(mark: Any, kind: str) -> bool:
    """Whether a marker stands where something goes in: backwards, that is the side of the results."""
    backwards = any(entry[0] == "ct" for entry in mark.params["trail"])
    if backwards and SEGMENTS[kind] == "grad":
        return False
    return mark.params["side"] == ("out" if backwards else "in")


def _source(body: Body, mark: Any) -> Any:
    """Return what a marker marks, looking through other markers before it."""
    atom = mark.invars[0]
    while not compat.is_literal(atom) and (maker := body.made.get(atom)) is not None and maker.primitive.name == MARKER:
        if maker.params["uid"] != mark.params["uid"]:
            break
        atom = maker.invars[0]
    return atom


def _known(body: Body, atom: Any) -> bool:
    return compat.is_literal(atom) or atom in body.env


def _parameter(body: Body, mark: Any, record: Record) -> Value:
    given = body.read(_source(body, mark))
    leaf = record.leaves.get(("in", mark.params["leaf"])) if mark.params["side"] == "in" else None
    name = leaf.path if leaf is not None else (given.name if isinstance(given, Value) else "")
    return body.writer.value(record.span, compat.type_of(mark.outvars[0]), name)


def _lower_inside(body: Body, segment: Segment, known: set[Any]) -> None:
    """Lower the items of a segment but for the markers whose results are parameters already."""
    kept = [
        item
        for item in segment.items
        if isinstance(item, Segment) or not _is_known(body.equations[body.runs[item].start], known)
    ]
    body.lower(kept)


def _is_known(equation: Any, known: set[Any]) -> bool:
    return equation.primitive.name == MARKER and equation.outvars[0] in known


def _attributes(record: Record, entries: list[Any], left: list[Any], posts: Mapping[Any, Any]) -> dict[str, object]:
    attrs: dict[str, object] = {
        "function": record.function,
        "spelling": f"jax.{record.kind}",
        "options": {name: plain(value) for name, value in record.options.items()},
    }
    attrs["given"] = tuple(out in posts for out in left)
    if record.kind == "vmap":
        trails = [one.params["trail"] for one in entries]
        attrs["in_axes"] = tuple(trail[0][1] if trail and trail[0][0] == "v" else None for trail in trails)
        attrs["axis_name"] = plain(record.options.get("axis_name"))
        attrs["axis_size"] = next((trail[0][2] for trail in trails if trail and trail[0][0] == "v"), None)
        attrs["mapped_in"] = tuple(mapped_axis(trail) for trail in trails)
        attrs["inside"] = tuple(_inner_shape(record.leaves.get(("in", one.params["leaf"]))) for one in entries)
        attrs["mapped_out"] = tuple(_mapped_out(record.out_axes, posts.get(out), out) for out in left)
        attrs["collected"] = tuple(_collected(record.out_axes, posts.get(out)) for out in left)
        attrs["out_axes"] = tuple(record.out_axes) if record.out_axes is not None else None
    elif SEGMENTS[record.kind] == "grad":
        attrs["value"] = record.kind == "value_and_grad"
        roles = [_role(record, posts.get(out)) for out in left]
        attrs["gradients"] = tuple(i for i, (role, _) in enumerate(roles) if role == "gradient")
        attrs["roles"] = tuple(role for role, _ in roles)
        places = {_path(record.leaves.get(("in", one.params["leaf"]))): i for i, one in enumerate(entries)}
        attrs["wrt"] = tuple(places.get(path) for _, path in roles)
    if SEGMENTS[record.kind] in DERIVATIVES:
        attrs["differentiated"] = _differentiated(record, entries)
    attrs["paths"] = tuple(_path(record.leaves.get(("in", one.params["leaf"]))) for one in entries)
    return attrs


def _differentiated(record: Record, entries: list[Any]) -> tuple[int, ...]:
    """Return the positions of the parameters that the derivative is taken with respect to."""
    chosen = record.options.get("argnums", 0) if record.kind not in _ALL_ARGUMENTS else None
    numbers = tuple(chosen) if isinstance(chosen, compat.SEQUENCES) else (chosen,)
    leaves = [record.leaves.get(("in", one.params["leaf"])) for one in entries]
    return tuple(i for i, leaf in enumerate(leaves) if leaf and (chosen is None or leaf.argument in numbers))


def _outputs(body: Body, segment: Segment, record: Record) -> tuple[Value, ...]:
    """Return what is differentiated, inside the region: of a gradient that is the loss alone."""
    marks = [
        one
        for one in _marks(body, segment, record)
        if one.params["side"] == "out" and not is_tangent(one.params["trail"])
    ]
    if SEGMENTS[record.kind] == "grad" or record.options.get("has_aux"):
        marks = [one for one in marks if one.params["leaf"] == 0]
    return tuple(made for one in marks if isinstance(made := body.read(one.outvars[0]), Value))


def _is_given(mark: Any) -> bool:
    """Whether a marker is on what the transformation gives its caller."""
    return mark.params["side"] == "post" and not is_tangent(mark.params["trail"])


def _inner_shape(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape that the mapped function sees, without the axes of any `vmap`."""
    return leaf.shape if leaf is not None else None


def _path(leaf: Any) -> str:
    return leaf.path if leaf is not None else ""


def _collected(axes: list[int | None] | None, post: Any) -> int | None:
    """Return the axis along which a result is collected, as the user wrote it."""
    leaf = post.params["leaf"] if post is not None else -1
    return axes[leaf] if axes is not None and 0 <= leaf < len(axes) else None


def _mapped_out(axes: list[int | None] | None, post: Any, out: Any) -> int | None:
    """Return where the mapped axis of a result stands; None where it has none or it is not known."""
    kind = compat.type_of(out)
    if post is None or axes is None or kind is None or post.params["leaf"] >= len(axes):
        return None
    axis = axes[post.params["leaf"]]
    if axis is None:
        return None
    trail = post.params["trail"]
    rank = len(kind.shape) - sum(entry[0] == "v" and entry[1] is not None for entry in trail)
    return shifted(axis % rank, trail) if rank else None


def _role(record: Record, post: Any) -> tuple[str, str]:
    """Return whether a result is value, auxiliary or gradient, by its path; of a gradient also what it is for."""
    leaf = record.leaves.get(("post", post.params["leaf"])) if post is not None else None
    if leaf is None:
        return "", ""
    aux, path = bool(record.options.get("has_aux")), leaf.path
    if record.kind == "value_and_grad":
        if path.startswith("[0]"):
            return ("auxiliary" if aux and path.startswith("[0][1]") else "value"), ""
        path = path.removeprefix("[1]")
    elif aux:
        if path.startswith("[1]"):
            return "auxiliary", ""
        path = path.removeprefix("[0]")
    return "gradient", _argument(record, path)


def _argument(record: Record, path: str) -> str:
    """Return the path of the argument leaf that a gradient belongs to."""
    argnums = record.options.get("argnums", 0)
    if isinstance(argnums, compat.SEQUENCES):
        head, _, path = path.removeprefix("[").partition("]")
        argnums = argnums[int(head)] if head.isdigit() and int(head) < len(argnums) else 0
    names = record.parameters
    return (names[argnums] if argnums < len(names) else "") + path
