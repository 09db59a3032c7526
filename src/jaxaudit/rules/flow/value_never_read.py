"""The rule `value-never-read`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS, ARRAYS_OF_ITEMS, AVERAGES
from jaxaudit.ir.ops import ARRAYS
from jaxaudit.ir.reads import Dead, ScopeReads
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Subject, proved, unknown
from jaxaudit.rules.flow._shared.unread_fields import Records, UnreadField, records_of
from jaxaudit.rules.flow._shared.unused_results import unread_variables
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import lost_successors
from jaxaudit.spans import Span


class ValueNeverRead(Rule):
    """An array is computed and given a name, or put into a field of a record, and no path reads it.

    ## What it does
    Follows every value that a function gives to a name, along all branches and turns, to the places that read it.
    Finds arrays that nothing reads, values that continue a variable (`h = act(h)`) and are replaced before anyone
    looks, and variables that several branches set and none reads. Where a program runs as it stands, it follows the
    fields of records and the entries of dicts, too: one is read if anything reads it of any record of its class.

    ## Why is this bad?
    Whoever computed it meant to use it. Most often the value before it is read instead, or the line below starts again
    from the wrong variable.

    ## Example
        h = nn.Dense(64)(x)
        h = nn.relu(h)
        h = nn.Dense(64)(x)

    ## Use instead
        h = nn.Dense(64)(x)
        h = nn.relu(h)
        h = nn.Dense(64)(h)

    ## When it cannot tell
    That nothing reads it is sure; whether it was wanted is not, so this is a warning. First values that are replaced,
    constants, and what is kept for its effect alone are left out, and so are names that say so. What a module hands to
    whoever imports it may be read there, and an entry of a dict that sums data up may be there to be looked at.
    """

    needs = (Uses, Versions)
    summary = "A computed value is given a name that nothing reads."
    general = True
    valid = """
    ## read by the next turn
    def f(xs):
        last = jnp.zeros(3)
        for x in xs:
            y = x + last
            last = jnp.tanh(y)
        return y

    ## read by a function inside
    def f(x):
        y = jnp.sin(x)

        def inner():
            return y

        return inner

    ## a first value
    def f(x, flag):
        y = jnp.zeros(3)
        y = x if flag else -x
        return y

    ## fields that are read by position, or by whoever calls
    from typing import NamedTuple

    class Stats(NamedTuple):
        mean: jax.Array
        spread: jax.Array

    def stats(x):
        return Stats(x.mean(), x.std())

    def scaled(x):
        mean, spread = stats(x)
        return (x - mean) / spread

    def parts(x):
        return {"low": x.min(), "high": x.max()}

    print(scaled(jnp.arange(4.0)))

    ## an entry that sums data up
    def measured(x):
        return {"mean": x.mean(), "spread": x.std()}

    print(measured(jnp.arange(4.0))["mean"])
    """
    invalid = """
    ## never read
    def f(x, weights):
        total = jnp.sum(x * weights)  #?
        return x / jnp.sum(weights)

    ## converted and never read
    def target(batch, gamma, value):
        rewards = jnp.asarray(batch.reward)
        dones = jnp.asarray(batch.done, dtype=jnp.float32)  #?
        return rewards + gamma * value

    ## a term of a loss
    def loss(params, x, y):
        error = jnp.mean((x @ params["w"] - y) ** 2)
        decay = 1e-3 * jnp.sum(params["w"] ** 2)  #!
        return error

    def step(params, x, y):
        return jax.grad(loss)(params, x, y)

    ## started again from the wrong variable
    def f(x, w, v):
        h = x @ w
        h = jnp.tanh(h)  #?
        h = x @ v
        return h

    ## a field that no code reads
    from typing import NamedTuple

    class Batch(NamedTuple):
        inputs: jax.Array
        weights: jax.Array

    def draw(key, x, density):
        rows = jax.random.randint(key, (8,), 0, 100)
        return Batch(x[rows], 1.0 / density[rows])  #?

    def loss(w, batch):
        return jnp.mean((batch.inputs @ w) ** 2)

    def main():
        batch = draw(jax.random.key(0), jnp.ones((100, 3)), jnp.ones(100))
        print(jax.grad(loss)(jnp.ones(3), batch))

    main()

    ## an entry that no code reads
    def forces(x, v):
        return {"spring": -2.0 * x, "drag": -0.3 * v * jnp.abs(v)}  #?

    def main():
        print(forces(jnp.ones(3), jnp.ones(3))["spring"])

    main()
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that reads all it binds, every value of the others that is lost, and all records."""
        for made in records_of(program, facts):
            yield from _fields(made)
        if not program.reads:
            return
        computed = list(program.named(*(ARRAYS - _FIRST), "collective"))
        arrays = {op.span for op in computed if _gives_array(op, facts.flow)}
        # What is made of nothing may be a first value; what is made of data was meant to be read.
        given = {op.span for op in program.named("array.create") if op.operands and op.function in ARRAYS_OF_ITEMS}
        joined = {op.span for op in computed if len(op.operands) > 1}
        acting = {op.span for op in program.named("py.call_unknown")}
        told = {one.note.span for one in unread_variables(program, facts.flow)}
        told |= {note.span for note in lost_successors(facts)}
        terms = _lost_terms(facts)
        for scope in program.reads:
            # A part that is called unwanted where results are taken apart is as good as read.
            dead = [one for one in scope.dead if one.made is not None or not is_unwanted(one.name)]
            left = {one.made for one in dead if one.again is None and one.made in given}
            # A call that could not be followed may be there for what it does, such as drawing a plot.
            known = [one for one in dead if one.made not in acting or one.made in arrays | left]
            matters = [one for one in known if one.made in terms or _matters(one, scope, arrays | left, joined)]
            lost = [one for one in matters if not is_unwanted(one.name) and one.span not in told]
            if dead and not lost and not any(one.span in told for one in dead):
                yield unknown(dead[0].span, f"whether `{dead[0].name}`, which nothing reads, is wanted is not known")
            elif not dead and scope.unsure:
                reason = f"which value of `{scope.unsure}` the functions inside `{scope.label}` read is not known"
                yield unknown(scope.span, reason)
            elif not dead and scope.bound:
                yield proved(scope.span, f"each of the {scope.bound} values bound in `{scope.label}` is read")
            yield from (_term(one, terms[one.made]) if one.made in terms else _finding(one) for one in lost)


def _lost_terms(facts: Facts) -> dict[Span | None, bool]:
    """Return what functions that are differentiated compute from what is trained and never read.

    With each, whether it is one number with a weight: a term that was meant to be added.
    """
    flow, found = facts.flow, dict[Span | None, bool]()
    for op in facts.program.named("grad"):
        region = op.regions[0]
        trained = [region.params[at] for at in op.differentiated or () if at < len(region.params)]
        for note in region.ops:
            if note.name == "py.unread" and note.kind == "variable" and note.made_at is not None:
                for value in note.values or ():
                    if trained and depends(flow, value, trained):
                        found[note.made_at] = _is_weighted(value, trained, facts)
    return found


def _is_weighted(value: Value, trained: Sequence[Value], facts: Facts) -> bool:
    made = facts.flow.maker(value)
    if made is None or made.function != "multiply":
        return False
    sides = [isinstance(one, Value) and depends(facts.flow, one, trained) for one in made.arguments.values()]
    learned = [one for one, own in zip(made.arguments.values(), sides, strict=True) if own and isinstance(one, Value)]
    return len(learned) == 1 and _is_number(facts.flow.maker(learned[0]))


def _is_number(made: Op | None) -> bool:
    """Whether an op adds up or averages to one number."""
    return made is not None and made.function in (*ADDITIONS, *AVERAGES, "builtins.sum") and not made.has("axis")


def _term(one: Dead, weighted: bool) -> Obligation:
    """Judge what a loss computes for nothing; one number with a weight is no measure that somebody looks at."""
    return replace(
        _finding(one),
        severity=Severity.ERROR if weighted and one.again is None else Severity.WARNING,
        message=f"`{one.name}` is computed from what is trained, and is neither in the loss nor read",
        current="nothing is trained by it: the loss is computed without it",
        expected="every term of a loss is in what the function returns",
        suggestion=f"add `{one.name}` to the loss, or delete this line",
    )


_FIRST = frozenset(("array.create", "array.shape", "array.numpy"))
"""What is made only to be replaced, or read from an array that stays what it is."""


def _gives_array(op: Op, flow: Flow) -> bool:
    """Whether an op surely gives an array: an operator may also work on numbers of Python."""
    makers = (flow.maker(value) for value in op.operands if op.is_operator)
    return not op.is_operator or any(one is not None and one.name in ARRAYS and not one.is_operator for one in makers)


def _matters(one: Dead, scope: ScopeReads, arrays: set[Span], joined: set[Span]) -> bool:
    """Whether a lost value was computed, and nothing says that it is not wanted."""
    if one.made is None:
        return False
    continued = one.renews and one.again is not None
    # Two values that may be numbers of Python are joined, and one of them is read in the place of what they give.
    replaced = one.made in joined and bool(one.instead)
    return one.made in arrays or continued or replaced or _is_set_in_vain(one, scope)


def _is_set_in_vain(one: Dead, scope: ScopeReads) -> bool:
    """Whether several branches set a variable, and this is the first of them."""
    same = [other for other in scope.dead if other.name == one.name and other.made is not None]
    return same[0] is one and one.others > 0 and len(same) == one.others + 1 and all(not other.again for other in same)


def _fields(one: Records) -> Iterator[Obligation]:
    """Judge what is computed for the fields of a record."""
    cls = one.made.class_name or "dict"
    if one.open:
        yield unknown(one.made.span, f"whether each field is read is not known: {one.open}")
    elif not one.unread:
        yield proved(one.made.span, f"each field of `{cls}` that is computed here is read somewhere")
    else:
        yield from map(_unread_field, one.unread)


def _unread_field(one: UnreadField) -> Obligation:
    cls = one.made.class_name
    what = f"the field `{one.name}` of `{cls}`" if cls else f"the entry `{one.name}`"
    return Obligation(
        one.made.span,
        severity=Severity.WARNING,
        message=f"{what} is computed for nothing: no code reads it",
        current=f"what is computed for `{one.name}` goes nowhere, while `{one.beside}` beside it is read",
        expected=f"some code goes on with `{one.name}`",
        steps=(Step(one.value.span, f"`{one.name}` is computed here"),),
        suggestion=f"read `{one.name}` where it was meant, or take it away",
        subject=Subject(names=(one.name,), tried=True),
    )


def _finding(one: Dead) -> Obligation:
    again, instead = one.again, one.instead[:1]
    lost = "nothing reads it" if again is None else f"line {again.line} binds it again first"
    steps = [] if again is None else [Step(again, f"`{one.name}` is bound again here")]
    steps += [Step(span, f"`{name}`, which it was made of, is read here") for name, span in instead]
    return Obligation(
        one.span,
        severity=Severity.WARNING,
        message=f"`{one.name}` is computed here for nothing: {lost}",
        current=f"the value of `{one.name}` that is computed here goes nowhere",
        expected="the code below goes on with it",
        steps=tuple(steps),
        suggestion=f"read `{one.name}` where it was meant, or delete this line",
        subject=Subject(names=(one.name,), tried=True),
    )
