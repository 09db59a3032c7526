"""Which code is the user's: stacks of frames with exact spans, and the files of the user's own modules.

Code is the user's unless it lies in an installed package, in Python itself, or in jaxaudit.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from jaxaudit.frontends.jaxpr.protocol import Failure, Frame

_OWN = Path(__file__).resolve().parents[2]
_PYTHON = tuple(
    Path(path).resolve() for name, path in sysconfig.get_paths().items() if name in ("stdlib", "platstdlib")
)
_ELSEWHERE = ("<", *(f"{folder}{os.sep}" for folder in _PYTHON))
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


@cache
def is_user_file(name: str) -> bool:
    """Whether a file is the user's own code."""
    # A program has hundreds of modules; nearly all of them are told by their names, without a look at the disk.
    if not name or name.startswith(_ELSEWHERE) or any(folder in name for folder in _PACKAGES):
        return False
    path = Path(name).resolve()
    if {"site-packages", "dist-packages"}.intersection(path.parts) or path.is_relative_to(_OWN):
        return False
    return not any(path.is_relative_to(folder) for folder in _PYTHON)


@cache
def is_own_file(name: str) -> bool:
    """Whether a file is part of jaxaudit."""
    return not name.startswith("<") and Path(name).resolve().is_relative_to(_OWN)


def user_files(failure: Failure | None = None) -> tuple[str, ...]:
    """Return the files of the user's modules that are loaded now, and of those whose import raised."""
    found = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    if failure is not None:
        found += [frame.path for frame in failure.frames if Path(frame.path).is_file()]
    return tuple(sorted({name for name in found if isinstance(name, str) and is_user_file(name)}))


def traceback_frames(traceback: TracebackType | None) -> tuple[Frame, ...]:
    """Return the frames of an exception, outermost first, without those of the observer."""
    frames: list[Frame] = []
    while traceback is not None:
        if not is_own_file(traceback.tb_frame.f_code.co_filename):
            frames.append(_frame(traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno))
        traceback = traceback.tb_next
    return tuple(frames)


def caller() -> Frame | None:
    """Return the innermost frame of the user's code that is running now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            return _frame(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return None


def call_at(place: Frame, call: Callable[[], Any]) -> Any:
    """Call a function as if the call stood at a place of the user's, so that whoever reads the stack finds it there."""
    name = ast.Name("call", ast.Load(), lineno=1, col_offset=0, end_lineno=1, end_col_offset=0)
    node = ast.Expression(ast.Call(name, [], []))
    spot = {"lineno": max(place.line, 1), "col_offset": place.column}
    spot |= {"end_lineno": max(place.end_line, place.line, 1), "end_col_offset": place.end_column}
    for part in (node.body, name):
        for field, value in spot.items():
            setattr(part, field, value)
    return eval(compile(node, place.path or "<call>", "eval"), {"call": call})  # noqa: S307


_frames: dict[tuple[int, int], tuple[CodeType, Frame]] = {}
"""Frames by the identity of their code and their instruction: a loop asks for the same one in every turn."""


def frame_at(code: CodeType, offset: int) -> Frame:
    """Return the place of one instruction."""
    return _frame(code, offset, code.co_firstlineno)


def _frame(code: CodeType, offset: int, line: int) -> Frame:
    known = _frames.get((id(code), offset))
    if known is None or known[0] is not code:
        known = _frames[id(code), offset] = (code, _read_frame(code, offset, line))
    return known[1]


def _read_frame(code: CodeType, offset: int, line: int) -> Frame:
    first, last, start, end = next(_positions(code, offset), (None, None, None, None))
    return Frame(
        code.co_filename,
        first or line,
        start or 0,
        last or first or line,
        end or start or 0,
        code.co_qualname,
        is_user_file(code.co_filename),
    )


def _positions(code: CodeType, offset: int) -> Iterator[tuple[int | None, int | None, int | None, int | None]]:
    for index, place in enumerate(code.co_positions()):
        if index == offset // 2:
            yield place
            return
