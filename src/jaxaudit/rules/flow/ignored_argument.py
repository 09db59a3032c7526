"""The rule `ignored-argument`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import behind, carried_on, depends, holders, made_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.uses import EFFECTS, Uses
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import BODIES, HOLDING, MAPPED
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Subject, named, proved, unknown
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.flow._shared.unused_results import Unread, Wasted, unread_by_scans, unread_variables
from jaxaudit.rules.pytrees._shared.crossing import is_called

_OURS = ("jit", "vmap", "pmap", "grad", "checkpoint")
"""Ops whose function may have any parameters: those of a scan's body, say, are prescribed."""
_HOLDING = through_ops(*HOLDING, "array.join")
_LONG = 8
"""A function with more parameters than this may well have one left over."""

Function = tuple[str, str]
"""The file of a function, and its name."""
Parameter = tuple[str, str, int | None]
"""The file of a parameter, its name and its position."""
_MANY = 3
"""So many functions, or so many parameters, are no slip: they keep to an interface."""


class IgnoredArgument(Rule):
    """A function is given data that it never looks at.

    ## What it does
    Finds parameters that the body never mentions, of functions that are transformed and called with data. Methods,
    lambdas, stubs and functions whose signature is prescribed (the body of a scan, a branch, a callback) are left
    alone, and so are names that say so: an underscore in front, or `unused`.

    ## Why is this bad?
    Where one parameter of several is never read, the wrong variable of the enclosing function is often read instead:
    the body sees the outer `params` in place of its own. If it is the argument that is differentiated, the gradient
    is zero.

    ## Example
        def loss(params, x, y):
            return jnp.mean(model(params, x) ** 2)

    ## Use instead
        def loss(params, x, y):
            return jnp.mean((model(params, x) - y) ** 2)

    ## When it cannot tell
    A parameter may be there to fit an interface, so this is a warning, except for the argument of a gradient, and for
    an array that is computed to be scanned and for nothing else. It is an error, too, where a parameter is read only
    for the sake of a variable that nobody reads, and where a plain function is given data that it never reads: for an
    optional parameter, or computed for it alone; or where it is told by a flag of an event that its result is carried
    on over, from turn to turn. A function that is handed on, decorated, or like another one may have
    to fit an interface, and is left alone.
    """

    summary = "A parameter that is given data is never read."
    needs = (Shapes, Uses)
    general = True

    valid = (
        Example("@jax.jit\ndef f(x, y):\n    return x + y\n\ndef g(a, b):\n    return f(a, b)\n", "both read"),
        Example(
            "def f(xs):\n    def body(carry, x):\n        return carry + 1, None\n"
            "    return jax.lax.scan(body, 0, xs)\n",
            "prescribed",
        ),
        Example(
            "def f(rewards, dones):\n    alive = 1.0 - dones\n\n    def body(total, step):\n"
            "        reward, _ = step\n        return total + reward, total\n\n"
            "    return jax.lax.scan(body, 0.0, (rewards, alive))\n",
            "said to be unread",
        ),
    )
    invalid = (
        Example(
            "@jax.jit\ndef f(x, y, n):  #?\n    return x + n\n\ndef g(a, b):\n    return f(a, b, a)\n", "never read"
        ),
        Example(
            "def train(params, x):\n    def loss(p, x):  #!\n        return (params * x).sum()\n"
            "    return jax.grad(loss)(params, x)\n",
            "the differentiated one",
        ),
        Example(
            "def returns(rewards, dones):\n    alive = 1.0 - dones  #!\n\n    def body(total, step):\n"
            "        reward, keep = step\n        total = reward + 0.99 * total\n        return total, total\n\n"
            "    return jax.lax.scan(body, 0.0, (rewards, alive), reverse=True)[1]\n",
            "computed for a scan",
        ),
        Example(
            "def returns(rewards, dones, last):  #!\n    total = last\n"
            "    for i in reversed(range(4)):\n        total = rewards[i] + 0.99 * total\n    return total\n\n"
            "def f(rewards, ends):\n    return returns(rewards, jnp.cumsum(ends), jnp.zeros(3))\n",
            "a helper that was given data",
        ),
        Example(
            "def explore(w, x, key, scale):\n    action = jnp.tanh(x @ w)\n"
            "    noisy = action + scale * jax.random.normal(key, (3,))  #!\n    return action\n\n"
            "def act(w, x, key):\n    return explore(w, x, key, jnp.ones(()))\n",
            "the noise is left",
        ),
        Example(
            "def push(stack, frame, done):  #!\n    return jnp.concatenate([stack[1:], frame[None]])\n\n"
            "def roll(state, stack, actions):\n    def body(carry, action):\n        state, stack = carry\n"
            "        state = state + action\n        done = state > 9\n"
            "        state = jnp.where(done, 0, state)\n        stack = push(stack, state, done)\n"
            "        return (state, stack), (stack, done)\n\n"
            "    return jax.lax.scan(body, (state, stack), actions)\n",
            "an event that what is carried on does not hear of",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every transformed function and every parameter that is never read."""
        flow = facts.flow
        yield from _unread_parameters(program, facts)
        yield from (_computed_for_nothing(one) for one in unread_by_scans(program, flow))
        yield from (_left(one) for one in unread_variables(program, flow))
        replaced = {scope.span: one.name for scope in program.reads for one in scope.dead if one.param}
        for op in program.named(*_OURS):
            region = op.regions[0] if op.regions else None
            if region is None or any(_is_note(inner) for inner in region.ops):
                continue
            if lost := replaced.get(region.span):
                reason = f"`{region.label}` binds `{lost}` again before anything reads what it is given"
                yield unknown(region.span, reason)
            else:
                yield proved(region.span, f"`{region.label}` reads all its parameters")


def _is_note(op: Op) -> bool:
    return op.name == "py.unread" and op.kind == "parameter"


def _unread_parameters(program: Program, facts: Facts) -> Iterator[Obligation]:
    flow, notes = facts.flow, [op for op in program.named("py.unread") if _is_note(op)]
    prescribed, several = _interfaces(notes)
    for note in notes:
        if note.is_stub or note.may_override:
            continue
        if _parameter(note) in prescribed:
            yield unknown(note.span, f"`{note.label}` is left alone by several functions, which may fit an interface")
            continue
        holder = flow.holder(note)
        if holder is not None and _is_one_of_several(holder, flow):
            yield unknown(note.span, f"`{note.qualified}` is called in the place of others, and may have to fit them")
        elif (told := _told_of(note, facts)) is not None:
            yield _idle(note, told, sure=True)
        elif not _is_free(note):
            yield unknown(note.span, f"whether `{note.qualified}` may do without `{note.label}` is not known")
        elif holder is not None and holder.name in _OURS and is_called(holder):
            if note.is_handed_on and not _is_differentiated(note, holder):
                yield unknown(note.span, f"`{note.qualified}` is handed on, and may have to take what it is given")
                continue
            yield _never_read(note, holder, facts)
        elif (call := _call_with_data(note, flow)) is not None:
            yield _idle(note, call, sure=_is_sure(note, call, facts) and _function(note) not in several)
        else:
            yield unknown(note.span, f"what `{note.qualified}` is given for `{note.label}`, and why, is not known")


def _told_of(note: Op, facts: Facts) -> Op | None:
    """Return the call that tells a function of an event, where what the function gives is carried on over that event.

    Each turn of a loop makes a flag, and hands it to the function that makes the next version of what is carried.
    """
    value, flow, shapes = noted(note), facts.flow, facts.get(Shapes)
    region = flow.places.region_of[note]
    if not note.is_chosen or value is None or value not in region.params:
        return None
    for call in holders(flow, region):
        flags = list(given_as(call, region, value)) if call.name in BODIES | MAPPED else []
        on = {param: loop for result in call.results for param, loop in carried_on(flow, result)}
        renewed = [loop for param, loop in on.items() if any(depends(flow, one, (param,)) for one in call.operands)]
        truths = (made_of(flow, one, through_ops("array.convert")) for one in flags)
        homes = [flow.places.region_of_value(one) for one in truths if shapes.of(one).dtype == "bool"]
        if any(flow.places.within(home, loop.body) for home in homes for loop in renewed):
            return call
    return None


def _is_one_of_several(call: Op, flow: Flow) -> bool:
    """Whether a call runs one of several functions, whichever it is given."""
    around = flow.places.holder.get(id(flow.places.region_of[call]))
    return around is not None and around.construct == "one of"


def _is_free(note: Op) -> bool:
    """Whether nothing but its author decides what parameters a function has, and it is given something for this one."""
    dictated = note.is_method or note.is_stub or note.qualified == "lambda"
    return not dictated and bool(note.values) and note.read_count != 0


def _interfaces(notes: list[Op]) -> tuple[set[Parameter], set[Function]]:
    """Return the parameters that several functions or files leave alone, and the functions that leave several."""
    functions, files = defaultdict[Parameter, set[Function]](set), defaultdict[tuple[str, str], set[str]](set)
    parameters = defaultdict[Function, set[Parameter]](set)
    for note in notes:
        functions[_parameter(note)].add(_function(note))
        files[note.qualified, note.label].add(note.span.path)
        parameters[_function(note)].add(_parameter(note))
    shared = {
        _parameter(note)
        for note in notes
        if max(len(functions[_parameter(note)]), len(files[note.qualified, note.label])) >= _MANY
    }
    return shared, {function for function, left in parameters.items() if len(left) >= _MANY}


def _parameter(note: Op) -> Parameter:
    return note.span.path, note.label, note.position


def _function(note: Op) -> Function:
    return note.span.path, note.qualified


def _call_with_data(note: Op, flow: Flow) -> Op | None:
    """Return the call that hands an array or number to a parameter that nothing but the function's calls prescribes."""
    value, region = noted(note), flow.places.region_of[note]
    if not note.is_chosen or value is None or value not in region.params:
        return None
    calls = holders(flow, region)
    # What the calls give must be data, and no key: those are handed around by custom.
    given = [one for call in calls if call.name == "py.call" for one in given_as(call, region, value)]
    return next(iter(calls), None) if len(given) == len(calls) and all(_is_data(flow, one) for one in given) else None


def _makers(flow: Flow, value: Value) -> list[Op | None]:
    """Return the ops that made a value, or the arrays that it is a part of; None for what comes from outside."""
    made = origin(flow, value, {}).op
    if made is not None:
        return [made]
    ends = (one for one in walk((value,), lambda one: _held_by(flow, one)) if not _held_by(flow, one))
    return list(dict.fromkeys(flow.own_maker(one) for one in ends))


def _held_by(flow: Flow, value: Value) -> Sequence[Value]:
    """Return what a value was called elsewhere, and what it is a part of; the place that it has there is no part."""
    op = flow.own_maker(value)
    base = op.argument("iterable", "base") if op is not None and op.name in ("py.element", "py.item") else None
    return (base,) if isinstance(base, Value) else behind(flow, value, _HOLDING)


def _is_data(flow: Flow, value: Value) -> bool:
    """Whether a value is surely an array or a number: computed, drawn, or one of some numbers."""
    return all(op is not None and _makes_data(op) for op in _makers(flow, value))


def _makes_data(op: Op) -> bool:
    if op.name == "py.element":
        items = op.arguments.get("iterable")
        return isinstance(items, tuple) and all(isinstance(one, int | float) for one in items)
    return op.name == "key.draw" or (op.name.startswith("array.") and op.name not in ("array.shape", "array.numpy"))


def _is_sure(note: Op, call: Op, facts: Facts) -> bool:
    """Whether someone wants an unread parameter: it is given though it need not be, or computed for it alone."""
    value, region = noted(note), call.regions[0]
    params = region.params
    given = [] if value is None or value not in params else list(given_as(call, region, value))
    if not given or len(params) > _LONG:
        return False
    return note.is_optional or _is_made_for(given[0], call, facts)


def _is_made_for(value: Value, call: Op, facts: Facts) -> bool:
    """Whether a value is computed for one call alone, directly before it or anywhere in the program."""
    flow, uses = facts.flow, facts.get(Uses)
    if flow.maker(value) is not None:
        return all(one is call for one in flow.readers.get(value, ())) and value not in flow.leaving
    makers = _makers(flow, value)
    lost = (
        op is not None and op.operands and not any(uses.becomes(one) & EFFECTS for one in op.results) for op in makers
    )
    return all(lost)


def _is_differentiated(note: Op, holder: Op) -> bool:
    argnums = (holder.options or {}).get("argnums", 0)
    given = next(iter(note.values or ()), None) in holder.regions[0].params
    return holder.name == "grad" and given and note.position in (argnums if isinstance(argnums, tuple) else (argnums,))


def _never_read(note: Op, holder: Op, facts: Facts) -> Obligation:
    name, function, value, flow = note.label, note.qualified, noted(note), facts.flow
    zero = _is_differentiated(note, holder)
    given = [] if value not in holder.regions[0].params else list(given_as(holder, holder.regions[0], value))
    wanted = note.is_chosen and _is_sure(note, holder, facts) and all(_is_data(flow, one) for one in given)
    return Obligation(
        note.span,
        severity=Severity.ERROR if zero or wanted else Severity.WARNING,
        message=f"`{function}` never reads its parameter `{name}`" + (", so its gradient is zero" if zero else ""),
        current=f"`{name}` is given data, and the body of `{function}` never mentions it",
        expected=f"`{function}` uses `{name}`, or does not take it",
        steps=(Step(holder.span, f"`{function}` is given data for `{name}` here"),),
        suggestion=f"use `{name}`, remove it, or call it `_{name}` if it only fits an interface",
        subject=Subject(names=(name,)),
    )


def _idle(note: Op, call: Op, *, sure: bool) -> Obligation:
    name, function = note.label, note.qualified
    return Obligation(
        note.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{function}` is given data for `{name}` and never reads it",
        current=f"what `{function}` gives does not depend on `{name}`, whatever it is",
        expected=f"`{function}` uses `{name}`, or does not take it",
        steps=(Step(call.span, f"`{name}` is given here"), *_returns(call, name)),
        suggestion=f"use `{name}`, or remove it here and from the calls",
        subject=Subject(names=(name,)),
    )


def _returns(call: Op, name: str) -> Iterator[Step]:
    """Return where a function gives what does not depend on a parameter."""
    ends = (op for op in call.regions[0].ops if op.name == "py.return")
    return (Step(op.span, f"what is given here does not depend on `{name}`") for op in ends)


def _left(unread: Unread) -> Obligation:
    name, params = unread.note.label, ", ".join(f"`{one}`" for one in unread.inputs)
    does = "do" if len(unread.inputs) > 1 else "does"
    steps = [] if unread.instead is None else [Step(unread.instead, "what it was made of is read here, as it was")]
    return Obligation(
        unread.note.span,
        # A newer version of an argument alone shows no place where it is missing.
        severity=Severity.WARNING if name in unread.inputs else Severity.ERROR,
        message=f"nothing reads `{name}`, and {params} {does} nothing else",
        current=f"`{name}` is computed and left, so what the function gives does not depend on {params}",
        expected=f"the function goes on with `{name}`",
        steps=tuple(steps),
        suggestion=f"use `{name}` where it was meant, or leave out {params}",
    )


def _computed_for_nothing(wasted: Wasted) -> Obligation:
    name, scan = named(wasted.value, "this"), wasted.reader
    return Obligation(
        wasted.made.span,
        message=f"{name} is computed for nothing: the body of the scan on line {scan.span.line} never reads it",
        current="it goes into that function alone, and nothing there depends on it",
        expected="it is used where it goes, or not computed",
        steps=(Step(scan.span, "it is handed over here"),),
        suggestion=f"use {name} in there, or leave it out",
    )
