"""The door to this front end: trace a function, or take a jaxpr that was traced elsewhere, and get IR.

Nothing is executed on a device. Exceptions that the user's code or JAX raises while tracing pass through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxaudit.ir import Program, Root


def install_markers() -> None:
    """Patch JAX's transformations so that jaxprs tell their boundaries; call it before importing the user's module."""
    raise NotImplementedError


def uninstall_markers() -> None:
    """Undo `install_markers`."""
    raise NotImplementedError


class Lowering:
    """Lowers any number of jaxprs into one program, whose values and types live together."""

    def __init__(self, user_roots: Sequence[str] = ()) -> None:
        self.user_roots = tuple(user_roots)
        """Folders whose files are the user's although they lie where libraries are installed."""

    def add(self, closed: Any, *, name: str, path: str, arg_names: Sequence[str] = (), records: Any = None) -> Root:
        """Lower one closed jaxpr as a root; `records` are those of the markers, by default all that were made."""
        raise NotImplementedError

    def program(self) -> Program:
        """Give all roots so far as a program, with exact types and the comments of the files they touch."""
        raise NotImplementedError


def trace_and_lower(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    name: str,
    path: str,
    static_argnums: Sequence[int] = (),
) -> Program:
    """Trace a function with abstract or real arguments and lower what was seen; the markers are put in for the time."""
    raise NotImplementedError


def lower_closed(closed: Any, *, name: str, path: str, arg_names: Sequence[str], records: Any = None) -> Root:
    """Lower one closed jaxpr; use `Lowering` where the types are wanted as well."""
    return Lowering().add(closed, name=name, path=path, arg_names=arg_names, records=records)
