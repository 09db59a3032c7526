"""The rule `array-as-default`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import ARRAYS
from jaxaudit.rules.base import Belief, Obligation, Raises, Rule, proved, unknown


class ArrayAsDefault(Rule):
    """A field of a dataclass has an array as its default.

    ## What it does
    Looks at the default of every field of a dataclass, of a Flax or Equinox module and of a `PyTreeNode`, where it is
    neither a constant nor a field with a factory.

    ## Why is this bad?
    Defaults are shared by all instances, so Python allows hashable ones only, and arrays are not hashable: from Python
    3.11 on the class cannot be defined. The array is also made when the module is imported, on the default device.

    ## Example
        class State(struct.PyTreeNode):
            position: jax.Array = jnp.zeros(2)

    ## Use instead
        class State(struct.PyTreeNode):
            position: jax.Array = struct.field(default_factory=lambda: jnp.zeros(2))

    ## When it cannot tell
    When it is not known what the default is.
    """

    summary = "A field of a dataclass has an array as its default, which Python refuses."

    valid = """
    ## made anew for each instance
    import dataclasses

    @dataclasses.dataclass
    class State:
        position: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros(2))
        speed: float = 0.5
        limits: tuple = (0.0, 1.0)

    ## a function that gives what all share
    import dataclasses

    class Palette:
        UNSET = jnp.asarray(255)

    @dataclasses.dataclass
    class Event:
        colour: jax.Array = dataclasses.field(default_factory=lambda: Palette.UNSET)

    ## a named tuple, a decorator of one's own, and what is no field
    import dataclasses
    from typing import ClassVar, NamedTuple

    class Step(NamedTuple):
        reward: jax.Array = jnp.zeros(())

    def dataclass(cls):
        for name in cls.__annotations__:
            default = getattr(cls, name)
            setattr(cls, name, dataclasses.field(default_factory=lambda: default))
        return dataclasses.dataclass(cls)

    @dataclass
    class Own:
        table: jax.Array = jnp.zeros(3)

    class Plain:
        table = jnp.zeros(3)
        weights: jax.Array = jnp.ones(3)
    """
    invalid = """
    ## one array for all instances
    import dataclasses

    @dataclasses.dataclass
    class State:
        position: jax.Array = jnp.zeros(2)  #!
        speed: float = 0.5
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every default of a field that is computed."""
        yield from (one for op in program.named("tree.default") for one in _judge(op, facts))


def _judge(op: Op, facts: Facts) -> Iterator[Obligation]:
    if op.is_anew:
        yield proved(op.span, f"a function gives `{op.field}` to each instance, so its default is no array")
        return
    value = op.arguments["value"]
    maker = facts.flow.giver(value, op) if isinstance(value, Value) else None
    if maker is None or maker.name not in ARRAYS or maker.is_operator:
        yield unknown(op.span, f"what the default of `{op.field}` is, is not known")
        return
    if not op.refuses:
        reason = f"what makes `{op.class_name}` a dataclass may put something else in the place of its defaults"
        yield unknown(op.span, reason)
        return
    yield Obligation(
        maker.span,
        message=f"the default of `{op.field}` in `{op.class_name}` is an array",
        current="Python 3.11 and newer raise ValueError here: mutable default, use default_factory",
        raises=Raises.TRACING,
        belief=Belief(op.refuses, None, op.class_name),
        expected="a default that is made anew for each instance",
        suggestion="`field(default_factory=lambda: ...)`, the `field` of the library that makes the dataclass",
    )
