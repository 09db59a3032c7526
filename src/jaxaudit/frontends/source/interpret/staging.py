"""What a transformation makes of its arguments: some stay Python values, all others become leaves that JAX traces."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Seq
from dataclasses import replace

from jaxaudit.frontends.source.classes.equality import equality_of
from jaxaudit.frontends.source.classes.members import UNHASHABLE, is_one_of_a_kind, is_unhashable, library_bases
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import (
    Entered,
    Parametrised,
    data_leaves,
    flattened,
    lifted,
    structure_leaves,
)
from jaxaudit.frontends.source.interpret.syntax import FunctionNode
from jaxaudit.frontends.source.interpret.which import other_code
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
    written_in,
)
from jaxaudit.frontends.source.values.frames import Frame, free_names
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Range, Record, Ref, Sequence, TupleValue, Zip
from jaxaudit.frontends.source.values.structure import is_function, kind_of, leaves
from jaxaudit.ir import Value
from jaxaudit.ir.record import record
from jaxaudit.spans import Span, span_of

_STAGES_NUMBERS = frozenset(
    "jax.jit flax.nnx.jit haiku.jit jax.pmap flax.nnx.pmap haiku.pmap jax.checkpoint haiku.remat jax.make_jaxpr".split()
)
"""Transformations that trace Python numbers too; Equinox's filtered ones leave all but arrays alone."""

_CONTAINERS = ("list", "dict", "set")
"""What Python can change in place, and does not hash."""
_OPTIONS = ("static_argnums", "static_argnames", "static_broadcasted_argnums")


@record
class Signature:
    """The parameters a transformed function still has, once bound arguments are taken away."""

    names: tuple[str, ...] = ()
    keyword_only: tuple[str, ...] = ()
    open: bool = True
    """True when it takes further arguments, or is not known at all."""


@record
class Statics:
    """Which parameters a transformation is told to leave as Python values."""

    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    known: bool = True
    """False when an option says so in a way that could not be read."""
    misfits: tuple[str, ...] = ()
    """Numbers and names that fit no parameter."""
    unplaced: bool = False
    """True when a name may be that of any parameter whose name is not known."""


def signature_of(function: Abstract) -> Signature:
    """Return the signature of what is transformed, as far as it is code of the project."""
    match function:
        case FunctionValue(node=node):
            params = node.args
            names = tuple(param.arg for param in (*params.posonlyargs, *params.args))
            is_open = params.vararg is not None or params.kwarg is not None
            return Signature(names, tuple(param.arg for param in params.kwonlyargs), is_open)
        case BoundMethod(function=inner):
            found = signature_of(inner)
            return Signature(found.names[1:], found.keyword_only, found.open)
        case PartialValue(function=inner, args=args):
            found = signature_of(inner)
            return Signature(found.names[len(args) :], found.keyword_only, found.open)
        case Transformed(function=inner, transform="jit" | "vmap" | "grad" | "checkpoint"):
            return signature_of(inner)
        case _:
            return Signature()


def statics_of(it: Interpreter, callee: Transformed) -> Statics:
    """Read `static_argnums`, `static_argnames` and their kin; numbers give names and names give numbers."""
    wanted: list[object] = []
    for option in _OPTIONS:
        value = callee.options.get(option)
        if value is None:
            continue
        items = known_items(it, value)
        parts = items if items is not None else (value,)
        if not all(isinstance(part, Const) for part in parts):
            return Statics(known=False)
        wanted += [part.value for part in parts if isinstance(part, Const) and part.value is not None]
    signature = signature_of(callee.function)
    return _matched(wanted, replace(signature, open=signature.open or bool(other_code(it, callee.function))))


def _matched(wanted: Seq[object], signature: Signature) -> Statics:
    names = signature.names
    positions: set[int] = set()
    named: set[str] = set()
    misfits: list[str] = []
    unplaced = False
    for one in wanted:
        if isinstance(one, int):
            at = one + len(names) if one < 0 else one
            positions.add(at)
            named.update(names[at : at + 1] if at >= 0 else ())
            if not 0 <= at < len(names) and not signature.open:
                misfits.append(str(one))
        elif isinstance(one, str):
            named.add(one)
            positions.update([names.index(one)] if one in names else [])
            unplaced |= one not in names and signature.open
            if one not in names and one not in signature.keyword_only and not signature.open:
                misfits.append(one)
    return Statics(frozenset(positions), frozenset(named), True, tuple(misfits), unplaced)


@record
class Staged:
    """The arguments as the body sees them, and what is known of each."""

    inputs: Parametrised
    attrs: dict[str, object]


