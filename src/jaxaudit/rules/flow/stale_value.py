"""The rule `stale-value`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import depends, whole_of
from jaxaudit.analyses.succession import GoesOn, Way, goes_on
from jaxaudit.analyses.uses import EFFECTS, Use, Uses
from jaxaudit.analyses.versions import Ground, Version, Versions, is_cell
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Like, Parts
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, named, proved, unknown
from jaxaudit.rules.flow._shared.handed_back import handed_back
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.rules.flow._shared.second_kick import second_kicks
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import Lost, is_state_of_module, is_surely_missed, lost_successors, untaken_successors
from jaxaudit.spans import Span


class StaleValue(Rule):
    """An updated value is made and never read, while the old one goes on.

    ## What it does
    Lists every newer version of a value: the result of `x.at[i].set(v)`, `_replace`, `apply_updates`, the state that
    an optimizer's `update` or an environment's `step` gives, the record that a function gives for one of the same
    class, or what it hands back in the place of its own parameter. If nothing reads it, and the old version is read
    afterwards, returned, carried or stepped again, the update is lost. So it is where a step in two halves adds the
    same amount before and after what that is computed from moves, and where a function gives back the old value beside
    what it made of the newer one.

    ## Why is this bad?
    The program runs and gives numbers: the hidden state never moves, the optimizer stays at its first step, the
    counter stands still.

    ## Example
        for token in tokens:
            new_h, logits = step(params, h, token)

    ## Use instead
        for token in tokens:
            h, logits = step(params, h, token)

    ## When it cannot tell
    A function may be called for one of its results alone. Then it is left open, unless each turn of a loop depends on
    the one before. Where a newer value is looked at and the old one is handed on, it is a warning for a step of a
    library that gives other results beside its state; elsewhere it is left open. A name that begins with an underscore
    says that the value is not wanted: then it is left open, unless the old state of an optimizer or environment is
    handed on, or each turn of a loop starts from the first state though it goes on with what else the step gave. It
    is a warning where another variable that the call was given takes its next value, and the old state is handed on.
    """

    summary = "A newer version of a value is made and never read, while the old one is used on."
    needs = (Uses, Versions)

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
        Example(
            "import optax\n\ndef train(params, x):\n    tx = optax.sgd(0.1)\n"
            "    state = tx.init(params)\n    for _ in range(9):\n"
            "        grads = jax.grad(lambda p: jnp.sum((p - x) ** 2))(params)\n"
            "        updates, _ = tx.update(grads, state)\n"
            "        params = optax.apply_updates(params, updates)\n    return params\n",
            "an optimizer that keeps nothing of a step",
        ),
        Example(
            "def step(h, x):\n    h = h + x\n    return h, h * 2\n\ndef f(h, x):\n    new_h, y = step(h, x)\n"
            "    return y + h\n",
            "called for its other result",
        ),
        Example(
            """
            def accept(f, x, key):
                new_x = x + jax.random.normal(key, x.shape)
                better = f(new_x) < f(x)
                return jnp.where(better, new_x, x), better

            def unless_done(f, state):
                new_state = f(state)
                if new_state.done:
                    return state, new_state.reward
                return new_state, new_state.reward

            def both(f, state):
                new_state = f(state)
                return state, new_state
            """,
            "either of them, and both",
        ),
        Example(
            "def run(kernel, state, keys):\n    def body(state, key):\n"
            "        new_state, info = kernel(key, state)\n        return state, (new_state, info)\n"
            "    return jax.lax.scan(body, state, keys)\n",
            "the newer one is given out, and the old one goes into the next turn",
        ),
    )
    invalid = (
        Example(
            "def step(w, h, x):\n    h = jnp.tanh(h @ w + x)\n    return h, h @ w\n\n"
            "def run(w, h, x):\n    for _ in range(4):\n        new_h, x = step(w, h, x)  #!\n    return x\n",
            "never fed back",
        ),
        Example("def f(x, v):\n    y = x.at[0].set(v)  #!\n    return x\n", "the old one is returned"),
        Example(
            "def f(ema, params):\n"
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
            "import optax\n\ndef train(params, x):\n    tx = optax.sgd(0.1, momentum=0.9)\n"
            "    state = tx.init(params)\n\n    @jax.jit\n    def step(params):\n"
            "        grads = jax.grad(lambda p: jnp.sum((p - x) ** 2))(params)\n"
            "        updates, _ = tx.update(grads, state)  #!\n"
            "        return optax.apply_updates(params, updates)\n\n"
            "    for _ in range(9):\n        params = step(params)\n    return params\n",
            "a step that sees the first state of the optimizer in every turn of its caller",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Cache(NamedTuple):\n    keys: jax.Array\n    values: jax.Array\n\n"
            "def attend(x, cache, at):\n    keys = cache.keys.at[at].set(x)\n"
            "    values = cache.values.at[at].set(-x)\n    return x @ keys.T @ values, Cache(keys, values)\n\n"
            "def decode(layers, caches, x, at):\n    kept = []\n    for w, cache in zip(layers, caches):\n"
            "        x, updated = attend(x @ w, cache, at)  #!\n        kept.append(cache)\n    return x, kept\n",
            "the old ones are collected",
        ),
        Example(
            "import optax\n\ntx = optax.adam(1e-3)\n\ndef update(params, state, grads):\n"
            "    updates, new_state = tx.update(grads, state)  #!\n"
            "    return optax.apply_updates(params, updates), state\n",
            "the optimizer's state",
        ),
        Example(
            "import equinox as eqx\n\nclass Model(eqx.Module):\n    w: jax.Array\n    b: jax.Array\n\n"
            "def update(model: Model, updates):\n    _ = eqx.apply_updates(model, updates)  #!\n    return model\n",
            "a model, however it is called",
        ),
        Example(
            "def f(buffer, obs, reward):\n    data = {'obs': obs, 'rewards': buffer['rewards']}\n"
            "    rewards = buffer['rewards'].at[0].set(reward)  #!\n    return data\n",
            "the old entry is in what is returned",
        ),
        Example(
            "import optax\n\ntx = optax.adam(1e-3)\n\ndef update(params, state, grads):\n"
            "    updates, after = tx.update(grads, state)  #?\n    print(after)\n"
            "    return optax.apply_updates(params, updates), state\n",
            "the newer one is only looked at",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Cache(NamedTuple):\n    keys: jax.Array\n    values: jax.Array\n\n"
            "def attend(x, cache: Cache):\n    cache = Cache(cache.keys + x, cache.values - x)\n"
            "    return x @ cache.keys, cache\n\ndef layer(x, cache: Cache):\n"
            "    x, _unused = attend(x, cache)  #?\n    return jnp.tanh(x), cache\n",
            "one part of a step is taken, and the other left as it was",
        ),
        Example(
            "def run(f, init, xs, rest):\n    carry, ys = jax.lax.scan(f, init, xs)\n    if rest is not None:\n"
            "        carry, more = f(init, rest)  #!\n        ys = jnp.concatenate([ys, more])\n    return carry, ys\n",
            "the last step starts over",
        ),
        Example(
            """
            def normalised(statistics, x, mean, scale):
                if mean is None:
                    new_mean, y = None, x
                else:
                    new_mean = statistics.update(mean, x)  #?
                    y = x - new_mean
                new_scale = statistics.update(scale, y)
                return y / new_scale, mean, new_scale
            """,
            "the old value beside what was made of the newer one",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every successor of a value."""
        lost, flow = lost_successors(facts), facts.flow
        found = (*lost.values(), *untaken_successors(facts))
        for one in found:
            yield _finding(one, None if is_state_of_module(one, flow) else is_surely_missed(one, facts))
        yield from (_started_over(*one) for one in _overwritten(program, facts))
        yield from second_kicks(program, facts)
        yield from handed_back(program, facts)
        told = {one.made.span for one in found}
        noted = {value for note in program.named("py.unread") for value in note.values or ()}
        for value, version in facts.get(Versions).all():
            one = _judge(value, version, facts) if value not in noted else None
            # What else a call gives is not doubted once more where one is lost; that it is used stays true.
            if one is not None and (one.verdict is Verdict.PROVED or one.span not in told):
                yield one


