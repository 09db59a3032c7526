"""Takes an exception apart into facts that travel: its type, its message, its frames, and where JAX says it began."""

from __future__ import annotations

import ast
import difflib
import linecache
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, TracebackType
from typing import Any, TypeVar

from jaxaudit.frontends.jaxpr.given import given, is_array, text_of
from jaxaudit.frontends.jaxpr.leaves import argument_leaves, mapped_leaf
from jaxaudit.frontends.jaxpr.places import is_user_file, traceback_frames
from jaxaudit.frontends.jaxpr.protocol import Failure, Frame

_MOST = 12
_LIBRARIES = ("flax.", "haiku.", "ml_collections.")
"""Whose mappings may be asked for their keys."""
_Names = Mapping[str, Any]

Answer = TypeVar("Answer")
_BEFORE_TRANSFORMATION = "JaxStackTraceBeforeTransformation"


def describe(error: BaseException) -> Failure:
    """Return the facts of an exception."""
    return Failure(
        _name(type(error)),
        tuple(_name(base) for base in type(error).__mro__[1:] if base is not object),
        _message(error),
        traceback_frames(error.__traceback__),
        _origin(error),
        given(error.__traceback__),
        tuple(dict.fromkeys(_name(type(cause)) for cause in _causes(error))),
        _similar(error),
        _asked(lambda: argument_leaves(error.__traceback__), ()),
        _asked(lambda: mapped_leaf(error.__traceback__), None),
        _asked(lambda: _holds(error), ()),
    )


def _asked(question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """Ask frames of any library and any version; what they cannot answer costs a detail, not the report."""
    try:
        return question()
    except Exception:  # noqa: BLE001
        return otherwise


def first_user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Skip the frames before the first one of the user's."""
    start = traceback
    while start is not None and not is_user_file(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or traceback


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        version = ".".join(map(str, sys.version_info[:2]))
        return f"{error.msg} ({error.filename}, line {error.lineno}, Python {version})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be printed)"


def _name(kind: type) -> str:
    module = kind.__module__.replace("jax._src.errors", "jax.errors")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _origin(error: BaseException) -> tuple[Frame, ...]:
    """Return the stack of the operation that was transformed: JAX hides it in the causes of the exception."""
    hidden = (cause for cause in _causes(error) if type(cause).__name__ == _BEFORE_TRANSFORMATION)
    return next((traceback_frames(cause.__traceback__) for cause in hidden), ())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _similar(error: BaseException) -> tuple[str, ...]:
    """Return names of a module or an array that look like one that it does not have."""
    if not isinstance(error, AttributeError):
        return ()
    # Modules that warn of old names raise by themselves, and only the message says of what.
    told = re.search(r"^module '(\S+)' has no attribute '(\w+)'", str(error))
    owner, name = (sys.modules.get(told[1]), told[2]) if told else (error.obj, error.name)
    # What else has attributes may be the user's, and is left alone.
    if not isinstance(name, str) or not (isinstance(owner, ModuleType) or is_array(owner)):
        return ()
    return tuple(difflib.get_close_matches(name, [one for one in dir(owner) if not one.startswith("_")], 2, _ALIKE))


_ALIKE = 0.65
"""How alike two short names must be, from 0 to 1: one letter of three may differ."""


def _holds(error: BaseException) -> tuple[str, ...]:
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


def _place(traceback: TracebackType | None) -> tuple[ast.AST, _Names] | None:
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


def _value(node: ast.expr, names: _Names) -> Any:
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
