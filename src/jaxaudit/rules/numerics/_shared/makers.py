"""How values came about: which op made each, and whether that is an array of JAX or a value of Python."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.ir import Argument, Op, Program, Value

_COMPARISONS = frozenset("equal not_equal less less_equal greater greater_equal".split())
_ANSWERS = frozenset(("not", "is", "is not", "in", "not in", "isinstance"))
_NO_ARRAY = frozenset(("array.shape", "array.numpy", "array.order"))
_SEVERAL = frozenset(
    """meshgrid broadcast_arrays split array_split hsplit vsplit dsplit nonzero unravel_index ix_ frexp modf divmod
    diag_indices diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from mask_indices unstack
    histogram histogram2d histogramdd unique_all unique_counts unique_inverse svd eigh eig qr lu slogdet lstsq
    polyfit polydiv top_k""".split()
)
"""Functions that give several arrays, in a tuple or list."""
_DEPTH = 6


class Makers:
    """The op that made each value of a program."""

    def __init__(self, program: Program) -> None:
        self._of = program.makers

    def of(self, argument: Argument) -> Op | None:
        """Return the op that made a value; None for constants and parameters."""
        return self._of.get(argument) if isinstance(argument, Value) else None

    def is_jax_array(self, argument: Argument, depth: int = 0) -> bool:
        """Whether a value is surely an array that JAX made."""
        op = self.of(argument)
        if op is None or depth > _DEPTH:
            return False
        if op.is_operator:
            return any(self.is_jax_array(one, depth + 1) for one in op.arguments.values())
        made = op.name.startswith(("array.", "key.draw")) and op.name not in (
            "array.shape",
            "array.numpy",
            "array.order",
        )
        module, _, name = op.qualified.rpartition(".")
        return made and module.startswith("jax") and name not in _SEVERAL

    def is_python_bool(self, argument: Argument, depth: int = 0) -> bool:
        """Whether a value is surely one of Python's own truth values."""
        if isinstance(argument, bool):
            return True
        op = self.of(argument)
        if op is None or depth > _DEPTH:
            return False
        if op.name == "py.operator":
            return op.operator in _ANSWERS
        if op.name == "py.to_python":
            return op.qualified == "bool"
        if op.name == "py.const":
            return isinstance(op.constant, bool)
        compares = op.is_operator and op.qualified in _COMPARISONS
        return compares and all(self.is_python_number(one, depth + 1) for one in op.arguments.values())

    def is_python_number(self, argument: Argument, depth: int = 0) -> bool:
        """Whether a value is surely one of Python's own numbers."""
        if isinstance(argument, int | float):
            return True
        op = self.of(argument)
        if op is None or depth > _DEPTH:
            return False
        if op.name == "array.shape":
            # Whatever has a length has a number for it; a `size` may be a field of the user's own.
            function = op.qualified
            return function in ("len", "ndim") or (function == "size" and self.is_jax_array(op.arguments.get("a")))
        if op.name == "py.to_python":
            return op.qualified in ("int", "float")
        if op.name == "py.item":
            base = self.of(op.arguments.get("base"))
            if isinstance(op.arguments.get("index"), Mapping):
                return False
            return base is not None and base.name == "array.shape" and base.qualified == "shape"
        return op.is_operator and all(self.is_python_number(one, depth + 1) for one in op.arguments.values())

    def is_mask(self, argument: Argument, depth: int = 0) -> bool:
        """Whether a value is surely true or false, alone or in an array."""
        if self.is_python_bool(argument):
            return True
        op = self.of(argument)
        if op is None or depth > _DEPTH or op.name != "array.map":
            return False
        function = op.function
        if function in _COMPARISONS or function.startswith(("logical_", "is")):
            return True
        return function.startswith("bitwise_") and all(self.is_mask(one, depth + 1) for one in op.arguments.values())
