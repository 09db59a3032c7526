"""Calls: `jit`, `checkpoint`, custom derivatives and device maps. A library's own calls are inlined at the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat, variables
from jaxaudit.frontends.jaxpr.files import JAX, USER, layer_of
from jaxaudit.frontends.jaxpr.primitives.base import plain
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.ir import Region, Value

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

_JAXPR_PARAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")


def jit(body: Body, equation: Any, site: Site) -> None:
    """Lower a compiled call; what JAX or a library compiles for itself is no boundary to the user."""
    jaxpr = _jaxpr(equation)
    if not _is_users(body, compat.function_of(jaxpr), site):
        inlined(body, equation, site)
        return
    _body_op(body, "jit", equation, site, {"spelling": "jax.jit", "options": {}})


def checkpoint(body: Body, equation: Any, site: Site) -> None:
    """Lower a checkpointed call; the one in a backward pass computes the forward pass again."""
    again = bool(equation.params.get("differentiated"))
    _body_op(body, "checkpoint", equation, site, {"recomputed": True} if again else {}, recomputed=again)


def custom_jvp(body: Body, equation: Any, site: Site) -> None:
    """Lower a call of a function with its own forward derivative."""
    _custom("custom_jvp", body, equation, site)


def custom_vjp(body: Body, equation: Any, site: Site) -> None:
    """Lower a call of a function with its own backward derivative."""
    _custom("custom_vjp", body, equation, site)


def _custom(name: str, body: Body, equation: Any, site: Site) -> None:
    """Lower a call that nothing differentiates; the function's rules are looked at by themselves."""
    function = compat.function_of(_jaxpr(equation))
    if layer_of(function.path) == USER:
        _body_op(body, name, equation, site, {})
        body.writer.undifferentiated.setdefault((function.path, function.line), function.name)
    else:
        inlined(body, equation, site)


def shard_map(body: Body, equation: Any, site: Site) -> None:
    """Lower one program a shard; `pmap` is made of it since jax 0.8."""
    record = site.around.control or body.context.control
    params = equation.params
    specs = params.get("in_specs", params.get("in_names", ()))
    out_specs = params.get("out_specs", params.get("out_names", ()))
    mesh = params.get("mesh")
    attrs: dict[str, object] = {
        "in_specs": plain(specs),
        "out_specs": plain(out_specs),
        "split_in": tuple(_split(spec, mesh) for spec in specs),
        "split_out": tuple(_split(spec, mesh) for spec in out_specs),
        "mesh": str(mesh),
        "check": bool(params.get("check_vma", params.get("check_rep", False))),
        "in_axes": tuple(_first_axis(spec) for spec in specs),
    }
    is_pmap = record is not None and record.kind == "pmap"
    if is_pmap and record is not None:
        attrs["axis_name"] = plain(record.options.get("axis_name"))
        attrs["function"] = record.function
    _body_op(body, "pmap" if is_pmap else "shard_map", equation, site, attrs)


def _own_names(params: Sequence[Value], operands: Sequence[Value]) -> None:
    """Call what goes into `pmap` as it is called outside; inside JAX calls it `flat_args`."""
    for param, operand in zip(params, operands, strict=False):
        if param.name.startswith("flat_args"):
            param.name = operand.name


def pmap(body: Body, equation: Any, site: Site) -> None:
    """Lower `pmap` as it was before jax 0.8."""
    axes = tuple(equation.params.get("in_axes", ()))
    attrs: dict[str, object] = {"in_axes": axes, "axis_name": plain(equation.params.get("axis_name"))}
    _body_op(body, "pmap", equation, site, attrs)


def _first_axis(spec: Any) -> int | None:
    """Return the first axis that a spec spreads over devices; None when the array is the same everywhere."""
    if hasattr(spec, "items"):
        return min((int(axis) for axis in spec), default=None)
    return next((axis for axis, names in enumerate(spec) if names is not None), None)


def _split(spec: Any, mesh: Any) -> tuple[str, ...]:
    """Return the axes of a mesh with several devices that a spec spreads an array over."""
    entries = spec.values() if hasattr(spec, "items") else spec
    several = [name for names in entries for name in (names if isinstance(names, tuple) else (names,))]
    sizes = dict(mesh.shape)
    return tuple(name for name in several if sizes.get(name, 1) > 1)


def inlined(body: Body, equation: Any, site: Site) -> None:
    """Lower a call as if its equations stood here; those of JAX's own functions are at the user's call."""
    jaxpr = _jaxpr(equation)
    before = body.writer.builder.newest
    is_jax = not _has_user_code(jaxpr)
    within = (body.context.within or site.origin.api or readable(compat.function_of(jaxpr).name)) if is_jax else ""
    inner = body.inner(jaxpr, site, inlined=not compat.CUTS_TRACEBACKS and is_jax, within=within)
    body.bind(equation.outvars, inner.run([body.read(atom) for atom in equation.invars]))
    body.name_call(equation.outvars, before)


