"""The rule `accumulation-lost`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, constant, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.induction import turns_of
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, depends, nothing, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.uses import Uses
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ZEROS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING, KEEPING
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.flow._shared.running import running_values

_same_number = through_ops(*KEEPING, "py.attr", "py.item")
"""Ops that give what they are given, or a part of it."""


class AccumulationLost(Rule):
    """A loop adds something up, and one of its turns throws the sum away.

    ## What it does
    Looks at numbers that are set before a Python loop and that its turns add to. A `return` in the loop that gives the
    number the sum started from, where the one after the loop gives the sum, forgets what was added. So does a turn that
    binds the variable anew where what is left is divided by the number of turns; and a turn of `scan`, `fori_loop` or
    `while_loop` that hands on what is not made of the zero, or the tree of zeros, that it was to add to.

    Also looks at all sums and averages that loops of Python and JAX carry, such as gradients of parts of a batch and
    averaged weights: where nothing but the next turn reads one, and what the last turn added is read after the loop,
    the sum is lost.

    ## Why is this bad?
    One masked site makes the log density of all others zero; the mean of the losses is the last loss divided by their
    number. Nothing is raised.

    ## Example
        loss = 0.0
        for batch in batches:
            loss = evaluate(batch)
        return loss / len(batches)

    ## Use instead
        loss = 0.0
        for batch in batches:
            loss += evaluate(batch)
        return loss / len(batches)

    ## When it cannot tell
    An early `return` of the start is a warning: one element may decide over all of them. So is a variable that turns
    bind anew, where others that start from the same number are added up: the last one may be meant. A number of Python
    that nothing reads may be left from an earlier version: a warning, too.
    """

    summary = "A loop adds something up, and the sum is thrown away."
    needs = (Shapes, Uses)
    valid = """
    ## added up
    def mean(batches, loss):
        total = 0.0
        for batch in batches:
            total += loss(batch)
        return total / len(batches)

    ## the last one is shown in each turn, and turns are counted
    def train(batches, step):
        loss = 0.0
        seconds = 0.0
        turns = 0
        for batch in batches:
            loss, elapsed = step(batch)
            turns += 1
            seconds += elapsed
            print(turns, loss)
        return loss, seconds

    ## a sum of gradients, and averaged weights
    def train(params, batches, loss):
        total = jax.tree.map(jnp.zeros_like, params)
        for batch in batches:
            grads = jax.grad(loss)(params, batch)
            total = jax.tree.map(jnp.add, total, grads)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, total)

    def average(w, xs):
        def body(carry, x):
            w, mean = carry
            w = w - 0.1 * x
            return (w, 0.9 * mean + 0.1 * w), None

        return jax.lax.scan(body, (w, w), xs)[0][1]

    ## the last one is meant
    def train(batches, step):
        loss = 0.0
        for batch in batches:
            loss = step(batch)
        return loss

    ## the gradients of all parts are added up
    def gradients(loss, params, parts):
        def step(total, part):
            return jax.tree.map(jnp.add, total, jax.grad(loss)(params, part)), None
        total, _ = jax.lax.scan(step, jax.tree.map(jnp.zeros_like, params), parts, length=4)
        return jax.tree.map(lambda g: g / 4, total)

    ## the last one is what is wanted
    def descend(slope, x):
        def step(i, carry):
            x, size = carry
            return x - 0.1 * slope(x), jnp.abs(x).sum()
        return jax.lax.fori_loop(0, 9, step, (x, 0.0))
    """
    invalid = """
    ## only the gradients of the last part are left
    def gradients(loss, params, parts):
        def step(total, part):
            grads = jax.grad(loss)(params, part)
            return jax.tree.map(lambda old, new: new, total, grads), None  #!
        total, _ = jax.lax.scan(step, jax.tree.map(jnp.zeros_like, params), parts, length=4)
        return jax.tree.map(lambda g: g / 4, total)

    ## only the last energy is left
    def energy(potential, xs):
        def step(i, total):
            return potential(xs[i])  #!
        return jax.lax.fori_loop(0, xs.shape[0], step, jnp.zeros(())) / xs.shape[0]
    ## bound anew in each turn
    def mean(batches, evaluate):
        loss = 0.0
        for batch in batches:
            loss = evaluate(batch)  #!
        return loss / len(batches)

    ## the other sums of the loop are added up: a warning
    def evaluate(batches, measure):
        losses = 0.0
        hits = 0.0
        for batch in batches:
            loss, right = measure(batch)
            losses += loss
            hits = right.sum()  #?
        return losses, hits

    ## the gradient of the last part in the place of the sum
    def train(params, batches, loss):
        total = jax.tree.map(jnp.zeros_like, params)
        for batch in batches:
            grads = jax.grad(loss)(params, batch)
            total = jax.tree.map(jnp.add, total, grads)  #!
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    ## the same for a module, of which the program only tells the loss
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(x)

    def main():
        net, x = Net(), jnp.ones((8, 3))
        params = net.init(jax.random.key(0), x)
        for _ in range(9):
            total = jax.tree.map(jnp.zeros_like, params)
            for part in jnp.split(x, 4):
                loss, grads = jax.value_and_grad(lambda p, part=part: jnp.mean(net.apply(p, part) ** 2))(params)
                total = jax.tree.map(jnp.add, total, grads)  #!
            params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
            print(loss)

    main()

    ## the last weights in the place of their average
    def average(w, xs):
        def body(carry, x):
            w, mean = carry
            w = w - 0.1 * x
            return (w, 0.9 * mean + 0.1 * w), None  #!

        (last, mean), _ = jax.lax.scan(body, (w, w), xs)
        return last

    ## a number that nobody tells: a warning
    def evaluate(batches, measure):
        total = 0.0
        for batch in batches:
            loss = measure(batch)
            total += loss  #?
        print(loss)

    ## one element throws the sum away: a warning
    def density(sites):
        total = 0.0
        for site in sites:
            if site.mask is None:
                return 0.0, sites  #?
            total = total + site.log_prob
        return total, sites
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every number that the turns of a loop add to, and all that JAX's loops carry from zero on."""
        yield from (_judge(op) for op in program.named("py.turn") if op.kind == "sum")
        yield from (one for op in program.named(*sorted(CARRYING)) for one in _judge_carry(op, facts))
        yield from running_values(program, facts)


