"""What is known of one value: an array with dims and dtype, a Python integer, a tuple of such, or only its identity.

Facts are immutable and compare by content. A dim that is `UNKNOWN` gets a variable of its own when the value is read,
so that two readings of one value agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from jaxaudit.analyses.dims import UNKNOWN, Atom, Dim, constant, differ, either, product, variable
from jaxaudit.analyses.labels import Label
from jaxaudit.ir import ArrayType, Value
from jaxaudit.ir.record import record

Dims = tuple[Dim, ...]


@record
class ShapeFact:
    """All fields empty means that nothing is known."""

    dims: Dims | None = None
    """The sizes of all axes; None when even the rank is unknown. A Python number has no axes."""
    dtype: str | None = None
    """As NumPy names it, with 64-bit types written as their 32-bit kin, since JAX makes them so by default."""
    weak: bool = False
    """True for Python scalars and what is made of them alone: they yield to the other operand's dtype."""
    number: Dim | None = None
    """The value of a Python integer."""
    items: tuple[ShapeFact, ...] | None = None
    """The items of a tuple or list."""
    each: ShapeFact | None = None
    """What every item of a sequence of unknown length is."""
    length: Dim | None = None
    """How many items such a sequence has, where that is a symbol."""
    symbol: str = ""
    """A name for an object nothing is known of; equal symbols are one object."""
    born: int = 0
    """Where the symbol came into being."""
    parts: tuple[ShapeFact, ...] | None = None
    """The leaves of a container that is seen as one value, in order."""
    layer: Layer | None = None
    """A layer of a neural network library."""
    placing: Placing | None = None
    """A mesh, a spec or a sharding."""
    outline: Outline | None = None
    """What has the same shape, where even the rank is unknown: `jnp.tanh(x)` has the shape of `x`."""
    stack: Dims = ()
    """The first axes of a layer's arrays, or of every leaf of something else, which a map has put there."""

    @property
    def is_array(self) -> bool:
        """Whether this is surely an array or a number."""
        return self.dims is not None

    @property
    def placed(self) -> Placing | None:
        """The placing that this is, or that each of its items is."""
        return self.placing if self.each is None else self.each.placed

    @property
    def rank(self) -> int | None:
        """How many axes there are."""
        return None if self.dims is None else len(self.dims)

    def __str__(self) -> str:
        if self.number is not None:
            return f"integer {shown(self.number)}"
        if self.dims is not None:
            return f"{self.dtype or '?'}[{', '.join(map(shown, self.dims))}]"
        return f"({', '.join(map(str, self.items))})" if self.items is not None else "unknown"


@record
class Outline:
    """The shape of something of unknown rank, or of a part of it: `x[1:]` has the axes of `x`, the first shorter."""

    whole: Atom
    axes: tuple[Dim | None, ...] = ()
    """The sizes of its first axes where they are others than those of the whole, None for those that an index took."""

    def size(self, at: int) -> Dim | None:
        """Return the size of one axis of the whole; None where it is gone."""
        return self.axes[at] if at < len(self.axes) else self.whole_size(at)

    def whole_size(self, at: int) -> Dim:
        """Return the size that an axis of the whole has."""
        return variable(f"{self.whole.text}.shape[{at}]", "size", self.whole.born)

    def cut(self, axes: Iterable[Dim | None]) -> Outline:
        """Return the outline of a part with these first axes."""
        left = list(axes)
        while left and left[-1] == self.whole_size(len(left) - 1):
            left.pop()
        return Outline(self.whole, tuple(left))

    def differs(self, other: Outline) -> bool:
        """Whether two parts of one whole have as many axes, but one surely has another size."""
        count = max(len(self.axes), len(other.axes))
        pairs = [(self.size(at), other.size(at)) for at in range(count)] if self.whole == other.whole else []
        same_axes = all((one is None) is (two is None) for one, two in pairs)
        return same_axes and any(one is not None and two is not None and differ(one, two) for one, two in pairs)

    def __str__(self) -> str:
        count = max(1, len(self.axes))
        sizes = [size for at in range(count) if (size := self.size(at)) is not None]
        return f"({', '.join(map(shown, sizes))}, ...)"


