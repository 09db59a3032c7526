"""Settings: keys of dicts, fields of records and options of a command line, and which of them nothing reads."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import landmarks, nodes_of
from jaxaudit.frontends.source.names.bound import parameters
from jaxaudit.frontends.source.values.callables import ClassValue
from jaxaudit.ir.members import Place, Settings
from jaxaudit.libraries.lookup import plays
from jaxaudit.spans import Span, span_of

_FEWEST = 4
"""A dict with fewer keys is data as often as settings."""

_ALL_OF = frozenset("items keys values".split())
_Given = dict[str, ast.expr]
"""Where each setting is given."""


def settings_of(classes: Iterable[ClassValue], modules: Sequence[Module], scripts: Iterable[str]) -> Iterator[Settings]:
    """Return the settings that the audited code gives itself.

    What a lone module without a main block has may be meant for others.
    """
    audited = [module for module in modules if module.audited]
    reads = _Reads(modules)
    records = {one.node: one for one in classes if one.node is not None and one.kind == "dataclass"}
    tables = {name for module in modules for name in _tables(module.tree)}
    for module in audited:
        closed = len(audited) > 1 or module.path in scripts
        why = "" if closed else "code out of sight may read what this module defines"
        for node in nodes_of(module.tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as value):
                    given = _keys(value)
                    if len(given) >= _FEWEST:
                        asked = f"`{name}` is looked up by what is computed" if name in tables else why
                        yield _judged(name, span_of(value, module.path), given, reads.of_keys, asked)
                case ast.ClassDef() if node in records:
                    given = _fields(node)
                    # What is kept with the results of a run says which one it was; a number has to do something, too.
                    words = {name for name, one in given.items() if _is_word(node, one)}
                    told = words if words and _recorded(node.name, module.tree) else set()
                    yield _judged(node.name, span_of(node, module.path), given, reads.of_fields | told, why)
        options = _options(module.tree)
        if options:
            first = next(iter(options.values()))
            yield _judged("the command line", span_of(first, module.path), options, reads.of_fields, why)


class _Reads:
    """What some modules read by name, whatever the object is."""

    def __init__(self, modules: Iterable[Module]) -> None:
        marks = [landmarks(module.tree) for module in modules]
        texts = Counter(text for mark in marks for text in mark.texts)
        for module in modules:
            texts.subtract(_dict_keys(module.tree))
        loaded = {one.attr for mark in marks for one in mark.attributes if isinstance(one.ctx, ast.Load)}
        self.of_fields = loaded | {text for text, times in texts.items() if times > 0}
        taken = {name for mark in marks for function in mark.functions for name in parameters(function)}
        # `Agent(**config)` reads a key by the name of a parameter.
        self.of_keys = self.of_fields | taken


def _judged(name: str, span: Span, given: _Given, reads: set[str], why: str) -> Settings:
    unread = [one for one in given if one not in reads]
    # What is handed on as a whole is read by nobody here.
    used = len(given) - len(unread) > len(unread)
    places = tuple(Place(one, span_of(given[one], span.path)) for one in unread) if used else ()
    return Settings(name, span, len(given), places, why if used else f"`{name}` is handed on as a whole")


def _tables(tree: ast.Module) -> Iterator[str]:
    """Return the dicts that a module asks for keys that it computes, or goes through: its own and those of others."""
    for node in nodes_of(tree):
        match node:
            case ast.Subscript(value=base, slice=key, ctx=ast.Load()) if not isinstance(key, ast.Constant):
                yield _name(base)
            case ast.Call(func=ast.Attribute(value=base, attr=method), args=args):
                if method in _ALL_OF or (method == "get" and not isinstance((*args, None)[0], ast.Constant)):
                    yield _name(base)
            case ast.For(iter=base) | ast.comprehension(iter=base):
                yield _name(base)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[base]):
                if not isinstance(left, ast.Constant):
                    yield _name(base)


def _name(node: ast.expr) -> str:
    """Return the name of a variable, or that by which a module has it."""
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
            return name
    return ""


def _is_word(node: ast.ClassDef, field: ast.expr) -> bool:
    """Whether the default of a field is text."""
    values = (one.value for one in node.body if isinstance(one, ast.AnnAssign) and one.target is field)
    return any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in values)


def _recorded(cls: str, tree: ast.Module) -> bool:
    """Whether a module gives an object of a class as a whole to a service that keeps it, or writes it to a file."""
    made, calls = set[str](), landmarks(tree).calls
    for node in nodes_of(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=maker))) if maker == cls:
                made.add(name)
            case ast.arg(arg=name, annotation=ast.Name(id=maker)) if maker == cls:
                made.add(name)
    written = (one for one in calls if made and plays(ast.unparse(one.func), "writes"))
    given = (one for call in written for one in (*call.args, *(word.value for word in call.keywords)))
    return any(isinstance(one, ast.Name) and one.id in made for one in given)


def _dict_keys(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        for key in node.keys if isinstance(node, ast.Dict) else ():
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value


def _keys(node: ast.Dict) -> _Given:
    """Return the keys of a dict whose keys are all names; those that plain values are given to."""
    found = {key.value: key for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}
    plain = {id(key) for key, value in zip(node.keys, node.values, strict=True) if _is_plain(value)}
    # What is mostly computed is what came out, and not what goes in.
    named = len(found) == len(node.keys) < 2 * len(plain) and all(map(str.isidentifier, found))
    return {name: key for name, key in found.items() if id(key) in plain} if named else {}


def _is_plain(node: ast.expr) -> bool:
    """Whether something is calculated of numbers, words and switches alone."""
    match node:
        case ast.Constant(value=value):
            return value is not None
        case ast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case ast.BinOp(left=left, right=right):
            return _is_plain(left) and _is_plain(right)
    return False


def _fields(node: ast.ClassDef) -> _Given:
    """Return the fields of a record that have a plain value by default."""
    found: _Given = {}
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name) as target, value=ast.expr() as value) if _is_plain(value):
                found[name] = target
    return found


def _options(tree: ast.Module) -> _Given:
    """Return the options that a parser of the command line is told."""
    found: _Given = {}
    for call in landmarks(tree).calls:
        match call:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str(flag)) as first, *_]):
                named = next((word.value for word in call.keywords if word.arg == "dest"), None)
                if named is None and flag.startswith("--"):
                    found[flag.removeprefix("--").replace("-", "_")] = first
    return found
