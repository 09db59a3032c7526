"""The rule `class-takes-no-arguments`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, proved, unknown


class ClassTakesNoArguments(Rule):
    """A class without a constructor is given arguments.

    ## What it does
    Looks at every place where an instance of a class is made that neither defines nor inherits a constructor, and that
    no decorator and no base makes a dataclass of.

    ## Why is this bad?
    Annotations alone make no constructor: `dataclass`, `PyTreeNode`, `NamedTuple` or `eqx.Module` do. Without one of
    them the call raises TypeError, and an instance would be no pytree either.

    ## Example
        class State:
            params: dict
            step: int


        state = State(params=params, step=0)

    ## Use instead
        class State(struct.PyTreeNode):
            params: dict
            step: int

    ## When it cannot tell
    Classes with a metaclass, a decorator or a base that is not known are left alone.
    """

    summary = "A class that has annotated fields and no constructor is given arguments."

    valid = """
    ## a dataclass, a constructor of its own, and one without arguments
    import dataclasses

    @dataclasses.dataclass
    class State:
        step: int

    class Own:
        step: int

        def __init__(self, step):
            self.step = step

    class Empty:
        step: int = 0

    def make():
        return State(1), State(step=1), Own(1), Empty()
    """
    invalid = """
    ## annotations alone
    class State:
        params: dict
        step: int

    def make(params):
        return State(params=params, step=0)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every instance of a class without a constructor."""
        yield from (_judge(op) for op in program.named("tree.made"))


def _judge(op: Op) -> Obligation:
    if not op.argument_count:
        return proved(op.span, f"`{op.class_name}` is given no arguments, and takes none")
    if op.guarded:
        return unknown(op.span, f"`{op.class_name}` may not be what is called here")
    return Obligation(
        op.span,
        message=f"`{op.class_name}` takes no arguments: nothing makes a constructor of its fields",
        current=f"the call raises TypeError: {op.class_name}() takes no arguments",
        raises=Raises.TRACING,
        expected="a class with a constructor",
        steps=(Step(op.where, "the class is defined here"),) if op.where is not None else (),
        suggestion="make it a dataclass that is a pytree: `flax.struct.PyTreeNode`, `eqx.Module` or `NamedTuple`",
    )
