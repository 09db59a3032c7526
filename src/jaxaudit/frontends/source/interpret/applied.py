"""Runs of a linen module: `module.apply(variables, ...)`, `init` and its kin, followed into the module's own code.

With `mutable` a run also gives variables, and with `rngs` numbers are drawn inside: then what the module's code gives
is known, and it depends on what the op of the call drew.
"""

from __future__ import annotations

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret import library
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.notes import misfits
from jaxaudit.frontends.source.values.arguments import Arguments, unfolded
from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue, Library, PartialValue, Transformed
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import materialise, rebuild
from jaxaudit.ir import Value
from jaxaudit.ir.record import replace
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span

APPLY = "flax.linen.Module.apply"
INIT = "flax.linen.Module.init"
_STREAM = "flax.linen.Module.make_rng"
RUNS = frozenset((APPLY, INIT, "flax.linen.Module.init_with_output"))
STARTS = frozenset(("flax.linen.Module.param", "flax.linen.Module.variable"))
"""Methods that make a parameter or a variable by calling a function, the first time."""
_NAMED = frozenset(("name", "col", "init_fn", "unbox"))
"""What these are told by name, besides what the function is given."""
_OPTIONS = frozenset(("method", "mutable", "rngs", "capture_intermediates"))


def run(it: Interpreter, ref: Ref, box: ObjectBox, name: str, row: Row, given: Arguments, span: Span) -> Abstract:
    """Interpret a run of a module; where its code cannot be followed, the op of the call is all there is."""
    made = library.emit_row(it, row, name, given, span, ref)
    return _followed(it, _called(it, ref, box, given), made, name, given, span)


def start(it: Interpreter, ref: Ref, name: str, row: Row, given: Arguments, span: Span) -> Abstract:
    """Interpret `self.param("scale", init, shape)`: the parameter is like what the function gives for a new key.

    What a run is given has its shape, and nothing else of it.
    """
    made = library.emit_row(it, row, name, given, span, ref)
    at = row.position("init_fn")
    key = 1 if name.endswith(".param") else 0
    function = given.get(at, "init_fn")
    bound = None if function is None else _bound(function, given, at + 1, key)
    if bound is None or not isinstance(made, Leaf):
        return made
    stream = library.row_of(_STREAM) if key else None
    own = () if stream is None else (library.emit_row(it, stream, _STREAM, Arguments(), span, ref),)
    # A run that is given the parameter only looks at what the function would make of an abstract key.
    out = it.call(Library("jax.eval_shape"), Arguments((bound, *own)), span)
    arrays = rebuild(out, lambda leaf: leaf, it, number=lambda one: Leaf(materialise(it, one, span)))
    like = leaf_by_leaf(it, arrays, made.value, span)
    if not made.cls:
        return like
    # A variable is an object around the array.
    return replace(like, cls=made.cls) if isinstance(like, Leaf) else made


def _bound(function: Abstract, given: Arguments, at: int, free: int) -> Abstract | None:
    """Return a function with arguments from a place on, behind the first that are left free; None where it is open."""
    inner, own = unfolded(function, Arguments())
    rest = given.positional[at:]
    if not isinstance(inner, FunctionValue) or given.star is not None or given.stars is not None:
        return None
    names = [param.arg for param in (*inner.node.args.posonlyargs, *inner.node.args.args)]
    params = names[len(own.positional) + free :]
    if inner.node.args.posonlyargs or len(params) < len(rest):
        return None
    words = {word: value for word, value in given.keywords.items() if word not in _NAMED}
    return PartialValue(function, (), {**dict(zip(params, rest, strict=False)), **words})


def run_layer(it: Interpreter, layer: Leaf, name: str, given: Arguments, span: Span) -> Abstract | None:
    """Interpret a run of a layer of the library by itself: `nn.GRUCell(64).apply(variables, carry, x)`."""
    module, _, _ = layer.cls.rpartition(".")
    qualified = f"flax.linen.Module.{name}"
    row = library.row_of(qualified) if module == "flax.linen" and layer.cls != "flax.linen.Module" else None
    if row is None or library.row_of(f"{layer.cls}.{name}") is not None:
        return None
    made = library.emit_row(it, row, qualified, given, span)
    plain = "method" not in given.keywords and given.star is None and given.stars is None and bool(given.positional)
    return _followed(it, layer if plain and qualified in RUNS else None, made, qualified, given, span)


def _followed(
    it: Interpreter, called: Abstract | None, made: Abstract, name: str, given: Arguments, span: Span
) -> Abstract:
    pair = name != APPLY or _is_mutable(given.keywords.get("mutable", Const(False)))
    if called is None or pair is None or not isinstance(made, Leaf):
        return made
    keywords = {key: value for key, value in given.keywords.items() if key not in _OPTIONS}
    handed = Arguments(given.positional[1:], keywords)
    misfits.note_call(it, called, handed, span)
    out = it.call(called, handed, span)
    drawn = made.value
    if name == INIT:
        # It runs for what it makes on the way: the parameters.
        return made
    if not pair:
        return within(it, out, drawn, span) if "rngs" in given.keywords else out
    first, rest = it.emit("py.unpack", span, {"base": drawn}, {"count": 2, "star": None}, results=2).results
    draws = "rngs" in given.keywords or name != APPLY
    return TupleValue((within(it, out, first, span) if draws else out, Leaf(rest)))


def within(it: Interpreter, out: Abstract, drawn: Value, span: Span) -> Abstract:
    """Return what a followed call gives, made to depend on the numbers that were drawn in it."""

    def mixed(leaf: Leaf) -> Leaf:
        made = it.emit("key.within", span, {"value": leaf.value, "drawn": drawn}).result
        made.name = leaf.value.name
        return leaf.at(made)

    return rebuild(out, mixed, it, data=True)


def _is_mutable(mutable: Abstract) -> bool | None:
    """Whether a call gives variables beside its output; None where that is not known."""
    if isinstance(mutable, Const):
        return mutable.value is not False
    return True if isinstance(mutable, Ref | TupleValue) else None


def _called(it: Interpreter, ref: Ref, box: ObjectBox, given: Arguments) -> Abstract | None:
    """Return the method that runs, bound to the module."""
    if given.star is not None or given.stars is not None or not given.positional:
        return None
    method = given.keywords.get("method", Const("__call__"))
    if isinstance(method, Const) and isinstance(method.value, str):
        method = find_in_class(box.cls, method.value) or method
    if isinstance(method, BoundMethod):
        method = method.function
    if isinstance(method, FunctionValue):
        return BoundMethod(method, ref)
    return PartialValue(method, (ref,), {}) if isinstance(method, Transformed) else None
