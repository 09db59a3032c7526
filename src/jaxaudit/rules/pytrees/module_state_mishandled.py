"""The rule `module-state-mishandled`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.trees import Tree
from jaxaudit.libraries.lookup import playing, takes_function
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.pytrees._shared.crossing import crossing
from jaxaudit.rules.pytrees._shared.evaluations import Evaluation, in_training_mode
from jaxaudit.rules.pytrees._shared.module_state import handed_on, lost_in, new_state, static_part, touches_leaves
from jaxaudit.rules.successions import Lost, lost_successors, run_of
from jaxaudit.rules.trees import nodes

_RUNS = playing("module.apply")


_EVALUATED = """
from flax import nnx
import optax

class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x, train=True):
        return self.norm(x, use_running_average=not train)

@nnx.jit
def step(model, optimizer, x):
    optimizer.update(model, nnx.grad(lambda model: model(x).sum())(model))

def main(x):
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for _ in range(9):
        step(model, optimizer, x)
    print({run})
"""


_FITTED = """
import haiku as hk
import optax

def network(x):
    return hk.Linear(1)({layer})

class Fit:
    def __init__(self, key, x):
        self.model = hk.without_apply_rng(hk.transform_with_state(network))
        self.params, self.state = self.model.init(key, x)
        self.gradient = jax.jit(jax.grad(self.loss, has_aux=True))

    def loss(self, params, state, x):
        y, new = self.model.apply(params, state, x)
        return jnp.mean(y ** 2), new

    def step(self, x):
        grads, {new} = self.gradient(self.params, self.state, x){mark}
        self.params = jax.tree.map(lambda p, g: p - 0.1 * g, self.params, grads)

def main(key, batches):
    fit = Fit(key, batches[0])
    for x in batches:
        fit.step(x)
    return fit.params
"""
_NORMALISED = "hk.BatchNorm(True, True, 0.9)(x, True)"


class ModuleStateMishandled(Rule):
    """A module is given to a transformation that cannot take it, or its new state is dropped.

    ## What it does
    Finds modules whose leaves include functions (an `equinox.nn.MLP` keeps its activation as one) where they cross
    into plain `jax.jit` or `jax.grad`, or into the carry of a loop. Finds calls of `apply(..., mutable=...)` whose
    updated state is never read, and runs of a model without a gradient in which batch norm behaves as in training.

    ## Why is this bad?
    Plain transformations accept arrays only, and a function as a leaf raises `TypeError`. State that is dropped is
    silent: running averages of batch norm never move.

    ## Example
        @jax.jit
        def step(model, x): ...

    ## Use instead
        @eqx.filter_jit
        def step(model, x): ...

    ## When it cannot tell
    Dropping the state may be meant in an evaluation, so that is a warning.
    """

    summary = "A module crosses a plain transformation, or its updated state is dropped."
    needs = (Uses, Versions)

    valid = (
        Example(_FITTED.format(layer=_NORMALISED, new="self.state", mark=""), "an attribute that is renewed"),
        Example(_FITTED.format(layer="x", new="new", mark=""), "no layer has any state"),
        Example(
            "import equinox as eqx\nimport jax\n\ndef f(key, x):\n    model = eqx.nn.MLP(2, 2, 8, 1, key=key)\n"
            "    return eqx.filter_jit(lambda m, x: m(x))(model, x)\n",
            "filtered",
        ),
        Example(
            "import equinox as eqx\nimport jax\n\ndef f(key, x):\n    model = eqx.nn.Linear(2, 2, key=key)\n"
            "    return jax.jit(lambda m, x: m(x))(model, x)\n",
            "arrays only",
        ),
        Example(
            """
@jax.tree_util.register_pytree_node_class
class Scaled:
    def __init__(self, scale, act):
        self.scale, self.act = scale, act

    def tree_flatten(self):
        return (self.scale,), self.act

    @classmethod
    def tree_unflatten(cls, act, leaves):
        return cls(leaves[0], act)

