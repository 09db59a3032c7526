"""The rule `swapped-arguments`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.versions import OPTIMIZER_STEPS
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.names import names_one, singular
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Subject, proved, unknown
from jaxaudit.rules.intent.names import says_side
from jaxaudit.spans import Span


class SwappedArguments(Rule):
    """Two positional arguments stand in each other's place.

    ## What it does
    Compares the names of positional arguments with the names of the parameters they go to. Where two arguments are
    named exactly like each other's parameter, they are swapped. Where one parameter takes what another one of that name
    has, and the variable of its own name is not given, it is a warning. A tuple that a function, the body of a loop or
    of a map is given and unpacks is judged the same way, and so are the fields of a record. In an optimizer's step,
    `update(gradients, state, params)`, it looks at what was differentiated instead of at names.

    ## Why is this bad?
    Arrays of equal shape go through either way, and the result is wrong without a sound.

    ## Example
        def discounted(rewards, values, gamma): ...


        discounted(values, rewards, 0.99)

    ## Use instead
        discounted(rewards, values, 0.99)

    ## When it cannot tell
    Some functions are called both ways round on purpose, such as a divergence that is made symmetric. If the same
    function is called in the right order beside it, the caller merely turns its own arguments round, or the names
    only say which of two is meant (`p` and `q`), it is no error. Where several pairs change places at once, something
    is turned over as a whole: that is left open.
    """

    summary = "Two positional arguments carry the names of each other's parameter."

    valid = (
        Example("def f(x, y):\n    return x - y\n\ndef g(x, y):\n    return f(x, y)\n", "in order"),
        Example("def f(x, y):\n    return x - y\n\ndef g(y):\n    return f(x=y, y=y)\n", "there is but one"),
        Example(
            "import optax\n\ntx = optax.adamw(1e-3)\n\ndef step(params, state, loss, x):\n"
            "    grads = jax.grad(loss)(params, x)\n    updates, state = tx.update(grads, state, params)\n"
            "    return optax.apply_updates(params, updates), state\n",
            "the step of an optimizer",
        ),
        Example(
            "def kl(p, q):\n    return (p * (p / q)).sum()\n\ndef js(p, q):\n    return kl(p, q) + kl(q, p)\n",
            "both ways round",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Turn(NamedTuple):\n"
            + "".join(f"    {row}{column}: jax.Array\n" for row in "xyz" for column in "xyz")
            + "\ndef inverse(m: Turn):\n    return Turn(m.xx, m.yx, m.zx, m.xy, m.yy, m.zy, m.xz, m.yz, m.zz)\n",
            "a matrix, turned over as a whole",
        ),
        Example(
            "def product(x, y, axes):\n    (x_sum, y_sum), (x_batch, y_batch) = axes\n"
            "    return jax.lax.dot_general(x, y, ((x_sum, y_sum), (x_batch, y_batch)))\n\n"
            "def turned(x, y, axes):\n    (x_sum, y_sum), (x_batch, y_batch) = axes\n"
            "    return product(y * 2, x * 2, ((y_sum, x_sum), (y_batch, x_batch)))\n",
            "one side for the other, in every pair",
        ),
    )
    invalid = (
        Example(
            "def advantage(rewards, values):\n    return rewards - values\n\ndef loss(batch, net):\n"
            "    values = net(batch)\n    rewards = batch['rewards']\n"
            "    return advantage(values, rewards).mean()  #!\n",
            "crosswise",
        ),
        Example(
            "import optax\n\ntx = optax.adamw(1e-3)\n\ndef step(params, state, loss, x):\n"
            "    grads = jax.grad(loss)(params, x)\n"
            "    updates, state = tx.update(params, state, grads)  #!\n"
            "    return optax.apply_updates(params, updates), state\n",
            "gradients and parameters",
        ),
        Example(
            "import optax\n\ntx = optax.adamw(1e-3)\n\ndef step(params, state, loss, x):\n"
            "    grads = jax.grad(loss)(params, x)\n"
            "    updates, state = tx.update(grads, params, state)  #!\n"
            "    return optax.apply_updates(params, updates), state\n",
            "parameters for the state",
        ),
        Example("def f(x, y):\n    return x - y\n\ndef g(x, y):\n    return f(y, x)  #?\n", "turned round"),
        Example(
            "def decay(rewards, values):\n    return rewards - values\n\ndef loss(batch, net, clip):\n"
            "    values = net(batch)\n    rewards = batch['rewards']\n    if clip:\n"
            "        return decay(values, rewards).mean()  #?\n    return decay(rewards, values).mean()\n",
            "in one of two branches",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Edges(NamedTuple):\n    senders: jax.Array\n"
            "    receivers: jax.Array\n\ndef connect(pairs):\n    senders, receivers = pairs\n"
            "    return Edges(senders=receivers, receivers=receivers), senders  #?\n",
            "one field takes what another has",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Band(NamedTuple):\n    diagonal: jax.Array\n"
            "    below: jax.Array\n    above: jax.Array\n\ndef transposed(band: Band):\n"
            "    return Band(band.diagonal, band.above, band.below)  #?\n",
            "parts of one object, exchanged in another",
        ),
        Example(
            "def error(values, rewards):\n    return values - rewards\n\ndef loss(net, x, rewards):\n"
            "    values = net(x)\n    return jnp.mean(error(values, values) ** 2) + jnp.mean(rewards)  #?\n",
            "one variable for both parameters",
        ),
        Example(
            "def advantages(rewards, values, dones):\n    def step(last, now):\n"
            "        reward, done, value = now  #!\n        last = reward - value + 0.9 * (1 - done) * last\n"
            "        return last, last\n\n"
            "    return jax.lax.scan(step, 0.0, (rewards, values, dones), reverse=True)[1]\n",
            "what a loop goes through, unpacked in another order",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call whose positional arguments are named like parameters."""
        flow = facts.flow
        notes: defaultdict[tuple[int, str], list[Op]] = defaultdict(list)
        for op in program.named("py.passed"):
            # What is unpacked on one line may be put together in several places.
            owner = id(flow.places.function_of(op)) if op.where is None else 0
            notes[owner, op.qualified or str(op.span)].append(op)
        unpacked = {op.span for op in program.named("py.passed") if op.where is not None and _crossed(op)}
        lines = Counter((span.path, span.line) for span in unpacked)
        several = {span for span in unpacked if lines[span.path, span.line] > 1}
        yield from (_judge(op, beside, several, flow) for beside in notes.values() for op in beside)
        yield from (one for op in program.calling(*OPTIMIZER_STEPS) for one in _step(op, flow))


