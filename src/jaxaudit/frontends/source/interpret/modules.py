"""The project's modules: which file a dotted name means, and the parsed text of each file.

A name that does not lead to a file of the project is a library's. Files outside the audited set are read only when an
audited one imports them, and only from the same project: an installed library is never taken for project code unless
it is itself audited.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxaudit.frontends.base import Problem, SourceFile
from jaxaudit.frontends.newer import newer_syntax, older_text, shown, told
from jaxaudit.frontends.source.interpret.mentioned import Attributes
from jaxaudit.frontends.source.interpret.syntax import nodes_of
from jaxaudit.ir.record import mutable
from jaxaudit.spans import Span, span_of

if TYPE_CHECKING:
    from jaxaudit.frontends.source.names.scope import Scope
    from jaxaudit.frontends.source.values.frames import Frame
    from jaxaudit.frontends.source.values.model import Abstract

Loader = Callable[[str], SourceFile | None]
"""Reads a file of the project that is not audited; None when there is none."""

_LIBRARIES = frozenset(
    """jax jaxlib numpy scipy flax optax equinox haiku distrax rlax chex gymnax brax blackjax numpyro diffrax
    jaxtyping einops jaxopt optimistix lineax haliax penzai jumanji navix craftax jaxmarl tensorflow_probability
    tensorflow torch tqdm absl orbax clu ml_collections hydra omegaconf wandb matplotlib pandas sklearn
    pytest""".split()
)
_INSTALLED = ("site-packages", "dist-packages")
_COMMENT = re.compile(
    r"""(?:[rRbBuUfF]{0,2})(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^\\'\n])*'|"(?:\\.|[^\\"\n])*")|(#[^\n]*)""",
    re.DOTALL,
)


@dataclass(slots=True, eq=False)
class Module:
    """One file of the project."""

    name: str
    path: str
    tree: ast.Module
    text: str
    audited: bool
    package: bool
    frame: Frame | None = None
    """Its global variables, once its top level has been interpreted (or has begun to be)."""

    changing: frozenset[str] = frozenset()
    """Its variables that functions declare `global`, so that they may change at any call."""
    yields: bool = True
    """False when no function in it can be a generator."""
    registers: bool = True
    """False when nothing in it can register a class."""
    rebound: set[str] = field(default_factory=set)
    """Its names that stand for one library first and for another later: which one depends on when a function runs."""
    replaced: dict[ast.AST, str] = field(default_factory=dict)
    """Its functions whose names stand for other functions later: they run before that, and see others of that time."""
    ended: bool = False
    """True once its top level has been interpreted to the end."""
    scopes: Mapping[ast.AST, Scope] | None = None
    """Its functions, classes and itself with what they bind and read, once somebody asks."""
    waiting: dict[str, Callable[[], None]] = field(default_factory=dict)
    """What binds the names that it imports from other files, where nobody has asked for them yet."""

    @property
    def base(self) -> str:
        """The dotted name that relative imports start from."""
        return self.name if self.package else self.name.rpartition(".")[0]

    def member(self, name: str) -> Abstract | None:
        """Return one of its variables; an import that waited for this is carried out."""
        if self.frame is None:
            return None
        bind = self.waiting.pop(name, None)
        if bind is not None and name not in self.frame.env:
            bind()
        return self.frame.env.get(name)

    def members(self) -> Mapping[str, Abstract]:
        """Return all of its variables."""
        for name in list(self.waiting):
            self.member(name)
        return {} if self.frame is None else self.frame.env


