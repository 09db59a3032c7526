"""Keeps what is run once more, or on our behalf, from writing to the user's terminal."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """Let nothing be written, and no warning be shown."""
    nowhere = io.StringIO()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
