"""What is known of one value: an array with dims and dtype, a Python integer, a tuple of such, or only its identity.

Facts are immutable and compare by content. A dim that is `UNKNOWN` gets a variable of its own when the value is read,
so that two readings of one value agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain

from jaxaudit.analyses.dims import UNKNOWN, Atom, Dim, constant, either, product, same, variable
from jaxaudit.analyses.labels import Label
from jaxaudit.ir import ArrayType, Value
from jaxaudit.ir.record import record, replace

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
    """What every item of a sequence is that is not known item by item."""
    length: Dim | None = None
    """How many items such a sequence has, where that is known."""
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
    """The shape where even the rank is unknown: `jnp.tanh(x)` has the shape of `x`."""
    sizes: Outline | None = None
    """Of a tuple of unknown length: the shape that it lists."""
    stack: Dims = ()
    """The first axes of a layer's arrays, or of every leaf of something else, which a map has put there."""
    integer: Dim | None = None
    """What an object that nothing is known of is where it is used as an integer: `n + 1` of a parameter `n`."""

    @property
    def is_array(self) -> bool:
        """Whether this is surely an array or a number."""
        return self.dims is not None

    @property
    def leaves(self) -> tuple[ShapeFact, ...] | None:
        """The leaves of a tree, in order; the items of tuples and lists are trees themselves."""
        if self.items is None:
            return self.parts
        inside = ((item,) if item.leaves is None else item.leaves for item in self.items)
        return tuple(chain.from_iterable(inside))

    @property
    def placed(self) -> Placing | None:
        """The placing that this is, or that each of its items is."""
        return self.placing if self.each is None else self.each.placed

    @property
    def rank(self) -> int | None:
        """How many axes there are."""
        return None if self.dims is None else len(self.dims)

    @property
    def least_rank(self) -> int:
        """How many axes there are at least."""
        if self.dims is not None:
            return len(self.dims)
        return 0 if self.outline is None else len(self.outline.head) + len(self.outline.tail)

    def __str__(self) -> str:
        if self.number is not None:
            return f"integer {shown(self.number)}"
        if self.dims is not None:
            return f"{self.dtype or '?'}[{', '.join(map(shown, self.dims))}]"
        return f"({', '.join(map(str, self.items))})" if self.items is not None else "unknown"


@record
class Outline:
    """The shape of something of unknown rank: axes of a whole, all in one run, with known ones before and behind them.

    `x[1:]` has a first axis that is shorter, and then the axes of `x` from the second on; a mean over the last axis has
    all of them but that. Whoever has such a shape has a whole with as many axes as are left out of the run, or more.
    """

    whole: Atom | None = None
    """None for a shape of which nothing else is known: it is that of the value itself, as soon as it has a name."""
    head: Dims = ()
    tail: Dims = ()
    first: int = 0
    """How many of the first axes of the whole are not in the run."""
    last: int = 0
    """How many of its last ones are not."""

    @property
    def least(self) -> int:
        """How many axes the whole has at least."""
        return self.first + self.last

    def size(self, at: int) -> Dim | None:
        """Return the size of one axis, counted from the front or from the back; None where that depends on the rank."""
        known, others, more = (self.head, self.tail, at) if at >= 0 else (self.tail, self.head, -at - 1)
        if more < len(known):
            return known[more] if at >= 0 else known[len(known) - 1 - more]
        if others or self.whole is None:
            return None
        beyond = more - len(known)
        return self.whole_size(self.first + beyond if at >= 0 else -1 - self.last - beyond)

    def whole_size(self, at: int) -> Dim:
        """Return the size that an axis of the whole has."""
        whole = Atom("") if self.whole is None else self.whole
        return variable(f"{whole.text}.shape[{at}]", "size", whole.born)

    def for_rank(self, rank: int, split: int) -> Dims:
        """Return the shape where the whole has this rank; its axes from a place on are counted from the back."""
        run = (self.whole_size(at if at < split else at - rank) for at in range(self.first, rank - self.last))
        return (*self.head, *run, *self.tail)

    def folded(self) -> Outline:
        """Return the same shape with as many axes in the run as belong there."""
        head, tail, first, last = list(self.head), list(self.tail), self.first, self.last
        while head and first and same(head[-1], self.whole_size(first - 1)):
            head.pop()
            first -= 1
        while tail and last and same(tail[0], self.whole_size(-last)):
            tail.pop(0)
            last -= 1
        return Outline(self.whole, tuple(head), tuple(tail), first, last)

    def named(self, whole: Atom) -> Outline:
        """Return the same with sizes of a value's own for those that are not known."""
        own = Outline(whole)
        head = tuple(own.whole_size(at) if dim.terms is None else dim for at, dim in enumerate(self.head))
        count = len(self.tail)
        tail = tuple(own.whole_size(at - count) if dim.terms is None else dim for at, dim in enumerate(self.tail))
        if self.whole is None:
            return Outline(whole, head, tail, len(head), count).folded()
        return Outline(self.whole, head, tail, self.first, self.last)

    def without_ends(self, front: int, back: int) -> Outline | None:
        """Return the shape without some of its first or of its last axes; None where they may be the same."""
        if front and back:
            return None
        if front:
            known, more = self.head[front:], max(0, front - len(self.head))
            return None if more and self.tail else replace(self, head=known, first=self.first + more)
        known, more = self.tail[: max(0, len(self.tail) - back)], max(0, back - len(self.tail))
        return None if more and self.head else replace(self, tail=known, last=self.last + more)

    @property
    def is_named(self) -> bool:
        """Whether nothing in it still needs a name."""
        return self.whole is not None and all(dim.terms is not None for dim in (*self.head, *self.tail))

    def atoms(self) -> Iterator[Atom]:
        """Return every variable it speaks of."""
        yield from () if self.whole is None else (self.whole,)
        yield from (atom for dim in (*self.head, *self.tail) for atom in dim.atoms())

    def __str__(self) -> str:
        shown_first = self.head or () if self.tail or self.head else (self.whole_size(self.first),)
        return f"({', '.join([*map(shown, shown_first), '...', *map(shown, self.tail)])})"


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
    if fact.dims is not None or fact.outline is not None or fact.sizes is not None or not fact.symbol:
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
        shared = _shared(first, second)
        stack = first.stack if first.stack == second.stack else ()
        return ShapeFact(None, dtype, weak, outline=shared, stack=stack)
    number = None
    if first.number is not None and second.number is not None:
        number = either(first.number, second.number)
    dims = tuple(either(a, b) for a, b in zip(first.dims, second.dims, strict=True))
    return ShapeFact(dims, dtype, weak, number)


