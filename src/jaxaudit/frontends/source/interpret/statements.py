"""Statements that are not assignments, loops or definitions: conditionals, exits, `try`, `with`, `match`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxaudit.frontends.source.interpret.asked import patterns, test
from jaxaudit.frontends.source.interpret.assign import assign
from jaxaudit.frontends.source.interpret.attributes import load
from jaxaudit.frontends.source.interpret.branches import Arm, run_arms, run_aside
from jaxaudit.frontends.source.interpret.imports import is_there
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.switches import Choice, choice, is_given, opened
from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.names.bound import bound_by
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.frames import assigned_names
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, TupleValue, named
from jaxaudit.frontends.source.values.sides import answered, sides
from jaxaudit.frontends.source.values.structure import leaves, materialise
from jaxaudit.frontends.source.values.type_tests import is_for_others, matches, narrowed, narrowed_case
from jaxaudit.ir import Exit
from jaxaudit.ir.ops import NOTES, STORES

_EXPECT_FAILURE = frozenset(
    """raises assert_raises assert_raises_regex assertRaises assertRaisesRegex assertRaisesWithLiteralMatch
    assertRaisesWithPredicateMatch""".split()
)
_SETTING_UP = NOTES.union(STORES, ("py.const", "py.container", "py.global", "py.return", "py.attr"))
"""Ops by which nothing of JAX runs."""
_CAUGHT = frozenset("Exception BaseException ValueError TypeError IndexError AttributeError".split())
"""Exceptions as which those that findings speak of can be caught, JAX's own among them."""
_CONSTRUCTS = {"ensure_compile_time_eval": "compile time", "disable_jit": "without jit"}
"""Context managers of JAX under which code runs at once, even inside traced functions or in JAX's loops."""
_JIT_IS_OFF = Library("jax.config.jax_disable_jit")


def expression(it: Interpreter, node: ast.Expr) -> Exit:
    """Evaluate an expression for its effects."""
    value = it.evaluate(node.value)
    if isinstance(node.value, ast.Call | ast.BinOp):
        bindings.note_dropped(it, node, value)
    return Exit.FALL


def if_(it: Interpreter, node: ast.If) -> Exit:
    """Interpret a conditional: the side that is known to run, or both."""
    condition = it.evaluate(node.test)
    if isinstance(condition, Library) and condition.name == "typing.TYPE_CHECKING":
        # Names for annotations are worth knowing, but where the program binds them too, what runs counts.
        it.execute(node.body)
        return it.execute(node.orelse)
    known = truth(it, condition)
    if known is not None:
        taken, other = (node.body, node.orelse) if known else (node.orelse, node.body)
        it.taken.update(taken[:1])
        chosen = choice(it, node.test)
        if chosen is not None and other and other[0] not in it.taken:
            it.taken.add(other[0])
            run_aside(it, _aside(it, other, chosen), it.span(node), by_caller=is_given(it, node.test))
        if chosen is not None and _matters(node):
            chosen.note(it)
        bound = bound_by(other).names if it.in_loop else ()
        bindings.note_kept(it, (value for name, value in it.frame.env.items() if name in bound), it.span(node))
        leaving = it.execute(taken)
        bindings.note_kept(it, it.frame.returns[-1:] if leaving is Exit.RETURN else (), it.span(node))
        return leaving
    if (here := answered(it, node.test)) is not None:
        taken, other = (node.body, node.orelse) if here else (node.orelse, node.body)
        if other and other[0] not in it.taken:
            run_aside(it, _block(it, other), it.span(node), by_caller=True)
        return it.execute(taken)
    it.taken.update((*node.body[:1], *node.orelse[:1]))
    span = it.span(node.test)
    asked = test(it, condition, "if", span)
    then = _block(it, node.body)
    if condition == _JIT_IS_OFF:
        then = _without_jit(it, node)

    def arm(label: str, run: Callable[[], Exit], holds: bool) -> Arm:
        told = narrowed(it, node.test, holds=holds)
        return Arm(label, run, told, is_for_others(it, node.test, holds=holds), sides(it, node.test, holds=holds))

    arms = [arm("then", then, True), arm("else", _block(it, node.orelse), False)]
    return run_arms(it, arms, it.span(node), "if", asked, node.test)


