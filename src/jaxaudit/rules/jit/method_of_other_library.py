"""The rule `method-of-other-library`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, contexts, origin
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.queries import operands_of, walk
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.methods import FOREIGN, MEMBERS
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, unknown

_ASKS_ANYTHING = ("py.call_library", "py.call_unknown")
_SORTED_OUT = "a condition asks what it is, and whether an array of JAX comes here is not known"


class MethodOfOtherLibrary(Rule):
    """An array of JAX is asked for a method that it does not have.

    ## What it does
    Finds calls of methods that NumPy arrays, lists or the tensors of PyTorch have and arrays of JAX lack, on values
    that functions of JAX have made; and on arrays that JAX has made for sure, whatever attribute they do not have.

    ## Why is this bad?
    The call raises `AttributeError`: arrays of JAX cannot be changed in place, and what PyTorch has as methods are
    functions here.

    ## Example
        jnp.repeat(x, 2).tile((2, 1))

    ## Use instead
        jnp.tile(jnp.repeat(x, 2), (2, 1))

    ## When it cannot tell
    When it is not known that the value is an array of JAX, it is left open.
    """

    summary = "A method is called that arrays of JAX do not have."
    needs = (TracingFacts,)

    valid = (
        Example("def f(x):\n    return jnp.exp(x).reshape(-1).sum()\n", "methods of JAX"),
        Example("def f(x):\n    return x.unsqueeze(0)\n", "not known to be an array of JAX"),
        Example(
            "import equinox as eqx\nimport jax.numpy as jnp\n\nclass Codes(eqx.Enumeration):\n    bad = 'bad'\n\n"
            "def f(x, r):\n    return Codes.where(jnp.any(jnp.isnan(x)), Codes.bad, r)\n",
            "the method of a class",
        ),
    )
    invalid = (
        Example("def f(x):\n    return jnp.exp(x).tile((2, 1))  #!\n", "a function"),
        Example("def f(x):\n    y = jax.nn.relu(x + 1)\n    return y.unsqueeze(0)  #!\n", "a method of PyTorch"),
        Example(
            "def f(n):\n    x = jnp.ones((n, 3)) + 1\n    assert x.shpae == (n, 3)  #!\n    return x.summ()  #!\n",
            "misspelled",
        ),
        Example(
            "def train(loss_fn, params, batch):\n"
            "    (info, loss), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)\n"
            "    info.update({'norm': 1.0})  #!\n"
            "    return grads, loss, info\n",
            "the loss for what stands beside it",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call of a method that is known to belong elsewhere."""
        for op in program.named("py.call_unknown"):
            owner = FOREIGN.get(op.callee.removeprefix(".")) if op.is_method and not op.guarded else None
            if owner is not None and _on_array(op, facts.flow) and not _is_sorted_out(op, facts.flow):
                yield _missing(op, op.callee.removeprefix("."), owner)
            elif owner is not None:
                yield unknown(op.span, f"whether this is an array of JAX, or of {owner}, is not known")
        for op in program.named("py.call_unknown", "py.call_library", "py.attr"):
            name = _asked_for(op)
            if name and name not in MEMBERS and name not in FOREIGN and _is_array(op, facts):
                sorted_out = _is_sorted_out(op, facts.flow)
                yield unknown(op.span, _SORTED_OUT) if sorted_out else _missing(op, name, "")


def _asked_for(op: Op) -> str:
    """Return the name of the method or attribute that an op asks for; empty where it does neither, or is no error."""
    if op.name == "py.call_library":
        # What is written like a method has a row under its name alone.
        name = op.qualified.removeprefix(".") if op.qualified.startswith(".") and not op.guarded else ""
    else:
        method = op.callee.removeprefix(".") if op.is_method and not op.guarded else ""
        name = op.label if op.name == "py.attr" else method
    return name if name.isidentifier() and not name.startswith("_") else ""


def _is_array(op: Op, facts: Facts) -> bool:
    """Whether what is asked is an array of JAX for sure."""
    asked = op.value("base") or next(iter(op.operands), None)
    return asked is not None and python_values(facts).is_jax_array(asked)


def _is_sorted_out(op: Op, flow: Flow) -> bool:
    """Whether a condition around an op asks what kind of object it has: there an array may never come."""
    branches = (holder for _, holder in flow.places.up(flow.places.region_of[op]) if holder is not None)
    conditions = [value for holder in branches if holder.name == "py.branch" for value in holder.operands]
    asked = walk(
        (*conditions, *(op.questioned or ())), lambda one: () if one in op.operands else operands_of(flow, one)
    )
    makers = [made for one in asked if one not in op.operands and (made := flow.maker(one)) is not None]
    questions = (made for made in makers if made.name in _ASKS_ANYTHING or made.operator == "isinstance")
    return any(not set(op.operands).isdisjoint(made.operands) for made in questions)


def _on_array(op: Op, flow: Flow) -> bool:
    """Whether a function of JAX made the value, as it is or before some arithmetic."""
    found = [_is_jax(flow, op.operands[0], context) for context in contexts(flow, op)] if op.operands else []
    return bool(found) and all(found)


def _is_jax(flow: Flow, value: Value, context: Context) -> bool:
    def computed_of(one: Value) -> tuple[Value, ...]:
        op = origin(flow, one, context).op
        computes = op is not None and op.name in ("array.map", "array.reduce", "array.reshape", "array.dot")
        return op.operands if op is not None and computes else ()

    made = (origin(flow, one, context).op for one in walk((value,), computed_of))
    return any(op is not None and _makes_array(op) for op in made)


def _makes_array(op: Op) -> bool:
    by_jax = op.qualified.startswith(("jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.", "jax.scipy."))
    # What is told of shapes and dtypes is no array.
    return by_jax and ((op.name.startswith("array.") and op.name != "array.shape") or op.name == "key.draw")


def _missing(op: Op, method: str, owner: str) -> Obligation:
    kind = "attribute" if op.name == "py.attr" else "method"
    return Obligation(
        op.span,
        message=f"arrays of JAX have no {kind} `{method}`",
        current="this raises `AttributeError`" + (f"; the method is one of {owner}" if owner else ""),
        expected="a function of `jax.numpy`, or a method that arrays of JAX have",
        suggestion="call the function of `jax.numpy` that does it; to change an array use `x.at[...]`",
        raises=Raises.TRACING,
    )
