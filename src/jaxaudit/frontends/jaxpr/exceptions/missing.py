"""Exceptions about what is not there: keys, fields, elements, modules, files, and Python that is too old for a file."""

from __future__ import annotations

import ast
import difflib
import re
import sys

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line
from jaxaudit.frontends.jaxpr.exceptions.refused import failed
from jaxaudit.frontends.newer import newer_syntax, told
from jaxaudit.spans import Span

_STOPS = "the program stops here with an exception"
_ALIKE = 0.6


def _key(facts: Facts, match: re.Match[str]) -> Explanation:
    key, has = match[1], facts.failure.holds
    if not re.fullmatch(r"'[^']*'|\"[^\"]*\"|-?\d+", key):
        return failed(facts, match)
    near = difflib.get_close_matches(key.strip("'\""), [one.strip("'\"") for one in has], 1, _ALIKE)
    owner = facts.subscripted
    what = f"`{owner}`" if owner else "a dict"
    cure = _collections(key, has) or "look at what was put into it where it was made"
    if near:
        cure = f"perhaps `{near[0]}` is meant"
    return Explanation(
        "script-failed",
        f"{what} has no key {key}" + (f": it has {_listed(has)}" if has else ""),
        current=_STOPS,
        expected=f"one of its keys: {_listed(has)}" if has else "a key that it has",
        suggestion=cure,
    )


def _collections(key: str, has: tuple[str, ...]) -> str:
    """Explain that the variables of a flax module are taken for its parameters, or the other way round."""
    if key == "'params'":
        return "these are the parameters already: leave `['params']` out, or pass all variables that `init` gave"
    if "'params'" in has:
        return "these are all variables of the module; its parameters are below `['params']`"
    return ""


def _listed(has: tuple[str, ...]) -> str:
    return ", ".join(has[:8]) + (", ..." if len(has) > 8 else "")


def _field(facts: Facts, match: re.Match[str]) -> Explanation:
    kind, name, has = match[1], match[2], facts.failure.holds
    if kind == "NoneType":
        return _none(facts, match)
    if not has:
        return failed(facts, match)
    near = difflib.get_close_matches(name, has, 1, _ALIKE)
    cure = f"perhaps `{near[0]}` is meant" if near else f"add `{name}` to the class, or use a field that it has"
    return Explanation(
        "script-failed",
        f"`{kind.rpartition('.')[2]}` has no field `{name}`: it has {', '.join(f'`{one}`' for one in has[:8])}",
        current=_STOPS,
        expected="a field of the class",
        suggestion=cure,
    )


def _none(facts: Facts, match: re.Match[str]) -> Explanation:
    owner = facts.subscripted or "a value"
    shown = f"`{owner}`" if facts.subscripted else owner
    return Explanation(
        "script-failed",
        f"{shown} is None here, and something is read from it",
        current=f"{_STOPS}: {first_line(facts.message, 100)}",
        expected="an object with what is read",
        suggestion="find out where it gets its value: a function without `return`, an argument that was left out",
    )


def _element(facts: Facts, match: re.Match[str]) -> Explanation:
    count, owner = len(facts.failure.holds), facts.subscripted
    if not count:
        return failed(facts, match)
    parts = f"{count} element{'s' if count > 1 else ''}"
    return Explanation(
        "script-failed",
        f"`{owner or facts.line.strip()}` has {parts}, which count from 0, and a later one is read",
        current=_STOPS,
        expected=f"an index below {count}",
        suggestion="correct the index, or what is put into it",
    )


def _module(facts: Facts, match: re.Match[str]) -> Explanation:
    name = match[1].partition(".")[0]
    return Explanation(
        "script-failed",
        f"there is no module `{match[1]}` in the environment that runs this program",
        current="the program stops here with an exception; nothing after this line was observed",
        expected=f"`{name}` can be imported, as when you run the program yourself",
        suggestion=f"install it there (`python -m pip install {name}`), name the interpreter of your project with "
        "--python, or start in the folder from which its own modules are imported",
    )


