"""Runs the user's script as Python itself would: `__main__`, `sys.argv`, `sys.path[0]`, its own exceptions."""

from __future__ import annotations

import sys
import traceback
import types
from collections.abc import Sequence
from pathlib import Path

from jaxaudit.frontends.jaxpr.failures import describe, first_user_traceback
from jaxaudit.frontends.jaxpr.protocol import Failure

_OURS = str(Path(__file__).parent)


class StopScript(BaseException):
    """Ends the script early; no `except Exception` of the user's can catch it."""


class Ending:
    """How the script ended."""

    def __init__(self, exit_code: int = 0, stopped: str = "", failure: Failure | None = None) -> None:
        self.exit_code = exit_code
        self.stopped = stopped
        self.failure = failure


def run_script(name: str, arguments: Sequence[str]) -> Ending:
    """Run a script to its end, to its exception, or to where observation stops."""
    path = str(Path(name).absolute())
    sys.argv = [name, *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=__builtins__, __spec__=None, __cached__=None)
    sys.modules["__main__"] = module
    try:
        exec(compile(Path(path).read_bytes(), path, "exec"), module.__dict__)  # noqa: S102
    except StopScript as stop:
        return Ending(stopped=str(stop))
    except SystemExit as leave:
        return Ending(exit_code=_code(leave.code))
    except KeyboardInterrupt:
        return Ending(exit_code=130, stopped="interrupt")
    except BaseException as error:  # noqa: BLE001
        _print(error)
        return Ending(exit_code=1, failure=describe(error))
    return Ending()


def _code(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    sys.stderr.write(f"{code}\n")
    return 1


def _print(error: BaseException) -> None:
    """Show the traceback that Python would show, without our own frames at its top and on the way."""
    told = traceback.TracebackException(type(error), error, first_user_traceback(error.__traceback__))
    _forget_ours(told)
    for line in told.format():
        sys.stderr.write(line)


def _forget_ours(told: traceback.TracebackException) -> None:
    """Take our frames out of an exception and those that led to it."""
    pending, seen = [told], set[int]()
    while pending:
        one = pending.pop()
        if id(one) not in seen:
            seen.add(id(one))
            one.stack[:] = [frame for frame in one.stack if not frame.filename.startswith(_OURS)]
            pending += [cause for cause in (one.__cause__, one.__context__) if cause is not None]
