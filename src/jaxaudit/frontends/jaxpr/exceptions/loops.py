"""Exceptions of `scan`, `while_loop`, `fori_loop`, `cond` and `switch`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, rows
from jaxaudit.frontends.jaxpr.exceptions.values import kind_of
from jaxaudit.spans import Span

_LEAF = re.compile(
    r"input carry(?: component)? (\S+) has type (\S+) but the corresponding output carry component has type "
    r"([^\s,]+(?:\[[^\]]*\])?),? so the \w+"
)
_BRANCH = re.compile(
    r"output(?: component)? ?(?P<old>\S*?) ?of (?P<one>[a-z_]+ ?\d*)(?: at path (?P<path>\S+))? has type "
    r"(?P<was>\S+\]?) but .*? of (?P<other>[a-z_]+ ?\d*)(?: at path \S+)? has type (?P<now>\S+\]?)"
)
_FUNCTION = re.compile(r"^(true_fun|false_fun|branch ?\d+) is (\S+) at (\S+):(\d+)$", re.MULTILINE)


def _carry(facts: Facts, match: re.Match[str]) -> Explanation:
    leaves = _LEAF.findall(facts.message)
    loop = _loop(facts, match[1])
    if not leaves:
        return _structure(facts, loop)
    name, before, after = leaves[0]
    name = _called(name)
    rest = ", ".join(f"`{_called(one[0])}` from {one[1]} into {one[2]}" for one in leaves[1:4])
    return Explanation(
        "carry-type-changes",
        f"the body of `{loop}` turns carry `{name}` from {before} into {after}",
        current="tracing stops with an exception: a carry keeps its type in every turn"
        + (f"; it also turns {rest}" if rest else ""),
        expected=f"`{name}` leaves the body as {before}, or starts as {after}",
        suggestion=_cure(name, before, after),
    )


def _loop(facts: Facts, name: str) -> str:
    """Name the loop as the user wrote it: JAX makes `fori_loop` of others."""
    written = re.search(r"\b(fori_loop|while_loop|scan|map)\b", facts.line)
    return (
        "fori_loop"
        if "loop_carry" in facts.message
        else written[1]
        if written
        else name.replace("body_fun", "while_loop")
    )


def _called(name: str) -> str:
    """Name a part of the carry; JAX's own counter in front of it does not count."""
    return re.sub(r"^loop_carry(\[1\])?", "carry", name)


def _cure(name: str, before: str, after: str) -> str:
    varies = re.search(r"\{V:([\w,]+)\}", after)
    if varies and "{V" not in before:
        axes = ", ".join(f"'{axis}'" for axis in varies[1].split(","))
        return (
            f"inside `shard_map` the body makes `{name}` differ between the devices of {axes}: start it so, with "
            f"`jax.lax.pcast({name}, ({axes},), to='varying')` (`jax.lax.pvary` in older versions)"
        )
    if _dims(before) == _dims(after):
        return f"start `{name}` with the dtype it ends with ({after}), or cast it in the body with `.astype`"
    start, end = _dims(before), _dims(after)
    if len(end) > len(start):
        gained = [size for size in end if size not in start] or list(end[: len(end) - len(start)])
        sizes = ", ".join(map(str, gained))
        return (
            f"`{name}` gains an axis (size {sizes}): either its initial value lacks that axis, or something in the "
            "body broadcasts against an array with one axis too many, such as (n, 1) against (n,)"
        )
    return f"give the initial `{name}` the shape {end}, or keep the shape {start} in the body"


def _dims(text: str) -> tuple[int, ...]:
    inside = re.search(r"\[([\d,]*)\]", text)
    return tuple(int(size) for size in inside[1].split(",") if size) if inside else ()


_PARTS = re.compile(
    r"input carry(?: component)? (\S+) is a (<class '(?P<was>[^']+)'>|pytree leaf|(?P<was_>\w+))(?: (?:with|of length) "
    r"(?P<had>\d+)(?: child\w*)?)? but the corresponding component of the carry output is a "
    r"(<class '(?P<now>[^']+)'>|pytree leaf|(?P<now_>\w+))(?: (?:with|of length) (?P<has>\d+)(?: child\w*)?)?"
)
_KEYS = re.compile(r"symmetric difference of key sets: \{([^}]*)\}")