def _step(op: Op, flow: Flow) -> Iterator[Obligation]:
    """Judge the step of an optimizer by where its arguments come from, whatever they are called."""
    wrong = exchanged(op, flow)
    if wrong is None:
        if derivative(flow, op.arguments.get("updates")) is not None:
            yield proved(op.span, "what `update` takes first are gradients")
        return
    what, where = wrong
    yield Obligation(
        op.span,
        message=f"{what} stand where `update` takes {where}",
        current="the optimizer takes one tree for another: it raises, or makes its step of the wrong numbers",
        expected="`update(gradients, state, params)`, in this order",
        suggestion="put the arguments in the order of `update(gradients, state, params)`",
    )


def _judge(op: Op, beside: list[Op], several: Collection[Span], flow: Flow) -> Obligation:
    twice = [str(name) for name in op.given_twice or ()]
    if any(map(says_side, twice)):
        return unknown(op.span, f"whether `{twice[1]}` is meant for `{twice[0]}` too is not known")
    if twice and _is_part(*(op.had or ()), flow=flow):
        return unknown(op.span, f"whether `{twice[0]}` is meant, of which `{twice[1]}` is a part, is not known")
    if twice:
        return _given_twice(op, *twice)
    pairs = _crossed(op)
    if not pairs:
        what = f"arguments of `{op.qualified}`" if op.where is None else "parts of what is unpacked"
        return proved(op.span, f"no two {what} cross")
    # A slip exchanges two; whoever exchanges several at once turns the whole over.
    if len(pairs) > 1:
        return unknown(op.span, f"{len(pairs)} pairs of arguments of `{op.qualified}` cross, which may be meant")
    if op.span in several:
        return unknown(op.span, "several pairs cross in what is unpacked here, which may be meant")
    # Of two branches only one runs: what each of them gives the function should be the same.
    if any(not _crossed(other) and (op.where is not None or flow.places.both_happen(op, other)) for other in beside):
        return unknown(op.span, "what is given is given in both orders here, which may be meant")
    first, second = pairs[0]
    if op.where is not None:
        return _unpacked(op, op.where, first, second)
    turned = isinstance(op.own, tuple) and {first, second} <= set(op.own)
    doubtful = turned or len(beside) > 1
    return Obligation(
        op.span,
        severity=Severity.WARNING if doubtful else Severity.ERROR,
        message=f"`{first}` and `{second}` are swapped in the call of `{op.qualified}`",
        current=f"`{first}` goes where `{second}` belongs, and `{second}` where `{first}` does",
        expected="each goes to the parameter of its own name",
        suggestion=f"exchange the two arguments, or give them by keyword: `{first}=...`",
        subject=Subject(names=pairs[0]),
    )


