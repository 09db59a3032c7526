"""What a rule is, and what it says: obligations with three possible verdicts.

A rule is one file with one `Rule` subclass. Its docstring is its documentation page, `valid` and `invalid` are at
once examples and tests, and `check` lists obligations. Nothing else has to be edited to add one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from textwrap import dedent
from typing import ClassVar

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import Use
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import mutable, record
from jaxaudit.spans import Span


class Verdict(Enum):
    """What a rule concluded about one obligation."""

    PROVED = "proved"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


class Severity(Enum):
    """How bad a violation is. `WARNING` is for fragile code and for cases where intent cannot be told."""

    ERROR = "error"
    PERFORMANCE = "performance"
    WARNING = "warning"


class Raises(Enum):
    """Whether a violation is an exception, and when: that decides what tests and traces that went through say of it."""

    NOTHING = "nothing"
    """The program goes on, with other numbers than were meant."""
    TRACING = "tracing"
    """Python or JAX raises when this line runs or is traced; a program that was traced does not hold it."""
    LATER = "later"
    """Something else raises: taking a gradient, a second call, a use outside."""


@record
class Step:
    """One step of the way from a cause to a finding."""

    span: Span
    text: str


@record
class Edit:
    """An exact replacement of a stretch of source."""

    span: Span
    replacement: str


@record
class Subject:
    """What an obligation is about, where its author's purpose may show; `rules.intent` reads it."""

    names: tuple[str, ...] = ()
    """The names of what is involved."""
    places: tuple[Span, ...] = ()
    """Other places where a comment may speak of it."""
    uses: tuple[Use, ...] = ()
    """Of a key: the two uses that share it, or the one that is repeated."""
    around: Op | None = None
    """The loop or map that repeats it."""
    about: str = ""
    """What may be meant: the kind of words that a comment would have."""
    tried: bool = False
    """Whether running it may be all that was wanted, as in a test."""


@record
class Belief:
    """What is taken for granted of a definition where a use of it is judged, such as the parameters of a class."""

    about: str
    definition: Span | None
    """Where it is defined; None for what a library defines."""
    user: str
    """The function, or other part of the program, that uses it."""


@mutable
class Obligation:
    """One thing the program must satisfy at one place, with a verdict. Only who runs a rule changes it, to sign it."""

    span: Span
    verdict: Verdict = Verdict.VIOLATED
    """`proved` and `unknown` make the others."""
    reason: str = ""
    """Why it is proved, or why it is unknown: one sentence a person can check."""
    severity: Severity = Severity.ERROR
    message: str = ""
    """One line that stands alone, names in backticks, at most 90 columns or so."""
    current: str = ""
    """What happens now."""
    expected: str = ""
    """What was meant."""
    steps: tuple[Step, ...] = ()
    suggestion: str = ""
    edits: tuple[Edit, ...] = ()
    raises: Raises = Raises.NOTHING
    """What happens when it is violated; where it is unknown, what would."""
    basis: Basis = Basis.COMPUTED
    """The weakest fact that it rests on."""
    subject: Subject = Subject()  # it is immutable
    """What it is about, for the policy on intent."""
    way: tuple[Op, ...] = ()
    """The calls that lead to it, outermost first, where it is due to these and not to others."""
    cause: tuple[Value, ...] = ()
    """The values that are handled wrongly: findings that share one of them are one mistake."""
    definition: Span | None = None
    """The definition that is at fault, where each use of it tells the same mistake."""
    belief: Belief | None = None
    """What is believed of a definition, where a use of it is judged; all uses together may speak against it."""
    rule: str = ""
    """The rule that lists it; `Rule.run` fills it in."""
    front_end: str = ""
    """Which front end saw it; the session fills it in."""

    @property
    def speaks(self) -> bool:
        """Whether it is shown as a finding: violated, or with a warning beside its verdict (it holds only by luck)."""
        return self.verdict is Verdict.VIOLATED or (self.severity is Severity.WARNING and bool(self.message))


def proved(span: Span, reason: str) -> Obligation:
    """Return an obligation that holds."""
    return Obligation(span, Verdict.PROVED, reason)


def unknown(span: Span, reason: str) -> Obligation:
    """Return an obligation that is left open."""
    return Obligation(span, Verdict.UNKNOWN, reason)


def named(argument: Argument, otherwise: str = "this value") -> str:
    """Return the name of a value in backticks; other words where it has none."""
    return f"`{argument.name}`" if isinstance(argument, Value) and argument.name else otherwise


def wrapping(op: Op) -> tuple[Step, ...]:
    """Return the place where a function was transformed, if it is called elsewhere: mostly it is what to repair."""
    place, name = op.wrapped, op.spelling.rpartition(".")[2] or op.name
    elsewhere = place is not None and place.line and place.line != op.span.line
    return (Step(place, f"`{name}` is applied here"),) if place is not None and elsewhere else ()


@record
class Example:
    """A small program. In an invalid one, each offending line ends in `#!` (or `#?` where a warning is meant)."""

    code: str
    """What stands below `import jax` and `import jax.numpy as jnp`, at any indentation."""
    title: str = ""

    @property
    def program(self) -> str:
        """The whole program."""
        return f"import jax\nimport jax.numpy as jnp\n{dedent(self.code)}"


class _Examples:
    """The examples of a rule, taken out of their text when somebody asks: an audit does not."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: object, owner: type | None = None) -> tuple[Example, ...]:
        _, *parts = f"\n{dedent(self.text)}".split("\n## ")
        split = (one.partition("\n") for one in parts)
        return tuple(Example(f"\n{code.rstrip()}\n", title) for title, _, code in split)


class Rule(ABC):
    """Base of all rules. The docstring has the headings that `explain` prints; see `rules/random/key_reused.py`."""

    name: ClassVar[str]
    """That of its file, with hyphens, unless it says another."""
    family: ClassVar[str]
    """That of its folder, unless it says another."""
    summary: ClassVar[str]
    """One sentence for lists."""
    needs: ClassVar[tuple[type, ...]] = ()
    """The facts that it reads: `(Shapes,)`."""
    always_raises: ClassVar[bool] = False
    """Whether all its violations are refused by JAX itself, so that a line which JAX went through has none."""
    general: ClassVar[bool] = False
    """Whether it only tells that something is not used: any other rule says what is wrong with that."""
    traced_only: ClassVar[bool] = False
    """Whether it needs what only a trace tells; its examples are run then."""
    valid: ClassVar[tuple[Example, ...] | str] = ()
    """Examples, or a text of them with a line `## title` above each."""
    invalid: ClassVar[tuple[Example, ...] | str] = ()

    def __init_subclass__(cls) -> None:
        *_, family, name = ("", *cls.__module__.split("."))
        cls.name, cls.family = vars(cls).get("name", name.replace("_", "-")), vars(cls).get("family", family)
        for examples in ("valid", "invalid"):
            if isinstance(text := vars(cls).get(examples), str):
                setattr(cls, examples, _Examples(text))

    @abstractmethod
    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every obligation of this kind, each with its verdict."""

    def run(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List the same, each signed with the name of the rule."""
        for one in self.check(program, facts):
            one.rule = self.name
            if self.always_raises and one.verdict is Verdict.VIOLATED:
                one.raises = Raises.TRACING
            yield one
