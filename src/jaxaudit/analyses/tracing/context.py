"""Which transformation an op runs under: the stack of ops that hold it."""

from __future__ import annotations

from jaxaudit.ir import Op
from jaxaudit.ir.ops import DERIVATIVES, PYTHON_LOOPS
from jaxaudit.ir.record import record

STAGES = frozenset("jit pmap shard_map scan map fori while cond checkpoint abstract".split())
"""Transformations under which every JAX operation is staged, whatever its operands are."""

TRACERS = STAGES | DERIVATIVES | {"vmap"}
"""Transformations that trace at least some of their arguments."""

COMPILE_TIME = "compile time"
"""The construct of a block that runs at once even inside staged code."""

WITHOUT_JIT = "without jit"
"""The construct of a block in which compiled functions and loops of JAX run as plain Python."""

JIT_IS_OFF = "jit is off"
"""The construct of a block that runs only where nothing is compiled at all."""

_COMPILED = STAGES - {"pmap", "shard_map", "abstract"}


@record
class _Level:
    op: Op | None
    stage: Op | None
    tracer: Op | None
    eager: bool = False


class Context:
    """The ops whose regions are being solved, outermost first."""

    def __init__(self) -> None:
        self._levels = [_Level(None, None, None)]
        self._ruled_out: set[int] = set()
        """The depths at which what is being solved cannot happen."""

    def is_open(self, op: Op) -> bool:
        """Whether a region of this very op is being solved."""
        return self._levels[-1].op is op

    def enter(self, op: Op) -> None:
        """Note that a region of an op is about to be solved; further regions and turns of it change nothing."""
        outer = self._levels[-1]
        if outer.op is op:
            return
        if op.name == "callback" or op.construct == COMPILE_TIME:
            self._levels.append(_Level(op, None, None, outer.eager))
            return
        eager = outer.eager or op.construct in (WITHOUT_JIT, JIT_IS_OFF)
        stage, tracer = op.name in STAGES, op.name in TRACERS
        if eager and op.name in _COMPILED:
            stage = tracer = False
        self._levels.append(_Level(op, op if stage else outer.stage, op if tracer else outer.tracer, eager))

    def leave(self, op: Op) -> None:
        """Note that all regions of an op are solved."""
        if self._levels[-1].op is op:
            self._ruled_out.discard(len(self._levels))
            self._levels.pop()

    def rule_out(self, *, dead: bool) -> None:
        """Note whether the region of the innermost op that is about to be solved can never be reached."""
        (self._ruled_out.add if dead else self._ruled_out.discard)(len(self._levels))

    @property
    def dead(self) -> bool:
        """Whether what is being solved can never be reached."""
        return bool(self._ruled_out)

    @property
    def stage(self) -> Op | None:
        """The innermost transformation that stages everything inside it."""
        return self._levels[-1].stage

    @property
    def tracer(self) -> Op | None:
        """The innermost transformation that traces at all."""
        return self._levels[-1].tracer

    def runs_at_once(self, op: Op) -> bool:
        """Whether a transformation is a plain call here, since nothing is compiled."""
        return self._levels[-1].eager and op.name in _COMPILED

    @property
    def loop(self) -> Op | None:
        """The innermost Python loop."""
        return next((op for op in reversed(self.ops()) if op.name in PYTHON_LOOPS), None)

    def ops(self) -> tuple[Op, ...]:
        """Return the ops that hold what is being solved, outermost first."""
        return tuple(level.op for level in self._levels if level.op is not None)

    def key(self) -> tuple[bool, ...]:
        """Return what decides how a body behaves, besides the facts of its parameters."""
        return self.stage is not None, self.tracer is not None, self._levels[-1].eager, self.dead