def _aside(it: Interpreter, body: list[ast.stmt], chosen: Choice) -> Callable[[], Exit]:
    """Interpret a side that a switch leaves out, as it is where the switch is set otherwise from the beginning."""
    contrary = chosen.is_made(it)

    def run() -> Exit:
        before = dict(it.decided)
        if contrary:
            it.frame.env.update(opened(it, it.frame.env, it.span(body[0])))
        leaving = it.execute(body)
        it.decided = before
        return leaving

    return run


def _matters(node: ast.If) -> bool:
    """Whether what comes after a condition may hang together with the side that was taken."""
    plain = ast.Expr | ast.Pass | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom
    return not all(isinstance(one, plain) for one in (*node.body, *node.orelse))


def _without_jit(it: Interpreter, node: ast.If) -> Callable[[], Exit]:
    """Interpret what runs only where nothing is compiled."""
    return lambda: run_arms(it, [Arm("with", _block(it, node.body))], it.span(node), "jit is off")


def _block(it: Interpreter, body: list[ast.stmt]) -> Callable[[], Exit]:
    return lambda: it.execute(body)


def return_(it: Interpreter, node: ast.Return) -> Exit:
    """Leave the function with a value."""
    value = NONE if node.value is None else it.evaluate(node.value)
    it.frame.returns.append(value)
    it.frame.left.append(it.heap.moment())
    operands = tuple(dict.fromkeys(leaves(it, _read(it, value, node))))
    # The function that is called in the place of this one has given it back already.
    given_back = node.value is not None and node.value is it.handed_on and it.builder.region.ops[-1:]
    if not given_back or given_back[0].name != "py.return":
        it.emit("py.return", it.span(node), operands=operands, results=0)
    return Exit.RETURN


def _read(it: Interpreter, value: Abstract, node: ast.Return) -> Abstract:
    """Read the attributes that a function gives back beside other values: they are not the whole object."""
    if not isinstance(value, TupleValue):
        return value
    span = it.span(node.value or node)
    return TupleValue(tuple(load(it, one, span) if isinstance(one, Attribute) else one for one in value.items))


def raise_(it: Interpreter, node: ast.Raise) -> Exit:
    """Leave by an exception."""
    if node.exc is not None:
        it.evaluate(node.exc)
    it.emit("py.raise", it.span(node), results=0)
    return Exit.RAISE


def assert_(it: Interpreter, node: ast.Assert) -> Exit:
    """Ask for the truth of a value."""
    condition = it.evaluate(node.test)
    if truth(it, condition) is None:
        span = it.span(node.test)
        test(it, condition, "assert", span)
        it.frame.env.update(narrowed(it, node.test, holds=True))
    return Exit.FALL


def break_(it: Interpreter, node: ast.Break) -> Exit:
    """Leave the loop."""
    if it.frame.loops:
        it.frame.loops[-1].breaks.append(dict(it.frame.env))
        it.frame.loops[-1].left.append(it.heap.moment())
    return Exit.BREAK


def continue_(it: Interpreter, node: ast.Continue) -> Exit:
    """Go to the loop's next turn."""
    if it.frame.loops:
        it.frame.loops[-1].continues.append(dict(it.frame.env))
        it.frame.loops[-1].left.append(it.heap.moment())
    return Exit.CONTINUE


