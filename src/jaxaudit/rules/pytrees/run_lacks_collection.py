"""The rule `run-lacks-collection`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Region
from jaxaudit.ir.ops import BRANCHES
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.evaluations import is_training

_RUNS = playing("module.scoped")

_PROGRAM = """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(8)(x)
        return {layer}(x)

net = Net()

def loss(params, stats, x, key):
    return net.apply({{"params": params, "batch_stats": stats}}, x, {given}).sum(){mark}

def step(params, stats, x, key):
    return jax.grad(loss)(params, stats, x, key)
"""
_NORM = "nn.BatchNorm(use_running_average=not train)"
_DROPOUT = "nn.Dropout(0.5, deterministic=not train)"


class RunLacksCollection(Rule):
    """A module is run without the key, or the leave to change its state, that one of its layers needs.

    ## What it does
    Follows each `apply` of flax into the layers that it runs: one that behaves as in training and draws needs a key
    (`rngs`), and one that renews running averages needs to be told that it may (`mutable`).

    ## Why is this bad?
    flax raises an exception as soon as such a layer runs, and only then: evaluation works, and so does `init`.

    ## Example
        logits = net.apply({"params": params}, x, train=True)

    ## Use instead
        logits = net.apply({"params": params}, x, train=True, rngs={"dropout": key})

    ## When it cannot tell
    Layers that run under a condition, or whose mode is not known, are left open.
    """

    summary = "A layer needs a key, or leave to change its state, which `apply` is not given."
    valid = (
        Example(_PROGRAM.format(layer=_NORM, given="False", mark=""), "averages that are only read"),
        Example(_PROGRAM.format(layer=_DROPOUT, given="True, rngs={'dropout': key}", mark=""), "a key"),
        Example(
            _PROGRAM.format(layer=_NORM, given="True, mutable=['batch_stats']", mark="").replace(".sum()", "[0].sum()"),
            "leave to change",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(layer=_NORM, given="True", mark="  #!"), "averages"),
        Example(_PROGRAM.format(layer=_DROPOUT, given="train=True", mark="  #!"), "dropout"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every run of a module whose layers are in sight."""
        flow = facts.flow
        for op in program.calling(*_RUNS):
            if (region := _inside(op, flow)) is not None:
                yield _judge(op, region, flow)


def _inside(run: Op, flow: Flow) -> Region | None:
    """Return what a run of a module was followed into."""
    beside = flow.places.region_of[run].ops
    return next((one.regions[0] for one in beside if one.name == "py.call" and one.span == run.span), None)


def _judge(run: Op, region: Region, flow: Flow) -> Obligation:
    mutable = run.arguments.get("mutable", False) is not False
    keyed = run.name == "key.draw" or run.has("rngs")
    doubtful = False
    for layer, sure in _layers(region):
        averages, draws = _needs(layer, flow)
        if (averages and not mutable) or (draws and not keyed):
            mode = is_training(layer, flow)
            if mode and sure:
                return _lacks(run, layer, averages=averages and not mutable)
            doubtful |= mode is not False
    if doubtful:
        return unknown(run.span, "whether each layer of it behaves as in training is not known")
    return proved(run.span, "the layers in sight are given the keys and the state that they need")


def _layers(region: Region, *, sure: bool = True) -> Iterator[tuple[Op, bool]]:
    """Return the calls of a region and of what it runs, and whether they surely happen."""
    for op in region.ops:
        if op.qualified:
            yield op, sure
        for inner in op.regions:
            yield from _layers(inner, sure=sure and op.name not in BRANCHES)


def _needs(layer: Op, flow: Flow) -> tuple[bool, bool]:
    """Return whether a call is that of a layer that renews averages in training, and of one that draws then."""
    name = layer.qualified.removesuffix(".__call__")
    made = flow.maker(layer.operands[0]) if layer.operands else None
    rate = None if made is None else made.arguments.get("rate")
    draws = plays(name, "module.draws") and isinstance(rate, float | int) and rate > 0 and not layer.has("rng")
    return name != layer.qualified and plays(name, "module.averages"), name != layer.qualified and draws


def _lacks(run: Op, layer: Op, *, averages: bool) -> Obligation:
    name = layer.qualified.removesuffix(".__call__").rpartition(".")[2]
    what = "may change nothing" if averages else "has no key"
    return Obligation(
        run.span,
        message=f"`{name}` behaves as in training, but this run {what}",
        current="flax raises an exception where the layer runs",
        expected="the collection of its averages is mutable" if averages else "the layer is given a key to draw with",
        steps=(Step(layer.span, f"`{name}` {'renews its averages' if averages else 'draws'} here"),),
        suggestion='give `mutable=["batch_stats"]`, and keep the second result' if averages else "give `rngs`",
        raises=Raises.TRACING,
    )
