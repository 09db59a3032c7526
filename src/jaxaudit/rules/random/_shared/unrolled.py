"""Loops of Python's own that were unrolled: one place of the code that was run again and again."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.keys.conflicts import Conflict, is_in_rule
from jaxaudit.analyses.keys.facts import KeyFacts


def is_unrolled(conflict: Conflict) -> bool:
    """Whether both uses are one place of the code, in two turns of a loop that was unrolled."""
    first, second = conflict.first.spot, conflict.second.spot
    if is_in_rule(conflict.first.origin.site, conflict.second.origin.site):
        return False
    # One call of a library may draw by itself, and run a function that it is given.
    same = first.name == second.name and first.span == second.span
    return same and first is not second and not conflict.collision


def is_library(conflict: Conflict) -> bool:
    """Whether a library spends the key twice in one call, for which its caller cannot be blamed."""
    uses = (conflict.first.origin.site, conflict.second.origin.site)
    return is_unrolled(conflict) and all(op.caller == "library" for op in uses)


def is_repeated(conflict: Conflict) -> bool:
    """Whether both uses draw or split in the same way, so that one repeats what the other gave."""
    first, second = conflict.first.origin.site, conflict.second.origin.site
    rest = [{name: one for name, one in op.arguments.items() if name != "key"} for op in (first, second)]
    return (first.name, first.qualified) == (second.name, second.qualified) and rest[0] == rest[1]


def unrolled(keys: KeyFacts) -> Iterator[Conflict]:
    """Return the keys that several turns of an unrolled loop use, each place once."""
    for _, found in keys.conflicts:
        seen: set[object] = set()
        for conflict in found.values():
            span = conflict.second.spot.span
            if conflict.certain and is_unrolled(conflict) and not is_library(conflict) and span not in seen:
                seen.add(span)
                yield conflict
