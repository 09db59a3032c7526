"""The rule `stale-captured-state`."""

from __future__ import annotations

from collections.abc import Iterator, Set

from jaxaudit.analyses.captured import (
    CHANGING,
    CompiledCall,
    History,
    Read,
    State,
    Write,
    captured_arrays,
    changed,
    compiled_ops,
    entered,
    histories,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.tracing.facts import TracingFacts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import NOTES, PYTHON_LOOPS
from jaxaudit.ir.reads import Renewed
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.spans import Span

_LOOKS = NOTES | {"array.shape", "py.print", "py.format"}
"""Ops that read no elements which compiled code keeps."""
_SHOWN = {
    "global": "the global",
    "closure": "the variable",
    "attr": "the attribute",
    "item": "the entry",
    "array": "the array",
}


class StaleCapturedState(Rule):
    """Compiled code reads state that changes after it was compiled.

    ## What it does
    Looks at globals, variables of enclosing functions, attributes, dict entries and NumPy arrays that a function under
    `jit` reads, and at who changes them between two calls of that function.

    ## Why is this bad?
    `jit` reads the state once, while it traces, and compiles it in as a constant. Later changes have no effect, and
    nothing tells.

    ## Example
        lr = 0.1


        @jax.jit
        def step(w, g):
            return w - lr * g


        for _ in range(100):
            w = step(w, g)
            lr = lr * 0.9

    ## Use instead
        @jax.jit
        def step(w, g, lr):
            return w - lr * g


        for _ in range(100):
            w = step(w, g, lr)
            lr = lr * 0.9

    ## When it cannot tell
    State that is set before the first call is fine; so is a function that is made anew after each change. Changes
    that no call of the compiled function follows are not judged.
    """

    needs = (TracingFacts,)
    summary = "Compiled code keeps the first value of state that changes later."

    valid = """
    ## a model that is an argument, or trained before it is run
    from flax import nnx
    import optax

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.layer = nnx.Linear(2, 1, rngs=rngs)

        def __call__(self, x):
            return self.layer(x)

    @nnx.jit
    def learn(model, optimizer, x):
        optimizer.update(model, nnx.grad(lambda model: jnp.mean(model(x) ** 2))(model))

    @nnx.jit
    def evaluate(model, x):
        return jnp.mean(model(x) ** 2)

    def main(x):
        model = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
        for _ in range(9):
            learn(model, optimizer, x)
            print(evaluate(model, x))

        @jax.jit
        def last(x):
            return model(x)
        return last(x), last(x + 1)

    ## what changes is an argument
    def train(w, g, config):
        config = {"lr": 0.1, "decay": 0.9}

        @jax.jit
        def step(w, g, lr):
            return w - lr * g * config["decay"]

        for _ in range(100):
            w = step(w, g, config["lr"])
            config["lr"] = config["lr"] * 0.9
        return w

    ## the structure of one model is the same whenever it is taken
    from flax import nnx

    class Engine:
        def __init__(self, model):
            self.model = model
            self.step = jax.jit(self.kernel)

        def kernel(self, params, x):
            return nnx.merge(self.graph, params)(x)

    def run(model, xs):
        engine = Engine(model)
        for x in xs:
            engine.graph, params = nnx.split(engine.model)
            y = engine.step(params, x)
        return y

    ## an array that is full before the first call, and one that is copied for each
    import numpy as np

    counts = np.zeros(3)

    @jax.jit
    def scale(w, counts):
        return w / counts

    def train(w):
        rates = np.ones(3)

        @jax.jit
        def step(w):
            return w * rates

        for i in range(3):
            rates[i] = 0.5 * i
        for i in range(3):
            counts[i] += 1
            w = scale(step(w), counts)
        return w

    ## a partial that is made anew, and one of what the loop reads itself
    from functools import partial

    def decay(w, target, g):
        return w - 0.1 * (w - target) * g

    def train(w, g):
        first = jax.jit(partial(decay, target=w))
        target = w
        for i in range(9):
            step = jax.jit(partial(decay, target=target))
            w = step(w, g=g) + first(w, g=g)
            target = w
        return w

    ## a new function after each change
    def sweep(w, g):
        config = {"lr": 0.1}
        for lr in (0.1, 0.2):
            config["lr"] = lr

            @jax.jit
            def step(w, g):
                return w - config["lr"] * g

            w = step(w, g)
        return w

    ## a counter that nothing is computed from
    traces = 0

    @jax.jit
    def step(w):
        global traces
        traces += 1
        print("trace", traces)
        return w * 2
    """
    invalid = """
    ## a model that is trained while a closure holds it
    from flax import nnx
    import optax

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.layer = nnx.Linear(2, 1, rngs=rngs)

        def __call__(self, x):
            return self.layer(x)

    @nnx.jit
    def learn(model, optimizer, x):
        optimizer.update(model, nnx.grad(lambda model: jnp.mean(model(x) ** 2))(model))

    def main(x):
        model = Net(nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

        @jax.jit
        def evaluate(x):
            return jnp.mean(model(x) ** 2)  #!

        for _ in range(9):
            learn(model, optimizer, x)
            print(evaluate(x))

    ## an entry that the loop changes
    def train(w, g):
        config = {"lr": 0.1}

        @jax.jit
        def step(w, g):
            return w - config["lr"] * g  #!

        for _ in range(100):
            w = step(w, g)
            config["lr"] = config["lr"] * 0.9
        return w

    ## a global that the function itself counts up
    count = 0

    @jax.jit
    def step(w):
        global count
        w = w * 0.9**count  #!
        count += 1
        return w

    ## a NumPy array that is written into
    import numpy as np

    def train(w):
        rates = np.ones(3)

        @jax.jit
        def step(w):
            return w * rates  #!

        for i in range(3):
            w = step(w)
            rates[i] = 0.5
        return w

    ## a variable that changes behind the back of a partial
    from functools import partial

    def decay(w, target, g):
        return w - 0.1 * (w - target) * g

    def train(w, g):
        target = w
        step = jax.jit(partial(decay, target=target))
        for i in range(9):
            w = step(w, g=g)
            if i % 3 == 0:
                target = w  #!
        return w

    ## a variable that changes between two calls
    def train(w):
        scale = 1.0

        @jax.jit
        def step(w):
            return w * scale  #!

        w = step(w)
        scale = 0.5
        return step(w)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every compiled function, and what it reads from outside and somebody changes."""
        yield from (one for history in histories(facts) for one in _judge(history, facts.flow))
        written = {state for op in program.named(*CHANGING) if (state := changed(op)) is not None}
        calls = [(op, _renewed(op, facts.flow, written)) for op in program.named("jit")]
        renewed = {op: found for op, found in calls if found is not None}
        yield from (_outlived(op, *found) for op, found in renewed.items())
        kept = _kept(program)
        yield from (_bound_before(op, one, made) for op, (one, made) in kept.items() if one.dead)
        for op in program.named("jit"):
            inside = [*compiled_ops(op)]
            reads = {(one.kind, one.owner, one.subject) for one in inside if one.name == "py.read"}
            # Objects have other holders, and what functions that were not followed read is not known.
            open_ = sorted(
                _SHOWN[kind] + f" `{name}`"
                for kind, owner, name in reads
                if kind in ("attr", "item") or (kind, owner, name) in written
            )
            open_ += [f"the array `{one.name}`" for _, one in captured_arrays(op, facts)]
            strange = any(one.name == "py.call_unknown" for one in inside)
            bound = kept[op][0] if op in kept else None
            if op in renewed or (bound is not None and bound.dead):
                continue
            if bound is not None:
                yield unknown(op.span, f"whether it is to keep the `{bound.name}` of before the loop is not known")
            elif open_ or strange:
                what = open_[0] if open_ else "what is read by calls that were not followed"
                yield unknown(op.span, f"whether something else changes {what} is not known")
            elif op.regions:
                yield proved(op.span, "nothing that can be seen changes what it reads from outside")


def _kept(program: Program) -> dict[Op, tuple[Renewed, Span]]:
    """Return the compiled calls in loops that renew a variable which the function was made of, and where it was."""
    renewed = sorted((one for scope in program.reads for one in scope.renewed), key=lambda one: one.dead)
    places = {call: (one, made) for one in renewed for call, made in one.calls}
    return {op: places[op.span] for op in program.named("jit") if op.span in places}


def _bound_before(call: Op, one: Renewed, made: Span) -> Obligation:
    """Judge a variable that is renewed for nobody: who was to see it has its first value."""
    function = call.qualified or "the function"
    return Obligation(
        one.span,
        message=f"nothing reads this `{one.name}`: `{function}` keeps the one that it was made with",
        current=f"`{function}` was given the value of `{one.name}` before the loop; the new one has no effect",
        expected="what changes between calls is an argument",
        steps=(
            Step(made, f"`{function}` is made with the first `{one.name}` here"),
            Step(call.span, f"each turn calls `{function}` with that value"),
        ),
        suggestion=f"give `{one.name}` to `{function}` as an argument of each call",
    )


def _renewed(call: Op, flow: Flow, written: Set[State]) -> tuple[Op, Op, Op] | None:
    """Return what in a compiled function reads a container that it closes over, what changes that, and the loop.

    The turns of a loop hand the container on, and the function was made before the loop.
    """
    if package(call.spelling) not in PLAIN:
        return None
    inside = [*compiled_ops(call)]
    reads = [one for one in inside if one.name == "py.read" and (one.kind, one.owner, one.subject) in written]
    if any(one.kind in ("global", "closure") for one in reads):
        return None
    loops = (one for _, one in flow.places.up(flow.places.region_of[call]) if one is not None)
    for loop in (one for one in loops if one.name in PYTHON_LOOPS and (call.wrapper_id or 0) <= entered(one)[0]):
        # An attribute that the turns bind anew has a history of its own.
        anew = {state for one in loop.regions[0].walk() if (state := changed(one)) is not None}
        told = {one.arguments.get("value") for one in reads if (one.kind, one.owner, one.subject) in anew}
        # What belongs to the structure of an argument is compared at each call.
        told.update(call.structure or ())
        for param, following in Loop(loop).successors:
            changing = param not in told and following is not param and flow.maker(following) not in inside
            readers = (one for one in inside if changing and param in one.operands and not _is_apart(one, flow))
            if (reader := next(readers, None)) is not None:
                return reader, flow.maker(following) or loop, loop
    return None


def _is_apart(reader: Op, flow: Flow) -> bool:
    """Whether an op reads no elements, or one entry by its name, which has a history of its own.

    What code that was not followed reads of all that it may see is not known, and a count is read for the next one.
    """
    entry = reader.name == "py.item" and isinstance(reader.arguments.get("index"), str | int | float)
    after = [one for value in reader.results for one in flow.readers.get(value, ())]
    counts = bool(after) and all(one.name in CHANGING for one in after)
    return entry or counts or reader.name in _LOOKS or reader.name == "py.call_unknown"


def _outlived(call: Op, reader: Op, change: Op, loop: Op) -> Obligation:
    function = call.qualified or "the function"
    return Obligation(
        reader.span,
        message=f"what is read here changes from turn to turn, but `{function}` keeps what it was when `jit` traced it",
        current=f"`{function}` is compiled with what the container held at first; the change has no effect",
        expected="what changes between calls is an argument",
        steps=(
            Step(call.span, f"`{function}` is compiled at its first call"),
            Step(change.span, "the container that it closes over changes here"),
            Step(loop.span, "each turn calls what was compiled in the first one"),
        ),
        suggestion=f"give it to `{function}` as an argument",
    )


def _judge(history: History, flow: Flow) -> Iterator[Obligation]:
    for call, read in ((one, read) for one in history.calls for read in one.reads):
        writes = history.writes.get(read.state, [])
        if writes and _is_shown(read, flow):
            yield proved(read.op.span, f"{_name(read)} is only printed, while tracing")
            continue
        if writes and _is_only_held(call, read, flow):
            yield proved(read.op.span, f"no data of {_name(read)} are read, only what every version of it holds")
            continue
        late = next((write for write in writes if history.is_late(call, read.state, write)), None)
        if late is not None:
            yield _violation(call, read, late)
        elif writes:
            reason = f"{_name(read)} does not change between two calls of `{call.function}` that can be seen"
            yield proved(read.op.span, reason)


def _is_only_held(call: CompiledCall, read: Read, flow: Flow) -> bool:
    """Whether nothing is computed from what is read: `self.state.apply_fn` is the same function ever after."""
    value = read.op.arguments.get("value")
    if not isinstance(value, Value):
        return False
    inside = {one for region in call.op.regions for one in region.walk()}
    given = any(value in region.results for one in (call.op, *inside) for region in one.regions)
    return not given and all(one.name == "py.read" for one in flow.readers.get(value, ()) if one in inside)


def _is_shown(read: Read, flow: Flow) -> bool:
    """Whether a read stands in what Python prints, which is told to run while tracing by another rule."""
    beside = flow.places.region_of[read.op].ops
    return any(one.name == "py.print" and one.span.covers(read.op.span) for one in beside)


def _name(read: Read) -> str:
    kind, _, name = read.state
    return f"{_SHOWN[kind]} `{name}`"


def _violation(call: CompiledCall, read: Read, late: Write) -> Obligation:
    # A model is read as a whole where compiled code runs it.
    body = call.op.regions[0].ops if late.whole and call.op.regions else ()
    runs = (op for op in body if any(read.op in region.walk() for region in op.regions))
    return Obligation(
        next(runs, read.op).span,
        message=f"{_name(read)} changes later, but `{call.function}` keeps what it was when `jit` traced it",
        current=f"`{call.function}` is compiled with the first value of {_name(read)}; the change has no effect",
        expected="what changes between calls is an argument",
        steps=(
            Step(call.op.span, f"`{call.function}` is compiled at its first call"),
            Step(late.op.span, f"{_name(read)} changes here"),
        ),
        suggestion=f"give it to `{call.function}` as an argument",
    )