@mutable
class Project:
    """All modules that were read, by path and by dotted name."""

    load: Loader
    modules: dict[str, Module] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _packages: set[str] = field(default_factory=set)
    _found: dict[tuple[str, str], Module | None] = field(default_factory=dict)
    _files: dict[str, SourceFile | None] = field(default_factory=dict)
    """Every file that was asked for; None where there is none."""
    _comments: dict[str, Mapping[int, str]] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)
    attributes: Attributes = field(default_factory=Attributes)
    """What its modules do with attributes, as far as somebody asked."""
    retold: set[str] = field(default_factory=set)
    """The files that were parsed in older words than theirs, without the names of their types."""

    def add_all(self, files: Sequence[SourceFile]) -> None:
        """Parse the audited files."""
        self._files.update((file.path, file) for file in files)
        for file in files:
            self._add(file)
        self._packages = {module.name.partition(".")[0] for module in self.modules.values()}

    def _add(self, file: SourceFile) -> Module | None:
        tree = self._parse(file)
        if tree is None:
            return None
        name = self._dotted(file.path)
        package = posixpath.basename(file.path) == "__init__.py"
        text = file.text
        hints = (_changing(tree, text), "yield" in text, "regist" in text.lower())
        module = Module(name, file.path, tree, text, file.audited, package, None, *hints)
        self.modules[file.path] = module
        return module

    def _parse(self, file: SourceFile) -> ast.Module | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return _parsed(file, self.retold)
        except SyntaxError as error:
            self._note(_refused(file, error))
        except (ValueError, RecursionError, MemoryError) as error:
            self._note(Problem(file.path, 1, 1, f"this file cannot be parsed: {error}"))
        return None

    def _note(self, problem: Problem) -> None:
        """Return what is wrong with a file once, however many others import it."""
        if all(known.path != problem.path for known in self.problems):
            self.problems.append(problem)

    def _dotted(self, path: str) -> str:
        """Return the dotted name of a file: from the topmost folder that is a package."""
        folder, base = posixpath.split(path)
        parts = [] if base == "__init__.py" else [base.removesuffix(".py")]
        depth = self._package_depth(folder)
        for _ in range(depth):
            folder, name = posixpath.split(folder)
            parts.insert(0, name)
        return ".".join(parts) or posixpath.basename(folder)

    def _package_depth(self, folder: str) -> int:
        """Return how many folders above a file belong to its package; one without `__init__.py` may stand between."""
        depth = level = gaps = 0
        while folder and gaps < 2:
            level += 1
            if self._exists(posixpath.join(folder, "__init__.py")):
                depth, gaps = level, 0
            else:
                gaps += 1
            folder = posixpath.dirname(folder)
            if folder == posixpath.dirname(folder):
                break
        return depth

    def _exists(self, path: str) -> bool:
        return self._read(path) is not None

    def _read(self, path: str) -> SourceFile | None:
        if path not in self._files:
            self._files[path] = self.load(path)
        return self._files[path]

    def find(self, name: str, importer: Module) -> Module | None:
        """Find the module a dotted name means when `importer` imports it absolutely."""
        key = (name, importer.path)
        if key not in self._found:
            self._found[key] = self._search(name, importer)
        return self._found[key]

    def beside(self, importer: Module, level: int, name: str) -> Module | None:
        """Find the module that a relative import means by where it lies, for files whose package is not known."""
        folder = posixpath.dirname(importer.path)
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        return self._at(posixpath.join(folder, *name.split("."))) if name else None

    def _search(self, name: str, importer: Module) -> Module | None:
        top = name.partition(".")[0]
        ours = top in self._packages
        if not ours and (top in _LIBRARIES or top in sys.stdlib_module_names):
            return None
        relative = name.replace(".", "/")
        folder = self._above(importer) if _is_part(importer) else posixpath.dirname(importer.path)
        while True:
            for base in (folder, posixpath.join(folder, "src")):
                installed = posixpath.basename(base) in _INSTALLED
                if ours or not installed:
                    found = self._at(posixpath.join(base, relative))
                    if found is not None and found is not importer:
                        return found
            parent = posixpath.dirname(folder)
            if parent == folder:
                return self._inside(name)
            folder = parent

    def _above(self, importer: Module) -> str:
        """Return the folder that holds the package of a module."""
        folder = posixpath.dirname(importer.path)
        for _ in range(self._package_depth(folder)):
            folder = posixpath.dirname(folder)
        return folder

    def _inside(self, name: str) -> Module | None:
        """Find a module by the name of the package whose folder the audit was started in."""
        top, _, rest = name.partition(".")
        own, named = self._read("__init__.py"), self._read(f"../{top}/__init__.py")
        if own is None or named is None or own.text != named.text:
            return None
        return self._at(rest.replace(".", "/")) if rest else self.modules.get(own.path)

    def _at(self, stem: str) -> Module | None:
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if path in self.modules:
                return self.modules[path]
            file = self._read(path)
            if file is not None:
                return self._add(file)
        return None

    def comments(self) -> Mapping[str, Mapping[int, str]]:
        """Return the comments of every module by line."""
        return {module.path: self.comments_in(module) for module in self.modules.values() if "#" in module.text}

    def main_blocks(self) -> dict[str, Span]:
        """Return the block under `if __name__ == "__main__"` of each file that has one."""
        modules = (module for module in self.modules.values() if "__main__" in module.text)
        blocks = ((module.path, node) for module in modules for node in module.tree.body if is_main_block(node))
        return {path: span_of(node, path) for path, node in blocks}

    def comments_in(self, module: Module) -> Mapping[int, str]:
        """Return the comments of a module by line."""
        known = self._comments.get(module.path)
        if known is None:
            known = self._comments[module.path] = comments_of(module.text) if "#" in module.text else {}
        return known

    def is_alone(self, module: Module, line: int) -> bool:
        """Whether a line of a module holds a comment and nothing else."""
        if module.path not in self._lines:
            self._lines[module.path] = module.text.splitlines()
        lines = self._lines[module.path]
        return 0 < line <= len(lines) and lines[line - 1].lstrip().startswith("#")


