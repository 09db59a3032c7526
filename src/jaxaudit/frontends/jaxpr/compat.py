"""What this front end needs of JAX, in one shape for jax 0.6 to 0.12: the only file that touches its private side.

JAX is loaded by name at import, so that the rest of the package never depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from jaxaudit.ir import ArrayType

jax: Any = import_module("jax")
lax: Any = import_module("jax.lax")
np: Any = import_module("numpy")
tree_util: Any = import_module("jax.tree_util")
api_util: Any = import_module("jax.api_util")
ad: Any = import_module("jax.interpreters.ad")
batching: Any = import_module("jax.interpreters.batching")
mlir: Any = import_module("jax.interpreters.mlir")
_core: Any = import_module("jax.extend.core")
_private_core: Any = import_module("jax._src.core")
_source_info: Any = import_module("jax._src.source_info_util")

JAX_FOLDER = str(Path(jax.__file__).parent)
VERSION: str = jax.__version__

CUTS_TRACEBACKS = tuple(int(part) for part in VERSION.split(".")[:3]) >= (0, 9, 1)
"""Whether the frames of an equation end at the function that its jaxpr was traced from.

Before, they go on to whoever called that function first, though others may share the jaxpr.
"""

SEQUENCES: tuple[type, ...] = (tuple, list)
"""What holds several parameters of an equation."""

Primitive: Any = _core.Primitive
Literal: Any = _core.Literal
"""The class of constants that are written into equations."""
Tracer: Any = jax.core.Tracer
ShapedArray: Any = jax.core.ShapedArray


class Function(NamedTuple):
    """The Python function that a jaxpr was traced from, as JAX remembers it."""

    name: str = ""
    path: str = ""
    line: int = 0
    arguments: tuple[str, ...] | None = None
    results: tuple[str, ...] | None = None
    traced_for: str = ""


def open_jaxpr(closed: Any) -> Any:
    """Return the jaxpr inside a closed one; since 0.12 they are one class."""
    return closed.jaxpr if hasattr(closed, "jaxpr") else closed


def consts_of(closed: Any) -> Sequence[Any]:
    """Return the constants a jaxpr is closed over, one for each of its `constvars`."""
    return getattr(closed, "consts", ())


def is_jaxpr(thing: Any) -> bool:
    """Whether a parameter of an equation is a jaxpr, open or closed."""
    return isinstance(thing, _core.Jaxpr | _core.ClosedJaxpr)


def inner_jaxprs(params: Mapping[str, Any]) -> Iterator[Any]:
    """Return every jaxpr among the parameters of an equation."""
    for param in params.values():
        for item in param if isinstance(param, SEQUENCES) else (param,):
            if is_jaxpr(item):
                yield item


def is_literal(atom: Any) -> bool:
    """Whether an operand of an equation is a constant written into it."""
    return isinstance(atom, Literal)


def type_of(atom: Any) -> ArrayType | None:
    """Return the shape and dtype of a variable; None for tokens and other things that are no arrays."""
    return _type_of(atom.aval)


@lru_cache(maxsize=4096)
def _type_of(aval: Any) -> ArrayType | None:
    aval = getattr(aval, "inner_aval", aval)
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if shape is None or dtype is None:
        return None
    sizes = tuple(int(size) if isinstance(size, int) or hasattr(size, "__index__") else -1 for size in shape)
    return ArrayType(sizes, str(dtype), bool(getattr(aval, "weak_type", False)))


def is_key(atom: Any) -> bool:
    """Whether a variable holds typed random keys."""
    dtype = getattr(atom.aval, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def function_of(jaxpr: Any) -> Function:
    """Return the function a jaxpr was traced from."""
    info = getattr(open_jaxpr(jaxpr), "debug_info", None)
    if info is None:
        return Function()
    name, _, place = (getattr(info, "func_src_info", None) or "").partition(" at ")
    path, _, line = place.rpartition(":")
    number = int(line) if line.isdigit() else 0
    return Function(name, path, number, info.arg_names, info.result_paths, getattr(info, "traced_for", "") or "")


def bind(equation: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Do what an equation does with other values."""
    found = equation.primitive.get_bind_params(equation.params)
    functions, params = found if isinstance(found, tuple) else ((), found)
    with equation.ctx.manager:
        outs = equation.primitive.bind(*functions, *values, **params)
    return outs if equation.primitive.multiple_results else [outs]


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many operands of a scan are constants and how many are carried."""
    if "ft_in" in params:
        consts, carry, _ = params["ft_in"].unpack()
        return len(consts), len(carry)
    return params["num_consts"], params["num_carry"]


Frame = tuple[CodeType, int]
"""A frame of a traceback: the code and the offset of the instruction that was running."""


def traceback_of(equation: Any) -> Any:
    """Return where an equation was made; None where JAX does not know."""
    return equation.source_info.traceback


def frames_of(traceback: Any) -> tuple[Sequence[CodeType], Sequence[int]]:
    """Return the code and the offsets of the Python frames of a traceback, innermost first."""
    if traceback is None:
        return (), ()
    codes, offsets = traceback.raw_frames()
    return codes, offsets


def is_clamp_of_switch(equation: Any) -> bool:
    """Whether an equation brings the number of a branch into its range, on behalf of `lax.switch`."""
    codes, _ = frames_of(traceback_of(equation)) if equation.primitive.name == "clamp" else ((), ())
    inside = takewhile(lambda code: code.co_filename.startswith(JAX_FOLDER), codes)
    return any(code.co_name == "switch" and code.co_filename.endswith(_CHOOSING) for code in inside)


_CHOOSING = str(Path("lax", "control_flow", "conditionals.py"))


def name_stack(equation: Any) -> Iterator[tuple[bool, str]]:
    """Return the scopes and transformations around an equation, outermost first; True for scopes."""
    for item in equation.source_info.name_stack.stack:
        yield type(item).__name__ == "Scope", item.name


@contextmanager
def own_frames() -> Iterator[Any]:
    """Let equations have the frames that they are made in, where JAX gives them those of an earlier call.

    Gives the frames of that call; None where there is no such call.
    """
    here = _source_info._source_info_context
    before = here.context
    here.context = type(before)(None, before.name_stack)
    try:
        yield before.traceback
    finally:
        here.context = before


def is_recording() -> bool:
    """Whether what runs now ends up in a jaxpr, rather than being computed at once under a bare `vmap`."""
    trace = _private_core.trace_ctx.trace
    while trace is not None:
        if type(trace).__name__ in ("DynamicJaxprTrace", "JaxprTrace"):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def bound_axes() -> dict[str, int]:
    """Return the names of axes that maps have bound where the program is now, with their sizes."""
    env = getattr(_private_core.trace_ctx, "axis_env", None)
    sizes = getattr(env, "axis_sizes", {})
    return {name: int(size) for name, size in sizes.items() if isinstance(name, str)}


def mapped_sizes(tracer: Any) -> list[int]:
    """Return the sizes of the axes of an array over which maps run, innermost first."""
    sizes: list[int] = []
    while type(tracer).__name__ == "BatchTracer":
        if isinstance(tracer.batch_dim, int):
            sizes.append(int(tracer.val.shape[tracer.batch_dim]))
        tracer = tracer.val
    return sizes


def axes_of_leaves(treedef: Any, axes: Any) -> list[int | None] | None:
    """Spread a prefix tree of axes (`in_axes`, `out_axes`) over the leaves of a tree; None where it does not fit."""
    try:
        return list(api_util.flatten_axes("axes", treedef, axes))
    except (ValueError, TypeError):
        return None


def register_linearization(primitive: Any, rule: Callable[..., tuple[Any, Callable[[Any], Any]]]) -> None:
    """Return how to linearize a primitive of one operand: the rule gives the result, and the tangent of a tangent.

    Without it JAX traces the rule of forward derivatives once more for every equation, which takes much longer.
    """
    private = import_module("jax._src.interpreters.ad")
    rules = getattr(private, "primitive_linearizations", None)
    process = getattr(getattr(private, "LinearizeTrace", None), "process_primitive", None)
    code = getattr(process, "__code__", None)
    if rules is None or code is None or "is_vjp" not in code.co_names:
        return
    structured = "structured_res" in code.co_varnames

    def linearize(_: bool, nonzeros: Sequence[bool], operand: Any, **params: Any) -> tuple[Any, ...]:
        out, tangent_of = rule(operand, **params)

        def linearized(*given: Any) -> Any:
            return tangent_of(given[-1])

        return (out, nonzeros[0], (), *((None,) if structured else ()), linearized)

    rules[primitive] = linearize


def with_x64() -> Any:
    """Return the context in which JAX computes with 64 bits."""
    here = getattr(jax, "enable_x64", None)
    return here(True) if here is not None else import_module("jax.experimental").enable_x64()