def f(scale, x):
    return jax.jit(lambda m, x: m.act(m.scale * x))(Scaled(scale, jax.nn.relu), x)
""",
            "a class that takes itself apart and keeps the function out of its leaves",
        ),
        Example(_EVALUATED.format(run="model(x, train=False).argmax(-1)"), "evaluated in its own mode"),
    )
    invalid = (
        Example(
            "import equinox as eqx\nimport jax\n\ndef f(key, x):\n    model = eqx.nn.MLP(2, 2, 8, 1, key=key)\n"
            "    return jax.jit(lambda m, x: m(x))(model, x)  #!\n",
            "plain jit",
        ),
        Example(
            "import equinox as eqx\nimport jax\n\ndef f(key, xs):\n    model = eqx.nn.MLP(2, 2, 8, 1, key=key)\n"
            "    return jax.lax.scan(lambda m, x: (m, m(x)), model, xs)  #!\n",
            "in a carry",
        ),
        Example(
            "import equinox as eqx\nimport jax\n\nclass Net(eqx.Module):\n    w: jax.Array\n    act: object\n\n"
            "def f(x, w):\n    return jax.jit(lambda m, x: m.act(m.w @ x))(Net(w, jax.nn.relu), x)  #!\n",
            "a function in a field",
        ),
        Example(
            "import flax.linen as nn\n\nclass Net(nn.Module):\n    @nn.compact\n    def __call__(self, x):\n"
            "        return nn.BatchNorm(use_running_average=False)(x)\n\ndef f(variables, x):\n"
            "    y, state = Net().apply(variables, x, mutable=['batch_stats'])  #?\n    return y\n",
            "state dropped",
        ),
        Example(
            "import flax.linen as nn\nimport jax\n\nclass Net(nn.Module):\n    @nn.compact\n"
            "    def __call__(self, x):\n"
            "        return nn.BatchNorm(use_running_average=False)(x)\n\ndef step(params, stats, x):\n"
            "    def loss(params):\n        variables = {'params': params, 'batch_stats': stats}\n"
            "        y, state = Net().apply(variables, x, mutable=['batch_stats'])  #!\n        return y.sum()\n"
            "    return jax.grad(loss)(params), stats\n",
            "state of training dropped",
        ),
        Example(
            "import flax.linen as nn\n\nclass Net(nn.Module):\n    def setup(self):\n"
            "        self.layers = [nn.Dense(8)]\n        self.layers.append(nn.Dense(1))  #!\n\n"
            "    def __call__(self, x):\n        return self.layers[1](self.layers[0](x))\n\n"
            "def f(variables, x):\n    return Net().apply(variables, x)\n",
            "a list that is frozen",
        ),
        Example(
            """
from typing import Any

import flax.linen as nn
import optax
from flax.training import train_state

class State(train_state.TrainState):
    stats: Any

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False)(x)

@jax.jit
def step(state, x):
    def loss(params):
        y, new = state.apply_fn({"params": params, "batch_stats": state.stats}, x, mutable=["batch_stats"])
        return y.sum(), new

    grads, new = jax.grad(loss, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads)  #!

def main(key, x):
    net = Net()
    variables = net.init(key, x)
    state = State.create(
        apply_fn=net.apply, params=variables["params"], stats=variables["batch_stats"], tx=optax.sgd(0.1)
    )
    for _ in range(9):
        state = step(state, x)
    return state
""",
            "a train state that goes on without the new averages",
        ),
        Example(_EVALUATED.format(run="model(x).argmax(-1))  #!\n    print("), "evaluated in the mode of training"),
        Example(_FITTED.format(layer=_NORMALISED, new="new", mark="  #!"), "an attribute that stays what it was"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every module that crosses a border, and every new state that nobody reads."""
        flow = facts.flow
        concerned = (*program.having(Op.border), *program.named("grad", "py.unread"), *program.calling(*_RUNS))
        lost = lost_successors(facts)
        yield from _frozen(program, flow)
        yield from map(_in_training, in_training_mode(facts))
        yield from (one for op in dict.fromkeys(concerned) for one in _judge(op, flow, lost.get(op)))


