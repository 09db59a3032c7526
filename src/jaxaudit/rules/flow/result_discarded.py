"""The rule `result-discarded`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.succession import goes_on
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.analyses.versions import Versions, is_update, updates_in
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS
from jaxaudit.ir.ops import BRANCHES, KEEPING, LOOPS, MAPPED, PYTHON_LOOPS, REMARKS, VOCABULARY
from jaxaudit.libraries.lookup import lookup, playing
from jaxaudit.libraries.packages import JAX, computes, package
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Subject, proved, unknown
from jaxaudit.rules.flow._shared.phrases import called

_COPIES = frozenset(("dataclasses.replace", "copy.replace", *playing("record.copy")))
"""Functions that give a changed copy."""
_TIMED = frozenset(("array.create", "array.convert", "array.dot", "array.linalg", "array.convolve", "key.draw"))
"""Ops that are done once to warm up, or again and again to measure the time."""
_TRACING = (MAPPED | LOOPS | BRANCHES | {"jit", "grad"}) - PYTHON_LOOPS
"""Ops whose functions JAX calls to trace them."""
_LOOKS = REMARKS | {"py.read", "py.return", "py.rebind"}
"""Ops that read what others have stored, or say something about others, and change nothing."""


class ResultDiscarded(Rule):
    """The result of a function that only computes is thrown away.

    ## What it does
    Looks at every call, sum, product or quotient that stands as a statement. Where it is a pure function
    (`x.at[i].set(v)`, `_replace`, `replace`, `apply_updates`, an optimizer's `update`, `jax.tree.map` with a pure
    function, functions of `jax.numpy` and `jax.lax`, or a function of the program that only computes), nothing at all
    happens.

    ## Why is this bad?
    Arrays and records cannot be changed in place: an update gives a new one. Python accepts the statement, and the
    program goes on with the old value.

    ## Example
        buffer.at[i].set(reward)
        return buffer

    ## Use instead
        buffer = buffer.at[i].set(reward)
        return buffer

    ## When it cannot tell
    When the statement stands where an exception is expected, or when the mapped function of `tree.map` may have
    effects. A call that compiles or checks something on purpose is left alone, and so is a function that calls
    anything unknown.
    """

    summary = "A pure function is called and its result is dropped."
    needs = (Versions, TracingFacts)

    valid = (
        Example("def f(x, i, v):\n    x = x.at[i].set(v)\n    return x\n", "kept"),
        Example("def f(tree):\n    jax.tree.map(print, tree)\n", "mapped for its effect"),
        Example(
            "import pytest\n\ndef test_f(x):\n    with pytest.raises(TypeError):\n        jnp.sort(x, axis='no')\n",
            "meant to fail",
        ),
        Example("def f(names):\n    names.sort()\n    return names\n", "a list sorts in place"),
        Example(
            "@jax.jit\ndef step(x):\n    return x + 1\n\ndef run(x):\n    step(x)\n    return step(x)\n",
            "compiled before the time is taken",
        ),
        Example(
            "def log(seen, x):\n    seen.append(x)\n    return x\n\ndef run(seen, x):\n    log(seen, x)\n",
            "called for its effect",
        ),
    )
    invalid = (
        Example(
            "def total(xs, weights):\n    if weights is None:\n        jnp.sum(xs)  #!\n    else:\n"
            "        return jnp.sum(xs * weights)\n",
            "not returned from one of two branches",
        ),
        Example("def f(x, i, v):\n    x.at[i].set(v)  #!\n    return x\n", "an update"),
        Example(
            "from typing import NamedTuple\n\nclass State(NamedTuple):\n    x: float\n    t: int\n\n"
            "def step(x):\n    state = State(x, 0)\n    state._replace(t=1)  #!\n    return state\n",
            "a record",
        ),
        Example(
            "import optax\n\ndef step(params, grads):\n    optax.apply_updates(params, grads)  #!\n    return params\n",
            "new parameters",
        ),
        Example(
            "def step(state, loss, batch):\n    grads = jax.grad(loss)(state.params, batch)\n"
            "    state.apply_gradients(grads=grads)  #!\n    return state\n",
            "a train state",
        ),
        Example("def f(x):\n    x.astype('float32')  #!\n    return x.mean()\n", "a cast"),
        Example(
            "def tail(losses, cut):\n    losses.sort()  #!\n    return losses[cut:].mean()\n\n"
            "def main(x, y):\n    return tail(jnp.sum(x, axis=1) - y, 3)\n",
            "a method of an array that a caller made",
        ),
        Example(
            "import equinox as eqx\n\ndef predict(model, x):\n    eqx.nn.inference_mode(model)  #!\n"
            "    return model(x)\n",
            "a changed copy of a model",
        ),
        Example(
            "import equinox as eqx\n\ndef zero(model):\n"
            "    eqx.tree_at(lambda m: m.bias, model, jnp.zeros(3))  #!\n    return model\n",
            "a leaf of a model",
        ),
        Example("def f(x):\n    x / jnp.linalg.norm(x)  #!\n    return x\n", "a quotient"),
        Example(
            "import dataclasses\n\ndef f(agent):\n    dataclasses.replace(agent, step=agent.step + 1)  #!\n"
            "    return agent\n",
            "a dataclass",
        ),
        Example("def f(g):\n    jax.lax.pmean(g, 'i')  #!\n    return g\n", "a collective"),
        Example(
            "def add(buffer, i, x):\n    return buffer.at[i].set(x)\n\ndef run(buffer, x):\n"
            "    add(buffer, 0, x)  #!\n    return buffer\n",
            "an update some calls away",
        ),
        Example(
            "def centre(x):\n    x -= x.mean()\n    return x\n\n@jax.jit\ndef spread(x):\n"
            "    centre(x)  #!\n    return jnp.sum(x**2)\n",
            "a function that is taken to change its argument",
        ),
        Example(
            "def clipped(grads, most):\n    return jax.tree.map(lambda g: jnp.clip(g, -most, most), grads)\n\n"
            "def step(params, x):\n    def body(params, row):\n"
            "        grads = jax.grad(lambda p: jnp.sum((row @ p['w']) ** 2))(params)\n"
            "        clipped(grads, 1.0)  #!\n"
            "        return jax.tree.map(lambda p, g: p - g, params, grads), None\n"
            "    return jax.lax.scan(body, params, x)[0]\n",
            "a changed copy that a loop's body does not keep",
        ),
        Example("def f(p, g):\n    jax.tree.map(lambda a, b: a - b, p, g)  #!\n    return p\n", "a tree map"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every update, and every pure call that stands as a statement."""
        yield from (one for op in program.named("py.drop") for one in _dropped(op, facts))
        for op in updates_in(program):
            if not op.is_derived:
                yield proved(op.span, f"the result of `{called(op)}` is not dropped where it is made")


