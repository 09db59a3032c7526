"""The rule `tracer-leak`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES, DERIVATIVES
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, proved, unknown
from jaxaudit.rules.jit._shared.phrases import because, steps_of, transform
from jaxaudit.rules.jit._shared.stores import Store, is_overwritten, outer_stores, undisturbed
from jaxaudit.rules.jit._shared.variables import judged_variables
from jaxaudit.spans import Span

_RETURN = "return the value instead of storing it"


class TracerLeak(Rule):
    """A traced value is stored where it outlives the tracing.

    ## What it does
    Looks at attributes, globals, variables of enclosing functions, lists and dicts from outside that traced code
    assigns, and at functions with a cache (`functools.lru_cache`) that traced code calls.

    Variables of `flax.nnx`, and layers that change theirs, are changed where they were made: nowhere else.

    ## Why is this bad?
    A tracer means something only while its function is traced. Whoever uses it later gets `UnexpectedTracerError`; a
    cache hands it to the next function that asks.

    ## Example
        losses = []


        @jax.jit
        def step(x):
            loss = jnp.sum(x**2)
            losses.append(loss)
            return x - loss

    ## Use instead
        @jax.jit
        def step(x):
            loss = jnp.sum(x**2)
            return x - loss, loss

    ## When it cannot tell
    Where it is not known whether the stored value is traced, the store stays open. State of Flax and Haiku modules is
    theirs to handle. An attribute that traced code writes first and reads afterwards, and nobody else as far as can be
    seen, is a warning: some libraries use objects so, as registers of one computation.
    """

    summary = "A traced value is stored outside of the traced code, where it means nothing."
    needs = (TracingFacts,)

    valid = """
    ## a list of its own, and a cache of NumPy arrays
    import functools
    import numpy as np

    @functools.lru_cache
    def table(n):
        return np.arange(n) / n

    @jax.jit
    def step(x):
        parts = []
        parts.append(x * table(x.shape[0]))
        parts.append(x + 1)
        return jnp.stack(parts)

    ## the state of a module is carried as data
    from flax import nnx

    class Norm(nnx.Module):
        def __init__(self, size):
            self.mean = nnx.Variable(jnp.zeros(size))

        def observe(self, x):
            self.mean[...] = 0.9 * self.mean[...] + 0.1 * x

    @nnx.jit
    def track(norm, xs):
        graph, state = nnx.split(norm)

        def body(state, x):
            local = nnx.merge(graph, state)
            local.observe(x)
            return nnx.state(local), x - local.mean[...]

        norm.observe(xs[0])
        return jax.lax.scan(body, state, xs)

    track(Norm(3), jnp.ones((8, 3)))
    """
    invalid = """
    ## a list from outside
    losses = []

    @jax.jit
    def step(x):
        loss = jnp.sum(x**2)
        losses.append(loss)  #!
        return x - loss

    ## a function that closes over a tracer, and an update of a dict from outside
    def trainer(seen):
        step_fn, found = None, {}

        @jax.jit
        def step(state, args):
            nonlocal step_fn
            scaled = lambda s: s * args
            step_fn = lambda s: s + scaled(s)  #!
            found.update(loss=state.sum())  #!
            return step_fn(state)
        return step, lambda state: step_fn(state)

    ## a cache of tracers
    import functools

    @functools.lru_cache
    def table(n):
        return jnp.arange(n) / n

    @jax.jit
    def step(x):
        return x * table(x.shape[0])  #!

    ## a variable that another trace made
    from flax import nnx

    class Norm(nnx.Module):
        def __init__(self, size):
            self.mean = nnx.Variable(jnp.zeros(size))

        def observe(self, x):
            self.mean[...] = 0.9 * self.mean[...] + 0.1 * x  #!

    @nnx.jit
    def track(norm, xs):
        def body(total, x):
            norm.observe(x)
            return total + x, x - norm.mean[...]

        return jax.lax.scan(body, jnp.zeros(3), xs)

    track(Norm(3), jnp.ones((8, 3)))

    ## averages and draws that layers keep in themselves
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.rngs = rngs
            self.norm = nnx.BatchNorm(4, rngs=rngs)
            self.drop = nnx.Dropout(0.1, rngs=rngs)

        def __call__(self, x):
            return self.drop(self.norm(x))  #!

        def noisy(self, x):
            return x + jax.random.normal(self.rngs.noise(), x.shape)  #!

    net = Net(nnx.Rngs(0))
    out = jax.lax.map(net, jnp.ones((5, 8, 4)))
    slope = jax.vmap(net.noisy)(jnp.ones((8, 4)))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that traced code stores outside of itself."""
        found = facts.get(TracingFacts)
        yield from (_judge(store, facts.flow) for store in outer_stores(found))
        yield from undisturbed(program, found, "jit")
        yield from judged_variables(facts)
        yield from _cached(found)


def _judge(store: Store, flow: Flow) -> Obligation:
    span = store.visit.op.span
    if store.tracer.name in DERIVATIVES and _has_own_derivative(store, flow):
        return unknown(span, "a function with a derivative of its own gets the numbers, not what is traced")
    if store.fact.kind is Kind.UNKNOWN and _depends_on_differentiated(store, flow):
        return _stored(store, Trace(Kind.TRACED, "array", by=store.tracer, way="argument"), flow)
    if store.fact.kind is Kind.UNKNOWN or store.tracer.name == "abstract":
        return unknown(span, f"whether what {store.target} gets is traced is not known")
    if store.fact.kind is not Kind.TRACED:
        return proved(span, f"what {store.target} gets is a Python value")
    if is_overwritten(store, flow):
        return proved(span, f"{store.target} gets another value before the traced code ends")
    if store.stays:
        return proved(span, f"{store.target} lives where its value is traced")
    return _stored(store, store.fact, flow)


def _stored(store: Store, fact: Trace, flow: Flow) -> Obligation:
    message = f"a value that {transform(fact.by)} traces is stored in {store.target}"
    found = _leak(store.visit.op.span, fact, message, _RETURN)
    return replace(found, severity=Severity.WARNING) if _is_register(store, flow) else found


def _has_own_derivative(store: Store, flow: Flow) -> bool:
    """Whether the derivative that traces goes by a rule, and does not look into the function that stores."""
    inside = flow.around(store.visit.op, store.tracer)
    return any(one.name in CUSTOM_DERIVATIVES for one in inside)


def _is_register(store: Store, flow: Flow) -> bool:
    """Whether a place is written first, then read while JAX traces, and as far as can be seen never after."""
    op, name = store.visit.op, store.visit.op.label
    if op.name != "py.store_attr":
        return op.is_private and flow.places.region_of[op] in store.tracer.regions
    holder, owner = op.arguments.get("object"), op.object_id
    places, whole = flow.places, store.tracer.regions[-1]
    stored = values_in(op.arguments.get("value"))
    users = [region for value in stored for region in places.escaped.get(value, ())]
    inside = list(whole.walk())
    if op not in inside or not all(places.within(region, whole) for region in users):
        return False
    if owner is not None:
        # Another function takes it out again, and none has read what was there before.
        return bool(users) and not any(_reads(one, name, owner) for one in inside)
    reads = [at for at, one in enumerate(inside) if _reads(one, name, None)]
    if not reads or min(reads) < inside.index(op):
        return False
    later = {one for one in flow.program.named("py.attr") if one.label == name} - set(inside)
    return not any(one.arguments.get("base") is holder for one in later)


def _reads(op: Op, name: str, owner: object) -> bool:
    """Whether an op reads an attribute of a known object, or of one that is not known."""
    if op.label != name:
        return False
    return op.name == "py.attr" if owner is None else op.name == "py.read" and op.owner == owner


def _depends_on_differentiated(store: Store, flow: Flow) -> bool:
    """Whether a stored value is computed from the first argument of a function that `grad` differentiates."""
    tracer, params = store.tracer, store.tracer.regions[0].params
    if tracer.name != "grad" or (tracer.options or {}).get("argnums", 0) != 0 or not params:
        return False
    return any(depends(flow, value, params[:1]) for value in values_in(store.visit.op.arguments.get("value")))


def _cached(found: TracingFacts) -> Iterator[Obligation]:
    for visit in found.of("cached"):
        for fact in visit.facts.values():
            function = visit.op.qualified
            if fact.traced_array:
                message = f"`{function}` caches an array that {transform(fact.by)} traces"
                yield _leak(visit.op.span, fact, message, "compute it with NumPy, or drop the cache")
            elif fact.kind is Kind.UNKNOWN:
                yield unknown(visit.op.span, f"whether what `{function}` caches is traced is not known")
            elif fact.kind is not Kind.TRACED:
                yield proved(visit.op.span, f"what `{function}` caches is not traced")


def _leak(span: Span, fact: Trace, message: str, suggestion: str) -> Obligation:
    return Obligation(
        span,
        message=message,
        current=f"{because(fact)}; outside of it the value raises `UnexpectedTracerError`",
        raises=Raises.LATER,
        expected="values leave traced code as results",
        steps=steps_of(fact),
        suggestion=suggestion,
    )
