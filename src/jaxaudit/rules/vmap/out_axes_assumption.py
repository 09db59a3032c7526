"""The rule `out-axes-assumption`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.libraries.packages import PLAIN, package
from jaxaudit.rules.axes._shared.phrases import agreements, axes_facts, axis_of, is_stacked, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, unknown
from jaxaudit.rules.prefixes import is_matched, over_results, places, written, written_at

_PROGRAM = """
BATCH, TIME = 12, 12


def loss(frames, targets):
    scores = jax.vmap(lambda seq: seq.sum(-1){out})(frames)
    return ((scores - targets) ** 2).mean(){mark}


loss(jnp.zeros((BATCH, TIME, 3)), jnp.zeros(({shape})))
"""


class OutAxesAssumption(Rule):
    """The result of a `vmap` is used as if the mapped axis stood elsewhere.

    ## What it does
    Follows the axis that `vmap` puts on its results, where `out_axes` says (in front, if nothing is said). Where the
    result meets an array with the same two axes in the other order, the code relies on another place. `out_axes` itself
    is one entry for all results, or a tree with an entry for each.

    ## Why is this bad?
    With as many examples as steps nothing is raised, and each example is compared with a step of all examples.

    ## Example
        BATCH, TIME = 12, 12
        scores = jax.vmap(score, out_axes=1)(jnp.zeros((BATCH, TIME, 3)))  # (TIME, BATCH)
        scores - jnp.zeros((BATCH, TIME))

    ## Use instead
        BATCH, TIME = 12, 12
        scores = jax.vmap(score)(jnp.zeros((BATCH, TIME, 3)))  # (BATCH, TIME)
        scores - jnp.zeros((BATCH, TIME))

    ## When it cannot tell
    When the axes have no names, or the result meets nothing with both of them.
    """

    summary = "The result of `vmap` is used as if `out_axes` were another."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(out="", mark="", shape="BATCH, TIME"), "in front"),
        Example(_PROGRAM.format(out=", out_axes=1", mark="", shape="TIME, BATCH"), "behind, and used so"),
    )
    invalid = (
        Example(_PROGRAM.format(out=", out_axes=1", mark="  #!", shape="BATCH, TIME"), "behind, and used in front"),
        Example(_PROGRAM.format(out="", mark="  #!", shape="TIME, BATCH"), "in front, and used behind"),
        Example("y = jax.vmap(lambda x: (x, x.sum()), out_axes=(0, 0, 0))(jnp.ones((3, 2)))  #!\n", "too many entries"),
        Example("y = jax.vmap(lambda x: x * 2, out_axes=(0, 0))(jnp.ones((3, 2)))  #!\n", "two entries for one array"),
        Example(
            "from flax import struct\n\n@struct.dataclass\nclass Info:\n    a: jax.Array\n    b: jax.Array\n\n"
            "def one(x):\n    return x, Info(x, x.sum())\n\n"
            "y, info = jax.vmap(one, out_axes=(0, (0, 0)))(jnp.ones((3, 2)))  #!\n",
            "a tuple for an object",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of the results of maps over named axes."""
        axes = axes_facts(facts)
        found = [_finding(one) for one in axes.caused(Cause.PLACED)]
        yield from [*agreements(axes, _agreed), *found]
        yield from (one for op in program.having(Op.options) for one in _fitting(op, facts))


def _fitting(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Compare `out_axes` with what the mapped function gives."""
    axes, given = written(op, "out_axes"), op.returned
    if op.name not in ("vmap", "pmap") or axes is None or given is None or package(op.spelling) not in PLAIN:
        return
    span, shapes = written_at(op), facts.get(Shapes)
    found = over_results(op, "out_axes", lambda tree: tree.value is not None and shapes.of(tree.value).dims is not None)
    if found is not None:
        yield Obligation(
            span,
            message=str(found),
            current=f"{found}; this raises",
            expected="one axis for all results, or a tree with one for each",
            raises=Raises.TRACING,
            steps=(*places(op, "out_axes"), Step(op.span, "the mapped function is called here")),
            suggestion="give `out_axes` as many entries as there are results",
        )
    elif not is_matched(axes, given):
        # That it has an entry for each result says nothing about where they are used.
        yield unknown(span, "not all results are known that `out_axes` speaks of")


def _agreed(meeting: Meeting) -> str:
    """An axis that `vmap` made, in an array whose axes could stand in another order, is used where it stands."""
    sides = (meeting.left, meeting.right)
    if meeting.how != "elementwise" or {len(side.dims) for side in sides} != {len(meeting.left.dims)}:
        return ""
    for side in sides:
        for place, dim in enumerate(side.dims):
            if len(side.dims) > 1 and is_stacked(dim):
                return f"`vmap` puts `{axis_of(dim)}` at axis {place} of {name_of(side.value)}, and there it is used"
    return ""


def _finding(conflict: Conflict) -> Obligation:
    astray, meeting = conflict.astray, conflict.meeting
    other = meeting.right if astray is meeting.left else meeting.left
    mapped = axis_of(astray.dims[conflict.fitting[1]]) if conflict.fitting is not None else axis_of(other.dim)
    return violated(
        conflict,
        f"`vmap` gives {name_of(astray.value)} {shape_of(astray.dims)}, used as {shape_of(other.dims)}",
        f"`{mapped}` stands where `out_axes` puts it, and is used there",
        f"change `out_axes`, or transpose {name_of(astray.value)}",
    )
