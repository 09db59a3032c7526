"""What the text of a program tells of its classes, settings and lines."""

from __future__ import annotations

from jaxaudit.ir.record import record
from jaxaudit.spans import Span


@record
class Place:
    """A name and where it stands."""

    name: str
    span: Span


@record
class Rebuilt:
    """A method makes another object of its own class, and leaves out an argument that this one was made with."""

    method: str
    name: str
    """The argument."""
    field: str
    """The attribute that holds it."""
    span: Span


@record
class Copy:
    """A line that is another one with a word changed in all its names, or in all but one."""

    span: Span
    first: Span
    """The line that it is a copy of."""
    was: str
    now: str
    """The word, in the first line and in this one."""
    kept: str = ""
    """The name that has the word of the first line still; empty where there is none."""
    meant: str = ""
    """What it would be with the other word: another name in sight."""
    mixed: bool = False
    """Whether the line shares names with the first one that may be meant: several, or both of a pair."""


@record
class Exported:
    """A switch of JAX that the top level of a module puts into the environment."""

    name: str
    span: Span
    imported: Span | None
    """What imported JAX before, in the same module; None where nothing did."""
    open: bool = False
    """Whether it may be meant for other processes, or is set in JAX's own configuration, too."""


@record
class Settings:
    """What a program gives itself to go by: keys of a dict, fields of a record, options of a command line."""

    name: str
    span: Span
    count: int
    unread: tuple[Place, ...] = ()
    """Those whose names nothing in sight reads, though it reads most of the others."""
    open: str = ""
    """Why not all that may read them is in sight; empty where it is."""


@record
class ClassMembers:
    """The attributes of one class, as its methods use them."""

    name: str
    span: Span
    count: int
    """How many attributes its methods read from their own object."""
    kept: int = 0
    """How many arguments its constructor keeps as they are."""
    missing: tuple[Place, ...] = ()
    """Those that nothing in sight gives it."""
    foreign: tuple[Place, ...] = ()
    """Those that are given to objects, though as far as can be seen not to its own."""
    unread: tuple[Place, ...] = ()
    """Arguments of the constructor that are kept under a private name and nowhere else, which nothing reads."""
    unsure: tuple[Place, ...] = ()
    """Arguments that are kept or copied, which code out of sight may read or not."""
    rebuilt: tuple[Rebuilt, ...] = ()
    open: str = ""
    """Why not all of its attributes are in sight; empty where they are."""
