"""The rule `local-position-as-global`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.slots import Slot, onward, slot
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.positions import Counted, Positions, begins, ranked
from jaxaudit.analyses.queries import Through, ahead, behind, through_ops, walk
from jaxaudit.analyses.replication import axes_reduced, axes_split
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import COMPARISONS, COUNTING, DIAGONALS
from jaxaudit.ir.ops import DEVICE_MAPS, JOINING, KEEPING, REMARKS
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_HANDING_ON = KEEPING | JOINING | {"py.item", "array.gather", "py.return", "py.container", "py.unpack"}

_PROGRAM = """import optax


def contrast(x, y):
    everyone = jax.lax.all_gather(y, "device", axis=0, tiled=True)
    labels = {labels}
    losses = optax.softmax_cross_entropy_with_integer_labels(x @ everyone.T, labels)
    return jax.lax.pmean(losses.mean(), "device")


loss = jax.pmap(contrast, axis_name="device")
"""


_SEARCH = """from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("rows",))


def search(points, x, names):
    far = jnp.sum((points - x) ** 2, axis=-1)
    {body}


run = jax.shard_map(search, mesh=mesh, in_specs=(P("rows"), P(), P()), out_specs=P({out}), check_vma=False)
points = jnp.ones((64, 3))
found = run(points, jnp.ones(3), jnp.arange(64))
"""

_OWN = 'jax.lax.axis_index("rows") * points.shape[0]'
_CHOSEN = """place = jnp.argmin(far){own}
    least, places = jax.lax.all_gather((far.min(), place), "rows")
    {end}"""


class LocalPositionAsGlobal(Rule):
    """Positions that count from zero on every device are used as positions among what all devices have.

    ## What it does
    Finds what counts the elements of one device's share, as `arange(x.shape[0])` does inside of `pmap` or of a
    `shard_map` that spreads this axis, and `argmin` or `top_k` along it. It asks what these positions meet: labels or
    indices into an axis that `all_gather` made, that every device has all of or that is dealt out to them, positions
    along such an axis, or values that are themselves gathered along it. Positions that every device has picked may be
    gathered, but to choose some of them forgets in whose share they are.

    ## Why is this bad?
    On the first device, and on one device alone, all is right. On all others the labels point at the examples of the
    first device, and the positions of every block start anew.

    ## Example
        everyone = jax.lax.all_gather(y, "device", tiled=True)
        labels = jnp.arange(x.shape[0])

    ## Use instead
        labels = jax.lax.axis_index("device") * x.shape[0] + jnp.arange(x.shape[0])

    ## When it cannot tell
    When something is added to the positions that may be where the share begins, or when it is not known which axis was
    gathered. Positions that meet only their own share are not listed.
    """

    summary = "Positions within one device's share are used as positions among what all devices have."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(labels='jax.lax.axis_index("device") * x.shape[0] + jnp.arange(x.shape[0])'), "of all"),
        Example(
            "def pick(x, y):\n"
            '    everyone = jax.lax.all_gather(y, "device", axis=0, tiled=True)\n'
            "    best = (x @ everyone.T).argmax(axis=-1)\n"
            "    return everyone[best], (x @ everyone.T)[jnp.arange(x.shape[0]), best]\n\n\n"
            'run = jax.pmap(pick, axis_name="device")\n',
            "rows of one device, columns of all",
        ),
        Example(
            _SEARCH.format(body=_CHOSEN.format(own=f" + {_OWN}", end="return places[jnp.argmin(least)]"), out=""),
            "the nearest one of all, which each device has moved",
        ),
        Example(
            _SEARCH.format(
                body=_CHOSEN.format(
                    own="", end="whose = jnp.argmin(least)\n    return places[whose] + whose * points.shape[0]"
                ),
                out="",
            ),
            "moved by whose it was",
        ),
        Example(
            _SEARCH.format(body="return points[jnp.argsort(far)[:2]]", out='"rows"'), "the nearest ones of each device"
        ),
        Example(
            _SEARCH.format(body="return jnp.argmin(far)[None]", out='"rows"')
            + "best = points[found + jnp.arange(4) * 16]\n",
            "moved outside",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(labels="jnp.arange(x.shape[0])  #!"), "of one device"),
        Example(
            _SEARCH.format(body=_CHOSEN.format(own="  #!", end="return places[jnp.argmin(least)]"), out=""),
            "the nearest one of all, of which nobody knows whose it was",
        ),
        Example(
            _SEARCH.format(
                body="least, place = jax.lax.top_k(-far, 2)  #!\n"
                '    place = jax.lax.all_gather(place, "rows", tiled=True)\n'
                '    _, best = jax.lax.top_k(jax.lax.all_gather(least, "rows", tiled=True), 2)\n'
                "    return jnp.take(place, best)",
                out="",
            ),
            "the best two of all",
        ),
        Example(
            _SEARCH.format(body="return names[jnp.argmin(far)][None]  #!", out='"rows"'), "into what every device has"
        ),
        Example(
            _SEARCH.format(body="return jnp.argmin(far)[None]", out='"rows"') + "best = points[found]  #!\n",
            "into what was dealt out",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where positions meet an axis that all devices share."""
        gathers = [op for op in program.named("collective") if op.function == "all_gather"]
        if program.front_end != "source":
            return
        specs = [op.placed_in for op in program.named("shard_map")]
        spread = {axis for one in specs for axes in axes_split(one, facts.get(Shapes)) for axis in axes or ()}
        for axis in sorted(spread.union(*(axes_reduced(op) or () for op in gathers))):
            along = _Along(Positions(facts, axis), facts)
            yield from along.judged()
            yield from (
                one for op in gathers if axes_reduced(op) == {axis} for one in (*along.entering(op), *along.chosen(op))
            )
        for op in program.mapping("multiply"):
            axes = begins(op, facts.flow, facts.get(Shapes))
            if axes is not None and axes[0] != axes[1]:
                yield _along_other(op, *axes)
            elif axes is not None:
                yield proved(op.span, f"the share of this device along `{axes[0]}` begins here")


