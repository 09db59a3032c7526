"""Reading a project: every module's top level, then every function that nothing calls, each a root of the program."""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jaxaudit.frontends.base import Reach, Reading, Skip, SourceFile
from jaxaudit.frontends.source import functions, imports, transforms
from jaxaudit.frontends.source.arguments import Arguments
from jaxaudit.frontends.source.frames import Frame
from jaxaudit.frontends.source.interpreter import MAX_OPS, Interpreter
from jaxaudit.frontends.source.modules import Loader, Module, Project
from jaxaudit.frontends.source.outline import FunctionNode, outline
from jaxaudit.frontends.source.regions import leaves_in_order
from jaxaudit.frontends.source.values import Abstract, ClassValue, FunctionValue, Leaf, ObjectBox, Record
from jaxaudit.ir import Program, Root
from jaxaudit.spans import span_of

_DEEPEST = 12_000
"""Python frames the interpreter may use: nested expressions and followed calls both recurse."""


def read_source(files: Sequence[SourceFile], load: Loader) -> Reading:
    """Interpret files abstractly and give the program they make."""
    project = Project(load)
    with _deep_recursion():
        project.add_all(files)
        reader = _Reader(project)
        reader.run()
    program = Program(tuple(reader.it.roots), "source", project.comments())
    return Reading(program, tuple(project.problems), reader.reach(files))


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    collecting = gc.isenabled()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    # Syntax trees and IR live until the end: collecting garbage meanwhile costs a third of the time and frees nothing.
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


class _Reader:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.it = Interpreter(project)
        self.failed: dict[FunctionNode, str] = {}
        self.outlines = {path: outline(module.tree) for path, module in project.modules.items() if module.audited}

    def run(self) -> None:
        for module in list(self.project.modules.values()):
            self._guarded(lambda module=module: imports.interpret(self.it, module), module)
        for late in (False, True):
            # What others refer to is likely to be called by them: begin with what nobody mentions.
            mentioned = self._mentioned() if not late else frozenset()
            while pending := self._pending(mentioned):
                for function in pending:
                    if function.node not in self.it.entered:
                        self._enter_root(function)

    def _pending(self, mentioned: frozenset[str]) -> list[FunctionValue]:
        waiting = [
            function
            for node, function in self.it.defined.items()
            if node not in self.it.entered and node not in self.failed and function.module.audited
        ]
        return [function for function in waiting if function.name not in mentioned]

    def _mentioned(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.outlines[path].mentioned for path in self.outlines))

    def _enter_root(self, function: FunctionValue) -> None:
        module = function.module
        self._guarded(lambda: self._interpret_root(function), module, function)
        if function.node not in self.it.entered:
            self.failed.setdefault(function.node, "its body could not be entered")

    def _interpret_root(self, function: FunctionValue) -> None:
        it = self.it
        it.frame = Frame(function.module, function.module.frame, "function", function.name)
        it.active = []
        it.loaded = {}
        it.limit = it.builder.emitted + MAX_OPS
        span = span_of(function.node, function.module.path)
        given = self._arguments(function)
        params = tuple(leaf for value in given.all() for leaf in leaves_in_order(it, value, copy=False))
        receivers = tuple(self._receiver_values)
        with it.builder.nested("root", function.name, span, (*receivers, *params)) as region:
            wrapper = it.wrappers.get(function.node)
            if wrapper is None or function.owner is not None:
                functions.enter(it, function, given)
            else:
                transforms.apply(it, wrapper, given, span)
                if function.node not in it.entered:
                    functions.enter(it, function, given)
        it.builder.close(region)
        it.roots.append(Root(_qualified(function), function.module.path, region))

    def _arguments(self, function: FunctionValue) -> Arguments:
        self._receiver_values = []
        owner = function.owner
        if owner is None or function.kind == "static":
            return functions.unknown_arguments(self.it, function)
        given = functions.unknown_arguments(self.it, function, skip=1)
        params = function.node.args
        first = next(iter((*params.posonlyargs, *params.args)), None)
        if first is None:
            return given
        return given.prepended(self._receiver(function, owner, first))

    def _receiver(self, function: FunctionValue, owner: ClassValue, param: ast.arg) -> Abstract:
        if function.kind == "class":
            return owner
        span = span_of(param, function.module.path)
        if owner.kind == "namedtuple":
            return Record(owner, tuple(Leaf(self.it.builder.value(span, field)) for field in owner.fields))
        value = self.it.builder.value(span, param.arg)
        self._receiver_values = [value]
        return self.it.heap.new(ObjectBox(owner, {}, value))

    def _guarded(self, run: object, module: Module, function: FunctionValue | None = None) -> None:
        """Keep one function that is too deeply nested from losing all others."""
        depth = self.it.builder.depth
        try:
            run()  # type: ignore[operator]
        except RecursionError:
            self.it.builder.unwind(depth)
            if function is not None:
                self.failed[function.node] = "too deeply nested to follow"
            self.it.entered.discard(function.node if function is not None else None)  # type: ignore[arg-type]

    def reach(self, files: Sequence[SourceFile]) -> Reach:
        skipped = [
            Skip(path, node.lineno, _name(node), self.failed.get(node, "the code around it is never reached"))
            for path, found in self.outlines.items()
            for node in found.functions
            if node not in self.it.entered
        ]
        lines = sum(file.text.count("\n") + 1 for file in files)
        functions = sum(len(found.functions) for found in self.outlines.values())
        return Reach(len(files), lines, functions, functions - len(skipped), tuple(skipped))


def _name(node: FunctionNode) -> str:
    return "lambda" if isinstance(node, ast.Lambda) else node.name


def _qualified(function: FunctionValue) -> str:
    parts = [function.name]
    scope: Frame | None = function.frame
    while scope is not None:
        parts.insert(0, scope.name)
        scope = scope.parent
    return ".".join(parts)
