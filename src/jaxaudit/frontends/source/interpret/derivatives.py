"""Rules of `custom_vjp` and `custom_jvp`: what they give for a derivative, beside the function itself.

The rules are interpreted where the function is called, in a region that stands beside the call: it computes nothing
the program uses. What it leaves behind are the gradients, so that they can be set against the arguments.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from jaxaudit.frontends.source.interpret.functions import replaced
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import data_leaves, flattened, with_data
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import FunctionValue, Transformed, name_of, written_in
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, TupleValue
from jaxaudit.ir import Region, Value
from jaxaudit.spans import Span

_MOST = 2
"""Calls of one function that its rules are followed for."""
_UNFIT = ("key.", "py.append", "py.store", "py.set_item", "callback")
"""What must not be told twice: the function itself and the forward rule are alternatives."""


class Rules(NamedTuple):
    """The two functions given to `defvjp`, or the one given to `defjvp`."""

    forward: Abstract
    backward: Abstract | None

    @property
    def last(self) -> Abstract:
        """The rule that gives the derivative."""
        return self.backward or self.forward

    @property
    def written(self) -> tuple[FunctionValue | None, ...]:
        """The functions of the audited code that the rules are."""
        return tuple(written_in(one)[0] for one in self if one is not None)


def define(it: Interpreter, receiver: Abstract, given: Arguments, *, pushes: bool = False) -> None:
    """Remember `f.defvjp(forward, backward)`, or `f.defjvp(rule)` which pushes tangents forward."""
    forward, backward = (given.get(0, "jvp"), None) if pushes else (given.get(0, "fwd"), given.get(1, "bwd"))
    function = receiver.function if isinstance(receiver, Transformed) else receiver
    if not isinstance(function, FunctionValue) or forward is None or (backward is None and not pushes):
        return
    rules = Rules(forward, backward)
    if None not in rules.written:
        it.derivatives[function.node] = rules
        it.served.update((one.node, function) for one in rules.written if one is not None)


def follow(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> None:
    """Interpret the rules of a function beside a call of it."""
    function = callee.function
    if callee.spelling not in ("jax.custom_vjp", "jax.custom_jvp") or not isinstance(function, FunctionValue):
        return
    rules = it.derivatives.get(function.node)
    static = _static(it, callee)
    if rules is None or static is None or given.keywords or given.star is not None or given.stars is not None:
        return
    given = _completed(function, given)
    if max(static, default=-1) >= len(given.positional):
        return
    followed = it.followed_rules.setdefault(function.node, [])
    if len(followed) < _MOST and not any(one is not None and one.node in it.active for one in rules.written):
        followed.append(span)
        _emit(it, function, rules, given, static, span)


def _completed(function: FunctionValue, given: Arguments) -> Arguments:
    """Add the defaults of missing arguments: JAX gives the rules every argument of the function."""
    params = [*function.node.args.posonlyargs, *function.node.args.args][len(given.positional) :]
    rest = [function.defaults[param.arg] for param in params if param.arg in function.defaults]
    return Arguments((*given.positional, *rest)) if len(rest) == len(params) else given


def _static(it: Interpreter, callee: Transformed) -> set[int] | None:
    option = callee.options.get("nondiff_argnums", NONE)
    items = known_items(it, option)
    numbers = items if items is not None else () if option is NONE else (option,)
    found = {one.value for one in numbers if isinstance(one, Const) and isinstance(one.value, int)}
    return found if len(found) == len(numbers) and all(number >= 0 for number in found) else None


def _emit(
    it: Interpreter, function: FunctionValue, rules: Rules, given: Arguments, static: set[int], span: Span
) -> None:
    inputs = flattened(it, given.positional)
    moving = [at for at in range(len(given.positional)) if at not in static]
    with it.builder.nested("function", name_of(rules.last), span, inputs.params) as region:
        args = replaced(given, inputs).positional
        if rules.backward is None:
            gradients, attrs = _pushed(it, rules.forward, args, static, span)
        else:
            gradients, attrs = _backward(it, rules.forward, rules.backward, args, static, span)
    attrs |= {
        "function": function.name,
        "role": "tangent" if rules.backward is None else "derivative",
        "arguments": tuple(_parameter(function, at) for at in moving),
        "primals": tuple(data_leaves(it, args[at]) for at in moving),
        **_returned(rules.last, len(moving)),
        "rule": name_of(rules.last),
    }
    made = [*(part or () for part in gradients or ()), attrs.get("outputs", ())]
    it.builder.close(region, tuple(dict.fromkeys(value for part in made for value in part)))
    if not any(_unfit(region)):
        attrs["gradients"] = gradients
        it.emit("py.call", span, attrs=attrs, operands=inputs.operands, results=(), regions=(region,))


Followed = tuple[tuple[tuple[Value, ...] | None, ...] | None, dict[str, Any]]
"""The leaves of each derivative (None for a missing one), and what crosses between the rules."""


def _pushed(it: Interpreter, rule: Abstract, args: tuple[Abstract, ...], static: set[int], span: Span) -> Followed:
    """Give a rule a tangent for every argument, and return the tangents of what it gives."""
    moving = [one for at, one in enumerate(args) if at not in static]
    # A number of Python's stands still.
    tangents = [Const(0.0) if isinstance(one, Const) else _linear(it, one, span) for one in moving]
    fixed = [args[at] for at in sorted(static)]
    primals = (TupleValue(tuple(moving)), TupleValue(tuple(tangents)))
    left = known_items(it, it.call(rule, Arguments((*fixed, *primals)), span))
    attrs = {"cotangents": tuple(value for one in tangents for value in data_leaves(it, one))}
    if left is None or len(left) != 2:
        return None, attrs
    out, tangent = left
    return (tuple(data_leaves(it, tangent)),), {**attrs, "outputs": tuple(data_leaves(it, out))}


def _linear(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    """Return a tangent or cotangent of a value."""
    incoming = [
        it.emit("array.map", span, {"x": one}, {"function": "cotangent"}).result for one in data_leaves(it, value)
    ]
    return with_data(it, value, incoming)


def _backward(
    it: Interpreter, forward: Abstract, backward: Abstract, args: tuple[Abstract, ...], static: set[int], span: Span
) -> Followed:
    """Hand what the forward rule saves, and a cotangent, to the backward rule."""
    left = known_items(it, it.call(forward, Arguments(args), span))
    if left is None or len(left) != 2:
        return None, {}
    out, saved = left
    cotangent = _linear(it, out, span)
    fixed = [args[at] for at in sorted(static)]
    given = it.call(backward, Arguments((*fixed, saved, cotangent)), span)
    attrs: dict[str, Any] = {
        "cotangents": tuple(data_leaves(it, cotangent)),
        "outputs": tuple(data_leaves(it, out)),
        "saved": _names(forward),
        **_taken(backward, len(fixed)),
    }
    items = known_items(it, given)
    if items is None:
        return None, attrs
    return tuple(None if isinstance(one, Const) and one.value is None else data_leaves(it, one) for one in items), attrs


def _names(forward: Abstract) -> tuple[str, ...]:
    """Return the names that the forward rule saves, in order."""
    written, _ = written_in(forward)
    if written is None:
        return ()
    node = written.node
    returned = [node.body] if isinstance(node, ast.Lambda) else [one.value for one in _returns(node)]
    match returned[-1:]:
        case [ast.Tuple(elts=[_, ast.Tuple(elts=saved)])]:
            return tuple(one.id if isinstance(one, ast.Name) else "" for one in saved)
    return ()


def _returns(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.Return]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Return) and one.value is not None]


def _taken(backward: Abstract, at: int) -> dict[str, object]:
    """Return the names that the backward rule unpacks what was saved into, and where."""
    written, bound = written_in(backward)
    if written is None:
        return {}
    node, at = written.node, at + bound
    names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    if isinstance(node, ast.Lambda) or at >= len(names):
        return {}
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=name)) if name == names[at]:
                taken = tuple(one.id if isinstance(one, ast.Name) else "" for one in targets)
                return {"taken": taken, "unpacked": _span(written.module.path, statement)}
    return {}


def _returned(backward: Abstract, count: int) -> dict[str, object]:
    """Return where the backward rule returns, and where the expression for each argument stands."""
    written, _ = written_in(backward)
    if written is None:
        return {}
    node, path = written.node, written.module.path
    found = [node.body] if isinstance(node, ast.Lambda) else [one.value for one in _returns(node)]
    last = found[-1] if found else None
    if last is None:
        return {}
    items = last.elts if isinstance(last, ast.Tuple) and len(last.elts) == count else []
    return {"returned": _span(path, last), "elements": tuple(_span(path, one) for one in items)}


def _span(path: str, node: ast.expr | ast.stmt) -> Span:
    return Span(path, node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


def _parameter(function: FunctionValue, at: int) -> str:
    args = function.node.args
    names = [one.arg for one in (*args.posonlyargs, *args.args)]
    return names[at] if at < len(names) else f"argument {at + 1}"


def _unfit(region: Region) -> list[bool]:
    return [op.name.startswith(_UNFIT) or any(any(_unfit(inner)) for inner in op.regions) for op in region.ops]
