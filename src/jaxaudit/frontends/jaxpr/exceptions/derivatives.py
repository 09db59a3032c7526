"""Exceptions of gradients and of derivative rules: what is differentiated, by what, and what rules give."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.locate import differentiated_leaf, has_rule, rule_of_derivative
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, rows
from jaxaudit.frontends.jaxpr.exceptions.refused import failed
from jaxaudit.spans import Span


def _tuple(facts: Facts, match: re.Match[str]) -> Explanation:
    if has_rule(facts, facts.line) and not match[1].startswith("None"):
        return Explanation(
            "wrong-custom-derivative",
            "the forward rule gives several values as its output where the function gives one number",
            current="the gradient stops with an exception: with the rule the function gives no single number",
            expected="`return output, residuals`, with the output exactly as the function gives it",
            suggestion="put what is only needed backwards into the residuals",
            span=rule_of_derivative(facts, "defvjp", 0),
            steps=_raised(facts),
        )
    if match[1].startswith("None"):
        return Explanation(
            "non-scalar-grad",
            "a gradient is taken of a function that gives None",
            current="the call stops with an exception: only a scalar has a gradient",
            expected="the function gives the loss",
            suggestion="add the missing `return`",
        )
    gives = "a dict" if match[1].startswith("{") else "several values"
    return Explanation(
        "aux-mishandled",
        f"a gradient is taken of a function that gives {gives}, without `has_aux=True`",
        current="the call stops with an exception: the function gives no single number",
        expected="the loss alone, or `has_aux=True` with (loss, everything else)",
        suggestion="add `has_aux=True`, and take the result apart as `(loss, aux), grads`",
    )


def _integers(facts: Facts, match: re.Match[str]) -> Explanation:
    named = facts.leaves(rf"{match[1]}\[.*\]", *(["a Python int", "a Python bool"] if match[1] != "str" else ()))
    told = f"{named[0]}, which is not" if named else f"an argument of dtype {match[1]}, not"
    return Explanation(
        "wrong-argnums",
        f"a gradient is taken with respect to {told} made of real numbers",
        current="the call stops with an exception: only real and complex numbers can change a little",
        expected="`argnums` points at the parameters",
        suggestion="correct `argnums` (it counts from 0), or convert the argument to float",
    )


def _bwd_type(facts: Facts, match: re.Match[str]) -> Explanation:
    rule = rule_of_derivative(facts, "defvjp", 1)
    whose = differentiated_leaf(facts, match[1]) or "an argument"
    return Explanation(
        "wrong-custom-derivative",
        f"the backward rule gives a gradient of type {match[2]} for {whose} of type {match[3].rstrip(',')}",
        current=f"the gradient at output[{match[1]}] of the rule stops with an exception",
        expected="each gradient has the type of its argument: what was broadcast forward is summed backward",
        suggestion="sum the gradient over the axes along which the argument was broadcast",
        span=rule,
        steps=_raised(facts) if rule else (),
    )


def _bwd_structure(facts: Facts, match: re.Match[str]) -> Explanation:
    rule = rule_of_derivative(facts, "defvjp", 1)
    return Explanation(
        "wrong-custom-derivative",
        "the backward rule does not give one gradient for each argument of the function",
        current="the gradient stops with an exception",
        expected="a tuple with one gradient an argument, None for those without",
        suggestion="return a tuple; with one argument `return (grad,)`",
        span=rule,
        steps=_raised(facts) if rule else (),
    )


def _raised(facts: Facts) -> tuple[tuple[Span, str], ...]:
    return ((facts.span, "the gradient is taken here"),) if facts.span else ()


def _jvp(facts: Facts, match: re.Match[str]) -> Explanation:
    rule = rule_of_derivative(facts, "defjvp", 0)
    types = re.search(r"Expected (\S+) .*?but got (\S+?)\.?$", facts.message, re.DOTALL)
    if "must produce a pair" in facts.message:
        told = "the derivative rule does not give a pair of output and tangent"
    elif types:
        told = f"the derivative rule gives a tangent of type {types[2]} for an output whose tangent is {types[1]}"
    else:
        told = "the derivative rule does not give a tangent of the type of its output"
    return Explanation(
        "wrong-custom-derivative",
        told,
        current="the derivative stops with an exception",
        expected="the primal output and a tangent of the same shape and dtype",
        suggestion="give back `(primal, tangent)` with equal types",
        span=rule,
        steps=((facts.span, "the derivative is taken here"),) if rule and facts.span else (),
    )


def _argnums(facts: Facts, match: re.Match[str]) -> Explanation:
    if "argnums" in facts.line:
        return Explanation(
            "wrong-argnums",
            "`argnums` is no whole number",
            expected="positions of arguments, which count from 0",
            suggestion="give the position, `argnums=0`; a leaf of a tree is picked outside the function",
        )
    return failed(facts, match)


ROWS = (
    *rows(
        r"""
any: primal and tangent arguments to jax\.jvp must be tuples or lists; found (\w+) and (\w+)
    tree-structure-mismatch: `jvp` is given its arguments and tangents bare, not in tuples
    expected: a tuple of arguments and a tuple of tangents
    suggestion: `jax.jvp(f, (x,), (dx,))`
any: primal and tangent arguments to jax\.jvp must have the same tree structure; primals have tree structure
        PyTreeDef\((.*)\) whereas tangents have tree structure PyTreeDef\((.*)\)\.
    tree-structure-mismatch: `jvp` is given arguments of the structure {1} and tangents of the structure {2}
    expected: one tangent for each argument, in the same containers
    suggestion: give a tangent for every argument; zeros for those that do not move
