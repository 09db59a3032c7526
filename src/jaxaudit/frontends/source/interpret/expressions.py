"""Expressions: names, constants, operators, attributes, subscripts, conditionals and text."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping, Sequence

from jaxaudit.frontends.source.interpret import attributes, operators, subscripts
from jaxaudit.frontends.source.interpret.asked import member, test
from jaxaudit.frontends.source.interpret.branches import Arm, join, run_arms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.switches import choice
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.callables import Library
from jaxaudit.frontends.source.values.elements import element
from jaxaudit.frontends.source.values.folding import fold_binary, fold_compare, fold_unary, truth
from jaxaudit.frontends.source.values.heap import OpaqueBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Ref, Slice, named
from jaxaudit.frontends.source.values.sides import answered, settled, sides
from jaxaudit.frontends.source.values.structure import argument, materialise
from jaxaudit.frontends.source.values.type_tests import is_for_others, narrowed
from jaxaudit.ir import Exit, Size, Value
from jaxaudit.ir.functions import MIRRORED
from jaxaudit.ir.operators import OPERATORS
from jaxaudit.spans import Span

_SAME_AS_IS = {"equal": "is", "not_equal": "is not"}
_WORDS: dict[type[ast.cmpop], str] = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


_NUMBER_FORMAT = re.compile(r"%[-+ #0-9.]*[dfgeEGi]|\{[^{}]*:[^{}]*[dfgeEGn%]\}")
"""What asks for a number in a template of text."""


def constant(it: Interpreter, node: ast.Constant) -> Abstract:
    """Return a literal."""
    return Const(node.value)


def name(it: Interpreter, node: ast.Name) -> Abstract:
    """Look a name up: local, enclosing functions, module, builtins."""
    return settled(it, look_up(it, node.id, it.span(node)))


def look_up(it: Interpreter, identifier: str, span: Span) -> Abstract:
    """Return the value of a variable as seen from the open frame."""
    frame = it.frame
    if identifier in frame.env and identifier not in frame.global_names:
        return frame.env[identifier]
    return _look_around(it, identifier, span)


def _look_around(it: Interpreter, identifier: str, span: Span) -> Abstract:
    """Return the value of a variable that is none of the open frame's own."""
    scope = it.frame.enclosing()
    while scope is not None and scope.kind == "function":
        if identifier in scope.env:
            if it.compiled and identifier in scope.captured and scope.opened <= it.compiled[-1][0]:
                it.note_read("closure", scope.opened, identifier, span, scope.env[identifier])
            return scope.env[identifier]
        scope = scope.enclosing()
    return _global(it, identifier, span)


def note_asked(it: Interpreter, identifier: str, span: Span) -> None:
    """Write down that code which is traced once asks an iterator for its next item that is older than itself."""
    frame = it.frame
    if not it.traced or identifier in frame.env:
        return
    scope = frame.enclosing()
    while scope is not None and scope.kind == "function" and identifier not in scope.env:
        scope = scope.enclosing()
    opened = scope.opened if scope is not None and scope.kind == "function" else 0
    if opened <= it.traced[-1][0]:
        it.note_read("iterator", opened, identifier, span, NONE)


def _global(it: Interpreter, identifier: str, span: Span) -> Abstract:
    module = it.frame.module
    found = module.member(identifier)
    if found is None:
        if hasattr(builtins, identifier):
            return Library(f"builtins.{identifier}")
        return it.unknown(f"the name {identifier} is not defined in what was read", span, identifier)
    if module.ended and identifier in module.rebound:
        return it.unknown(f"{identifier} stands for one library first and for another later", span, identifier)
    if module.ended and identifier in module.replaced.values() and _is_replaced(it):
        return it.unknown(f"{identifier} stands for one function first and for another later", span, identifier)
    changing = isinstance(found, Const) and identifier in module.changing
    if it.frame.kind == "module" or not (isinstance(found, Leaf) or changing):
        return found
    reads = it.frame.global_reads
    if identifier not in reads:
        attrs = {"name": f"{module.name}.{identifier}", "value": found.value}
        value = it.emit("py.global", span, attrs=attrs).result
        value.name = identifier
        reads[identifier] = found.at(value) if isinstance(found, Leaf) else Leaf(value)
    if it.compiled and identifier in module.changing:
        it.note_read("global", module.name, identifier, span, reads[identifier])
    return reads[identifier]


def _is_replaced(it: Interpreter) -> bool:
    """Whether the open code is of a function of a module that has given its name to another one by now."""
    scope, module = it.frame, it.frame.module
    while scope.parent is not None and scope.parent.kind != "module":
        scope = scope.parent
    return scope.function is not None and scope.function.node in module.replaced


