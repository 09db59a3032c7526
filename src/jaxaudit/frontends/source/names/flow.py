"""Walks over the statements of a scope in the order in which they run, and says which names have no value when read.

Syntax alone: the answer is the same whoever calls. What another path, a later turn or a closure may bring is left
open rather than held against the code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from jaxaudit.frontends.source.interpret.imports import imported_module
from jaxaudit.frontends.source.interpret.modules import Module, Project, is_main_block
from jaxaudit.frontends.source.interpret.syntax import children, landmarks, names_in
from jaxaudit.frontends.source.names.bound import bound_by, defaults, parameters
from jaxaudit.frontends.source.names.expressions import bind, read, read_all, read_lambda
from jaxaudit.frontends.source.names.paths import Gap, Side, State, joined, merged, taken
from jaxaudit.frontends.source.names.scope import Scope, Turns, Whole
from jaxaudit.ir.reads import ScopeReads, Sure

_EXPECTS = frozenset(
    """raises warns suppress assertRaises assertRaisesRegex assertRaisesWithLiteralMatch assertWarns assertWarnsRegex
    assert_raises assert_raises_regex assert_warns""".split()
)
_REFLECTION = frozenset(("exec", "globals", "eval"))
_CATCH_ALL = frozenset(("NameError", "UnboundLocalError", "Exception", "BaseException"))


def reads_of(module: Module, project: Project) -> tuple[ScopeReads, ...]:
    """Return what every scope of a module reads."""
    return tuple(one.record() for one in scopes_of(module, project).values())


def scopes_of(module: Module, project: Project) -> Mapping[ast.AST, Scope]:
    """Return the scopes of a module, by the function, class or module that each is."""
    if module.scopes is None:
        module.scopes = _followed(module, project)
    return module.scopes


def _followed(module: Module, project: Project) -> Mapping[ast.AST, Scope]:
    mains = tuple(node for node in module.tree.body if is_main_block(node))
    elsewhere = bound_by(node for node in module.tree.body if node not in mains).names | module.changing
    names = bound_by(module.tree.body).names | module.changing
    further = _imported(module, project, set())
    mentioned = {one.id for one in landmarks(module.tree).loads}
    reflects = further is None or not _REFLECTION.isdisjoint(mentioned)
    known = frozenset(names | (further or set()))
    whole = Whole(module.path, known, frozenset(names - elsewhere), mains, reflects, module.path in project.retold)
    scope = Scope(whole, module.tree, module.name, "module", names, outer={*module.changing})
    start = State(dict.fromkeys(further or ()))
    if further is None:
        start = start.loosened(names, "a module that was not read may bind it by `import *`", module.tree)
    scope.close(run(scope, module.tree.body, start))
    return whole.scopes


def _imported(module: Module, project: Project, seen: set[str]) -> set[str] | None:
    """Return the names that a module imports by `*`; None where they are not known."""
    found: set[str] = set()
    seen.add(module.path)
    for node in module.tree.body if "*" in bound_by(module.tree.body).names else ():
        if not bound_by([node]).star:
            continue
        source = imported_module(project, module, node) if isinstance(node, ast.ImportFrom) else None
        further = None if source is None or source.path in seen else _imported(source, project, seen)
        if source is None or further is None:
            return None
        found |= further | bound_by(source.tree.body).names
    return found


def run(scope: Scope, body: Iterable[ast.stmt], state: State | None) -> State | None:
    """Follow statements; None where the end is never reached."""
    for node in body:
        if state is None:
            return None
        scope.state, scope.bindings.statement = state, node
        if scope.tried:
            scope.may_fail.add(node)
        state = _statement(scope, node, state)
    return state


def _statement(scope: Scope, node: ast.stmt, state: State) -> State | None:
    match node:
        case ast.If():
            return _branch(scope, node, state)
        case ast.For() | ast.AsyncFor() | ast.While():
            return _loop(scope, node, state)
        case ast.Try() | ast.TryStar():
            return _try(scope, node, state)
        case ast.With() | ast.AsyncWith():
            return _with(scope, node, state)
        case ast.Match():
            return _match(scope, node, state)
        case ast.Return() | ast.Raise():
            read_all(scope, children(node), state)
            return None
        case ast.Break() | ast.Continue():
            ended = scope.turns[-1]
            (ended.breaks if isinstance(node, ast.Break) else ended.continues).append(state)
            return None
        case ast.Assert(test=ast.Constant(value=value)) if not value:
            return None
        case ast.Assert(test=test):
            read_all(scope, children(node), state)
            return taken(state, test, holds=True, params=scope.params)
    _simple(scope, node, state)
    return state


def _simple(scope: Scope, node: ast.stmt, state: State) -> None:
    """Follow a statement that falls through."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Lambda() as value):
            read_lambda(scope, value, state, name)
            bind(scope, target, state, value)
        case ast.Assign(targets=targets, value=value):
            read(scope, value, state)
            for target in targets:
                bind(scope, target, state, value if len(targets) == 1 else None)
        case ast.AugAssign(target=target, value=value):
            if isinstance(target, ast.Name):
                scope.look_up(target, state)
            read(scope, value, state)
            bind(scope, target, state)
        case ast.AnnAssign(target=target, value=value):
            # One alone binds nothing.
            scope.mention([node.annotation], state)
            if value is not None:
                read(scope, value, state)
                bind(scope, target, state, value)
        case ast.Delete(targets=targets):
            for target in targets:
                if isinstance(target, ast.Name):
                    scope.look_up(target, state)
                    state.names.pop(target.id, None)
                else:
                    read(scope, target, state)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            read_all(scope, (*node.decorator_list, *defaults(node)), state)
            scope.mention(_annotations(node), state)
            inner, start = scope.typed(node, state)[0].function(node, state, node.name)
            run(inner, node.body, start)
            inner.close()
            scope.bind(node.name, state)
        case ast.ClassDef():
            read_all(scope, node.decorator_list, state)
            typed, known = scope.typed(node, state)
            read_all(typed, (*node.bases, *node.keywords), known)
            inner, start = typed.class_(node, known)
            run(inner, node.body, start)
            inner.close()
            scope.bind(node.name, state)
        case ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            for name in bound_by([node]).names:
                scope.bind(name, state)
        case _:
            if isinstance(node, ast.Expr):
                read(scope, node.value, state)
            else:
                # Types that are given a name are evaluated when somebody asks for them.
                for name in bound_by([node]).names:
                    scope.bind(name, state)


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    found = [one.annotation for one in parameters(node).values()]
    return [one for one in (*found, node.returns) if one is not None]


