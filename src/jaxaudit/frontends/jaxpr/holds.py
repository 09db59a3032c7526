"""Says what an object does hold when it lacks a key, a field or an element, or has more parts than names to bind.

Nothing of the user's is run for it: names are looked up, and only plain containers are read.
"""

from __future__ import annotations

import ast
import linecache
from collections import ChainMap
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from jaxaudit.frontends.jaxpr.given import is_array, text_of
from jaxaudit.frontends.jaxpr.places import is_user_file, traceback_frames

_MOST = 12
_LIBRARIES = ("flax.", "haiku.", "ml_collections.")
"""Whose mappings may be asked for their keys."""

Names = Mapping[str, Any]


def holds(error: BaseException) -> tuple[str, ...]:
    """Return the keys, fields or elements that there are, of a file that cannot be parsed the line.

    Nothing where that cannot be told without running code.
    """
    if isinstance(error, AttributeError):
        return _fields(error.obj)
    if isinstance(error, SyntaxError):
        return (error.text or "",)
    if not isinstance(error, KeyError | IndexError | ValueError) or (isinstance(error, ValueError) and not _few(error)):
        return ()
    place = _place(error.__traceback__)
    if place is None:
        return ()
    node, names = place
    if isinstance(node, ast.Subscript) and isinstance(error, KeyError | IndexError):
        return _parts(_value(node.value, names), names_only=True)
    if isinstance(error, ValueError) and isinstance(node, ast.Assign):
        return _parts(_value(node.value, names), names_only=False)
    return ()


def _few(error: BaseException) -> bool:
    return "values to unpack" in str(error)


def _place(traceback: TracebackType | None) -> tuple[ast.AST, Names] | None:
    """Return the expression or the assignment that the user's innermost frame was at, and the names it sees."""
    found = None
    while traceback is not None:
        if is_user_file(traceback.tb_frame.f_code.co_filename):
            found = traceback
        traceback = traceback.tb_next
    if found is None:
        return None
    frame = traceback_frames(found)[0]
    try:
        tree = ast.parse("".join(linecache.getlines(frame.path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    wanted = (frame.line, frame.column, frame.end_line, frame.end_column)
    names = ChainMap(found.tb_frame.f_locals, found.tb_frame.f_globals)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _span(node) == wanted:
            return node, names
        if isinstance(node, ast.Assign) and any(_span(target) == wanted for target in node.targets):
            return node, names
    return None


def _span(node: ast.expr) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _value(node: ast.expr, names: Names) -> Any:
    """Look up what an expression of names, keys and fields stands for; None where more would have to be run."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=inner, attr=name):
            owner = _value(inner, names)
            if is_array(owner):
                return owner.shape if name == "shape" else None
            fields = _fields(owner)
            return owner[fields.index(name)] if name in fields and isinstance(owner, tuple) else None
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = _value(inner, names)
            if _is_mapping(owner):
                return owner.get(key)
            if type(owner) in (list, tuple) and isinstance(key, int) and -len(owner) <= key < len(owner):
                return owner[key]
    return None


def _is_mapping(value: object) -> bool:
    library = type(value).__module__.startswith(_LIBRARIES)
    return type(value) is dict or (library and isinstance(value, Mapping))


def _parts(value: Any, *, names_only: bool) -> tuple[str, ...]:
    if _is_mapping(value):
        return tuple(repr(key) for key in list(value)[:_MOST])
    if type(value) in (list, tuple):
        return tuple("" if names_only else text_of(one) or "None" for one in value[:_MOST])
    return ()


def _fields(owner: object) -> tuple[str, ...]:
    """Name the fields of a named tuple, a dataclass or a module; other objects may have more than they show."""
    kind = type(owner)
    if issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return kind._fields
    return tuple(getattr(kind, "__dataclass_fields__", ()))
