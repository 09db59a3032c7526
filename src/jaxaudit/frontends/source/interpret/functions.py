"""Functions of the audited code: defining them, and reading their bodies where they are called."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import is_abstract
from jaxaudit.frontends.source.interpret import decorators
from jaxaudit.frontends.source.interpret.branches import join, merge_left
from jaxaudit.frontends.source.interpret.budget import MAX_DEPTH
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import (
    Parametrised,
    leaves_in_order,
    parametrise,
    records,
    succeeded,
    with_leaves,
)
from jaxaudit.frontends.source.interpret.staging import captured_values
from jaxaudit.frontends.source.interpret.syntax import children
from jaxaudit.frontends.source.names.bound import bound_by
from jaxaudit.frontends.source.names.flow import scopes_of
from jaxaudit.frontends.source.notes.axis_names import declare_axes, declare_result
from jaxaudit.frontends.source.notes.parameters import note_parameters
from jaxaudit.frontends.source.values.annotations import annotated_value
from jaxaudit.frontends.source.values.arguments import Arguments, bind
from jaxaudit.frontends.source.values.callables import FunctionValue, written_in
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Sequence, sized
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir import Exit
from jaxaudit.spans import Span, span_of


def define(it: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Exit:
    """Interpret a `def`: decorators are applied from the inside out."""
    function = make(it, node, node.name)
    before = written_in(it.frame.env.get(node.name, NONE))[0]
    if it.frame.kind == "module" and before is not None:
        it.frame.module.replaced.update({before.node: node.name})
    it.frame.env[node.name] = decorators.apply(it, function, node)
    return Exit.FALL


def lambda_(it: Interpreter, node: ast.Lambda) -> Abstract:
    """Return a lambda."""
    return make(it, node, "lambda")


def make(it: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> FunctionValue:
    """Make the value of a function, evaluating its defaults."""
    params = node.args
    positional = [*params.posonlyargs, *params.args]
    defaults: dict[str, Abstract] = {}
    for param, default in zip(positional[len(positional) - len(params.defaults) :], params.defaults, strict=True):
        defaults[param.arg] = it.evaluate(default)
    for param, maybe in zip(params.kwonlyargs, params.kw_defaults, strict=True):
        if maybe is not None:
            defaults[param.arg] = it.evaluate(maybe)
    kind = "generator" if it.frame.module.yields and is_generator(node) else "function"
    function = FunctionValue(node, name, it.frame, defaults, None, kind, it.builder.newest)
    it.defined[node] = function
    return function


@lru_cache(maxsize=8192)
def is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether a function yields."""
    pending: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending += children(current)
    return False