class _Along:
    """What meets along one axis of devices."""

    def __init__(self, positions: Positions, facts: Facts) -> None:
        self.positions, self.facts, self.flow, self.program = positions, facts, facts.flow, facts.program

    def judged(self) -> Iterator[Obligation]:
        """Judge everything that takes positions along the whole axis."""
        for op in self.program.walk():
            for taken in self._taken(op):
                how = self.positions.counted(taken)
                if how is Counted.WHOLE:
                    yield proved(op.span, f"the positions are counted over all devices along `{self.positions.axis}`")
                elif how is Counted.SHARE and isinstance(taken, Value):
                    # What is also the place of a row is right there: only here it is not.
                    twice = op.operands.count(taken) > 1 or _values(op.arguments.get("index")).count(taken) > 1
                    yield _finding(op if twice else self._made(taken, op), op, self.positions.axis)
            if self._is_diagonal(op) or self._is_first_share(op):
                yield _finding(op, op, self.positions.axis)

    def _taken(self, op: Op) -> Iterator[Argument]:
        """Return what an op takes for positions along an axis that holds what all devices have."""
        whole, dealt, size = self.positions.whole, self.positions.dealt, self.positions.size
        if op.name == "array.map" and op.function in COMPARISONS and len(op.operands) == 2:
            known = [self.positions.counted(one) for one in op.operands]
            yield from (op.operands[1 - at] for at, how in enumerate(known) if how is Counted.WHOLE)
        elif op.name == "py.call_library" and op.loss and -1 in whole(op.arguments.get("logits")):
            yield op.arguments.get("labels")
        elif op.function == "one_hot" and size(op.arguments.get("num_classes")) is Counted.WHOLE:
            yield op.arguments.get("x")
        elif op.name == "array.gather":
            base, indices = op.argument("arr", "a", "operand"), op.arguments.get("indices")
            if frozenset(axes_in(op.argument("axis")) or ()) & dealt(base):
                yield indices
        elif op.name in ("py.item", "array.scatter"):
            index = op.arguments.get("index")
            parts = index if isinstance(index, tuple) else (index,)
            plain = ... not in parts and "..." not in parts and None not in parts
            yield from (one for at, one in enumerate(parts) if plain and at in dealt(op.arguments.get("base")))

    def _is_diagonal(self, op: Op) -> bool:
        """Whether an op pairs the examples of one device with the first ones of all."""
        if op.function == "eye":
            sizes = [self.positions.size(op.arguments.get(name)) for name in ("N", "M")]
            return sizes == [Counted.SHARE, Counted.WHOLE]
        whole = self.positions.whole(op.operands[0]) if op.function in DIAGONALS and op.operands else frozenset()
        return -1 in whole and 0 not in whole

    def _is_first_share(self, op: Op) -> bool:
        """Whether an op takes as many of the first elements of a whole axis as one device has: `table[:n]`."""
        base, parts = op.arguments.get("base"), index_parts(op.arguments.get("index"))
        if op.name != "py.item" or ... in parts or "..." in parts or None in parts:
            return False
        ends = [
            part.get("stop")
            for at, part in enumerate(parts)
            if isinstance(part, Mapping) and part.get("start") in (None, 0) and part.get("step") in (None, 1)
            if at in self.positions.whole(base)
        ]
        return any(self.positions.size(end) is Counted.SHARE for end in ends)

    def entering(self, gather: Op) -> Iterator[Obligation]:
        """Judge positions that enter, element by element, what is gathered along the axis that they count."""
        at = gather.arguments.get("axis", 0)
        for value in walk(gather.operands[:1], self._elements):
            op = self.flow.maker(value)
            if op is None or op.name != "array.create" or op.function not in COUNTING:
                continue
            if self.positions.counted(value) is Counted.SHARE and self._is_along(op, gather, at):
                yield _finding(op, gather, self.positions.axis)

    def chosen(self, gather: Op) -> Iterator[Obligation]:
        """Judge positions that every device has picked in its own share, and of which some are chosen.

        Once it is forgotten which device they come from, nobody can tell any more where its share begins.
        """
        picked = ranked(self.flow, gather.operands[0])
        if picked is None or self.positions.counted(gather.result) is not Counted.SHARE:
            return
        readers = self._readers(gather.result, gather, self._hands_on)
        choices = [one for op in readers if isinstance(one := self._choice(op), Value)]
        if not choices:
            return
        kept = all(op.regions or op.name in REMARKS or self._hands_on(op) for op in readers)
        if kept and all(self._is_forgotten(one, gather) for one in choices):
            yield _finding(picked[0], gather, self.positions.axis)
        else:
            yield unknown(gather.span, "whether these positions are moved by the place of their device is not known")

    def _readers(self, value: Value, inside: Op, through: Through) -> list[Op]:
        """Return what reads a value on its way through some ops, in the same map over devices as another op."""
        places = self.flow.places
        up = places.up(places.region_of[inside])
        home = next((region for region, op in up if op is not None and op.name in DEVICE_MAPS), None)
        names = walk((value,), lambda one: ahead(self.flow, one, through))
        near = (one for one in names if home is None or places.within(places.region_of_value(one), home))
        return [op for one in near for op in self.flow.readers.get(one, ())]

    def _hands_on(self, op: Op) -> bool:
        return op.name in _HANDING_ON

    def _choice(self, op: Op) -> Value | None:
        """Return the array by which an op chooses some elements of another one."""
        given = op.argument("indices", "index") if op.name in ("array.gather", "py.item") else None
        return next((one for one in _values(given) if isinstance(one, Value)), None)

    def _is_forgotten(self, index: Value, inside: Op) -> bool:
        """Whether an array serves to choose elements alone: what else it says of them is read by nothing."""
        readers = self._readers(index, inside, through_ops(*KEEPING))
        return all(op.regions or op.name in REMARKS or self._choice(op) is not None for op in readers)

    def _elements(self, value: Value) -> Iterator[Value]:
        """Return what the elements of a value were computed from."""
        op = self.flow.maker(value)
        if self.positions.counted(value) is Counted.WHOLE:
            return
        if op is None or op.regions:
            yield from behind(self.flow, value, lambda step: step.name == "tree.map")
        elif op.name in KEEPING | JOINING or op.name in ("array.map", "array.dot", "py.item", "array.gather"):
            yield from op.operands

    def _is_along(self, op: Op, gather: Op, at: Argument) -> bool:
        """Whether the axis that is gathered is the one that is counted here."""
        whole = slot(gather.operands[0], at, self.positions.shapes) if isinstance(at, int) else None
        if whole is None or whole.place is None:
            return False
        dims = self.positions.shapes.of(whole.value).dims
        labels = () if dims is None else dims[whole.place].labels
        if any(label.kind == "shard" and label.name == self.positions.axis for label in labels):
            return True
        # Where devices have an axis of their own in what is gathered, their places can still be added to it.
        counted = walk((Slot(op.result, 0),), lambda one: (made for _, made in onward(self.facts, one)))
        return gather.arguments.get("tiled") is True and whole in counted

    def _made(self, value: Value, otherwise: Op) -> Op:
        """Return the op that counts, which is where the device's own place has to be added."""
        made = (self.flow.maker(one) for one in walk((value,), lambda one: behind(self.flow, one)))
        return next((op for op in made if op is not None and op.function in COUNTING), otherwise)


def _values(index: Argument) -> list[Argument]:
    return list(index) if isinstance(index, tuple) else [index]


def _along_other(op: Op, axis: str, spread: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"the size of a share along `{spread}` is multiplied with the place of the device along `{axis}`",
        current=f"the axis is spread over `{spread}`, so that its shares do not begin at multiples of this place",
        expected="where a share begins is told by the place along the axis of the mesh that it is spread over",
        suggestion=f'`jax.lax.axis_index("{spread}")`',
    )


def _finding(made: Op, used: Op, axis: str) -> Obligation:
    return Obligation(
        made.span,
        message=f"these positions count from zero on every device along `{axis}`, and are used as those of all",
        current=f"they run up to the size of one device's share, and what they meet is of all devices along `{axis}`",
        expected="a position among what all devices have is moved by where the share of this device begins",
        steps=(Step(used.span, "they are used here as positions over all devices"),) if used.span != made.span else (),
        suggestion=f'add `jax.lax.axis_index("{axis}")` times the size of a share',
    )
