"""Calls of functions and classes in sight: whether what they are given fits their parameters."""

from __future__ import annotations

import ast
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import (
    ancestry,
    constructor,
    find_in_class,
    has_unknown_base,
    library_bases,
    metaclass,
    parameter_of,
)
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.which import other_code
from jaxaudit.frontends.source.notes.options import options
from jaxaudit.frontends.source.values.arguments import Arguments, Fit, Parameters, fit, parameters
from jaxaudit.frontends.source.values.callables import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Leaf, Ref
from jaxaudit.frontends.source.values.trees import place_of
from jaxaudit.ir.fits import CallFit
from jaxaudit.libraries.classes import bases, decorators, has_own_calls
from jaxaudit.libraries.lookup import canonical, lookup
from jaxaudit.spans import Span, span_of

_NAMED = bases("named")
_PLAIN = bases("stateless") | bases("namedtuple") | bases("fields") | _NAMED
"""Bases that add no fields to a record."""
_DECORATORS = decorators("init") | decorators("registered") | decorators("neutral")
"""Decorators that leave the constructor as it is, or make one of the fields."""
_KNOWN_DECORATORS = decorators("")
"""Decorators that add nothing to the arguments of a call: others may, such as `gin.configurable`."""
_CHOOSING = frozenset(("init",))
"""Options by which a field is no parameter of the constructor."""
_NAMING = frozenset(("alias", "these"))
"""Options by which a parameter of the constructor has another name than its field."""

_Compared = tuple[str, Fit]
"""The name of what is called, and how the arguments compare with its parameters."""


def note_call(it: Interpreter, callee: Abstract, given: Arguments, span: Span) -> bool:
    """Note how a call of a function or class of the audited code compares with its parameters; whether it raises."""
    found = None if isinstance(callee, Library | Transformed) else _compare(it, callee, given)
    if found is None:
        return False
    name, compared = found
    defined, caller = _definition(callee), it.frame.place
    if compared.wrong:
        attrs = {"callee": name, "reason": compared.wrong, "defined": defined, "caller": caller}
        it.emit("py.refused", span, attrs=attrs, results=0)
    elif it.frame.module.audited and (span not in it.compared or compared.open):
        function = callee.function if isinstance(callee, BoundMethod) else callee
        taken = tuple(options(function, compared.loose)) if isinstance(function, FunctionValue) else ()
        it.compared[span] = CallFit(name, compared.open, defined, caller, taken)
    return bool(compared.wrong)


def note_fields(it: Interpreter, cls: ClassValue, method: str, given: Arguments, span: Span) -> None:
    """Note that a copy of a record is made with a field that the record does not have."""
    known = not has_unknown_base(cls) and _PLAIN.issuperset(library_bases(cls))
    strange = next((name for name in given.keywords if name not in cls.fields), None)
    if known and strange is not None and not any(map(_is_changed, ancestry(cls))):
        attrs = {"callee": method, "reason": f"is given `{strange}`, which is no field of `{cls.name}`"}
        it.emit("py.refused", span, attrs=attrs | {"defined": place_of(cls), "caller": it.frame.place}, results=0)


def _definition(callee: Abstract) -> Span | None:
    """Return where a function or class is defined."""
    match callee:
        case PartialValue(function=function) | BoundMethod(function=function):
            return _definition(function)
        case FunctionValue(node=ast.FunctionDef() | ast.AsyncFunctionDef() as node):
            return span_of(node, callee.module.path)
        case ClassValue(node=ast.ClassDef() as node):
            return span_of(node, callee.frame.module.path)
        case _:
            return None


def note_run(it: Interpreter, function: Abstract, given: Arguments, span: Span) -> None:
    """Note why what a transformation runs does not take what it is given, or why that is open."""
    inner = function.function if isinstance(function, BoundMethod) else function
    if isinstance(inner, Transformed) or (isinstance(inner, FunctionValue) and inner.node is it.uncalled):
        # What is transformed has an op of its own that speaks for it; what nobody calls is given what it takes.
        return
    name, compared = _compare(it, function, given) or ("", Fit(open="what it calls is not known"))
    if compared.wrong or compared.open:
        doubtful = not compared.wrong or bool(it.frame.guarded)
        attrs = {"function": name, "reason": compared.wrong or compared.open, "open": doubtful}
        it.emit("py.misfit", span, attrs=attrs, results=0)


