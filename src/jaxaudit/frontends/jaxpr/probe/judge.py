"""Concludes from numbers what a rule is: right, an estimator on purpose, wrong (and how), or not to be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.measure import Measured, Numbers, typical

AGREES, ESTIMATOR, DIFFERS, DOUBTFUL, OPEN = "agrees", "estimator", "differs", "doubtful", "open"

Array = Any
_ALMOST_ALL = 0.99


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said about the derivative by one argument."""

    verdict: str
    text: str
    """A clause that goes on after the name of the argument or after a colon."""
    decisive: bool = False
    """Whether all numbers tell the same, so that other inputs would tell no more."""


@dataclass(frozen=True, slots=True)
class _Case:
    """The entries of one leaf that can be judged."""

    found: Measured
    tolerance: float
    traits: frozenset[str]
    forward: bool

    @property
    def judged(self) -> Array:
        return self.found.sure & compat.np.isfinite(self.found.rule)

    def close(self, one: Array, other: Array) -> Array:
        """Return where two derivatives agree, relative to their own size and that of their neighbours."""
        np = compat.np
        with np.errstate(invalid="ignore", over="ignore"):
            return np.abs(one - other) <= 3 * self.tolerance * (np.abs(other) + typical(other)) + 1e-7

    def share(self, agreeing: Array, of: Array) -> float:
        """Return the share of entries that agree."""
        return float(agreeing[of].mean()) if of.any() else 0.0

    def is_zero(self, one: Array, beside: Array) -> bool:
        """Whether derivatives are nothing beside others."""
        np = compat.np
        of = self.judged
        return bool(np.abs(one[of]).max(initial=0.0) <= 1e-6 * max(np.abs(beside[of]).max(initial=0.0), 1e-12))


def judge(found: Measured, numbers: Numbers, traits: frozenset[str], *, forward: bool) -> Judgement:
    """Judge the derivative by one leaf."""
    case = _Case(found, numbers.tolerance, traits, forward)
    return _agreement(case) or _shape_of_rule(case) or _reservation(case) or _difference(case)


def _agreement(case: _Case) -> Judgement | None:
    np, found = compat.np, case.found
    settled = found.sure.mean() if found.sure.size else 1.0
    if settled >= 0.5 and case.share(case.close(found.rule, found.truth) & np.isfinite(found.rule), found.sure) >= (
        _ALMOST_ALL
    ):
        return Judgement(AGREES, "autodiff of the function and finite differences agree with it")
    if found.auto is not None:
        known = np.isfinite(found.auto)
        if known.mean() > 0.5 and case.share(case.close(found.rule, found.auto), known) >= _ALMOST_ALL:
            return Judgement(AGREES, "autodiff of the function agrees with it")
    if found.truth.size == 0:
        return Judgement(AGREES, "the argument is empty")
    if settled < 0.5:
        return Judgement(OPEN, "finite differences of the function do not settle")
    return None


def _shape_of_rule(case: _Case) -> Judgement | None:
    """Recognise what is meant to differ: the rule passes the cotangent on, or a part of it."""
    found = case.found
    unused = not case.is_zero(found.rule, found.truth) and _ignores(case)
    if unused:
        what = "tangent" if case.forward else "cotangent"
        return Judgement(DIFFERS, f"does not depend on the {what} (the incoming derivative is ignored)", decisive=True)
    if found.unchanged:
        return Judgement(ESTIMATOR, f"the function gives its argument back, and the rule is {_passing(case)}")
    flat = case.is_zero(found.truth, found.rule)
    if flat:
        return Judgement(ESTIMATOR, f"{_passing(case)} ({_kind(case)}: the function itself is flat)")
    if case.is_zero(found.rule, found.truth):
        return Judgement(DOUBTFUL, "is always zero, though the function depends on it")
    if not _linear(case):
        return _clipped(case)
    return _near_identity(case)


def _clipped(case: _Case) -> Judgement:
    """A rule that is right for small cotangents and bounded for large ones clips on purpose."""
    small, whole = case.found.rule[:, 5] * 1e3, case.found.truth[:, 0]
    of = case.judged[:, 0]
    if not case.forward and case.share(case.close(small, whole), of) >= _ALMOST_ALL:
        return Judgement(ESTIMATOR, "agrees with the function for small cotangents and clips large ones")
    return Judgement(DOUBTFUL, "is not linear in the incoming derivative, and differs from that of the function")


def _near_identity(case: _Case) -> Judgement | None:
    """The rule passes the cotangent on where the function is the identity in places (`clip`, `round`) or anywhere."""
    np, found = compat.np, case.found
    if found.identity is None or _passing(case) == _OTHER:
        return None
    of = case.judged
    pieces = case.close(found.truth, found.identity) | (np.abs(found.truth) <= 1e-6 * (1 + np.abs(found.identity)))
    if "rounds" in case.traits or case.share(pieces, of) >= _ALMOST_ALL:
        return Judgement(ESTIMATOR, f"{_passing(case)} (straight-through)")
    return Judgement(DOUBTFUL, f"is {_passing(case)}, which the function itself is not")