@record
class Layer:
    """A layer: its class, and the arguments it was made with."""

    name: str
    given: tuple[tuple[str, ShapeFact], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the arguments."""
        return frozenset(name for name, _ in (*self.given, *self.texts))

    def is_like(self, other: Layer) -> bool:
        """Whether both are of one class and were given arguments of the same names and the same texts."""
        names, others = ([name for name, _ in one.given] for one in (self, other))
        return self.name == other.name and self.texts == other.texts and names == others

    def get(self, name: str) -> ShapeFact | None:
        """Return an argument; None where it was not given."""
        return next((fact for key, fact in self.given if key == name), None)

    def text(self, name: str) -> str:
        """Return an argument that is text; empty where it was not given."""
        return next((text for key, text in self.texts if key == name), "")


@record
class Placing:
    """What says where arrays live: a mesh has axes, a spec names them for the axes of an array, a sharding has both."""

    axes: tuple[tuple[str, Dim], ...] | None = None
    """The axes of the mesh and how many devices there are along each."""
    explicit: bool = False
    """Whether layouts are part of types on this mesh, so that JAX refuses those that do not go together."""
    spec: tuple[tuple[str, ...] | None, ...] | None = None
    """For each axis of an array the axes of the mesh it is spread over; None for one that is not known."""

    def parts(self, names: tuple[str, ...]) -> Dim:
        """Return over how many devices an array is spread that is split along some axes."""
        sizes = dict(self.axes or ())
        return product(sizes.get(name, UNKNOWN) for name in names)


NOTHING = ShapeFact()


def array(
    dims: Dims | None, dtype: str | None = None, *, weak: bool = False, outline: Outline | None = None
) -> ShapeFact:
    """Return the fact of an array."""
    return ShapeFact(dims, dtype, weak and dtype is not None, outline=outline if dims is None else None)


def outline_of(fact: ShapeFact) -> Outline | None:
    """Return what stands for the shape of a value of unknown rank."""
    if fact.dims is not None or fact.outline is not None or not fact.symbol:
        return fact.outline
    return Outline(Atom(fact.symbol, None, "number", fact.born))


def common_outline(facts: Iterable[ShapeFact]) -> Outline | None:
    """Return what stands for the shape of all of some values but numbers, where it is one shape of unknown rank."""
    outlines = {outline_of(fact) for fact in facts if fact.dims != ()}
    return outlines.pop() if len(outlines) == 1 else None


def integer(number: Dim) -> ShapeFact:
    """Return the fact of a Python integer."""
    return ShapeFact((), "int32", True, number)


def truth(holds: bool) -> ShapeFact:
    """Return the fact of a Python truth value that is known."""
    return ShapeFact((), "bool", False, constant(int(holds)))


def sequence(items: tuple[ShapeFact, ...]) -> ShapeFact:
    """Return the fact of a tuple or list."""
    return ShapeFact(items=items)


@lru_cache(maxsize=4096)
def exact(known: ArrayType) -> ShapeFact:
    """Return the fact of a value whose type JAX itself told."""
    return array(tuple(constant(size) for size in known.shape), canonical(known.dtype), weak=known.weak)


_WIDE = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def canonical(dtype: str) -> str:
    """Write a dtype as JAX keeps it by default."""
    return _WIDE.get(dtype, dtype)


def join(first: ShapeFact, second: ShapeFact) -> ShapeFact:
    """Return the fact that covers both."""
    if first is second or first == second:
        return first
    if first.items is not None and second.items is not None and len(first.items) == len(second.items):
        return sequence(tuple(join(a, b) for a, b in zip(first.items, second.items, strict=True)))
    if first.parts is not None and second.parts is not None and len(first.parts) == len(second.parts):
        return ShapeFact(parts=tuple(join(a, b) for a, b in zip(first.parts, second.parts, strict=True)))
    if first.placing is not None and second.placing is not None and first.dims is None and second.dims is None:
        return ShapeFact(placing=_one_place(first.placing, second.placing))
    if first.layer is not None and second.layer is not None and first.layer.is_like(second.layer):
        stack = first.stack if first.stack == second.stack else None
        given = tuple(
            (name, join(a, b)) for (name, a), (_, b) in zip(first.layer.given, second.layer.given, strict=True)
        )
        return NOTHING if stack is None else ShapeFact(layer=replace(first.layer, given=given), stack=stack)
    alike = first.dtype == second.dtype and first.weak == second.weak
    dtype, weak = (first.dtype, first.weak) if alike else (None, False)
    if first.dims is None or second.dims is None or len(first.dims) != len(second.dims):
        # What else they are, they have one type, or one shape.
        shared = first.outline if first.outline == second.outline else None
        stack = first.stack if first.stack == second.stack else ()
        return ShapeFact(None, dtype, weak, outline=shared, stack=stack)
    number = None
    if first.number is not None and second.number is not None:
        number = either(first.number, second.number)
    dims = tuple(either(a, b) for a, b in zip(first.dims, second.dims, strict=True))
    return ShapeFact(dims, dtype, weak, number)


def _one_place(first: Placing, second: Placing) -> Placing:
    """Return what two meshes, specs or shardings have in common."""
    axes = first.axes if first.axes == second.axes else None
    spec = first.spec if first.spec == second.spec else None
    return Placing(axes, first.explicit and second.explicit, spec)


def named(fact: ShapeFact, value: Value) -> ShapeFact:
    """Return variables of the value's own to what is unknown in a fact."""
    return _named(fact, value.name or "_", f"#{value.id}", value.id)


def is_named(fact: ShapeFact) -> bool:
    """Whether nothing in a fact still needs a name."""
    if fact.dims is not None:
        for dim in fact.dims:
            if dim.terms is None:
                return False
        return fact.number is None or fact.number.terms is not None
    if fact.items is not None:
        return all(is_named(item) for item in fact.items)
    placed = fact.layer is not None or fact.placing is not None
    return bool(fact.symbol) or placed or fact.each is not None or fact.parts is not None


def _named(fact: ShapeFact, name: str, tag: str, born: int) -> ShapeFact:
    if is_named(fact):
        return fact
    if fact.dims is not None:
        dims = tuple(_own(dim, f"{name}.shape[{i}]{tag}", "size", born) for i, dim in enumerate(fact.dims))
        number = None if fact.number is None else _own(fact.number, f"{name}{tag}", "number", born)
        return replace(fact, dims=dims, number=number)
    if fact.items is not None:
        items = (_named(item, f"{name}[{i}]", tag, born) for i, item in enumerate(fact.items))
        return replace(fact, items=tuple(items))
    return ShapeFact(
        None, fact.dtype, fact.weak, symbol=f"{name}{tag}", born=born, outline=fact.outline, stack=fact.stack
    )


def _own(dim: Dim, text: str, kind: str, born: int) -> Dim:
    return variable(text, kind, born).labelled(dim.labels) if dim.terms is None else dim


def as_number(fact: ShapeFact) -> Dim | None:
    """Return the integer a fact is when it is used as one; None where it cannot be one."""
    if fact.number is not None:
        return fact.number
    if fact.symbol:
        return variable(fact.symbol, "number", fact.born)
    return None if fact.dims is None and (fact.items is not None or fact.layer is not None) else UNKNOWN


def atoms_of(fact: ShapeFact) -> Iterator[Atom]:
    """Return every variable a fact speaks of, symbols included."""
    for dim in (*(fact.dims or ()), *fact.stack, *(one for one in (fact.number, fact.length) if one is not None)):
        yield from dim.atoms()
    for item in (*(fact.items or ()), *(fact.parts or ()), *((fact.each,) if fact.each is not None else ())):
        yield from atoms_of(item)
    for _, given in () if fact.layer is None else fact.layer.given:
        yield from atoms_of(given)
    for _, size in () if fact.placing is None else fact.placing.axes or ():
        yield from size.atoms()
    if fact.symbol:
        yield Atom(fact.symbol, None, "number", fact.born)
    if fact.outline is not None:
        yield fact.outline.whole
        yield from (atom for dim in fact.outline.axes if dim is not None for atom in dim.atoms())


def forget(fact: ShapeFact, stays: Callable[[Atom], bool]) -> ShapeFact:
    """Make unknown whatever speaks of variables that mean nothing outside."""
    if all(stays(atom) for atom in atoms_of(fact)):
        return fact

    def kept(dim: Dim) -> Dim:
        return dim if all(stays(atom) for atom in dim.atoms()) else Dim(None, dim.labels)

    stack = tuple(map(kept, fact.stack))
    if fact.dims is not None:
        number = None if fact.number is None else kept(fact.number)
        return replace(fact, dims=tuple(map(kept, fact.dims)), number=number)
    if fact.items is not None:
        return sequence(tuple(forget(item, stays) for item in fact.items))
    if fact.parts is not None:
        return ShapeFact(parts=tuple(forget(part, stays) for part in fact.parts))
    if fact.layer is not None:
        known = tuple((name, forget(given, stays)) for name, given in fact.layer.given)
        return ShapeFact(layer=replace(fact.layer, given=known), stack=stack)
    if fact.placing is not None:
        axes = fact.placing.axes
        sizes = None if axes is None else tuple((name, kept(size)) for name, size in axes)
        return ShapeFact(placing=replace(fact.placing, axes=sizes))
    if fact.each is not None:
        length = None if fact.length is None else kept(fact.length)
        return replace(fact, each=forget(fact.each, stays), length=length)
    named = fact.outline is not None and all(map(stays, atoms_of(ShapeFact(outline=fact.outline))))
    return ShapeFact(None, fact.dtype, fact.weak, outline=fact.outline if named else None, stack=stack)


def _devices(text: str) -> ShapeFact:
    return integer(variable(text).labelled(frozenset((Label("devices"),))))


DEVICES = {"jax.devices()": _devices("jax.device_count()"), "jax.local_devices()": _devices("jax.local_device_count()")}
"""How many devices there are, by the symbol of their list: one number, whoever asks."""


def shown(dim: Dim) -> str:
    """Write a dim for people: variables by their name alone."""
    text = str(dim)
    while "#" in text:
        head, _, tail = text.partition("#")
        text = head + tail.lstrip("0123456789")
    return text.replace("_.shape", "?.shape")
