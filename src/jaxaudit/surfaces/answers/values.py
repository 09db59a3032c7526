"""Answers about one value: who reads it, what it is a successor of, which key it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxaudit.analyses.explain import callee_of, explain_term, name_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.queries import nothing, readers, sources
from jaxaudit.analyses.uses import Use, Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.config import UsageError, nearest
from jaxaudit.discover import shown_name
from jaxaudit.ir import Op, Program, Value
from jaxaudit.surfaces.answers.held import Audits, Held
from jaxaudit.surfaces.answers.rows import bounded, distinct, notices, place


@dataclass(frozen=True)
class OneValue:
    """What is known of the values that one line gives a name."""

    line: int
    type: str
    made_by: str
    readers: list[str]
    read_for: list[str]
    successor_of: list[str]
    newer_versions: list[str]
    key: list[str]


@dataclass(frozen=True)
class ValueAnswer:
    """What is known of a name, line by line; a function that several callers enter is told as one."""

    name: str
    path: str
    values: list[OneValue]
    notice: str


def value_answer(audits: Audits, path: str, name: str, line: int, most: int) -> ValueAnswer:
    """Tell what becomes of the values of a name, those of one line where one is given."""
    held, shown = audits.of([path]), shown_name(path)
    named = [one for one in dict.fromkeys(_values(held.outcome.program)) if one.span.path == shown and one.name]
    found = [one for one in named if one.name == name and line in (0, one.span.line)]
    if not found:
        known = sorted({one.name for one in named if line in (0, one.span.line)})
        where = f"line {line} of {path}" if line else path
        has = f"; it has {', '.join(known[:30])}" if known else ""
        apart = "" if nearest(name, known) else " (of what Python takes apart, such as dicts, the parts are values)"
        raise UsageError(f"no value in {where} is called `{name}`{nearest(name, known) or has}{apart}")
    by_line: dict[int, list[Value]] = {}
    for one in found:
        by_line.setdefault(one.span.line, []).append(one)
    told = [_told(held, values, most) for _, values in sorted(by_line.items())]
    values, left = bounded(told, most, "lines")
    cut = any(len(one.readers) == most for one in values)
    return ValueAnswer(name, shown, values, notices(left, "Lists of readers are cut." if cut else ""))


def _values(program: Program) -> Iterator[Value]:
    for root in program.roots:
        yield from root.region.params
    for op in program.walk():
        yield from op.results
        for region in op.regions:
            yield from region.params


def _told(held: Held, values: Sequence[Value], most: int) -> OneValue:
    facts = held.facts
    versions = facts.get(Versions)
    uses = facts.get(Uses)
    read_for = {use for one in values for use in Use if use in uses.of(one)}
    old = [other for one in values if (version := versions.of(one)) is not None for other in version.in_order]
    newer = [other for one in values for other in versions.newer(one)]
    return OneValue(
        line=values[0].span.line,
        type=_type(held, values[0]),
        made_by=next((_read(op) for one in values if (op := facts.flow.maker(one)) is not None), "an argument"),
        readers=distinct((_read(op) for one in values for op in readers(facts.flow, one)), most),
        read_for=sorted((use.name or "").lower() for use in read_for),
        successor_of=distinct(map(_called, old), most),
        newer_versions=distinct(map(_called, newer), most),
        key=distinct((text for one in values for text in _key(facts, one)), most),
    )


def _type(held: Held, value: Value) -> str:
    for step in held.report.data_flow:
        if step.path == value.span.path:
            for one in (*step.enters, *step.makes):
                if one.name == value.name and one.type and value.span.line in (step.line, value.span.line):
                    return one.type
    return ""


def _read(op: Op) -> str:
    return f"{place(op.span)} {callee_of(op)} ({op.name})"


def _called(value: Value) -> str:
    return f"{value.name or 'a value'} of {place(value.span)}"


def _key(facts: Facts, value: Value) -> Iterator[str]:
    """Tell how a key came about and where it is used, nothing of a value that is none."""
    keys = facts.get(KeyFacts)
    same = sources(facts.flow, (value,), nothing)
    used = [use for scope in keys.scopes for use in scope.uses if use.value in same or use.term == keys.term(value)]
    history = explain_term(keys, keys.term(value))
    if not used and not history:
        return
    yield f"it is {name_of(keys, keys.term(value), value)}"
    yield from (f"{place(span)} {text}" for span, text in history)
    yield from (f"{place(use.spot.span)} {callee_of(use.spot)} uses it" for use in used)
