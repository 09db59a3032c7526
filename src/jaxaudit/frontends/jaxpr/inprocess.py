"""Tracing and observing inside this very process, for `jaxaudit.audit(...)` and `pytest --jaxaudit`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxaudit.frontends.jaxpr.failures import describe
from jaxaudit.frontends.jaxpr.imports import has_jax, when_jax_is_imported
from jaxaudit.frontends.jaxpr.inputs import Inputs
from jaxaudit.frontends.jaxpr.modules import Target, callable_of
from jaxaudit.frontends.jaxpr.places import call_at, caller
from jaxaudit.frontends.jaxpr.protocol import Capture, Frame, Reply
from jaxaudit.frontends.jaxpr.script import Ending
from jaxaudit.frontends.jaxpr.serve import gather
from jaxaudit.frontends.jaxpr.targets import declared_axes
from jaxaudit.frontends.jaxpr.worker import TracerError
from jaxaudit.ir.serial import encode_program


def trace_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], axes: Mapping[str, str]
) -> Reply:
    """Trace one call, with real or abstract arguments; what JAX raises comes back as facts."""
    if not has_jax():
        raise TracerError("jaxaudit.audit needs jax in this environment")
    found = callable_of((function, tuple(args), dict(kwargs)), getattr(function, "__name__", "the function"))
    from jaxaudit.frontends.jaxpr.lower import Lowering, traced

    place = caller() or Frame(found.path, found.line, 0, found.line, 0, found.name, user=True)
    files = tuple(dict.fromkeys(path for path in (found.path, place.path) if path))
    inputs = Inputs(found, {}, {}, {})
    try:
        flat, types, names = inputs.abstract()
        closed = call_at(place, lambda: traced(flat, types, {}))
    except Exception as error:  # noqa: BLE001
        return Reply("failed", failure=describe(error), files=files)
    lowering = Lowering()
    root = lowering.add(closed, name=found.name, path=found.path or place.path, arg_names=names)
    sizes, leaves = named_axes(axes, found, args, kwargs)
    return Reply(
        program=encode_program(replace(lowering.program(), declared=declared_axes(root, names, leaves))),
        captures=(Capture(found.name, "trace", found.path, found.line),),
        files=files,
        axes=sizes,
        arguments=leaves,
    )


def named_axes(
    axes: Mapping[str, str], found: Target, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """Pair the axis names that the caller gives (`obs="batch time feat"`) with the sizes of that argument."""
    bound: Mapping[str, Any] = {}
    if found.signature is not None:
        try:
            bound = found.signature.bind(*args, **kwargs).arguments
        except TypeError:
            bound = kwargs
    sizes: dict[str, int] = {}
    leaves: dict[str, tuple[str, ...]] = {}
    for name, text in axes.items():
        shape = tuple(getattr(bound.get(name), "shape", ()))
        leaves[name] = tuple(text.split())
        sizes |= dict(zip(leaves[name], shape, strict=False))
    return sizes, leaves


class Session:
    """Observes this process from `start` to `stop`."""

    def __init__(self, *, probe: bool = True) -> None:
        from jaxaudit.frontends.jaxpr.observe import Observer

        self.observer = Observer(where="pytest")
        self._probe = probe

    def start(self) -> None:
        """Begin to look, now if jax is imported already, else once it is."""
        if "jax" in sys.modules:
            self._begin()
        else:
            when_jax_is_imported(self._begin)

    def stop(self) -> Reply:
        """Return what was seen."""
        sites = self.observer.captured() if "jax" in sys.modules else []
        sightings = self.observer.watch.seen.all()
        return gather(sites, Ending(), self.observer.retraces, sightings=sightings, probe=self._probe)

    def begin(self, where: str) -> None:
        """Return which test runs from now on."""
        self.observer.watch.begin(where)

    def _begin(self) -> None:
        from jaxaudit.frontends.jaxpr.lower import install_markers

        install_markers(probe=self._probe)
        self.observer.install()
