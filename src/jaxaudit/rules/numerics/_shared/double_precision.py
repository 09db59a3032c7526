"""Whether a program switches double precision on."""

from __future__ import annotations

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.ir import Op


@remembered
def has_x64(facts: Facts) -> bool:
    """Whether a program, or what starts it, anywhere turns 64-bit types on, or asks whether they are."""
    program = facts.program
    named = "jax_enable_x64" in program.switches or any(program.called("enable_x64"))
    return named or any(switches_x64(op) for op in program.walk() if op.arguments)


def switches_x64(op: Op) -> bool:
    """Whether an op turns 64-bit types on, or asks whether they are: who asks knows of the switch."""
    return op.qualified.endswith("enable_x64") or "jax_enable_x64" in op.arguments.values()