def _judge(op: Op, flow: Flow, lost: Lost | None) -> Iterator[Obligation]:
    border = op.border
    if (fresh := new_state(op, flow)) is not None:
        yield from _kept(op, fresh, flow)
    elif op.name == "grad" and static_part(op, flow):
        yield _static(op)
    elif border is not None and op.qualified.endswith(".init"):
        if touches_leaves(op, flow) and border.trees:
            found = (node for node in nodes(border.trees[0]) if _is_module(node) and _function(node))
            yield from (_unfiltered(op, node) for node in found)
    elif border is not None:
        for name, tree in crossing(op):
            yield from (_crossing(op, name, node, flow) for node in nodes(tree) if _is_module(node))
    elif op.name == "py.unread" and not is_unwanted(op.label):
        state = _updated_state(op, flow)
        if state is not None:
            yield _dropped(op, state, sure=_is_trained(op, flow) or (lost is not None and lost.handed_on))
        elif lost is not None and (run := run_of(lost, flow)) is not None and _goes_on(run, lost, flow):
            yield _dropped(op, run, sure=True)


def _in_training(one: Evaluation) -> Obligation:
    return Obligation(
        one.run.span,
        severity=Severity.ERROR if one.is_sure else Severity.WARNING,
        message="this run is no part of training, but its layers take their averages from this batch, as in training",
        current="what it gives for an example depends on those beside it, and running averages may change",
        expected="a run without a gradient uses the averages that training has gathered",
        steps=(
            Step(one.layer.span, "this layer is in the mode of training"),
            Step(one.trained.span, "as it is for this gradient"),
        ),
        suggestion="run it in the mode of evaluation: `train=False`, `use_running_average=True`",
    )


def _frozen(program: Program, flow: Flow) -> Iterator[Obligation]:
    """Judge lists and dicts that are attributes of a module of flax, which makes them tuples and frozen dicts."""
    stores = (op for op in program.named("py.store_attr") if "flax.linen.Module" in (op.bases or ()))
    held = {op.stored_object: op for op in stores if op.stored_object is not None}
    for op in program.named("py.append", "py.set_item"):
        store = None if op.object_id is None else held.get(op.object_id)
        if store is not None and flow.places.comes_before(store, op):
            yield Obligation(
                op.span,
                message=f"`{store.label}` is changed after it was set: flax has frozen it by then",
                current="a list that is set in `setup` becomes a tuple, and a dict a `FrozenDict`: this raises",
                expected="the list or dict is complete when it becomes an attribute",
                steps=(Step(store.span, f"`{store.label}` becomes an attribute of the module here"),),
                suggestion=f"build it in a variable, and set `{store.label}` at the end",
                raises=Raises.TRACING,
            )


def _is_module(node: Tree) -> bool:
    return node.name.startswith("equinox.nn.") or (node.kind == "object" and node.registered == "yes")


def _function(node: Tree) -> str:
    """Return a name for the function among the leaves of a module; empty where none is known."""
    field = next((key for key, child in zip(node.keys, node.children, strict=False) if child.kind == "callable"), "")
    return f"its field `{field}`" if field else "its activation" if takes_function(node.name) else ""


def _is_told(node: Tree, flow: Flow) -> bool:
    """Whether it is known of all leaves of a module that they are no functions."""
    if node.children:
        return all(_is_told(child, flow) for child in node.children)
    plain = node.kind in ("number", "none", "text") or node.name.startswith("equinox.nn.")
    return plain or (node.value is not None and is_array(flow, node.value, {}))


