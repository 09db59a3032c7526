"""Control flow under JAX: scan, loops, cond, map, and the functions that take a function and run it at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxaudit.frontends.source.interpret import transforms, tree_calls
from jaxaudit.frontends.source.interpret.branches import one_of
from jaxaudit.frontends.source.interpret.interpreter import Interpreter, Reads
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.interpret.regions import (
    Parametrised,
    aligned,
    data_leaves,
    flattened,
    given_at,
    leaves_in_order,
    lifted,
    with_data,
    with_leaves,
)
from jaxaudit.frontends.source.interpret.staging import kind_of_argument
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import name_of
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, TupleValue
from jaxaudit.frontends.source.values.structure import argument, materialise, merge
from jaxaudit.frontends.source.values.trees import trees_of
from jaxaudit.ir import Region, Value
from jaxaudit.ir.trees import Border
from jaxaudit.spans import Span

Handler = Callable[["Interpreter", Arguments, Span], Abstract | None]


def _given(given: Arguments, *names: str) -> list[Abstract | None] | None:
    """Bind arguments to parameter names; None when something came by an unknown `*` or `**`."""
    if given.star is not None or given.stars is not None:
        return None
    return [given.get(position, name) for position, name in enumerate(names)]


def scan(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.scan(f, init, xs, length, reverse, unroll)`."""
    bound = _given(given, "f", "init", "xs", "length", "reverse", "unroll")
    if bound is None or bound[0] is None or bound[1] is None:
        return None
    function, xs = bound[0], bound[2] or NONE
    return run_scan(it, function, bound[1], xs, {"length": bound[3], "reverse": bound[4]}, span)


def run_scan(
    it: Interpreter,
    function: Abstract,
    init: Abstract,
    xs: Abstract,
    options: dict[str, Abstract | None],
    span: Span,
    call: Callable[[Abstract, Abstract], Arguments] = lambda carry, x: Arguments((carry, x)),
) -> Abstract:
    """Interpret a scan; `call` says how the function is given the carry and one element."""
    init, xs = lifted(it, init, span), lifted(it, xs, span)
    carry, items = flattened(it, [init]), flattened(it, [xs])
    params = (*carry.params, *items.params)
    with it.builder.nested("function", name_of(function), span, params) as region, it.inside("scan", carry):
        inner = transforms.call_inside(it, function, call(carry.values[0], items.values[0]), span)
        next_carry, ys = _pair(it, inner, span)
        out = _carried(it, carry, next_carry, span)
        handed = Border(trees_of(it, (next_carry,)))
        # A number that is given every turn is stacked to an array as well.
        ys = lifted(it, ys, given_at(it, span))
        per_step = leaves_in_order(it, ys, copy=True)
    it.builder.close(region, (*out, *per_step))
    attrs = _loop_attrs(it, function, len(carry.params), options, span)
    attrs |= {"entered": carry.entered, "held": (*carry.held, *items.held), "xs": kind_of_argument(it, xs)}
    attrs |= {"border": Border(trees_of(it, (init, xs))), "handed": handed}
    made = tuple(it.builder.value(span, value.name) for value in (*carry.params, *per_step))
    it.emit("scan", span, attrs=attrs, operands=(*carry.operands, *items.operands), results=made, regions=(region,))
    final = with_data(it, init, made[: len(carry.params)])
    return TupleValue((final, with_leaves(it, ys, made[len(carry.params) :], copy=True)))


def _pair(it: Interpreter, value: Abstract, span: Span) -> tuple[Abstract, Abstract]:
    parts = known_items(it, value)
    if parts is not None and len(parts) == 2:
        return parts[0], parts[1]
    whole = materialise(it, value, span)
    op = it.emit("py.unpack", span, {"base": whole}, {"count": 2, "star": None}, results=2)
    return Leaf(op.results[0]), Leaf(op.results[1])


def _carried(it: Interpreter, carry: Parametrised, end: Abstract, span: Span) -> tuple[Value, ...]:
    """Return the values of the next turn, one for each leaf of the carry."""
    found = aligned(it, carry.values[0], end, span)
    if len(found) == len(carry.params):
        return tuple(found)
    # An object of which only parts are known shows more of them once the body has read it.
    if len(carry.params) == 1:
        return (materialise(it, end, span),)
    return tuple(it.unknown("the parts of the carry are not all known", span).value for _ in carry.params)


