"""The rule `field-put-back`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.spans import Span


class FieldPutBack(Rule):
    """A copy of a record is given a field as it was, though a newer version of it has been made.

    ## What it does
    Looks at copies of records, `_replace` and `replace`, that are given a field of the old record again. Where a newer
    version of that field was made before, the copy was meant to hold it.

    ## Why is this bad?
    The update is computed and thrown away: statistics never move, a buffer stays empty. The copy looks as if it kept
    everything.

    ## Example
        table = state.table.at[i].set(x)
        return state._replace(table=state.table, count=state.count + 1)

    ## Use instead
        table = state.table.at[i].set(x)
        return state._replace(table=table, count=state.count + 1)

    ## When it cannot tell
    A field that is given again and has no newer version is merely written out, or a new one was forgotten.
    """

    summary = "A copy of a record is given an old field, though a newer version of it was made."
    needs = (Versions,)

    valid = (
        Example(
            "from typing import NamedTuple\n\nclass State(NamedTuple):\n    table: object\n    count: object\n\n"
            "def add(state: State, i, x):\n    table = state.table.at[i].set(x)\n"
            "    return state._replace(table=table, count=state.count + 1), table.sum()\n",
            "the newer one",
        ),
    )
    invalid = (
        Example(
            "from typing import NamedTuple\n\nclass State(NamedTuple):\n    table: object\n    count: object\n\n"
            "def add(state: State, i, x):\n    table = state.table.at[i].set(x)\n"
            "    state = state._replace(table=state.table, count=state.count + 1)  #!\n    return state, table.sum()\n",
            "put back as it was",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every field that a copy is given as it was, or a newer version of."""
        flow, versions, copies = facts.flow, facts.get(Versions), list(program.named("py.replace"))
        for op in copies:
            for field, had in (op.restored or {}).items():
                newer = _newer_record(op, had, copies, flow) or _newer_leaf(op, had, versions, flow)
                idle = unknown(
                    _place(op, field), f"`{field}` is given what it holds: whether a new one is meant is not known"
                )
                yield idle if newer is None else _finding(op, field, newer)
            for field, value in (op.replaced or {}).items():
                if isinstance(value, Value) and versions.of(value) is not None:
                    yield proved(op.span, f"the copy is given the newer `{field}`")


def _newer_record(op: Op, had: tuple[Value, ...], copies: list[Op], flow: Flow) -> Op | None:
    """Return the copy that was made of the very record that is put back."""
    makers = (one for one in copies if one is not op and one.values == had)
    return next((one for one in makers if flow.places.comes_before(one, op)), None)


def _newer_leaf(op: Op, had: tuple[Value, ...], versions: Versions, flow: Flow) -> Op | None:
    """Return the op that made a newer version of the one array that is put back."""
    makers = (versions.maker(value) for value in versions.newer(had[0])) if len(had) == 1 else ()
    return next((made for made in makers if flow.places.comes_before(made, op)), None)


def _place(op: Op, field: str) -> Span:
    place = (op.option_places or {}).get(field)
    return place if isinstance(place, Span) else op.span


def _finding(op: Op, field: str, newer: Op) -> Obligation:
    return Obligation(
        _place(op, field),
        message=f"`{field}` is put back as it was, though a newer version of it was made",
        current=f"`{op.method}` is given the old `{field}` again, so the newer one is not kept",
        expected=f"the copy holds the newer `{field}`",
        steps=(Step(newer.span, f"`{called(newer)}` makes the newer version here"),),
        suggestion=f"give the newer `{field}`, or leave the field out",
    )