def _dropped(note: Op, facts: Facts) -> Iterator[Obligation]:
    flow = facts.flow
    op = flow.made_at(note.span, note)
    if op is not None and op.name in ("tree.leaf", "py.unpack") and op.operands:
        op = flow.maker(op.operands[-1])
    if op is None:
        return
    if note.is_last and not note.guarded and not VOCABULARY[op.name].effect:
        yield _not_returned(op)
        return
    if not (
        is_update(op)
        or _only_computes(op, facts)
        or _applies_gradients(op, flow)
        or _updates(op, facts.get(Versions))
        or _is_idle(op, flow)
    ):
        return
    if note.guarded:
        yield unknown(op.span, "it stands where an exception is expected")
    elif _is_tried(op) and not _goes_on(op, facts):
        yield unknown(op.span, "nothing goes on from the old value either: it may be a trial")
    elif op.name == "tree.map" and (not is_pure(op) or not op.regions[0].results):
        yield unknown(op.span, "the mapped function may be there for its effects")
    else:
        trees = op.name == "tree.other" and op.qualified not in _COPIES
        timed = trees or (op.name in _TIMED and not _is_array_method(op))
        # Outside of compiled code a check raises, whether its result is kept or not.
        deliberate = (timed and not is_update(op)) or _is_tried(op) or op.function in ("error_if", "branched_error_if")
        yield _finding(op, sure=not note.is_module_level and not deliberate)


def _is_tried(op: Op) -> bool:
    """Whether an op is a step of an object that no protocol asks for, such as an environment: it may be a trial.

    What is not known may also have a `replace` that changes it in place.
    """
    row = lookup(op.qualified)
    steps = op.name != "array.scatter" and is_update(op)
    return op.qualified == ".replace" or (steps and row is not None and not row.roles)


def _goes_on(op: Op, facts: Facts) -> bool:
    """Whether anything reads on what an op makes a newer version of, or nobody knows what that is."""
    found = facts.get(Versions).held(op.result) if len(op.results) == 1 else None
    return found is None or any(True for old in found.old for _ in goes_on(facts.flow, old, op))


