"""The rule `stale-value`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow, versions
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict
from jaxaudit.rules.flow._shared.losses import Loss, find_loss, is_sure
from jaxaudit.rules.flow._shared.old_versions import left_behind
from jaxaudit.rules.flow._shared.out_of_step import out_of_step
from jaxaudit.rules.flow._shared.phrases import called, proved
from jaxaudit.rules.flow._shared.restored_parts import average_left_out, put_back


class StaleValue(Rule):
    """An updated value is made and never read, while the old one goes on.

    ## What it does

    Finds every variable that nothing reads and that holds a newer version of another one: the result of
    `x.at[i].set(v)`, `_replace`, `apply_updates`, the state that an optimizer's `update` gives, or what a function
    hands back in the place of its own parameter. If the old version is read afterwards, or in the next turn of the
    loop, the update is lost. So is an unread result of a step that depends on a part of the loop's state, has its
    shape, and is not handed on while that part goes into the next turn unchanged. And so is a newer version of a field
    that a copy of its record puts back as it was. A loop may also start with a state and what is computed from it, and
    go on with the new state and what was computed from the old one; a function may move two running averages on and
    give back only one of them.

    ## Why is this bad?

    The program runs and gives numbers: the hidden state never moves, the optimizer stays at its first step, the
    counter stands still.

    ## Example

    ```python
    for token in tokens:
        new_h, logits = step(params, h, token)
    ```

    ## Use instead

    ```python
    for token in tokens:
        h, logits = step(params, h, token)
    ```

    ## When it cannot tell

    A function may be called for one of its results alone. Then it is a warning, unless each turn of a loop depends on
    the one before. Names that begin with an underscore say that the value is not wanted; only the state of an
    optimizer that needs one is missed all the same.
    """

    name = "stale-value"
    family = "flow"
    summary = "A newer version of a value is made and never read, while the old one is used on."
    needs = (Shapes,)

    valid = (
        Example(
            "def step(h, x):\n    h = h + x\n    return h, h * 2\n\ndef run(h, xs):\n    for x in xs:\n"
            "        h, y = step(h, x)\n    return h\n",
            "fed back",
        ),
        Example(
            "def step(h, x):\n    h = h + x\n    return h, h * 2\n\ndef score(h, xs):\n    total = 0.0\n"
            "    for x in xs:\n        _, y = step(h, x)\n        total = total + y\n    return total\n",
            "not wanted",
        ),
        Example("def f(x, v):\n    y = x.at[0].set(v)\n    return x, y\n", "both versions are used"),
    )
    invalid = (
        Example(
            "from typing import NamedTuple\n\nclass State(NamedTuple):\n    table: object\n    count: object\n\n"
            "def add(state: State, i, x):\n    table = state.table.at[i].set(x)\n"
            "    state = state._replace(table=state.table, count=state.count + 1)  #!\n    return state, table.sum()\n",
            "put back as it was",
        ),
        Example(
            "import jax.numpy as jnp\n\ndef step(w, h, x):\n    h = jnp.tanh(h @ w + x)\n    return h, h @ w\n\n"
            "def run(w, h, x):\n    for _ in range(4):\n        new_h, x = step(w, h, x)  #!\n    return x\n",
            "never fed back",
        ),
        Example("def f(x, v):\n    y = x.at[0].set(v)  #!\n    return x\n", "the old one is returned"),
        Example(
            "import jax\n\ndef f(ema, params):\n"
            "    new = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, params)  #!\n"
            "    return ema, params\n",
            "an average that never moves",
        ),
        Example(
            "import optax\n\ndef train(params, batches, grad):\n    tx = optax.adam(1e-3)\n"
            "    state = tx.init(params)\n    for batch in batches:\n"
            "        updates, _ = tx.update(grad(params, batch), state)  #!\n"
            "        params = optax.apply_updates(params, updates)\n    return params\n",
            "an optimizer that never moves on",
        ),
        Example(
            "import optax\n\ntx = optax.adam(1e-3)\n\ndef update(params, state, grads):\n"
            "    updates, new_state = tx.update(grads, state)  #!\n"
            "    return optax.apply_updates(params, updates), state\n",
            "the optimizer's state",
        ),
        Example(
            "import jax\nimport jax.numpy as jnp\n\ndef env(state, action):\n    state = 0.9 * state + action\n"
            "    return state, jnp.tanh(state), -state.sum()\n\ndef run(w):\n    def body(carry, _):\n"
            "        state, seen = carry\n        state, obs, reward = env(state, w @ seen)  #!\n"
            "        return (state, seen), reward\n"
            "    return jax.lax.scan(body, (jnp.ones(3), jnp.ones(3)), None, length=5)\n\nrun(jnp.eye(3))\n",
            "the observation of the first step for ever",
        ),
        Example(
            "def f(buffer, obs, reward):\n    data = {'obs': obs, 'rewards': buffer['rewards']}\n"
            "    rewards = buffer['rewards'].at[0].set(reward)  #!\n    return data\n",
            "the old entry is in what is returned",
        ),
        Example(
            "def moments(mean, square, g):\n    mean = 0.9 * mean + 0.1 * g\n    newer = 0.99 * square + 0.01 * g**2\n"
            "    return mean / newer, mean, square  #!\n\ndef step(mean, square, g):\n"
            "    return moments(mean, square, g)\n",
            "one of two averages stays",
        ),
        Example(
            "import jax\nimport jax.numpy as jnp\n\ndef look(s):\n    return jnp.tanh(s)\n\ndef step(s, action):\n"
            "    new = 0.9 * s + action\n    return new, look(s)  #!\n\ndef run(s, w):\n    def body(carry, _):\n"
            "        s, seen = carry\n        s, seen = step(s, w @ seen)\n        return (s, seen), seen\n"
            "    return jax.lax.scan(body, (s, look(s)), None, length=9)\n",
            "seen one step late",
        ),
        Example(
            "def step(h, x):\n    h = h + x\n    return h, h * 2\n\ndef f(h, x):\n    new_h, y = step(h, x)  #?\n"
            "    return y + h\n",
            "called for its other result",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every unread newer version, and every loop that carries a newer version on."""
        flow, shapes = facts.flow, facts.get(Shapes)
        yield from (one for op in program.named("py.unread", *sorted(LOOPS)) for one in _judge(op, flow, shapes))
        yield from put_back(self.name, program, flow)
        yield from average_left_out(self.name, program, flow)
        yield from out_of_step(self.name, program, flow)


