"""Transformations that wrap a function: jit, vmap, grad and their kin, in every library's spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret import derivatives, functions, lifts, prefixes, references
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import (
    Parametrised,
    data_leaves,
    flattened,
    leaves_in_order,
    lifted,
    renewed,
    with_data,
    with_leaves,
)
from jaxaudit.frontends.source.interpret.staging import captured_values, signature_of, stage, static_leaves
from jaxaudit.frontends.source.notes import misfits
from jaxaudit.frontends.source.values.arguments import Arguments, known_items, unfolded
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
    name_of,
    written_in,
)
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import argument, materialise
from jaxaudit.frontends.source.values.trees import note_given_back, tree_of, trees_of
from jaxaudit.ir import Argument
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES, DERIVATIVES
from jaxaudit.ir.record import replace
from jaxaudit.ir.trees import Border
from jaxaudit.libraries.transformations import FUNCTION_PARAMETERS, WRAPPERS
from jaxaudit.spans import Span

_GIVES_ARRAYS = frozenset(("jit", "vmap", "pmap", "shard_map"))
"""Transformations that give arrays even where the function gives Python numbers."""
_GIVES_VALUE = frozenset(name for name in WRAPPERS if name.endswith("value_and_grad"))


def wrap(it: Interpreter, name: str, given: Arguments, span: Span) -> Abstract:
    """Interpret `jax.jit(f, ...)`: the function, transformed. Without a function it is a decorator still to come."""
    wrapper = WRAPPERS[name]
    by_name = (given.keywords[word] for word in FUNCTION_PARAMETERS if word in given.keywords)
    function = given.positional[0] if given.positional else next(by_name, None)
    if function is None:
        return PartialValue(Library(name), (), dict(given.keywords))
    options = {key: value for key, value in given.keywords.items() if key not in FUNCTION_PARAMETERS}
    options.update(zip(wrapper.params, given.positional[1:], strict=False))
    made = Transformed(wrapper.op, function, options, name, it.builder.newest, span)
    if isinstance(function, ClassValue) and not lifts.is_mapped(made):
        # A lifted class is still that class to whoever makes instances of it.
        return lifts.lifted_class(function, made)
    if isinstance(function, PartialValue) and isinstance(function.function, ClassValue):
        return replace(function, function=lifts.lifted_class(function.function, made))
    _note_wrapper(it, function, made)
    return made


def _note_wrapper(it: Interpreter, function: Abstract, made: Transformed) -> None:
    inner, _ = written_in(function)
    if inner is not None:
        it.wrappers[inner.node] = made


def apply(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract:
    """Call a transformed function."""
    if references.is_kernel(callee):
        return references.run_kernel(it, callee, given, span)
    if lifts.is_class(callee):
        return lifts.lifted_layer(it, callee, given, span)
    if callee.transform in ("vmap", "pmap", "shard_map"):
        return _apply_mapped(it, callee, given, span)
    if callee.transform == "grad":
        return _apply_grad(it, callee, given, span)
    raised = lifts.apply(it, callee, given, span) if callee.spelling in lifts.LIFTS else None
    if raised is not None:
        return raised
    derives = callee.transform in ("vjp", "jvp")
    given = _with_numbers(it, callee, given, span) if derives else given
    staged = stage(it, callee, given, span)
    attrs = {**attributes(it, callee, given, span), **staged.attrs}
    if (wanted := callee.options.get("in_shardings")) is not None and not given.keywords:
        attrs["placed_in"] = prefixes.placings(it, wanted, given.positional)
    if derives:
        attrs["differentiated"] = _positions(it, callee, given)
    leaving = callee.options.get("out_shardings")
    result, _ = run_body(it, callee.transform, callee.function, given, staged.inputs, attrs, span, leaving=leaving)
    if callee.spelling == "jax.jit":
        note_given_back(it, callee.spelling, result, span)
    if callee.transform == "abstract":
        return it.unknown("it is a program of JAX, and not what the function gives", span)
    if callee.transform in CUSTOM_DERIVATIVES:
        derivatives.follow(it, callee, given, span)
    if callee.spelling == "jax.custom_gradient":
        # Beside its value the function gives its derivative, which stays inside.
        items = known_items(it, result)
        return items[0] if items else it.unknown("the function gives its value and its derivative", span)
    return result


def attributes(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> dict[str, object]:
    """Return the attributes of a transformation's op: the function, its spelling and options, and what crosses."""
    options: dict[str, Argument] = {name: argument(it, value, span) for name, value in callee.options.items()}
    return {
        "function": name_of(callee.function),
        "spelling": callee.spelling,
        "options": options,
        "prefixes": {name: tree_of(it, callee.options[name]) for name in prefixes.OPTIONS if name in callee.options},
        "made": _made(callee.function),
        "wrapped": callee.span,
        "places": it.written.get(callee.span),
        "border": border(it, callee.function, given),
        "captured": captured_values(it, callee.function, *given.all()),
    }


