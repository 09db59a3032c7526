"""The rule `lost-option`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Rule, Severity, Subject, proved, unknown


class LostOption(Rule):
    """An argument of a constructor has no effect, or is lost when an object copies itself.

    ## What it does
    Looks at the arguments that constructors keep. Finds those that are kept under a private name that nothing in sight
    reads, and methods that make another object of their class from the parts of their own but leave one part out.

    ## Why is this bad?
    Whoever sets the option believes that it does something; and the copy silently falls back to the default.

    ## Example
        class Dataset:
            def __init__(self, rows, length, pad=-1):
                self.rows, self.length = rows, length
                self.pad = pad

            def shard(self):
                return Dataset(self.rows, self.length)

    ## Use instead
            def shard(self):
                return Dataset(self.rows, self.length, self.pad)

    ## When it cannot tell
    Code out of sight may read even a private name, and a copy may be meant to start afresh, so this is a warning.
    """

    summary = "An argument of a constructor has no effect, or is left out of a copy."
    valid = """
    ## kept and read, copied whole
    class Dataset:
        def __init__(self, rows, length, pad=-1):
            self._rows = rows
            self._length = length
            self._pad = pad

        def shard(self):
            return Dataset(self._rows, self._length, pad=self._pad)

        def first(self):
            return self._rows[: self._length] + self._pad
    """
    invalid = """
    ## never read
    class Kernel:
        def __init__(self, model, strategy=None):
            self._model = model
            self._strategy = strategy  #?

        def run(self, key):
            return self._model(key)

    ## left out of the copy
    class Dataset:
        def __init__(self, rows, length, pad=-1):
            self.rows = rows
            self.length = length
            self.pad = pad

        def shard(self):
            return Dataset(self.rows, self.length)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every class that keeps what it is given, and every option that is lost."""
        for cls in (one for one in program.members if one.kept):
            if cls.open:
                yield unknown(self.name, cls.span, f"not all that reads `{cls.name}` is in sight: {cls.open}")
            elif not cls.unread and not cls.rebuilt and not cls.unsure:
                yield proved(self.name, cls.span, f"no argument of `{cls.name}` is kept unread or left out of a copy")
            for one in () if cls.open else cls.unsure:
                reason = f"whether `{one.name}` has an effect depends on who uses objects of `{cls.name}`"
                yield unknown(self.name, one.span, reason)
            for one in cls.unread:
                yield Obligation(
                    self.name,
                    one.span,
                    severity=Severity.WARNING,
                    message=f"the argument `{one.name}` of `{cls.name}` has no effect: nothing reads it from here",
                    current=f"whatever is given for `{one.name}`, `{cls.name}` behaves the same",
                    expected="what is kept is used",
                    suggestion=f"use it where it was meant, or take `{one.name}` away",
                    subject=Subject(names=(one.name,)),
                )
            for left in cls.rebuilt:
                yield Obligation(
                    self.name,
                    left.span,
                    severity=Severity.WARNING,
                    message=f"`{left.method}` makes another `{cls.name}` and leaves out `{left.name}`",
                    current=f"the new object has the default for `{left.name}`, whatever this one was made with",
                    expected="the new object is made with all that this one was made with",
                    suggestion=f"pass `{left.name}=self.{left.field}` on",
                    subject=Subject(names=(left.name,)),
                )
