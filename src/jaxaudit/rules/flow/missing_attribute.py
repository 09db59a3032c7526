"""The rule `missing-attribute`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.members import ClassMembers, Place
from jaxaudit.rules.base import Belief, Obligation, Raises, Rule, proved, unknown


class MissingAttribute(Rule):
    """A method reads an attribute of its own object that nothing ever sets.

    ## What it does
    Takes every class whose bases are all in sight, and asks of each `self.name` that a method reads whether the class,
    a base, a class that inherits from it, or any assignment in the program gives objects such an attribute.

    ## Why is this bad?
    Python looks attributes up when a line runs, so one that was renamed or misspelt is an `AttributeError` on the day
    that somebody gets there.

    ## Example
        class Sampler:
            def __init__(self, scale):
                self.scale = scale

            def draw(self, key):
                return self._scale * jax.random.normal(key)

    ## Use instead
            def draw(self, key):
                return self.scale * jax.random.normal(key)

    ## When it cannot tell
    Classes with a base out of sight, a decorator or a metaclass, and those that read or set attributes by name
    (`getattr`, `setattr`, `__getattr__`, `__dict__`) are left open. So are those that lack several attributes, which
    something out of sight may set.
    """

    summary = "A method reads an attribute of its own object that nothing sets."
    valid = """
    ## set in another method, by a class that inherits, or from outside
    class Base:
        def step(self, x):
            return x * self.scale + self.offset + self.bias

        def reset(self):
            self.offset = 0.0

    class Sub(Base):
        scale = 2.0

    def make():
        made = Sub()
        made.bias = 1.0
        return made

    ## read by name
    class Open:
        def __init__(self, **options):
            for name, value in options.items():
                setattr(self, name, value)

        def step(self, x):
            return x * self.scale

    ## left to classes that are not in sight
    class Base:
        def size(self):
            raise NotImplementedError

        def shape(self):
            return self.size(), self.depth()
    """
    invalid = """
    ## a class in sight has all methods but this
    class Base:
        def size(self):
            raise NotImplementedError

        def shape(self):
            return self.size(), self.depth()  #!

    class Square(Base):
        def size(self):
            return 3

    ## renamed
    class Sampler:
        def __init__(self, scale):
            self.scale = scale

        def draw(self, key):
            return self._scale * jax.random.normal(key)  #!

    ## a method that does not exist
    class Table:
        def rates_by_name(self, x):
            return x

        def total(self, x):
            return jnp.sum(self.rates(x))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every class, and every attribute of its own that nothing gives it."""
        for cls in (one for one in program.members if one.count):
            if cls.open:
                yield unknown(cls.span, f"not all attributes of `{cls.name}` are in sight: {cls.open}")
                continue
            if not cls.missing and not cls.foreign:
                yield proved(cls.span, f"each attribute that methods of `{cls.name}` read is set by its classes")
            yield from (_finding(cls, one) for one in cls.missing)
            for one in cls.foreign:
                reason = f"`{one.name}` is set, but not by `{cls.name}` or its bases: whether it is there is not known"
                yield unknown(one.span, reason)


def _finding(cls: ClassMembers, one: Place) -> Obligation:
    return Obligation(
        one.span,
        message=f"objects of `{cls.name}` have no attribute `{one.name}`: nothing sets it",
        current="this raises an `AttributeError`",
        expected=f"`{one.name}` is a method or attribute of `{cls.name}`, or another one is read",
        suggestion=f"set `{one.name}` in the constructor, or read the attribute that was meant",
        raises=Raises.TRACING,
        belief=Belief(cls.name, cls.span, one.name),
    )