def only_expression(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> ast.expr | None:
    """Return the expression that a function does nothing but give back; None where it does more."""
    if isinstance(node, ast.Lambda):
        return node.body
    match node.body:
        case [ast.Return(value=value)] | [ast.Expr(value=ast.Constant()), ast.Return(value=value)]:
            return value
    return None


def call_function(it: Interpreter, function: FunctionValue, given: Arguments, span: Span) -> Abstract:
    """Follow a call into a function of the audited code."""
    reason = unfollowable(it, function)
    if reason:
        from_call = (leaf for value in given.all() for leaf in leaves(it, value))
        # Whether it is followed or not, it reads what it has from the functions around it.
        operands = tuple(dict.fromkeys((*from_call, *captured_values(it, function))))
        attrs = {"callee": function.name, "reason": reason}
        made = it.emit("py.call_unknown", span, attrs=attrs, operands=operands).result
        returns = None if isinstance(function.node, ast.Lambda) else function.node.returns
        return annotated_value(it, returns, made, function.module)
    return _read_in_place(it, function, given, span)


def _read_in_place(it: Interpreter, function: FunctionValue, given: Arguments, span: Span) -> Abstract:
    """Read the body of a function where it is called: what it gives is the very value that its body made."""
    inputs = parametrise(it, given.all())
    before = records(it, inputs.values)
    it.standing.update(zip(inputs.params, inputs.operands, strict=True))
    with it.builder.nested("function", function.name, function_span(function), inputs.params) as region:
        made = enter(it, function, replaced(given, inputs))
    out = leaves_in_order(it, made, copy=False)
    it.builder.close(region, out)
    outside = dict(zip(inputs.params, inputs.operands, strict=True))
    results = tuple(outside.get(value, value) for value in out)
    if function.kind == "generator":
        # What it yields is made turn by turn, in its own time.
        results = tuple(it.builder.value(span) for _ in out)
    attrs = {**_attrs(function), "in_place": function.kind != "generator"}
    if renewed := succeeded(before, records(it, (made,))):
        attrs["renewed"] = renewed
    it.emit("py.call", span, attrs=attrs, operands=inputs.operands, results=results, regions=(region,))
    return made if results == out else with_leaves(it, made, results, copy=False)


def unfollowable(it: Interpreter, function: FunctionValue) -> str:
    """Return why a call cannot be followed into a function; empty when it can."""
    if is_abstract(function):
        return f"`{function.name}` is abstract"
    # An object that hands on what it is asked for mostly wraps one of its kind: that chain ends, a recursion need not.
    if function.node in it.active and function.name != "__getattr__":
        return "recursive calls are not followed"
    if len(it.active) >= MAX_DEPTH:
        return f"calls are followed {MAX_DEPTH} deep"
    return it.budget.refusal(function.node, function.module.path, it.builder.emitted)


def _attrs(function: FunctionValue) -> dict[str, object]:
    marks = {"cached": "cached", "cached property": "once", "generator": "yields"}
    return {"function": function.name, **{mark: True for kind, mark in marks.items() if kind == function.kind}}


def replaced(given: Arguments, inputs: Parametrised) -> Arguments:
    """Return the arguments as the region sees them."""
    values = list(inputs.values)
    positional = tuple(values[: len(given.positional)])
    keywords = dict(zip(given.keywords, values[len(positional) :], strict=False))
    rest = values[len(positional) + len(keywords) :]
    star = rest.pop(0) if given.star is not None else None
    stars = rest.pop(0) if given.stars is not None else None
    return Arguments(positional, keywords, star, stars)


def enter(it: Interpreter, function: FunctionValue, given: Arguments) -> Abstract:
    """Interpret a function's body in a new frame and give what it returns."""
    node = function.node
    it.entered.add(node)
    frame = Frame(function.module, function.scope, "function", function.name, function=function)
    frame.guarded = frame.doubted = it.frame.doubted
    if not isinstance(node, ast.Lambda):
        scope = scopes_of(function.module, it.project).get(node)
        frame.global_names, frame.nonlocal_names = _declared_elsewhere(node)
        frame.captured = frozenset() if scope is None else scope.captured_and_rebound()
    frame.opened = it.builder.newest
    outer, it.frame = it.frame, frame
    opened = it.budget.open(function.module.path, it.builder.emitted)
    it.active.append(node)
    try:
        bound = _named(it, bind(it, node.args, function.defaults, given, node))
        placed = [one.arg for one in (*node.args.posonlyargs, *node.args.args)][: len(given.positional)]
        frame.given = frozenset(one for one in (*placed, *given.keywords) if function.defaults.get(one) == NONE)
        declare_axes(it, function, bound)
        bound = {**bound, **_annotated(it, function, bound)}
        # What is one thing in this call may be another in the next: the outputs of one layer are inputs of another.
        place = f"{frame.place}:{frame.opened}"
        frame.env.update([(name, sized(value, name, place)) for name, value in bound.items()])
        note_parameters(it, function, frame.env)
        with it.own_sides():
            result = _body(it, function, frame)
        declare_result(it, function, result)
        return result
    finally:
        it.active.pop()
        it.frame = outer
        it.budget.close(node, opened, it.builder.emitted)


@lru_cache(maxsize=8192)
def _declared_elsewhere(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a function declares `global` and `nonlocal`."""
    bound = bound_by(node.body)
    return frozenset(bound.global_), frozenset(bound.nonlocal_)


def _annotated(it: Interpreter, function: FunctionValue, bound: Mapping[str, Abstract]) -> dict[str, Abstract]:
    """Return what annotations say of arguments of which nothing is known: instances of classes of the project."""
    params = function.node.args
    found: dict[str, Abstract] = {}
    for param in (*params.posonlyargs, *params.args, *params.kwonlyargs):
        value = bound.get(param.arg)
        if param.annotation is None or not isinstance(value, Leaf) or value.array or value.options:
            continue
        if not value.cls and value.holds is None and param.arg not in function.defaults:
            said = annotated_value(it, param.annotation, value.value, function.module)
            found.update({param.arg: said} if not isinstance(said, Leaf) else {})
    return found


def _named(it: Interpreter, bound: Mapping[str, Abstract]) -> Mapping[str, Abstract]:
    own = it.builder.region.params
    for name, value in bound.items():
        if isinstance(value, Leaf) and (not value.value.name or value.value in own):
            # A parameter's value is this frame's own, so it may carry the parameter's name.
            value.value.name = name
    return bound


def _body(it: Interpreter, function: FunctionValue, frame: Frame) -> Abstract:
    node = function.node
    if isinstance(node, ast.Lambda):
        return it.evaluate(node.body)
    leaving = it.execute(node.body)
    if frame.left:
        # Whoever called sees objects as any of the paths left them that return.
        merge_left(it, frame.left, it.span(node.body[-1]), "return", falls=leaving is Exit.FALL)
    if function.kind == "generator":
        return _generated(it, frame, it.span(node.body[-1]))
    returns = frame.returns
    if leaving is Exit.FALL and not (returns and isinstance(node.body[-1], ast.Raise)):
        returns = [*returns, NONE] if returns else [NONE]
    if not returns:
        return it.unknown("the function never returns", it.span(node.body[-1]))
    result = join(it, returns, "return", it.span(node.body[-1]))
    if frame.tried and isinstance(result, Leaf) and all(isinstance(one, Const) for one in returns):
        # Whether something raised for the arguments tells what kind of thing they are.
        it.kinds.add(result.value)
    return result


def _generated(it: Interpreter, frame: Frame, span: Span) -> Abstract:
    """Return what a generator yields: a sequence whose items all look like any of them."""
    if not frame.yields:
        return it.unknown("the generator never yields", span)
    return Sequence(join(it, frame.yields, "yield", span), lazy=True)


def function_span(function: FunctionValue) -> Span:
    """Return the place of a function."""
    return span_of(function.node, function.module.path)


EXPRESSIONS = {ast.Lambda: lambda_}
STATEMENTS = {ast.FunctionDef: define, ast.AsyncFunctionDef: define}
