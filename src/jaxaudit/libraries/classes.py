"""Bases and decorators of classes: one row each, with what they make of the class.

`registered`: JAX can take its objects apart. `fields`: each of its fields is a leaf or a tree, but for those declared
static. `init`: its constructor takes its fields. `frozen`: its objects do not change. `model`: its objects are trees of
their arrays, and can be called. `neutral`: nothing that matters to JAX. `stateless`: a base without fields and
constructor of its own. `named`: a constructor that takes its fields also takes the keywords `name` and `parent`.
`immutable`: setting an attribute of its objects raises.
`refuses`: it refuses arrays as defaults of fields, as Python's own dataclasses do.
`structural`: whatever has its members counts as an instance.
`renamed`: the parameter of a field has its name without underscores in front. `assigned`: an annotation alone makes no
field, unless an option says so.
"""

from __future__ import annotations

import sys

_DECORATORS = """
flax.struct.dataclass jax_dataclasses.pytree_dataclass: registered fields init frozen refuses
chex.dataclass: registered fields init refuses
jax.tree_util.register_dataclass: registered fields
jax.tree_util.register_pytree_node_class jax.tree_util.register_pytree_with_keys_class: registered
jax.tree_util.register_static chex.mappable_dataclass: registered
flax.nnx.dataclass tjax.dataclass: registered init refuses
dataclasses.dataclass: init neutral refuses
attrs.frozen attr.frozen: init frozen renamed
attr.define attrs.define attr.mutable attrs.mutable attr.dataclass: init renamed
attr.s attr.attrs: init renamed assigned
pydantic.dataclasses.dataclass brax.base.dataclass mujoco.mjx.dataclass: init
penzai.pz.pytree_dataclass penzai.core.struct.pytree_dataclass: init
functools.total_ordering typing.final typing_extensions.final: neutral
typing.runtime_checkable typing_extensions.runtime_checkable: neutral
"""

_BASES = """
equinox.Module: registered fields init model immutable refuses
flax.training.train_state.TrainState flax.struct.PyTreeNode: registered fields init immutable refuses
simple_pytree.Pytree penzai.pz.Struct: registered fields init refuses
flax.linen.Module: init named refuses
pydantic.BaseModel: init
flax.nnx.Module flax.nnx.Pytree: model stateless
flax.nnx.Object haiku.Module: stateless
builtins.object abc.ABC typing.Generic: neutral stateless
typing.Protocol typing_extensions.Protocol: neutral stateless structural
typing.NamedTuple typing_extensions.NamedTuple: namedtuple
enum.Enum enum.IntEnum enum.StrEnum enum.Flag enum.IntFlag: enum
"""

STATIC_FIELDS = {"flax.training.train_state.TrainState": ("apply_fn", "tx")}
"""Fields of bases that are structure to JAX: they are the same in every version of an object."""

FIELD_MAKERS = frozenset("attr.ib attr.attrib attr.field attrs.field".split())
"""Calls that make a field of what is assigned in a class, also without an annotation."""


def _that_are(table: str, fact: str) -> frozenset[str]:
    lines = (line.split(":") for line in table.strip().splitlines())
    return frozenset(name for names, facts in lines if not fact or fact in facts.split() for name in names.split())


def decorators(fact: str) -> frozenset[str]:
    """Return the decorators that make a class so."""
    return _that_are(_DECORATORS, fact)


def bases(fact: str) -> frozenset[str]:
    """Return the bases that make a class so."""
    return _that_are(_BASES, fact)


def has_own_calls(base: str) -> bool:
    """Whether calling a class with this base may do something else than give its `__init__` the arguments.

    The base may have a metaclass: that of `ninjax.Module` takes the values of annotated attributes too.
    """
    return base not in _that_are(_BASES, "") and base.partition(".")[0] not in sys.stdlib_module_names