_STATIC = re.compile(
    r"is a <class '([^']+)'> with pytree metadata (.*?) but the corresponding .*? with pytree metadata (.*?), so the "
)


def _structure(facts: Facts, loop: str) -> Explanation:
    static = _STATIC.search(facts.message)
    if static is not None:
        name = static[1].rpartition(".")[2]
        return Explanation(
            "carry-type-changes",
            f"the body of `{loop}` changes a static field of `{name}`, which is no part of a carry",
            current=f"tracing stops with an exception: static fields go in as {static[2]} and come out as {static[3]}",
            expected="what changes from turn to turn is an array, and data to JAX",
            suggestion="declare the field as data (`pytree_node=True`), and start it as an array",
        )
    found, keys = _PARTS.search(facts.message), _KEYS.search(facts.message)
    told = first_line(facts.message)
    if found:
        before = _part(found["was"] or found["was_"], found["had"])
        after = _part(found["now"] or found["now_"], found["has"])
        told = f"`{_called(found[1])}` goes in as {before} and comes out as {after}"
    if keys:
        told += f"; the keys {keys[1]} are not in both"
    return Explanation(
        "carry-type-changes",
        f"the body of `{loop}` gives a carry of another structure than it takes",
        current=told,
        expected="the same tuples, dicts and leaves go in and come out in every turn",
        suggestion="return the carry with all its parts, in the same containers",
    )


def _part(kind: str | None, count: str | None) -> str:
    words = kind_of(kind) if kind else "an array"
    return f"{words} of {count}" if count else words


_SIDE = (
    r"(?P<a1>true_fun|false_fun|branch ?\d+) output (?:component )?(?P<a2>\S*) ?is a (?:<class '(?P<a3>[^']+)'>|"
    r"pytree leaf|(?P<a4>\w+))(?: of length (?P<a5>\d+)| with (?P<a6>\d+) child\w*| with pytree metadata "
    r"(?P<a7>\([^)]*\)))?"
)


def _side(found: re.Match[str], letter: str) -> str:
    """Name what one branch gives, with the keys of a dict."""
    part = _part(found[f"{letter}3"] or found[f"{letter}4"], found[f"{letter}5"] or found[f"{letter}6"])
    keys, where = found[f"{letter}7"], found[f"{letter}2"]
    return part + (f" with the keys {keys}" if keys else "") + (f" at `{where}`" if where else "")


def _branch_trees(facts: Facts, match: re.Match[str]) -> Explanation:
    found = re.search(rf"{_SIDE} but {_SIDE.replace('<a', '<b')}", facts.message)
    told = "their outputs have different structures"
    if found:
        one, other = (_side(found, letter) for letter in "ab")
        names = {_number(label): name for label, name, *_ in _FUNCTION.findall(facts.message)}
        told = f"{_branch(found['a1'], names)} gives {one}, {_branch(found['b1'], names)} {other}"
        if keys := _KEYS.search(facts.message):
            told += f"; the keys {keys[1]} are not in both"
    return Explanation(
        "branch-type-mismatch",
        f"the branches of `{match[1]}` do not give the same: {told}",
        current="tracing stops with an exception: either branch must fit what follows",
        expected="the same structure, shapes and dtypes from every branch",
        suggestion="make the branches give the same containers; where one has nothing to give, give zeros",
        steps=_defined(facts),
    )


def _plain(types: str) -> str:
    return re.sub(r"ShapedArray\(([^)]*)\)", r"\1", first_line(types)).rstrip(".")


def _pair(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "carry-type-changes",
        "the body of `scan` does not give a pair of carry and output",
        current=f"tracing stops with an exception: it gives {_plain(match[1])}",
        expected="`return carry, output`, with None where there is no output",
        suggestion="return `(carry, None)`",
    )


