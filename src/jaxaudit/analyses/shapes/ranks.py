"""Which values are arrays for sure, and of which the shape is read."""

from __future__ import annotations

from jaxaudit.ir import Program, Value


def methods_of_objects(program: Program) -> frozenset[Value]:
    """Return what methods such as `mean` give of objects that nothing shows to be arrays.

    A distribution has a `mean` as well, and a table of another library a `sum`: neither need be a number. What array
    functions and operators make is an array, so their methods are its own; so is what has methods and is given to
    functions of JAX, which refuse anything else.
    """
    computed = (op for op in program.walk() if op.name in _TAKE_ARRAYS and op.operands)
    arrays: set[Value] = {op.operands[0] for op in computed if op.qualified.startswith("jax.")}
    found: set[Value] = set()
    for op in program.walk():
        if op.name in _METHODS and op.operands and "." not in op.qualified and op.operands[0] not in arrays:
            found.update(op.results)
        elif op.name.startswith(_MAKE_ARRAYS):
            arrays.update(op.results)
    return frozenset(found)


_MAKE_ARRAYS = ("array.", "key.", "grad.stop", "collective", "device.place")
_METHODS = ("array.reduce", "array.order")
_TAKE_ARRAYS = ("array.map", "array.reduce", "array.normalise", "array.select", "array.dot")


def measured(program: Program) -> frozenset[Value]:
    """Return the arrays whose shape the code reads."""
    asked = (op for op in program.named("array.shape") if op.operands)
    return frozenset(op.operands[0] for op in asked if op.function == "shape")
