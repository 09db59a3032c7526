"""Exceptions about trees, shapes and numbers."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, rows


def _tree(facts: Facts, match: re.Match[str]) -> Explanation:
    where = re.search(r"at key path\s+(?:tree_map tree|tree)?(\[\S*|\.\S*)", facts.message)
    at = f" at `{where[1]}`" if where else ""
    return Explanation(
        "tree-structure-mismatch",
        f"the trees that are walked together have different structures{at}{tree_difference(facts.message)}",
        current="the call stops with an exception: leaves are paired by their place in the tree",
        expected="the same containers with the same keys in every tree",
        suggestion="give trees of one structure: for example `variables['params']` for both, or neither",
    )


def _leaves(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "tree-structure-mismatch",
        f"a tree of {match[1]} leaves is put together from {match[2] or 'more'}",
        expected="as many leaves as the structure has",
        suggestion="flatten and unflatten with the structure of the same tree; None is no leaf",
    )


def tree_difference(message: str) -> str:
    """Return in what the trees of a message differ, to be put behind a sentence."""
    keys = re.search(r"symmetric difference on key sets is\s+(.*)", message)
    if keys:
        return (
            ": the keys "
            + ", ".join(f"`{key.strip(_QUOTES)}`" for key in keys[1].split()[:6])
            + " are not in all of them"
        )
    fields = re.search(r"with metadata\s+(\([^)]*\))\s.*?with metadata\s+(\([^)]*\))", message, re.DOTALL)
    if fields:
        return f": one has the keys {fields[1]}, another {fields[2]}"
    sizes = re.search(r"subtree of type (\w+) of length (\d+), but .* of length (\d+)", message)
    if sizes:
        return f": a {sizes[1]} of {sizes[2]} where another has {sizes[3]}"
    kinds = re.findall(r"<class '([^']+)'>", message)
    if len(kinds) >= 2 and kinds[0] != kinds[1]:
        return f": {kind_of(kinds[0])} where another has {kind_of(kinds[1])}"
    return ""


_QUOTES = "[]'\""
"""What newer versions of JAX put around the keys of trees."""


def kind_of(name: str) -> str:
    """Name a type of a tree's part for people."""
    short = name.rpartition(".")[2]
    if short.endswith("Tracer"):
        return "an array"
    return {"NoneType": "None", "ArrayImpl": "an array", "ShapedArray": "an array"}.get(short, f"a {short}")


def _broadcast(facts: Facts, match: re.Match[str]) -> Explanation:
    inner = match[1] or next((one for one in facts.inner if one.isidentifier()), "")
    name = f"`{facts.call or inner}`" if facts.call or inner else "this line"
    return Explanation(
        "axis-conflict",
        f"{name} joins arrays of shapes {match[2].rstrip('.')}, which do not fit",
        current="the operation stops with an exception: sizes must be equal, or one of them 1",
        expected="each pair of axes, counted from the last, means the same thing",
        suggestion="insert an axis with `[:, None]`, or transpose, so that equal axes meet",
    )


def _contract(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "axis-conflict",
        f"a product sums over axes of different sizes: {_sizes(match[1])} and {_sizes(match[2])}",
        current="the operation stops with an exception",
        expected="the last axis of the left operand is the contracted axis of the right one",
        suggestion="transpose one operand, or correct the layer's input size",
    )


def _sizes(text: str) -> str:
    """Write (3,) as 3."""
    return re.sub(r"^\((\d+),\)$", r"\1", text)


def _join(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "axis-conflict",
        f"arrays are joined that differ in {match[1]}: {match[2].rstrip('.')}",
        current="the operation stops with an exception",
        expected="equal shapes, except along the axis that is joined",
        suggestion="keep the axes of every part: `squeeze(-1)` instead of `squeeze()`, `x[None]` for a single element",
    )


def _overflow(facts: Facts, match: re.Match[str]) -> Explanation:
    named = re.search(r"out of bounds for (\w+)", facts.message)
    kind = named[1] if named else "int32"
    return Explanation(
        "integer-overflow",
        f"the Python integer {match[1] or match[2]} does not fit into {kind}",
        current="the operation stops with an exception: without x64, JAX's integers have 32 bits or fewer",
        expected=f"a number that {kind} can hold, or a wider dtype",
        suggestion="use a float, a smaller number, or `jax.config.update('jax_enable_x64', True)` at the start",
    )


