"""The intermediate representation: values, ops and nested regions that both front ends produce."""

from jaxaudit.ir.types import Argument, Exit, Op, Program, Region, Root, Symbol, Value

__all__ = ["Argument", "Exit", "Op", "Program", "Region", "Root", "Symbol", "Value"]
