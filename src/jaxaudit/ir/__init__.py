"""The intermediate representation: values, ops and nested regions that both front ends produce."""

from jaxaudit.ir.types import ArrayType, Declared, Exit, Observation, Op, Program, Region, Root
from jaxaudit.ir.values import REST, Argument, Size, Symbol, Value

__all__ = [
    "REST",
    "Argument",
    "ArrayType",
    "Declared",
    "Exit",
    "Observation",
    "Op",
    "Program",
    "Region",
    "Root",
    "Size",
    "Symbol",
    "Value",
]