def binary(it: Interpreter, node: ast.BinOp) -> Abstract:
    """Apply a binary operator."""
    left, right = it.evaluate(node.left), it.evaluate(node.right)
    return apply_binary(it, node.op, left, right, it.span(node), given=_is_given(it, node.left, node.right))


def _is_given(it: Interpreter, *nodes: ast.expr) -> bool:
    """Whether an operand is a parameter of the open function: it may have another type than it seems."""
    function = it.frame.function
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    if function is None or not names:
        return False
    params = function.node.args
    return any(param.arg in names for param in (*params.posonlyargs, *params.args, *params.kwonlyargs))


def apply_binary(
    it: Interpreter,
    operator: ast.operator,
    left: Abstract,
    right: Abstract,
    span: Span,
    *,
    given: bool = True,
    augmented: bool = False,
) -> Abstract:
    """Apply a binary operator to abstract values.

    `given` where an operand is a parameter or came about otherwise, `augmented` for `left += right`.
    """
    own = operators.overloaded(it, operator, left, right, span)
    if own is not None:
        return own
    folded = fold_binary(it, operator, left, right)
    if folded is not None:
        _note_sizes(it, operator, left, right, span)
        return folded
    if isinstance(operator, ast.Mod) and isinstance(left, Const) and isinstance(left.value, str):
        return note_format(it, left.value, known_items(it, right) or (right,), span)
    function = OPERATORS[type(operator).__name__].function
    op = "array.dot" if function == "matmul" else "array.map"
    joined = operators.joined(it, left, right, span) if function == "add" else None
    if joined is not None:
        return joined
    arguments = {"x": argument(it, left, span), "y": argument(it, right, span)}
    attrs = {"function": function, "operator": True, **({"augmented": True} if augmented else {})}
    if not given and any(isinstance(one, tuple) for one in arguments.values()):
        attrs["own"] = True
    made = it.emit(op, span, arguments, attrs).result
    if function == "multiply" and any(operators.is_filler(it, side) for side in (left, right)):
        return it.heap.new(OpaqueBox(made))
    return Leaf(made, array=_is_array(left) or _is_array(right), exists=True)


def _is_array(value: Abstract) -> bool:
    return isinstance(value, Leaf) and value.array


def _note_sizes(it: Interpreter, operator: ast.operator, left: Abstract, right: Abstract, span: Span) -> None:
    """Note that two named constants are multiplied: whoever does so has an array with both axes in mind."""
    if isinstance(operator, ast.Mult) and isinstance(left, Const) and isinstance(right, Const):
        if isinstance(left.value, Size) and isinstance(right.value, Size) and left.value.name and right.value.name:
            it.emit("py.sizes", span, attrs={"left": left.value, "right": right.value}, results=0)
        return
    repeated = left if isinstance(left, Ref) else right
    if isinstance(operator, ast.Mult) and isinstance(repeated, Ref):
        items = known_items(it, repeated) or ()
        numbers = tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, int | float))
        if len(numbers) == len(items) > 1:
            it.emit("py.repeat", span, attrs={"values": numbers}, results=0)


def unary(it: Interpreter, node: ast.UnaryOp) -> Abstract:
    """Apply a unary operator."""
    operand, span = it.evaluate(node.operand), it.span(node)
    folded = fold_unary(node.op, operand)
    if folded is not None and not _inverts_truth(node.op, operand):
        return folded
    if isinstance(node.op, ast.Not):
        known = truth(it, operand)
        if known is not None:
            return Const(not known)
        value = test(it, operand, "not", span)
        return Leaf(it.emit("py.operator", span, {"x": value}, {"operator": "not"}).result)
    attrs = {"function": OPERATORS[type(node.op).__name__].function, "operator": True}
    made = it.emit("array.map", span, {"x": argument(it, operand, span)}, attrs).result
    return Leaf(made, array=_is_array(operand), exists=True)


def _inverts_truth(operator: ast.unaryop, operand: Abstract) -> bool:
    """Whether this is `~True`, which is -2: worth an op, so that rules see it."""
    return isinstance(operator, ast.Invert) and isinstance(operand, Const) and isinstance(operand.value, bool)


