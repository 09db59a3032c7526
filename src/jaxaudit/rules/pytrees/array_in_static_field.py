"""The rule `array-in-static-field`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, unknown


class ArrayInStaticField(Rule):
    """An array is kept in the part of an object that JAX takes for structure.

    ## What it does
    Finds fields that are auxiliary data of a pytree (the second thing that `tree_flatten` gives, `meta_fields`,
    `field(pytree_node=False)`, `field(static=True)`) and that are given arrays where the object is made.

    ## Why is this bad?
    Structure is compared with `==`, and the truth of a comparison of arrays is ambiguous: the second call of a compiled
    function raises, and so does `tree.map` over two such objects. Until then the array is invisible to gradients,
    `vmap` and devices.

    ## Example
        def tree_flatten(self):
            return (self.weight,), (self.mean,)

    ## Use instead
        def tree_flatten(self):
            return (self.weight, self.mean), ()

    ## When it cannot tell
    When what the field is given cannot be followed to the function that made it.
    """

    summary = "A field that is structure, not data, holds an array."

    valid = (
        Example(
            "from flax import struct\n\n@struct.dataclass\nclass Net:\n    w: object\n"
            "    size: int = struct.field(pytree_node=False)\n\ndef make(n):\n    return Net(jnp.zeros(n), n)\n",
            "a size",
        ),
    )
    invalid = (
        Example(
            "from flax import struct\n\n@struct.dataclass\nclass Net:\n    w: object\n"
            "    mean: object = struct.field(pytree_node=False)  #!\n\ndef make(n):\n"
            "    return Net(jnp.zeros(n), jnp.ones(n))\n",
            "declared static",
        ),
        Example(
            "@jax.tree_util.register_pytree_node_class\nclass Net:\n"
            "    def __init__(self, w, mean):\n        self.w, self.mean = w, mean\n\n    def tree_flatten(self):\n"
            "        return (self.w,), (self.mean,)  #!\n\n    @classmethod\n"
            "    def tree_unflatten(cls, aux, children):\n        return cls(*children, *aux)\n\n"
            "def make(x):\n    return Net(x, jnp.mean(x, axis=0))\n",
            "in the auxiliary data",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every static field that is given a value."""
        flow = facts.flow
        yield from (_judge(op, flow) for op in program.named("tree.static"))


def _judge(note: Op, flow: Flow) -> Obligation:
    name, field, span = note.class_name, note.field, note.where or note.span
    held = [value for value in note.values or () if isinstance(value, Value)]
    if not any(is_array(flow, value, context) for context in contexts(flow, note) for value in held):
        return unknown(span, f"what `{field}` of `{name}` is given is not known")
    return Obligation(
        span,
        message=f"`{field}` of `{name}` is structure to JAX, but holds an array",
        current="arrays cannot be compared as structure is: a second call of `jit`, or `tree.map` over two, raises",
        raises=Raises.LATER,
        expected=f"`{field}` is a leaf, like the other arrays of `{name}`",
        steps=(Step(note.span, f"a `{name}` is made here with an array in `{field}`"),),
        suggestion=f"make `{field}` a child (data field) of the pytree",
    )
