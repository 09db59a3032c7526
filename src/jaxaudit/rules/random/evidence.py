"""Signs that a key is shared on purpose: then it is a warning at most.

People share keys for common random numbers, antithetic pairs, or to start two networks alike. The code says so (equal
calls, results that are compared), a comment says so, or the key's own name does. Nobody can tell in a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jaxaudit.analyses.domain import Facts
from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.conflicts import Conflict
from jaxaudit.analyses.keys.terms import Term, root
from jaxaudit.ir import Op, Program
from jaxaudit.spans import Span

_CLEAR = re.compile(
    r"on purpose|deliberate|intentional|common random|\bcrn\b|antithetic|correlated|\bpaired\b", re.IGNORECASE
)
_SHARING = re.compile(r"(?<![-\w])(same|shared?|sharing|common|identical|re-?us(e|es|ed|ing)|fixed)\b", re.IGNORECASE)
_RANDOM = re.compile(
    r"\b(keys?|rngs?|prng|seeds?|noise|random\w*|draws?|samples?|numbers|masks?|init\w*)\b", re.IGNORECASE
)
_NAME = re.compile(
    r"(^|_)(shared?|common|same|fixed|const(ant)?|crn|static|frozen|dummy|placeholder|example)(_|$)", re.IGNORECASE
)
_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
_SAMPLES = re.compile(r"sampl|draw|noise|generat|random|init|make|create|build|new", re.IGNORECASE)
_EVALUATION_KEY = re.compile(r"(^|_)eval(uation)?(_|$)", re.IGNORECASE)
_EVALUATES = re.compile(r"eval|score|bench|compar|validat|measure|test|plot|report|time", re.IGNORECASE)

EXPLICIT = "if it is meant, say so: `jax.random.clone(key)` for the second use, or a comment"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Looks for signs of purpose in one program."""

    program: Program
    keys: KeyFacts

    @classmethod
    def of(cls, facts: Facts) -> Evidence:
        """Make the evidence of the program whose facts these are."""
        keys = facts.of("keys")
        assert isinstance(keys, KeyFacts)
        return cls(facts.program, keys)

    def of_pair(self, conflict: Conflict) -> str:
        """Say why two uses of one key look deliberate, or give an empty text."""
        first, second = conflict.first.spot, conflict.second.spot
        if _same_start(first, second):
            return f"both are made by the same `{callee_of(first)}`, so that they start alike, it seems"
        if self._fruitless(conflict.first):
            return f"nothing is drawn from the keys that `{callee_of(first)}` splits off"
        if _aligned(conflict.first.origin.spot) and _aligned(conflict.second.origin.spot):
            return "permuting two arrays with one key keeps them aligned"
        if _within_library(conflict.first.origin.spot, conflict.second.origin.spot):
            return "both uses are inside one call of a library"
        if first is not second and self.keys.users.are_equated(first, second):
            return "both results are checked to be equal"
        if first is not second and _same_callee(first, second) and self.keys.users.share_owner(first, second):
            return f"`{callee_of(first)}` treats two parts of one record alike, it seems"
        if _same_callee(first, second) and self._paired(first, second):
            return f"both results of `{callee_of(first)}` are compared, which looks like common random numbers"
        return self.said(conflict.second, (first.span, second.span))

    def _fruitless(self, use: Use) -> bool:
        """A callee splits the key for its own ends, and its caller drops what it gives."""
        return use.inner is not None and use.origin.how is How.SPLIT and use.origin.site not in self.keys.fruitful

    def _paired(self, first: Op, second: Op) -> bool:
        """Comparing two samples of one key is a mistake; comparing what was computed with them may be meant."""
        return first is not second and not _makes_samples(first) and self.keys.users.are_compared(first, second)

    def of_loop(self, use: Use) -> str:
        """Say why using one key in every turn of a loop looks deliberate, or give an empty text."""
        if use.inner is not None and _EVALUATES.search(callee_of(use.spot)):
            return f"`{callee_of(use.spot)}` sounds like a comparison on the same numbers"
        if not self.keys.users.is_read(use.spot):
            return "nothing is done with the result"
        if not _makes_samples(use.spot) and self.keys.users.is_tabulated(use.spot):
            return "each turn judges another alternative, on common random numbers, it seems"
        return self.said(use, (use.spot.span,))

    def of_map(self, op: Op, use: Use) -> str:
        """Say why using one key for every element of a mapped axis looks deliberate, or give an empty text."""
        if _aligned(use.origin.spot):
            return f"permuting every element of `{op.name}` with one key keeps them aligned"
        if self.keys.users.are_ranked(op):
            return "the results are ranked against each other, which looks like common random numbers"
        if use.inner is not None and _EVALUATES.search(callee_of(use.spot)):
            return f"`{callee_of(use.spot)}` sounds like an evaluation on the same numbers"
        if any(_EVALUATION_KEY.search(name) for name in (*self._names(use), *_unmapped(op))):
            return "its name says that it is for an evaluation, which shares its numbers for fairness"
        return self.said(use, (op.span, use.origin.spot.span))

    def said(self, use: Use, spans: Iterable[Span]) -> str:
        """Look at the key's names, the comments near some places, and the kind of file."""
        if any(_NAME.search(name) for name in self._names(use)):
            return "its name says that it is shared"
        places = [*spans, *self._defined(use.term)]
        if any(self._comment_says(span) for span in places):
            return "a comment nearby says so"
        if any(_TEST_FILE.search(span.path) for span in spans):
            return "this is test code, where it may not matter"
        return ""

    def _names(self, use: Use) -> Iterator[str]:
        inner: Use | None = use
        while inner is not None:
            if inner.value is not None:
                yield inner.value.name
            inner = inner.inner
        for term in (use.term, root(use.term)):
            if term in self.keys.terms.made_by:
                yield self.keys.terms.made_by[term][1].name

    def _defined(self, term: Term) -> Iterator[Span]:
        for one in (term, root(term)):
            if one in self.keys.terms.made_by:
                yield self.keys.terms.made_by[one][0].span

    def _comment_says(self, span: Span) -> bool:
        comments = self.program.comments.get(span.path, {})
        last = min(span.end_line, span.line + 3)
        texts = [comments[line] for line in range(span.line - 2, last + 1) if line in comments]
        return any(_CLEAR.search(text) or (_SHARING.search(text) and _RANDOM.search(text)) for text in texts)