def compare(it: Interpreter, node: ast.Compare) -> Abstract:
    """Compare two or more values."""
    left = it.evaluate(node.left)
    outcomes: list[Abstract] = []
    for operator, item in zip(node.ops, node.comparators, strict=True):
        right = it.evaluate(item)
        outcomes.append(_compare_pair(it, operator, left, right, it.span(node), operators.grouping(it, node)))
        left = right
    if len(outcomes) == 1:
        return outcomes[0]
    if all(isinstance(outcome, Const) for outcome in outcomes):
        return Const(all(outcome.value for outcome in outcomes if isinstance(outcome, Const)))
    for outcome in outcomes[:-1]:
        if not isinstance(outcome, Const):
            test(it, outcome, "chained comparison", it.span(node))
    return join(it, outcomes, "expression", it.span(node))


def _compare_pair(
    it: Interpreter, operator: ast.cmpop, left: Abstract, right: Abstract, span: Span, notes: Mapping[str, object]
) -> Abstract:
    folded = fold_compare(it, operator, left, right)
    if folded is not None:
        return folded
    arguments = {"x": argument(it, left, span), "y": argument(it, right, span)}
    known = OPERATORS.get(type(operator).__name__)
    function = known.function if known is not None else None
    if function in _SAME_AS_IS and NONE in (left, right):
        # Arrays of JAX leave this to Python, which asks whether it is the same object.
        return Leaf(it.emit("py.operator", span, arguments, {"operator": _SAME_AS_IS[function]}).result)
    if function is not None:
        if isinstance(left, Const) and function in MIRRORED:
            # `0 < x` is `x > 0`.
            function, arguments = MIRRORED[function], {"x": arguments["y"], "y": arguments["x"]}
        made = it.emit("array.map", span, arguments, {"function": function, "operator": True, **notes}).result
        return Leaf(made, array=_is_array(left) or _is_array(right), exists=True)
    word = _WORDS[type(operator)]
    if word.endswith("in"):
        own = operators.contains(it, left, right, span)
        if own is not None:
            return own
        member(it, left, right, word, span)
    return Leaf(it.emit("py.operator", span, arguments, {"operator": word}).result)


def boolean(it: Interpreter, node: ast.BoolOp) -> Abstract:
    """Apply `and` or `or`: the first value that decides, or the last."""
    word = "or" if isinstance(node.op, ast.Or) else "and"
    return join(it, _candidates(it, node.values, word), "expression", it.span(node), word)


def _candidates(it: Interpreter, items: Sequence[ast.expr], word: str) -> list[Abstract]:
    """Return what `and` or `or` may give; what stands on the right is evaluated where the left leaves it open."""
    value, stops_on = it.evaluate(items[0]), word == "or"
    known = truth(it, value)
    if known is stops_on or len(items) == 1:
        return [value]
    if known is not None:
        return _candidates(it, items[1:], word)
    span = it.span(items[0])
    asked = test(it, value, word, span)
    found: list[Abstract] = []

    def goes_on() -> Exit:
        found.extend(_candidates(it, items[1:], word))
        return Exit.FALL

    told = narrowed(it, items[0], holds=not stops_on)
    if all(map(_is_plain, items[1:])) and not told:
        goes_on()
    else:
        arms = [Arm("then", lambda: Exit.FALL), Arm("else", lambda: Exit.FALL)]
        arms[stops_on] = Arm(arms[stops_on].label, goes_on, told)
        run_arms(it, arms, span, word, asked, items[0])
    return [value, *found]


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression reads and compares and does no more, so that it matters little whether it is evaluated."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner):
            return _is_plain(inner)
        case ast.Compare(left=left, comparators=others):
            return all(map(_is_plain, (left, *others)))
        case ast.BoolOp(values=values):
            return all(map(_is_plain, values))
    return False


def conditional(it: Interpreter, node: ast.IfExp) -> Abstract:
    """Return `a if c else b`; both sides are interpreted as branches unless the condition is known."""
    condition = it.evaluate(node.test)
    known = truth(it, condition)
    if known is not None:
        if (chosen := choice(it, node.test)) is not None:
            chosen.note(it)
        value = it.evaluate(taken := node.body if known else node.orelse)
        bindings.note_kept(it, (value,) if _is_plain(taken) else (), it.span(node))
        return value
    if (here := answered(it, node.test)) is not None:
        return it.evaluate(node.body if here else node.orelse)
    span = it.span(node)
    asked = test(it, condition, "conditional expression", span)

    def side(expression: ast.expr) -> Arm:
        def run() -> Exit:
            it.frame.env[" value"] = it.evaluate(expression)
            return Exit.FALL

        then = expression is node.body
        return Arm(
            "then" if then else "else",
            run,
            narrowed(it, node.test, holds=then),
            is_for_others(it, node.test, holds=then),
            sides(it, node.test, holds=then),
        )

    # The blank in the name keeps this temporary apart from every variable of the program.
    run_arms(it, [side(node.body), side(node.orelse)], span, "conditional expression", asked, node.test)
    return it.frame.env.pop(" value")


