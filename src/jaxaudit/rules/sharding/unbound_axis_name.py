"""The rule `unbound-axis-name`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys.fates import is_init
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Program, Region
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import texts_in
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, proved, unknown
from jaxaudit.rules.vmap._shared.layers import axes_of_statistics, is_layer
from jaxaudit.spans import Span

_PROGRAM = """from jax import lax

def average(grads):
    return lax.pmean(grads, axis_name={used}


def step(params, x):
    return params - average(jax.grad(lambda p: jnp.mean(p * x))(params))


run = jax.pmap(step, axis_name="devices")
run(jnp.ones(8), jnp.ones(8))
"""

_LAYER = """from flax import linen as nn

class Net(nn.Module):
    axis: str

    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train, axis_name=self.axis)(nn.Dense(8)(x)){mark}
        return nn.Dense(1)(x)


net = Net("{name}")
variables = net.init(jax.random.key(0), jnp.ones((1, 4)), train=True)


def worker(x):
    return net.apply(variables, x, train={train}, mutable=["batch_stats"])


print(jax.vmap(worker, axis_name="devices")(jnp.ones((2, 8, 4)))[0])
"""


class UnboundAxisName(Rule):
    """A collective names an axis that no transformation around it binds.

    ## What it does
    Follows each collective (`psum`, `pmean`, `all_gather`, `axis_index`, ...), and each layer that averages statistics
    over a named axis, up through the calls that lead to it, and compares its axis name with those that the `vmap`,
    `pmap` or `shard_map` around it bind.

    ## Why is this bad?
    JAX stops with `NameError: unbound axis name` when the function is traced, far from the `pmap` that binds another
    name.

    ## Example
        def step(grads):
            return lax.pmean(grads, axis_name="batch")


        run = jax.pmap(step, axis_name="devices")

    ## Use instead
        def step(grads):
            return lax.pmean(grads, axis_name="devices")


        run = jax.pmap(step, axis_name="devices")

    ## When it cannot tell
    When the function is called from code that was not read, when a name is not a constant, and under `shard_map` and
    lifted transformations, whose names come from a mesh or from elsewhere. It is a warning then if there are maps in
    sight that bind other names, and none that binds this one.
    """

    summary = "A collective names an axis that nothing around it binds."
    always_raises = True
    needs = ()

    valid = (
        Example(_PROGRAM.format(used='"devices")'), "the name that `pmap` binds"),
        Example(_LAYER.format(name="devices", train="True", mark=""), "a layer that names it"),
        Example(_LAYER.format(name="batch", train="False", mark=""), "a layer that takes what it has kept"),
        Example(
            """
from jax import lax

def library_function(grads):
    return lax.pmean(grads, "batch")
