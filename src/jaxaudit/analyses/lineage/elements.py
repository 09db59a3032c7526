"""What a value is the elements of: before ops that only move them, and outside of calls."""

from __future__ import annotations

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import last
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import KEEPING


def elements_of(flow: Flow, value: Value) -> Value:
    """Return the value that another one holds elements of, before ops of the same function that only moved them."""
    return last(value, lambda one: moved(flow.maker(one)))


def maker_of_elements(flow: Flow, value: Value) -> Op | None:
    """Return the op that computed the elements of a value."""
    return flow.maker(elements_of(flow, value))


def whole_of(flow: Flow, value: Value) -> Value:
    """Return the value that another one holds all elements of, also outside of the calls that it was handed through."""

    def before(one: Value) -> Value | None:
        found = origin(flow, one, {}).value
        return found if found is not one else moved(flow.maker(one), KEEPING)

    return last(value, before)
