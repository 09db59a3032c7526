"""Exceptions of `vmap`: which axis, which argument, which output."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, rows
from jaxaudit.frontends.jaxpr.exceptions.values import tree_difference

_AXIS = re.compile(r"had size (\d+): (?:for example, )?axis (-?\d+) of (?:argument )?(\S+) of type")


def _in_axes(facts: Facts, match: re.Match[str]) -> Explanation:
    got = first_line(match[1], 100).rstrip(".")
    counts = re.fullmatch(r"len\(in_axes\)=(\d+), len\(args\)=(\d+)", got)
    if counts:
        got = f"a tuple of {counts[1]} for {counts[2]} arguments"
    elif "in_axes" in facts.line and re.search(r"in_axes=(['\"])", facts.line):
        got = f"the text '{got}'"
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
        f"`in_axes` does not follow the structure of the arguments{_at(facts.message)}",
        current="the call stops with an exception: axes are given to leaves by their place in the tree",
        expected="`in_axes` is a prefix of the argument tree: an axis for a leaf or for a whole container",
        suggestion="give each argument one entry; inside it, the same keys as in the argument",
    )


def _at(message: str) -> str:
    where = re.search(r"at key path\s+vmap in_axes(\S+)", message)
    return (f", at `in_axes{where[1]}`" if where else "") + tree_difference(message)


def _rank(facts: Facts, match: re.Match[str]) -> Explanation:
    sizes = match[2].strip("(),").replace(" ", "")
    scalars = ("a Python int", "a Python float", "a Python bool") if not sizes else ()
    named = facts.leaves(rf"\w+\[{sizes}\]", *scalars)
    what = named[0] if len(named) == 1 else f"an array of shape {match[2]}"
    what += f" (one of {', '.join(named[:4])})" if len(named) > 1 else ""
    return Explanation(
        "wrong-axis-mapped",
        f"`vmap` is to map axis {match[1]} of {what}, which has no such axis",
        expected="each mapped argument has the axis that `in_axes` names",
        suggestion="use None for arguments that are shared by all, or correct the axis",
    )


def _sizes(facts: Facts, match: re.Match[str]) -> Explanation:
    axes = _AXIS.findall(facts.message)
    named = re.search(r"the `axis_size` argument was (\d+)", facts.message)
    sizes = [f"axis {axis} of `{name}` has size {size}" for size, axis, name in axes[:3]]
    told = ", ".join([f"`axis_size` is {named[1]}", *sizes] if named else sizes)
    return Explanation(
        "wrong-axis-mapped",
        f"`vmap` maps axes of different sizes: {told or first_line(match[1])}",
        current="the call stops with an exception: all mapped axes are walked in step",
        expected="one size for all mapped axes",
        suggestion="use None in `in_axes` for an argument that is shared by all, or map its other axis",
    )


ROWS = (
    *rows(
        r"""
current: the call stops with an exception
ValueError: vmap must have at least one non-None value in in_axes
    in-axes-structure-mismatch: nothing is mapped: every entry of `in_axes` is None
    current: the call stops with an exception: there is no axis to take the size from
    expected: at least one argument has an axis to map over
    suggestion: give the axis of the mapped argument, or `axis_size=`
any: at vmap out_axes.*None but output was batched|vmap has mapped output .* but out_axes is None
    out-axes-assumption: `out_axes` is None for an output that differs between the mapped elements
    current: the call stops with an exception: there is a value for each element, not one for all
    expected: an axis for every output that depends on a mapped input
    suggestion: give it an axis (`out_axes=0`), or reduce it inside with `lax.pmean` over a named axis
ValueError: vmap out_axes specification must be a tree prefix
    out-axes-assumption: `out_axes` does not have the form of what the function gives
    expected: one axis for all outputs, or the containers of the output with an axis each
    suggestion: give `out_axes` as many entries as there are outputs
any: vmap in_axes must be an int, None, or \(nested\) container with those types as leaves, but got (.*)
    in-axes-structure-mismatch: `in_axes` holds something other than whole numbers and None: {1}
    expected: a whole number or None for each argument or leaf
    suggestion: give the axis as a Python int
any: vmap wrapped function must be passed at least one argument containing an array
    in-axes-structure-mismatch: a mapped function is called without an array
    expected: an argument with an axis to map over
    suggestion: pass the array by position, or give `axis_size=`
"""
    ),
    Row(r"vmap in_axes must be an int, None, or a tuple.*?but got (.*)", _in_axes),
    Row(r"vmap in_axes specification must be a tree prefix", _prefix, ("ValueError",)),
    Row(r"map its argument along axis (-?\d+), which implies.*?its shape is (\([^)]*\))", _rank, ("ValueError",)),
    Row(r"vmap got inconsistent sizes for array axes to be mapped:(.*)", _sizes, ("ValueError",)),
)

OUT_AXES_ROWS = rows(
    r"""
current: the call stops with an exception
ValueError: axis (-?\d+) is out of bounds for array of dimension (\d+)
    out-axes-assumption: `out_axes` names axis {1}, but with the mapped axis the output has {2} axes, which count from 0
    expected: an axis below {2}
    suggestion: correct `out_axes`: an output without axes can only be collected along axis 0
"""
)
"""Rows that hold only on a line that gives `out_axes`, outside the mapped function."""