def border(it: Interpreter, function: Abstract, given: Arguments) -> Border:
    """Describe what crosses into a function: the trees of its arguments and the names of its parameters."""
    open_ended = given.star is not None or given.stars is not None
    trees = trees_of(it, [*given.positional, *given.keywords.values()])
    return Border(trees, signature_of(function).names, tuple(given.keywords), open_ended)


def _made(function: Abstract) -> int:
    """Return when the object was made that JAX keeps its traces by: the function, or what another one made of it."""
    match function:
        case FunctionValue(made=made) | PartialValue(made=made):
            return made
        case Transformed(transform=name, made=made) if name in DERIVATIVES | {"vmap"}:
            # These give another function every time, where `jit` and `checkpoint` know what they have wrapped.
            return made
        case Transformed(function=inner):
            return _made(inner)
        case Leaf(options=options) if options:
            return min(map(_made, options))
        case _:
            return 0


def run_body(
    it: Interpreter,
    op: str,
    function: Abstract,
    given: Arguments,
    inputs: Parametrised,
    attrs: Mapping[str, object],
    span: Span,
    extra: Callable[[], list[Leaf]] = list,
    leaving: Abstract | None = None,
    beside: bool = False,
) -> tuple[Abstract, tuple[Leaf, ...]]:
    """Interpret a function inside an op's region; results are new leaves, `extra` further ones.

    `leaving` says where the results live, or where the mapped axis stands in them; a function that gives something
    `beside` its loss gives a pair.
    """
    label, arrived = name_of(function), it.heap.newest
    with it.builder.nested("function", label, _where(function, span), inputs.params) as region, it.inside(op, inputs):
        inner = call_inside(it, function, functions.replaced(given, inputs), span)
        if op in _GIVES_ARRAYS:
            inner = lifted(it, inner, span)
        returned = inner
        if beside and isinstance(inner, Leaf):
            # JAX asks for a pair, whatever the function is.
            pair = it.emit("py.unpack", span, {"base": inner.value}, {"count": 2, "star": None}, results=2).results
            inner = TupleValue(tuple(Leaf(one) for one in pair))
        everything = leaves_in_order(it, inner, copy=True)
        traced = set(data_leaves(it, inner))
        # Structure that is older than the region is the same outside.
        out = tuple([one for one in everything if one in traced or one.id > inputs.entered[0]])
    it.builder.close(region, out)
    attrs = {**attrs, "entered": inputs.entered, "held": inputs.held, "kept": tuple(one not in traced for one in out)}
    attrs |= {"arrived": arrived} if arrived > inputs.entered[1] else {}
    attrs |= {"function": region.label} if "function" in attrs else {}
    if fields := renewed(it, inputs, inner, out):
        attrs["renewed"] = fields
    if op in ("grad", "tree.map") or op in _GIVES_ARRAYS:
        attrs["returned"] = trees_of(it, (returned,))[0]
    if leaving is not None:
        said = dict(zip(data_leaves(it, inner), prefixes.over_leaves(it, leaving, inner), strict=False))
        key, read = ("out_axes", prefixes.axis) if op in ("vmap", "pmap") else ("placed_out", prefixes.placing)
        attrs[key] = tuple(read(said.get(one)) for one in out)
    further = extra()
    results = tuple(it.builder.value(span, value.name) for value in out)
    made = (*results, *(leaf.value for leaf in further))
    it.emit(op, span, attrs=attrs, operands=inputs.operands, results=made, regions=(region,))
    handed = iter(results)
    outside = [next(handed) if one in traced or one.id > inputs.entered[0] else one for one in everything]
    return with_leaves(it, inner, outside, copy=True), tuple(further)


