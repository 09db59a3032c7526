"""Exceptions of `vmap` and of gradients: which axis, which argument, which output."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.locate import rule_of_derivative
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, say
from jaxaudit.spans import Span

_AXIS = re.compile(r"had size (\d+): (?:for example, )?axis (-?\d+) of (?:argument )?(\S+) of type")


def _in_axes(facts: Facts, match: re.Match[str]) -> Explanation:
    got = first_line(match[1], 100).rstrip(".")
    single = got.startswith(("{", "["))
    return Explanation(
        "in-axes-structure-mismatch",
        f"`in_axes` does not have the form of the arguments: it is {got}",
        current="the call stops with an exception: `in_axes` is an int, None, or a tuple with one entry an argument",
        expected=f"`in_axes=({got},)`" if single else "one entry for each positional argument",
        suggestion="wrap it into a tuple of one entry" if single else "give as many entries as there are arguments",
    )


def _prefix(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "in-axes-structure-mismatch",
        "`in_axes` does not follow the structure of the arguments",
        current=first_line(facts.message),
        expected="`in_axes` is a prefix of the argument tree: an axis for a leaf or for a whole container",
        suggestion="give each argument one entry; inside it, the same keys as in the argument",
    )


def _nothing_mapped(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "in-axes-structure-mismatch",
        "nothing is mapped: every entry of `in_axes` is None",
        current="the call stops with an exception: there is no axis to take the size from",
        expected="at least one argument has an axis to map over",
        suggestion="give the axis of the mapped argument, or `axis_size=`",
    )


def _rank(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "wrong-axis-mapped",
        f"`vmap` is to map axis {match[1]} of an array of shape {match[2]}, which has no such axis",
        current="the call stops with an exception",
        expected="each mapped argument has the axis that `in_axes` names",
        suggestion="use None for arguments that are shared by all, or correct the axis",
    )


def _sizes(facts: Facts, match: re.Match[str]) -> Explanation:
    axes = _AXIS.findall(facts.message)
    told = ", ".join(f"axis {axis} of `{name}` has size {size}" for size, axis, name in axes[:3])
    return Explanation(
        "wrong-axis-mapped",
        f"`vmap` maps axes of different sizes: {told or first_line(match[1])}",
        current="the call stops with an exception: all mapped axes are walked in step",
        expected="one size for all mapped axes",
        suggestion="use None in `in_axes` for an argument that is shared by all, or map its other axis",
    )


def _out_axes(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "out-axes-assumption",
        "`out_axes` is None for an output that differs between the mapped elements",
        current="the call stops with an exception: there is a value for each element, not one for all",
        expected="an axis for every output that depends on a mapped input",
        suggestion="give it an axis (`out_axes=0`), or reduce it inside with `lax.pmean` over a named axis",
    )


def _scalar(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "non-scalar-grad",
        f"a gradient is taken of a function that gives an array of shape {match[1]}, not one number",
        current="the call stops with an exception: only a scalar has a gradient",
        expected="the function ends in one number",
        suggestion="reduce it, for example with `.mean()` or `.sum()`; for all derivatives use `jax.jacrev`",
    )


def _tuple(facts: Facts, match: re.Match[str]) -> Explanation:
    if match[1].startswith("None"):
        return Explanation(
            "non-scalar-grad",
            "a gradient is taken of a function that gives None",
            current="the call stops with an exception: only a scalar has a gradient",
            expected="the function gives the loss",
            suggestion="add the missing `return`",
        )
    return Explanation(
        "aux-mishandled",
        "a gradient is taken of a function that gives several values, without `has_aux=True`",
        current="the call stops with an exception: the function gives no single number",
        expected="the loss alone, or `has_aux=True` with (loss, everything else)",
        suggestion="add `has_aux=True`, and take the result apart as `(loss, aux), grads`",
    )


def _no_pair(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "aux-mishandled",
        "`has_aux=True` is given, but the function does not give a pair of loss and aux",
        current="the call stops with an exception",
        expected="the function gives (loss, aux): a tuple of exactly two",
        suggestion="return `(loss, aux)`, with all further values in one container, or leave `has_aux` out",
    )


def _integers(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "wrong-argnums",
        f"a gradient is taken with respect to an argument of dtype {match[1]}",
        current="the call stops with an exception: only real and complex numbers can change a little",
        expected="`argnums` points at the parameters",
        suggestion="correct `argnums` (it counts from 0), or convert the argument to float",
    )


def _bwd_type(facts: Facts, match: re.Match[str]) -> Explanation:
    rule = rule_of_derivative(facts, "defvjp", 1)
    return Explanation(
        "wrong-custom-derivative",
        f"the backward rule gives a gradient of type {match[2]} for an argument of type {match[3].rstrip(',')}",
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
    return Explanation(
        "wrong-custom-derivative",
        "the derivative rule does not give a tangent of the type of its output",
        current=first_line(facts.message),
        expected="the primal output and a tangent of the same shape and dtype",
        suggestion="give back `(primal, tangent)` with equal types",
        span=rule,
    )


ROWS = (
    Row(r"vmap in_axes must be an int, None, or a tuple.*?but got (.*)", _in_axes),
    Row(r"vmap in_axes specification must be a tree prefix", _prefix, ("ValueError",)),
    Row(r"vmap must have at least one non-None value in in_axes", _nothing_mapped, ("ValueError",)),
    Row(r"map its argument along axis (-?\d+), which implies.*?its shape is (\([^)]*\))", _rank, ("ValueError",)),
    Row(r"vmap got inconsistent sizes for array axes to be mapped:(.*)", _sizes, ("ValueError",)),
    Row(r"at vmap out_axes.*None but output was batched|vmap has mapped output .* but out_axes is None", _out_axes),
    Row(r"Gradient only defined for scalar-output functions\. Output had shape: (\([^)]*\))", _scalar, ("TypeError",)),
    Row(r"Gradient only defined for scalar-output functions\. Output was (.*)", _tuple, ("TypeError",)),
    Row(r"expected function with aux output to return a two-element tuple", _no_pair, ("TypeError",)),
    Row(r"requires real-(?: or complex-)?valued inputs .*?but got (\w+)", _integers, ("TypeError",)),
    Row(
        r"requires real-valued outputs .*?but got (\w+)",
        say(
            "non-scalar-grad",
            "a gradient is taken of a function that gives a number of dtype {1}",
            "the function ends in one real number",
            "leave out the conversion (`astype`, a comparison) in the loss; of complex numbers take the real part",
            "the call stops with an exception: whole numbers do not change a little",
        ),
        ("TypeError",),
    ),
    Row(
        r"differentiating with respect to argnums=(\S+) requires at least (\d+) positional arguments .* got only (\d+)",
        say(
            "wrong-argnums",
            "`argnums={1}` names an argument that is not given: there are {3}, and they count from 0",
            "`argnums` names a positional argument of the call",
            "correct `argnums`, or pass the argument by position and not by keyword",
            "the call stops with an exception",
        ),
        ("TypeError",),
    ),
    Row(
        r"argument to VJP function: got (\S+), but expected (\S+)",
        say(
            "axis-conflict",
            "a function of `jax.vjp` is given a cotangent of type {1}, but the output has type {2}",
            "a cotangent of the type of the output",
            "use `jnp.ones_like(output)`, or what flows back into the output",
        ),
    ),
    Row(
        r"argument to a VJP function returned by `jax\.vjp` must match",
        say(
            "tree-structure-mismatch",
            "a function of `jax.vjp` is given cotangents of another structure than the output",
            "one cotangent for each output, in the same containers",
            "pack the cotangents as the function packs its outputs",
        ),
    ),
    Row(
        r"jvp called with different primal and tangent shapes;\s*Got primal shape (\([^)]*\)) and tangent shape as "
        r"(\([^)]*\))",
        say(
            "axis-conflict",
            "`jvp` is given a tangent of shape {2} for an argument of shape {1}",
            "each tangent has the shape of its argument",
            "use `jnp.ones_like` of the argument, or a direction of its shape",
        ),
    ),
    Row(
        r"primal and tangent arguments to jax\.jvp do not match.*Got primal dtype (\w+).*but got tangent dtype (\w+)",
        say(
            "invalid-input-type",
            "`jvp` is given a tangent of dtype {2} for an argument of dtype {1}",
            "each tangent has the dtype of its argument",
            "convert it with `.astype`",
        ),
    ),
    Row(
        r"No VJP defined for custom_vjp function (\S+) using defvjp|No JVP defined for custom_jvp function (\S+)",
        say(
            "wrong-custom-derivative",
            "`{1}{2}` has no derivative rule yet",
            "rules are given before the first call",
            "call `defvjp(forward, backward)` or `defjvp(rule)` after the definition",
            "the call stops with an exception",
        ),
    ),
    Row(
        r"Custom VJP fwd rule (\S+) for function (\S+) must produce a pair",
        say(
            "wrong-custom-derivative",
            "the forward rule of `{2}` does not give a pair of output and residuals",
            "`return output, residuals`, with None where nothing is saved",
            "return both",
            "the gradient stops with an exception",
        ),
    ),
    Row(
        r"vmap out_axes specification must be a tree prefix",
        say(
            "out-axes-assumption",
            "`out_axes` does not have the form of what the function gives",
            "one axis for all outputs, or the containers of the output with an axis each",
            "give `out_axes` as many entries as there are outputs",
            "the call stops with an exception",
        ),
        ("ValueError",),
    ),
    Row(
        r"Custom VJP bwd rule .* at output\[?(.*?)\]? the bwd rule produced .* of type (\S+) corr.* type (\S+)",
        _bwd_type,
    ),
    Row(r"Custom VJP bwd rule .*must produce", _bwd_structure),
    Row(r"Custom JVP rule .*must produce", _jvp),
)

OUT_AXES_ROWS = (
    Row(
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)",
        say(
            "out-axes-assumption",
            "`out_axes` names axis {1}, but with the mapped axis the output has {2} axes, which count from 0",
            "an axis below {2}",
            "correct `out_axes`: an output without axes can only be collected along axis 0",
            "the call stops with an exception",
        ),
        ("ValueError",),
    ),
)
"""Rows that hold only on a line that gives `out_axes`, outside the mapped function."""