def _judge(op: Op) -> Obligation:
    if not op.problem:
        return proved(op.span, f"turns add to `{op.label}`, and none starts it anew")
    anew = op.problem != "thrown away"
    messages = {
        "overwritten": f"`{op.label}` is bound anew in each turn, but divided by the number of turns afterwards",
        "overwritten beside": f"`{op.label}` is bound anew in each turn, and what started beside it is added up",
    }
    return Obligation(
        op.span,
        severity=Severity.ERROR if op.problem == "overwritten" else Severity.WARNING,
        message=messages.get(op.problem, f"this `return` throws away what the loop has added to `{op.label}`"),
        current=f"only the last `{op.label}` is left" if anew else "the sum of all turns before is forgotten",
        expected="what all turns give is added up",
        suggestion=f"add to `{op.label}` with `+=`" if anew else "leave the element out with `continue`",
    )


def _judge_carry(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Say of everything that a loop of JAX carries from zero on whether its turns add to it."""
    loop, flow = Loop(op), facts.flow
    for one, (param, following) in zip(loop.carried, loop.successors, strict=False):
        if following is param or not _is_zero(one.start, flow):
            continue
        name = named(param, "what it carries")
        if depends(flow, following, (param,)):
            yield proved(op.span, f"each turn goes on from {name} of the turn before")
        elif any(depends(flow, other, (param,)) for other in loop.body.results):
            yield unknown(op.span, f"the next turn reads {name}, which may be all that it is carried for")
        elif (quotient := _divided(op, one.position, facts)) is not None:
            made = flow.maker(following) or op
            yield Obligation(
                made.span,
                message=f"each turn gives {name} anew, but it is divided by the number of turns afterwards",
                current="only what the last turn gives is left",
                expected="what all turns give is added up",
                steps=(
                    Step(op.span, "it starts at 0 here"),
                    Step(quotient.span, "divided by the number of turns here"),
                ),
                suggestion=f"add what the turn gives to {name}",
                cause=(following,),
            )
        else:
            yield unknown(op.span, f"whether {name} of the last turn alone is wanted is not known")


def _is_zero(value: Value, flow: Flow) -> bool:
    """Whether a value is a zero, an array of zeros or a tree of them."""
    made = [flow.own_maker(one) for one in walk((value,), lambda one: behind(flow, one, nothing))]
    return any(
        op is not None
        and ((op.name == "array.create" and op.function in ZEROS) or (op.name == "py.const" and op.constant == 0))
        for op in made
    )


def _divided(op: Op, position: int, facts: Facts) -> Op | None:
    """Return what divides the last value that a loop carries by the number of its turns."""
    shapes, flow = facts.get(Shapes), facts.flow

    def number(given: Argument) -> Dim | None:
        return (
            constant(given) if isinstance(given, int) else shapes.of(given).number if isinstance(given, Value) else None
        )

    turns = turns_of(Loop(op), shapes, number)
    if turns is None or not turns.known:
        return None
    last = walk(op.results[position : position + 1], lambda one: ahead(flow, one, _same_number))
    quotients = (
        by for one in last for by in flow.readers.get(one, ()) if by.function == "divide" and by.value("x") is one
    )
    return next((by for by in quotients if (size := number(by.argument("y"))) is not None and same(size, turns)), None)
