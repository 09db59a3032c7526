"""Roots: entering a function that nobody visibly calls, with arguments of which only their annotations are known."""

from __future__ import annotations

import ast
from functools import lru_cache

from jaxaudit.frontends.source.classes.fields import role
from jaxaudit.frontends.source.classes.members import ancestry, find_in_class
from jaxaudit.frontends.source.interpret import functions, later, protocols, transforms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.staging import unbound
from jaxaudit.frontends.source.interpret.syntax import FunctionNode, names_in, walk
from jaxaudit.frontends.source.values.annotations import annotated_value, instance
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, Transformed, written_in
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref
from jaxaudit.frontends.source.values.sides import sides
from jaxaudit.frontends.source.values.structure import argument, is_data
from jaxaudit.ir import Root, Value
from jaxaudit.ir.record import record
from jaxaudit.spans import span_of


@record
class _Parameter:
    node: ast.arg
    value: Value


def callers_in_bases(function: FunctionValue) -> list[FunctionValue]:
    """Return the methods that a class inherits and that call one which it overrides: they say how it is called.

    A method that another base overrides in between is that of objects of the class no more.
    """
    owner = function.owner
    if owner is None:
        return []
    members = [
        (name, written_in(member)[0])
        for base in ancestry(owner)[1:]
        if function.name in base.namespace
        for name, member in base.namespace.items()
        if find_in_class(owner, name) is member
    ]
    return [one for _, one in members if one is not None and function.name in _own_names(one.node)]


@lru_cache(maxsize=16_384)
def _own_names(method: FunctionNode) -> frozenset[str]:
    """Return the attributes of its own object that a method speaks of."""
    receiver = next((param.arg for param in (*method.args.posonlyargs, *method.args.args)), "")
    found = [node for node in walk(method) if isinstance(node, ast.Attribute)]
    return frozenset([one.attr for one in found if isinstance(one.value, ast.Name) and one.value.id == receiver])


def interpret_root(it: Interpreter, function: FunctionValue, owner: ClassValue | None = None) -> None:
    """Interpret a function as if somebody called it, under the transformation it was given to, if any.

    A method is called on an instance of its class, or of `owner` that inherits it.
    """
    wrapper = it.wrappers.get(function.node)
    if wrapper is not None:
        _enter_root(it, function, owner, wrapper)
    # What a transformation hands to a function is no longer what it was given: a mapped axis is gone.
    if function.node not in it.entered or (owner is not None and wrapper is None):
        _enter_root(it, function, owner, None)


def _enter_root(
    it: Interpreter, function: FunctionValue, owner: ClassValue | None, wrapper: Transformed | None
) -> None:
    it.begin_root(Frame(function.module, function.module.frame, "function", function.name))
    span = functions.function_span(function)
    named = _parameters(it, function)
    with it.builder.nested("root", function.name, span, [one.value for one in named.values()]) as region:
        given = protocols.by_protocol(it, function, _arguments(it, function, owner or function.owner, named), span)
        _learn_of_object(it, function, owner or function.owner, given)
        if wrapper is not None:
            it.uncalled = function.node
            transforms.apply(it, wrapper, unbound(given, wrapper, function), span)
            it.uncalled = None
        else:
            functions.enter(it, function, given)
        _note_constructed(it, function, given)
    it.builder.close(region)
    it.roots.append(Root(qualified(function), function.module.path, region))


def _learn_of_object(it: Interpreter, function: FunctionValue, owner: ClassValue | None, given: Arguments) -> None:
    """Know of the object of a method what every object of its class is: what raises where it is set up is not so."""
    setup = None if owner is None else find_in_class(owner, "setup") or find_in_class(owner, "__post_init__")
    made = given.positional[0] if given.positional else None
    if not isinstance(setup, FunctionValue) or setup.node is function.node or not isinstance(made, Ref):
        return
    for test, receiver in _refused(setup.node):
        it.frame.env[receiver] = made
        it.evaluate(test)
        it.sides = {**it.sides, **sides(it, test, holds=False)}
        del it.frame.env[receiver]


@lru_cache(maxsize=4096)
def _refused(setup: FunctionNode) -> tuple[tuple[ast.expr, str], ...]:
    """Return the conditions on an object alone under which a method raises at once, with its name for the object."""
    receiver = next((param.arg for param in setup.args.args), "")
    found = [one for one in setup.body if isinstance(one, ast.If)] if isinstance(setup, ast.FunctionDef) else []
    raising = (one.test for one in found if isinstance(one.body[-1], ast.Raise))
    return tuple((test, receiver) for test in raising if {*names_in(test)} == {receiver})


def _note_constructed(it: Interpreter, function: FunctionValue, given: Arguments) -> None:
    """Keep what a constructor leaves in its object: other methods that nobody visibly calls read it."""
    constructs = function.owner is not None and function.name == "__init__"
    made = given.positional[0] if constructs and given.positional else None
    box = it.heap[made] if isinstance(made, Ref) else None
    if function.owner is not None and made is not None and isinstance(box, ObjectBox):
        left = later.unchanged(it, box.attrs)
        span = functions.function_span(function)
        # What is data to JAX may come back from a map with an axis more than it was made with.
        own = {name: value for name, value in left.items() if is_data(value) and role(box.cls, name) != "data"}
        data = {name: argument(it, value, span) for name, value in own.items()}
        it.stores.construct(function.owner, made, {key: one for key, one in left.items() if not is_data(one)})
        it.stores.keep(box.cls, data, it.builder.root)


def _parameters(it: Interpreter, function: FunctionValue) -> dict[str, _Parameter]:
    params = function.node.args
    nodes = [*params.posonlyargs, *params.args, *params.kwonlyargs]
    nodes += [one for one in (params.vararg, params.kwarg) if one is not None]
    if _takes_class(function):
        nodes = nodes[1:]
    path = function.module.path
    named = {node.arg: _Parameter(node, it.builder.value(span_of(node, path), node.arg)) for node in nodes}
    it.outside.update(one.value for one in named.values())
    return named


def _takes_class(function: FunctionValue) -> bool:
    return function.owner is not None and function.kind == "class"


def _arguments(
    it: Interpreter, function: FunctionValue, owner: ClassValue | None, named: dict[str, _Parameter]
) -> Arguments:
    params = function.node.args
    positional = [*params.posonlyargs, *params.args]
    given: list[Abstract] = []
    if owner is not None and function.kind != "static" and positional:
        receiver = positional.pop(0)
        given.append(owner if _takes_class(function) else instance(it, owner, named[receiver.arg].value))
    given += [_annotated(it, function, named[param.arg]) for param in positional]
    keywords = {param.arg: _annotated(it, function, named[param.arg]) for param in params.kwonlyargs}
    star = None if params.vararg is None else Leaf(named[params.vararg.arg].value)
    stars = None if params.kwarg is None else Leaf(named[params.kwarg.arg].value)
    return Arguments(tuple(given), keywords, star, stars)


def _annotated(it: Interpreter, function: FunctionValue, param: _Parameter) -> Abstract:
    # A default of None says that the annotation does not tell the whole truth.
    if param.node.arg in function.defaults:
        return Leaf(param.value)
    return annotated_value(it, param.node.annotation, param.value, function.module)


def qualified(function: FunctionValue) -> str:
    """Return the dotted name of a function, through the scopes it is defined in."""
    parts = [function.name]
    scope: Frame | None = function.frame
    while scope is not None:
        parts.insert(0, scope.name)
        scope = scope.parent
    return ".".join(parts)
