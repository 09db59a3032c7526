"""The rule `float64-without-x64`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Root
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Verdict, named, unknown
from jaxaudit.rules.numerics._shared.double_precision import has_x64, switches_x64

_NAMES = ("float64", "int64", "uint64", "complex128", "double")
_WIDE = frozenset(f"jax.numpy.{name}" for name in _NAMES)
_SPELLED = _WIDE | {f"{package}{name}" for package in ("", "numpy.") for name in _NAMES}
"""How functions of JAX may be asked for 64 bits; the method of an array may be one of NumPy's."""


_ROOM = 2**31
"""The numbers below this one have room in 32 bits, with or without a sign."""


class Float64WithoutX64(Rule):
    """Double precision is asked for, but arrays are made in single precision.

    ## What it does
    Looks for arrays that are made before `jax_enable_x64` is switched on, and for 64-bit dtypes in programs that never
    switch it on.

    ## Why is this bad?
    JAX makes 32-bit arrays until the switch is on. Arrays made before stay single precision and spoil every result
    that uses them; without the switch a 64-bit dtype is silently cut to 32 bits.

    ## Example
        GRID = jnp.linspace(0.0, 1.0, 100)


        def main():
            jax.config.update("jax_enable_x64", True)
            solve(GRID)

    ## Use instead
        jax.config.update("jax_enable_x64", True)
        GRID = jnp.linspace(0.0, 1.0, 100)

    ## When it cannot tell
    Code that others call may be used with the switch on, so there a 64-bit dtype alone is a warning.
    """

    summary = "Arrays are made in single precision where double precision is meant."
    needs = (Shapes, Ranges)

    valid = """
    ## switched on first
    jax.config.update("jax_enable_x64", True)
    GRID = jnp.linspace(0.0, 1.0, 100, dtype=jnp.float64)

    def main():
        return GRID.sum()

    main()
    """
    invalid = """
    ## made before the switch
    GRID = jnp.linspace(0.0, 1.0, 100)  #!

    def main():
        jax.config.update("jax_enable_x64", True)
        return GRID.sum()

    main()

    ## never switched on, in a library
    def weights(n):
        return jnp.zeros(n, dtype=jnp.float64)  #?

    ## never switched on, in a program
    def weights(n):
        return jnp.zeros(n, dtype=jnp.float64)  #!

    print(weights(3))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List arrays made before the switch, and 64-bit dtypes without it."""
        if program.types:
            # JAX told every dtype, so nothing is cut that a trace could still show.
            return
        if has_x64(facts):
            yield from (one for root in program.roots for one in _early(root, facts.get(Shapes)))
        elif any(map(_asks_wide, program.calls())):
            yield from _wide(program, facts.get(Ranges))


def _wide(program: Program, ranges: Ranges) -> Iterator[Obligation]:
    """Judge each 64-bit dtype; of those that may be fine, the first of a file speaks for all."""
    told: set[str] = set()
    for root in program.roots:
        for op in filter(_asks_wide, root.region.walk()):
            if _fits(op, ranges):
                yield unknown(op.span, "these integers have room in 32 bits; whether what they become has is not known")
                continue
            found = _unswitched(op, root)
            if found.verdict is Verdict.UNKNOWN and found.span.path in told:
                found = unknown(found.span, found.reason)
            told.add(op.span.path)
            yield found


def _early(root: Root, shapes: Shapes) -> Iterator[Obligation]:
    """Judge the floating-point arrays a module makes at its top level, if it switches later."""
    top = {op for op in root.region.ops if op.name == "array.create" and _is_single(op, shapes)}
    made: list[Op] = []
    for op in root.region.walk() if top else ():
        if switches_x64(op) and op.arguments.get("val", True) is True and not op.qualified.endswith(".read"):
            yield from (_late(one, op) for one in made)
            return
        if op in top:
            made.append(op)


def _is_single(op: Op, shapes: Shapes) -> bool:
    """Whether JAX makes an array of its default floating type."""
    asked = "dtype" in op.arguments or not op.qualified.startswith("jax.numpy.")
    return not asked and shapes.of(op.result).dtype == "float32"


def _late(made: Op, switch: Op) -> Obligation:
    name = named(made.result, "this array")
    # A context manager speaks for its own block alone.
    passing = switch.qualified.endswith("enable_x64")
    return Obligation(
        made.span,
        severity=Severity.WARNING if passing else Severity.ERROR,
        message=f"{name} is made in float32, since double precision is switched on only afterwards",
        current=f"{name} keeps single precision, and every result that uses it has no more",
        expected="`jax_enable_x64` is switched on before the first array is made",
        steps=(Step(switch.span, "double precision is switched on here"),),
        suggestion='put `jax.config.update("jax_enable_x64", True)` right after the imports',
    )


def _asks_wide(op: Op) -> bool:
    if op.name == "array.convert" and op.qualified in _WIDE:
        return True
    if "dtype" not in op.arguments:
        return False
    by_jax = op.qualified.startswith("jax.")
    makes_array = op.name not in ("array.numpy", "array.shape", "py.call_library")
    asked = _SPELLED if by_jax else _WIDE if op.qualified == "astype" else frozenset[str]()
    return makes_array and str(op.arguments.get("dtype")) in asked


def _fits(op: Op, ranges: Ranges) -> bool:
    """Whether what is made are integers of which nothing is cut: a counter that starts at 0."""
    found = ranges.of(op.result)
    return "int" in str(op.arguments.get("dtype")) and found.low >= 0 and found.high < _ROOM


def _unswitched(op: Op, root: Root) -> Obligation:
    # A module that calls its own functions when it is run is a whole program.
    program = root.region.span.line == 1 and any(one.name == "py.call" for one in root.region.ops)
    return Obligation(
        op.span,
        Verdict.VIOLATED if program else Verdict.UNKNOWN,
        "whether the code that uses this switches `jax_enable_x64` on is not known",
        severity=Severity.ERROR if program else Severity.WARNING,
        message="a 64-bit dtype is cut to 32 bits, since nothing here switches `jax_enable_x64` on",
        current="the array has 32 bits, and JAX only warns",
        expected="`jax_enable_x64` is switched on, or a 32-bit dtype is asked for",
        suggestion='call `jax.config.update("jax_enable_x64", True)` first',
    )