def _crossing(op: Op, name: str, node: Tree, flow: Flow) -> Obligation:
    held = _function(node)
    if not held and _is_told(node, flow):
        return proved(op.span, f"no leaf of {name} is a function")
    if not held:
        return unknown(op.span, f"whether a leaf of {name} is a function is not known")
    plain = op.spelling or op.name
    return Obligation(
        op.span,
        message=f"{name} has a function among its leaves, which `{plain}` cannot take",
        current=f"{held} is a function and a leaf of `{node.name}`; `{plain}` raises TypeError",
        raises=Raises.TRACING,
        expected="only arrays cross, and the rest is static",
        steps=(Step(op.span, f"the module crosses into `{plain}` here"),),
        suggestion=f"use `equinox.filter_{plain.rpartition('.')[2]}`, or declare the field static"
        if op.spelling
        else "carry `equinox.partition(model, equinox.is_array)[0]`, and combine inside the loop",
    )


def _static(op: Op) -> Obligation:
    return Obligation(
        op.span,
        message="the gradient is taken of the part without arrays",
        current="`equinox.partition` gives the arrays first and the rest second: here the rest is differentiated",
        expected="the part with the arrays is differentiated, and combined with the rest inside",
        suggestion="exchange the two names that `equinox.partition` is unpacked into",
        raises=Raises.TRACING,
    )


def _unfiltered(op: Op, node: Tree) -> Obligation:
    return Obligation(
        op.span,
        message=f"the optimizer is started with a `{node.name}` that has a function among its leaves",
        current=f"{_function(node)} is a function, and an optimizer makes an array like each leaf: this raises",
        expected="the optimizer sees arrays alone",
        suggestion="start it with `equinox.filter(model, equinox.is_inexact_array)`",
        raises=Raises.TRACING,
    )


def _kept(op: Op, state: Value, flow: Flow) -> Iterator[Obligation]:
    """Judge a run in training: its new state must go somewhere."""
    if not _is_trained(op, flow):
        return
    lost = lost_in(flow, state)
    if lost is None:
        yield proved(op.span, "the new state of the module is handed on")
    elif lost.name == "grad":
        instead = handed_on(flow, op, lost)
        yield Obligation(
            (lost if instead is None or instead.name == "py.return" else instead).span,
            severity=Severity.WARNING if instead is None else Severity.ERROR,
            message="the updated state of the module comes out of the gradient, and nobody reads it",
            current="training computes new averages, and the next step starts from the old ones",
            expected="the updated state goes into the next step",
            steps=(
                Step(op.span, "the state is updated here"),
                Step(lost.span, "and comes out here"),
                *(() if instead is None else (Step(instead.span, "the old state goes on from here"),)),
            ),
            suggestion="keep the new state that the loss gives beside its value, and hand it on",
        )


def _updated_state(note: Op, flow: Flow) -> Op | None:
    """Return the run of a module whose new state is bound to a name that nothing reads."""
    value = note.values[0] if note.values and len(note.values) == 1 else None
    part = Part.of(flow.maker(value), value) if isinstance(value, Value) else None
    if part is None or part.at != 1:
        return None
    made = flow.maker(part.whole)
    return made if made is not None and made.qualified in _RUNS and made.arguments.get("mutable") else None


def _goes_on(run: Op, lost: Lost, flow: Flow) -> bool:
    """Whether training goes on with old state where the new one, of layers that keep averages, comes out of a call."""
    told = lost.made.name == "grad" and handed_on(flow, run, lost.made) is not None
    return not told and bool(lost.made.regions) and _is_trained(run, flow) and new_state(run, flow) is not None


def _is_trained(op: Op, flow: Flow) -> bool:
    """Whether a gradient is taken of what stands here: then the state is that of training."""
    around = flow.places.up(flow.places.region_of[op])
    return any(holder is not None and holder.name == "grad" for _, holder in around)


def _dropped(note: Op, made: Op, *, sure: bool) -> Obligation:
    name = note.label
    return Obligation(
        note.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{name}`, the updated state of the module, is never read",
        current="`apply` computes new state, and the next call starts from the old one",
        expected="the updated collections go into the next call, or `mutable` is not asked for",
        steps=(Step(made.span, "the state is updated here"),),
        suggestion=f"carry `{name}` on, or leave out `mutable=`",
    )
