"""Exceptions about traced values: Python wants to know what only the compiled program will know."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.locate import leak_of, returned, static_names
from jaxaudit.frontends.jaxpr.exceptions.model import DEPENDS, Explanation, Facts, Row, first_line, rows
from jaxaudit.frontends.jaxpr.exceptions.refused import array_or, failed

_ITERATORS = ("zip", "map", "filter", "generator", "enumerate", "range_iterator", "list_iterator", "reversed")


def _construct(facts: Facts) -> str:
    words = re.match(r"\s*(if|elif|while|assert)\b", facts.line)
    if words:
        return f"`{words[1]}`"
    if facts.call in ("max", "min", "sorted", "any", "all", "filter", "bool"):
        return f"`{facts.call}`"
    found = re.search(r"\b(bool|not|and|or|if)\b", facts.line)
    return f"`{found[1]}`" if found else "a test"


def _needs_number(facts: Facts) -> Explanation:
    """A function of a library looks at a traced argument: a count, an axis, a size."""
    cure = "take it from `.shape` or from Python, or make it static (`static_argnums`)"
    return Explanation(
        "dynamic-shape",
        f"`{facts.call}` needs a number that is known while tracing, and gets a traced value",
        current=f"tracing stops with an exception: {facts.why}",
        expected="sizes, counts and axes are Python integers while tracing",
        suggestion=f"{cure}; where the length of the result depends on data, give `size=` or use a mask",
    )


def _branch(facts: Facts, match: re.Match[str]) -> Explanation:
    if facts.of_library:
        return _needs_number(facts)
    depends = DEPENDS.search(facts.message)
    flag = depends[1] if depends and re.fullmatch(r"\w+", depends[1]) else ""
    static = f"; if `{flag}` is an option and no data, name it in static_argnames" if flag else ""
    return Explanation(
        "python-branch-on-traced",
        f"Python needs the truth of a traced value for {_construct(facts)}, and it is not known while tracing",
        current=f"tracing stops with an exception: {facts.why}",
        expected="the decision is made inside the compiled program",
        suggestion=f"use `jnp.where`, `lax.cond` or `lax.while_loop`{static}",
    )


def _numpy(facts: Facts, match: re.Match[str]) -> Explanation:
    asked = re.search(r"The (\w+)\(\) method was called on|The '(\w+)' method is not available", facts.message)
    method = asked or re.search(r"\.(item|tolist)\(", facts.line)
    numpy = f"`{facts.call}`" if facts.of_library else "NumPy, or Python code that needs numbers,"
    what = f"`.{method[1] or method[2]}()`" if method else numpy
    return Explanation(
        "numpy-on-traced",
        f"{what} is given a traced array" if not method else f"{what} is called on a traced array",
        current=f"tracing stops with an exception: {facts.why}",
        expected="the function works on traced arrays",
        suggestion="do this outside the transformed function"
        if method
        else "use the function of `jax.numpy` of the same name, or do this outside the transformed function",
    )


def _shape(facts: Facts, match: re.Match[str]) -> Explanation:
    if "Tracer" not in facts.message and "racing" not in facts.message:
        return Explanation(
            "invalid-input-type",
            f"`{facts.call}` is given the shape {first_line(match[1], 60).rstrip('.')}, not all of it whole numbers",
            current="the operation stops with an exception",
            expected="a tuple of whole numbers",
            suggestion="convert with `int(...)`, or divide with `//`",
        )
    return Explanation(
        "dynamic-shape",
        "an array is made with a shape that is a traced value",
        current=f"tracing stops with an exception: {facts.why}",
        expected="shapes are Python integers while tracing",
        suggestion="take the size from `.shape` or from a static argument (`static_argnums`)",
    )


def _leak(facts: Facts, match: re.Match[str]) -> Explanation:
    leak = leak_of(facts)
    return Explanation(
        "tracer-leak",
        leak.message,
        current=f"a traced value{_of(match[1])} outlives the trace, and its later use is an exception",
        expected="a transformed function hands values out by returning them only",
        suggestion=leak.suggestion,
        span=leak.span,
        steps=leak.steps,
    )


def _of(kind: str) -> str:
    return f" of type {kind}" if kind else ""


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
    kind = _short(kind)
    if facts.of_library:
        return Explanation(
            "invalid-input-type",
            f"`{facts.call}` is given a {kind} as `{path}`, and takes arrays",
            expected="arrays, numbers or containers of these",
            suggestion="convert it to an array first, or check the order of the arguments",
        )
    static = path.partition(".")[0].partition("[")[0]
    inside = f" (inside `{static}`)" if static != path else ""
    if not inside:
        cure = f"name it in static_argnames: `jax.jit(..., static_argnames=('{static}',))`"
    elif path.startswith(f"{static}["):
        cure = "pass the arrays alone; what Python decides by is an argument of its own, named in static_argnames"
    else:
        cure = "use `eqx.filter_jit`, or split the object into arrays and the rest (`eqx.partition`)"
    return Explanation(
        "invalid-input-type",
        f"argument `{path}`{inside} is a {kind}, which a compiled function cannot take as data",
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
    where = f"to `{facts.call}`" if facts.call else "to JAX"
    if match[1].startswith("__main__."):
        return _argument(facts, re.match(r"(.*?)()$", match[1]) or match)
    return Explanation(
        "invalid-input-type",
        f"a value of type `{_short(match[1])}` is given {where}, which needs arrays",
        expected="arrays, numbers or containers of these",
        suggestion="convert it with `jnp.asarray`, or keep it out of the transformed function's arguments",
    )


def _short(kind: str) -> str:
    """Name a type for people; JAX's own wrappers around functions are functions."""
    return "function" if kind.rpartition(".")[2] in ("custom_jvp", "custom_vjp", "PjitFunction") else kind