def _loop_attrs(
    it: Interpreter, function: Abstract, carry: int, options: dict[str, Abstract | None], span: Span
) -> dict[str, object]:
    known = {name: argument(it, value, span) for name, value in options.items() if value is not None}
    return {"function": name_of(function), "carry": carry, **known}


def fori(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.fori_loop(lower, upper, body, init)`."""
    bound = _given(given, "lower", "upper", "body_fun", "init_val")
    if bound is None or None in bound:
        return None
    lower, upper, function, start = (value or NONE for value in bound)
    init = lifted(it, start, span)
    bounds = (materialise(it, lower, span), materialise(it, upper, span))
    carry = flattened(it, [init])
    index = it.builder.value(span, "i")
    params = (index, *carry.params)
    with it.builder.nested("function", name_of(function), span, params) as region, it.inside("fori", carry):
        inner = transforms.call_inside(it, function, Arguments((Leaf(index), carry.values[0])), span)
        out = _carried(it, carry, inner, span)
        handed = Border(trees_of(it, (inner,)))
    it.builder.close(region, out)
    trips = _trips(lower, upper)
    attrs = {
        **_loop_attrs(it, function, len(carry.params), {}, span),
        "trips": trips,
        "entered": carry.entered,
        "held": (False, False, *carry.held),
        "handed": handed,
    }
    attrs["border"] = Border(trees_of(it, (init,)))
    made = tuple(it.builder.value(span, value.name) for value in carry.params)
    it.emit("fori", span, attrs=attrs, operands=(*bounds, *carry.operands), results=made, regions=(region,))
    return with_data(it, init, made)


def _trips(lower: Abstract, upper: Abstract) -> int | None:
    if isinstance(lower, Const) and isinstance(upper, Const):
        if isinstance(lower.value, int) and isinstance(upper.value, int):
            return max(0, upper.value - lower.value)
    return None


def while_(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.while_loop(cond, body, init)`."""
    bound = _given(given, "cond_fun", "body_fun", "init_val")
    if bound is None or None in bound:
        return None
    condition, body, start = (value or NONE for value in bound)
    init = lifted(it, start, span)
    tested, carry = flattened(it, [init]), flattened(it, [init])
    params = tested.params
    with it.builder.nested("function", name_of(condition), span, params) as test_region, it.inside("while", tested):
        asked = transforms.call_inside(it, condition, Arguments(tested.values), span)
        answer = materialise(it, asked, span)
    it.builder.close(test_region, (answer,))
    with it.builder.nested("function", name_of(body), span, carry.params) as region, it.inside("while", carry):
        inner = transforms.call_inside(it, body, Arguments(carry.values), span)
        out = _carried(it, carry, inner, span)
        handed = Border(trees_of(it, (inner,)))
    it.builder.close(region, out)
    attrs = {**_loop_attrs(it, body, len(carry.params), {}, span), "entered": tested.entered, "held": carry.held}
    attrs["handed"] = handed
    attrs["border"] = Border(trees_of(it, (init,)))
    if isinstance(kind := given.keywords.get("kind"), Const):
        # Equinox's own loop says how its backward pass works.
        attrs["kind"] = kind.value
    made = tuple(it.builder.value(span, value.name) for value in carry.params)
    it.emit("while", span, attrs=attrs, operands=carry.operands, results=made, regions=(test_region, region))
    return with_data(it, init, made)


def cond(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.cond(pred, true_fun, false_fun, *operands)`, and its old form with an operand for each side."""
    if given.star is not None or given.stars is not None or not (given.positional or "pred" in given.keywords):
        return None
    predicate = given.get(0, "pred")
    first, second = given.get(1, "true_fun"), given.get(2, "false_fun")
    operands = given.positional[3:]
    if "operand" in given.keywords:
        operands = (given.keywords["operand"],)
    if len(given.positional) == 5 and not _callable(first) and _callable(given.positional[4]):
        _, left, first, right, second = given.positional
        return _choose(it, predicate or NONE, [(first, slice(0, 1)), (second, slice(1, 2))], (left, right), span)
    if predicate is None or first is None or second is None:
        return None
    return _choose(it, predicate, [(first, _ALL), (second, _ALL)], operands, span)


_ALL = slice(None)


def _callable(value: Abstract | None) -> bool:
    return value is not None and not isinstance(value, Const | Leaf | TupleValue)


def switch(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.switch(index, branches, *operands)`."""
    index, branches = given.get(0, "index"), given.get(1, "branches")
    functions = known_items(it, branches) if branches is not None else None
    if index is None or not functions or given.star is not None:
        return None
    operands = given.positional[2:]
    if "operand" in given.keywords:
        operands = (given.keywords["operand"],)
    return _choose(it, index, [(function, _ALL) for function in functions], operands, span)


def _choose(
    it: Interpreter,
    predicate: Abstract,
    branches: Sequence[tuple[Abstract, slice]],
    operands: Sequence[Abstract],
    span: Span,
) -> Abstract:
    """Interpret each branch in its own region, on its share of the operands, and merge what they give."""
    asked = materialise(it, predicate, span)
    entered = (it.builder.newest, it.heap.newest)
    regions: list[Region] = []
    inner: list[Abstract] = []
    arrays: list[Abstract] = []
    given = [lifted(it, value, span) for value in operands]
    before = it.reads()
    after: list[Reads] = []
    inputs = flattened(it, given)
    for at, (function, share) in enumerate(branches):
        inputs = flattened(it, given) if at else inputs
        with it.builder.nested("function", name_of(function), span, inputs.params) as region:
            inner.append(transforms.call_inside(it, function, Arguments(inputs.values[share]), span))
            arrays.append(lifted(it, inner[-1], given_at(it, span)))
        regions.append(region)
        after.append(it.reads())
        it.restore(before)
    columns: list[list[Value]] = []
    made: list[Value] = []

    def column(values: Sequence[Abstract]) -> Leaf:
        parts: list[Value] = []
        for value, region, reads in zip(values, regions, after, strict=True):
            it.restore(reads)
            with it.builder.reopened(region):
                parts.append(materialise(it, value, span))
        columns.append(parts)
        made.append(it.builder.value(span, next((part.name for part in parts if part.name), "")))
        return one_of(it, made[-1], values)

    merged = merge(arrays, column, it)
    it.restore(before)
    for at, region in enumerate(regions):
        it.builder.close(region, tuple(parts[at] for parts in columns))
    names = ", ".join(name_of(function) for function, _ in branches)
    attrs: dict[str, object] = {"function": names, "entered": entered, "handed": Border(trees_of(it, inner))}
    it.emit("cond", span, attrs=attrs, operands=(asked, *inputs.operands), results=tuple(made), regions=tuple(regions))
    return merged


def _runs(op: str, skip: int = 1, spelling: str = "") -> Handler:
    """Make the handler of a function that takes a function first and runs it on what follows its `skip` arguments.

    One with a `spelling` of its own leaves alone whatever is no array, as Equinox's filtered functions do.
    """

    def handler(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        if len(given.positional) < skip or not given.positional:
            return None
        function = given.positional[0]
        rest = given.positional[skip:]
        # Whatever else is given by name is an option, but for what only computes shapes.
        words = given.keywords if spelling or op == "abstract" else {}
        stars = given.stars if spelling or op == "abstract" else None
        staged = rest if spelling else tuple(lifted(it, value, span) for value in rest)
        words = words if spelling else {name: lifted(it, value, span) for name, value in words.items()}
        operands = Arguments(staged, words, given.star, stars)
        inputs = flattened(it, operands.all())
        attrs: dict[str, object] = {"function": name_of(function), "spelling": spelling}
        if op in ("map", "tree.map"):
            attrs["in_axes"] = (0,) * len(inputs.operands)
            attrs["xs"] = kind_of_argument(it, rest[0]) if rest else ""
        elif op in ("vjp", "jvp"):
            attrs |= {"differentiated": tuple(range(len(inputs.operands))), "arguments": len(staged)}
        result, _ = transforms.run_body(it, op, function, operands, inputs, attrs, span)
        return result

    return handler


def lax_map(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.map(f, xs)`."""
    function, items = given.get(0, "f"), given.get(1, "xs")
    if function is None or items is None:
        return None
    return _runs("map")(it, Arguments((function, items), star=given.star), span)


def host_callback(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret a call of Python code at run time, which gives arrays as its second argument says."""
    made = _runs("callback", 2)(it, given, span)
    like = given.get(1, "result_shape_dtypes")
    return made if made is None or like is None else leaf_by_leaf(it, like, materialise(it, made, span), span)


def vjp(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.vjp(f, *primals)` and `jax.linearize`: the outputs and a function nothing more is known of."""
    made = _runs("vjp")(it, Arguments(given.positional, {}, given.star), span)
    if made is None:
        return None
    parts: tuple[Abstract, ...] = (made, it.unknown("the derivative as a function", span))
    if given.keywords.get("has_aux") == Const(True) and isinstance(made, TupleValue) and len(made.items) == 2:
        parts = (made.items[0], parts[1], made.items[1])
    return TupleValue(parts)


def jvp(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.jvp(f, primals, tangents)`: the outputs, and as many tangents of the same shapes."""
    primals = known_items(it, given.positional[1]) if len(given.positional) >= 2 else None
    if primals is None:
        return None
    made = _runs("jvp")(it, Arguments((given.positional[0], *primals)), span)
    if made is None:
        return None
    tangents = it.unknown("the tangents", span).value
    return TupleValue((made, leaf_by_leaf(it, made, tangents, span)))


def associative_scan(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `lax.associative_scan(fn, elems, reverse, axis)`: the function combines two elements."""
    bound = _given(given, "fn", "elems", "reverse", "axis")
    if bound is None or bound[0] is None or bound[1] is None:
        return None
    function, elements = bound[0], bound[1]
    pair = Arguments((elements, elements))
    inputs = flattened(it, pair.all())
    attrs = _loop_attrs(it, function, 0, {"reverse": bound[2], "axis": bound[3]}, span)
    result, _ = transforms.run_body(it, "associative_scan", function, pair, inputs, attrs, span)
    # JAX hands the leaves of what is combined back in the structure of the elements.
    made = data_leaves(it, result)
    return with_data(it, elements, made) if len(made) == len(data_leaves(it, elements)) else result


def _spellings() -> dict[str, Handler]:
    """List every function by all its qualified names: lax, and the libraries that wrap it with the same parameters."""
    table: dict[str, Handler] = {
        "jax.lax.map": lax_map,
        "jax.lax.associative_scan": associative_scan,
        "jax.eval_shape": _runs("abstract"),
        "equinox.filter_eval_shape": _runs("abstract", spelling="equinox.filter_eval_shape"),
        "flax.nnx.eval_shape": _runs("abstract"),
        "haiku.eval_shape": _runs("abstract"),
        "jax.tree.map": tree_calls.tree_map,
        "jax.tree.map_with_path": tree_calls.tree_map_with_path,
        "jax.vjp": vjp,
        "equinox.filter_vjp": vjp,
        "flax.nnx.vjp": vjp,
        "jax.linearize": vjp,
        "jax.jvp": jvp,
        "equinox.filter_jvp": jvp,
        "jax.pure_callback": host_callback,
        "jax.experimental.io_callback": host_callback,
        "jax.debug.callback": _runs("callback"),
        "equinox.filter_pure_callback": host_callback,
    }
    loops: dict[str, Handler] = {"scan": scan, "fori_loop": fori, "while_loop": while_, "cond": cond, "switch": switch}
    for module in ("jax.lax", "haiku", "flax.nnx", "numpyro.contrib.control_flow", "numpyro.util", "equinox.internal"):
        for name, handler in loops.items():
            # Flax's own scan lifts a class or a function; it is a wrapper, not a loop.
            if not (module == "flax.nnx" and name == "scan"):
                table[f"{module}.{name}"] = handler
    return table


HANDLERS = _spellings()
