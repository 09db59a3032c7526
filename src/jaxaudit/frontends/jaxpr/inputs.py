"""Makes the abstract arguments of a target from specs, annotations and defaults, and remembers what its axes mean."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from jaxaudit.frontends.jaxpr import specs as grammar
from jaxaudit.frontends.jaxpr.arguments import is_array, struct
from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.modules import Target
from jaxaudit.frontends.jaxpr.specs import KEY, ArraySpec, Constant, Expression, Spec, SpecError

_FIRST = ("float32", "int32", "bool", "uint32", "complex64", "uint8", "bfloat16", "float16")
"""Which dtype stands for an annotation that admits several."""
_NOTHING = (inspect.Parameter.empty, None)


def annotated_specs(function: Callable[..., Any]) -> dict[str, Spec]:
    """Return the specs of the parameters whose annotations tell shape and dtype."""
    found: dict[str, Spec] = {}
    for name, annotation in _annotations(function).items():
        spec = spec_of(annotation)
        if spec is not None:
            found[name] = spec
    return found


def spec_of(annotation: Any) -> Spec | None:
    """Turn one annotation into a spec; None when it says no shape."""
    dims = getattr(annotation, "dim_str", None)
    if isinstance(dims, str):
        return ArraySpec(_dtype(getattr(annotation, "dtypes", ())), tuple(_dims(dims)))
    if getattr(annotation, "__name__", "") == "PRNGKeyArray" or "PRNGKeyArray" in str(annotation):
        return ArraySpec(KEY, ())
    return None


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    plain = inspect.unwrap(function)
    try:
        return get_type_hints(plain)
    except Exception:  # noqa: BLE001
        return dict(getattr(plain, "__annotations__", {}))


def _dtype(admitted: Any) -> str:
    names = [admitted] if isinstance(admitted, str) else [str(name) for name in admitted or ()]
    if any("key<" in name or name == "prng_key" for name in names):
        return KEY
    return next((name for name in _FIRST if name in names), names[0] if names and names[0].isalnum() else "float32")


def _dims(text: str) -> list[str]:
    """Return the axes of a jaxtyping string; a variadic one stands for one axis, an anonymous one for a new name."""
    dims: list[str] = []
    for number, part in enumerate(text.split()):
        bare = part.lstrip("#*?_") or f"axis{number}"
        if bare == "...":
            bare = f"axis{number}"
        name, equals, size = bare.partition("=")
        known = size if equals and size.isdigit() else bare
        dims.append(f"{name}={size}" if equals and size.isdigit() else re.sub(r"[{}]", "", known))
    return dims


Traceable = tuple[Callable[..., Any], list[Any], list[str]]
"""A function of arrays alone, their types, and their names."""


class Inputs:
    """The arguments of one target."""

    def __init__(
        self,
        target: Target,
        specs: Mapping[str, Spec],
        sizes: Mapping[str, int],
        names: Mapping[str, Any],
        file: str = "",
        mesh: Any = None,
    ) -> None:
        self.file = file or target.path
        self.target = target
        self.specs = dict(specs)
        self.names = names
        known = annotated_specs(target.hints) if target.hints else {}
        self.mesh = mesh
        self.chosen = {**known, **self._meshes(), **self._by_name()}
        self.sizes = grammar.choose_sizes(self.chosen.values(), sizes)
        self.axes: dict[str, tuple[str, ...]] = {}

    def abstract(self) -> Traceable:
        """Return the target as a function of arrays alone."""
        args, kwargs = self.target.given or self._made()
        if self.target.init is not None:
            args = (self._parameters(args, kwargs), *args)
        if self.target.extra:
            args = (*self.target.extra.values(), *args)
        return self._flat(args, kwargs)

    def _by_name(self) -> dict[str, Spec]:
        """Replace positions by the names of parameters."""
        names = list(self.target.signature.parameters) if self.target.signature else []
        made: dict[str, Spec] = {}
        for key, spec in self.specs.items():
            named = names[int(key)] if key.isdigit() and int(key) < len(names) else key
            takes_any = not names or any(
                one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
                for one in (self.target.signature.parameters.values() if self.target.signature else ())
            )
            if named not in names and not takes_any:
                raise SpecError(f"`{self.target.name}` has no argument `{key}`; it takes {', '.join(names) or 'none'}")
            made[named] = spec
        return made

    def _meshes(self) -> dict[str, Spec]:
        """Return the mesh for each parameter that is said to be one, or is called so and has nothing else to be."""
        if self.mesh is None or self.target.signature is None:
            return {}
        said = _annotations(self.target.hints) if self.target.hints else {}
        taken = [
            name
            for name, one in self.target.signature.parameters.items()
            if "Mesh" in str(said.get(name, "")) or (name == "mesh" and name not in said and one.default in _NOTHING)
        ]
        return dict.fromkeys(taken, Constant(self.mesh))

    def _made(self) -> tuple[list[Any], dict[str, Any]]:
        if self.target.signature is None:
            return [self._value(name, self.chosen[name]) for name in sorted(self.chosen)], {}
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in self.target.signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name not in self.chosen:
                if parameter.default is inspect.Parameter.empty:
                    raise SpecError(self._missing(name))
                continue
            value = self._value(name, self.chosen[name])
            if parameter.kind is parameter.KEYWORD_ONLY or len(args) < list(self.target.signature.parameters).index(
                name
            ):
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def _missing(self, name: str) -> str:
        mesh = "if it is a mesh of devices, say which with --mesh data=8; else " if name == "mesh" else ""
        return (
            f"nothing tells the type of argument `{name}` of `{self.target.name}`: {mesh}"
            f"give it as --arg {name}='f32[batch=32,8]' (or `key` for a random key), in [tool.jaxaudit.targets], "
            "or as a jaxtyping annotation"
        )

    def _value(self, name: str, spec: Spec) -> Any:
        """Turn a spec into a tree of types and constants."""
        jax = the_jax()
        match spec:
            case ArraySpec():
                return self._array(name, spec)
            case Constant():
                return spec.value
            case Expression():
                names = {"key": jax.random.key(0), "mesh": self.mesh, **self.names}
                return jax.eval_shape(lambda: eval(spec.code, names))  # noqa: S307
            case dict():
                return {key: self._value(f"{name}['{key}']", part) for key, part in spec.items()}
            case tuple():
                return tuple(self._value(f"{name}[{number}]", part) for number, part in enumerate(spec))
        return [self._value(f"{name}[{number}]", part) for number, part in enumerate(spec)]

    def _array(self, name: str, spec: ArraySpec) -> Any:
        jax = the_jax()
        shape = tuple(grammar.size_of(dim, self.sizes) for dim in spec.dims)
        self.axes[name] = tuple(grammar.axis_name(dim) for dim in spec.dims)
        if spec.dtype == grammar.KEY:
            return jax.ShapeDtypeStruct(shape, jax.random.key(0).dtype)
        if spec.dtype == grammar.RAW_KEY:
            return jax.ShapeDtypeStruct((*shape, 2), "uint32")
        if not spec.split or self.mesh is None:
            return jax.ShapeDtypeStruct(shape, spec.dtype)
        parts = (axes or None for axes in grammar.splits(spec))
        sharding = jax.sharding.NamedSharding(self.mesh, jax.sharding.PartitionSpec(*parts))
        return jax.ShapeDtypeStruct(shape, spec.dtype, sharding=sharding)

    def _parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make the parameters of a model without computing them."""
        init = self.target.init
        assert init is not None
        function, types, _ = self._flat((the_jax().random.key(0), *args), kwargs, init)
        return the_jax().eval_shape(function, *types)

    def _flat(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], function: Callable[..., Any] | None = None
    ) -> Traceable:
        """Return a function of the array leaves alone; everything else is closed over."""
        jax = the_jax()
        called = function or self.target.function
        paths, structure = jax.tree_util.tree_flatten_with_path((tuple(args), dict(kwargs)))
        leaves = [leaf for _, leaf in paths]
        places = [number for number, leaf in enumerate(leaves) if is_array(leaf)]

        def of_arrays(*arrays: Any) -> Any:
            filled = list(leaves)
            for place, array in zip(places, arrays, strict=True):
                filled[place] = array
            given, named = jax.tree_util.tree_unflatten(structure, filled)
            return called(*given, **named)

        # JAX names the place of a function by what is wrapped innermost.
        of_arrays.__wrapped__ = self.target.hints or _stand_in(self.file, self.target.line)  # type: ignore[attr-defined]
        names = [self._leaf_name(paths[place][0]) for place in places]
        return of_arrays, [_type(leaves[place]) for place in places], names

    def _leaf_name(self, path: Sequence[Any]) -> str:
        """Name a leaf by its parameter and its path inside it."""
        jax = the_jax()
        (_, *_), (first, *rest) = path[:1], path[1:]
        index = getattr(first, "idx", None)
        head = self._parameter_name(index) if index is not None else str(getattr(first, "key", first))
        return head + jax.tree_util.keystr(tuple(rest))

    def _parameter_name(self, index: int) -> str:
        before = [*(["params"] if self.target.init is not None else []), *self.target.extra]
        names = [*before, *(self.target.signature.parameters if self.target.signature else sorted(self.chosen))]
        return names[index] if index < len(names) else str(index)


def _stand_in(file: str, line: int) -> Callable[..., Any]:
    """Make a function that says it stands at a place, for a target whose own function cannot be reached."""

    def stand_in() -> None: ...

    stand_in.__code__ = stand_in.__code__.replace(co_filename=file, co_firstlineno=line)
    return stand_in


def _type(leaf: Any) -> Any:
    jax = the_jax()
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    return struct(jax.numpy.asarray(leaf) if isinstance(leaf, float | complex) else leaf)
