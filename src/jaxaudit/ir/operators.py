"""Python's operators: how each is written, the method behind it, and the function that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Operator(NamedTuple):
    """One operator."""

    node: str
    """The name of its class in `ast`."""
    sign: str
    method: str
    """The name of its method, without underscores."""
    function: str


_TABLE = """
    Add       +   add       add
    Sub       -   sub       subtract
    Mult      *   mul       multiply
    Div       /   truediv   divide
    FloorDiv  //  floordiv  floor_divide
    Mod       %   mod       remainder
    Pow       **  pow       power
    MatMult   @   matmul    matmul
    BitAnd    &   and       bitwise_and
    BitOr     |   or        bitwise_or
    BitXor    ^   xor       bitwise_xor
    LShift    <<  lshift    left_shift
    RShift    >>  rshift    right_shift
    UAdd      +   pos       positive
    USub      -   neg       negative
    Invert    ~   invert    invert
    Eq        ==  eq        equal
    NotEq     !=  ne        not_equal
    Lt        <   lt        less
    LtE       <=  le        less_equal
    Gt        >   gt        greater
    GtE       >=  ge        greater_equal
"""

OPERATORS: Mapping[str, Operator] = {line.split()[0]: Operator(*line.split()) for line in _TABLE.strip().splitlines()}
"""Operators by the class of `ast`."""

SIGNS: Mapping[str, str] = {one.function: one.sign for one in OPERATORS.values()}
"""How users write the functions that operators stand for."""