def _has_user_code(jaxpr: Any) -> bool:
    """Whether a jaxpr is of a user's function, or JAX's own wrapper around one, such as that of `pmap`."""
    path = compat.function_of(jaxpr).path
    if layer_of(path) != JAX or path.endswith("pmap.py"):
        return True
    inner = (one for equation in compat.open_jaxpr(jaxpr).eqns for one in compat.inner_jaxprs(equation.params))
    return any(map(_has_user_code, inner))


def _jaxpr(equation: Any) -> Any:
    return next(equation.params[name] for name in _JAXPR_PARAMS if compat.is_jaxpr(equation.params.get(name)))


def _is_users(body: Body, function: compat.Function, site: Site) -> bool:
    layer = layer_of(function.path)
    if layer in (USER, JAX):
        return layer == USER
    return not body.context.inlined and site.origin.caller in (USER, "")


def _body_op(
    body: Body, name: str, equation: Any, site: Site, attrs: dict[str, object], *, recomputed: bool = False
) -> None:
    jaxpr = _jaxpr(equation)
    function = compat.function_of(jaxpr)
    operands = body.values(equation.invars, site.span)
    region = enter(body, jaxpr, site, operands, recomputed=recomputed)
    if name == "pmap":
        _own_names(region.params, operands)
    attrs = {"function": readable(function.name), **attrs}
    leave(body, name, site, equation.outvars, operands, attrs, (region,), function.results)


def readable(name: str) -> str:
    """Name a function for people."""
    return name.replace("<lambda>", "lambda")


def parameters(body: Body, jaxpr: Any, site: Site, skip: int = 0) -> list[Value]:
    """Make the parameters of a region from the variables of a jaxpr, named as the function names them."""
    variables = compat.open_jaxpr(jaxpr).invars
    known, control = compat.function_of(jaxpr).arguments or (), site.around.control
    names = list(known)[skip:] if len(known) == len(variables) else []
    if not names and control is not None and not site.around.backward:
        names = list(control.turn)
    names = names if len(names) == len(variables) - skip else [""] * (len(variables) - skip)
    place = body.writer.place(compat.function_of(jaxpr), site.span)
    return [
        body.writer.value(place, compat.type_of(variable), name or "")
        for variable, name in zip(variables[skip:], names, strict=True)
    ]


def enter(
    body: Body, jaxpr: Any, site: Site, operands: Sequence[Value], *, consts: int = 0, recomputed: bool = False
) -> Region:
    """Lower a jaxpr in a region of its own; its first `consts` operands are seen from outside, not handed in."""
    params = parameters(body, jaxpr, site, consts)
    function = compat.function_of(jaxpr)
    place = body.writer.place(function, site.span)
    with body.writer.builder.nested("function", readable(function.name), place, params) as region:
        inner = body.inner(jaxpr, site, recomputed=recomputed)
        out = inner.run([*operands[:consts], *params])
        results = body.writer.results(out, compat.open_jaxpr(jaxpr).outvars, site.span)
    body.writer.builder.close(region, results)
    return region


def leave(
    body: Body,
    name: str,
    site: Site,
    outs: Sequence[Any],
    operands: Sequence[Value],
    attrs: Mapping[str, object],
    regions: Sequence[Region],
    paths: Sequence[str] | None = None,
) -> None:
    """Append the op that holds regions, with results for the variables of its equation.

    They are called as the user calls them; `paths` say where each result sits in what the function gives.
    """
    inner = regions[-1].results
    names = [inner[i].name if len(inner) == len(outs) else "" for i in range(len(outs))]
    if paths is not None and len(paths) == len(outs):
        attrs = {**attrs, "leaves": tuple(paths)}
    else:
        paths = _forgotten(name, site, outs)
    # What only passes through is still what went in, and keeps that name; a backward pass gives nothing by name.
    through = {value for region in regions for value in region.params} if name == "jit" else set()
    told = [""] * len(outs) if site.around.backward else [_name(site, path) for path in paths]
    if name == "jit" and site.own and not any(paths) and len(inner) == len(outs) and not site.around.backward:
        named = variables.result_names(site.span, regions[0].span)
        told = [named(value.span, value.name) for value in inner]
    names = [
        known if len(inner) == len(outs) and inner[at] in through else given or known
        for at, (given, known) in enumerate(zip(told, names, strict=True))
    ]
    results = [body.writer.value(site.span, compat.type_of(out), known) for out, known in zip(outs, names, strict=True)]
    body.writer.hold(name, site, operands, attrs, results, regions)
    body.bind(outs, results)


def _name(site: Site, path: str) -> str:
    """Return the user's name for a leaf of a result; empty where it is not known which leaf it is."""
    return variables.name_of_leaf(site.span, path.removeprefix("result")) if site.own and path else ""


def _forgotten(name: str, site: Site, outs: Sequence[Any]) -> Sequence[str]:
    """Return where the results of a loop sit when JAX has forgotten it: what is carried, then what is stacked.

    A differentiated loop also stacks what its backward pass needs, so several that are stacked are not told apart.
    """
    control = site.around.control
    carried = control.carried if control is not None and name in ("scan", "while") else ()
    stacked = len(outs) - len(carried)
    if not carried or stacked < 0:
        return [""] * len(outs)
    return [*(f"result{path}" for path in carried), *(["result[1]"] if stacked == 1 else [""] * stacked)]
