"""Control flow: scans, loops and branches, with the conventions of the source front end.

What a body only reads (its constants) is no operand: the region sees the value itself, as a closure would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.calls import enter, leave, parameters, readable
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.ir import Argument

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body


def scan(body: Body, equation: Any, site: Site) -> None:
    """Lower `lax.scan`, and `lax.map` and `lax.fori_loop` where they are made of it."""
    params = equation.params
    consts, carry = compat.scan_counts(params)
    function = compat.function_of(params["jaxpr"])
    if _is_fori(function, site) and carry and len(equation.invars) == consts + carry:
        _fori(body, equation, site, params["jaxpr"], consts, 1, _upper(body, equation.invars[consts], params["length"]))
        return
    operands = body.values(equation.invars, site.span)
    region = enter(body, params["jaxpr"], site, operands, consts=consts)
    record = site.around.control
    known: dict[str, object] = {"function": readable(function.name)}
    if record is not None and record.kind == "map" and carry == 0:
        attrs = {**known, "function": record.function, "in_axes": (0,) * (len(operands) - consts)}
        leave(body, "map", site, equation.outvars, operands[consts:], attrs, (region,), function.results)
        return
    attrs = {**known, "carry": carry, "length": int(params["length"]), "reverse": bool(params["reverse"])}
    leave(body, "scan", site, equation.outvars, operands[consts:], attrs, (region,), function.results)


def _is_fori(function: compat.Function, site: Site) -> bool:
    record = site.around.control
    return function.traced_for == "fori_loop" or (record is not None and record.kind == "fori_loop")


def _upper(body: Body, lower: Any, length: Any) -> Argument:
    first = body.read(lower)
    return first + int(length) if isinstance(first, int) else int(length)


def _fori(body: Body, equation: Any, site: Site, jaxpr: Any, consts: int, skip: int, upper: Argument) -> None:
    """Lower a counted loop. Its carried values start with the counter, and in a `while` with the upper bound."""
    writer = body.writer
    function = compat.function_of(jaxpr)
    first = len(equation.invars) - len(equation.outvars)
    lower = body.read(equation.invars[first])
    given = [body.read(atom) for atom in equation.invars[first + skip :]]
    bounds = [writer.materialise(bound, site.span) for bound in (lower, upper)]
    operands = body.values(equation.invars[first + skip :], site.span)
    params = parameters(body, jaxpr, site, consts)
    params[0].name = params[0].name or "i"
    place = writer.place(function, site.span)
    with writer.builder.nested("function", readable(function.name), place, (params[0], *params[skip:])) as region:
        fixed = [body.read(atom) for atom in equation.invars[first - consts : first]]
        hidden: list[Argument] = [upper] * (skip - 1)
        out = body.inner(jaxpr, site).run([*fixed, params[0], *hidden, *params[skip:]])
        results = writer.results(out[skip:], compat.open_jaxpr(jaxpr).outvars[skip:], site.span)
    writer.builder.close(region, results)
    trips = max(0, upper - lower) if isinstance(upper, int) and isinstance(lower, int) else None
    attrs: dict[str, object] = {"function": readable(function.name), "carry": len(given), "trips": trips}
    leave(body, "fori", site, equation.outvars[skip:], [*bounds, *operands], attrs, (region,))
    body.bind(equation.outvars[:skip], [upper] * skip)


def while_loop(body: Body, equation: Any, site: Site) -> None:
    """Lower `lax.while_loop`, and `lax.fori_loop` where it is made of it."""
    params = equation.params
    tested, fixed = params["cond_nconsts"], params["body_nconsts"]
    function = compat.function_of(params["body_jaxpr"])
    if _is_fori(function, site) and _counts(params, fixed) and not tested:
        upper = body.read(equation.invars[fixed + 1])
        _fori(body, equation, site, params["body_jaxpr"], fixed, 2, upper)
        return
    operands = body.values(equation.invars, site.span)
    carried = operands[tested + fixed :]
    test = enter(body, params["cond_jaxpr"], site, [*operands[:tested], *carried], consts=tested)
    turn = enter(body, params["body_jaxpr"], site, operands[tested:], consts=fixed)
    attrs: dict[str, object] = {"function": readable(function.name), "carry": len(carried)}
    leave(body, "while", site, equation.outvars, carried, attrs, (test, turn), function.results)


def _counts(params: Any, fixed: int) -> bool:
    """Whether a loop still has the form that `fori_loop` gives it: counter, bound, carried values."""
    turn = compat.open_jaxpr(params["body_jaxpr"])
    test = compat.function_of(params["cond_jaxpr"]).name
    carried = turn.invars[fixed:]
    return len(carried) > 1 and test == "_fori_cond_fun" and turn.outvars[1] is carried[1]


def cond(body: Body, equation: Any, site: Site) -> None:
    """Lower `lax.cond` (true branch first, as it is written) and `lax.switch`."""
    branches = list(equation.params["branches"])
    if len(branches) == 2 and _is_truth(body, equation.invars[0]):
        branches.reverse()
    predicate = body.value(asked(body, equation.invars[0]), site.span)
    operands = body.values(equation.invars[1:], site.span)
    regions = [enter(body, branch, site, operands) for branch in branches]
    names = ", ".join(readable(compat.function_of(branch).name) for branch in branches)
    paths = compat.function_of(branches[0]).results
    leave(body, "cond", site, equation.outvars, [predicate, *operands], {"function": names}, regions, paths)


def _is_truth(body: Body, index: Any) -> bool:
    kind = compat.type_of(asked(body, index))
    return kind is not None and kind.dtype == "bool"


def asked(body: Body, index: Any) -> Any:
    """Look through what JAX does to the number of a branch: a truth value becomes one, others are clamped."""
    maker = None if compat.is_literal(index) else body.made.get(index)
    if maker is None:
        return index
    if maker.primitive.name == "convert_element_type":
        source = maker.invars[0]
        kind = compat.type_of(source)
        return source if kind is not None and kind.dtype == "bool" and not compat.is_literal(source) else index
    if compat.is_clamp_of_switch(maker) and not compat.is_literal(maker.invars[1]):
        return asked(body, maker.invars[1])
    return index