def stage(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Staged:
    """Lift the numbers that are traced, leave what is static, and make a parameter of every leaf."""
    statics = statics_of(it, callee)
    names = signature_of(callee.function).names
    lifts = callee.spelling in _STAGES_NUMBERS
    parts: list[Parametrised] = []
    static: list[bool | None] = []
    by_default: list[bool] = []
    told: list[tuple[str, str, bool | None]] = []
    identities: list[tuple[str, int, int, Span]] = []
    equal_by: list[tuple[object, ...]] = []
    structure: list[Value] = []
    entered = (it.builder.newest, it.heap.newest)
    optional = _optional(it, callee.function)
    for at, value in enumerate(given.all()):
        name, fixed = _role(given, at, names, statics)
        # Nobody calls it: an argument with a default may never be given, and then the default is not traced.
        may_stay = name in optional and fixed is False
        fixed = None if may_stay else fixed
        inner = lifted(it, value, span) if lifts and fixed is False else value
        # A static argument is the very object that the caller holds.
        parts.append(flattened(it, [inner], copy=fixed is not True))
        # Of a method it is the receiver that has a leaf, and nothing says that the receiver can be hashed.
        static += [None if isinstance(value, Attribute) else fixed] * len(parts[-1].params)
        by_default += [may_stay] * len(parts[-1].params)
        told.append((name, _kind_when_static(it, value) if fixed is True else kind_of_argument(it, value), fixed))
        structure += structure_leaves(it, inner) if fixed is False else ()
        if (identity := _identity(it, value, whole=fixed is True)) is not None:
            identities.append((name, *identity))
        equal_by += _equal_by(it, value) if fixed is True else ()
    inputs = _joined(parts, entered)
    attrs = {"given": tuple(told), "misfits": statics.misfits, "structure": tuple(dict.fromkeys(structure))}
    attrs |= {"identities": tuple(identities)} if identities else {}
    attrs |= {"by_default": tuple(by_default)} if any(by_default) else {}
    attrs |= {"equal_by": tuple(equal_by)} if equal_by else {}
    return Staged(inputs, {"static": tuple(static), **attrs})


def _identity(it: Interpreter, value: Abstract, *, whole: bool) -> tuple[int, int, Span] | None:
    """Return the youngest value and object when something was made that equals nothing but itself, and where.

    A `Partial` is a tree, so that JAX compares the function in it, unless the `whole` of it is static.
    """
    match value:
        case FunctionValue(made=made, node=node, module=module):
            return made, 0, span_of(node, module.path)
        case PartialValue(function=inner) if not whole:
            return _identity(it, inner, whole=False)
        case PartialValue(made=made, span=span) | Transformed(made=made, span=span):
            return made, 0, span
        case BoundMethod(receiver=Ref() as receiver, function=FunctionValue(node=node, module=module)):
            box = it.heap[receiver]
            alone = isinstance(box, ObjectBox) and is_one_of_a_kind(box.cls)
            return (0, receiver.id, span_of(node, module.path)) if alone else None
    return None


def _equal_by(it: Interpreter, value: Abstract) -> Iterator[tuple[object, ...]]:
    """Return what a static object is equal by: its number and class, fields that are compared or not, and where."""
    box = it.heap[value] if isinstance(value, Ref) else None
    found = equality_of(box.cls) if isinstance(box, ObjectBox) and isinstance(value, Ref) else None
    if isinstance(value, Ref) and isinstance(box, ObjectBox) and found is not None:
        held = {name: _told(one) for name, one in box.attrs.items()}
        told, confused = ({name: held.get(name) for name in names} for names in (found.told, found.confused))
        yield value.id, box.cls.name, told, confused, found.places


def _told(value: Abstract) -> object:
    """Return a form of what an attribute holds, to compare with others."""
    match value:
        case Const(value=constant):
            return repr(constant)
        case Leaf(value=leaf):
            return leaf
        case Library(name=name):
            return name
        case FunctionValue(node=node):
            return f"line {node.lineno}"
        case TupleValue(items=items):
            return tuple(map(_told, items))
    return None


def static_leaves(it: Interpreter, callee: Transformed, given: Arguments) -> tuple[bool | None, ...]:
    """Return for every leaf of the arguments whether it stays a Python value."""
    statics, names = statics_of(it, callee), signature_of(callee.function).names
    roles = [_role(given, at, names, statics)[1] for at in range(len(given.all()))]
    counts = [len(data_leaves(it, value)) for value in given.all()]
    return tuple(fixed for fixed, count in zip(roles, counts, strict=True) for _ in range(count))


def captured_values(it: Interpreter, *functions: Abstract) -> tuple[Value, ...]:
    """Return the values that functions read from those around them, by themselves or by what they call there."""
    seen: set[FunctionNode] = set()
    return tuple(dict.fromkeys(value for function in functions for value in _captured(it, function, seen)))


def _captured(it: Interpreter, function: Abstract, seen: set[FunctionNode]) -> list[Value]:
    found: list[Value] = []
    while isinstance(function, Transformed | PartialValue | BoundMethod):
        found += leaves(it, function) if isinstance(function, PartialValue) else ()
        function = function.function
    if not isinstance(function, FunctionValue) or function.node in seen:
        return found
    seen.add(function.node)
    scope: Frame | None = function.scope
    while scope is not None and scope.kind == "function":
        names = free_names(function.node)
        read = [value for name, value in scope.env.items() if name in names]
        found += [leaf for value in read for leaf in (*leaves(it, value), *_captured(it, value, seen))]
        scope = scope.enclosing()
    return found


def _joined(parts: Seq[Parametrised], entered: Entered) -> Parametrised:
    values = tuple(value for part in parts for value in part.values)
    operands = tuple(value for part in parts for value in part.operands)
    params = tuple(value for part in parts for value in part.params)
    return Parametrised(values, operands, params, entered, tuple(one for part in parts for one in part.held))


def _optional(it: Interpreter, function: Abstract) -> frozenset[str]:
    written, _ = written_in(function)
    return frozenset(written.defaults) if written is not None and written.node is it.uncalled else frozenset()


def _role(given: Arguments, at: int, names: tuple[str, ...], statics: Statics) -> tuple[str, bool | None]:
    """Return an argument's parameter name, and whether it stays a Python value; None when that is not known."""
    if at < len(given.positional):
        name = names[at] if at < len(names) else ""
        known = statics.known and not (statics.unplaced and at >= len(names) and at not in statics.positions)
        return name, at in statics.positions if known else None
    rest = list(given.keywords)
    if at - len(given.positional) < len(rest):
        name = rest[at - len(given.positional)]
        return name, name in statics.names if statics.known else None
    return "", False if statics.known and not statics.positions and not statics.names else None


def _kind_when_static(it: Interpreter, value: Abstract) -> str:
    """Name what is given as a static argument, or what of it cannot be hashed."""
    found = _unhashable(it, value)
    return f"{UNHASHABLE}{found}" if found else kind_of_argument(it, value)


def _unhashable(it: Interpreter, value: Abstract) -> str:
    """Name what takes the hash from a value for sure: a list, dict, set or such an object, or one in a tuple."""
    match it.heap[value] if isinstance(value, Ref) else value:
        case ObjectBox(cls=cls, value=None) if is_unhashable(cls):
            return f"`{cls.name}`"
        case DictBox():
            return "dict"
        case ListBox(kind=kind) | OpaqueBox(kind=kind) | Sequence(kind=kind, lazy=False) if kind in _CONTAINERS:
            return kind
        case Leaf(cls=cls) if cls.removeprefix("builtins.") in _CONTAINERS:
            return cls.removeprefix("builtins.")
        case TupleValue(items=items) | Record(items=items):
            found = next(filter(None, (_unhashable(it, item) for item in items)), "")
            return f"{found} in a {kind_of(it, value)}" if found else ""
    return ""


def kind_of_argument(it: Interpreter, value: Abstract) -> str:
    """Name what is given: the type of a constant, the kind of a container, `generator` and its kin, else the class."""
    match value:
        case Const(value=constant):
            return type(constant).__name__
        case Leaf(cls=cls):
            return cls.removeprefix("builtins.")
        case Zip(listed=False, counted=counted):
            return "enumerate" if counted else "zip"
        case Zip():
            return "list"
        case Range():
            return "range"
        case Sequence(lazy=lazy, kind=kind):
            return "generator" if lazy else kind
        case Ref() if isinstance(box := it.heap[value], ObjectBox) and "flax.linen.Module" in library_bases(box.cls):
            return "flax.linen.Module"
        case TupleValue() | Ref() if held := _held(it, value):
            return f"{held} in a {kind_of(it, value)}"
        case _:
            return kind_of(it, value)


def _held(it: Interpreter, value: Abstract) -> str:
    """Name what a tuple, list or dict holds among its values that JAX takes for no leaf: text or a function."""
    box = it.heap[value] if isinstance(value, Ref) else None
    items = tuple(box.entries.values()) if isinstance(box, DictBox) else known_items(it, value) or ()
    if any(isinstance(item, Const) and isinstance(item.value, str) for item in items):
        return "str"
    classes = {item.cls for item in items if isinstance(item, Leaf)}
    if "builtins.str" in classes:
        return "str"
    return "function" if "builtins.function" in classes or any(map(is_function, items)) else ""


def unbound(given: Arguments, callee: Transformed, function: FunctionValue) -> Arguments:
    """Leave out the arguments that a transformed function already holds (a receiver, those of a `partial`)."""
    positional, keywords = 0, set[str]()
    inner: Abstract = callee
    while isinstance(inner, Transformed | PartialValue | BoundMethod):
        if isinstance(inner, PartialValue):
            positional += len(inner.args)
            keywords |= set(inner.kwargs)
        positional += isinstance(inner, BoundMethod)
        inner = inner.function
    names = [param.arg for param in (*function.node.args.posonlyargs, *function.node.args.args)]
    kept = given.positional[positional:]
    left = {name: value for name, value in given.keywords.items() if name not in keywords}
    if keywords.isdisjoint(names):
        return Arguments(kept, left, given.star, given.stars)
    named = dict(zip(names[positional:], kept, strict=False))
    left.update((name, value) for name, value in named.items() if name not in keywords)
    return Arguments((), left, given.star, given.stars)
