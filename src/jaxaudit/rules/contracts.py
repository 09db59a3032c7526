"""What each construct must satisfy, whether or not a rule can decide it.

Rules answer clauses: by an obligation at the occurrence, or at a place inside what it runs. A clause that nobody
answered is listed as unknown, so that nothing vanishes and coverage counts what the code relies on, not what rules
happened to look at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import ARRAYS, DERIVATIVES, REPEATED
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Verdict
from jaxaudit.rules.pytrees._shared.crossing import is_called
from jaxaudit.spans import Span

TRACING = REPEATED | DERIVATIVES | {"jit", "vmap", "pmap", "shard_map"}
"""Transformations that hand arrays to what they run."""

Applies = Callable[[Op, Facts], bool]


@record
class Clause:
    """One thing that every occurrence of a construct must satisfy."""

    rule: str
    """Who decides it."""
    otherwise: str
    """Why it is open where the rule says nothing."""
    applies: Applies = lambda op, facts: True
    """Whether an occurrence has to satisfy it at all."""
    within: bool = False
    """Whether the rule speaks of places inside what the construct runs."""
    written: bool = False
    """Whether it is about what somebody wrote and a trace no longer shows: Python's own acts, options, objects."""


def unanswered(facts: Facts, obligations: Iterable[Obligation], rules: Collection[str]) -> Iterator[Obligation]:
    """Return the clauses of every construct of a program that no obligation answers, each as unknown."""
    if facts.find(Shapes) is None:
        return
    answers = Answers(obligations, facts)
    asked: set[tuple[str, Span]] = set()
    for op in facts.program.named(*CONTRACTS):
        for clause in () if op.is_derived or op.library else CONTRACTS[op.name]:
            place = (clause.rule, op.span)
            unseen = clause.written and facts.program.front_end != "source"
            if unseen or clause.rule not in rules or place in asked or not clause.applies(op, facts):
                continue
            asked.add(place)
            if not answers.at(clause.rule, op, within=clause.within):
                yield Obligation(op.span, Verdict.UNKNOWN, clause.otherwise, rule=clause.rule)


class Answers:
    """The places of obligations, by rule and line."""

    def __init__(self, obligations: Iterable[Obligation], facts: Facts) -> None:
        self._places: dict[tuple[str, str, int], list[Span]] = defaultdict(list)
        self._asked = {
            (clause.rule, op.span) for op in facts.program.named(*CONTRACTS) for clause in CONTRACTS[op.name]
        }
        """The places that a rule is asked about: what it says of one of them is no answer for those around it."""
        for one in obligations:
            self._places[one.rule, one.span.path, one.span.line].append(one.span)

    def at(self, rule: str, op: Op, *, within: bool) -> bool:
        """Whether a rule says something about an op: at its place, at a part of it, or inside what it runs."""
        if self._overlaps(rule, op.span):
            return True
        inner = (one for region in op.regions if within for one in region.walk())
        return any((rule, one.span.path, one.span.line) in self._places for one in inner)

    def _overlaps(self, rule: str, span: Span) -> bool:
        lines = (self._places.get((rule, span.path, line), ()) for line in range(span.line, span.end_line + 1))
        found = (one for spans in lines for one in spans if one == span or (rule, one) not in self._asked)
        return any(span.covers(one) or one.covers(span) for one in found)


def _arrays_meet(op: Op, facts: Facts) -> bool:
    """Whether two operands may have axes, and one of them is surely an array."""
    shapes = facts.get(Shapes)
    open_ended = [value for value in op.operands if shapes.of(value).dims != ()]
    return len(open_ended) > 1 and any(_is_array(value, facts) for value in open_ended)


def _is_array(value: Value, facts: Facts) -> bool:
    """Whether a value has axes, is made by an op that gives arrays, or is what a transformation hands to its body."""
    if facts.get(Shapes).of(value).dims:
        return True
    maker = facts.flow.own_maker(value)
    if maker is not None:
        return maker.name in ARRAYS
    entry = facts.flow.entered(value)
    return entry is not None and entry.op.name in TRACING


def _has_axes(op: Op, facts: Facts) -> bool:
    """Whether the first operand may have more than one axis."""
    dims = facts.get(Shapes).of(op.operands[0]).dims if op.operands else ()
    return dims is None or len(dims) > 1


def _names_axis(op: Op, facts: Facts) -> bool:
    """Whether an axis is named of what may have more than one."""
    return op.argument("axis", "axes", "dimension") is not None and _has_axes(op, facts)


def _indexes_array(op: Op, facts: Facts) -> bool:
    """Whether an array is indexed by something that a program computes."""
    base, parts = op.base, index_parts(op.arguments.get("index"))
    computed = any(isinstance(part, Value) and facts.get(Shapes).of(part).dtype != "bool" for part in parts)
    return computed and base is not None and _is_array(base, facts)


def _several_mapped(op: Op, facts: Facts) -> bool:
    view = Mapped.of(op)
    return view is not None and is_called(op) and len(view.elements) > 1


def _some_shared(op: Op, facts: Facts) -> bool:
    view = Mapped.of(op)
    return view is not None and is_called(op) and bool(view.shared)