def _shared(first: ShapeFact, second: ShapeFact) -> Outline | None:
    """Return what the shapes of two values have in common: all, or their first and last axes."""
    one, other = outline_of(first), outline_of(second)
    if one == other:
        return one
    (head, tail), (others, ends) = _ends(first, one), _ends(second, other)
    count = min(len(tail), len(ends))
    back = [either(a, b) for a, b in zip(tail[len(tail) - count :], ends[len(ends) - count :], strict=True)]
    while back and back[0].terms is None:
        back.pop(0)
    # All axes of an array are its last ones: none of them counts twice.
    room = min((len(fact.dims) - len(back) for fact in (first, second) if fact.dims is not None), default=len(head))
    front = [either(a, b) for a, b in zip(head[: max(room, 0)], others[: max(room, 0)], strict=False)]
    while front and front[-1].terms is None:
        front.pop()
    return Outline(None, tuple(front), tuple(back)) if front or back else None


def _ends(fact: ShapeFact, outline: Outline | None) -> tuple[Dims, Dims]:
    """Return the first and the last axes of which something is known."""
    if fact.dims is not None:
        return fact.dims, fact.dims
    return ((), ()) if outline is None else (outline.head, outline.tail)


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
    if not (fact.symbol or placed or fact.each is not None or fact.parts is not None):
        return False
    return fact.outline is None or fact.outline.is_named


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
    symbol = f"{name}{tag}"
    outline = None if fact.outline is None else fact.outline.named(Atom(symbol, None, "number", born))
    return ShapeFact(
        None, fact.dtype, fact.weak, symbol=symbol, born=born, outline=outline, sizes=fact.sizes, stack=fact.stack
    )


def _own(dim: Dim, text: str, kind: str, born: int) -> Dim:
    return variable(text, kind, born).labelled(dim.labels) if dim.terms is None else dim


def as_number(fact: ShapeFact) -> Dim | None:
    """Return the integer a fact is when it is used as one; None where it cannot be one."""
    if fact.number is not None:
        return fact.number
    if fact.symbol:
        return fact.integer if fact.integer is not None else variable(fact.symbol, "number", fact.born)
    return None if fact.dims is None and (fact.items is not None or fact.layer is not None) else UNKNOWN


def atoms_of(fact: ShapeFact) -> Iterator[Atom]:
    """Return every variable a fact speaks of, symbols included."""
    for dim in (*(fact.dims or ()), *fact.stack, *(one for one in (fact.number, fact.length, fact.integer) if one)):
        yield from dim.atoms()
    for item in (*(fact.items or ()), *(fact.parts or ()), *((fact.each,) if fact.each is not None else ())):
        yield from atoms_of(item)
    for _, given in () if fact.layer is None else fact.layer.given:
        yield from atoms_of(given)
    for _, size in () if fact.placing is None else fact.placing.axes or ():
        yield from size.atoms()
    if fact.symbol:
        yield Atom(fact.symbol, None, "number", fact.born)
    for outline in (fact.outline, fact.sizes):
        yield from () if outline is None else outline.atoms()


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
    outline = _remembered(outline_of(fact), stays)
    return ShapeFact(None, fact.dtype, fact.weak, outline=outline, sizes=_remembered(fact.sizes, stays), stack=stack)


def _remembered(outline: Outline | None, stays: Callable[[Atom], bool]) -> Outline | None:
    """Return what is left of a shape of unknown rank."""
    if outline is None or all(map(stays, outline.atoms())):
        return outline
    ends = [
        tuple(dim if all(stays(atom) for atom in dim.atoms()) else UNKNOWN for dim in dims)
        for dims in (outline.head, outline.tail)
    ]
    if outline.whole is not None and stays(outline.whole):
        return replace(outline, head=ends[0], tail=ends[1])
    return Outline(None, ends[0], ends[1]) if any(dim.terms is not None for dim in (*ends[0], *ends[1])) else None


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
