"""Keeps Python's garbage collector from walking over what is being built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep Python from looking for garbage: trees, IR and facts live until the end, so it would find none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def stop_collecting() -> None:
    """Keep Python from looking for garbage until this process ends, which it does when its one task is done."""
    gc.disable()