def _branch(scope: Scope, node: ast.If, state: State, *, chained: bool = False) -> State | None:
    read(scope, node.test, state)
    sides: list[Side] = []
    scope.depth += 1
    for body, holds in ((node.body, True), (node.orelse, False)):
        if isinstance(node.test, ast.Constant) and bool(node.test.value) is not holds:
            sides.append(Side(None, body, frozenset(), holds))
            continue
        inside = taken(state, node.test, holds=holds, params=scope.params).copy()
        match body:
            case [ast.If() as other] if not holds:
                scope.state = inside
                end = _branch(scope, other, inside, chained=True)
            case _:
                end = run(scope, body, inside)
        sides.append(Side(end, body, frozenset(bound_by(body).names), holds))
    scope.depth -= 1
    return joined(state, node, (sides[0], sides[1]), scope.params, chained=chained)


def _loop(scope: Scope, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State | None:
    made = bound_by(node.body).names
    target = [] if isinstance(node, ast.While) else [node.target]
    counts = not isinstance(node, ast.While) and _counts(node.iter)
    turns = frozenset((made & state.names.keys()) | (bound_by(target).names if counts else set()))
    new = frozenset(made - state.names.keys() - turns)
    first = Gap(Sure.CERTAIN, "the first turn comes before any value", node, turns=turns, new=new)
    if not isinstance(node, ast.While):
        read(scope, node.iter, state)
    inside = state.copy()
    inside.names.update(dict.fromkeys(made - state.names.keys(), first))
    numbers = scope.bindings.begin_turn(bound_by([node]).names, inside)
    endless = False
    if isinstance(node, ast.While):
        read(scope, node.test, inside)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        inside = inside if endless else taken(inside, node.test, holds=True, params=scope.params)
    else:
        bind(scope, node.target, inside)
    scope.turns.append(ended := Turns())
    scope.bindings.loops.append(node)
    end = run(scope, node.body, inside)
    scope.bindings.loops.pop()
    scope.turns.pop()
    why = "the loop may run no turn"
    turned = merged([end, *ended.continues], why, node)
    if turned is not None:
        scope.bindings.end_turn(numbers, turned)
    if isinstance(node, ast.While):
        # The condition is read once more after the last turn.
        for one in (state, turned or state):
            for name in names_in(node.test):
                one.fresh.pop(name, None)
    runs = not isinstance(node, ast.While) and _has_items(node.iter)
    after = None if endless else turned if runs else merged([state, turned], why, node)
    return merged([run(scope, node.orelse, after), *ended.breaks], why, node)


def _counts(node: ast.expr) -> bool:
    """Whether a loop over an expression has a number for each turn."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "enumerate")


def _has_items(node: ast.expr) -> bool:
    """Whether a loop over an expression surely has a turn."""
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return bool(items)
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(count))]):
            return count > 0
    return False


def _try(scope: Scope, node: ast.Try | ast.TryStar, state: State) -> State | None:
    why = "what is tried may fail before"
    caught = any(_catches_names(one) for one in node.handlers)
    scope.caught += caught
    scope.tried += bool(node.handlers)
    begun = len(scope.bindings.every)
    end = run(scope, node.body, state.copy())
    scope.caught -= caught
    scope.tried -= bool(node.handlers)
    failed = state.loosened(bound_by(node.body).names, why, node)
    scope.bindings.spread(begun, failed)
    ends = [run(scope, node.orelse, end)]
    ends += [_handler(scope, handler, failed.copy()) for handler in node.handlers]
    after = merged(ends, why, node)
    bound = bound_by([*node.body, *node.handlers, *node.orelse]).names
    leaving = state.loosened(bound, why, node)
    scope.bindings.spread(begun, leaving)
    last = run(scope, node.finalbody, leaving)
    if after is not None and last is not None and node.finalbody:
        after.names.update(dict.fromkeys(bound_by(node.finalbody).names))
        after.made, after.fresh = last.made, last.fresh
    return None if last is None else after


def _handler(scope: Scope, node: ast.ExceptHandler, state: State) -> State | None:
    if node.type is not None:
        read(scope, node.type, state)
    if node.name:
        scope.bind(node.name, state)
    end = run(scope, node.body, state)
    if end is not None and node.name:
        # Python takes the exception away at the end of the block.
        end.names.pop(node.name, None)
    return end


def _catches_names(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(one, ast.Name) and one.id in _CATCH_ALL for one in parts)


def _with(scope: Scope, node: ast.With | ast.AsyncWith, state: State) -> State | None:
    for item in node.items:
        read(scope, item.context_expr, state)
        bind(scope, item.optional_vars, state)
    # A context may swallow the exception that ends its body.
    why, may_fail = "the block may be left before", _expects_failure(node)
    left, begun = state.loosened(bound_by(node.body).names, why, node), len(scope.bindings.every)
    scope.tried += may_fail
    end = run(scope, node.body, state.copy())
    scope.tried -= may_fail
    scope.bindings.spread(begun, left)
    left.fresh.clear()
    return left if end is None else merged([end, left], why, node) if may_fail else end


def _expects_failure(node: ast.With | ast.AsyncWith) -> bool:
    """Whether a context is there to end with an exception of its body."""
    return any(_expects(item.context_expr) for item in node.items)


def _expects(context: ast.expr) -> bool:
    match context:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _EXPECTS
    return False


def _match(scope: Scope, node: ast.Match, state: State) -> State | None:
    read(scope, node.subject, state)
    ends: list[State | None] = []
    whole = False
    scope.depth += 1
    for case in node.cases:
        inside = state.copy()
        for name in bound_by([case.pattern]).names:
            scope.bind(name, inside)
        read_all(scope, children(case.pattern), inside)
        if case.guard is not None:
            read(scope, case.guard, inside)
        ends.append(run(scope, case.body, inside))
        whole |= case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    scope.depth -= 1
    return merged(ends if whole else [*ends, state], "no case need hold", node)