def _stored(facts: Facts, match: re.Match[str]) -> Explanation:
    if not any("Concretization" in name or "Tracer" in name for name in facts.failure.causes):
        return failed(facts, match)
    return Explanation(
        "numpy-on-traced",
        "a traced value is stored in an array of NumPy",
        current="tracing stops with an exception: NumPy's arrays hold numbers, which are not known yet",
        expected="arrays of JAX inside transformed functions",
        suggestion="make it with `jnp.zeros` and write `x = x.at[index].set(value)`, or `jnp.stack` the values",
    )


def _returned(facts: Facts, match: re.Match[str]) -> Explanation:
    """A transformed function gives what is no array; its `return` is to blame."""
    name, path, line, kind, where = match["name"], match["path"], match["line"], match["kind"], match["where"]
    short = kind.rpartition(".")[2]
    at = f" at `{where}`" if where else ""
    if short in _ITERATORS:
        cure = "collect the values: `return jnp.stack(list_of_values)`"
    elif short == "coroutine":
        cure = "make it a plain function: JAX does not run coroutines"
    else:
        cure = "return arrays only; keep what Python knows outside, or return it from a function around this one"
    return Explanation(
        "iterator-in-traced-code" if short in _ITERATORS else "invalid-input-type",
        f"`{name}` gives {array_or(kind)}{at}, which is no array",
        current="the call stops with an exception: a transformed function hands out arrays",
        expected="arrays, numbers or containers of these",
        suggestion=cure,
        span=returned(facts, facts.shown(path), int(line)),
        steps=((facts.span, f"`{name}` is called here"),) if facts.span else (),
    )


def _article(kind: str) -> str:
    name = kind.rpartition(".")[2]
    return "an array" if name in ("ArrayImpl", "ndarray", "Array") else f"a `{name}`"


def _static(facts: Facts, match: re.Match[str]) -> Explanation:
    names = static_names(facts, facts.call.rpartition(".")[2])
    what = f"the static argument `{names[0]}`" if len(names) == 1 else "a static argument"
    traced = match[1].endswith("Tracer")
    if traced:
        told, cure = "a traced value, which has no number yet", _STATIC_AROUND
    elif match[1].endswith("ArrayImpl"):
        told, cure = "an array, which cannot be hashed", "do not declare it static: arrays are traced"
    else:
        told, cure = f"{_article(match[1])}, which cannot be hashed", _HASHABLE
    return Explanation(
        "static-argument-misuse",
        f"{what} is {told}",
        current="the call stops with an exception: static arguments are part of the key of JAX's cache",
        expected="a value that Python knows" if traced else "static arguments can be hashed and compared",
        suggestion=cure,
    )


