"""The mesh that a target is traced for: as large as the user says, on a machine that has none of its devices.

A program that makes its mesh itself gets one of the wanted sizes. One that expects a mesh from outside, as an argument
or from its context, gets it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.specs import Spec, SpecError, array_specs, splits


class Mesh:
    """A mesh by the sizes of its axes, with what the target makes of it."""

    def __init__(self, sizes: Mapping[str, int], explicit: Iterable[str] = ()) -> None:
        self.sizes = sizes
        self.explicit = frozenset(explicit)
        self.was_made = False
        """Whether the program made its own."""

    @classmethod
    def wanted(cls, sizes: Mapping[str, int], specs: Iterable[Spec]) -> Mesh | None:
        """Return the mesh that the user wants; the axes that arguments are split over belong to their types."""
        used = [axis for spec in specs for array in array_specs(spec) for axes in splits(array) for axis in axes]
        for axis in used:
            if axis not in sizes:
                known = f"; the axes of --mesh are {', '.join(sizes)}" if sizes else ": there is no --mesh"
                raise SpecError(f"an argument is split over `{axis}`, which is no axis of the mesh{known}")
        return cls(sizes, used) if sizes else None

    def abstract(self) -> Any:
        """Return it without devices."""
        return self._made(tuple(self.sizes), None)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Give a mesh of these sizes to whoever makes one of these axes."""
        jax = the_jax()
        make_mesh = jax.make_mesh
        jax.make_mesh = self._making(make_mesh)
        try:
            yield
        finally:
            jax.make_mesh = make_mesh

    def traced(self, trace: Callable[[], Any]) -> Any:
        """Trace with this mesh as the context, or without where the program makes its own: there may be one only."""
        if not self.was_made:
            try:
                with the_jax().sharding.use_abstract_mesh(self.abstract()):
                    return trace()
            except Exception:
                if not self.was_made:
                    raise
        return trace()

    def _making(self, make_mesh: Callable[..., Any]) -> Callable[..., Any]:
        def sized(axis_shapes: Sequence[int], axis_names: Sequence[str], **options: Any) -> Any:
            names = tuple(axis_names)
            if not set(names) <= set(self.sizes):
                return make_mesh(axis_shapes, axis_names, **options)
            self.was_made = True
            sizes = tuple(self.sizes[name] for name in names)
            if prod(sizes) <= the_jax().device_count():
                return make_mesh(sizes, names, **options)
            kinds = options.get("axis_types") or make_mesh((1,) * len(names), names, **options).axis_types
            return self._made(names, kinds)

        return sized

    def _made(self, names: tuple[str, ...], kinds: Any) -> Any:
        sharding = the_jax().sharding
        explicit, auto = sharding.AxisType.Explicit, sharding.AxisType.Auto
        chosen = kinds or tuple(explicit if name in self.explicit else auto for name in names)
        return sharding.AbstractMesh(tuple(self.sizes[name] for name in names), names, axis_types=chosen)
