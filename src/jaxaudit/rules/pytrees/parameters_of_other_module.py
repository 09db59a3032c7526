"""The rule `parameters-of-other-module`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts, origin
from jaxaudit.analyses.lineage.skeletons import skeleton
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.optimizers import Network, network_of

_WHOLE = ((), ("['params']",))
"""The ways in the variables of a module to all of its parameters."""


class ParametersOfOtherModule(Rule):
    """A module is run with the parameters of another one.

    ## What it does
    Looks at every run of a module, `net.apply(variables, x)`, and at every `TrainState.create` with an `apply_fn`, and
    follows the parameters back to the `init` that made them. It must be that of the same class of module.

    ## Why is this bad?
    Where the names of the layers agree and the sizes happen to fit, the wrong network is evaluated and trained; where
    they do not, flax raises much later, in whoever calls the state.

    ## Example
        actor_params = actor.init(k1, x)
        critic_params = critic.init(k2, x)
        state = TrainState.create(apply_fn=actor.apply, params=critic_params, tx=tx)

    ## Use instead
        state = TrainState.create(apply_fn=critic.apply, params=critic_params, tx=tx)

    ## When it cannot tell
    Parameters whose `init` is not in sight are left open. A part of the parameters, `params["decoder"]`, may belong to
    a module of another class. Where the module that is run is never given parameters of its own, it is a warning: its
    class may be another form of the one that made them. Functions that haiku transforms may share their modules: there
    it is left open.
    """

    summary = "A module is run, or kept in a state, with the parameters of another module."
    valid = """
    ## each with its own
    import flax.linen as nn

    class Actor(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(x)

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(x)

    def run(k1, k2, x):
        actor, critic = Actor(), Critic()
        first, second = actor.init(k1, x), critic.init(k2, x)
        return actor.apply(first, x), critic.apply({"params": second["params"]}, x)
    """
    invalid = """
    ## kept in one state
    import flax.linen as nn
    from flax.training.train_state import TrainState

    class Actor(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(x)

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(x)

    def make(k1, k2, x, tx):
        actor, critic = Actor(), Critic()
        first = TrainState.create(apply_fn=actor.apply, params=actor.init(k1, x)["params"], tx=tx)
        second = TrainState.create(apply_fn=actor.apply, params=critic.init(k2, x)["params"], tx=tx)  #!
        return first, second

    ## run with them
    import flax.linen as nn

    class Actor(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(4)(x)

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(x)

    def run(k1, k2, x):
        first, second = Actor().init(k1, x), Critic().init(k2, x)
        return Actor().apply(second, x), Critic().apply({"params": second["params"]}, x), first  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every module that is run, or kept with its parameters."""
        flow = facts.flow
        own = {network_of(flow, op) for op in program.calls() if plays(op.qualified, "module.init")}
        for op in program.calls():
            network = _run_by(flow, op)
            if network is not None:
                yield _judge(op, network, own, flow)
            elif plays(op.qualified, "module.apply"):
                yield unknown(op.span, "which module is run is not known")


def _run_by(flow: Flow, op: Op) -> Network | None:
    """Return the module that an op runs, or keeps the `apply` of; None for what does neither."""
    if plays(op.qualified, "module.apply"):
        return network_of(flow, op)
    kept = op.value("apply_fn") if plays(op.qualified, "train_state.create") else None
    method = None if kept is None else origin(flow, kept, {}).op
    holder = (
        flow.maker(method.operands[0]) if method is not None and method.label == "apply" and method.operands else None
    )
    return (holder.kind, None) if holder is not None and holder.name == "py.container" else None


def _judge(op: Op, network: Network, own: set[Network | None], flow: Flow) -> Obligation:
    given = op.argument("params", "variables")
    value = given.get("params") if isinstance(given, Mapping) else given
    if not isinstance(value, Value):
        return unknown(op.span, "what the parameters are is not known")
    trees = [skeleton(flow, value, context) for context in contexts(flow, op)]
    made = [(one.op, network_of(flow, one.op)) for one in trees if one.op is not None and one.way in _WHOLE]
    for init, other in made:
        if init is not None and other is not None and other != network:
            if network[1] is not None and network not in own:
                # Functions that haiku transforms may build the same modules, and find their parameters by name.
                return unknown(op.span, f"whether `{network[0]}` reads the parameters of `{other[0]}` is not known")
            return _finding(op, network, init, other, sure=network in own)
    if made and len(made) == len(trees) and all(other is not None for _, other in made):
        return proved(op.span, f"the parameters are those of the `{network[0]}` it runs")
    return unknown(op.span, "where the parameters were made is not known")


def _finding(op: Op, network: Network, init: Op, other: Network, *, sure: bool) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{network[0]}` is given the parameters of `{other[0]}`",
        current=f"what `{other[0]}.init` made is read as the parameters of `{network[0]}`",
        expected="the parameters and the module that reads them belong together",
        steps=(Step(init.span, f"the parameters of `{other[0]}` are made here"),),
        suggestion=f"give it the parameters of `{network[0]}`, or run `{other[0]}`",
    )
