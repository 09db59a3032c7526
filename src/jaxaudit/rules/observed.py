"""The rules that a run can show broken by an exception, with a page for each that no other module documents.

A rule with a module of its own in `rules/` speaks for itself; its page wins.
"""

from __future__ import annotations

from typing import NamedTuple


class ObservedRule(NamedTuple):
    """A rule that exceptions and traces can show broken."""

    name: str
    family: str
    summary: str


RULES = (
    ObservedRule(
        "script-failed", "files", "A script that is observed, or a function that is traced, stops with an exception."
    ),
    ObservedRule("axis-conflict", "axes", "Two axes meet that do not fit together."),
    ObservedRule(
        "carry-type-changes", "scan", "The body of a loop gives its carry back with another type or structure."
    ),
    ObservedRule(
        "carry-xs-confusion", "scan", "A value without an axis is scanned; it belongs into the carry or the closure."
    ),
    ObservedRule("branch-type-mismatch", "scan", "The branches of `cond` or `switch` give different types."),
    ObservedRule("condition-not-scalar", "scan", "The condition of a branch or loop is not one truth value."),
    ObservedRule(
        "wrong-number-of-arguments", "scan", "A function, body or branch is called with other arguments than it takes."
    ),
    ObservedRule("scan-length-mismatch", "scan", "The arrays of a scan have different lengths."),
    ObservedRule("reverse-through-while-loop", "scan", "A gradient is taken through a loop of unknown length."),
    ObservedRule("in-axes-structure-mismatch", "vmap", "`in_axes` does not have the form of the arguments."),
    ObservedRule("wrong-axis-mapped", "vmap", "`vmap` maps an axis that is missing, or axes of different sizes."),
    ObservedRule("out-axes-assumption", "vmap", "`out_axes` says that an output is shared by all, but it is not."),
    ObservedRule("unbound-axis-name", "sharding", "A collective names an axis that nothing around it binds."),
    ObservedRule(
        "missing-cross-device-reduction", "sharding", "Devices keep different values of what is declared equal."
    ),
    ObservedRule(
        "device-axis-missing", "sharding", "The leading axis of an argument of `pmap` is not the device axis."
    ),
    ObservedRule("spec-does-not-fit", "sharding", "A sharding names an axis, or splits a size, that does not fit."),
    ObservedRule("explicit-sharding-conflict", "sharding", "Operands with explicit shardings do not agree."),
    ObservedRule("mixed-devices", "sharding", "Arrays on different devices meet in one operation."),
    ObservedRule("used-after-donation", "sharding", "An array is used after its buffer was donated."),
    ObservedRule("python-branch-on-traced", "jit", "Python needs the truth of a traced value."),
    ObservedRule("print-in-traced-code", "jit", "A traced value is printed or formatted by Python."),
    ObservedRule("invalid-input-type", "jit", "A compiled function is given something that is no array."),
    ObservedRule("retrace-every-call", "jit", "A function is compiled again and again."),
    ObservedRule("static-argument-misuse", "jit", "A static argument cannot be hashed, or changes at every call."),
    ObservedRule("dynamic-shape", "jit", "The shape of an array depends on data."),
    ObservedRule("in-place-update", "jit", "An element of a JAX array is assigned in place."),
    ObservedRule("numpy-on-traced", "jit", "NumPy or Python needs the numbers of a traced array."),
    ObservedRule("traced-shape-arithmetic", "jit", "A size or count is computed with traced values."),
    ObservedRule("iterator-in-traced-code", "jit", "A Python iterator is given where JAX needs arrays."),
    ObservedRule("tracer-leak", "jit", "A traced value outlives the trace that made it."),
    ObservedRule(
        "wrong-custom-derivative",
        "gradients",
        "A rule of `custom_vjp` or `custom_jvp` gives something else than asked.",
    ),
    ObservedRule("unregistered-class", "pytrees", "An object of a class that JAX cannot take apart is given as data."),
    ObservedRule("array-in-static-field", "pytrees", "An array is part of the static data of a pytree."),
    ObservedRule("tree-structure-mismatch", "pytrees", "Trees that are walked together differ in structure."),
    ObservedRule("path-filter-misses", "pytrees", "Parameters are picked by names that they do not have."),
    ObservedRule("tree-transpose-wrong", "pytrees", "A tree is transposed by structures that it does not have."),
    ObservedRule(
        "module-state-mishandled", "pytrees", "A module is given variables of another structure than its own."
    ),
    ObservedRule("non-scalar-grad", "gradients", "A gradient is taken of something that is not one number."),
    ObservedRule("aux-mishandled", "gradients", "`has_aux` and what the function gives do not fit."),
    ObservedRule("wrong-argnums", "gradients", "A gradient is taken with respect to what cannot be differentiated."),
    ObservedRule("not-a-key", "random", "Something that is no random key is given as one."),
    ObservedRule("too-few-subkeys", "random", "More subkeys are used than were split off."),
    ObservedRule("unsafe-domain", "numerics", "A function gets an argument outside its domain."),
    ObservedRule("integer-overflow", "numerics", "An integer does not fit into its dtype."),
)

PAGE = """{summary}

## What it does
`jaxaudit run`, `jaxaudit trace` and `pytest --jaxaudit` report this where the program itself shows it: by the exception
that JAX raises, explained at the line that causes it, or by what was counted while it ran.

## Why is this bad?
It has happened: the program stopped, or compiled anew, at this place.

## When it cannot tell
Code that did not run was not observed."""