def _scans_arrays(op: Op, facts: Facts) -> bool:
    view = Loop.of(op)
    return view is not None and bool(view.elements)


def _carries(op: Op, facts: Facts) -> bool:
    view = Loop.of(op)
    return view is not None and bool(view.carried)


def _is_bare(op: Op, facts: Facts) -> bool:
    return op.argument("axis", "dimensions") is None


def _is_called(op: Op, facts: Facts) -> bool:
    return is_called(op)


def _has_static(op: Op, facts: Facts) -> bool:
    return is_called(op) and (True in (op.static or ()) or bool(op.misfits))


def _several(op: Op, facts: Facts) -> bool:
    return len(op.operands) > 1


_SIZES = Clause("axis-conflict", "not all sizes that meet here are known", _arrays_meet)
_LINED_UP = Clause("silent-broadcast", "which axes are lined up here is not known", _arrays_meet)
_JOINED = Clause("unrelated-axes-joined", "what the axes are that are summed over here is not known", _arrays_meet)
_CONDITION = Clause("condition-not-scalar", "the type of its condition is not known")
_PURE = Clause("side-effect-in-traced-code", "what it runs is not known", within=True, written=True)
_LEAKS = Clause("tracer-leak", "what it runs is not known", within=True, written=True)
_CALLED = Clause("callback-arguments", "what it calls is not known", _is_called, written=True)
_CARRIED = (
    _CALLED,
    Clause("carry-type-changes", "the type of what it carries is not known", _carries),
    Clause("unchanged-carry", "what becomes of all that it carries is not known", _carries),
    Clause("impure-body", "what it runs is not known", within=True, written=True),
)
_MAPS = (
    _CALLED,
    Clause("in-axes-structure-mismatch", "the structure of what is mapped is not known", _is_called, written=True),
    Clause("wrong-axis-mapped", "what the mapped axis is, is not known", _is_called),
    Clause("batched-argument-broadcast", "whether what is shared has the mapped axis is not known", _some_shared),
    Clause("broadcast-argument-mapped", "what the axes are that are mapped together is not known", _several_mapped),
    Clause("hard-coded-axis", "whether something inside counts on the mapped axis is not known", within=True),
    Clause("out-axes-assumption", "where its results are taken apart is not known", _is_called),
)

_INDEX = Clause("out-of-bounds-index", "neither the index nor the size of the axis is known")
_REDUCED = Clause("reduction-over-wrong-axis", "which axis is meant, nothing here tells", _names_axis)

CONTRACTS: Mapping[str, tuple[Clause, ...]] = {
    "array.map": (_SIZES, _LINED_UP),
    "array.select": (_SIZES, _LINED_UP),
    "array.dot": (_SIZES, _JOINED),
    "array.join": (_SIZES,),
    "array.reshape": (Clause("reshape-mixes-axes", "the shape of what is reshaped is not known", _has_axes),),
    "array.squeeze": (Clause("bare-squeeze", "the shape of what is squeezed is not known", _is_bare),),
    "array.reduce": (_REDUCED,),
    "array.normalise": (_REDUCED,),
    "array.gather": (_INDEX,),
    "array.scatter": (_INDEX,),
    "py.item": (replace(_INDEX, applies=_indexes_array),),
    "jit": (
        Clause("invalid-input-type", "what it is given is not known", _is_called, written=True),
        Clause("static-argument-misuse", "what its static arguments are is not known", _has_static, written=True),
        Clause("stale-captured-state", "what it reads from outside is not known", within=True, written=True),
        _PURE,
        _LEAKS,
    ),
    "vmap": _MAPS,
    "pmap": _MAPS,
    "scan": (
        *_CARRIED,
        Clause("scan-length-mismatch", "the lengths of what it scans are not known", _scans_arrays),
        Clause("scanned-axis-not-time", "what the axis is that it scans over is not known", _scans_arrays),
    ),
    "associative_scan": (Clause("operator-not-associative", "what it combines elements to is not known", within=True),),
    "fori": _CARRIED,
    "while": (*_CARRIED, _CONDITION),
    "cond": (_CALLED, _CONDITION, Clause("branch-type-mismatch", "the types of what its branches give are not known")),
    "grad": (
        _CALLED,
        Clause("non-scalar-grad", "the shape of what is differentiated is not known"),
        Clause("wrong-argnums", "what is differentiated by is not known"),
        Clause("aux-mishandled", "what the function gives is not known"),
        Clause("dead-parameter", "how the parameters reach the result is not known"),
        Clause("zero-gradient-path", "how the parameters reach the result is not known"),
        Clause("term-without-gradient", "what the function reads from outside is not known"),
    ),
    "custom_jvp": (Clause("wrong-custom-derivative", "what the rule computes is not known"),),
    "custom_vjp": (Clause("wrong-custom-derivative", "what the rule computes is not known"),),
    "tree.map": (_CALLED, Clause("tree-structure-mismatch", "the structure of the trees is not known", _several)),
    "key.split": (Clause("key-reused", "whose key this is, is not known"),),
    "key.draw": (Clause("key-reused", "whose key this is, is not known"),),
    "collective": (Clause("unbound-axis-name", "what is mapped around it is not known", within=True),),
}
"""For each op, what every occurrence must satisfy."""
