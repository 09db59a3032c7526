"""The rule `identical-members`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.spans import Span

_PROGRAM = """
    import flax.linen as nn

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(x)[..., 0]

    class Critics(nn.Module):
        @nn.compact
        def __call__(self, x):
            many = nn.vmap(
                Critic,
"""


class IdenticalMembers(Rule):
    """A map gives the same result for every element, because nothing in them differs.

    ## What it does
    Asks of every map what differs from element to element: an argument that is mapped, variables that have an axis of
    their own, random numbers that are split. In a lifted map of flax, `variable_axes` says which variables each
    element has, and `split_rngs` whether they start from numbers of their own.

    ## Why is this bad?
    An ensemble whose members share their parameters, or start from the same ones and see the same data, is one model
    that is computed many times: the smaller of two critics is the critic, and members never disagree. Nothing fails.

    ## Example
        nn.vmap(Critic, variable_axes={"params": None}, split_rngs={"params": False}, in_axes=None, axis_size=2)

    ## Use instead
        nn.vmap(Critic, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=None, axis_size=2)

    ## When it cannot tell
    When the axes or options are computed.
    """

    summary = "All elements of a map are the same: nothing differs from one to the next."

    valid = f"""
    ## each has parameters of its own
    {_PROGRAM.strip()}
                variable_axes={{"params": 0}},
                split_rngs={{"params": True}},
                in_axes=None,
                axis_size=2,
            )
            return many()(x)

    y = Critics().apply({{}}, jnp.ones((8, 3)))

    ## one critic for all rows
    {_PROGRAM.strip()}
                variable_axes={{"params": None}},
                split_rngs={{"params": False}},
                in_axes=0,
            )
            return many()(x)

    y = Critics().apply({{}}, jnp.ones((8, 3)))

    ## copies of what takes no arguments
    y = jax.vmap(lambda: jnp.eye(3), axis_size=8)()
    """
    invalid = f"""
    ## all have the same parameters
    {_PROGRAM.strip()}
                variable_axes={{"params": None}},  #!
                split_rngs={{"params": False}},
                in_axes=None,
                axis_size=2,
            )
            return many()(x)

    y = Critics().apply({{}}, jnp.ones((8, 3)))

    ## all start from the same parameters
    {_PROGRAM.strip()}
                variable_axes={{"params": 0}},
                split_rngs={{"params": False}},  #!
                in_axes=None,
                axis_size=2,
            )
            return many()(x)

    y = Critics().apply({{}}, jnp.ones((8, 3)))

    ## a map over nothing
    y = jax.vmap(lambda x: x * 2, in_axes=None, axis_size=3)(jnp.ones(4))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every map."""
        yield from (_judge(op) for op in program.named("vmap"))


def _judge(op: Op) -> Obligation:
    axes = axes_of(op)
    variables, split = (op.option(name, {}) for name in ("variable_axes", "split_rngs"))
    if any(isinstance(axis, int) for axis in axes):
        return proved(op.span, "each element has a part of an argument of its own")
    if not all(axis is None for axis in axes) or op.mapped_in is not None:
        return unknown(op.span, "which arguments are mapped is not known")
    if not isinstance(variables, Mapping) or not isinstance(split, Mapping) or "axis_size" not in (op.options or {}):
        return unknown(op.span, "what differs from element to element is not known")
    if op.option("axis_size") == 1:
        return proved(op.span, "there is one element only")
    if any(value is not False for value in split.values()):
        return proved(op.span, "each element has random numbers of its own")
    if not axes and not variables:
        return proved(op.span, "there is no argument that could differ: copies are asked for")
    return _alike(op, has_own=any(value is not None for value in variables.values()))


def _alike(op: Op, *, has_own: bool) -> Obligation:
    told = ("split_rngs", "in_axes") if has_own else ("variable_axes", "split_rngs", "in_axes")
    places = [(name, place) for name in told if (place := _place(op, name)) is not None]
    shared = "start from the same parameters" if has_own else "have the same parameters"
    lifted = op.option("variable_axes") is not None
    return Obligation(
        places[0][1] if places else op.wrapped or op.span,
        message=f"all elements of this map {shared} and get the same input" if lifted else "this map maps nothing",
        current="every element gives the same result, now and after every update",
        expected="each element has parameters, random numbers or input of its own",
        steps=(
            *(Step(place, f"`{name}` tells nothing apart") for name, place in places[1:]),
            Step(op.span, "mapped here"),
        ),
        suggestion='`variable_axes={"params": 0}` and `split_rngs={"params": True}` make members that differ'
        if lifted
        else "map the argument that differs",
    )


def _place(op: Op, option: str) -> Span | None:
    return (op.option_places or {}).get(option)
