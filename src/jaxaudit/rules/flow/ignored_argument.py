"""The rule `ignored-argument`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Subject, Verdict
from jaxaudit.rules.flow._shared.unused_results import Unread, Wasted, unread_by_scans, unread_variables
from jaxaudit.rules.phrases import proved
from jaxaudit.rules.pytrees._shared.crossing import is_called

_OURS = ("jit", "vmap", "pmap", "grad", "checkpoint")
"""Ops whose function may have any parameters: those of a scan's body, say, are prescribed."""
_LONG = 8
"""A function with more parameters than this may well have one left over."""

Parameter = tuple[str, str, object]
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

    ```python
    def loss(params, x, y):
        return jnp.mean(model(params, x) ** 2)
    ```

    ## Use instead

    ```python
    def loss(params, x, y):
        return jnp.mean((model(params, x) - y) ** 2)
    ```

    ## When it cannot tell

    A parameter may be there to fit an interface, so this is a warning, except for the argument of a gradient, and for
    an array that is computed to be scanned and for nothing else. It is an error, too, where a parameter is read only
    for the sake of a variable that nobody reads, and where a plain function is given data that it never reads: for an
    optional parameter, or computed for it alone. A function that is handed on, decorated, or like another one may have
    to fit an interface, and is left alone.
    """

    name = "ignored-argument"
    family = "flow"
    summary = "A parameter that is given data is never read."

    valid = (
        Example(
            "import jax\n\n@jax.jit\ndef f(x, y):\n    return x + y\n\ndef g(a, b):\n    return f(a, b)\n", "both read"
        ),
        Example(
            "import jax\n\ndef f(xs):\n    def body(carry, x):\n        return carry + 1, None\n"
            "    return jax.lax.scan(body, 0, xs)\n",
            "prescribed",
        ),
        Example(
            "import jax\n\ndef f(rewards, dones):\n    alive = 1.0 - dones\n\n    def body(total, step):\n"
            "        reward, _ = step\n        return total + reward, total\n\n"
            "    return jax.lax.scan(body, 0.0, (rewards, alive))\n",
            "said to be unread",
        ),
    )
    invalid = (
        Example(
            "import jax\n\n@jax.jit\ndef f(x, y, n):  #?\n    return x + n\n\ndef g(a, b):\n    return f(a, b, a)\n",
            "never read",
        ),
        Example(
            "import jax\n\ndef train(params, x):\n    def loss(p, x):  #!\n        return (params * x).sum()\n"
            "    return jax.grad(loss)(params, x)\n",
            "the differentiated one",
        ),
        Example(
            "import jax\n\ndef returns(rewards, dones):\n    alive = 1.0 - dones  #!\n\n    def body(total, step):\n"
            "        reward, keep = step\n        total = reward + 0.99 * total\n        return total, total\n\n"
            "    return jax.lax.scan(body, 0.0, (rewards, alive), reverse=True)[1]\n",
            "computed for a scan",
        ),
        Example(
            "import jax.numpy as jnp\n\ndef returns(rewards, dones, last):  #!\n    total = last\n"
            "    for i in reversed(range(4)):\n        total = rewards[i] + 0.99 * total\n    return total\n\n"
            "def f(rewards, ends):\n    return returns(rewards, jnp.cumsum(ends), jnp.zeros(3))\n",
            "a helper that was given data",
        ),
        Example(
            "import jax\nimport jax.numpy as jnp\n\ndef explore(w, x, key, scale):\n    action = jnp.tanh(x @ w)\n"
            "    noisy = action + scale * jax.random.normal(key, (3,))  #!\n    return action\n\n"
            "def act(w, x, key):\n    return explore(w, x, key, jnp.ones(()))\n",
            "the noise is left",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every transformed function and every parameter that is never read."""
        flow = facts.flow
        yield from _all(program, flow)
        for one in unread_by_scans(program, flow):
            yield _for_nothing(one, f"the body of the scan on line {one.reader.span.line}")
        yield from (_idle(one) for one in unread_variables(program, flow))


def _idle(unread: Unread) -> Obligation:
    name, params = unread.note.label, ", ".join(f"`{one.name}`" for one in unread.params)
    return Obligation(
        IgnoredArgument.name,
        unread.note.span,
        Verdict.VIOLATED,
        message=f"nothing reads `{name}`, and {params} of this function {_DOES[len(unread.params) > 1]} nothing else",
        current=f"`{name}` is computed and left, so what the function gives does not depend on {params}",
        expected=f"the function goes on with `{name}`",
        suggestion=f"use `{name}` where it was meant, or leave out the parameter",
    )


_DOES = ("does", "do")


def _for_nothing(wasted: Wasted, who: str) -> Obligation:
    name = f"`{wasted.value.name}`" if wasted.value.name else "this"
    return Obligation(
        IgnoredArgument.name,
        wasted.made.span,
        Verdict.VIOLATED,
        message=f"{name} is computed for nothing: {who} never reads it",
        current="it goes into that function alone, and nothing there depends on it",
        expected="it is used where it goes, or not computed",
        steps=(Step(wasted.reader.span, "it is handed over here"),),
        suggestion=f"use {name} in there, or leave it out",
    )


def _all(program: Program, flow: Flow) -> Iterator[Obligation]:
    shared, several = _interfaces(program)
    for op in program.named("py.unread", *_OURS):
        if op.name == "py.unread" and op.kind == "parameter":
            if _parameter(op) in shared:
                continue
            holder = flow.holder(op)
            if holder is not None and holder.name in _OURS and is_called(holder) and _counts(op):
                yield _ignored(op, holder, flow)
            elif _counts(op) and (call := _given_for_nothing(op, flow)) is not None:
                yield _idle_parameter(op, call, sure=_is_sure(op, call, flow) and _function(op) not in several)
        elif op.name in _OURS and op.regions:
            region = op.regions[0]
            if not any(_is_note(inner) for inner in region.ops):
                yield proved(IgnoredArgument.name, region.span, f"`{region.label}` reads all its parameters")