def _is_part(whole: Collection[Value], part: Collection[Value], flow: Flow) -> bool:
    """Whether a variable runs through what another one is made of: neither is there in the place of the other."""
    made = [op for value in part if (op := flow.maker(value)) is not None]
    runs = [op.arguments.get("iterable") for op in made if op.name == "py.element"]
    return bool(runs) and all(isinstance(one, Value) and depends(flow, one, whole) for one in runs)


def _given_twice(op: Op, param: str, taken: str) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.WARNING,
        message=f"`{op.qualified}` is given `{taken}` for `{param}` too, and `{param}` not at all",
        current=f"both `{param}` and `{taken}` take `{taken}`, though there is a variable `{param}`",
        expected="each goes to the parameter of its own name",
        suggestion=f"give it `{param}`",
        subject=Subject(names=(param, taken)),
    )


def _unpacked(op: Op, made: Span, first: str, second: str) -> Obligation:
    doubtful = says_side(first) or says_side(second)
    return Obligation(
        op.span,
        severity=Severity.WARNING if doubtful else Severity.ERROR,
        message=f"`{first}` and `{second}` are unpacked in each other's place",
        current="the variables are in another order than what was put together for them",
        expected="each is unpacked into the variable of its own name",
        steps=(Step(made, "they are put together here"),),
        suggestion="unpack the parts in the order in which they were put together",
        subject=Subject(names=(first, second)),
    )


def _crossed(op: Op) -> list[tuple[str, str]]:
    """Return the pairs of arguments that are named like each other's parameter, and not like their own."""
    found = list[tuple[str, str]]()
    for (name, own), (other, others_own) in combinations(zip(op.written or (), op.parameters or (), strict=False), 2):
        crosses = names_one(name, others_own) and names_one(other, own)
        kept = names_one(name, own) or names_one(other, others_own)
        exactly = singular(name) == singular(others_own) != singular(own) == singular(other)
        if crosses and (exactly or not kept):
            found.append((name, other))
    return found


_PLACES = ("updates", "state", "params")


def exchanged(op: Op, flow: Flow) -> tuple[str, str] | None:
    """Return what stands where another argument belongs in `tx.update(gradients, state, params)`, and where it stands.

    The parameters are what the gradients that are given here were taken of.
    """
    given = {place: frozenset(values_in(op.arguments.get(place))) for place in _PLACES}
    for place in _PLACES:
        grad = derivative(flow, op.arguments.get(place))
        taken = frozenset() if grad is None else _origins(flow, [grad.operands[at] for at in grad.differentiated or ()])
        if not taken:
            continue
        if place == "params" and _within(flow, given["updates"], taken):
            return "the parameters", "the gradients"
        # Where the parameters are in their place as well, both only come from one object that was not taken apart.
        if place == "updates" and _within(flow, given["state"], taken) and not _within(flow, given["params"], taken):
            return "the parameters", "the state"
        if place == "state":
            return "the gradients", "the state"
    return None


def derivative(flow: Flow, argument: Argument) -> Op | None:
    """Return the derivative that all of an argument comes from."""
    makers = {origin(flow, value, {}).op for value in values_in(argument)}
    made = makers.pop() if len(makers) == 1 else None
    if made is None or made.name != "grad":
        return None
    own = frozenset(made.results[: len(made.regions[0].results)])
    return None if own & _origins(flow, values_in(argument)) else made


def _origins(flow: Flow, values: Iterable[Value]) -> frozenset[Value]:
    return frozenset(origin(flow, value, {}).value for value in values)


def _within(flow: Flow, values: Collection[Value], taken: frozenset[Value]) -> bool:
    found = _origins(flow, values)
    return bool(found) and found <= taken