def _where(function: Abstract, span: Span) -> Span:
    inner, _ = written_in(function)
    return span if inner is None else functions.function_span(inner)


def call_inside(it: Interpreter, function: Abstract, given: Arguments, span: Span) -> Abstract:
    """Call a function whose body belongs to the open region, without a call op of its own where possible."""
    misfits.note_run(it, function, given, _where(function, span))
    return hand_on(it, function, given, span)


def hand_on(it: Interpreter, function: Abstract, given: Arguments, span: Span) -> Abstract:
    """Call a function that is all that the open region does: one that merely calls another stands for it."""
    function, given = unfolded(function, given)
    if isinstance(function, Ref) and isinstance(box := it.heap[function], ObjectBox):
        method = find_in_class(box.cls, "__call__")
        if isinstance(method, FunctionValue):
            function, given = method, given.prepended(function)
    if isinstance(function, FunctionValue) and not functions.unfollowable(it, function):
        if it.handed_on is not None and it.builder.region.kind == "function":
            it.builder.region.label = name_of(function)
        outer, it.handed_on = it.handed_on, functions.only_expression(function.node)
        try:
            return functions.enter(it, function, given)
        finally:
            it.handed_on = outer
    return it.call(function, given, span)


def _apply_mapped(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract:
    inputs = flattened(it, given.all())
    option = "in_specs" if callee.transform == "shard_map" else "in_axes"
    in_axes = callee.options.get(option, Const(0))
    axes = [prefixes.axis(entry) for entry in prefixes.over_arguments(it, in_axes, given.positional)]
    axes += [0 for value in given.keywords.values() for _ in data_leaves(it, value)]
    if given.star is not None:
        # Which of several entries speaks of what came by `*` is not known.
        whole = in_axes if prefixes.entries_of(it, in_axes) is None else None
        axes += [prefixes.axis(whole)] * len(data_leaves(it, given.star))
    axes += [0] * (len(inputs.operands) - len(axes))
    attrs = attributes(it, callee, given, span)
    if callee.transform == "pmap":
        attrs["options"] = _donating(attrs["options"], len(given.positional))
        static = static_leaves(it, callee, given)
        # What is hashed is the object that holds a leaf, not the leaf.
        held = (isinstance(value, Ref) for value in given.all() for _ in data_leaves(it, value))
        attrs["static"] = tuple(None if fixed and inside else fixed for fixed, inside in zip(static, held, strict=True))
        axes = [None if fixed is True else axis for axis, fixed in zip(axes, static, strict=False)]
    axes = axes[: len(inputs.operands)]
    if callee.transform == "shard_map":
        attrs["static"] = tuple(axis is None for axis in axes)
        attrs["placed_in"] = prefixes.placings(it, in_axes, given.positional)
    attrs["in_axes"] = tuple(axes)
    leaving = callee.options.get("out_specs" if callee.transform == "shard_map" else "out_axes")
    result, _ = run_body(it, callee.transform, callee.function, given, inputs, attrs, span, leaving=leaving)
    return result


def _donating(options: object, count: int) -> object:
    """Return the options of a call of `pmap`, which donates nothing that it is given by keyword."""
    if not isinstance(options, dict) or (said := options.get("donate_argnums")) is None:
        return options
    places = said if isinstance(said, tuple) else (said,)
    return {**options, "donate_argnums": tuple(at for at in places if not isinstance(at, int) or at < count)}


def _apply_grad(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract:
    given = _with_numbers(it, callee, given, span)
    given = replace(given, positional=tuple([_read_out(it, value, span) for value in given.positional]))
    inputs = flattened(it, given.all())
    chosen, several = _differentiated(it, callee, given)
    gradients: list[Abstract] = []

    def fresh() -> list[Leaf]:
        made: list[Leaf] = []
        for value in chosen:
            leaves = [Leaf(it.builder.value(span, leaf.name)) for leaf in data_leaves(it, value)]
            gradients.append(with_data(it, value, [leaf.value for leaf in leaves]))
            made.extend(leaves)
        if not chosen and not several:
            # What is differentiated is not known, and so is what the gradient is like.
            made.append(Leaf(it.builder.value(span, "")))
            gradients.extend(made)
        return made

    attrs = {**attributes(it, callee, given, span), "value": callee.spelling in _GIVES_VALUE}
    attrs["differentiated"] = _positions(it, callee, given)
    has_aux = callee.options.get("has_aux", Const(False))
    beside = isinstance(has_aux, Const) and bool(has_aux.value)
    value, _ = run_body(it, "grad", callee.function, given, inputs, attrs, span, fresh, beside=beside)
    gradient = TupleValue(tuple(gradients)) if several else gradients[0]
    if callee.spelling in _GIVES_VALUE:
        return TupleValue((value, gradient))
    if beside:
        aux = value.items[1] if isinstance(value, TupleValue) and len(value.items) == 2 else None
        return TupleValue((gradient, it.unknown("the auxiliary output", span) if aux is None else aux))
    return gradient


def _with_numbers(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Arguments:
    """Turn the numbers that are differentiated into values: the function is traced with them."""
    places = {at % len(given.positional) for at in _argnums(it, callee, given)[0]}
    if not any(isinstance(given.positional[at], Const) for at in places):
        return given
    numbers = [lifted(it, one, span) if at in places else one for at, one in enumerate(given.positional)]
    return replace(given, positional=tuple(numbers))


def _argnums(it: Interpreter, callee: Transformed, given: Arguments) -> tuple[list[int], bool]:
    argnums = callee.options.get("argnums", Const(0))
    items = known_items(it, argnums)
    places = [item.value for item in (items if items is not None else (argnums,)) if isinstance(item, Const)]
    count = len(given.positional)
    least = 0 if given.star is not None else -count
    found = [at for at in places if isinstance(at, int) and least <= at < count]
    if given.star is not None and len(found) < len(places):
        # Some of it came by `*`, so that what the gradients are like is not known.
        return [], False
    return found, items is not None


def _read_out(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    """Read an attribute of an attribute: what is differentiated is that part, and not the object around it."""
    inner = isinstance(value, Attribute) and isinstance(value.receiver, Attribute)
    return Leaf(materialise(it, value, span)) if inner else value


def _differentiated(it: Interpreter, callee: Transformed, given: Arguments) -> tuple[list[Abstract], bool]:
    places, several = _argnums(it, callee, given)
    return [given.positional[at] for at in places], several


def _positions(it: Interpreter, callee: Transformed, given: Arguments) -> tuple[int, ...] | None:
    """Return the positions of the differentiated leaves among all; None where `argnums` is not known."""
    argnums = callee.options.get("argnums", Const(0))
    items = known_items(it, argnums)
    numbers = [item.value for item in (items if items is not None else (argnums,)) if isinstance(item, Const)]
    if len(numbers) < (1 if items is None else len(items)):
        return None
    if given.star is not None and not all(isinstance(at, int) and 0 <= at < len(given.positional) for at in numbers):
        return None
    counts = [len(data_leaves(it, value)) for value in given.positional]
    chosen = {at % len(counts) for at in numbers if isinstance(at, int) and counts}
    return tuple(sum(counts[:at]) + i for at in sorted(chosen) for i in range(counts[at]))