def _updates(op: Op, versions: Versions) -> bool:
    """Whether a function of the program only computes, and gives a newer version of an argument or a record."""
    if op.name != "py.call" or not op.regions or not all(_only_looks(inner) for inner in op.regions[0].walk()):
        return False
    if any(inner.name == "py.replace" for inner in op.regions[0].walk()):
        return True
    found = map(versions.of, op.results)
    return any(one is not None and one.plain for one in found)


def _is_idle(op: Op, flow: Flow) -> bool:
    """Whether a function of the program only computes, where JAX traces: nobody waits there, and nothing is tried."""
    if op.name != "py.call" or not op.regions or not op.regions[0].results:
        return False
    around = flow.places.up(flow.places.region_of[op])
    traced = any(holder is not None and holder.name in _TRACING for _, holder in around)
    return traced and all(_only_looks(inner) for inner in op.regions[0].walk())


def _only_looks(op: Op) -> bool:
    return op.name in _LOOKS or (op.name != "jit" and (bool(op.regions) or is_pure(op)))


def _applies_gradients(op: Op, flow: Flow) -> bool:
    """Whether an op is `state.apply_gradients(grads=grads)` with gradients of JAX, which gives a new state back."""
    if ".apply_gradients" not in (op.callee, op.qualified):
        return False
    makers = (flow.maker(value) for value in op.operands)
    whole = (flow.maker(made.operands[0]) if made is not None and made.name == "py.attr" else made for made in makers)
    return any(made is not None and made.name == "grad" for made in whole)


def _only_computes(op: Op, facts: Facts) -> bool:
    if op.name == "tree.map":
        return True
    # What is made an array is often made for the exception that it may raise.
    if op.regions or op.name in MAPPED or op.function in ARRAYS_OF_ITEMS:
        return False
    if computes(op.qualified):
        return not op.name.startswith(("py.", "array.shape", "device.")) or op.function == "with_sharding_constraint"
    if op.qualified in _COPIES or op.callee in _COPIES or _gives_back(op):
        return True
    if not op.name.startswith("array.") or op.name in ("array.shape", "array.numpy"):
        return False
    return (_is_array_method(op) and _serves_as_array(op, facts.flow)) or _is_on_jax_array(op, facts)


def _gives_back(op: Op) -> bool:
    """Whether a function of a library that works on JAX's trees gives one back that is like an argument."""
    row = lookup(op.qualified) if op.name == "py.call_library" and package(op.qualified) in JAX else None
    return row is not None and row.like() is not None


def _is_array_method(op: Op) -> bool:
    """Whether an op is a method that gives a new array, of JAX or of NumPy: `x.astype(...)`."""
    computes_new = op.name in KEEPING or op.name == "array.scan" or op.function in ("clip", "conj")
    return "." not in op.qualified and computes_new


def _serves_as_array(op: Op, flow: Flow) -> bool:
    """Whether a receiver is an array: other things can be flattened or copied too, so ask who else takes it for one."""
    receiver = next((value for value in op.arguments.values() if isinstance(value, Value)), None)
    others = () if receiver is None else (one for one in flow.readers.get(receiver, ()) if one is not op)
    return any(one.name.startswith("array.") for one in others)


def _is_on_jax_array(op: Op, facts: Facts) -> bool:
    """Whether a method is that of an array of JAX: `sort` changes lists and NumPy arrays in place."""
    given = op.operands if op.is_operator else list(op.arguments.values())[:1]
    return any(map(python_values(facts).is_jax_array, given))


def _not_returned(op: Op) -> Obligation:
    name = called(op)
    return Obligation(
        op.span,
        severity=Severity.ERROR if is_pure(op) and not op.regions else Severity.WARNING,
        message=f"the result of `{name}` is dropped at the end of a branch, while another branch returns one",
        current="the function gives None on this way, and a value on another",
        expected="every way through the function gives a value",
        suggestion=f"return the result of `{name}`",
    )


def _finding(op: Op, *, sure: bool) -> Obligation:
    name = called(op)
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"the result of `{name}` is dropped, so this statement does nothing",
        current=f"`{name}` changes nothing in place: it gives a new value, and nobody keeps it",
        expected="the new value is bound to a name and used from here on",
        subject=Subject(tried=not is_update(op)),
        suggestion=f"assign the result of `{name}`, or delete the statement",
    )