def _import(facts: Facts, match: re.Match[str]) -> Explanation:
    name, module, path = match[1], match[2], match[3]
    if facts.shown(path) in facts.files or not re.search(r"site-packages|dist-packages", path):
        shown = facts.shown(path)
        installed = module in sys.stdlib_module_names or "partially initialized" in facts.message
        cause = f"`{shown}` has the name of the module `{module}` and is imported in its place" if installed else ""
        return Explanation(
            "script-failed",
            cause or f"`{shown}` has no `{name}` to import",
            current=f"{_STOPS}: `{name}` is looked for in `{shown}`",
            expected=f"`{name}` from `{module}`",
            suggestion=f"rename `{shown}`" if cause else "correct the name; two modules that import each other cannot",
        )
    return Explanation(
        "script-failed",
        f"there is no `{name}` in the `{module}` that is installed",
        current=_STOPS,
        expected="a name that this version has",
        suggestion=f"install the version of `{module.partition('.')[0]}` that the program was written for, or use the "
        "new name",
    )


def _file(facts: Facts, match: re.Match[str]) -> Explanation:
    name = match[1]
    relative = not name.startswith(("/", "~")) and ":" not in name
    where = "; it is looked for in the folder in which jaxaudit was started" if relative else ""
    return Explanation(
        "script-failed",
        f"there is no file or folder `{name}`",
        current=f"{_STOPS}{where}",
        expected="the program finds its files, as when you run it yourself",
        suggestion="start jaxaudit in the folder in which the program is run" if relative else "correct the path",
    )


def _assertion(facts: Facts, match: re.Match[str]) -> Explanation:
    """Explain an assertion of the user's own by what it states."""
    node = next((one for one in ast.walk(_statement(facts.line)) if isinstance(one, ast.Assert)), None)
    if facts.inner or node is None:
        return failed(facts, match)
    said = f" ({first_line(facts.message, 80)})" if facts.message.strip() else ""
    return Explanation(
        "script-failed",
        f"the program's own assertion does not hold: `{first_line(ast.unparse(node.test), 90)}`{said}",
        current=_STOPS,
        expected="what the assertion states",
        suggestion="correct what leads to it, or the assertion",
    )


def _statement(line: str) -> ast.AST:
    try:
        return ast.parse(line.strip())
    except SyntaxError:
        return ast.Module([], [])


_VERSION = r"^(.*) \((.*), line (\d+), Python (\d+)\.(\d+)\)$"


def _syntax(facts: Facts, match: re.Match[str]) -> Explanation:
    """A file that Python cannot read is told at its own line, whoever imports it."""
    path, line, running = facts.shown(match[2]), int(match[3]), (int(match[4]), int(match[5]))
    newer = next((newer_syntax(text, running) for text in facts.failure.holds), None)
    span = Span(path, line, 0, line, 0) if path in facts.files else None
    if newer is None:
        return Explanation(
            "script-failed",
            f"`{path}` is not valid Python: {match[1]}, line {line}",
            current="the program stops before anything in this file runs",
            span=span,
        )
    return Explanation(
        "script-failed",
        told(line, newer, running, "the program runs with").replace("this file", f"`{path}`", 1),
        current="the program stops before anything in this file runs",
        expected=f"an interpreter of version {newer.version[0]}.{newer.version[1]} or newer",
        suggestion="name the interpreter of your project with --python",
        span=span,
    )


ROWS = (
    Row(_VERSION, _syntax, ("SyntaxError",)),
    Row(r"^(.*)$", _key, ("KeyError",)),
    Row(r"'([\w.]+)' object has no attribute '(\w+)'", _field, ("AttributeError",)),
    Row(r"'NoneType' object is not subscriptable()()", _none, ("TypeError",)),
    Row(r"^(?:tuple|list) index out of range", _element, ("IndexError",)),
    Row(r"^No module named '([\w.]+)'", _module, ("ImportError",)),
    Row(r"^(.*)$", _assertion, ("AssertionError",)),
    Row(
        r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'.*\((\S+)\)$",
        _import,
        ("ImportError",),
    ),
    Row(r"No such file or directory: '([^']*)'", _file, ("FileNotFoundError",)),
)