def _branches(facts: Facts, match: re.Match[str]) -> Explanation:
    found = list(_BRANCH.finditer(facts.message))
    names = {_number(label): name for label, name, *_ in _FUNCTION.findall(facts.message)}
    told, cure = "their outputs differ", "make the branches agree, for example with `.astype` or `jnp.zeros_like`"
    if found:
        one = found[0]
        was, now = one["was"].rstrip(","), one["now"].rstrip(",")
        where = one["path"] or one["old"]
        at = f"at `{where}` " if where else ""
        told = f"{at}{_branch(one['one'], names)} gives {was}, {_branch(one['other'], names)} {now}"
        told += f"; {len(found) - 1} more leaves differ" if len(found) > 1 else ""
        if _dims(was) == _dims(now):
            cure = f"convert in one of the branches: `.astype(jnp.{was.partition('[')[0]})`"
    return Explanation(
        "branch-type-mismatch",
        f"the branches of `{match[1] or 'cond'}` do not give the same types: {told}",
        current="tracing stops with an exception: either branch must fit what follows",
        expected="the same structure, shapes and dtypes from every branch",
        suggestion=cure,
        steps=_defined(facts),
    )


def _number(label: str) -> str:
    return label.replace(" ", "")


def _branch(label: str, names: Mapping[str, str]) -> str:
    """Name a branch by its function, else by its place: counted from 0, as `switch` does."""
    name = names.get(_number(label.strip()), "")
    return f"`{name}`" if name.isidentifier() else f"`{_place(label)}`"


def _place(label: str) -> str:
    """Write the label of a branch in one way: JAX has `branch 0` and `branch1`."""
    return _number(label.strip()).replace("branch", "branch ")


def _defined(facts: Facts) -> tuple[tuple[Span, str], ...]:
    """Show where the functions of the branches are, where these are the user's."""
    found = [
        (facts.shown(path), int(line), _number(label)) for label, _, path, line in _FUNCTION.findall(facts.message)
    ]
    return tuple(
        (Span(path, line, 0, line, 0), f"`{label.replace('branch', 'branch ')}` is this function")
        for path, line, label in found
        if path in facts.files
    )


def _lengths(facts: Facts, match: re.Match[str]) -> Explanation:
    leaves = [leaf for leaf in facts.failure.leaves if leaf.path.startswith("xs")]
    told = ", ".join(f"`{leaf.path}` is {leaf.type}" for leaf in leaves[:5]) or match[1].rstrip(".")
    return Explanation(
        "scan-length-mismatch",
        f"the arrays that `scan` runs over have different lengths: {told}",
        current="the call stops with an exception: all of them are read one element a turn",
        expected="one length along the first axis of every leaf of xs",
        suggestion="cut or stack them to one length; what does not vary belongs into the closure or the carry",
    )


def _scalar(facts: Facts, match: re.Match[str]) -> Explanation:
    bare = [leaf for leaf in facts.failure.leaves if leaf.path.startswith("xs") and not _dims(leaf.type)]
    told = f"`{bare[0].path}`, {bare[0].type}" if bare else _plain(match[1])
    return Explanation(
        "carry-xs-confusion",
        f"`{_loop(facts, 'scan')}` is to run over a value without an axis ({told})",
        current="the call stops with an exception: a scalar has no elements to read in turn",
        expected="xs holds arrays whose first axis is scanned",
        suggestion="put it into the carry or the closure; give `xs=None, length=n` when nothing is scanned",
    )


