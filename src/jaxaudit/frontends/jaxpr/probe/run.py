"""The door: probes every rule that was met, within bounds of time, and tells what it found."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.judge import AGREES, DIFFERS, DOUBTFUL, ESTIMATOR, OPEN, Judgement, judge
from jaxaudit.frontends.jaxpr.probe.measure import (
    COARSE,
    NATIVE,
    WIDE,
    Bench,
    Numbers,
    swapped_leaves,
    swapped_residuals,
)
from jaxaudit.frontends.jaxpr.probe.met import NOTES, Kind, Met
from jaxaudit.frontends.jaxpr.probe.samples import Domain, domains, plans
from jaxaudit.frontends.jaxpr.probe.subject import Subject, traits
from jaxaudit.frontends.jaxpr.probe.where import place_of_function, place_of_rule
from jaxaudit.frontends.jaxpr.protocol import Probe
from jaxaudit.frontends.jaxpr.quiet import muted

SECONDS = 60.0
"""For all rules of a program together."""
SECONDS_EACH = 20.0

_SHAPES = re.compile(r"at output\[(\d+)\].* type \w+\[([\d,]*)\] .* type \w+\[([\d,]*)\]")
_REFUSED = re.compile(r"[Cc]ustom (VJP|JVP)|custom_(vjp|jvp)")
_WORDS = {"seen": "numbers like those seen", "any": "any numbers", "positive": "positive numbers"}
_WORDS |= {"fraction": "numbers between 0 and 1", "definite": "symmetric matrices"}

stuck: list[str] = []
"""Rules whose evaluation has not come back: this process cannot end by itself."""


class Unfit(Exception):  # noqa: N818
    """A rule cannot be probed; the text says why."""


def probe_all(seconds: float = SECONDS) -> tuple[Probe, ...]:
    """Probe all rules that were met so far."""
    found: list[Probe] = []
    end = time.monotonic() + seconds
    NOTES.active = False
    try:
        for met in list(NOTES.all()):
            left = end - time.monotonic()
            if left <= 0 or stuck:
                found.append(_open(met, "the time for probes was used up"))
            else:
                found += _within(min(left, SECONDS_EACH), met)
    finally:
        NOTES.active = True
    return tuple(found)


def _within(seconds: float, met: Met) -> Sequence[Probe]:
    """Probe in a thread of its own: a loop that does not end on our inputs must not hold up the report."""
    answer: list[Sequence[Probe]] = []

    thread = threading.Thread(target=lambda: answer.append(probe(met)), daemon=True)
    # Output is muted from here, so that it is not lost for good when the thread does not come back.
    with muted():
        thread.start()
        thread.join(seconds)
    if thread.is_alive():
        stuck.append(_name(met))
        return [_open(met, f"the probe did not end within {seconds:.0f} seconds")]
    return answer[0] if answer else [_open(met, "the probe failed")]


def probe(met: Met) -> Sequence[Probe]:
    """Probe one rule."""
    try:
        return list(_judged(met))
    except Unfit as error:
        return [_open(met, str(error))]
    except Exception as error:  # noqa: BLE001
        return [_raised(met, error)]


def _judged(met: Met) -> Iterator[Probe]:
    subject = Subject(met)
    if not subject.differentiated:
        raise Unfit("it has no floating-point argument to differentiate by")
    kinds = _sizes(subject)
    made_of = frozenset(traits(_shapes(subject, kinds, subject.met.rule.fun)))
    if "callback" in made_of:
        raise Unfit("the function calls back into Python")
    numbers, verdicts = _best(subject, kinds, made_of)
    verdicts = _statistics(subject, kinds, verdicts)
    if not _same_value(numbers):
        yield _probe(met, DOUBTFUL, "gives another value than the function while derivatives are taken", numbers)
    wrong = any(one.verdict == DIFFERS for one in verdicts)
    why = _cause(subject, kinds, numbers, made_of) if wrong else ""
    for at, verdict in zip(subject.differentiated, verdicts, strict=True):
        leaf = subject.leaves[at]
        if verdict.verdict == DIFFERS and why:
            verdict = replace(verdict, text=f"{verdict.text}; {why}")
        yield replace(_probe(met, verdict.verdict, verdict.text, numbers, leaf.position), argument=leaf.name)


def _statistics(subject: Subject, kinds: Sequence[Kind], verdicts: Sequence[Judgement]) -> list[Judgement]:
    """Take back what is said of saved values that are handed on, beside gradients that are right."""
    wrong = [one.verdict == DIFFERS for one in verdicts]
    if not any(wrong) or all(wrong):
        return list(verdicts)
    handed = _handed_on(subject, [_struct(one) for one in kinds])
    at_fault = [subject.leaves[at].position for at, off in zip(subject.differentiated, wrong, strict=True) if off]
    if not handed.issuperset(at_fault):
        return list(verdicts)
    said = Judgement(DOUBTFUL, "is a value that the forward pass saved, and not a gradient")
    return [said if off else one for one, off in zip(verdicts, wrong, strict=True)]


def _sizes(subject: Subject) -> list[Kind]:
    """Choose sizes that the function and its rule accept."""
    first: Exception | None = None
    for kinds in plans(subject.kinds):
        try:
            _shapes(subject, kinds, subject.met.rule)
        except Exception as error:  # noqa: BLE001
            first = first or error
        else:
            return kinds
    raise Unfit("its arguments are too large to try") if first is None else first


def _shapes(subject: Subject, kinds: Sequence[Kind], function: Any) -> Any:
    made = [_struct(one) for one in kinds]
    flat = subject.vector(function)
    free = [made[at] for at in subject.differentiated]
    rest = [one for at, one in enumerate(made) if at not in subject.differentiated]
    return compat.jax.make_jaxpr(flat)(free, rest)


def _struct(kind: Kind) -> Any:
    jax = compat.jax
    if kind.is_key:
        return jax.eval_shape(lambda: jax.random.split(jax.random.key(0, impl=kind.dtype), kind.shape or 1)[...])
    return jax.ShapeDtypeStruct(kind.shape, jax.numpy.dtype(kind.dtype))


def _best(subject: Subject, kinds: Sequence[Kind], made_of: frozenset[str]) -> tuple[Numbers, list[Judgement]]:
    """Judge on the first kind of numbers that the function takes; a difference must show on the others as well."""
    tried: list[tuple[Numbers, list[Judgement], Domain]] = []
    bench = Bench(subject, kinds)
    for domain in domains(kinds):
        numbers = _measured(bench, domain)
        if numbers is None:
            continue
        verdicts = _verdicts(subject, numbers, made_of)
        if all(one.verdict in (AGREES, ESTIMATOR) for one in verdicts):
            return numbers, _limited(tried[0], verdicts, domain, made_of) if tried else verdicts
        tried.append((numbers, verdicts, domain))
        if any(one.decisive for one in verdicts) and "loop" not in made_of:
            break
    if not tried:
        raise Unfit("the function gives no finite numbers on the inputs that were tried")
    # A loop that does not come to its end on some numbers has no derivative there to compare with.
    return max(tried, key=lambda one: _share(one[0]))[:2] if "loop" in made_of else tried[0][:2]


def _share(numbers: Numbers) -> float:
    return float(min(one.sure.mean() for one in numbers.leaves))


def _limited(
    first: tuple[Numbers, list[Judgement], Domain], now: list[Judgement], domain: Domain, made_of: frozenset[str]
) -> list[Judgement]:
    """Keep what held before; where only this kind of numbers fits, that is a reservation."""
    here, there = _WORDS[domain], _WORDS[first[2]]
    made = []
    for before, after in zip(first[1], now, strict=True):
        if before.verdict in (AGREES, ESTIMATOR):
            made.append(before)
        elif before.verdict == OPEN or domain == "definite" or "loop" in made_of:
            made.append(replace(after, text=f"{after.text} (on {here})"))
        else:
            made.append(Judgement(DOUBTFUL, f"is right for {here} only; on {there} it {before.text}"))
    return made


def _verdicts(subject: Subject, numbers: Numbers, made_of: frozenset[str]) -> list[Judgement]:
    forward = subject.met.kind == "custom_jvp"
    return [judge(one, numbers, made_of, forward=forward) for one in numbers.leaves]


def _measured(bench: Bench, domain: Domain) -> Numbers | None:
    """Measure as exactly as the function allows; None where it gives no finite numbers."""
    try:
        numbers = bench.measure(domain, WIDE)
        if not _settles(numbers):
            coarse = bench.measure(domain, COARSE)
            numbers = coarse if _settles(coarse) else numbers
    except Exception:  # noqa: BLE001
        numbers = Bench(bench.subject, bench.kinds, wide=False).measure(domain, NATIVE)
    return numbers if compat.np.isfinite(numbers.values).mean() > 0.9 else None


def _settles(numbers: Numbers) -> bool:
    return all(one.sure.mean() > 0.8 for one in numbers.leaves if one.sure.size)


def _same_value(numbers: Numbers) -> bool:
    np = compat.np
    known = np.isfinite(numbers.values)
    off = np.abs(numbers.values - numbers.rule_values) > numbers.tolerance * (1 + np.abs(numbers.values))
    return not (off & known).any()


def _cause(subject: Subject, kinds: Sequence[Kind], numbers: Numbers, made_of: frozenset[str]) -> str:
    """Look for a simple mistake that explains a difference."""
    names = [subject.leaves[at].name for at in subject.differentiated]
    pair = swapped_leaves(numbers)
    if pair is not None:
        return f"the derivatives of `{names[pair[0]]}` and `{names[pair[1]]}` are exchanged"

    def fits(rule: Any) -> bool:
        wide = numbers.tolerance < NATIVE.tolerance
        trial = Bench(subject, kinds, rule, wide=wide).measure("any", WIDE if wide else NATIVE)
        return all(one.verdict == AGREES for one in _verdicts(subject, trial, made_of))

    return swapped_residuals(subject.met, fits) if subject.met.kind == "custom_vjp" else ""


def _probe(met: Met, verdict: str, text: str, numbers: Numbers | None = None, position: int | None = None) -> Probe:
    place = place_of_rule(met, position)
    made = place_of_function(met)
    return Probe(_name(met), met.kind, verdict, text, place or made, made, inputs=numbers.inputs if numbers else 0)


def _name(met: Met) -> str:
    place = place_of_function(met)
    return place.function.rpartition(".")[2] if place is not None else str(getattr(met.rule, "__name__", "a function"))


def _open(met: Met, why: str) -> Probe:
    return _probe(met, OPEN, why)


def _raised(met: Met, error: Exception) -> Probe:
    """Explain an exception: JAX refuses the rule, or the function itself could not be run on random inputs."""
    text = (str(error).splitlines() or [""])[0]
    if _REFUSED.match(text) and isinstance(error, TypeError | ValueError):
        return _refused(met, text)
    if "UnexpectedTracer" in type(error).__name__ or "leaked" in text:
        return _open(met, "it is closed over traced values")
    if "allback" in text:
        return _open(met, "it checks its inputs by a callback, which refuses random ones")
    return _open(met, f"it could not be run on random inputs: {type(error).__name__}: {text}"[:240])


def _refused(met: Met, text: str) -> Probe:
    """Return what JAX says about the types that a rule gives."""
    moving = [at for at in range(len(met.args)) if at not in met.static]
    shapes = _SHAPES.search(text)
    if "length equal to the number" in text:
        return _probe(met, DIFFERS, f"is refused by JAX: one gradient is needed for each of {len(moving)} arguments")
    if shapes is None or int(shapes[1]) >= len(moving) or shapes[2] == shapes[3]:
        return _probe(met, DIFFERS, f"is refused by JAX: {text}")
    at = moving[int(shapes[1])]
    names = [leaf.name for leaf in Subject(met).leaves if leaf.position == at]
    advice = ": sum it over the axes that were broadcast" if shapes[2].count(",") > shapes[3].count(",") else ""
    made = _probe(met, DIFFERS, f"has shape ({shapes[2]}) and must have ({shapes[3]}){advice}", None, at)
    return replace(made, argument=names[0] if len(names) == 1 else "")


def _handed_on(subject: Subject, structs: Sequence[Any]) -> set[int]:
    """Return the positions of the arguments whose gradients are saved values that the forward pass computed."""
    if subject.met.kind != "custom_vjp":
        return set()
    try:
        return _read(subject, structs)
    except Exception:  # noqa: BLE001
        return set()


def _read(subject: Subject, structs: Sequence[Any]) -> set[int]:
    met, counts = subject.met, list[int]()

    def both(values: Sequence[Any]) -> Any:
        args = subject.arguments(values)
        out, saved = met.rule.fwd(*args)
        given = met.rule.bwd(*_static(met, args), saved, compat.tree_util.tree_map(compat.jax.numpy.ones_like, out))
        leaves = compat.tree_util.tree_leaves
        counts[:] = [len(leaves(saved)), *(len(leaves(one)) for one in given)]
        return leaves(saved), [leaves(one) for one in given]

    jaxpr = compat.open_jaxpr(compat.jax.make_jaxpr(both)(structs))
    computed = {one for equation in jaxpr.eqns for one in equation.outvars}
    inputs = dict(zip(map(id, jaxpr.invars), (leaf.position for leaf in subject.leaves), strict=False))
    saved, rest = set(map(id, jaxpr.outvars[: counts[0]])), list(jaxpr.outvars[counts[0] :])
    moving = [at for at in range(len(met.args)) if at not in met.static]
    found: set[int] = set()
    for at, count in zip(moving, counts[1:], strict=True):
        own, rest = rest[:count], rest[count:]
        if own and all((id(one) in saved and one in computed) or inputs.get(id(one)) == at for one in own):
            found.add(at)
    return found


def _static(met: Met, args: Sequence[Any]) -> list[Any]:
    return [args[at] for at in sorted(met.static)]
