"""Says how far long work has come, to whoever listens; by default nobody does, and telling costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
"""Takes what is being done, how much of it is done, and how much there is (0 where nobody knows)."""

_listeners: list[Listener] = []


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Report what is being done now."""
    if _listeners:
        _listeners[-1](what, done, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand what is told inside to a listener."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
