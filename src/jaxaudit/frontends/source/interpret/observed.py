"""Entering a function with what runs and tests showed of its arguments, beside the root that knows nothing of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxaudit.frontends.fingerprints import Fingerprint
from jaxaudit.frontends.forms import Context, Form, Known, calls_text, has_array, rebuilt, text_of
from jaxaudit.frontends.source.interpret import functions
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.roots import qualified
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, Library
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, TupleValue
from jaxaudit.ir import ArrayType, Observation, Root, Value
from jaxaudit.libraries.lookup import canonical
from jaxaudit.spans import Span, span_of

_MOST_ENTERED = 3
"""With how many different sets of arguments one function is entered."""

_STRUCTURES = frozenset(("dict", "tuple", "list", "object", "record"))

Shown = Callable[[str], str]


def interpret_observed(it: Interpreter, function: FunctionValue, seen: Fingerprint, known: Known, shown: Shown) -> None:
    """Interpret a function once for each kind of call that was seen, as far as its parameters are still the same."""
    if known.signature != seen.signature:
        return
    for context in _different(known):
        changed = context.source != seen.source
        arguments = ", ".join(f"{name} {text_of(form)}" for name, form in context.arguments.items())
        places = tuple(sorted(context.seen.items(), key=lambda one: -one[1]))
        _enter(it, function, context, Observation(places, _told(places, changed=changed), arguments, changed), shown)


def _told(places: Sequence[tuple[str, int]], *, changed: bool) -> str:
    (first, calls), *rest = places
    more = f" and {len(rest)} more" if rest else ""
    return f"observed in {first}{more}, {calls_text(calls)}{', changed since' if changed else ''}"


def _different(known: Known) -> Iterator[Context]:
    """Return the contexts that differ in what is entered, those of the present source first."""
    met: list[Mapping[str, Form]] = []
    for one in known.contexts:
        bare = {name: _bare(form) for name, form in one.arguments.items()}
        if any(map(has_fact, bare.values())) and bare not in met:
            met.append(bare)
            yield one
        if len(met) == _MOST_ENTERED:
            return


def has_fact(form: Form) -> bool:
    """Whether a form says more than that there is something."""
    return has_array(form) or form[0] in _STRUCTURES or (form[0] == "is" and form[1] is not None)


def _bare(form: Form) -> Form:
    """Return a form with nothing of its arrays but their types."""
    return form[:3] if form[0] == "array" else rebuilt(form, _bare)


def _enter(it: Interpreter, function: FunctionValue, context: Context, observation: Observation, shown: Shown) -> None:
    it.begin_root(Frame(function.module, function.module.frame, "function", function.name))
    span = functions.function_span(function)
    giver = _Giver(it, shown, span)
    given = _arguments(giver, function, context.arguments)
    with it.builder.nested("root", function.name, span, giver.made) as region:
        functions.enter(it, function, given)
    it.builder.close(region)
    it.roots.append(Root(qualified(function), function.module.path, region, observation=observation))


def _arguments(giver: _Giver, function: FunctionValue, forms: Mapping[str, Form]) -> Arguments:
    params, path = function.node.args, function.module.path
    positional = [*params.posonlyargs, *params.args]
    given: list[Abstract] = []
    if function.owner is not None and function.kind != "static" and positional:
        receiver = positional.pop(0)
        given.append(giver.receiver(function, forms.get(receiver.arg, ["other", ""]), span_of(receiver, path)))
    given += [giver.parameter(one, forms, path) for one in positional]
    keywords = {one.arg: giver.parameter(one, forms, path) for one in params.kwonlyargs}
    rest = forms.get(params.vararg.arg) if params.vararg is not None else None
    match rest:
        case ["tuple", items]:
            given += [giver.value(item, params.vararg.arg if params.vararg else "") for item in items]
    further = forms.get(params.kwarg.arg) if params.kwarg is not None else None
    match further:
        case ["dict", entries]:
            keywords |= {str(key): giver.value(item, str(key)) for key, item in entries}
    return Arguments(tuple(given), keywords)


class _Giver:
    """Makes abstract values of forms; every leaf becomes a parameter of the root."""

    def __init__(self, it: Interpreter, shown: Shown, span: Span) -> None:
        self.it, self.shown, self.span = it, shown, span
        self.made: list[Value] = []
        self.foreign: dict[str, ClassValue] = {}

    def parameter(self, node: ast.arg, forms: Mapping[str, Form], path: str) -> Abstract:
        """Return the value of a parameter."""
        self.span = span_of(node, path)
        return self.value(forms.get(node.arg, ["other", ""]), node.arg)

    def receiver(self, function: FunctionValue, form: Form, span: Span) -> Abstract:
        """Return the object that a method is called on, or its class."""
        assert function.owner is not None
        self.span = span
        if function.kind == "class":
            return function.owner
        match form:
            case ["object" | "record", _, name, path, attributes]:
                return self._object(self._class(path, name) or function.owner, attributes, "self")
        return self._object(function.owner, {}, "self")

    def value(self, form: Form, name: str) -> Abstract:
        """Return a value of some form."""
        match form:
            case ["array", dtype, sizes, flags, *_]:
                value = self._leaf(name).value
                self.it.observed[value] = ArrayType(tuple(sizes), dtype, "w" in flags)
                return Leaf(value, array="t" in flags)
            case ["is", constant]:
                return Const(constant)
            case ["tuple", items]:
                return TupleValue(tuple(self.value(item, name) for item in items))
            case ["list", items]:
                return self.it.heap.new(ListBox(tuple(self.value(item, name) for item in items)))
            case ["dict", entries]:
                return self.it.heap.new(DictBox({key: self.value(item, str(key)) for key, item in entries}))
            case ["object" | "record" as kind, module, cls, path, attributes]:
                found = self._class(path, cls) or self._foreign(kind, f"{module}.{cls}", attributes)
                return self._object(found, attributes, name)
            case ["function", function, path]:
                return self._function(path, function) or self._leaf(name)
        return self._leaf(name)

    def _leaf(self, name: str) -> Leaf:
        value = self.it.builder.value(self.span, name)
        self.made.append(value)
        return Leaf(value)

    def _object(self, cls: ClassValue, attributes: Mapping[str, Form], name: str) -> Abstract:
        held = {key: self.value(form, key) for key, form in attributes.items()}
        if cls.kind == "namedtuple":
            return Record(cls, tuple(held.get(one) or self._leaf(one) for one in cls.fields))
        if cls.kind == "enum":
            return self._leaf(name)
        known = {key: value for key, value in held.items() if not _is_bare(self.it, value)}
        return self.it.heap.new(ObjectBox(cls, known, self._leaf(name).value))

    def _foreign(self, kind: str, name: str, attributes: Mapping[str, Form]) -> ClassValue:
        """Return a class that stands for one of a library, or one that was made while the program ran."""
        made = self.foreign.get(name)
        if made is None:
            shape = "namedtuple" if kind == "record" else "dataclass"
            bases, decorators = (Library(canonical(name)),), ("flax.struct.dataclass",)
            last, frame = name.rpartition(".")[2], self.it.frame
            made = ClassValue(None, last, frame, bases, {}, shape, tuple(attributes), {}, True, decorators)
            self.foreign[name] = made
        return made

    def _class(self, path: str, name: str) -> ClassValue | None:
        found = self._member(path, name)
        return found if isinstance(found, ClassValue) else None

    def _function(self, path: str, name: str) -> Abstract | None:
        found = self._member(path, name)
        return found if isinstance(found, FunctionValue) else None

    def _member(self, path: str, name: str) -> Abstract | None:
        """Find a class or function of the project by the qualified name that Python gives it."""
        module = self.it.project.modules.get(self.shown(path)) if path else None
        if module is None:
            return None
        first, *rest = name.split(".")
        found = module.member(first)
        for part in rest:
            found = found.namespace.get(part) if isinstance(found, ClassValue) else None
        return found


def _is_bare(it: Interpreter, value: Abstract) -> bool:
    """Whether nothing is known of a value: then the class may still tell."""
    return isinstance(value, Leaf) and value.value not in it.observed
