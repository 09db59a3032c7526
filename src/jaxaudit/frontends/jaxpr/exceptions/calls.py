"""Exceptions of calls as Python sees them: wrong arguments, names that do not exist, unpacking, operands."""

from __future__ import annotations

import ast
import re

from jaxaudit.frontends.jaxpr.exceptions.locate import definition_of, returned_counts, rule_named
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, first_line, rows, written
from jaxaudit.frontends.jaxpr.exceptions.refused import array_or
from jaxaudit.spans import Span

_TAKERS = re.compile(
    r"\b(scan|cond|switch|while_loop|fori_loop|associative_scan|map|vmap|pmap|grad|value_and_grad|jacfwd|jacrev|"
    r"hessian|jvp|vjp|checkpoint|remat|shard_map|jit|tree\.map|custom_root)\("
)
_GIVES = {
    "scan": "the body takes (carry, x)",
    "fori_loop": "the body takes (i, carry)",
    "while_loop": "condition and body take the carry",
    "cond": "every branch takes the operands that follow the functions",
    "switch": "every branch takes the operands that follow the list",
    "map": "the function takes one argument, an element of the array or a tuple of elements",
    "associative_scan": "the function takes two elements and joins them",
}


def _arguments(facts: Facts, match: re.Match[str]) -> Explanation:
    """A function that takes another number of arguments than it is given, by JAX or by the user."""
    name = match[1].rpartition(".")[2]
    rule = rule_named(facts, name)
    if rule is not None:
        return _rule_arguments(facts, name, *rule)
    owner = match[1].rpartition(".")[0].rpartition(".")[2]
    # A method of a library's class is not the user's method of the same name.
    if owner and owner != "<locals>" and not _defines(facts, owner):
        name = ""
    taker = _TAKERS.search(facts.line)
    if taker is not None and name and not facts.call.endswith(name):
        return Explanation(
            "wrong-number-of-arguments",
            f"`{taker[1]}` calls a function with other arguments than it takes: {first_line(facts.message, 90)}",
            expected=_GIVES.get(taker[1], "the function takes what it is called with"),
            suggestion="correct the parameters of the function, or what is given",
            steps=_defined(facts, name),
        )
    missing = re.search(r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)", facts.message)
    called = facts.call or match[1]
    told = f"without {missing[1].replace(chr(39), '`')}" if missing else f"with too many arguments: {match[2].strip()}"
    return Explanation(
        "wrong-number-of-arguments",
        f"`{called}` is called {told}",
        expected=f"what `{called}` takes" if not missing else f"a value for {missing[1].replace(chr(39), '`')}",
        suggestion="correct the call, or the parameters of the function",
        steps=_defined(facts, name),
    )


def _defines(facts: Facts, name: str) -> bool:
    trees = [facts.tree(path) for path in facts.files]
    return any(isinstance(node, ast.ClassDef) and node.name == name for tree in trees for node in ast.walk(tree))


def _defined(facts: Facts, name: str) -> tuple[tuple[Span, str], ...]:
    place = definition_of(facts, name) if name else None
    return ((place, f"`{name}` is defined here"),) if place else ()


def _rule_arguments(facts: Facts, name: str, method: str, position: int, place: Span) -> Explanation:
    takes = {
        ("defvjp", 0): "the forward rule takes the arguments of the function",
        ("defvjp", 1): "the backward rule takes (residuals, cotangent), after the arguments in `nondiff_argnums`",
        ("defjvp", 0): "the rule takes (primals, tangents), two tuples, after the arguments in `nondiff_argnums`",
    }
    return Explanation(
        "wrong-custom-derivative",
        f"the derivative rule `{name}` takes other arguments than it is given: {first_line(facts.message, 90)}",
        current="the derivative stops with an exception",
        expected=takes.get((method, position), "the rule takes what JAX gives it"),
        suggestion="correct the parameters of the rule",
        span=place,
        steps=((facts.span, "the derivative is taken here"),) if facts.span else (),
    )


def _unpacked(facts: Facts, match: re.Match[str]) -> Explanation:
    """Bind more or fewer names than there are values: keys, residuals, rows of an array, parts of a carry."""
    names, values = match[1], match[2] if match.re.groups > 1 else None
    count = f"{values} values" if values else "more values"
    if "split" in facts.line:
        return Explanation(
            "too-few-subkeys",
            f"{names} names are bound to {values} subkeys"
            if values
            else f"more subkeys are split off than the {names} names that they are bound to",
            current="unpacking stops with an exception: `split(key)` gives two keys unless told how many",
            expected=f"{names} subkeys",
            suggestion=f"`jax.random.split(key, {names})`",
        )
    rule = rule_named(facts, facts.frames[-1].function.rpartition(".")[2]) if facts.frames else None
    if rule is not None:
        return Explanation(
            "wrong-custom-derivative",
            f"the derivative rule takes {names} values apart, but gets {count}",
            current="the derivative stops with an exception",
            expected="the backward rule takes apart what the forward rule saved",
            suggestion="save and read the same residuals, in the same order",
        )
    return _parts(facts, int(names), count)