def try_(it: Interpreter, node: ast.Try) -> Exit:
    """Interpret the body and each handler as alternatives, then what always runs."""
    if _guards_imports(it, node):
        leaving = it.execute([*node.body, *node.orelse])
    elif not node.handlers:
        leaving = it.execute([*node.body, *node.orelse])
    else:
        body = _block(it, [*node.body, *node.orelse])
        forgives = any(_forgives(it, handler) for handler in node.handlers)
        it.frame.tried |= forgives
        arms = [Arm("try", _forgiving(it, body) if forgives else body)]
        arms += [Arm("except", _handler(it, handler)) for handler in node.handlers]
        leaving = run_arms(it, arms, it.span(node), "try")
    final = it.execute(node.finalbody)
    return leaving if final is Exit.FALL else final


def _forgives(it: Interpreter, handler: ast.ExceptHandler) -> bool:
    """Whether a handler goes on after exceptions such as those of JAX."""
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = any(part is None or _catches(it, part) for part in parts)
    return caught and not isinstance(handler.body[-1], ast.Raise)


def _catches(it: Interpreter, part: ast.expr) -> bool:
    name = ast.unparse(part)
    if name in _CAUGHT or "jax" in name or "Tracer" in name or "Concretization" in name:
        return True
    # A name may stand for several, which may not be known.
    return isinstance(part, ast.Name) and not isinstance(it.evaluate(part), Library | ClassValue)


def _forgiving(it: Interpreter, run: Callable[[], Exit]) -> Callable[[], Exit]:
    def guarded() -> Exit:
        frame = it.frame
        frame.guarded += 1
        try:
            return run()
        finally:
            frame.guarded -= 1

    return guarded


def _guards_imports(it: Interpreter, node: ast.Try) -> bool:
    """Whether a `try` only picks between imports: then the first choice is what the authors meant.

    Where it notes which choice it was, that holds for what is there for sure: JAX, and modules in sight.
    """
    imports = [one for one in node.body if isinstance(one, ast.Import | ast.ImportFrom)]
    if len(imports) == len(node.body):
        return True
    plain = all(isinstance(one, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign) for one in node.body)
    caught = {ast.unparse(one.type) for one in node.handlers if one.type is not None}
    failed = caught and caught <= {"ImportError", "ModuleNotFoundError"}
    return bool(plain and failed and imports) and all(is_there(it, one) for one in imports)


def _handler(it: Interpreter, handler: ast.ExceptHandler) -> Callable[[], Exit]:
    def run() -> Exit:
        if handler.name is not None:
            it.frame.env[handler.name] = it.unknown("an exception", it.span(handler), handler.name)
        return it.execute(handler.body)

    return run


def with_(it: Interpreter, node: ast.With | ast.AsyncWith) -> Exit:
    """Interpret the body of a `with`; what its context managers give is not known."""
    managers: list[Abstract] = []
    for item in node.items:
        manager = it.evaluate(item.context_expr)
        managers.append(manager)
        if item.optional_vars is not None:
            span = it.span(item.context_expr)
            value = manager if not isinstance(manager, Const) else it.unknown("what a context manager gives", span)
            assign(it, item.optional_vars, value, span)
    if any(_expects_failure(item) for item in node.items):
        return _failing(it, node)
    for name, construct in _CONSTRUCTS.items():
        if any(_manages(it, item, name) for item in node.items):
            return run_arms(it, [Arm("with", _block(it, node.body))], it.span(node), construct)
    before = len(it.builder.region.ops)
    leaving = it.execute(node.body)
    _note_held(it, node, managers, before)
    return leaving


def _note_held(it: Interpreter, node: ast.With | ast.AsyncWith, managers: list[Abstract], before: int) -> None:
    """Note what a `with` holds for, unless others run something in it: after a `yield`, or in a module it imports."""
    inside = [one for statement in node.body for one in walk(statement)]
    if any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Await | ast.Import | ast.ImportFrom) for one in inside):
        return
    ops = it.builder.region.ops[before:]
    for item, manager in zip(node.items, managers, strict=True):
        if isinstance(manager, Leaf) and any(isinstance(one, ast.Call) for one in inside):
            runs = any(op.name not in _SETTING_UP for op in ops)
            it.emit("py.held", it.span(item.context_expr), {"manager": manager.value}, {"runs": runs}, results=0)


