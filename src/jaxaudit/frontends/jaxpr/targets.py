"""Traces a target: finds the function, makes abstract arguments for it, and lowers what JAX saw.

A target is `FILE:EXPRESSION` or `pkg.mod:EXPRESSION`. The expression is looked up in the module; a call in it is made
with literal arguments (`make_train({'lr': 1e-3})`); `key` stands for a random key, and `mesh` for the mesh that is
wanted. Nothing is computed on data.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxaudit.frontends.jaxpr.failures import describe
from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.inputs import Inputs
from jaxaudit.frontends.jaxpr.meshes import Mesh
from jaxaudit.frontends.jaxpr.modules import callable_of
from jaxaudit.frontends.jaxpr.places import call_at, user_files
from jaxaudit.frontends.jaxpr.protocol import Capture, Failure, Frame, Reply, Request
from jaxaudit.frontends.jaxpr.serve import probes, rebuilt
from jaxaudit.frontends.jaxpr.specs import Spec, SpecError, parse_spec
from jaxaudit.frontends.jaxpr.watching import Watch
from jaxaudit.ir import Root, Value
from jaxaudit.ir.serial import encode_program
from jaxaudit.ir.types import Declared


def trace_target(request: Request) -> Reply:
    """Answer a request to trace; an exception of the user's code comes back as facts, with all files it touched."""
    from jaxaudit.frontends.jaxpr.lower import install_markers

    path = request.target
    install_markers(probe=request.probe)
    watch = Watch(f"trace {request.target}")
    watch.start()
    try:
        path, expression = split_target(request.target)
        return replace(_trace(request, path, expression, watch), sightings=watch.seen.all())
    except SpecError as error:
        return Reply("refused", str(error))
    except BaseException as error:  # noqa: BLE001
        failure = describe(error)
        return Reply("failed", failure=failure, files=_files(path, failure))
    finally:
        watch.stop()


def split_target(target: str) -> tuple[str, str]:
    """Take a target apart into file or module, and expression."""
    head, colon, expression = target.partition(".py:")
    if colon:
        return head + ".py", expression.strip()
    module, colon, expression = target.partition(":")
    if not colon or not expression.strip():
        raise SpecError(f"`{target}` is no target; write FILE:FUNCTION or pkg.mod:function")
    return module, expression.strip()


def _trace(request: Request, path: str, expression: str, watch: Watch) -> Reply:
    from jaxaudit.frontends.jaxpr.lower import Lowering, traced

    given = {**_file_specs(request, expression), **{name: parse_spec(text) for name, text in request.specs.items()}}
    mesh = Mesh.wanted(request.mesh, given.values())
    with nullcontext() if mesh is None else mesh.in_place():
        module = load_module(path)
        context = None if mesh is None else mesh.abstract()
        found = callable_of(evaluate(expression, module, context), expression)
        file = found.path or str(getattr(module, "__file__", path))
        inputs = Inputs(found, given, request.sizes, vars(module), file, context)
        function, types, names = inputs.abstract()
        place = Frame(file, found.line, 0, found.line, 0, found.name, user=True)
        closed = _in_mesh(mesh, lambda: call_at(place, lambda: traced(function, types, {})))
    watch.stop()
    lowering = Lowering()
    root = lowering.add(closed, name=found.name, path=file, line=found.line, arg_names=names)
    return Reply(
        program=encode_program(replace(lowering.program(), declared=declared_axes(root, names, inputs.axes))),
        captures=(Capture(found.name, "trace", file, found.line),),
        files=_files(file),
        axes=inputs.sizes,
        arguments=inputs.axes,
        probes=probes() if request.probe else (),
        rebuilt=rebuilt() if request.probe else (),
    )


def _in_mesh(mesh: Mesh | None, trace: Callable[[], Any]) -> Any:
    return trace() if mesh is None else mesh.traced(trace)


def declared_axes(root: Root, names: Sequence[str], axes: Mapping[str, tuple[str, ...]]) -> dict[Value, Declared]:
    """Pair the parameters of a root with the axis names of their arguments."""
    pairs = zip(root.region.params, names, strict=True)
    return {value: Declared(axes[name], root.name) for value, name in pairs if any(axes.get(name, ()))}


def load_module(path: str) -> ModuleType:
    """Import the module of a target, as part of its package when it has one."""
    file = Path(path)
    if file.suffix != ".py":
        sys.path.insert(0, str(Path.cwd()))
        return _imported(path)
    if not file.is_file():
        raise SpecError(f"no such file: {path}")
    folder, parts = file.resolve().parent, [file.stem]
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    return importlib.import_module(".".join(parts))


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that the user's own code misses is an exception of that code.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise SpecError(f"there is no module `{error.name}` here; a file is named as FILE.py:FUNCTION") from error


def evaluate(expression: str, module: ModuleType, mesh: Any = None) -> Any:
    """Evaluate a target's expression in its module."""
    names = {"key": the_jax().random.key(0), "mesh": mesh, **vars(module)}
    first = expression.partition("(")[0].partition(".")[0].strip()
    if first not in names:
        near = difflib.get_close_matches(first, [name for name in vars(module) if not name.startswith("_")], 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise SpecError(f"{module.__name__} has no `{first}`{hint}")
    try:
        code = compile(expression, "<target>", "eval")
    except SyntaxError as error:
        raise SpecError(f"`{expression}` is no Python expression: {error.msg}") from error
    return eval(code, names)  # noqa: S307


def _file_specs(request: Request, expression: str) -> dict[str, Spec]:
    """Read a Python file of specs: `ARGS` for all targets, or `TARGETS` with a table for each."""
    if not request.specs_file:
        return {}
    module = load_module(request.specs_file)
    tables = getattr(module, "TARGETS", {})
    table = tables.get(request.target) or tables.get(expression) or getattr(module, "ARGS", None)
    if table is None:
        raise SpecError(f"{request.specs_file} has neither `ARGS` nor `TARGETS['{expression}']`")
    return {name: parse_spec(text) if isinstance(text, str) else _given(text) for name, text in table.items()}


def _given(value: Any) -> Spec:
    from jaxaudit.frontends.jaxpr.specs import Constant

    return Constant(value)


def _files(path: str, failure: Failure | None = None) -> tuple[str, ...]:
    found = user_files(failure)
    return found if not path.endswith(".py") else tuple(dict.fromkeys([str(Path(path).absolute()), *found]))