def _assigned(line: str) -> ast.expr | None:
    """Return the right side of an assignment that stands on one line."""
    try:
        body = ast.parse(line.strip()).body
    except SyntaxError:
        return None
    return body[0].value if body and isinstance(body[0], ast.Assign) else None


def _parts(facts: Facts, names: int, count: str) -> Explanation:
    """Return what is taken apart: the parts of a value that is known, or what the user's function returns."""
    value = _assigned(facts.line)
    called = written(value).rpartition(".")[2] if isinstance(value, ast.Call) else ""
    gives = returned_counts(facts, called) if called else None
    parts = facts.failure.holds
    current = "unpacking stops with an exception"
    if gives is not None and gives[1] != names:
        count, current = f"{gives[1]} values", f"{current}: `{called}` returns `{first_line(gives[2], 60)}`"
    elif value is not None and parts and len(parts) != names:
        count = f"the {len(parts)} parts of `{first_line(ast.unparse(value), 40)}`"
        current += f": they are {', '.join(parts)}"
    else:
        current += "; an array is taken apart along its first axis"
    return Explanation(
        "script-failed",
        f"{names} names are bound to {count}",
        current=current,
        expected=f"exactly {names} values",
        suggestion="bind as many names as the value has parts; look at what the function on this line gives",
        steps=((gives[0], "the values are returned here"),) if gives else (),
    )


_NEW_NAMES = {
    "jax.tree_map": "jax.tree.map",
    "jax.tree_multimap": "jax.tree.map",
    "jax.tree_leaves": "jax.tree.leaves",
    "jax.tree_flatten": "jax.tree.flatten",
    "jax.tree_unflatten": "jax.tree.unflatten",
    "jax.tree_structure": "jax.tree.structure",
    "jax.tree_util.tree_multimap": "jax.tree.map",
    "jax.random.shuffle": "jax.random.permutation",
    "jax.random.KeyArray": "jax.Array",
    "jax.numpy.row_stack": "jax.numpy.vstack",
    "jax.numpy.in1d": "jax.numpy.isin",
    "jax.numpy.trapz": "jax.scipy.integrate.trapezoid",
    "jax.numpy.product": "jax.numpy.prod",
    "jax.numpy.cumproduct": "jax.numpy.cumprod",
    "jax.numpy.alltrue": "jax.numpy.all",
    "jax.numpy.sometrue": "jax.numpy.any",
    "jax.numpy.float": "float",
    "jax.numpy.int": "int",
    "jax.numpy.bool": "jax.numpy.bool_",
    "jax.ops.index_update": "x.at[index].set(value)",
    "jax.ops.index_add": "x.at[index].add(value)",
    "jax.ops.index": "x.at[index]",
    "jax.experimental.host_callback": "jax.pure_callback, jax.experimental.io_callback or jax.debug.callback",
    "jax.experimental.maps": "jax.shard_map and jax.sharding.Mesh",
    "jax.experimental.pjit": "jax.jit",
    "jax.experimental.optimizers": "jax.example_libraries.optimizers, or optax",
    "jax.experimental.stax": "jax.example_libraries.stax, or flax",
    "jax.experimental.global_device_array": "jax.Array",
    "jax.abstract_arrays": "jax.core.ShapedArray",
    "jax.linear_util": "jax.extend.linear_util",
    "jax.config.config": "jax.config",
    "jax.config": "from jax import config",
    "jax.lib.xla_bridge": "jax.extend.backend",
    "jax.host_count": "jax.process_count",
    "jax.host_id": "jax.process_index",
    "jax.soft_pmap": "jax.vmap inside jax.pmap",
    "jax.nn.normalize": "jax.nn.standardize",
    "jax.lax.tie_in": "nothing: it had no effect",
    "jax.lax.pdot": "jax.lax.psum of a product",
    "jax.lax.linear_solve": "jax.lax.custom_linear_solve",
}
"""What names that JAX once had are called now."""