any: functions? returned by `jax\.vjp` applied to .* was called with (\d+) arguments
    tree-structure-mismatch: a function of `jax.vjp` is called with {1} arguments, and takes one: the cotangent of the
        output
    expected: one cotangent, in the containers of the output
    suggestion: pack several cotangents into the tuple that the function gives: `vjp((a, b))`
any: linearized function called on tangent values .*Got tangent aval (\S+) for primal aval (\S+)
    axis-conflict: a function of `jax.linearize` is given a tangent of type {1}, but the argument was {2}
    expected: a tangent of the type of the argument
    suggestion: use a direction of the argument's shape
NotImplementedError: Transpose rule \(for reverse-mode differentiation\) for '(\w+)' not implemented
    wrong-custom-derivative: `{1}` is not linear in what it is given, so it cannot be run backwards as a linear function
    current: the derivative stops with an exception
    expected: a linear function for `linear_transpose`; a rule that is linear in its tangents for `custom_jvp`
    suggestion: use `jax.vjp` for a function that is not linear; do not apply `{1}` to tangents
TypeError: can't apply forward-mode autodiff \(jvp\) to a custom_vjp function
    wrong-custom-derivative: a derivative is taken forwards through a function that has a backward rule only
    current: the derivative stops with an exception
    expected: `grad`, `vjp` and `jacrev` for functions with `custom_vjp`
    suggestion: use `jax.jacrev` instead of `jacfwd` or `hessian`, or write the rule with `custom_jvp`
ValueError: callbacks do not support JVP|do not support JVP
    wrong-custom-derivative: a gradient is taken through a callback, which runs outside of JAX
    current: the derivative stops with an exception
    expected: a derivative rule for the callback, or no gradient through it
    suggestion: wrap the callback in a function with `jax.custom_jvp`, or stop the gradient before it
TypeError: Gradient only defined for scalar-output functions\. Output had shape: (\([^)]*\))
    non-scalar-grad: a gradient is taken of a function that gives an array of shape {1}, not one number
    current: the call stops with an exception: only a scalar has a gradient
    expected: the function ends in one number
    suggestion: reduce it, for example with `.mean()` or `.sum()`; for all derivatives use `jax.jacrev`
TypeError: expected function with aux output to return a two-element tuple
    aux-mishandled: `has_aux=True` is given, but the function does not give a pair of loss and aux
    current: the call stops with an exception
    expected: the function gives (loss, aux): a tuple of exactly two
    suggestion: return `(loss, aux)`, with all further values in one container, or leave `has_aux` out
TypeError: requires real-valued outputs .*?but got (\w+)
    non-scalar-grad: a gradient is taken of a function that gives a number of dtype {1}
    current: the call stops with an exception: gradients are of real numbers
    expected: the function ends in one real number
    suggestion: leave out the conversion (`astype`, a comparison) in the loss; of complex numbers take the real part
TypeError: differentiating with respect to argnums=(.+?) requires at least (\d+) positional arguments .* got only (\d+)
    wrong-argnums: `argnums={1}` names an argument that is not given: there are {3}, and they count from 0
    current: the call stops with an exception
    expected: `argnums` names a positional argument of the call
    suggestion: correct `argnums`, or pass the argument by position and not by keyword
any: argument to VJP function: got (\S+), but expected (\S+)
    axis-conflict: a function of `jax.vjp` is given a cotangent of type {1}, but the output has type {2}
    expected: a cotangent of the type of the output
    suggestion: use `jnp.ones_like(output)`, or what flows back into the output
any: argument to a VJP function returned by `jax\.vjp` must match
    tree-structure-mismatch: a function of `jax.vjp` is given cotangents of another structure than the output
    expected: one cotangent for each output, in the same containers
    suggestion: pack the cotangents as the function packs its outputs
any: jvp called with different primal and tangent shapes;\s*Got primal shape (\([^)]*\)) and tangent shape as
        (\([^)]*\))
    axis-conflict: `jvp` is given a tangent of shape {2} for an argument of shape {1}
    expected: each tangent has the shape of its argument
    suggestion: use `jnp.ones_like` of the argument, or a direction of its shape
any: primal and tangent arguments to jax\.jvp do not match.*Got primal dtype (\w+).*but got tangent dtype (\w+)
    invalid-input-type: `jvp` is given a tangent of dtype {2} for an argument of dtype {1}
    expected: each tangent has the dtype of its argument
    suggestion: convert it with `.astype`
any: No VJP defined for custom_vjp function (\S+) using defvjp|No JVP defined for custom_jvp function (\S+)
    wrong-custom-derivative: `{1}{2}` has no derivative rule yet
    current: the call stops with an exception
    expected: rules are given before the first call
    suggestion: call `defvjp(forward, backward)` or `defjvp(rule)` after the definition
any: Custom VJP fwd rule (\S+) for function (\S+) must produce a pair
    wrong-custom-derivative: the forward rule of `{2}` does not give a pair of output and residuals
    current: the gradient stops with an exception
    expected: `return output, residuals`, with None where nothing is saved
    suggestion: return both
"""
    ),
    Row(r"'\w+' object cannot be interpreted as an integer|argnums must be an integer or", _argnums, ("TypeError",)),
    Row(r"Gradient only defined for scalar-output functions\. Output was (.*)", _tuple, ("TypeError",)),
    Row(r"requires real-(?: or complex-)?valued inputs .*?but got (\w+)", _integers, ("TypeError",)),
    Row(
        r"Custom VJP bwd rule .* at output\[?(.*?)\]? the bwd rule produced .* of type (\S+) corr.* type (\S+)",
        _bwd_type,
    ),
    Row(r"Custom VJP bwd rule .*must produce", _bwd_structure),
    Row(r"Custom JVP rule .*must produce", _jvp),
)