ROWS = (
    *rows(
        r"""
current: the call stops with an exception
TypeError: cond_fun must return a boolean scalar, but got output type\(s\) \[(?:ShapedArray\()?([^\])]*\]?)
    condition-not-scalar: the condition of `while_loop` gives {1}, not one truth value
    current: tracing stops with an exception: a loop either goes on or ends
    expected: one truth value, of shape ()
    suggestion: compare (`> 0`) and reduce with `.any()` or `.all()`
TypeError: Pred must be a scalar, got .* of shape (\([^)]*\))
    condition-not-scalar: the condition of `cond` has shape {1}, but there is one decision
    expected: one truth value, of shape ()
    suggestion: use `jnp.where` to choose for each element, or reduce with `.any()` or `.all()`
TypeError: (?:Index|Pred) type must be (?:an )?(\w+).*?, got .* as (\w+)|Pred type must be either boolean or number,
        got (.*)
    condition-not-scalar: a branch is chosen by a value of type {2}{3}, which does not number branches
    expected: a truth value for `cond`, a whole number for `switch`
    suggestion: convert it: `.astype(int)`, or compare it
TypeError: cond_fun must return a boolean scalar, but got pytree PyTreeDef\((.*)\)
    condition-not-scalar: the condition of `while_loop` gives a container {1}, not one truth value
    current: tracing stops with an exception: a loop either goes on or ends
    expected: one truth value, of shape ()
    suggestion: return the comparison alone; the body gives the carry
TypeError: lower and upper arguments to fori_loop must have equal types, got (\w+) and (\w+)
    invalid-input-type: the bounds of `fori_loop` are {1} and {2}
    expected: two whole numbers
    suggestion: convert with `int(...)`, or divide with `//`
TypeError: true_fun and false_fun arguments should be callable|Expected a callable value, got (.*)
    invalid-input-type: `{call}` is given a value where a function is needed
    expected: functions, which JAX traces itself
    suggestion: wrap it: `lambda: value`; a function is passed without calling it
TypeError: Pred must be a scalar, got (.*?) of type <class '([^']+)'>
    condition-not-scalar: the condition of `cond` is `{1}`, a {2}
    expected: one truth value, of shape ()
    suggestion: compare it before: `mode == 'train'`; what Python knows needs a Python `if` only
TypeError: Branch index must be scalar, got .* of shape (\([^)]*\))
    condition-not-scalar: the index of `switch` has shape {1}, but there is one decision
    expected: one whole number, of shape ()
    suggestion: `jax.vmap` over the index, or `jnp.select` to choose for each element
ValueError: Empty branch sequence
    branch-type-mismatch: `switch` is given no branches
    expected: one function or more
    suggestion: find out why the list is empty
ValueError: scan got no values to scan over and `length` not provided
    scan-length-mismatch: `scan` is given nothing to scan and no `length`
    current: the call stops with an exception: the number of turns is not known
    expected: arrays with a first axis, or `xs=None, length=n`
    suggestion: give `length=`, or stack what is to be scanned
any: scan got `length` argument of (\d+) which disagrees with leading axis sizes \[([^\]]*)\]
    scan-length-mismatch: `scan` is told to run {1} turns over arrays of length {2}
    expected: `length` equals the first axis of xs, or is left out
    suggestion: leave `length` out, or correct the first axis of xs
ValueError: Reverse-mode differentiation does not work for lax\.while_loop
    reverse-through-while-loop: a gradient is taken through `while_loop`, or `fori_loop` with bounds that are traced
    current: differentiation stops with an exception: the number of turns to go back is not known
    expected: a loop with a fixed number of turns, or no gradient through it
    suggestion: use `lax.scan` (with a mask for early exit), or `fori_loop` with Python integers as bounds
"""
    ),
    Row(r"(cond|switch) branch outputs must have the same pytree structure", _branch_trees, ("TypeError",)),
    Row(r"(\w+) body function carry input and carry output must have", _carry, ("TypeError",)),
    Row(r"(body_fun) output and input must have", _carry, ("TypeError",)),
    Row(r"scan body output must be a pair, got (.*)", _pair, ("TypeError",)),
    Row(r"(cond|switch) branches must have|(?:true_fun and false_fun) output must have", _branches, ("TypeError",)),
    Row(r"scan got values with different leading axis sizes: (.*)", _lengths, ("ValueError",)),
    Row(r"scan got value with no leading axis to scan over: (.*)", _scalar, ("ValueError",)),
)
