"""Turns what a run showed into obligations: what ended it, what is compiled again and again or not twice the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from jaxaudit.frontends.jaxpr.exceptions.model import Facts
from jaxaudit.frontends.jaxpr.exceptions.named import named_steps
from jaxaudit.frontends.jaxpr.exceptions.table import explain
from jaxaudit.frontends.jaxpr.protocol import Failure, Frame, LateCall, Probe, Reply, Retrace, Unsteady
from jaxaudit.ir.record import replace
from jaxaudit.observation.rebuilds import rebuild_obligations
from jaxaudit.reports.identity import Sources
from jaxaudit.rules.base import Obligation, Raises, Severity, Step, proved, unknown
from jaxaudit.spans import Span

MANY_TRACES = 6
"""From how many further traces of one function on one line it counts as an issue; fewer are the price of a warm-up."""

Shown = Callable[[str], str]


def observed_obligations(reply: Reply, files: Sequence[str], sources: Sources, shown: Shown) -> Iterator[Obligation]:
    """Return what a reply of the tracer shows to be broken."""
    failed = None
    if reply.failure is not None:
        yield (failed := failure_obligation(reply.failure, files, sources, shown))
    yield from retrace_obligations(reply.retraces, shown)
    for one in reply.unsteady:
        if one.failure is not None:
            yield failure_obligation(one.failure, files, sources, shown)
        elif one.late is not None:
            yield _stale(one, one.late, shown)
        elif one.places:
            yield _unsteady(one, shown)
    yield from rebuild_obligations(reply.rebuilt, shown)
    for one in _probe_obligations(reply.probes, shown):
        # What ended the program is told once.
        if failed is None or (failed.rule, failed.span[:2]) != (one.rule, one.span[:2]):
            yield one


def failure_obligation(failure: Failure, files: Sequence[str], sources: Sources, shown: Shown) -> Obligation:
    """Explain an exception at the user's line; without a line of the user's, at the top of the first file."""
    facts = Facts(failure, sources, shown, frozenset(files))
    told = explain(facts)
    span = told.span or facts.span or Span(files[0], 1, 0, 1, 0)
    names = [(frame, frame.function.rpartition("<locals>.")[2]) for frame in facts.frames[-4:-1]]
    way = [(facts.place(frame), _MADE if name == "<module>" else f"`{name}` is running") for frame, name in names]
    steps = (*(told.steps or way), *named_steps(facts, told))
    return Obligation(
        span,
        message=told.message,
        current=told.current,
        raises=Raises.TRACING,
        expected=told.expected,
        steps=tuple(Step(place, text) for place, text in steps if place != span),
        suggestion=told.suggestion,
        rule=told.rule,
    )


_MADE = "the call is made here"


def _unsteady(one: Unsteady, shown: Shown) -> Obligation:
    """Report a function whose every trace computes something else."""
    inner, *outer = one.places
    steps = [Step(_span(at, shown), f"`{at.function.rpartition('<locals>.')[2]}` is running") for at in outer]
    return Obligation(
        _span(inner, shown),
        message=f"`{one.function}` depends on state that changes whenever it is traced: {one.text}",
        current="JAX traces once; every call and turn afterwards repeats what the state was then",
        expected="what changes from call to call is an argument, and is returned where it changes",
        steps=(*steps, Step(_span(one.made, shown), f"`{one.function}` is transformed here")),
        suggestion="pass the state in and return it, or draw with `jax.random` from a key that is passed in",
        rule="side-effect-in-traced-code",
    )


def _stale(one: Unsteady, late: LateCall, shown: Shown) -> Obligation:
    """Report a call that ran what was compiled before what the function reads had changed."""
    inner, *outer = (*one.places, one.made)
    names = ", ".join(f"`{name}`" for name in late.names[:_FEW])
    steps = [Step(_span(at, shown), f"`{at.function.rpartition('<locals>.')[2]}` is running") for at in outer[:-1]]
    if late.call is not None:
        steps.append(Step(_span(late.call, shown), f"call {late.number} is made here"))
    if outer:
        steps.append(Step(_span(one.made, shown), f"`{one.function}` is transformed here"))
    was, had = ("was", "has") if len(late.names) == 1 else ("were", "have")
    return Obligation(
        _span(inner, shown),
        message=f"`{one.function}` still computes with what {names} {was} when it was compiled, seen in this run",
        current=f"{names} {had} changed by call {late.number}, which runs the compiled program of before",
        expected="what changes between calls is an argument",
        steps=tuple(steps),
        suggestion="pass what changes as an argument, or transform the function anew after the change",
        rule="stale-captured-state",
    )


_FEW = 3


def _span(place: Frame, shown: Shown) -> Span:
    return Span(shown(place.path), place.line, place.column, place.end_line, place.end_column)


def retrace_obligations(retraces: Sequence[Retrace], shown: Shown) -> Iterator[Obligation]:
    """Report each call that made JAX trace one function many times, with what changed most often."""
    calls: dict[tuple[str, Span], list[Retrace]] = defaultdict(list)
    for one in retraces:
        if one.call is not None:
            calls[one.name, _span(one.call, shown)].append(one)
    for (name, span), traces in calls.items():
        if len(traces) >= MANY_TRACES:
            yield _retraced(name, span, traces, shown)


def _retraced(name: str, span: Span, traces: Sequence[Retrace], shown: Shown) -> Obligation:
    kind, count = Counter(one.kind for one in traces).most_common(1)[0]
    example = next(one for one in traces if one.kind == kind)
    made = Span(shown(example.path), example.line, 0, example.line, 0)
    return Obligation(
        span,
        severity=Severity.PERFORMANCE,
        message=f"`{name}` is traced and compiled {len(traces) + 1} times by this call: {_CHANGES[kind]}",
        current=f"each time costs a compilation ({count} of them for this reason); the first time {example.detail}",
        expected="one compilation for all calls, or one for each of a few fixed shapes",
        steps=(Step(made, f"`{name}` is transformed here"),) if made.line else (),
        suggestion=_CURES[kind],
        rule="retrace-every-call",
    )


_CHANGES = {
    "shape": "the shapes of its arguments keep changing",
    "dtype": "the dtypes of its arguments keep changing",
    "weak type": "its arguments are sometimes Python numbers and sometimes arrays",
    "static value": "its static arguments keep changing",
    "tree structure": "the structure of its arguments keeps changing",
    "new function": "the function is transformed anew each time",
    "context": "the settings or captured functions keep changing",
}
_CURES = {
    "shape": "pad to one fixed size, or to a few sizes (powers of two), and mask",
    "dtype": "convert the arguments to one dtype before the call",
    "weak type": "wrap the numbers: `jnp.asarray(value, dtype)`",
    "static value": "pass the value as an array, or make the set of values small",
    "tree structure": "keep the same containers and keys in every call",
    "new function": "transform once, outside the loop, and keep the result",
    "context": "keep meshes, settings and captured functions the same between calls",
}


def _probe_obligations(probes: Sequence[Probe], shown: Shown) -> Iterator[Obligation]:
    """Return one obligation for each argument of each rule that was probed."""
    for one in probes:
        if one.place is not None:
            yield replace(
                _OBLIGATIONS[one.verdict](one, _span(one.place, shown), shown), rule="wrong-custom-derivative"
            )


def _subject(one: Probe) -> str:
    of = f" by `{one.argument}`" if one.argument else ""
    return f"the derivative of `{one.function}`{of}"


def _agrees(one: Probe, span: Span, shown: Shown) -> Obligation:
    return proved(span, f"verified by probe, {one.inputs} inputs: {_subject(one)}: {one.text}")


def _differs(one: Probe, span: Span, shown: Shown) -> Obligation:
    where = f"on {one.inputs} random inputs" if one.inputs else "on a random input"
    return Obligation(
        span,
        message=f"{_subject(one)} {one.text}",
        current=f"the `{one.kind}` rule was run {where} and compared with the function itself",
        expected="the rule gives the derivative of the function, linear in the incoming derivative",
        steps=_steps(one, shown),
        suggestion="correct the rule; if it differs on purpose, say so with `# jaxaudit: ignore`",
    )


def _doubtful(one: Probe, span: Span, shown: Shown) -> Obligation:
    return Obligation(
        span,
        severity=Severity.WARNING,
        message=f"{_subject(one)} {one.text}",
        current=f"a probe with {one.inputs} inputs shows it, but not whether it is meant",
        steps=_steps(one, shown),
    )


def _open(one: Probe, span: Span, shown: Shown) -> Obligation:
    # What source shows of the returned expression is less than what is left open: it stands at the function.
    place = _span(one.made, shown) if one.made is not None else span
    return unknown(place, f"{_subject(one)} was not probed to an end: {one.text}")


def _steps(one: Probe, shown: Shown) -> tuple[Step, ...]:
    return (Step(_span(one.made, shown), f"`{one.function}` is defined here"),) if one.made is not None else ()


_OBLIGATIONS: dict[str, Callable[[Probe, Span, Shown], Obligation]] = {
    "agrees": _agrees,
    "estimator": _agrees,
    "differs": _differs,
    "doubtful": _doubtful,
    "open": _open,
}
