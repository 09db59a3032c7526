"""Where precedence of operators is easily mistaken: `&`, `|` and `^` bind more tightly than comparisons."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_NOTHING: Mapping[str, object] = {}


def of_comparison(it: Interpreter, node: ast.Compare) -> Mapping[str, object]:
    """Note a comparison with something like `0 | b`: whether brackets say so, and whether it is a chain."""
    parts = [node.left, *node.comparators]
    bitwise = [part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, _BITWISE)]
    if not bitwise:
        return _NOTHING
    loose = [part for part in bitwise if not _bracketed(it, part)]
    chained = any(part in loose for part in parts[1:-1])
    return {"tighter": "chain" if chained else "loose" if loose else "brackets"}


def _bracketed(it: Interpreter, node: ast.expr) -> bool:
    """Whether an expression stands in brackets of its own."""
    lines = it.frame.module.text.split("\n")
    if not 0 < node.lineno <= len(lines):
        return True
    before = lines[node.lineno - 1].encode()[: node.col_offset].rstrip()
    return before.endswith(b"(")