def _judge(value: Value, version: Version, facts: Facts) -> Obligation:
    """Judge a successor that something may read: it is what is used from then on, or both it and the old one are."""
    made = facts.get(Versions).maker(value)
    old = next((one for one in version.in_order if one.name), None)
    name = named(value if old is None else old, "the value")
    becomes = facts.get(Uses).becomes(value)
    if not becomes & EFFECTS:
        return unknown(made.span, f"no effect of the newer version of {name} that `{called(made)}` makes is known")
    found = [one for before in version.old for one in goes_on(facts.flow, before, made)]
    instead = _handed_instead(facts.get(Uses).of(value), found)
    if instead is not None and version.plain and (_renewed(made) or is_cell(made)):
        return _left_behind(made, name, instead)
    if instead is not None:
        return unknown(made.span, f"both {name} and its newer version are used on: which of them is meant is not known")
    # Where names alone tell what succeeds what, a result that nobody reads may succeed something too.
    dropped = version.ground is Ground.VARIABLE and not all(map(facts.flow.is_read, made.results))
    if dropped or len(_succeeded(made, facts.get(Versions))) < len(_renewed(made)):
        reason = f"`{called(made)}` gives more than the newer version of {name}: what becomes of it is not known"
        return unknown(made.span, reason)
    return proved(made.span, f"the newer version of {name} that `{called(made)}` makes is used")