def takes(it: Interpreter, callee: Abstract, given: Arguments) -> bool:
    """Whether nothing says that a call raises."""
    found = _compare(it, callee, given)
    return found is None or not found[1].wrong


def _compare(it: Interpreter, callee: Abstract, given: Arguments) -> _Compared | None:
    """Compare arguments with what is called; None where it is nothing that has parameters in sight."""
    match callee:
        case PartialValue():
            merged = Arguments(
                (*callee.args, *given.positional), {**callee.kwargs, **given.keywords}, given.star, given.stars
            )
            return _compare(it, callee.function, merged)
        case BoundMethod():
            compared = _fit(callee.function, given.prepended(callee.receiver), other_code(it, callee))
            other = _for_others(it, callee.receiver) or _left_empty(callee.function) if compared.wrong else ""
            return callee.function.name, Fit(open=other) if other else compared
        case FunctionValue():
            return callee.name, _fit(callee, given, other_code(it, callee))
        case ClassValue() if made_by := metaclass(callee):
            return callee.name, Fit(open=f"the metaclass `{made_by}` makes the objects of `{callee.name}`")
        case ClassValue():
            return callee.name, _any_class_fit(callee, _meant(it, callee), given)
        case Library():
            row = lookup(canonical(callee.name))
            rest = row is not None and any(name.startswith("*") for name in row.params)
            fits = row is not None and (rest or len(given.positional) <= len(row.params)) and given.star is None
            return callee.name, Fit(open="" if fits else f"the parameters of `{callee.name}` are not known")
        case Ref() if isinstance(box := it.heap[callee], ObjectBox):
            method = find_in_class(box.cls, "__call__")
            return _compare(it, BoundMethod(method, callee), given) if isinstance(method, FunctionValue) else None
        case Leaf(options=options) if options:
            return _any_of(it, [one for one in options if one != NONE], given)
        case Leaf(value=value) if value in it.replaceable:
            return it.replaceable[value], Fit(open=f"which `{it.replaceable[value]}` the object has is not known")
        case _:
            return None


def _any_of(it: Interpreter, options: list[Abstract], given: Arguments) -> _Compared | None:
    """Compare with each of several things that may be called: it fits where all take it, and not where none does."""
    found = [one for one in (_compare(it, option, given) for option in options) if one is not None]
    own = [name for (name, _), option in zip(found, options, strict=False) if not isinstance(option, Library)]
    if len(found) < len(options) or not own:
        return None
    refusing = next((name for name, one in found if one.wrong), "")
    if all(one.wrong for _, one in found):
        return found[0]
    if refusing:
        return own[0], Fit(open=f"it is one of several functions, of which `{refusing}` does not take this")
    return own[0], next((one for _, one in found if one.open), found[0][1])


def _fit(function: FunctionValue, given: Arguments, other: str) -> Fit:
    compared = fit(parameters(function), given)
    return Fit(open=other) if other and not compared.open else compared


def _for_others(it: Interpreter, receiver: Abstract) -> str:
    """Return why an object may not be meant: others may be given, and a condition says for which this is done."""
    caller = it.frame.function
    maker = it.makers.get(receiver.id) if isinstance(receiver, Ref) else None
    if not it.frame.is_conditional or caller is None or not isinstance(receiver, Ref):
        return ""
    own = caller.owner is not None and maker is not None and maker.owner in ancestry(caller.owner)
    first = next((it.frame.env.get(one.arg) for one in caller.node.args.args), None)
    made_here = maker is not None and maker.node is caller.node
    if own or made_here or receiver == first or receiver.id not in it.makers:
        return ""
    return "others may be given, and a condition says for which this is done"


