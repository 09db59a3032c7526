"""The rule `normalised-value-unread`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.meaning import Kind, Meanings, meanings_of
from jaxaudit.analyses.queries import depends, entered, reached, sources, through_ops
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import RECTIFIERS
from jaxaudit.ir.ops import MOVING
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import goes_on_from
from jaxaudit.spans import Span


class NormalisedValueUnread(Rule):
    """A value is normalised into a variable that nothing reads, and read as it was.

    ## What it does
    Finds variables that nothing reads and that hold a normalised form of another one, `(x - mean) / std` or what a
    normalisation layer gives, where the raw value is read afterwards; and what `relu` and its kin give.

    ## Why is this bad?
    What follows sees the raw value at its own scale: features on a large scale swamp the others, and a network that
    was trained on normalised observations sees others. Nothing is raised.

    ## Example
        clean = (obs - obs.mean(0)) / (obs.std(0) + 1e-8)
        return policy(params, obs)

    ## Use instead
        clean = (obs - obs.mean(0)) / (obs.std(0) + 1e-8)
        return policy(params, clean)

    ## When it cannot tell
    A difference divided by stored numbers need not be a normalisation. Then it is an error only where the raw value
    enters a network, else a warning. A name that begins with an underscore says that it is not wanted.
    """

    summary = "A raw value is read after it was normalised into a variable that nothing reads."

    valid = """
    ## the normalised one is read
    def act(w, obs):
        clean = (obs - obs.mean(0)) / (obs.std(0) + 1e-8)
        return jnp.tanh(clean @ w)

    ## an activation beside what it is given, and a result that is not wanted
    def layer(w, x):
        h = x @ w
        _active = jax.nn.relu(h)
        probabilities = jax.nn.softmax(h)
        return jax.nn.gelu(h) + h
    """
    invalid = """
    ## the raw one is read
    def act(w, obs):
        clean = (obs - obs.mean(0)) / (obs.std(0) + 1e-8)
        return jnp.tanh(obs @ w)  #!

    ## by stored statistics
    def scale(obs, mean, spread):
        clean = (obs - mean) / spread
        return obs * 2.0  #?

    ## an activation that is left
    def embedded(t, n):
        embeddings = jnp.repeat(t[..., None], n, axis=-1)
        embedding = jax.nn.relu(embeddings)
        return embeddings  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every variable with a normalised value."""
        meanings, flow = meanings_of(facts), facts.flow
        for note in program.named("py.unread"):
            if note.values is not None and len(note.values) == 1 and note.made_of and not is_unwanted(note.label):
                yield from _judge(note, note.values[0], meanings)
        for op in program.mapping("divide"):
            value = op.result
            if value.name and flow.is_read(value) and _is_normalised(value, meanings):
                yield proved(op.span, f"the normalised `{value.name}` is read")


def _is_normalised(value: Value, meanings: Meanings) -> bool:
    found = meanings.of(value)
    return found is not None and found.kind is Kind.NORMALISED


def _judge(note: Op, value: Value, meanings: Meanings) -> Iterator[Obligation]:
    def is_raw(variable: str, leaves: tuple[Value, ...]) -> bool:
        return len(leaves) == 1 and _is_raw(leaves[0], value, meanings)

    sure, flow = _is_normalised(value, meanings), meanings.flow
    activation = _activation(value, flow)
    if activation is not None:
        given = sources(flow, activation.operands, through_ops("array.convert"))
        for variable, _, ways in goes_on_from(note, flow, lambda _, leaves: len(leaves) == 1 and leaves[0] in given):
            yield _left(note, variable, activation, ways[0].at)
            return
    going = goes_on_from(note, flow, is_raw) if sure or _scaled(value, flow) is not None else ()
    for variable, leaves, ways in going:
        read = ways[0].at
        yield _finding(note, variable, read, sure=sure or _enters_network(leaves[0], read, flow))
        return


def _is_raw(raw: Value, value: Value, meanings: Meanings) -> bool:
    """Whether a value goes into the normalisation as its data, and was not normalised before."""
    found, flow = meanings.of(value), meanings.flow
    if not depends(flow, value, (raw,)) or _is_normalised(raw, meanings):
        return False
    if found is None or found.kind is not Kind.NORMALISED:
        data = _scaled(value, flow)
        # The size or a summary of a value is computed from it, and holds none of its elements.
        return data is not None and raw in sources(flow, (data,), through_ops("array.map", *MOVING))
    return any(depends(flow, one, (raw,)) for one in _data(found.made))


def _data(op: Op) -> Iterator[Value]:
    """Return what an op computes with, but for the object whose method it is."""
    return (one for name, one in op.arguments.items() if name != "self" and isinstance(one, Value))


def _enters_network(raw: Value, read: Span, flow: Flow) -> bool:
    """Whether the raw value is multiplied with something where it is read."""
    takers = [op for op in flow.readers.get(raw, ()) if op.span.line <= read.line <= op.span.end_line]
    given = [one for op in takers for one in (*entered(op, raw), *op.results) if op.name not in ("grad", "jit")]
    makers = [*takers, *(flow.maker(one) for one in reached(flow, given))]
    return any(op is not None and op.name in ("array.dot", "array.convolve") for op in makers)


def _activation(value: Value, flow: Flow) -> Op | None:
    """Return the activation that gives a value, where it is given one array alone."""
    op = origin(flow, value, {}).op
    return op if op is not None and op.function in RECTIFIERS and len(op.operands) == 1 else None


def _left(note: Op, variable: str, activation: Op, read: Span) -> Obligation:
    name, function = note.label, activation.function
    return Obligation(
        read,
        message=f"`{variable}` is read here, though it went through `{function}` as `{name}`, which nothing reads",
        current=f"what follows sees `{variable}` as it was before `{function}`",
        expected=f"what follows sees `{name}`",
        steps=(Step(note.span, f"`{name}` is made from `{variable}` here"),),
        suggestion=f"read `{name}` instead of `{variable}`, or leave the activation out",
    )


def _scaled(value: Value, flow: Flow) -> Value | None:
    """Return `x` where a value is `(x - mean) / scale`, the form of a normalisation by stored statistics."""
    op = origin(flow, value, {}).op
    above = op.value("x") if op is not None and op.function == "divide" else None
    made = None if above is None else flow.maker(above)
    return made.value("x") if made is not None and made.function == "subtract" else None


def _finding(note: Op, variable: str, read: Span, *, sure: bool) -> Obligation:
    name = note.label
    return Obligation(
        read,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"raw `{variable}` is read here, though it was normalised as `{name}`, which nothing reads",
        current=f"what follows sees `{variable}` at its own scale",
        expected=f"what follows sees `{name}`",
        steps=(Step(note.span, f"`{name}` is made from `{variable}` here"),),
        suggestion=f"read `{name}` instead of `{variable}`, or leave the normalisation out",
    )
