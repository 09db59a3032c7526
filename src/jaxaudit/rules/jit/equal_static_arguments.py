"""The rule `equal-static-arguments`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jaxaudit.analyses.captured import compiled_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import operands_of, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import NOTES
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.spans import Span

_LOOKS = NOTES | {"array.shape"}
"""Ops that read no data."""

Fields = Mapping[str, object]

_SCALED = """
import functools

class Law:
    def __init__(self, name, power):
        self.name = name
        self.power = float(power)

    def __eq__(self, other):
        return isinstance(other, Law) and {left} == {right}{mark}

    def __hash__(self):
        return hash(self.name)

@functools.partial(jax.jit, static_argnames="law")
def force(r, law):
    return r ** law.power

def sweep(r, powers):
    return [force(r, Law("law", power)) for power in powers]
"""
_FILTER = """
import dataclasses, functools

@dataclasses.dataclass(frozen=True)
class Filter:
    order: int
    cutoff: float = dataclasses.field(default=0.1{option}){mark}

@functools.partial(jax.jit, static_argnums=0)
def smooth(filter, x):
    return x * jnp.exp(-filter.cutoff * filter.order)

def main(x):
    return smooth(Filter(2, 0.1), x) + smooth(Filter(2, 0.2), x)
"""


class EqualStaticArguments(Rule):
    """Static arguments that count as equal differ in what compiled code reads of them.

    ## What it does
    Where a static argument is an object whose class says when objects are equal, it looks at each field that the
    compiled code reads: does `__eq__` or `__hash__` compare it, or what it follows from?

    ## Why is this bad?
    JAX compiles once for all static arguments that are equal and have the same hash. The second object gets the code
    that was compiled with the numbers of the first, and nothing tells.

    ## Example
        class Law:
            def __init__(self, name, power):
                self.name, self.power = name, power

            def __eq__(self, other):
                return self.name == other.name

            def __hash__(self):
                return hash(self.name)


        force = jax.jit(lambda r, law: r**law.power, static_argnums=1)
        force(r, Law("gravity", -2.0)), force(r, Law("gravity", -3.0))

    ## Use instead
        class Law:
            def __eq__(self, other):
                return (self.name, self.power) == (other.name, other.power)

    ## When it cannot tell
    Where only one object is in sight, or what is compared differs as well, a name may stand for the rest: that is a
    warning. Comparisons that call other functions are not followed.
    """

    summary = "Compiled code is used again for a static argument that differs in what it reads."
    valid = (
        Example(_SCALED.format(left="(self.name, self.power)", right="(other.name, other.power)", mark=""), "compared"),
        Example(_FILTER.format(option="", mark=""), "all fields of a dataclass"),
    )
    invalid = (
        Example(_SCALED.format(left="self.name", right="other.name", mark="  #!"), "a name alone is compared"),
        Example(_FILTER.format(option=", compare=False", mark="  #!"), "a field that is not compared"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every static object whose class says when it is equal to another."""
        calls = [op for op in program.named("jit", "pmap") if op.equal_by]
        for op in calls:
            for number, name, told, confused, places in op.equal_by or ():
                reads = _reads(op, number, confused, facts.flow)
                beside = [one for other in calls if other.wrapper_id == op.wrapper_id for one in _same(other, name)]
                if reads:
                    differing = _differing(told, confused, reads, beside, facts.flow)
                    yield _violation(op, name, reads, differing, places)
                elif any(one.name == "py.call_unknown" for one in compiled_ops(op)):
                    yield unknown(op.span, f"what calls that were not followed read of the `{name}` is not known")
                else:
                    yield proved(op.span, f"equal objects of `{name}` agree in what the compiled code reads of them")


def _same(call: Op, name: str) -> Iterator[tuple[Fields, Fields]]:
    """Return what static arguments of one class hold: what is compared, and what is not."""
    yield from ((told, confused) for _, cls, told, confused, _ in call.equal_by or () if cls == name)


def _reads(call: Op, number: int, confused: Fields, flow: Flow) -> dict[str, Op]:
    """Return the fields that compiled code reads of an object though nobody compares them, each with a place."""
    found: dict[str, Op] = {}
    for one in compiled_ops(call):
        if one.name == "py.read" and one.kind == "attr" and one.owner == number and one.subject in confused:
            value = one.arguments.get("value")
            readers = flow.readers.get(value, ()) if isinstance(value, Value) else (None,)
            if any(reader is None or (reader is not one and reader.name not in _LOOKS) for reader in readers):
                found.setdefault(str(one.subject), one)
    return found


def _differing(
    told: Fields, confused: Fields, reads: Mapping[str, Op], beside: list[tuple[Fields, Fields]], flow: Flow
) -> list[str]:
    """Return the fields in which two calls differ though nothing that is compared does, or turns and callers may."""
    others = [other for same, other in beside if same == told]
    fixed = not any(_varies(one, flow) for one in told.values())
    return [
        name
        for name in reads
        if any(one.get(name) != confused[name] for one in others) or (fixed and _varies(confused[name], flow))
    ]


def _varies(form: Any, flow: Flow) -> bool:
    """Whether what an attribute holds is computed from a parameter: of a function, or of the turns of a loop."""
    if isinstance(form, tuple):
        return any(_varies(one, flow) for one in form)
    made_of = walk((form,), lambda value: operands_of(flow, value)) if isinstance(form, Value) else ()
    return any(flow.maker(value) is None for value in made_of)


def _violation(
    op: Op, name: str, reads: Mapping[str, Op], differing: list[str], places: tuple[Span, ...]
) -> Obligation:
    field = next(iter(differing or reads))
    function = op.qualified or "the function"
    return Obligation(
        places[0] if places else op.span,
        severity=Severity.ERROR if differing else Severity.WARNING,
        message=f"`{name}` objects that differ in `{field}` are equal: `{function}` is compiled once for both",
        current=f"the second gets the code that was compiled with `{field}` of the first",
        expected="objects are equal only if compiled code reads the same of both",
        steps=(
            *(Step(one, f"this tells objects of `{name}` apart, too") for one in places[1:]),
            Step(op.span, f"a `{name}` is a static argument here"),
            Step(reads[field].span, f"`{function}` reads `{field}` of it"),
        ),
        suggestion=f"compare `{field}` as well, and hash it",
    )
