"""A normalised value that nothing reads, while the raw one is read after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.meaning import Kind, Meanings
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.analyses.queries import entered, reached
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Severity, Step, Verdict
from jaxaudit.spans import Span

RULE = "meaning-mismatch"


def unread_forms(program: Program, meanings: Meanings) -> Iterator[Obligation]:
    """Return every read of a raw value whose normalised form was made before and is never read."""
    for note in program.named("py.unread"):
        values, stale = note.values, note.stale
        if isinstance(values, tuple) and len(values) == 1 and isinstance(stale, Mapping):
            if not note.label.startswith("_"):
                yield from _judge(note, values[0], stale, meanings)


def _judge(note: Op, value: Value, stale: Mapping[str, object], meanings: Meanings) -> Iterator[Obligation]:
    found = meanings.of(value)
    sure = found is not None and found.kind is Kind.NORMALISED
    if not sure and not _scaled(value, meanings):
        return
    for variable, told in stale.items():
        match told:
            case ((Value() as raw,), Span() as read, bool()) if _is_raw(raw, value, meanings):
                yield _clash(note, variable, read, sure=sure or _enters_network(raw, read, meanings))
                return


def _is_raw(raw: Value, value: Value, meanings: Meanings) -> bool:
    """Whether a value goes into the normalisation as its data, and was not normalised before."""
    found, before = meanings.of(value), meanings.of(raw)
    derived = reached(meanings.flow, (raw,))
    if value not in derived or (before is not None and before.kind is Kind.NORMALISED):
        return False
    made = None if found is None or found.kind is not Kind.NORMALISED else found.made
    return made is None or any(one in derived for name, one in made.arguments.items() if name != "self")


def _enters_network(raw: Value, read: Span, meanings: Meanings) -> bool:
    """Whether the raw value is multiplied with something where it is read."""
    flow = meanings.flow
    takers = [op for op in flow.readers.get(raw, ()) if op.span.line <= read.line <= op.span.end_line]
    given = [one for op in takers for one in (*entered(op, raw), *op.results) if op.name not in ("grad", "jit")]
    made = (flow.maker(one) for one in reached(flow, given))
    return any(op.name in _NETWORK for op in takers) or any(op is not None and op.name in _NETWORK for op in made)


_NETWORK = frozenset(("array.dot", "array.convolve"))


def _scaled(value: Value, meanings: Meanings) -> bool:
    """Whether a value is a difference divided by something: the form of a normalisation by stored statistics."""
    op = origin(meanings.flow, value, {}).op
    if op is None or tail(op) != "divide" or not isinstance(op.arguments.get("x"), Value):
        return False
    above = meanings.flow.maker(op.operands[0])
    return above is not None and tail(above) == "subtract"


def _clash(note: Op, variable: str, read: Span, *, sure: bool) -> Obligation:
    name = note.label
    return Obligation(
        RULE,
        read,
        Verdict.VIOLATED,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"raw `{variable}` is read here, though it was normalised as `{name}`, which nothing reads",
        current=f"what follows sees `{variable}` at its own scale",
        expected=f"what follows sees `{name}`",
        steps=(Step(note.span, f"`{name}` is made from `{variable}` here"),),
        suggestion=f"read `{name}` instead of `{variable}`, or leave the normalisation out",
    )
