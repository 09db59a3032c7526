"""The operators: each puts one kind of mistake into a file, where a condition on the syntax says that it is one."""

from __future__ import annotations

from importlib import import_module

from benchmarks.mutants.operators.registry import OPERATORS as OPERATORS
from benchmarks.mutants.operators.registry import Operator as Operator

FAMILIES = ("flow", "axes", "vmap", "scan", "gradients", "random", "jit", "pytrees", "numerics", "envs", "sharding")

for _family in FAMILIES:
    import_module(f"{__name__}.{_family}")