def _is_part(module: Module) -> bool:
    """Whether a module only runs as a part of its package: what lies beside it is not found by its bare name."""
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in module.tree.body)


def _parsed(file: SourceFile, retold: set[str]) -> ast.Module:
    """Parse a file, also one with syntax of a newer Python where that can be told in older words."""
    try:
        return ast.parse(file.text, file.path)
    except SyntaxError:
        older = older_text(file.text, sys.version_info[:2])
        if older is None:
            raise
        retold.add(file.path)
        try:
            return ast.parse(older, file.path)
        except SyntaxError:
            pass
        raise


def _refused(file: SourceFile, error: SyntaxError) -> Problem:
    """Return why a file cannot be parsed: it is wrong, or written for a newer Python than the one that reads it."""
    line, running = error.lineno or 1, sys.version_info[:2]
    lines = file.text.splitlines()
    newer = newer_syntax(lines[line - 1], running) if line <= len(lines) else None
    if newer is None:
        return Problem(file.path, line, error.offset or 1, f"this file is not valid Python: {error.msg}")
    needed = shown(newer.version)
    return Problem(
        file.path,
        line,
        error.offset or 1,
        told(line, newer, running, "jaxaudit runs on"),
        f"install and run jaxaudit with it: `python{needed} -m pip install jaxaudit`, `python{needed} -m jaxaudit ...`",
        limit=True,
    )


def _changing(tree: ast.Module, text: str) -> frozenset[str]:
    if "global " not in text:
        return frozenset()
    return frozenset(name for node in nodes_of(tree) if isinstance(node, ast.Global) for name in node.names)


def is_main_block(node: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__":`."""
    match node:
        case ast.If(test=ast.Compare(left=left, comparators=[right])):
            name, text = (left, right) if isinstance(left, ast.Name) else (right, left)
            is_name = isinstance(name, ast.Name) and name.id == "__name__"
            return is_name and isinstance(text, ast.Constant) and text.value == "__main__"
    return False


def comments_of(text: str) -> dict[int, str]:
    """Return the comments of a text by line, without the leading `#`."""
    found: dict[int, str] = {}
    line, last = 1, 0
    for match in _COMMENT.finditer(text):
        if match.group(1) is None:
            continue
        line += text.count("\n", last, match.start())
        last = match.start()
        found[line] = match.group(1).lstrip("#").strip()
    return found