TREE_TESTS = rows(
    r"""
current: comparing two trees stops with an exception: the truth of an array is ambiguous
ValueError: The truth value of an array with more than one element is ambiguous
    array-in-static-field: an array is part of the static data (aux) of a pytree class, where JAX compares it with `==`
    expected: arrays are children of the class, and aux holds what can be hashed and compared
    suggestion: move the array from aux to the children in the flatten function
"""
)
"""Rows that hold only inside JAX's functions on trees."""

ROWS = (
    *rows(
        r"""
TypeError: Mismatch\s+PyTreeDef\((.*)\)\s+!=\s+PyTreeDef\((.*)\)
    tree-transpose-wrong: a tree of structure {1} is transposed as if it were {2}
    expected: the outer structure filled with trees of the inner one
    suggestion: give `outer` as it is outside, and `inner` as each of its leaves is
ValueError: Duplicate custom PyTreeDef type registration for <class '(?:\w+\.)*(\w+)'>
    unregistered-class: `{1}` is registered as a pytree a second time
    expected: one registration for each class
    suggestion: drop the second one: a decorator, a base class or an earlier run of the cell has done it
AttributeError: type object '(\w+)' has no attribute '(tree_flatten|tree_unflatten)'
    unregistered-class: `{1}` is registered as a pytree, but has no `{2}`
    expected: `tree_flatten(self)` and the classmethod `tree_unflatten(cls, aux, children)`
    suggestion: add `{2}`, or use `register_dataclass`
any: cannot reshape array of shape (\(.*?\)) \(size (\d+)\) into shape (\(.*?\))
    axis-conflict: an array of shape {1} ({2} elements) is reshaped to {3}, which has another size
    current: the reshape stops with an exception
    expected: the sizes multiply to the same number
    suggestion: compute the sizes from `.shape`, or use -1 for one of them
any: cannot select an axis to squeeze out.*got shape=(\(.*?\)) and dimensions=(\(.*?\))
    axis-conflict: an axis of another size than 1 is squeezed away: shape {1}, axes {2}
    current: the squeeze stops with an exception
    expected: the axis has size 1
    suggestion: select an element (`x[..., 0]`), reduce the axis, or name another one
any: Size of label '(\w)' for operand (\d+) \((\d+)\) does not match previous terms \((\d+)\)
    axis-conflict: einsum's axis `{1}` has size {3} in operand {2}, and {4} before
    expected: one letter stands for one size
    suggestion: use another letter, or transpose the operand
FloatingPointError: invalid value \((\w+)\) encountered in (\S+)
    unsafe-domain: `{2}` gives {1}, and `jax_debug_nans` makes that an exception
    current: the value leaves the domain of the function here
    expected: the argument stays in the domain
    suggestion: guard the argument before the function: `jnp.log(jnp.maximum(x, eps))`
"""
    ),
    Row(r"pytree structure error|(?:Dict key|Tuple arity|List arity|Custom node type|Node type) mismatch", _tree),
    Row(r"Expected (?:dict|list|tuple|None|\w+), got ", _tree, ("ValueError",)),
    Row(r"Too (?:few|many) leaves for PyTreeDef; expected (\d+)(?:, got (\d+))?", _leaves, ("ValueError",)),
    Row(r"(\w+) got incompatible shapes for broadcasting: (.*)", _broadcast),
    Row(r"()Incompatible shapes for broadcasting: (?:shapes=)?\[?(.*?)\]?$", _broadcast),
    Row(r"dot_general requires contracting dimensions to have the same shape, got (\(.*?\)) and (\(.*?\))", _contract),
    Row(r"Cannot (?:concatenate|stack) arrays with different (numbers of dimensions): got (.*)", _join),
    Row(r"Cannot concatenate arrays with shapes that differ in (dimensions) other than .* for shapes (.*)", _join),
    Row(r"All input arrays must have the same (shape)[.:]*\s*(?:[Gg]ot:?\s*)?(.*)", _join, ("ValueError",)),
    Row(
        r"Got <class 'int'> with value (-?\d+)|Python int(?:eger)? (-?\d+) (?:too large|out of bounds)",
        _overflow,
        ("OverflowError",),
    ),
)