""",
            "who calls it is not known",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(used='"batch")  #!'), "another name than the one that is bound"),
        Example(_LAYER.format(name="batch", train="True", mark="  #!"), "a layer that names another"),
        Example(
            """
            import equinox as eqx

            class Net(eqx.Module):
                linear: eqx.nn.Linear
                norm: eqx.nn.BatchNorm

                def __init__(self, axis, key):
                    self.linear = eqx.nn.Linear(4, 8, key=key)
                    self.norm = eqx.nn.BatchNorm(8, axis_name=axis)

                def __call__(self, x, state):
                    return self.norm(self.linear(x), state)  #!

            net, state = eqx.nn.make_with_state(Net)("examples", jax.random.key(0))
            run = jax.vmap(net, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
            print(run(jnp.ones((5, 4)), state)[0])
            """,
            "a model that is made with its state",
        ),
        Example(
            """
from jax import lax

def mean(grads):
    return lax.pmean(grads, "batches")  #?

def total(xs):
    return jax.vmap(lambda x: lax.psum(x, "batch"), axis_name="batch")(xs)
""",
            "a name that no map in sight binds",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every collective with a constant axis name."""
        flow = facts.flow
        layers = {op: names for op in program.named("py.call_library") if (names := axes_of_statistics(op, flow))}
        if next(program.named("collective"), None) is None and not layers:
            return
        # A module runs as it stands; a function that nobody calls may be mapped by somebody else.
        roots = ((root.region, _Around(certain=root.runs)) for root in program.roots)
        maps = [*program.named("vmap", "pmap")]
        bound = {name for op in maps for name in texts_in(op.option("axis_name"))}
        if next(program.named("shard_map", "transform"), None) or not all(map(_says_name, maps)):
            # What others bind is not in sight: the axes of a mesh, or a name that is given.
            bound = set()
        for region, around in walk(roots, lambda place: _entered(*place)):
            for op in region.ops:
                # What only starts a module averages nothing.
                own = () if around.starts else layers.get(op, ())
                names = texts_in(op.arguments.get("axis_name")) if op.name == "collective" else own
                yield from (_judge(op, name, around, bound) for name in names)


@record
class _Around:
    """What is known of the transformations around a region."""

    names: tuple[str, ...] = ()
    certain: bool = True
    binder: Op | None = None
    starts: bool = False
    """Whether it is run for the first parameters of a module."""


def _entered(region: Region, around: _Around) -> Iterator[tuple[Region, _Around]]:
    """Return the regions inside a region, each with what is around it."""
    starting = {op.span for op in region.ops if is_init(op)}
    for op in region.ops:
        if op.regions:
            inside = _inside(op, around)
            if op.name == "py.call" and op.span in starting:
                inside = replace(inside, starts=True)
            yield from ((inner, inside) for inner in op.regions)


def _inside(op: Op, around: _Around) -> _Around:
    if op.name in ("shard_map", "transform"):
        return replace(around, certain=False, binder=op)
    if op.name not in ("vmap", "pmap"):
        return around
    given = (op.options or {}).get("axis_name")
    names = (*around.names, given) if isinstance(given, str) else around.names
    return _Around(names, around.certain and _says_name(op), op, around.starts)


def _says_name(op: Op) -> bool:
    """Whether a map binds no name, or one that is known."""
    given = (op.options or {}).get("axis_name")
    return given is None or isinstance(given, str)


def _judge(op: Op, name: str, around: _Around, anywhere: set[str]) -> Obligation:
    if name in around.names:
        return proved(op.span, f"a transformation around it binds the axis `{name}`")
    if not around.certain and anywhere and name not in anywhere:
        return _bound_nowhere(op, name, anywhere)
    if not around.certain:
        return unknown(op.span, f"what binds the axis `{name}` was not seen")
    function = _doer(op)
    bound = ", ".join(f"`{one}`" for one in around.names) or "none"
    binder = around.binder
    return Obligation(
        op.span,
        message=f"`{function}` names the axis `{name}`, which nothing around it binds",
        current=f"the axes that are bound here: {bound}; JAX raises a NameError when it traces this",
        expected="a collective names an axis of the `vmap`, `pmap` or `shard_map` it runs under",
        steps=() if binder is None else (Step(_bound_at(binder), f"`{binder.name}` binds {bound} here"),),
        suggestion=f'use the bound name, or bind this one: `axis_name="{name}"`',
    )


def _bound_at(binder: Op) -> Span:
    """Return where the name of a mapped axis is written, or else where the function is mapped."""
    place = (binder.option_places or {}).get("axis_name")
    return place if isinstance(place, Span) else binder.wrapped or binder.span


def _doer(op: Op) -> str:
    """Return what goes over an axis: a function, or the class of a layer that is called."""
    return op.qualified.split(".")[-2] if is_layer(op) else op.function


def _bound_nowhere(op: Op, name: str, anywhere: set[str]) -> Obligation:
    """Report a name that none of the maps in sight binds, where others may be out of sight."""
    bound = ", ".join(f"`{one}`" for one in sorted(anywhere))
    return Obligation(
        op.span,
        Verdict.UNKNOWN,
        f"what binds the axis `{name}` was not seen",
        severity=Severity.WARNING,
        message=f"`{_doer(op)}` names the axis `{name}`, which none of the maps in sight binds",
        current=f"the names that are bound here: {bound}",
        expected="a collective names an axis of the `vmap`, `pmap` or `shard_map` it runs under",
        suggestion=f"use one of the bound names, or bind `{name}`",
    )
