"""Reading a project: every module's top level, then every function that nothing calls, each a root of the program."""

from __future__ import annotations

import ast
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from jaxaudit import progress
from jaxaudit.frontends.base import Observed, Reach, Reading, Skip, SourceFile
from jaxaudit.frontends.fingerprints import fingerprints
from jaxaudit.frontends.source.classes.members import ancestry, constructor
from jaxaudit.frontends.source.interpret import imports, later
from jaxaudit.frontends.source.interpret.budget import Budget
from jaxaudit.frontends.source.interpret.dispatch import LANGUAGE
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.modules import Loader, Project
from jaxaudit.frontends.source.interpret.observed import interpret_observed
from jaxaudit.frontends.source.interpret.roots import callers_in_bases, interpret_root
from jaxaudit.frontends.source.interpret.syntax import FunctionNode, outline
from jaxaudit.frontends.source.names.copies import copies_of
from jaxaudit.frontends.source.names.flow import reads_of
from jaxaudit.frontends.source.names.members import members_of
from jaxaudit.frontends.source.names.settings import settings_of
from jaxaudit.frontends.source.names.switches import exported_by, switches_of
from jaxaudit.frontends.source.values.callables import FunctionValue
from jaxaudit.ir import Program
from jaxaudit.ir.record import replace

_DEEPEST = 12_000
"""Python frames the interpreter may use: nested expressions and followed calls both recurse."""


def read_source(files: Sequence[SourceFile], load: Loader, observed: Observed | None = None) -> Reading:
    """Interpret files abstractly and give the program they make, and beside it what was observed of them."""
    project = Project(load)
    with _deep_recursion():
        project.add_all(files)
        reader = _Reader(project)
        reader.run()
        roots, reach = tuple(reader.it.roots), reader.reach(files)
        declared, stores = dict(reader.it.declared), reader.it.stores
        fields, kept = stores.fields(), stores.settled()
        audited = [module for module in project.modules.values() if module.audited]
        names = tuple(one for module in audited for one in reads_of(module, project))
        members = tuple(members_of(reader.it.classes, list(project.modules.values())))
        settings = tuple(settings_of(reader.it.classes, list(project.modules.values()), project.main_blocks()))
        compared = dict(reader.it.compared)
        if observed is not None:
            reader.it.compared.clear()
            reader.enter_observed(observed)
    program = Program(
        # What is stored is solved before it is read.
        tuple(sorted(roots, key=lambda root: stores.handed(root.region))),
        "source",
        project.comments(),
        declared=declared,
        fields=fields,
        kept=kept,
        main_blocks=project.main_blocks(),
        reads=names,
        members=members,
        settings=settings,
        copies=tuple(one for module in audited for one in copies_of(module)),
        compared=compared,
        switches=frozenset(one for module in project.modules.values() for one in switches_of(module)),
        unpacked=reader.it.unpacked,
        exported=tuple(one for module in audited for one in exported_by(module)),
    )
    entered = tuple(reader.it.roots[len(roots) :])
    seen = replace(
        program,
        roots=entered,
        declared=reader.it.declared,
        observed=reader.it.observed,
        fields={},
        kept={},
        reads=(),
        exported=(),
        compared=reader.it.compared,
    )
    return Reading(program, tuple(project.problems), reach, tuple(reader.faults), seen)


