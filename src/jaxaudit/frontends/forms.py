"""Forms: what was seen of a value in a run, as plain JSON that both front ends read.

["array", "float32", [8, 3], "wt"]     an array or number: dtype, sizes, `w` weak type, `t` traced by JAX; then, where
                                       maps run over it, the sizes of their axes, innermost first
["is", 3]                              a constant: None, a truth value, an integer, a text
["int"]                                an integer that differed from call to call
["tuple", [FORM, ...]]                 also "list"
["dict", [[KEY, FORM], ...]]
["object", MODULE, NAME, PATH, {ATTRIBUTE: FORM}]
["function", NAME, PATH]               a function of the user's
["other", NAME]                        anything else, by the name of its class
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from jaxaudit.ir.record import record

Form = list[Any]

ENOUGH = 12
"""After how many calls of a function without news nobody looks any more."""


@record
class Sighting:
    """The calls of one function of the user's that looked alike."""

    path: str
    function: str
    """The qualified name, as Python gives it: `make_train.<locals>.train`."""
    line: int
    """The first line of the function, decorators included."""
    where: str
    """The script or test that was running."""
    arguments: Mapping[str, Form]
    calls: int = 1
    axes: Mapping[str, int] = field(default_factory=dict)
    """The names of axes that maps around it had bound, with their sizes."""
    within: tuple[str, ...] = ()
    """The transformations around it that JAX was tracing, outermost first."""


@record
class Context:
    """The calls of a function that looked alike, in all runs."""

    source: str
    """The digest of the function as it was then."""
    arguments: dict[str, Form]
    seen: dict[str, int]
    """In which scripts and tests, and how many calls there."""
    when: int
    """When it was last seen, in seconds since 1970."""
    axes: dict[str, int] = field(default_factory=dict)
    within: tuple[str, ...] = ()


@record
class Known:
    """What is known of one function."""

    signature: str
    contexts: tuple[Context, ...]


def calls_text(calls: int) -> str:
    """Return how many calls were seen; there may be more once nobody looks."""
    return f"{calls}{' or more' * (calls >= ENOUGH)} call{'s' * (calls != 1)}"


def rebuilt(form: Form, change: Callable[[Form], Form]) -> Form:
    """Return a container with all that it holds changed; any other form as it is."""
    match form:
        case ["tuple" | "list" as kind, items]:
            return [kind, [change(item) for item in items]]
        case ["dict", entries]:
            return ["dict", [[key, change(item)] for key, item in entries]]
        case ["object" | "record" as kind, module, name, path, attributes]:
            return [kind, module, name, path, {key: change(item) for key, item in attributes.items()}]
    return form


def sizes_apart(form: Form) -> Form:
    """Return a form with all integers alike: calls that differ in numbers alone are of one kind."""
    is_integer = form[0] == "is" and isinstance(form[1], int) and not isinstance(form[1], bool)
    return ["int"] if is_integer else rebuilt(form, sizes_apart)


def widened(first: Form, second: Form) -> Form:
    """Return the form that covers two which differ in integers alone."""
    if first == second:
        return first
    match first, second:
        case ["tuple" | "list" as kind, items], [_, others]:
            return [kind, [widened(*pair) for pair in zip(items, others, strict=True)]]
        case ["dict", entries], [_, others]:
            return ["dict", [[key, widened(one, two)] for (key, one), (_, two) in zip(entries, others, strict=True)]]
        case ["object" | "record" as kind, module, name, path, attributes], [_, _, _, _, others]:
            return [kind, module, name, path, {key: widened(one, others[key]) for key, one in attributes.items()}]
    return ["int"]


def has_array(form: Form) -> bool:
    """Whether a form holds an array with axes: without one there is nothing to tell about shapes."""
    match form:
        case ["array", _, sizes, *_]:
            return bool(sizes)
        case ["tuple" | "list", items]:
            return any(map(has_array, items))
        case ["dict", entries]:
            return any(has_array(item) for _, item in entries)
        case ["object" | "record", _, _, _, attributes]:
            return any(map(has_array, attributes.values()))
    return False


def text_of(form: Form) -> str:
    """Return what was seen in words: `float32[8, 3]`, `(float32[3], 2)`, `EnvState(pos=float32[2])`."""
    match form:
        case ["array", dtype, sizes, *_]:
            return f"{dtype}[{', '.join(map(str, sizes))}]"
        case ["is", value]:
            return repr(value)
        case ["int"]:
            return "int"
        case ["tuple" | "list" as kind, items]:
            inner = ", ".join(map(text_of, items))
            return f"[{inner}]" if kind == "list" else f"({inner}{',' * (len(items) == 1)})"
        case ["dict", entries]:
            return "{" + ", ".join(f"{key!r}: {text_of(item)}" for key, item in entries) + "}"
        case ["object" | "record", _, name, _, attributes]:
            return f"{name}({', '.join(f'{key}={text_of(item)}' for key, item in attributes.items())})"
        case [_, name, *_]:
            return str(name)
    return "?"
