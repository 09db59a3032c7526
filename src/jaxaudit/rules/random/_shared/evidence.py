"""Signs that a key is shared on purpose: then it is a warning at most.

People share keys for common random numbers, antithetic pairs, or to start two networks alike. The code says so (equal
calls, results that are compared), a comment gives the purpose, or the key's own name does. Nobody can tell in a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import How, KeyFacts, Use
from jaxaudit.analyses.keys.conflicts import Conflict
from jaxaudit.analyses.keys.terms import Each, Number, Seed, Term, root
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.random._shared.alignment import keeps_aligned
from jaxaudit.rules.random._shared.comments import states_purpose
from jaxaudit.rules.random._shared.harmless import fixed_inside, is_given, reason_of_pair, renewed_inside
from jaxaudit.rules.test_code import in_test
from jaxaudit.spans import Span

_NAME = re.compile(
    r"(^|_)(shared?|common|same|fixed|const(ant)?|crn|static|frozen|dummy|placeholder|example)(_|$)", re.IGNORECASE
)
_INVERSE = re.compile(r"(?<![a-z])(inverse|invert|inv|undo|un|de|reverse)_?(?=[a-z])|_(inverse|inv|undo)$")
_SAMPLES = re.compile(r"sampl|draw|noise|generat|random|init|make|create|build|new", re.IGNORECASE)
_EVALUATION_KEY = re.compile(r"(^|_)eval(uation)?(_|$)", re.IGNORECASE)
_EVALUATES = re.compile(r"eval|score|bench|compar|validat|measure|test|plot|report|time", re.IGNORECASE)

IN_TEST = "this is test code, where it may not matter"
RUN_BY_TEST = "a test runs this, where it may not matter"
EXPLICIT = "if it is meant, say so: `jax.random.clone(key)` for the second use, or a comment that says what for"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Looks for signs of purpose in one program."""

    program: Program
    keys: KeyFacts

    @classmethod
    def of(cls, facts: Facts) -> Evidence:
        """Make the evidence of the program whose facts these are."""
        keys = facts.get(KeyFacts)
        return cls(facts.program, keys)

    def of_pair(self, conflict: Conflict) -> str:
        """Say why two uses of one key look deliberate, or give an empty text."""
        first, second = conflict.first.spot, conflict.second.spot
        if _same_start(first, second) or _one_module(conflict):
            return f"both are made by the same `{callee_of(first)}`, so that they start alike, it seems"
        if _undoes(callee_of(first), callee_of(second)):
            return f"`{callee_of(second)}` undoes what `{callee_of(first)}` did, with the same numbers, it seems"
        if self._fruitless(conflict.first):
            return f"nothing is drawn from the keys that `{callee_of(first)}` splits off"
        if self._other_rows(conflict):
            return "both splits give the same keys, but so far nobody uses the same one twice"
        if harmless := reason_of_pair(self.keys, conflict):
            return harmless
        if idle := [one.spot for one in (conflict.first, conflict.second) if self._is_idle(one.spot)]:
            return f"nothing is done with what `{callee_of(idle[0])}` gives"
        if first is not second and all(one.inner is not None for one in (conflict.first, conflict.second)):
            if all(self._is_reported(one) for one in (first, second)):
                return "both results are only reported: an evaluation on equal terms, it seems"
        if self._is_default(conflict):
            return "it is the default of a parameter, and two runs on the same numbers are compared, it seems"
        if self._dry_run(conflict):
            return "its seed is fixed, and what is computed with it is dropped in the end"
        if _aligned(conflict.first.origin.spot) and _aligned(conflict.second.origin.spot):
            return "permuting two arrays with one key keeps them aligned"
        if _same_choice(conflict.first.origin.spot, conflict.second.origin.spot):
            return "choosing from two arrays with one key keeps what is chosen aligned"
        if _within_library(conflict.first.origin.spot, conflict.second.origin.spot):
            return "both uses are inside one call of a library"
        if first is not second and self.keys.users.are_equated(first, second):
            return "both results are checked to be equal"
        if first is not second and self.keys.users.are_told_apart(first, second):
            return "both results are checked for differences"
        if first is not second and _same_callee(first, second) and self.keys.users.share_owner(first, second):
            return f"`{callee_of(first)}` treats two parts of one record alike, it seems"
        if _same_callee(first, second) and self._paired(first, second):
            return f"both results of `{callee_of(first)}` are compared, which looks like common random numbers"
        return self.said(conflict.second, (first.span, second.span))

    def _fruitless(self, use: Use) -> bool:
        """A callee splits the key for its own ends, and its caller drops what it gives."""
        return use.inner is not None and use.origin.how is How.SPLIT and use.origin.site not in self.keys.fruitful

    def _other_rows(self, conflict: Conflict) -> bool:
        """Two splits of one key give the same keys, but nobody uses the same one."""
        uses = (conflict.first.origin, conflict.second.origin)
        if any(use.how is not How.SPLIT for use in uses) or uses[0].site is uses[1].site:
            return False
        first, second = (self.keys.fruitful.get(use.site, frozenset()) for use in uses)
        return bool(first and second) and None not in (*first, *second) and first.isdisjoint(second)

    def _dry_run(self, conflict: Conflict) -> bool:
        """A key with a fixed seed, to see whether parts fit together: the numbers themselves are dropped."""
        seed = root(conflict.second.term)
        # A trace does not show what Python prints or stores, so nothing can be said to be dropped in it.
        if self.program.front_end == "jaxpr" or not (isinstance(seed, Seed) and isinstance(seed.data, Number)):
            return False
        uses = (conflict.first, conflict.second)
        return any(one.how is How.DRAW and self.keys.users.comes_to_nothing(one.spot) for one in uses)

    def _is_reported(self, op: Op) -> bool:
        """Whether what a call computes is only listed or plotted; a list of samples shows that they repeat."""
        users = self.keys.users
        return users.is_only_plotted(op) or (not _makes_samples(op) and users.is_only_reported(op))

    def _is_default(self, conflict: Conflict) -> bool:
        """Two calls that give nothing leave the key to the default of a parameter, in the head of a function."""
        uses = (conflict.first, conflict.second)
        made = self.keys.terms.made_by.get(root(conflict.second.term))
        first, second = (self._dropped_call(use.spot) for use in uses)
        if made is None or first is None or second is None or first is second:
            return False
        seed, region = made[0], self.keys.places.region_of[uses[1].origin.spot]
        around = [one for one, _ in self.keys.places.up(region) if one.kind == "function"]
        inside = [one for one, _ in self.keys.places.up(self.keys.places.region_of[seed])]
        return any(_holds(one.span, seed.span) and one not in inside for one in around)

    def _dropped_call(self, op: Op) -> Op | None:
        """Return the outermost call around an op that stands as a statement of its own."""
        around = (one for _, one in self.keys.places.up(self.keys.places.region_of[op]) if one is not None)
        calls = [one for one in (op, *around) if one.name == "py.call"]
        return next((one for one in reversed(calls) if not one.results or self.keys.users.is_dropped(one)), None)

    def _is_idle(self, op: Op) -> bool:
        """Whether a call does nothing but compute, and nobody reads what: compiled code computes only."""
        return self.keys.users.is_dropped(op) and (op.name == "jit" or is_pure(op))

    def _paired(self, first: Op, second: Op) -> bool:
        """Comparing two samples of one key is a mistake; comparing what was computed with them may be meant."""
        return first is not second and not _makes_samples(first) and self.keys.users.are_compared(first, second)

    def of_loop(self, use: Use, loop: Op | None = None) -> str:
        """Say why using one key in every turn of a loop looks deliberate, or give an empty text."""
        if loop is not None and fixed_inside(self.keys, loop, use):
            return f"`{callee_of(use.spot)}` holds its key fixed and is given one piece of data after the other"
        if loop is not None and loop.name in ("py.loop", "py.while") and renewed_inside(self.keys, loop, use):
            return "every turn puts a new key into an object, which may be the one that is used"
        if loop is not None and keeps_aligned(self.keys.facts.flow, loop, use):
            return "picking the same places in every item keeps them aligned"
        if use.inner is not None and _EVALUATES.search(callee_of(use.spot)):
            return f"`{callee_of(use.spot)}` sounds like a comparison on the same numbers"
        if loop is not None and _tries_settings(loop, use.spot):
            return "each turn tries another of some settings that are written here, on common random numbers, it seems"
        if not self.keys.users.is_read(use.spot):
            return "nothing is done with the result"
        if not _makes_samples(use.spot) and self.keys.users.is_tabulated(use.spot):
            return "each turn judges another alternative, on common random numbers, it seems"
        if loop is not None and self.keys.users.is_reported_now_and_then(use.spot, loop):
            return "only some turns use it, and no later turn gets the result: a report on equal terms, it seems"
        if use.inner is not None and self._is_reported(use.spot):
            return f"what `{callee_of(use.spot)}` gives is only reported"
        return self.said(use, (use.spot.span,))

    def of_map(self, op: Op, use: Use) -> str:
        """Say why using one key for every element of a mapped axis looks deliberate, or give an empty text."""
        if _aligned(use.origin.spot):
            return f"permuting every element of `{op.name}` with one key keeps them aligned"
        if keeps_aligned(self.keys.facts.flow, op, use):
            return "picking the same places in every leaf keeps them aligned"
        if op.name == "tree.map" and renewed_inside(self.keys, op, use):
            return "the mapped function puts a new key in its place each time, it seems"
        if op.name == "pmap" and use.inner is not None and not is_given(self.keys, op, use):
            return "the mapped function holds its key fixed, which is often meant for devices"
        if op.name == "vmap" and not is_given(self.keys, op, use) and _asks_for_key(use.origin.spot):
            return "the mapped function holds it fixed, and `apply` asks for a key whether it draws or not"
        if _mapped_inside(use):
            return "each of its keys serves another element of a function mapped inside, so alternatives share them"
        if _judges_parameters(op):
            return "every element applies other parameters to the same data, on common random numbers, it seems"
        if self.keys.users.are_ranked(op):
            return "the results are ranked against each other, which looks like common random numbers"
        if use.inner is not None and _EVALUATES.search(callee_of(use.spot)):
            return f"`{callee_of(use.spot)}` sounds like an evaluation on the same numbers"
        if any(_EVALUATION_KEY.search(name) for name in (*self._names(use), *_unmapped(op))):
            return "its name says that it is for an evaluation, which shares its numbers for fairness"
        return self.said(use, (op.span, use.origin.spot.span))

    def is_only_tested(self, purpose: str, span: Span) -> bool:
        """Whether nobody needs to hear of it: it is in a test, where any sign of purpose is enough."""
        return purpose == IN_TEST or (purpose != "" and self.program.front_end == "source" and in_test(span))

    def said(self, use: Use, spans: Iterable[Span]) -> str:
        """Look at the key's names, the comments near some places, and the kind of file."""
        if any(_NAME.search(name) for name in self._names(use)):
            return "its name says that it is shared"
        places = [*spans, *self._defined(use.term)]
        if any(self._comment_says(span) for span in places):
            return "a comment nearby says so"
        if any(map(in_test, spans)) or self._tried(use.spot):
            return IN_TEST if self.program.front_end == "source" else RUN_BY_TEST
        return ""

    def _tried(self, op: Op) -> bool:
        """Whether an op is part of a function that test runners would call."""
        around = (region for region, _ in self.keys.places.up(self.keys.places.region_of[op]))
        function = next((region for region in around if region.kind in ("function", "root")), None)
        return function is not None and function.label.rpartition(".")[2].startswith("test_")

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
        return any(map(states_purpose, texts))


