"""The rule `stale-shape-comment`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_regions
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.declared import agrees
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Declared, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Subject, proved, unknown
from jaxaudit.spans import Span


class StaleShapeComment(Rule):
    """A comment tells another shape than the array has.

    ## What it does
    Compares comments such as `# (B, T, D)` on the line of an assignment with the shape of what is assigned: the number
    of axes, and the sizes that are written as numbers.

    ## Why is this bad?
    Comments are where people look a shape up. One that was true before the last change sends the next change astray.

    ## Example
        x = jnp.zeros((8, 16, 3))  # (B, T)

    ## Use instead
        x = jnp.zeros((8, 16, 3))  # (B, T, C)

    ## When it cannot tell
    When the shape is not known. Under `vmap` a comment may speak of one element or of the batch; it is left alone.
    """

    summary = "A comment tells another shape than the array has."
    needs = (Shapes,)

    valid = (
        Example("x = jnp.zeros((8, 16))  # (B, T)\ny = x.T  # [16, 8]\n", "as it says"),
        Example("def place(i):\n    at = jnp.array([i % 7, i // 7])  # [x, y]\n    return at\n", "names of the items"),
        Example("x = jnp.zeros((8, 16))  # zeros (for now, at least)\n", "no shape"),
    )
    invalid = (
        Example("x = jnp.zeros((8, 16, 3))  # (B, T)  #?\n", "an axis more"),
        Example("x = jnp.zeros((8, 16))  # x: [8, 32]  #?\n", "another size"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every comment that tells the shape of an array whose shape is known."""
        shapes = facts.get(Shapes)
        told = {value: one for value, one in program.declared.items() if one.source == "comment"}
        if not told:
            return
        mapped, places = mapped_regions(facts), facts.places
        for value, declared in told.items():
            region = places.region_of_value(value)
            around = [] if region is None else list(places.up(region))
            if around and not any(id(outer) in mapped for outer, _ in around):
                calls = tuple(holder.span for _, holder in around if holder is not None)
                yield from _judged(value, declared, shapes, calls)


def _judged(value: Value, declared: Declared, shapes: Shapes, calls: tuple[Span, ...]) -> Iterator[Obligation]:
    dims, span = shapes.of(value).dims, declared.span
    if dims is None or span is None or shapes.of(value).number is not None:
        return
    pairs = zip(dims, declared.for_rank(len(dims)) or (), strict=False)
    if agrees(dims, declared) and any(name.isdigit() and dim.constant is None for dim, name in pairs):
        yield unknown(span, f"whether {shape_text(dims)} is what the comment says is not known")
    elif agrees(dims, declared):
        yield proved(span, f"the comment agrees with {shape_text(dims)}")
    elif not _names_items(dims, declared):
        yield _finding(value, declared, dims, calls)


def _names_items(dims: Dims, declared: Declared) -> bool:
    """Whether a comment may name the items of a vector, not its axes: `jnp.array([column, row])  # [x, y]`."""
    names = declared.names
    return len(dims) == 1 and dims[0].constant == len(names) and all(name.isidentifier() for name in names)


def _finding(value: Value, declared: Declared, dims: Dims, calls: tuple[Span, ...]) -> Obligation:
    assert declared.span is not None
    told = f"({', '.join(declared.names)})"
    name = f"`{value.name}`" if value.name else "the value"
    return Obligation(
        declared.span,
        severity=Severity.WARNING,
        message=f"the comment says {told}, and {name} is {shape_text(dims)}",
        current="the comment does not fit the code",
        expected="the comment tells the shape that the array has",
        suggestion="correct the comment, or the code if the comment is right",
        subject=Subject(places=calls),
    )
