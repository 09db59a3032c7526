"""The rule `setting-around-wrapping`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.functions import READ_WHILE_TRACING
from jaxaudit.rules.base import Obligation, Rule, proved


class SettingAroundWrapping(Rule):
    """A setting of JAX holds while functions are wrapped, and not while they run.

    ## What it does
    Looks at every `with jax.enable_x64(True)`, `with jax.default_matmul_precision(...)` and kin, and asks whether
    anything is traced or computed before the block ends.

    ## Why is this bad?
    `jax.jit`, `jax.grad` and `jax.vmap` run nothing: the function is traced when it is called, under the settings of
    that moment. The setting is over by then, and nothing says so.

    ## Example
        with jax.enable_x64(True):
            solve = jax.jit(conjugate_gradient)
        x = solve(matrix, load)

    ## Use instead
        solve = jax.jit(conjugate_gradient)
        with jax.enable_x64(True):
            x = solve(matrix, load)

    ## When it cannot tell
    A block that yields, awaits or imports something holds for code that is written elsewhere, and is not listed.
    """

    summary = "A setting is over before the functions run that are wrapped under it."

    valid = """
    ## around the call
    solve = jax.jit(jnp.linalg.solve)

    def run(matrix, load):
        with jax.enable_x64(True):
            return solve(matrix, load)

    ## wrapped and called
    def run(f, x):
        with jax.default_matmul_precision("float32"):
            step = jax.jit(f)
            return step(x)

    ## for others
    import contextlib

    @contextlib.contextmanager
    def precise(f):
        with jax.enable_x64(True):
            yield jax.jit(f)
    """
    invalid = """
    ## around `jit`
    def run(matrix, load):
        with jax.enable_x64(True):  #!
            solve = jax.jit(jnp.linalg.solve)
        return solve(matrix, load)

    ## around a factory, and a method
    def make(f):
        with jax.default_matmul_precision("float32"):  #!
            return jax.jit(jax.vmap(f))

    class Solver:
        def __init__(self, f):
            with jax.debug_nans(True):  #!
                self.step = jax.jit(f)

        def run(self, x):
            return make(self.step)(x)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every setting that holds for a block."""
        for note in program.named("py.held"):
            manager = note.value("manager")
            made = None if manager is None else facts.flow.maker(manager)
            if made is None or made.function not in READ_WHILE_TRACING:
                continue
            if note.runs:
                yield proved(note.span, "something runs while it holds")
            else:
                yield _finding(note, made)


def _finding(note: Op, made: Op) -> Obligation:
    return Obligation(
        note.span,
        message=f"nothing runs while `{made.function}` holds: functions are only wrapped there",
        current="a wrapped function is traced when it is called, under the settings of that moment",
        expected="the setting holds where the function is called",
        suggestion="put the calls into the block",
    )
