"""The rule `attribute-on-namedtuple`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity
from jaxaudit.rules.trees import nodes


class AttributeOnNamedtuple(Rule):
    """An attribute is set on an instance of a named tuple, or of a class that is frozen.

    ## What it does
    Finds assignments to attributes of named tuples, and of frozen dataclasses and modules. On a `NamedTuple` itself
    and on what is frozen they raise. On a subclass of a named tuple they work, until the tuple is taken apart and put
    together again.

    ## Why is this bad?
    `_replace`, `jax.tree.map`, `jit`, `scan` and everything else that rebuilds the tuple makes it from its fields
    alone. The attribute is gone, or the value of the class comes back, and nothing is raised.

    ## Example
        class State(Fields):
            limit = 200


        state = State(x, t)
        state.limit = 15

    ## Use instead
        class State(NamedTuple):
            x: jax.Array
            t: jax.Array
            limit: int = 200

    ## When it cannot tell
    When no instance of the class is ever rebuilt in the code that was read, it is a warning.
    """

    summary = "An attribute set on a named tuple is lost whenever the tuple is rebuilt."

    valid = (
        Example(
            "from typing import NamedTuple\n\nclass S(NamedTuple):\n    x: int\n\ndef f():\n"
            "    s = S(1)\n    return s._replace(x=2)\n",
            "replaced",
        ),
        Example(
            "from flax import struct\n\n@struct.dataclass\nclass S:\n    x: int\n    y: int = 0\n\n"
            "    def __post_init__(self):\n        object.__setattr__(self, 'y', self.x)\n\ndef f():\n"
            "    s = S(1)\n    s = s.replace(x=2)\n    return s\n",
            "a copy of what is frozen",
        ),
        Example(
            "class Log:\n    def __init__(self):\n        self.lines = 0\n\nlog = Log()\nlog.lines = 2\n", "an object"
        ),
    )
    invalid = (
        Example(
            "from flax import struct\n\n@struct.dataclass\nclass S:\n    x: object\n\n@jax.jit\ndef step(s):\n"
            "    s.x = s.x + 1  #!\n    return s\n\ndef f(x):\n    return step(S(x))\n",
            "frozen",
        ),
        Example(
            "from typing import NamedTuple\n\nclass S(NamedTuple):\n    x: int\n\ndef f():\n    s = S(1)\n"
            "    s.x = 2  #!\n    return s\n",
            "raises",
        ),
        Example(
            "from typing import NamedTuple\n\nclass F(NamedTuple):\n    x: int\n\nclass S(F):\n    n = 5\n\n"
            "def f():\n    s = S(1)\n    s.n = 9  #!\n    return s._replace(x=2)\n",
            "lost",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every attribute that is set on a named tuple."""
        rebuilt = {op.class_name for op in program.named("py.replace")}
        borders = [op.border for op in program.having(Op.border) if op.border is not None]
        crossing = [node for border in borders for tree in border.trees for node in nodes(tree)]
        rebuilt |= {node.name for node in crossing if node.kind == "namedtuple"}
        yield from (_judge(op, rebuilt) for op in program.named("py.store_attr") if op.record)


def _judge(op: Op, rebuilt: set[str]) -> Obligation:
    cls, name, raises = op.record, op.label, op.direct
    kind = "frozen" if op.kind == "frozen" else "named tuple"
    return Obligation(
        op.span,
        severity=Severity.ERROR if raises or cls in rebuilt else Severity.WARNING,
        message=f"`{name}` is set on the {kind} `{cls}`"
        + (", which raises AttributeError" if raises else " and lost when it is rebuilt"),
        current=f"setting an attribute of a {kind if op.kind != 'frozen' else 'frozen object'} raises"
        if raises
        else f"`_replace` and every transformation rebuild `{cls}` from its fields, without `{name}`",
        raises=Raises.TRACING if raises else Raises.NOTHING,
        expected=f"a copy of `{cls}` has another `{name}`"
        if op.kind == "frozen"
        else f"`{name}` is a field of `{cls}`",
        suggestion=f"make a copy with `replace({name}=...)`"
        if op.kind == "frozen"
        else f"make `{name}` a field, and give it to the constructor or to `_replace`",
    )
