"""The door to this front end: trace a function, or take a jaxpr that was traced elsewhere, and get IR.

Nothing is executed on a device. Exceptions that the user's code or JAX raises while tracing pass through unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jaxaudit.frontends.jaxpr import compat, patches
from jaxaudit.frontends.jaxpr.derivatives import rules_of
from jaxaudit.frontends.jaxpr.equations import Body, Context
from jaxaudit.frontends.jaxpr.files import USER, layer_of, set_user_roots, shown
from jaxaudit.frontends.jaxpr.primitives import ROWS
from jaxaudit.frontends.jaxpr.records import RECORDS, Records
from jaxaudit.frontends.jaxpr.variables import text_of
from jaxaudit.frontends.jaxpr.writer import Writer
from jaxaudit.frontends.source.interpret.modules import comments_of
from jaxaudit.ir import Program, Root
from jaxaudit.ir.collector import collector_paused
from jaxaudit.spans import Span


def install_markers(*, probe: bool = True) -> None:
    """Patch JAX's transformations so that jaxprs tell their boundaries; call it before importing the user's module.

    Only who may `probe` rebuilds objects of the classes that the user registers.
    """
    patches.install(probe=probe)


def uninstall_markers() -> None:
    """Undo `install_markers`."""
    patches.uninstall()


class Lowering:
    """Lowers any number of jaxprs into one program, whose values and types live together."""

    def __init__(self, user_roots: Sequence[str] = (), records: Records | None = None) -> None:
        """Start a program; `user_roots` are folders of the user's that lie where libraries are installed."""
        if user_roots:
            set_user_roots(user_roots)
        self._writer = Writer(RECORDS if records is None else records)
        self._roots: list[Root] = []

    def add(self, closed: Any, *, name: str, path: str, line: int = 1, arg_names: Sequence[str] = ()) -> Root:
        """Lower one closed jaxpr as a root of the program; path and line say where it is when JAX names no place."""
        writer = self._writer
        jaxpr, function = compat.open_jaxpr(closed), compat.function_of(closed)
        span = Span(shown(path), line, 0, line, 0)
        span = writer.place(function, span) if layer_of(function.path) == USER else span
        names = _names(arg_names, function.arguments, len(jaxpr.invars))
        params = [
            writer.value(span, compat.type_of(variable), known)
            for variable, known in zip(jaxpr.invars, names, strict=True)
        ]
        with collector_paused(), writer.builder.nested("root", name, span, params) as region:
            self._constants(closed, span)
            out = Body(writer, closed, Context(span)).run(params)
            results = writer.results(out, jaxpr.outvars, span)
        writer.builder.close(region, results)
        root = Root(name, shown(path), region)
        self._roots.append(root)
        return root

    def _rules(self) -> list[Root]:
        """Lower the derivative rules that no root runs, as roots of their own; what cannot be lowered is left out."""
        before = len(self._roots)
        writer = self._writer
        for (path, line), name in list(writer.undifferentiated.items()):
            for role, closed in rules_of(path, line, writer.surroundings.rules):
                with suppress(Exception):
                    self.add(closed, name=f"{name} ({role})", path=path, line=line)
        made = self._roots[before:]
        del self._roots[before:]
        return made

    def _constants(self, closed: Any, span: Span) -> None:
        """Write down the arrays that the jaxpr or one inside it is closed over, each once."""
        writer = self._writer
        writer.constants.clear()
        writer.sharing.forget()
        for variable, value in _closed_over(closed, set()):
            if id(value) not in writer.constants:
                name = _global_name(value)
                told: dict[str, object] = {"function": "captured"} if name else {}
                if (extent := _extent(value)) is not None:
                    told["extent"] = extent
                made = writer.builder.emit("py.const", span, attrs={"value": _scalar(value), **told}).result
                made.name = name
                kind = compat.type_of(variable)
                if kind is not None:
                    writer.types[made] = kind
                writer.constants[id(value)] = made

    def program(self) -> Program:
        """Return all roots so far as a program, with exact types and the comments of the files they touch."""
        comments = {path: comments_of(text) for path in sorted(self._writer.paths) if "#" in (text := text_of(path))}
        return Program((*self._roots, *self._rules()), "jaxpr", comments, self._writer.types)


def _global_name(value: Any) -> str:
    """Name an array that code is closed over by the variable of a user's module that holds it."""
    for module in list(sys.modules.values()):
        if layer_of(getattr(module, "__file__", None) or "") == USER:
            found = next((name for name, held in vars(module).items() if held is value), "")
            if found:
                return found
    return ""


_SMALL = 4096


def _names(given: Sequence[str], known: Sequence[str] | None, count: int) -> Sequence[str]:
    for names in (given, known or ()):
        if len(names) == count:
            return [name or "" for name in names]
    return [""] * count


def _closed_over(closed: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    jaxpr = compat.open_jaxpr(closed)
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    yield from zip(jaxpr.constvars, compat.consts_of(closed), strict=False)
    for equation in jaxpr.eqns:
        if equation.primitive.name in ROWS:
            continue
        for inner in compat.inner_jaxprs(equation.params):
            yield from _closed_over(inner, seen)


def _extent(value: Any) -> tuple[int, int] | None:
    """Return the least and the greatest entry of a small array of integers, such as indices written out."""
    kind, size = str(getattr(value, "dtype", "")), getattr(value, "size", 0)
    if not kind.startswith(("int", "uint")) or not 0 < size <= _SMALL:
        return None
    found = compat.np.asarray(value)
    return int(found.min()), int(found.max())


def _scalar(value: Any) -> int | float | bool | None:
    """Return a constant array's value where it is a single number."""
    kind = getattr(value, "dtype", None)
    if getattr(value, "shape", None) != () or kind is None or str(kind).startswith("key"):
        return None
    item = value.item()
    return item if isinstance(item, bool | int | float) else None


def trace_and_lower(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    name: str,
    path: str,
    static_argnums: Sequence[int] = (),
) -> Program:
    """Trace a function with abstract or real arguments and lower what was seen; the markers are put in for the time."""
    closed = traced(fn, args, kwargs, static_argnums=static_argnums)
    lowering = Lowering()
    lowering.add(closed, name=name, path=path)
    return lowering.program()


def traced(
    fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, static_argnums: Sequence[int] = ()
) -> Any:
    """Trace a function with the markers put in; they stay in when they were in before."""
    before = patches.is_installed()
    install_markers()
    try:
        # Tracers and equations live until the end, and a large model has so many that the collector takes its share.
        with collector_paused():
            return compat.jax.make_jaxpr(fn, static_argnums=tuple(static_argnums))(*args, **kwargs)
    finally:
        if not before:
            uninstall_markers()