def attribute(it: Interpreter, node: ast.Attribute) -> Abstract:
    """Read an attribute."""
    return settled(it, attributes.read(it, it.evaluate(node.value), node.attr, it.span(node)))


def subscript(it: Interpreter, node: ast.Subscript) -> Abstract:
    """Read an item."""
    if isinstance(node.value, ast.Attribute) and node.value.attr == "at":
        base = it.evaluate(node.value.value)
        return subscripts.at_item(it, base, it.evaluate(node.slice), it.span(node))
    return subscripts.read(it, it.evaluate(node.value), it.evaluate(node.slice), it.span(node))


def slice_(it: Interpreter, node: ast.Slice) -> Abstract:
    """Return a slice."""
    lower, upper, step = (NONE if part is None else it.evaluate(part) for part in (node.lower, node.upper, node.step))
    return Slice(lower, upper, step)


def text(it: Interpreter, node: ast.JoinedStr) -> Abstract:
    """Return an f-string; every value in it is turned into text."""
    pieces = [_formatted(it, part) for part in node.values]
    if all(isinstance(piece, str) for piece in pieces):
        return Const("".join(map(str, pieces)))
    return _text(it, it.span(node), [piece for piece in pieces if isinstance(piece, Value)])


def _text(it: Interpreter, span: Span, values: Sequence[Value]) -> Leaf:
    """Return a text; what it shows of some values is nothing that could be computed with."""
    made = it.emit("py.operator", span, attrs={"operator": "text", "values": tuple(values)})
    return Leaf(made.result, "builtins.str")


def _formatted(it: Interpreter, part: ast.expr) -> str | Value | None:
    """Return a piece of a text: what it says, or the value that it is made of."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if not isinstance(part, ast.FormattedValue):
        return None
    value = it.evaluate(part.value)
    spec = "" if part.format_spec is None else ast.unparse(part.format_spec)
    if isinstance(value, Const) and not spec:
        return str(value.value)
    return _note_shown(it, value, spec, it.span(part.value))


def _note_shown(it: Interpreter, value: Abstract, spec: str, span: Span) -> Value | None:
    """Note that a value becomes text."""
    if not isinstance(value, Leaf | Ref):
        return None
    shown = materialise(it, value, span)
    it.emit("py.format", span, {"value": shown}, {"spec": spec}, results=0)
    return shown


def note_format(it: Interpreter, template: str, values: Sequence[Abstract], span: Span) -> Leaf:
    """Return the text that `template % values` or `template.format(values)` makes; each value is turned into text."""
    spec = ".f" if _NUMBER_FORMAT.search(template) else ""
    shown = [_note_shown(it, value, spec, span) for value in values]
    return _text(it, span, [value for value in shown if value is not None])


def formatted(it: Interpreter, node: ast.FormattedValue) -> Abstract:
    """Evaluate what stands in the braces of an f-string."""
    return it.evaluate(node.value)


def walrus(it: Interpreter, node: ast.NamedExpr) -> Abstract:
    """Assign inside an expression."""
    value = it.evaluate(node.value)
    it.frame.env[node.target.id] = named(value, node.target.id)
    return value


def awaited(it: Interpreter, node: ast.Await) -> Abstract:
    """Return what an awaited expression gives."""
    return it.evaluate(node.value)


def yielded(it: Interpreter, node: ast.Yield | ast.YieldFrom) -> Abstract:
    """Evaluate what is yielded; what the consumer sends back is not known."""
    value, span = NONE if node.value is None else it.evaluate(node.value), it.span(node)
    sent = it.unknown("what a generator is sent is not known", span)
    it.frame.yields.append(value if isinstance(node, ast.Yield) else element(it, value, sent, span))
    return sent


def starred(it: Interpreter, node: ast.Starred) -> Abstract:
    """Evaluate a starred expression outside the places that unpack it."""
    return it.evaluate(node.value)


HANDLERS = {
    ast.Constant: constant,
    ast.Name: name,
    ast.BinOp: binary,
    ast.UnaryOp: unary,
    ast.Compare: compare,
    ast.BoolOp: boolean,
    ast.IfExp: conditional,
    ast.Attribute: attribute,
    ast.Subscript: subscript,
    ast.Slice: slice_,
    ast.JoinedStr: text,
    ast.FormattedValue: formatted,
    ast.NamedExpr: walrus,
    ast.Await: awaited,
    ast.Yield: yielded,
    ast.YieldFrom: yielded,
    ast.Starred: starred,
}