_HASHABLE = "pass a tuple or a frozen dataclass, or make the argument an array that is traced"
_STATIC_AROUND = "declare it static in the function around as well, take it from `.shape`, or do not declare it static"


ROWS = (
    Row("", _branch, ("TracerBoolConversionError",)),
    *rows(
        r"""
current: making the function stops with an exception
TypeError: Output from batched function (.*?) with type <class '([^']+)'> is not a valid JAX type
    invalid-input-type: a mapped function gives {1}, a {2}, which is no array
    current: the call stops with an exception
    expected: arrays, numbers or containers of these
    suggestion: return arrays only
ValueError: invalid argnames \{(.*?)\} in (\w+)\. Function does not take these args
    static-argument-misuse: `{2}` names {1}, which is no parameter of the function
    expected: names of parameters
    suggestion: correct the name
ValueError: (static_argnums|donate_argnums)=(\(.*?\)), but only accepts (\d+) positional arguments
    static-argument-misuse: `{1}={2}` names an argument that the function does not have: it takes {3}, which count from
        0
    expected: positions of parameters
    suggestion: correct the position, or use the name: `static_argnames`
ValueError: the `static_argnums` argument to `jax\.checkpoint` .* but got (\(.*?\)), while `len\(args\)` = (\d+)
    static-argument-misuse: `static_argnums={1}` of `checkpoint` names an argument that is not given: there are {2},
        counted from 0
    current: the call stops with an exception
    expected: positions of arguments of the call
    suggestion: correct the position
ValueError: static_argnames and donate_argnames cannot intersect\. Argument names \{(.*?)\}
    static-argument-misuse: {1} is declared both static and donated
    expected: static arguments are Python values, donated ones arrays
    suggestion: take it out of one of the two
TracerIntegerConversionError:
    traced-shape-arithmetic: a traced value is used where Python needs an integer: a size, an index or a count
    current: tracing stops with an exception: {why}
    expected: sizes and counts are Python integers while tracing
    suggestion: take it from `.shape` or from Python, or make the argument static (`static_argnums`)
NonConcreteBooleanIndexError: got (bool\[[\d,]*\])
    dynamic-shape: a traced mask {1} selects elements, so the shape of the result depends on the data
    current: tracing stops with an exception: shapes must be known before the program runs
    expected: an array of fixed shape
    suggestion: keep the shape and mask: `jnp.where(mask, x, 0)`, or `jnp.sum(x * mask) / mask.sum()` for a mean
TypeError: unhashable type: '(?:\w+\.)*ArrayImpl'
    script-failed: an array is used as a key of a dict, in a set or in a cache
    current: the program stops here with an exception: arrays cannot be hashed
    expected: keys are Python values: numbers, text, tuples of these
    suggestion: use a Python number as the key, or an array that is indexed by the value
TypeError: unhashable type: '(?:\w+\.)*\w*Tracer'
    numpy-on-traced: a traced array is used as a key of a dict, in a set or in a cache
    current: the program stops here with an exception: arrays cannot be hashed
    expected: keys are Python values: numbers, text, tuples of these
    suggestion: use a Python number as the key, or an array that is indexed by the value
TypeError: format: a (?:real )?number is required, not \w*Tracer
        |unsupported format string passed to \w*Tracer\.__format__
    print-in-traced-code: a traced value is given a number format, but has no number yet
    current: tracing stops with an exception; without the format it would print a tracer, once
    expected: numbers are printed when the compiled program runs
    suggestion: use `jax.debug.print("{{x:.4f}}", x=x)`, or print the result outside
ConcretizationTypeError: The problem arose with the `int` function
    traced-shape-arithmetic: `int()` is called on a traced value
    current: tracing stops with an exception: {why}; `jnp` traces even constants
    expected: arithmetic on sizes stays in Python
    suggestion: compute it with `math` or with Python's operators (`-(-n // k)` rounds up)
ConcretizationTypeError: The problem arose with the `(\w+)` function
    numpy-on-traced: `{1}()` is called on a traced value, which has no number yet
    current: tracing stops with an exception: {why}
    expected: `{1}()` is called on the result, outside the transformed function
    suggestion: return the array and call `{1}()` on it outside
ConcretizationTypeError: argument of (j(?:np|ax\.numpy)\.\w+) must be (?:statically )?specified
        |arose for the first argument of (jnp\.\w+)
    dynamic-shape: the length of the result of `{1}{2}` depends on the values of its input
    current: tracing stops with an exception: shapes must be known before the program runs
    expected: a result of fixed length
    suggestion: give `{1}{2}` a `size=` (and `fill_value=`), or use a mask
ConcretizationTypeError, TypeError: The `(\w+)` argument to `(\w+)` expects a concrete
        |arose in (?:jax\.\w+\.|jnp\.)?(\w+) argument `(\w+)`
        |call to primitive (\w+), the value of parameter (\w+) was not hashable: .*Tracer
    dynamic-shape: the argument `{1}{4}{6}` of `{2}{3}{5}` is a traced value, and shapes depend on it
    current: tracing stops with an exception: {why}
    expected: sizes and lengths are Python integers while tracing
    suggestion: take it from `.shape` or from a static argument (`static_argnums`)
IndexError: Slice entries must be static integers|slice indices must have static start
    dynamic-shape: a bound of a slice is a traced value, and shapes depend on it
    current: tracing stops with an exception: {why}
    expected: sizes and lengths are Python integers while tracing
    suggestion: use `lax.dynamic_slice` with a fixed size, or a mask; for a size that Python knows, a static argument
TypeError: do not support in-place item assignment|object does not support item assignment
    in-place-update: an element of a JAX array is assigned in place
    current: the assignment is an exception: JAX arrays never change
    expected: a new array with the element replaced
    suggestion: write `x = x.at[index].set(value)`
ValueError: (?:assignment destination|output array|sort array|array|buffer source array) is read-only
    in-place-update: an array of NumPy's that only lends the numbers of a JAX array is changed in place
    current: the program stops here with an exception: `np.asarray` of a JAX array is a view that nobody may write to
    expected: a copy, where something is to be changed
    suggestion: copy it: `np.array(x)`
"""
    ),
    Row(r"setting an array element with a sequence\.$", _stored, ("ValueError",)),
    Row(
        r"function (?P<name>\S+) at (?P<path>\S+?):(?P<line>\d+) traced for \w+ returned a value of type <\w+ "
        r"'(?P<kind>[^']+)'>(?: at output component (?P<where>\S+))?, which is not a valid JAX type",
        _returned,
        ("TypeError",),
    ),
    Row(r"The '(\w+)' method is not available on traced array", _numpy, ("AttributeError",)),
    Row(r"^()Leaked trace", _leak),
    Row("", _numpy, ("TracerArrayConversionError",)),
    Row(r"It arose in the (jnp\.\w+) argument", _shape, ("ConcretizationTypeError",)),
    Row(
        r"'\w+' argument of jnp\.\w+|When jit-compiling jnp\.\w+|The \w+ argument must be known statically|"
        r"because of argument '\w+' of jnp\.\w+",
        lambda facts, match: _needs_number(facts),
        ("ConcretizationTypeError",),
    ),
    Row(r"", _numpy, ("ConcretizationTypeError",)),
    Row(r"Shapes must be 1D sequences of concrete values of integer type, got ([^\n]*)", _shape, ("TypeError",)),
    Row(r"with type (\S+) wrapped", _leak, ("UnexpectedTracerError",)),
    Row(
        r"value is of type <(?:class|enum) '([^']+)'> and was passed to the function at path (\S+)",
        _argument,
        ("TypeError",),
    ),
    Row(r"of type '?<class '([^']+)'>'? is not a valid JAX type", _type, ("TypeError",)),
    Row(
        r"Error interpreting argument to \w+ as a JAX value\. The problematic value is of type <class '([^']+)'>",
        _type,
        ("TypeError",),
    ),
    Row(r"requires ndarray or scalar arguments, got <class '([^']+)'>", _type, ("TypeError",)),
    Row(r"Non-hashable static arguments.*?of type <class '([^']+)'>", _static, ("ValueError",)),
)