def _judge(op: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    if op.name == "py.unread" and op.kind == "variable":
        loss = find_loss(op, flow)
        if loss is not None:
            yield _told(loss, flow)
        else:
            yield from left_behind(StaleValue.name, op, flow, shapes)
    elif op.name in LOOPS and op.regions:
        yield from _carried_on(op, flow)


def _told(loss: Loss, flow: Flow) -> Obligation:
    name, maker = loss.note.label, called(loss.made)
    when = "in the next turn" if loss.next_turn else f"on line {loss.read.line}"
    sure = is_sure(loss, flow)
    return Obligation(
        StaleValue.name,
        loss.note.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{_subject(name)} newer `{loss.variable}`, is never read; the old one is used {when}",
        current=f"`{maker}` gives `{name}`, nobody reads it, and `{loss.variable}` stays as it was",
        expected=f"whoever reads `{loss.variable}` from here on reads the newer version",
        steps=(
            Step(loss.made.span, f"`{maker}` makes a newer version of `{loss.variable}`"),
            Step(loss.read, f"`{loss.variable}` is read here, unchanged"),
        ),
        suggestion=f"bind the result to `{loss.variable}`, or name it `_` if it is not wanted",
    )


def _subject(name: str) -> str:
    return "the result here, the" if name == "_" else f"`{name}`, the"


def _carried_on(op: Op, flow: Flow) -> Iterator[Obligation]:
    region = op.regions[-1]
    for param, _, at in Loop(op).carried_in(region):
        left = region.results[at] if at < len(region.results) else None
        found = None if left is None else versions(flow, left)
        if found is not None and param in found.old and param.name:
            reason = f"the newer `{param.name}` that `{called(found.op)}` makes goes into the next turn"
            yield proved(StaleValue.name, found.op.span, reason)