def _undoes(first: str, second: str) -> bool:
    """Whether one function is called the inverse of the other."""
    return _INVERSE.sub("", second) == first != second or _INVERSE.sub("", first) == second != first


def _holds(span: Span, inner: Span) -> bool:
    return span.path == inner.path and span.line <= inner.line <= span.end_line


def _tries_settings(loop: Op, call: Op) -> bool:
    """Whether a loop goes over constants that are written out, and a call in it is given the one of the turn.

    A draw is no trial: the constants are the shapes of what is drawn.
    """
    for op in loop.regions[0].ops if loop.name == "py.loop" and call.name != "key.draw" else ():
        items = op.arguments.get("iterable") if op.name == "py.element" else None
        if isinstance(items, tuple) and not any(isinstance(one, Value) for one in items):
            return any(made in call.operands for made in op.results)
    return False


def _unmapped(op: Op) -> Iterator[str]:
    axes = op.in_axes
    if isinstance(axes, tuple):
        yield from (value.name for value, axis in zip(op.operands, axes, strict=False) if axis is None)


def _makes_samples(op: Op) -> bool:
    if op.name == "key.draw" and callee_of(op) == "apply":
        return False
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


def _one_module(conflict: Conflict) -> bool:
    """One module initialised twice with one key, wherever that is written: an online network and its target."""
    first, second = conflict.first, conflict.second
    ways = [one.origin.spot for one in (first, second)]
    if any(op.name != "key.draw" or callee_of(op) != "init" for op in ways) or first.spot is second.spot:
        return False
    module = ways[0].object_id
    if module is None:
        # A transformed function of a library: one call of it, made twice with the same arguments.
        alike = ways[0].qualified == ways[1].qualified and _same_callee(first.spot, second.spot)
        return alike and first.spot.operands == second.spot.operands
    if module != ways[1].object_id:
        return False
    return ways[0] is not ways[1] or first.spot.operands == second.spot.operands