@contextmanager
def _deep_recursion() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class _Reader:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.it = Interpreter(project, LANGUAGE)
        self.failed: dict[FunctionNode, str] = {}
        self.faults: list[str] = []
        self.outlines = {path: outline(module.tree) for path, module in project.modules.items() if module.audited}

    def run(self) -> None:
        modules = list(self.project.modules.values())
        for number, module in enumerate(modules):
            progress.tell("reading files", number, len(modules))
            self._guarded(partial(imports.interpret, self.it, module))
        self._guarded(partial(later.open_state, self.it, modules))
        for late in (False, True):
            # What others refer to is likely to be called by them: begin with what nobody mentions.
            mentioned = self._mentioned() if not late else frozenset()
            while pending := self._pending(mentioned):
                for function in pending:
                    if function.node not in self.it.entered:
                        progress.tell("entering functions", len(self.it.entered), len(self.it.defined))
                        self._enter_root(function)

    def enter_observed(self, observed: Observed) -> None:
        """Enter functions with what runs and tests showed of their arguments, outer ones before those inside them."""
        self.it.budget = Budget(self.it.budget.lines)
        for path, known in observed.functions.items():
            module = self.project.modules.get(path)
            if module is None or not module.audited:
                continue
            for node, seen in fingerprints(module.tree, module.text).items():
                function = self.it.defined.get(node)
                if function is not None and seen.name in known:
                    enter = partial(interpret_observed, self.it, function, seen, known[seen.name], observed.shown)
                    self._guarded(enter, function)

    def _pending(self, mentioned: frozenset[str]) -> list[FunctionValue]:
        waiting = [
            function
            for node, function in self.it.defined.items()
            if function.module.audited
            and not (node in self.it.entered or node in self.failed or node in self.it.left_out)
        ]
        pending = [function for function in waiting if _known_as(function) not in mentioned]
        # What a constructor leaves in its object, other methods read: it comes before them.
        later = {one.owner for one in waiting if one.name == "__init__" and _known_as(one) in mentioned}
        pending = [one for one in pending if one.owner is None or later.isdisjoint(ancestry(one.owner))]
        return sorted(pending, key=lambda function: function.name != "__init__")

    def _mentioned(self) -> frozenset[str]:
        return frozenset[str]().union(*(self.outlines[path].mentioned for path in self.outlines))

    def _enter_root(self, function: FunctionValue) -> None:
        for caller in callers_in_bases(function):
            self._guarded(partial(interpret_root, self.it, caller, function.owner))
        if (differentiated := self.it.served.get(function.node)) is not None:
            # A rule is entered beside its function, which may be called nowhere else than in the rule.
            self._guarded(partial(interpret_root, self.it, differentiated))
        if function.node in self.it.entered:
            return
        self._open_constructor(function)
        self._guarded(lambda: interpret_root(self.it, function), function)
        if function.node not in self.it.entered:
            self.failed.setdefault(function.node, "its body could not be entered")

    def _open_constructor(self, method: FunctionValue) -> None:
        """Enter the constructor of an object from outside once with open arguments, whoever calls it with others."""
        cls = method.owner
        init = None if cls is None or method.kind == "static" else constructor(cls)
        known = cls is None or any(one in self.it.stores.data for one in (cls, *self.it.heirs.get(cls, ())))
        if isinstance(init, FunctionValue) and init.node is not method.node and not known:
            self._guarded(partial(interpret_root, self.it, init, cls))
            self.it.stores.data.setdefault(cls, {})

    def _guarded(self, run: Callable[[], None], function: FunctionValue | None = None) -> None:
        """Keep one function that is nested too deeply, or that we fail to interpret, from losing all others."""
        regions, journals = self.it.builder.depth, self.it.heap.depth
        try:
            run()
            return
        except RecursionError:
            reason = "too deeply nested to follow"
        except Exception as error:
            if os.environ.get("JAXAUDIT_DEBUG"):
                raise
            reason = "an internal error while reading it"
            self.faults.append(_fault(error, function))
        self.it.builder.unwind(regions)
        self.it.heap.unwind(journals)
        self.it.rebuilding.clear()
        if function is not None:
            self.failed[function.node] = reason
            self.it.entered.discard(function.node)

    def reach(self, files: Sequence[SourceFile]) -> Reach:
        reasons = {**self.it.left_out, **self.failed}
        skipped = [
            Skip(path, node.lineno, _name(node), reasons.get(node, "the code around it is never reached"))
            for path, found in self.outlines.items()
            for node in found.functions
            if node not in self.it.entered
        ]
        lines = sum(file.text.count("\n") + 1 for file in files)
        functions = sum(len(found.functions) for found in self.outlines.values())
        return Reach(len(files), lines, functions, functions - len(skipped), tuple(skipped), self.it.budget.unfollowed)


def _known_as(function: FunctionValue) -> str:
    """Return the name by which others refer to a function: a constructor by that of its class."""
    return function.name if function.owner is None or function.name != "__init__" else function.owner.name


def _name(node: FunctionNode) -> str:
    return "lambda" if isinstance(node, ast.Lambda) else node.name


def _fault(error: Exception, function: FunctionValue | None) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = "a module" if function is None else f"{function.name} ({function.module.path}:{function.node.lineno})"
    return (
        f"internal error in reading {where}: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    )
