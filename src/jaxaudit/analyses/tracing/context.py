"""Which transformation an op runs under: the stack of ops that hold it."""

from __future__ import annotations

from jaxaudit.ir import Op

STAGES = frozenset("jit pmap shard_map scan map fori while cond associative_scan checkpoint abstract".split())
"""Transformations under which every JAX operation is staged, whatever its operands are."""

TRACERS = STAGES | {"vmap", "grad", "jvp", "vjp"}
"""Transformations that trace at least some of their arguments."""

COMPILE_TIME = "compile time"
"""The construct of a block that runs at once even inside staged code."""


class Context:
    """The ops whose regions are being solved, outermost first."""

    def __init__(self) -> None:
        self.stack: list[Op] = []

    def enter(self, op: Op) -> None:
        """Note that a region of an op is about to be solved; further regions and turns of it change nothing."""
        if not self.stack or self.stack[-1] is not op:
            self.stack.append(op)

    def leave(self, op: Op) -> None:
        """Note that all regions of an op are solved."""
        if self.stack and self.stack[-1] is op:
            self.stack.pop()

    def innermost(self, names: frozenset[str]) -> Op | None:
        """Give the nearest op of some kind, unless something in between runs its code at once."""
        for op in reversed(self.stack):
            if op.name in names:
                return op
            if op.name == "callback" or op.attrs.get("construct") == COMPILE_TIME:
                return None
        return None

    @property
    def stage(self) -> Op | None:
        """The innermost transformation that stages everything inside it."""
        return self.innermost(STAGES)

    @property
    def tracer(self) -> Op | None:
        """The innermost transformation that traces at all."""
        return self.innermost(TRACERS)

    def key(self) -> tuple[bool, bool]:
        """Give what decides how a body behaves, besides the facts of its parameters."""
        return self.stage is not None, self.tracer is not None
