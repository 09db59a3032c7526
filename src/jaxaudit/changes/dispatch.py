"""Whether a change touches JAX at all, and why: what decides if anybody should look at it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.changes.alignment import Alignment, Side
from jaxaudit.changes.definitions import TOP, contents
from jaxaudit.changes.scope import Name, Scope
from jaxaudit.libraries.packages import JAX, package
from jaxaudit.reports.change import Reason


def reasons(scope: Scope, sides: Alignment) -> tuple[Reason, ...]:
    """Return why a change touches JAX, one reason a definition; none where it does not."""
    direct = [one for name in scope.changed if (one := _reason(name, sides, "")) is not None]
    if direct:
        return tuple(direct)
    # What has no JAX in it may compute what JAX is given: sizes, settings, functions to transform.
    changed = ", ".join(f"`{name}`" for _, name in scope.changed[:3] if name != TOP)
    through = f", and relies on {changed}" if changed else ""
    return tuple(one for name in scope.callers if (one := _reason(name, sides, through)) is not None)


def _reason(name: Name, sides: Alignment, through: str) -> Reason | None:
    for side in (sides.after, sides.before):
        for line, used in _uses(name, side):
            who = "the top level" if name[1] == TOP else f"`{name[1]}`"
            gone = "used" if side is sides.before and name[0] not in sides.after.state.files else "uses"
            return Reason(name[0], line, f"{who} {gone} `{used}`{through}")
    return None


def _uses(name: Name, side: Side) -> Iterator[tuple[int, str]]:
    """Return the names of libraries that compute with JAX that a definition mentions, and where."""
    path, called = name
    found = contents(side.forms(path))
    definition = found.definitions.get(called)
    for mention, line in definition.mentions.items() if definition is not None else ():
        dotted = found.imports.get(mention, "")
        if package(dotted) in JAX:
            yield line, dotted
