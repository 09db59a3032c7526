"""What the rules about data flow share: names of callees, and what notes are about."""

from __future__ import annotations

from jaxaudit.analyses.explain import callee_of
from jaxaudit.ir import Op, Value


def called(op: Op) -> str:
    """Name what an op does as people write it: `.at[].set`, `apply_updates`."""
    if op.name == "array.scatter":
        return f".at[...].{callee_of(op)}"
    if op.name == "py.replace":
        return f".{op.method}" if op.method.startswith("_") else "replace"
    return "tree.map" if op.name == "tree.map" else callee_of(op)


def noted(note: Op) -> Value | None:
    """Return the value that a note is about, where it is one."""
    return note.values[0] if note.values is not None and len(note.values) == 1 else None