def _unmapped(op: Op) -> Iterator[str]:
    axes = op.attrs.get("in_axes")
    if isinstance(axes, tuple):
        yield from (value.name for value, axis in zip(op.operands, axes, strict=False) if axis is None)


def _makes_samples(op: Op) -> bool:
    return op.name == "key.draw" or _SAMPLES.search(callee_of(op)) is not None


def _same_callee(first: Op, second: Op) -> bool:
    return callee_of(first) == callee_of(second)


def _same_start(first: Op, second: Op) -> bool:
    """One initialiser called twice: an online network and its target."""
    if first is second or first.name != second.name or not callee_of(first).startswith("init"):
        return False
    if not _same_callee(first, second) or len(first.operands) != len(second.operands):
        return False
    if (receiver := first.arguments.get("self")) is not None:
        return receiver is second.arguments.get("self")
    same = [one is other for one, other in zip(first.operands, second.operands, strict=True)]
    # The key is one of the operands; a network that starts alike shares an input too.
    return all(same) or (first.name == "key.draw" and sum(same) > 1)


def _within_library(first: Op, second: Op) -> bool:
    """Two uses that a library makes in one call of the user's: it may know what it does."""
    return first.span == second.span and all(op.text("caller") == "library" for op in (first, second))


def _aligned(op: Op) -> bool:
    return op.name == "key.draw" and callee_of(op) in ("permutation", "shuffle")
