"""The rule `donated-value-read`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.buffers import given_twice, givers, has_no_buffer, kept_in, readings, sources
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.queries import behind, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Exit, Op, Program, Value
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import replace
from jaxaudit.libraries.packages import HANDING_BACK
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.jit._shared.donations import donated, donated_places, is_held_on, is_left_alone

_PROGRAM = """
def step(params, grads):
    return params - 0.1 * grads

def train(params, grads):
    update = jax.jit(step, donate_argnums=0)
    {call}
    return new, params{mark}
"""


class DonatedValueRead(Rule):
    """A buffer that was donated to a compiled function is read again.

    ## What it does
    Looks at calls of functions that are compiled with `donate_argnums` or kin, and at what reads what is donated below,
    under any name: a variable, an attribute or a record may hold the same buffer. One call must not be given a buffer
    twice where it is donated.

    ## Why is this bad?
    A donated buffer belongs to the call, which writes its results there. Where the device can do that, reading the
    array again raises `RuntimeError: Array has been deleted`; where it cannot, the program works by luck.

    ## Example
        update = jax.jit(step, donate_argnums=0)
        new_state = update(state, batch)
        change = new_state - state

    ## Use instead
        update = jax.jit(step, donate_argnums=0)
        state = update(state, batch)

    ## When it cannot tell
    When the positions are no constants, or a donated argument is read elsewhere than below the call.
    """

    summary = "A donated argument is read after the call that it was donated to."
    needs = (TracingFacts, Shapes)

    valid = (
        Example(
            """
            from functools import partial
            from flax import nnx

            @partial(nnx.jit, donate_argnames=("optimizer",))
            def train_step(model, optimizer, x):
                grads = nnx.grad(lambda model: model(x).mean())(model)
                optimizer.update(model, grads)

            def main(model, optimizer, xs, save):
                for x in xs:
                    train_step(model, optimizer, x)
                save(optimizer)
            """,
            "an object that gets its new state back",
        ),
        Example(
            """
            def scaled(x):
                return 2 * x

            donating = jax.jit(scaled, donate_argnums=0)

            @jax.jit
            def step(x):
                return donating(x) + x

            def run(xs):
                return jax.lax.scan(lambda total, x: (donating(total) + total + x, None), 0.0, xs)
            """,
            "traced code gives no buffer away",
        ),
        Example(
            """
            donating = jax.jit(lambda x: 2 * x, donate_argnums=0)

            def run(x, n):
                if n > 1:
                    x = donating(x)
                for _ in range(n):
                    if n > 2:
                        x = donating(x)
                return x + 1
            """,
            "replaced on the way on which it is donated",
        ),
        Example(
            """
            class Runtime:
                def __init__(self, state):
                    self.state = state

            def solve(runtime: Runtime, step, n):
                advance = jax.jit(lambda state: jax.lax.scan(step, state, jnp.arange(n)), donate_argnums=0)
                return advance(runtime.state)
            """,
            "the compiled function reads its own argument",
        ),
        Example(
            """
            import numpy as np

            def sweep(run, scales):
                start = np.ones((32, 32))
                step = jax.jit(run, donate_argnums=0)
                return [step(start, scale) for scale in scales]
            """,
            "an array of NumPy, which is copied for each call",
        ),
        Example(_PROGRAM.format(call="new = params = update(params, grads)", mark=""), "the new value is read"),
        Example(
            """
            def sharded(x, n):
                return x.reshape(n, -1, 3)

            def render(model, rays, n):
                call = jax.pmap(model, donate_argnums=0)
                return [call(sharded(rays[8 * i : 8 * (i + 1)], n)) for i in range(4)]
            """,
            "a function makes it anew in every turn",
        ),
        Example(
            "def f(step, x):\n    y = jax.jit(step, donate_argnums=0)(x)\n    return y.reshape(x.shape)\n",
            "its shape is not in the buffer",
        ),
        Example(
            """
            def best_of(params, batches, score):
                step = jax.jit(jnp.add, donate_argnums=0)
                best, top = None, 0.0
                for batch in batches:
                    params = step(params, batch)
                    if score(params) > top:
                        best, top = params.copy(), score(params)
                return best * 2
            """,
            "a copy is kept",
        ),
        Example(
            """
            def make(key):
                params = jax.random.normal(key, (3,))
                return {"online": params, "target": params.copy()}

            def train(key, batches):
                step = jax.jit(lambda state, x: {name: one - x for name, one in state.items()}, donate_argnums=0)
                state = make(key)
                for x in batches:
                    state = step(state, x)
                return state
            """,
            "each part has its own buffer",
        ),
        Example(
            """
            def start(ids, length):
                return {"at": length, "length": length, "ids": ids}

            def generate(ids, length, weights):
                step = jax.jit(lambda s, w: {**s, "at": s["at"] + 1, "ids": s["ids"] * w}, donate_argnums=0)
                state = start(ids + jnp.zeros((3, length)), length)
                for _ in range(4):
                    state = step(state, weights)
                return state
            """,
            "a function makes the first one, and a number of Python's has no buffer",
        ),
    )
    invalid = (
        Example(
            """
            from functools import partial

            @partial(jax.jit, donate_argnames=("cache",))
            def decode(params, cache, token):
                cache = cache.at[0].set(token)
                return cache.sum(0) @ params, cache

            def run(params, cache, token):
                logits, new = decode(params, cache, token)
                return logits, new - cache  #!
            """,
            "donated by name",
        ),
        Example(
            """
            class Simulator:
                def __init__(self, grid):
                    self.grid = grid
                    self.advance = jax.jit(lambda grid, dt: grid * dt, donate_argnums=0)

                def run(self, dt):
                    grid = self.grid
                    for _ in range(3):
                        grid = self.advance(grid, dt)
                    return jnp.abs(grid - self.grid)  #!

            def main(key):
                return Simulator(jax.random.normal(key, (3,))).run(0.5)
            """,
            "an object still has it",
        ),
        Example(
            """
            import equinox as eqx

            @eqx.filter_jit(donate="all")
            def update(model, x):
                grads = eqx.filter_grad(lambda model: jnp.mean(jax.vmap(model)(x) ** 2))(model)
                return eqx.apply_updates(model, grads)

            def main(key, x):
                model = first = eqx.nn.Linear(3, 1, key=key)
                for _ in range(3):
                    model = update(model, x)
                return jnp.abs(first.weight - model.weight)  #!
            """,
            "a model that the words of Equinox give away; no result is of the type of the batch, which stays",
        ),
        Example(
            "def train(step, w, x):\n    new = jax.pmap(step, donate_argnums=0)(w, x)\n    return new - w  #!\n",
            "given to several devices",
        ),
        Example(_PROGRAM.format(call="new = update(params, grads)", mark="  #!"), "the old value is read"),
        Example(
            """
            def reset(states, key):
                return states[1] + key

            def train(training, env, keys):
                restart = jax.jit(reset, donate_argnums=0)
                for key in keys:
                    training = training * 2  #!
                    env = restart((training, env), key)
                return training, env
            """,
            "a part of the tree that is donated is read in the next turn",
        ),
        Example(
            """
            def step(state, grad):
                return state - grad

            def train(state, grads):
                update = jax.jit(step, donate_argnums=0)
                total = 0.0
                for grad in grads:
                    total += update(state, grad).sum()  #!
                return total
            """,
            "every turn donates the same value",
        ),
        Example(
            """
            def run(step, state, scale):
                step = jax.jit(step, donate_argnums=0)
                return step(step(state, scale), scale)

            def sweep(step, scales):
                start = jnp.ones((32, 32))
                return [run(step, start, scale) for scale in scales]  #!
            """,
            "every turn starts with the same value, which a function donates",
        ),
        Example(
            """
            def sweep(step, scales):
                step, start = jax.jit(step, donate_argnums=0), jnp.ones((32, 32))
                ends = []
                for scale in scales:
                    state = start
                    for _ in range(100):
                        state = step(state, scale)  #!
                    ends.append(state)
                return ends
            """,
            "every turn starts with the same value, which a loop donates",
        ),
        Example(
            """
            def step(params, grads):
                return params - grads

            def train(params, grads, flag):
                update = jax.jit(step, donate_argnums=0)
                new = update(params, grads)
                if flag:
                    return new + params  #!
                return new
            """,
            "read in a branch below",
        ),
        Example(
            """
            def advance(params, grads):
                return jax.jit(jnp.add, donate_argnums=0)(params, grads)

            def train(params, grads):
                new = advance(params, grads)
                return new + params  #!
            """,
            "the caller goes on with it",
        ),
        Example(
            """
            def train(step, batches):
                step, params = jax.jit(step, donate_argnums=0), jnp.ones(3)
                first = jnp.asarray(params)
                for batch in batches:
                    params = step(params, batch)
                return params - first  #!
            """,
            "what is an array already is not copied",
        ),
        Example(
            """
            def best_of(params, batches, score):
                step = jax.jit(jnp.add, donate_argnums=0)
                best, top = None, 0.0
                for batch in batches:
                    params = step(params, batch)
                    if score(params) > top:
                        best, top = params, score(params)
                return best * 2  #!
            """,
            "a name that is kept over the turn that donates",
        ),
        Example(
            """
            def make(key):
                params = jax.random.normal(key, (3,))
                return {
                    "online": params,
                    "target": params,  #!
                }

            def train(key, batches):
                step = jax.jit(lambda state, x: {name: one - x for name, one in state.items()}, donate_argnums=0)
                state = make(key)
                for x in batches:
                    state = step(state, x)
                return state
            """,
            "one buffer in two parts of what is donated",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every argument that is donated."""
        # Inside of traced code a call is compiled along with what is around it: there its arguments are no buffers.
        visits = list(facts.get(TracingFacts).of("jit", "pmap"))
        inside = {visit.op for visit in visits} - {visit.op for visit in visits if visit.stage is None}
        for op in program.named("jit", "pmap"):
            if op in inside:
                yield from _kept(op)
            else:
                yield from _judged(op, facts)
                yield from _given_twice(op, facts)