def _expects_failure(item: ast.withitem) -> bool:
    """Whether this is `with pytest.raises(...)`, `with self.assertRaises(...)`, or either by its bare name."""
    called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in _EXPECT_FAILURE


def _failing(it: Interpreter, node: ast.With | ast.AsyncWith) -> Exit:
    """Leave out code that a test expects to fail: nothing it does is a promise, and it ends who knows where."""
    for name in assigned_names(node):
        it.frame.env[name] = it.unknown("what a test expects to fail", it.span(node), name)
    for inner in (one for statement in node.body for one in walk(statement)):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            it.left_out[inner] = "a test expects the code around it to fail"
        elif isinstance(inner, ast.Name) and (function := _own_function(it, it.frame.env.get(inner.id))) is not None:
            it.left_out[function.node] = "a test expects it to fail"
    return Exit.FALL


def _own_function(it: Interpreter, value: Abstract | None) -> FunctionValue | None:
    """Return the function that a test defines itself and holds here, perhaps transformed."""
    while isinstance(value, Transformed | PartialValue) or (isinstance(value, Leaf) and value.holds is not None):
        value = value.holds if isinstance(value, Leaf) else value.function
    return value if isinstance(value, FunctionValue) and value.frame is it.frame else None


def _manages(it: Interpreter, item: ast.withitem, name: str) -> bool:
    """Whether a context manager of JAX is called by its name, and without arguments that might turn it off."""
    call = item.context_expr
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute)) or call.args:
        return False
    called = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    return called.endswith(name) and isinstance(it.evaluate(call.func), Library)


def match_(it: Interpreter, node: ast.Match) -> Exit:
    """Interpret each case that may match as an alternative; names that patterns bind to parts are unknown."""
    subject = it.evaluate(node.subject)
    span = it.span(node.subject)
    patterns(it, subject, (case.pattern for case in node.cases), span)
    arms: list[Arm] = []
    for case in node.cases:
        answer = matches(it, case.pattern, subject)
        if answer is not False:
            arms.append(Arm("case", _case(it, case, subject), narrowed_case(it, node.subject, case.pattern)))
        if answer and case.guard is None:
            break
    else:
        arms.append(Arm("no case", lambda: Exit.FALL))
    return run_arms(it, arms, it.span(node), "match", materialise(it, subject, span))


def _case(it: Interpreter, case: ast.match_case, subject: Abstract) -> Callable[[], Exit]:
    def run() -> Exit:
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if isinstance(name, str) and isinstance(pattern, ast.MatchAs | ast.MatchStar | ast.MatchMapping):
                it.frame.env[name] = it.unknown("bound by a pattern", it.span(pattern), name)  # type: ignore[arg-type]
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.name is not None:
            it.frame.env[case.pattern.name] = named(subject, case.pattern.name)
        asked = Const(True) if case.guard is None else it.evaluate(case.guard)
        known = truth(it, asked)
        if case.guard is not None and known is None:
            test(it, asked, "if", it.span(case.guard))
        # What a guard leaves out never runs, so nothing of it goes on; one that is open may ask for what is read here.
        if known is False:
            return Exit.RAISE
        it.frame.guarded += known is None
        leaving = it.execute(case.body)
        it.frame.guarded -= known is None
        return leaving

    return run


HANDLERS = {
    ast.Expr: expression,
    ast.If: if_,
    ast.Return: return_,
    ast.Raise: raise_,
    ast.Assert: assert_,
    ast.Break: break_,
    ast.Continue: continue_,
    ast.Try: try_,
    ast.TryStar: try_,
    ast.With: with_,
    ast.AsyncWith: with_,
    ast.Match: match_,
}
