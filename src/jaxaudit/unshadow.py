"""Keeps files of the user's from taking the place of Python's own modules under `python -m jaxaudit`.

Python puts the current folder first on the path then, so a `random.py` or `dataclasses.py` there would be imported for
the one of the standard library. The command `jaxaudit` has no such entry. This module is imported before all others.
"""

from __future__ import annotations

import sys


def leave_current_folder() -> None:
    """Take the current folder off the path, if Python put it there to run this package."""
    # While Python looks for the module to run, `-m` stands for its name.
    started = sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].removeprefix("-m") == "jaxaudit"
    if started and sys.path and not sys.flags.safe_path:
        del sys.path[0]


leave_current_folder()