def _left_empty(function: FunctionValue) -> str:
    """Return why a class may not be meant: it overrides a method by one that does nothing."""
    owner, body = function.owner, () if isinstance(function.node, ast.Lambda) else function.node.body
    empty = all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)) for one in body
    )
    if owner is None or not body or not empty:
        return ""
    above = any(function.name in one.namespace for one in ancestry(owner) if one is not owner)
    return f"`{owner.name}` leaves `{function.name}` empty" if above else ""


def _meant(it: Interpreter, cls: ClassValue) -> list[ClassValue]:
    """Return the classes that are called: where a class method calls its own `cls`, any subclass in sight too."""
    function = it.frame.function
    if function is None or function.kind != "class" or not function.node.args.args:
        return [cls]
    own = it.frame.env.get(function.node.args.args[0].arg) is cls
    return it.heirs.get(cls, [cls]) if own else [cls]


def _any_class_fit(cls: ClassValue, meant: list[ClassValue], given: Arguments) -> Fit:
    fits = [_class_fit(one, given) for one in meant]
    refusing = [one.name for one, found in zip(meant, fits, strict=True) if found.wrong]
    if refusing and len(refusing) < len(meant):
        return Fit(open=f"it may be any subclass of `{cls.name}` too, of which `{refusing[0]}` does not take this")
    return next((one for one in fits if one.open), fits[0])


def _class_fit(cls: ClassValue, given: Arguments) -> Fit:
    """Compare arguments with the constructor of a class."""
    lineage = ancestry(cls)
    hidden = has_unknown_base(cls) or any(map(has_own_calls, library_bases(cls)))
    if hidden or any(
        not _KNOWN_DECORATORS.issuperset(one.decorators) or "__new__" in one.namespace or _NAMING & _options(one.node)
        for one in lineage
    ):
        return Fit(open=f"not all that makes a `{cls.name}` is in sight")
    compared = _constructor_fit(cls, given)
    if not compared.wrong and any(_is_changed(one) for one in lineage):
        return Fit(open=f"what the options of `{cls.name}` make of its constructor is not known")
    return compared


def _constructor_fit(cls: ClassValue, given: Arguments) -> Fit:
    init, plain = constructor(cls), _PLAIN.issuperset(library_bases(cls))
    if isinstance(init, FunctionValue) and (init.owner is cls or plain):
        return fit(parameters(init), given.prepended(cls))
    if init is not None or not plain:
        return Fit(open=f"a base of `{cls.name}` may have a constructor of its own")
    if cls.kind in ("dataclass", "namedtuple"):
        places = tuple(parameter_of(cls, name) for name in cls.placed)
        words = (parameter_of(cls, name) for name in cls.fields)
        # A field of the class's own by such a name has the default of its base all the same.
        further = () if _NAMED.isdisjoint(library_bases(cls)) else ("name", "parent")
        needed = (name for name in cls.fields if name not in cls.defaults and name not in further)
        required = tuple(parameter_of(cls, name) for name in needed)
        return fit(Parameters(places, frozenset((*words, *further)), required), given, "field")
    bare = cls.kind == "plain" and not given.all()
    return Fit(open="" if bare else f"how a `{cls.name}` is made is not known")


def _is_changed(cls: ClassValue) -> bool:
    """Whether decorators or options of a class or of its fields may change what its constructor takes."""
    if cls.node is None:
        return False
    return bool(_CHOOSING & _options(cls.node) or cls.node.keywords) or not _DECORATORS.issuperset(cls.decorators)


@lru_cache(maxsize=4096)
def _options(node: ast.ClassDef | None) -> frozenset[str | None]:
    """Return the options of the decorators of a class and of what makes its fields."""
    if node is None:
        return frozenset()
    values = [one.value for one in node.body if isinstance(one, ast.AnnAssign | ast.Assign)]
    calls = [one for one in (*node.decorator_list, *values) if isinstance(one, ast.Call)]
    return frozenset(word.arg for one in calls for word in one.keywords)
