"""The rule `accumulation-lost`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.uses import Uses
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Severity, proved
from jaxaudit.rules.flow._shared.running import running_values


class AccumulationLost(Rule):
    """A loop adds something up, and one of its turns throws the sum away.

    ## What it does
    Looks at numbers that are set before a Python loop and that its turns add to. A `return` in the loop that gives the
    number the sum started from, where the one after the loop gives the sum, forgets what was added. So does a turn that
    binds the variable anew where what is left is divided by the number of turns.

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

    needs = (Uses,)
    summary = "A loop adds something up, and the sum is thrown away."
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
    """
    invalid = """
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
        """List every number that the turns of a loop add to."""
        yield from (_judge(op) for op in program.named("py.turn") if op.kind == "sum")
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
