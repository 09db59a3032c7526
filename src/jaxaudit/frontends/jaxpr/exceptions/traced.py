"""Exceptions about traced values: Python wants to know what only the compiled program will know."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.locate import leak_of
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row
from jaxaudit.spans import Span

_DEPENDS = re.compile(r"depends on the values? of the arguments? ([\w\[\]'\", .]+?)\.?(?:\n|$)", re.DOTALL)
_TRACING = re.compile(r"while tracing the function (\S+) at (\S+?):(\d+) for (\w+)")
_ITERATORS = ("zip", "map", "filter", "generator", "enumerate", "range_iterator", "list_iterator", "reversed")


def _why(facts: Facts) -> str:
    """Say what the value depends on and which function is traced, as far as JAX tells."""
    depends, tracing = _DEPENDS.search(facts.message), _TRACING.search(facts.message)
    where = f" while `{tracing[1]}` is traced for {tracing[4]}" if tracing else ""
    names = re.split(r", and |, | and ", depends[1]) if depends else []
    # Equinox hands JAX the arguments in a structure of its own, which says nothing to the user.
    if not names or any(name.startswith("dynamic_") for name in names):
        doing = f"{where.removeprefix(' while ')}, and " if where else ""
        return f"{doing}the value is known only when the program runs"
    told = " and ".join(f"`{name}`" for name in names)
    return f"it depends on the argument{'s' if len(names) > 1 else ''} {told}{where}"


def _steps(facts: Facts) -> tuple[tuple[Span, str], ...]:
    tracing = _TRACING.search(facts.message)
    if tracing is None or facts.shown(tracing[2]) not in facts.files:
        return ()
    line = int(tracing[3])
    return ((Span(facts.shown(tracing[2]), line, 0, line, 0), f"`{tracing[1]}` is traced for {tracing[4]} here"),)


def _construct(facts: Facts) -> str:
    words = re.match(r"\s*(if|elif|while|assert)\b", facts.line)
    if words:
        return f"`{words[1]}`"
    return next((f"`{word}`" for word in ("bool", "not", "and", "or", "if") if f"{word}" in facts.line), "a test")


def _branch(facts: Facts, match: re.Match[str]) -> Explanation:
    depends = _DEPENDS.search(facts.message)
    flag = depends[1] if depends and re.fullmatch(r"\w+", depends[1]) else ""
    static = f"; if `{flag}` is an option and no data, name it in static_argnames" if flag else ""
    return Explanation(
        "python-branch-on-traced",
        f"Python needs the truth of a traced value for {_construct(facts)}, and it is not known while tracing",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected="the decision is made inside the compiled program",
        suggestion=f"use `jnp.where`, `lax.cond` or `lax.while_loop`{static}",
        steps=_steps(facts),
    )


def _numpy(facts: Facts, match: re.Match[str]) -> Explanation:
    method = re.search(r"\.(item|tolist)\(", facts.line)
    what = f"`.{method[1]}()`" if method else "NumPy, or Python code that needs numbers,"
    return Explanation(
        "numpy-on-traced",
        f"{what} is given a traced array" if not method else f"{what} is called on a traced array",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected="the function works on traced arrays",
        suggestion="do this outside the transformed function"
        if method
        else "use the function of `jax.numpy` of the same name, or do this outside the transformed function",
        steps=_steps(facts),
    )


def _fixed(facts: Facts, match: re.Match[str]) -> Explanation:
    """A size, length or count that JAX needs as a number."""
    argument, function = (match[1], match[2]) if match.re.groups > 1 else ("", "")
    what = f"the argument `{argument}` of `{function}`" if function else "a bound of a slice"
    return Explanation(
        "dynamic-shape",
        f"{what} is a traced value, and shapes depend on it",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected="sizes and lengths are Python integers while tracing",
        suggestion="take it from `.shape` or from a static argument (`static_argnums`)"
        if function
        else "use `lax.dynamic_slice` with a fixed size, or a mask; for a size that Python knows, a static argument",
        steps=_steps(facts),
    )


def _counted(facts: Facts, match: re.Match[str]) -> Explanation:
    return _fixed(facts, re.match(r"(.*)\.(.*)", f"{match[2]}.{match[1]}") or match)


def _index(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "traced-shape-arithmetic",
        "a traced value is used where Python needs an integer: a size, an index or a count",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected="sizes and counts are Python integers while tracing",
        suggestion="take it from `.shape` or from Python, or make the argument static (`static_argnums`)",
        steps=_steps(facts),
    )


def _to_python(facts: Facts, match: re.Match[str]) -> Explanation:
    name = match[1]
    if name == "int":
        return Explanation(
            "traced-shape-arithmetic",
            "`int()` is called on a traced value",
            current=f"tracing stops with an exception: {_why(facts)}; `jnp` traces even constants",
            expected="arithmetic on sizes stays in Python",
            suggestion="compute it with `math` or with Python's operators (`-(-n // k)` rounds up)",
            steps=_steps(facts),
        )
    return Explanation(
        "numpy-on-traced",
        f"`{name}()` is called on a traced value, which has no number yet",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected=f"`{name}()` is called on the result, outside the transformed function",
        suggestion=f"return the array and call `{name}()` on it outside",
        steps=_steps(facts),
    )


def _mask(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "dynamic-shape",
        f"a traced mask {match[1]} selects elements, so the shape of the result depends on the data",
        current="tracing stops with an exception: shapes must be known before the program runs",
        expected="an array of fixed shape",
        suggestion="keep the shape and mask: `jnp.where(mask, x, 0)`, or `jnp.sum(x * mask) / mask.sum()` for a mean",
    )


def _shape(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "dynamic-shape",
        "an array is made with a shape that is a traced value",
        current=f"tracing stops with an exception: {_why(facts)}",
        expected="shapes are Python integers while tracing",
        suggestion="take the size from `.shape` or from a static argument (`static_argnums`)",
        steps=_steps(facts),
    )


def _size(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "dynamic-shape",
        f"the length of the result of `{match[1]}` depends on the values of its input",
        current="tracing stops with an exception: shapes must be known before the program runs",
        expected="a result of fixed length",
        suggestion=f"give `{match[1]}` a `size=` (and `fill_value=`), or use a mask",
        steps=_steps(facts),
    )


def _leak(facts: Facts, match: re.Match[str]) -> Explanation:
    leak = leak_of(facts)
    return Explanation(
        "tracer-leak",
        leak.message,
        current=f"a traced value of type {match[1]} outlives the trace, and its later use is an exception",
        expected="a transformed function hands values out by returning them only",
        suggestion=leak.suggestion,
        span=leak.span,
        steps=leak.steps,
    )


def _argument(facts: Facts, match: re.Match[str]) -> Explanation:
    kind, path = match[1], match[2].rstrip(".")
    if kind.startswith("__main__.") or (facts.files and _is_users(kind, facts)):
        name = kind.rpartition(".")[2]
        return Explanation(
            "unregistered-class",
            f"`{path}` is a `{name}`, a class that JAX does not know as a container of arrays",
            current="the call stops with an exception: JAX can take apart tuples, lists, dicts and registered classes",
            expected=f"`{name}` is a pytree",
            suggestion=f"register it: a NamedTuple, `register_dataclass`, or `register_pytree_node({name}, ...)`",
        )
    static = path.partition(".")[0].partition("[")[0]
    inside = f" (inside `{static}`)" if static != path else ""
    cure = (
        "use `eqx.filter_jit`, or split the object into arrays and the rest (`eqx.partition`)"
        if inside
        else f"name it in static_argnames: `jax.jit(..., static_argnames=('{static}',))`"
    )
    return Explanation(
        "invalid-input-type",
        f"argument `{path}`{inside} is a {kind}, which a compiled function cannot take as data",
        current="the call stops with an exception",
        expected="arguments are arrays, numbers or containers of these, or declared static",
        suggestion=cure,
    )


def _is_users(kind: str, facts: Facts) -> bool:
    module = kind.rpartition(".")[0].replace(".", "/")
    return bool(module) and any(path.removesuffix(".py").endswith(module) for path in facts.files)


def _type(facts: Facts, match: re.Match[str]) -> Explanation:
    kind = match[1].rpartition(".")[2]
    if kind in _ITERATORS:
        return Explanation(
            "iterator-in-traced-code",
            f"a Python iterator (`{kind}`) is given where JAX needs arrays",
            current="the call stops with an exception: JAX cannot take an iterator apart",
            expected="a tuple, list or dict of arrays, stacked along their first axis",
            suggestion="give the arrays themselves: `(xs, ys)` instead of `zip(xs, ys)`",
        )
    if match[1].startswith("__main__."):
        return _argument(facts, re.match(r"(.*?)()$", match[1]) or match)
    return Explanation(
        "invalid-input-type",
        f"a value of type `{match[1]}` is given where JAX needs arrays",
        current="the call stops with an exception",
        expected="arrays, numbers or containers of these",
        suggestion="convert it with `jnp.asarray`, or keep it out of the transformed function's arguments",
    )


def _format(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "print-in-traced-code",
        "a traced value is given a number format, but has no number yet",
        current="tracing stops with an exception; without the format it would print a tracer, once",
        expected="numbers are printed when the compiled program runs",
        suggestion='use `jax.debug.print("{x:.4f}", x=x)`, or print the result outside',
    )


def _in_place(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "in-place-update",
        "an element of a JAX array is assigned in place",
        current="the assignment is an exception: JAX arrays never change",
        expected="a new array with the element replaced",
        suggestion="write `x = x.at[index].set(value)`",
    )


def _article(kind: str) -> str:
    name = kind.rpartition(".")[2]
    return "an array" if name in ("ArrayImpl", "ndarray", "Array") else f"a `{name}`"


def _static(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "static-argument-misuse",
        f"a static argument is {_article(match[1])}, which cannot be hashed",
        current="the call stops with an exception: static arguments are part of the key of JAX's cache",
        expected="static arguments can be hashed and compared",
        suggestion="pass a tuple or a frozen dataclass, or make the argument an array that is traced",
    )


ROWS = (
    Row("", _branch, ("TracerBoolConversionError",)),
    Row("", _numpy, ("TracerArrayConversionError",)),
    Row("", _index, ("TracerIntegerConversionError",)),
    Row(r"got (bool\[[\d,]*\])", _mask, ("NonConcreteBooleanIndexError",)),
    Row(r"The problem arose with the `(\w+)` function", _to_python, ("ConcretizationTypeError",)),
    Row(r"argument of (jnp\.\w+|jax\.numpy\.\w+) must be statically specified", _size, ("ConcretizationTypeError",)),
    Row(r"It arose in the (jnp\.\w+) argument", _shape, ("ConcretizationTypeError",)),
    Row(r"The `(\w+)` argument to `(\w+)` expects a concrete", _fixed, ("ConcretizationTypeError",)),
    Row(r"arose in (?:jax\.\w+\.|jnp\.)?(\w+) argument `(\w+)`", _counted, ("ConcretizationTypeError",)),
    Row(r"arose for the first argument of (jnp\.\w+)", _size, ("ConcretizationTypeError",)),
    Row(r"Slice entries must be static integers|slice indices must have static start", _fixed, ("IndexError",)),
    Row(r"call to primitive (\w+), the value of parameter (\w+) was not hashable: .*Tracer", _counted, ("TypeError",)),
    Row(r"", _numpy, ("ConcretizationTypeError",)),
    Row(r"Shapes must be 1D sequences of concrete values", _shape, ("TypeError",)),
    Row(r"with type (\S+) wrapped", _leak, ("UnexpectedTracerError",)),
    Row(r"value is of type <class '([^']+)'> and was passed to the function at path (\S+)", _argument, ("TypeError",)),
    Row(r"of type '?<class '([^']+)'>'? is not a valid JAX type", _type, ("TypeError",)),
    Row(r"requires ndarray or scalar arguments, got <class '([^']+)'>", _type, ("TypeError",)),
    Row(r"unsupported format string passed to \w*Tracer\.__format__", _format, ("TypeError",)),
    Row(r"do not support in-place item assignment|object does not support item assignment", _in_place, ("TypeError",)),
    Row(r"Non-hashable static arguments.*?of type <class '([^']+)'>", _static, ("ValueError",)),
)
