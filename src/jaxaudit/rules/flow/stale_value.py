"""The rule `stale-value`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.versions import versions
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.rules.flow._shared.unread_versions import UnreadVersion, is_surely_missed, unread_versions
from jaxaudit.rules.phrases import proved


class StaleValue(Rule):
    """An updated value is made and never read, while the old one goes on.

    ## What it does

    Finds every variable that nothing reads and that holds a newer version of another one: the result of
    `x.at[i].set(v)`, `_replace`, `apply_updates`, the state that an optimizer's `update` gives, or what a function
    hands back in the place of its own parameter. If the old version is read afterwards, or in the next turn of the
    loop, the update is lost.

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
            "def f(buffer, obs, reward):\n    data = {'obs': obs, 'rewards': buffer['rewards']}\n"
            "    rewards = buffer['rewards'].at[0].set(reward)  #!\n    return data\n",
            "the old entry is in what is returned",
        ),
        Example(
            "def step(h, x):\n    h = h + x\n    return h, h * 2\n\ndef f(h, x):\n    new_h, y = step(h, x)  #?\n"
            "    return y + h\n",
            "called for its other result",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every newer version that nothing reads, and every loop that carries a newer version on."""
        yield from (_finding(one, facts.flow) for one in unread_versions(facts).values())
        yield from (one for op in program.named(*sorted(LOOPS)) for one in _carried_on(op, facts.flow))


def _carried_on(op: Op, flow: Flow) -> Iterator[Obligation]:
    loop = Loop.of(op)
    for param, following in loop.successors if loop is not None else ():
        found = versions(flow, following) if param.name else None
        if found is not None and param in found.old:
            reason = f"the newer `{param.name}` that `{called(found.op)}` makes goes into the next turn"
            yield proved(StaleValue.name, found.op.span, reason)


def _finding(unread: UnreadVersion, flow: Flow) -> Obligation:
    note, old, maker = unread.note, unread.old, called(unread.made)
    subject = "the result here, the" if note.label == "_" else f"`{note.label}`, the"
    when = "in the next turn" if old.next_turn else f"on line {old.read.line}"
    return Obligation(
        StaleValue.name,
        note.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if is_surely_missed(unread, flow) else Severity.WARNING,
        message=f"{subject} newer `{old.variable}`, is never read; the old one is used {when}",
        current=f"`{maker}` gives `{note.label}`, nobody reads it, and `{old.variable}` stays as it was",
        expected=f"whoever reads `{old.variable}` from here on reads the newer version",
        steps=(
            Step(unread.made.span, f"`{maker}` makes a newer version of `{old.variable}`"),
            Step(old.read, f"`{old.variable}` is read here, unchanged"),
        ),
        suggestion=f"bind the result to `{old.variable}`, or name it `_` if it is not wanted",
    )