def _judged(op: Op, facts: Facts) -> Iterator[Obligation]:
    flow, shapes = facts.flow, facts.get(Shapes)
    given_away = donated(op, shapes)
    if given_away is None:
        yield unknown(op.span, "which arguments are donated is not known")
    for value in given_away or ():
        if _is_handed_back(op, value, shapes):
            yield unknown(op.span, f"whether {named(value, 'the donated argument')} gets new buffers is not known")
            continue
        if is_left_alone(op, value, flow, shapes):
            yield proved(op.span, f"no result can take the buffer of {named(value, 'the argument')}, so it is kept")
            continue
        read = (one for one in readings(flow, op, value) if not any(has_no_buffer(flow, name) for name in one.names))
        reading = min(read, key=lambda one: (one.replaced, flow.places.order[one.reader]), default=None)
        if reading is not None and reading.replaced:
            yield unknown(op.span, "whether another buffer is in its place where it is read is not known")
        elif reading is not None:
            yield _finding(op, value, _seen_from(op, reading.reader, flow), kept_in(flow, reading.names))
        elif again := [one for one in givers(flow, op, value) if _is_repeated(*one, flow.places)]:
            giver, given = again[0]
            if has_no_buffer(flow, given):
                yield proved(op.span, f"{named(given, 'the argument')} is no array of JAX, so each call copies it")
                continue
            yield _finding(op, given, giver if giver.name == "py.call" else op, again=True)
        elif is_held_on(value, flow):
            yield unknown(op.span, f"what {named(value, 'the donated argument')} was taken from is used further")
        else:
            yield proved(op.span, f"nothing reads {named(value, 'the donated argument')} below the call")


