"""The rule `unannotated-field`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import DERIVATIVES
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Subject, unknown
from jaxaudit.rules.trees import nodes

_FIT = """
{imports}

{head}
    rate: float = 1.0
    {volume} = 20.0{mark}

def curve(theta, t):
    return jnp.exp(-theta.rate * t) / theta.volume

def fit(t, y):
    theta = Theta()
    for _ in range(9):
        grads = jax.grad(lambda p: jnp.mean((curve(p, t) - y) ** 2))(theta)
        theta = jax.tree.map(lambda p, g: p - 0.1 * g, theta, grads)
    return theta
"""
_STRUCT = {"imports": "from flax import struct", "head": "@struct.dataclass\nclass Theta:"}
_TUPLE = {"imports": "from typing import NamedTuple", "head": "class Theta(NamedTuple):"}


class UnannotatedField(Rule):
    """A parameter is bound in the class of a record without an annotation, so that it is no field.

    ## What it does
    Looks at each number that the class of a dataclass, a module or a named tuple binds without an annotation, and that
    is read of an instance: is a gradient taken by that instance?

    ## Why is this bad?
    Python makes fields of what has an annotation. Anything else belongs to the class: it is no leaf, gets no gradient
    and keeps its first value while the fields beside it are fitted, and nothing is raised.

    ## Example
        @struct.dataclass
        class Theta:
            rate: float = 1.0
            volume = 20.0

    ## Use instead
        @struct.dataclass
        class Theta:
            rate: float = 1.0
            volume: float = 20.0

    ## When it cannot tell
    What is read where no gradient is taken may be a constant. So is what is annotated as a `ClassVar`, or written in
    capitals.
    """

    summary = "A number without an annotation is no field of its record, and is never fitted."
    valid = (
        Example(_FIT.format(**_STRUCT, volume="volume: float", mark=""), "a field"),
        Example(
            """
            from flax import struct

            @struct.dataclass
            class Theta:
                rate: float = 1.0

            @struct.dataclass
            class Plant:
                volume = 20.0

            def fit(plant: Plant, t, y):
                theta = Theta()
                def loss(p):
                    return jnp.mean((jnp.exp(-p.rate * t) / plant.volume - y) ** 2)
                return jax.grad(loss)(theta)

            fit(Plant(), jnp.ones(3), jnp.ones(3))
            """,
            "a constant of what no gradient is taken by",
        ),
    )
    invalid = (
        Example(_FIT.format(**_STRUCT, volume="volume", mark="  #!"), "a dataclass"),
        Example(_FIT.format(**_TUPLE, volume="volume", mark="  #!"), "a named tuple"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every number that is read of a record and that only its class has."""
        for op in program.named("tree.constant"):
            around = (holder for _, holder in facts.places.up(facts.places.region_of[op]))
            by = next((one for one in around if one is not None and _differentiates(one, op.class_name)), None)
            yield (
                _violation(op, by)
                if by is not None
                else unknown(op.span, f"whether `{op.field}` is a constant is not known")
            )


def _differentiates(op: Op, name: str) -> bool:
    """Whether a derivative is taken by an instance of a class."""
    if op.name not in DERIVATIVES or op.border is None:
        return False
    by = {op.operands[at] for at in op.differentiated or ()}
    # Numbers are no values: where there are none but them, the first argument is what counts.
    trees = op.border.trees if by else op.border.trees[:1]
    records = (node for tree in trees for node in nodes(tree) if node.name == name)
    held = (inner for record in records for inner in nodes(record))
    return any(inner.value in by if by else inner.kind == "number" for inner in held)


def _violation(op: Op, by: Op) -> Obligation:
    name, field = op.class_name, op.field
    return Obligation(
        op.where or op.span,
        message=f"`{field}` has no annotation, so it is no field of `{name}` and gets no gradient",
        current=f"every `{name}` has the value that the class binds, whatever the others are fitted to",
        expected=f"`{field}` is a field of `{name}`, and a leaf like the others",
        steps=(
            Step(op.span, f"`{field}` is read of a `{name}` here"),
            Step(by.span, f"a gradient is taken by that `{name}` here"),
        ),
        suggestion=f"annotate `{field}`; or write `ClassVar` if it is to stay as it is",
        subject=Subject(names=(str(field),)),
    )