_ARRAY_METHODS = {
    "append": "`jnp.append` or `jnp.concatenate` give a new array; in a loop let `scan` stack the outputs",
    "extend": "`jnp.concatenate` gives a new array",
    "insert": "`jnp.insert` gives a new array",
    "pop": "index or slice the array: `x[:-1]`",
    "fill": "`jnp.full_like(x, value)` gives a new array",
    "numpy": "`np.asarray(x)`, or `jax.device_get(x)`",
    "cpu": "`jax.device_get(x)`",
    "detach": "`jax.lax.stop_gradient(x)`",
    "backward": "`jax.grad` of a function",
    "size()": "`x.shape`",
    "unsqueeze": "`jnp.expand_dims(x, axis)`, or `x[:, None]`",
    "permute": "`x.transpose(axes)`",
    "view_as": "`x.reshape(other.shape)`",
    "expand": "`jnp.broadcast_to(x, shape)`",
    "to": "`x.astype(dtype)` or `jax.device_put(x, device)`",
    "float": "`x.astype(jnp.float32)`",
    "long": "`x.astype(jnp.int32)`",
    "requires_grad": "`jax.grad(f, argnums=...)` says what is differentiated",
    "grad": "`jax.grad` of a function",
    "set": "`x.at[index].set(value)`",
    "add": "`x.at[index].add(value)`, or `+`",
    "shuffle": "`jax.random.permutation(key, x)`",
}


def _no_name(facts: Facts, match: re.Match[str]) -> Explanation:
    """A module of JAX that has no such name: renamed, removed, misspelt."""
    full = f"{match[1]}.{match[2]}"
    now = _NEW_NAMES.get(full)
    near = " or ".join(f"`{match[1]}.{name}`" for name in facts.failure.similar)
    name = now if now and " " in now else f"`{now}`"
    cure = f"use {name}" if now else f"perhaps {near} is meant" if near else "look it up in the documentation of JAX"
    known = f"`{full}` was removed from JAX" if now else f"there is no `{full}` in this version of JAX"
    return Explanation(
        "script-failed",
        known,
        current="the program stops here with an exception",
        expected=name if now else f"a name that `{match[1]}` has",
        suggestion=cure,
    )


def _no_import(facts: Facts, match: re.Match[str]) -> Explanation:
    swapped = re.match(r"(\S+) (\S+)", f"{match[2]} {match[1]}")
    return _no_name(facts, swapped or match)


def _no_method(facts: Facts, match: re.Match[str]) -> Explanation:
    near = " or ".join(f"`.{name}`" for name in facts.failure.similar)
    cure = _ARRAY_METHODS.get(match[1]) or (f"perhaps {near} is meant" if near else "use a function of `jax.numpy`")
    return Explanation(
        "script-failed",
        f"an array of JAX has no `.{match[1]}`",
        current="the program stops here with an exception",
        expected="what arrays of JAX have: the methods of NumPy that change nothing, and `.at`",
        suggestion=cure,
    )


def _operands(facts: Facts, match: re.Match[str]) -> Explanation:
    one, other = array_or(match[2]), array_or(match[3])
    cure = "wrap it: `jnp.asarray(...)`"
    node = facts.expression
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    texts = [ast.unparse(side) for side in sides]
    if texts and max(map(len, texts)) <= 40:
        one, other = (f"`{text}`, {kind}" for text, kind in zip(texts, (one, other), strict=True))
    if "a tuple" in other + one:
        cure = "take it apart first: a function that gives several values is called as `out, state = f(...)`"
    elif "None" in other + one:
        cure = "find out why a value is missing: a function without `return`, a leaf that was filtered out, a default"
    elif "dict" in other + one:
        cure = "take the leaf out of it, or walk both trees with `jax.tree.map`"
    return Explanation(
        "invalid-input-type",
        f"`{match[1]}` joins {one} and {other}" if not texts else f"`{match[1]}` joins {one}, and {other}",
        current="the operation stops with an exception",
        expected="two arrays or numbers",
        suggestion=cure,
    )


ROWS = (
    *rows(
        r"""
TypeError: '_IndexUpdateHelper' object (?:is not callable|does not support item assignment)
    in-place-update: `.at` is called or assigned to, but it takes an index and a method
    expected: a new array: `x = x.at[index].set(value)`
    suggestion: write `x = x.at[index].set(value)`, with square brackets
"""
    ),
    Row(
        r"([\w.<>]+)\(\) ((?:takes (?:from )?\d+.* positional arguments? but \d+ w|missing \d+ required |"
        r"got (?:an unexpected keyword|multiple values for)|takes no arguments).*)",
        _arguments,
        ("TypeError",),
    ),
    Row(r"not enough values to unpack \(expected (\d+), got (\d+)\)", _unpacked, ("ValueError",)),
    Row(r"too many values to unpack \(expected (\d+)", _unpacked, ("ValueError",)),
    Row(r"module '(jax[\w.]*)' has no attribute '(\w+)'", _no_name, ("AttributeError",)),
    Row(r"cannot import name '(\w+)' from '(jax[\w.]*)'", _no_import, ("ImportError",)),
    Row(r"No module named '(jax[\w.]*)\.(\w+)'", _no_name, ("ModuleNotFoundError",)),
    Row(r"'(?:[\w.]*ArrayImpl|\w*Tracer)' object has no attribute '(\w+)'", _no_method, ("AttributeError",)),
    Row(r"unsupported operand type\(s\) for ([^:]+): '([^']+)' and '([^']+)'", _operands, ("TypeError",)),
)