def _handed_instead(newer: Use, old: Sequence[GoesOn]) -> Span | None:
    """Return where an old value is handed on in the place of a newer one, which is only looked at."""
    for one in old:
        if one.way is Way.CARRIED and not newer & Use.CARRIED:
            return one.at
        if one.way is Way.RETURNED and not newer & (Use.RETURNED | Use.CARRIED | Use.STORED | Use.HANDED):
            return one.at
    return None


def _renewed(made: Op) -> list[Like]:
    """Return what a function of a library gives newer versions of, beside other results: those are to go on with."""
    row = lookup(made.qualified)
    items = row.result.items if row is not None and isinstance(row.result, Parts) else ()
    return [one for one in items if isinstance(one, Like) and one.newer]


def _succeeded(made: Op, versions: Versions) -> set[frozenset[Value]]:
    """Return what an op is known to make newer versions of."""
    newer = (one for old in made.operands for one in versions.newer(old) if versions.maker(one) is made)
    return {version.old for one in newer if (version := versions.of(one)) is not None}


def _left_behind(made: Op, name: str, instead: Span) -> Obligation:
    return Obligation(
        made.span,
        # Nobody runs a recurrent network to stay where he is; what else a step gives may be all that is wanted.
        severity=Severity.ERROR if is_cell(made) else Severity.WARNING,
        message=f"the newer {name} is only looked at, and the old one is handed on, on line {instead.line}",
        current=f"`{called(made)}` makes a newer {name}, and whoever comes next gets the one before it",
        expected=f"the newer {name} is handed on",
        steps=(Step(made.span, f"the newer {name} is made here"), Step(instead, f"the old {name} is handed on here")),
        suggestion=f"hand the newer {name} on",
    )


def _overwritten(program: Program, facts: Facts) -> Iterator[tuple[Op, Value, Op]]:
    """Return where a variable that holds a successor is bound to what is made of the value before, on some path.

    What else the step gave is used: it was taken, and the next one starts from where it started.
    """
    versions, uses, flow = facts.get(Versions), facts.get(Uses), facts.flow
    for note in program.named("py.overwritten"):
        lost, values = (note.had or ())[:1], (note.values or ())[:1]
        version = versions.of(lost[0]) if lost and values and uses.is_read(lost[0]) else None
        whole = flow.maker(whole_of(flow, values[0])) if version is not None else None
        if version is None or whole is None or depends(flow, values[0], lost):
            continue
        step, old = versions.maker(lost[0]), [one for one in version.in_order if one in whole.operands]
        beside = any(uses.is_read(one) for one in step.results if versions.of(one) is None)
        if old and beside and version.ground is not Ground.VARIABLE:
            yield note, old[0], step


def _started_over(note: Op, old: Value, step: Op) -> Obligation:
    before = named(old, "the value before")
    return Obligation(
        note.span,
        message=f"`{note.label}` starts again from {before}, and what `{called(step)}` made of it is lost here",
        current=f"`{called(step)}` gave a newer {before} in `{note.label}`, which is bound again before it is read",
        expected=f"this step goes on from `{note.label}`",
        steps=(Step(step.span, f"the newer {before} is made here"),),
        suggestion=f"give it `{note.label}` in the place of {before}",
    )


_UNWANTED = ", or name it `_` if it is not wanted"


def _finding(lost: Lost, surely: bool | None) -> Obligation:
    maker, variable = called(lost.made), lost.variable
    subject = "the result here, the" if lost.label == "_" else f"`{lost.label}`, the"
    subject = "this, the" if lost.label == variable else subject
    if surely is None:
        reason = f"{subject} newer `{variable}`, is not read, and the old one is used on: it may not be wanted"
        return unknown(lost.span, reason)
    read = next((one.at for one in lost.ways if one.way in (Way.READ, Way.STORED, Way.RETURNED)), lost.ways[0].at)
    when = "in the next turn" if lost.next_turn else f"on line {read.line}"
    return Obligation(
        lost.span,
        severity=Severity.ERROR if surely else Severity.WARNING,
        message=f"{subject} newer `{variable}`, is never read; the old one is used {when}",
        current=f"`{maker}` gives `{lost.label}`, nobody reads it, and `{variable}` stays as it was",
        expected=f"whoever reads `{variable}` from here on reads the newer version",
        steps=(
            Step(lost.made.span, f"`{maker}` makes a newer version of `{variable}`"),
            Step(read, f"`{variable}` is read here, unchanged"),
        ),
        suggestion=f"bind the result to `{variable}`{'' if is_unwanted(lost.label) else _UNWANTED}",
        cause=lost.old,
    )