def _is_handed_back(op: Op, value: Value, shapes: Shapes) -> bool:
    """Whether a call may give an object what it made of its state, as calls of Flax NNX do."""
    return shapes.of(value).dims is None and op.spelling.rpartition(".")[0] in HANDING_BACK


def _given_twice(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge two arguments of a call that are one buffer, of which one is donated."""
    given_away, flow = donated(op, facts.get(Shapes)) or (), facts.flow
    for at, value in enumerate(op.operands):
        others = (one for one in op.operands[:at] if value in given_away or one in given_away)
        shared = next((one for other in others if (one := given_twice(flow, op, other, value)) is not None), None)
        if shared is not None and not has_no_buffer(flow, shared):
            # What comes from outside may be a number, which has no buffer.
            sure = any(map(python_values(facts).is_jax_array, sources(flow, shared)))
            found = _twice(op, shared, _put_twice(flow, shared) or op)
            yield found if sure else replace(found, severity=Severity.WARNING)


def _put_twice(flow: Flow, value: Value) -> Op | None:
    """Return where something is built that has a buffer in two of its parts."""
    inside = set(walk((value,), lambda one: behind(flow, one, nothing)))
    notes = flow.program.named("py.again")
    return next((note for note in notes if not inside.isdisjoint(note.values or ())), None)


def _kept(op: Op) -> Iterator[Obligation]:
    if donated_places(op) != []:
        yield proved(op.span, "a call in traced code gives no buffer away")


def _seen_from(call: Op, reader: Op, flow: Flow) -> Op:
    """Return the call of the function that reads, where that is a function apart from the one that donates."""
    around = [holder for _, holder in flow.places.up(flow.places.region_of[reader]) if holder is not None]
    met = flow.places.meet(call, reader)
    apart = around[: around.index(met.second) + 1] if met is not None and met.second in around else []
    return next((one for one in reversed(apart) if one.name == "py.call"), reader)


def _is_repeated(call: Op, value: Value, places: Places) -> bool:
    """Whether a later turn of a loop of Python gives a call the very value that it was given before."""
    home = places.region_of_value(value)
    for region, holder in places.up(places.region_of[call]) if home is not None else ():
        # What a function makes that is called in the same turn is made anew too.
        if places.within(home, region) or holder is None or places.exit_of(region) not in (Exit.FALL, Exit.CONTINUE):
            return False
        if holder.name in PYTHON_LOOPS:
            return not holder.left_at_once
    return False


def _twice(call: Op, value: Value, note: Op) -> Obligation:
    name = named(value, "one array")
    return Obligation(
        note.span,
        message=f"the buffer of {name} is given twice to the call on line {call.span.line}, which donates it",
        current="JAX raises that it cannot donate a buffer which the same call is given once more",
        raises=Raises.LATER,
        expected="what is donated is given once",
        steps=(Step(value.span, f"{name} is made here"), Step(call.span, "the call that both are given to")),
        suggestion=f"copy {name}: `jax.tree.map(jnp.copy, ...)`",
    )


def _finding(call: Op, value: Value, reader: Op, kept: Sequence[Op] = (), *, again: bool = False) -> Obligation:
    name = named(value, "the argument")
    donated = "in the turn before" if again else f"on line {call.span.line}"
    return Obligation(
        reader.span,
        message=f"{name} is read here, but its buffer was donated {donated}",
        current="where the device reuses the buffer, this raises `RuntimeError: Array has been deleted`",
        raises=Raises.LATER,
        expected="what is donated is not read again",
        steps=(
            *(Step(one.span, "the same buffer is handed on here under another name") for one in kept),
            Step(call.span, f"{name} is donated to this call"),
        ),
        suggestion="read the new value, or do not donate the old one",
    )