def _same_choice(first: Op, second: Op) -> bool:
    """Two choices that differ in nothing but the array that is chosen from."""
    if first.name != "key.draw" or callee_of(first) != "choice" or not _same_callee(first, second):
        return False
    rest, other = ({k: v for k, v in op.arguments.items() if k != "a"} for op in (first, second))
    arrays = [op.arguments.get("a") for op in (first, second)]
    return rest == other and all(isinstance(one, Value) for one in arrays) and arrays[0] is not arrays[1]


def _asks_for_key(op: Op) -> bool:
    """Whether an op runs a module with a key for it as a whole, though it may draw nothing."""
    return op.name == "key.draw" and plays(op.qualified, "module.apply") and not op.folds


def _mapped_inside(use: Use) -> bool:
    """Whether a function mapped further in gives every element a key of its own from the shared array."""
    inner: Use | None = use
    while inner is not None:
        if inner.site.name in ("vmap", "pmap") and isinstance(inner.term, Each):
            return True
        inner = inner.inner
    return False


def _judges_parameters(op: Op) -> bool:
    """Whether what is mapped are the parameters of a network, and nothing else."""
    axes = op.in_axes
    if op.name != "vmap" or not isinstance(axes, tuple) or not op.regions:
        return False
    mapped = {param for param, axis in zip(op.regions[0].params, axes, strict=False) if axis is not None}
    return bool(mapped) and all(one in _applied(op.regions[0]) for one in mapped)


def _applied(region: Region) -> set[Value]:
    """Return the values that a region applies networks to as their parameters, seen from the region."""
    found: set[Value] = set()
    for op in region.ops:
        if op.qualified.endswith("Module.apply"):
            found.update(one for one in (op.arguments.get("variables"),) if isinstance(one, Value))
        for inner in op.regions:
            outside = dict(zip(inner.params, op.operands, strict=False))
            found.update(outside.get(value, value) for value in _applied(inner))
    return found


def _within_library(first: Op, second: Op) -> bool:
    """Two uses that a library makes in one call of the user's: it may know what it does."""
    return first.span == second.span and all(op.caller == "library" for op in (first, second))


def _aligned(op: Op) -> bool:
    return op.name == "key.draw" and callee_of(op) in ("permutation", "shuffle")
