"""Builds small programs by hand, one op a line, for tests that need no front end."""

from collections.abc import Iterator
from contextlib import contextmanager

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.solve import solve
from jaxaudit.ir import Exit, Op, Program, Region, Root, Value
from jaxaudit.ir.builder import Builder
from jaxaudit.ir.check import check_program
from jaxaudit.rules.base import Obligation, Rule, Severity, Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.merge import merge
from jaxaudit.spans import Span


class Sketch:
    """One root function; every op that is added stands on a line of its own."""

    def __init__(self, path: str = "sketch.py", comments: dict[int, str] | None = None) -> None:
        self.builder = Builder()
        self.path = path
        self.line = 0
        self.comments = comments or {}
        self.root = Region("root", "main", self.span())
        self.builder._open.append(self.root)

    def span(self) -> Span:
        self.line += 1
        return Span(self.path, self.line, 0, self.line, 20)

    def value(self, name: str = "") -> Value:
        return self.builder.value(Span(self.path, max(self.line, 1), 0, max(self.line, 1), 1), name)

    def param(self, name: str) -> Value:
        value = self.value(name)
        self.builder.region.params = (*self.builder.region.params, value)
        return value

    def op(self, name: str, arguments=None, attrs=None, results: int = 1, operands=None, regions=()) -> Op:
        return self.builder.emit(
            name, self.span(), arguments or {}, attrs or {}, operands=operands, results=results, regions=regions
        )

    def draw(self, key: Value, function: str = "jax.random.normal") -> Op:
        return self.op("key.draw", {"key": key}, {"function": function})

    def split(self, key: Value, num=None) -> Value:
        return self.op("key.split", {"key": key} if num is None else {"key": key, "num": num}).result

    def fold(self, key: Value, data) -> Value:
        return self.op("key.fold_in", {"key": key, "data": data}).result

    def seed(self, seed=0) -> Value:
        return self.op("key.seed", {"seed": seed}).result

    def row(self, keys: Value, index) -> Value:
        return self.op("py.item", {"base": keys, "index": index}).result

    def unpack(self, keys: Value, count: int, star: int | None = None) -> tuple[Value, ...]:
        return self.op("py.unpack", {"base": keys}, {"count": count, "star": star}, results=count).results

    def unknown_call(self, *values: Value) -> Op:
        return self.op("py.call_unknown", operands=values, attrs={"callee": "mystery", "reason": "unresolved"})

    @contextmanager
    def region(self, kind: str = "function", label: str = "body", params=()) -> Iterator[Region]:
        with self.builder.nested(kind, label, self.span(), params) as region:
            yield region

    def close(self, region: Region, *results: Value, exit: Exit = Exit.FALL) -> None:
        self.builder.close(region, results, exit)

    def call(self, region: Region, *operands: Value, name: str = "py.call", **attrs) -> Op:
        attrs.setdefault("function", region.label)
        return self.op(name, operands=operands, attrs=attrs, results=len(region.results), regions=(region,))

    def branch(self, *regions: Region) -> Op:
        results = max((len(region.results) for region in regions), default=0)
        return self.op("py.branch", operands=(), attrs={"construct": "if"}, results=results, regions=regions)

    def program(self) -> Program:
        program = Program((Root("main", self.path, self.root),), "test", {self.path: self.comments})
        assert check_program(program) == []
        return program

    def facts(self) -> Facts:
        return solve(self.program(), {KeyFacts})

    def judge(self, rule: type[Rule]) -> list[Obligation]:
        program = self.program()
        facts = solve(program, {KeyFacts, *rule.needs})
        return merge(judged(rule, facts))

    def verdicts(self, rule: type[Rule]) -> dict[int, str]:
        """Return the verdict on each line: `proved`, `unknown`, `error` or `warning`."""
        return {one.span.line: verdict_of(one) for one in self.judge(rule)}


def verdict_of(one: Obligation) -> str:
    if one.verdict is not Verdict.VIOLATED:
        return one.verdict.value
    return "warning" if one.severity is Severity.WARNING else "error"