def _interfaces(program: Program) -> tuple[set[Parameter], set[Hashable]]:
    """Return the parameters that several functions or files leave alone.

    And the functions that leave several of them.
    """
    notes = [op for op in program.named("py.unread") if op.kind == "parameter"]
    users: dict[Hashable, set[Hashable]] = {}
    for op in notes:
        users.setdefault(_parameter(op), set()).add(_function(op))
        users.setdefault((op.qualified, op.label), set()).update((op.span.path,))
        users.setdefault(_function(op), set()).add(_parameter(op))
    shared = {
        _parameter(op)
        for op in notes
        if len(users[_parameter(op)]) >= _MANY or len(users[op.qualified, op.label]) >= _MANY
    }
    return shared, {_function(op) for op in notes if len(users[_function(op)]) >= _MANY}


def _parameter(note: Op) -> Parameter:
    return note.span.path, note.label, note.position


def _function(note: Op) -> Hashable:
    return note.span.path, note.qualified, "function"


def _given_for_nothing(note: Op, flow: Flow) -> Op | None:
    """Return the call that hands an array or number to a parameter that nothing but the function's calls prescribes."""
    values, region = note.values, flow.places.region_of[note]
    value = values[0] if isinstance(values, tuple) and len(values) == 1 else None
    if not note.is_chosen or not isinstance(value, Value) or value not in region.params:
        return None
    holder, at = flow.places.holder.get(id(region)), region.params.index(value)
    calls = flow.callers.get(id(region), ()) if holder is None else (holder,)
    # What the calls give must be data, and no key: those are handed around by custom.
    plain = [call for call in calls if call.name == "py.call" and at < len(call.operands)]
    given = [_is_data(flow, call.operands[at]) for call in plain]
    return plain[0] if plain and len(plain) == len(calls) and all(given) else None


def _is_data(flow: Flow, value: Value) -> bool:
    """Whether a value is surely an array or a number: computed, drawn, or one of some numbers."""
    op = origin(flow, value, {}).op
    if op is None:
        return False
    if op.name == "py.element":
        items = op.arguments.get("iterable")
        return isinstance(items, tuple) and all(isinstance(one, int | float) for one in items)
    return op.name == "key.draw" or (op.name.startswith("array.") and op.name not in ("array.shape", "array.numpy"))


def _is_sure(note: Op, call: Op, flow: Flow) -> bool:
    """Whether someone wants an unread parameter: it is given though it need not be, or computed for it alone."""
    region, values = flow.places.region_of[note], note.values
    given = call.operands[region.params.index(values[0])] if isinstance(values, tuple) else None
    if given is None or len(region.params) > _LONG:
        return False
    alone = flow.readers.get(given) == [call] and given not in flow.leaving and flow.maker(given) is not None
    return alone or bool(note.is_optional)


def _idle_parameter(note: Op, call: Op, *, sure: bool) -> Obligation:
    name, function = note.label, note.qualified
    return Obligation(
        IgnoredArgument.name,
        note.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{function}` is given data for `{name}` and never reads it",
        current=f"what `{function}` gives does not depend on `{name}`, whatever it is",
        expected=f"`{function}` uses `{name}`, or does not take it",
        steps=(Step(call.span, f"`{name}` is given here"),),
        suggestion=f"use `{name}`, or remove it here and from the calls",
        subject=Subject(names=(name,)),
    )


def _is_note(op: Op) -> bool:
    return op.name == "py.unread" and op.kind == "parameter"


def _counts(note: Op) -> bool:
    dictated = note.is_method or note.is_stub or note.qualified == "lambda"
    return not dictated and bool(note.values) and note.read_count != 0


def _ignored(note: Op, holder: Op, flow: Flow) -> Obligation:
    name, function = note.label, note.qualified
    zero = _is_differentiated(note, holder)
    wanted = bool(note.is_chosen) and _is_wanted(note, holder, flow)
    return Obligation(
        IgnoredArgument.name,
        note.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if zero or wanted else Severity.WARNING,
        message=f"`{function}` never reads its parameter `{name}`" + (", so its gradient is zero" if zero else ""),
        current=f"`{name}` is given data, and the body of `{function}` never mentions it",
        expected=f"`{function}` uses `{name}`, or does not take it",
        steps=(Step(holder.span, f"`{function}` is given data for `{name}` here"),),
        suggestion=f"use `{name}`, remove it, or call it `_{name}` if it only fits an interface",
        subject=Subject(names=(name,)),
    )


def _is_wanted(note: Op, holder: Op, flow: Flow) -> bool:
    """Whether what a transformed function is given for an unread parameter was computed for it alone."""
    values, region = note.values, holder.regions[0]
    value = values[0] if isinstance(values, tuple) and len(values) == 1 else None
    if value not in region.params or len(region.params) != len(holder.operands):
        return False
    given = holder.operands[region.params.index(value)]
    return _is_data(flow, given) and _is_sure(note, holder, flow)


def _is_differentiated(note: Op, holder: Op) -> bool:
    options, values = holder.options, note.values
    if holder.name != "grad" or not isinstance(options, Mapping) or not isinstance(values, tuple):
        return False
    inside = holder.regions[0].params
    first = next((value for value in values if isinstance(value, Value)), None)
    argnums = options.get("argnums", 0)
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    return first in inside and note.position in wanted
