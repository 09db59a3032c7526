"""The rule `parameters-of-several-models`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.members import Members, members, told
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_PROGRAM = """
import flax.linen as nn

net = nn.Dense(3)


def committee(key, x):
    {made}
    {used}


committee(jax.random.key(0), jnp.ones((32, 6)))
"""
_MAPPED = "ensemble = jax.vmap(net.init, in_axes=(0, None))(jax.random.split(key, 5), x)"
_STACKED = (
    "members = [net.init(k, x) for k in jax.random.split(key, 5)]\n"
    "    ensemble = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis={axis}), *members)"
)
_EACH = "return jax.vmap(net.apply, in_axes=(0, None))(ensemble, x)"


class ParametersOfSeveralModels(Rule):
    """A module is run with the parameters of several models at once, or with slices of those of one.

    ## What it does
    Follows the parameters that a module is run with back to `init`, and counts the axes that their leaves have gained
    on the way: by `vmap`, or by stacking trees. Each of them has to be taken away again, by a `vmap` over that very
    axis or by an index, before the module reads the parameters.

    ## Why is this bad?
    A kernel with an axis of members is broadcast in a matrix product, so that a model may run with all of them at once.
    A map over the parameters of one model, or over another axis than they were stacked along, hands out rows of a
    kernel, which fits where sizes agree by chance.

    ## Example
        params = net.init(key, x)
        jax.vmap(net.apply, in_axes=(0, None))(params, x)

    ## Use instead
        params = jax.vmap(net.init, in_axes=(0, None))(keys, x)
        jax.vmap(net.apply, in_axes=(0, None))(params, x)

    ## When it cannot tell
    When the parameters come from elsewhere, or are changed leaf by leaf in ways that may give them an axis.
    """

    needs = (Shapes,)
    summary = "A module is run with the parameters of several models, or with slices of those of one."

    valid = (
        Example(_PROGRAM.format(made=_MAPPED, used=_EACH), "each member"),
        Example(_PROGRAM.format(made=_STACKED.format(axis=0), used=_EACH), "stacked"),
        Example(
            _PROGRAM.format(
                made=_MAPPED, used="return net.apply(jax.tree.map(lambda leaf: leaf[0], ensemble), x), ensemble"
            ),
            "the first member",
        ),
        Example(
            _PROGRAM.format(
                made=_MAPPED
                + "\n    some = jax.tree.map(lambda leaf: leaf[jax.random.permutation(key, 5)[:2]], ensemble)",
                used="return jax.vmap(net.apply, in_axes=(0, None))(some, x)",
            ),
            "some of the members",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(made=_MAPPED, used="return net.apply(ensemble, x)  #!"), "all members at once"),
        Example(_PROGRAM.format(made="ensemble = net.init(key, x)", used=_EACH + "  #!"), "rows of one model"),
        Example(_PROGRAM.format(made=_STACKED.format(axis=1), used=_EACH + "  #!"), "along another axis"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every run of a module."""
        ask = members(facts)
        for op in program.calls():
            if plays(op.qualified, "module.apply"):
                given = op.argument("params", "variables")
                value = given.get("params") if isinstance(given, Mapping) else given
                yield _judged(op, [*told(ask(value))] if isinstance(value, Value) else [])


def _judged(op: Op, ways: list[Members]) -> Obligation:
    if not ways or (any(one.is_one for one in ways) and not all(one.is_one for one in ways)):
        return unknown(op.span, "for how many models these parameters are is not known")
    if ways[0].is_one:
        return proved(op.span, "these are the parameters of one model")
    way = ways[0]
    if way.astray is not None and way.astray.name == "pmap":
        return unknown(op.span, "whether there is a copy for each device is asked where the map is run")
    return _astray(op, way, way.astray) if way.astray is not None else _several(op, way)


def _several(op: Op, way: Members) -> Obligation:
    by = way.axes[0][1]
    return Obligation(
        op.span,
        message="the parameters of several models are read as those of one",
        current=f"each leaf has an axis of members, at place {way.axes[0][0]}, which nothing takes away",
        expected="a module is run with the parameters of one model, under a `vmap` over the members",
        steps=(Step(by.span, "the axis of members comes from here"),),
        suggestion="map over the members: `jax.vmap(net.apply, in_axes=(0, None))(params, x)`",
    )


def _astray(op: Op, way: Members, by: Op) -> Obligation:
    if not way.had:
        return Obligation(
            by.span,
            message="this maps over the parameters of one model, which have no axis of members",
            current="each leaf is cut along an axis of its own: rows of a kernel, entries of a bias",
            expected="what is mapped are the parameters of several models, or they are shared: `in_axes=None`",
            steps=(Step(way.init.span, "the parameters of one model are made here"), Step(op.span, "read here")),
            suggestion="make one set for each member: `jax.vmap(net.init, in_axes=(0, None))(keys, x)`",
        )
    place, maker = way.had[0]
    return Obligation(
        by.span,
        message=f"the members stand along axis {place} of each leaf, and this maps over another axis",
        current="each leaf is cut along an axis of its own, and keeps that of the members",
        expected="the map goes over the axis of members",
        steps=(Step(maker.span, f"the members are put along axis {place} here"), Step(op.span, "read here")),
        suggestion=f"put them along the axis that is mapped, or map axis {place}",
    )