def _reservation(case: _Case) -> Judgement | None:
    """Return why a difference that was found is no proof of a mistake."""
    np, found = compat.np, case.found
    if "rounds" in case.traits:
        return Judgement(OPEN, "the function rounds or chooses, so its derivative is a matter of choice")
    if "random" in case.traits:
        return Judgement(OPEN, "the function draws random numbers, so its derivative is a matter of choice")
    if found.auto is not None:
        known = case.judged & np.isfinite(found.auto)
        if known.mean() > 0.5 and case.share(case.close(found.auto, found.truth), known) < 0.95:
            return Judgement(OPEN, "autodiff of the function and finite differences disagree with each other")
    if (found.sure & ~np.isfinite(found.rule)).mean() > 0.2:
        return Judgement(DOUBTFUL, "is not finite at points where the function is smooth")
    return None


def _difference(case: _Case) -> Judgement:
    np, found = compat.np, case.found
    of = case.judged & (np.abs(found.truth) > 0.05 * np.abs(found.truth[case.judged]).mean())
    ratios = found.rule[of] / found.truth[of]
    middle = float(np.median(ratios))
    if np.abs(ratios - middle).max(initial=0.0) <= 0.02 * abs(middle) + 5 * case.tolerance:
        return Judgement(DIFFERS, f"is {times(middle)} what it should be", decisive=True)
    agree = case.close(found.rule, found.truth)[case.judged]
    off = case.judged & ~case.close(found.rule, found.truth)
    if agree.mean() > 0.2 and (_none(found.rule, off, found) or _none(found.truth, off, found)):
        return Judgement(
            DOUBTFUL, "differs from that of the function for a part of the inputs, where one of them is zero"
        )
    if "loop" in case.traits:
        return Judgement(DOUBTFUL, f"differs from that of the loop as it runs ({spread(ratios)} of it)")
    if np.median(np.abs(ratios - 1)) < 0.1 and agree.mean() < 0.2:
        return Judgement(DOUBTFUL, f"is close to that of the function, but not equal ({spread(ratios)})")
    return Judgement(DIFFERS, f"is {spread(ratios)} what it should be")


def _none(one: Array, of: Array, found: Measured) -> bool:
    np = compat.np
    return bool(np.abs(one[of]).max(initial=0.0) <= 1e-6 * max(np.abs(found.truth).max(), 1e-12))


def _ignores(case: _Case) -> bool:
    found, close = case.found, case.close
    if case.forward:
        assert found.doubled is not None
        return case.share(close(found.doubled, found.rule), case.judged) >= _ALMOST_ALL
    first = found.rule[:, :1]
    return bool(close(found.rule, first + 0 * found.rule)[case.judged].all()) and found.rule.shape[1] > 1


def _linear(case: _Case) -> bool:
    found, close = case.found, case.close
    if case.forward:
        assert found.doubled is not None
        return case.share(close(found.doubled, 2 * found.rule), case.judged) >= _ALMOST_ALL
    rule, of = found.rule, case.judged[:, 0]
    return (
        case.share(close(rule[:, 2], rule[:, 0] + rule[:, 1]), of) >= _ALMOST_ALL
        and case.share(close(rule[:, 3], 2 * rule[:, 0]), of) >= _ALMOST_ALL
    )


_OTHER = "another linear map"


def _passing(case: _Case) -> str:
    """Describe a rule beside the identity."""
    np, found = compat.np, case.found
    if case.is_zero(found.rule, found.identity if found.identity is not None else 1 + 0 * found.rule):
        return "zero (no gradient passes)"
    if found.identity is None:
        return _OTHER if _linear(case) else "not linear in the incoming derivative (clipped or normalised)"
    if not _linear(case):
        return "not linear in the incoming derivative (clipped or normalised)"
    of = case.judged & (np.abs(found.identity) > 1e-9)
    ratios = found.rule[of] / found.identity[of]
    masked = ratios[np.abs(ratios) > 1e-9]
    middle = float(np.median(masked)) if masked.size else 0.0
    if masked.size == 0 or np.abs(masked - middle).max() > 1e-3 * abs(middle) + 1e-6:
        return _OTHER
    name = "identity" if abs(middle - 1) < 1e-3 else f"{times(middle)} the identity"
    return name if masked.size == ratios.size else f"{name}, masked"


def _kind(case: _Case) -> str:
    return "straight-through" if _passing(case) != _OTHER else "a surrogate gradient"


def times(ratio: float) -> str:
    """Return a ratio in words: `-1 times`, `twice`, `0.5 times`."""
    if abs(ratio - 2) < 1e-2:
        return "twice"
    near = round(ratio)
    return f"{near if near and abs(ratio - near) < 1e-2 * abs(near) else f'{ratio:.3g}'} times"


def spread(ratios: Sequence[float]) -> str:
    """Return in words the bounds within which most ratios lie."""
    np = compat.np
    low, high = (float(np.quantile(ratios, share)) for share in (0.1, 0.9))
    return f"between {low:.3g} and {high:.3g} times"
