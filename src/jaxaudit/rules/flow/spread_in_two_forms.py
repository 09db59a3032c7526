"""The rule `spread-in-two-forms`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning.centred import Scaled, divided_by_variance
from jaxaudit.analyses.meaning.spreads import Form, Home, Reading, readings
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import COMPUTED
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, proved

_ENCODER = """
def encode(w, x):
    return x @ w["mean"], x @ w["spread"]

def divergence(mean, spread):
    return 0.5 * jnp.sum(jnp.exp(spread) + mean**2 - 1.0 - spread)

def loss(w, x, key):
    mean, spread = encode(w, x)
    z = mean + jnp.exp({times}spread) * jax.random.normal(key, mean.shape){mark}
    return jnp.mean((z - x) ** 2) + divergence(mean, spread)
"""

_POLICY = """import distrax

def policy(w, obs):
    return obs @ w["mean"], obs @ w["spread"]

def act(w, obs, key):
    mean, spread = policy(w, obs)
    return mean + jnp.exp(spread) * jax.random.normal(key, mean.shape)

def score(w, obs, action):
    mean, spread = policy(w, obs)
    return distrax.Normal(mean, {given}).log_prob(action){mark}
"""

_RUNNING = """
class Normaliser:
    def __init__(self, size):
        self.centre, self.squares, self.count = jnp.zeros(size), jnp.zeros(size), 0.0

    def update(self, batch):
        n, mean = batch.shape[0], batch.mean(axis=0)
        delta, total = mean - self.centre, self.count + n
        self.squares = self.squares + jnp.sum((batch - mean) ** 2, axis=0) + delta**2 * self.count * n / total
        self.centre, self.count = self.centre + delta * n / total, total

    def __call__(self, x):
        variance = self.squares / jnp.maximum(self.count, 1.0)
        return jnp.clip((x - self.centre) / {spread}, -10.0, 10.0){mark}

def collect(key):
    normalise = Normaliser(3)
    for one in jax.random.split(key, 4):
        batch = jax.random.normal(one, (16, 3))
        normalise.update(batch)
        print(normalise(batch))

collect(jax.random.key(0))
"""


class SpreadInTwoForms(Rule):
    """One value is a standard deviation here, and a variance or a logarithm there.

    ## What it does
    Finds the values that tell how far something spreads, by what reads them: noise is multiplied by a standard
    deviation, `scale` of a normal distribution is one, and a density or divergence has a spread beside its logarithm.
    Exponentials, roots, squares, and multiples inside of them are undone, so that each reading says what the value
    itself is taken for. All readings of one value must agree. Data less their mean are divided by a standard deviation:
    squares that are averaged, be it from batch to batch, are a variance.

    ## Why is this bad?
    Noise has the wrong size, or a divergence pulls to the wrong one. All shapes fit and the loss falls, so nothing
    shows but a worse model.

    ## Example
        z = mean + jnp.exp(log_var) * noise
        kl = 0.5 * jnp.sum(jnp.exp(log_var) + mean**2 - 1.0 - log_var)

    ## Use instead
        z = mean + jnp.exp(0.5 * log_var) * noise
        kl = 0.5 * jnp.sum(jnp.exp(log_var) + mean**2 - 1.0 - log_var)

    ## When it cannot tell
    A value that is read as a spread once has no other reading to agree with. A number that was given, as a step size
    is, may be meant in both ways: that is a warning.
    """

    summary = "One value is read as a standard deviation here and as a variance or a logarithm there."

    valid = (
        Example(_RUNNING.format(spread="jnp.sqrt(variance + 1e-8)", mark=""), "the root of a running variance"),
        Example(
            """
            def directions(x, y, noise):
                apart = x - y
                pull = apart / (jnp.sum(apart**2, axis=-1, keepdims=True) + 1e-6)
                weights = (x.mean(axis=0) - y.mean(axis=0)) / x.var(axis=0)
                score = -(x - x.mean(axis=0)) / x.var(axis=0)
                return pull, weights, score, jnp.sum((x - x.mean(0)) ** 2 / x.var(0))
            """,
            "a force, a discriminant, a score and a distance",
        ),
        Example(_ENCODER.format(times="0.5 * ", mark=""), "a log-variance at both places"),
        Example(_POLICY.format(given="jnp.exp(spread)", mark=""), "the logarithm of a scale at both places"),
    )
    invalid = (
        Example(_ENCODER.format(times="", mark="  #!"), "half is missing"),
        Example(_POLICY.format(given="spread", mark="  #!"), "the exponential is missing"),
        Example(
            """
            def whiten(x):
                mean, spread = x.mean(axis=0), x.var(axis=0)
                return (x - mean) / (spread + 1e-6)  #!
            """,
            "the root is missing",
        ),
        Example(_RUNNING.format(spread="(variance + 1e-8)", mark="  #!"), "the root of a running variance is missing"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every value that is read as a spread at several places."""
        found = defaultdict[Home, dict[Op, Reading]](dict)
        for one in readings(facts.flow):
            found[one.home].setdefault(one.op, one)
        judged = [one for same in found.values() for one in _judge(list(same.values()), facts.flow)]
        yield from judged
        told = {one.span for one in judged if one.verdict is Verdict.VIOLATED}
        yield from (_unscaled(one) for one in divided_by_variance(facts.flow) if one.op.span not in told)


def _unscaled(one: Scaled) -> Obligation:
    return Obligation(
        one.op.span,
        message="data less their mean are divided by a variance, not by a standard deviation",
        current="the result has the inverse of the unit of the data: wide features shrink, narrow ones are blown up",
        expected="all features are of one scale",
        steps=(Step(one.variance.span, "squares are averaged here"),),
        suggestion="divide by `jnp.sqrt(...)` of the variance",
    )


def _judge(found: list[Reading], flow: Flow) -> Iterator[Obligation]:
    forms = Counter(one.form for one in found)
    if len(forms) == 1:
        yield from (proved(one.op.span, f"all places that read it take it for {one.form}") for one in found[1:])
        return
    # What it was made to be counts most, then a logarithm, which is only taken on purpose, then the more frequent form.
    usual = max(forms, key=lambda form: _weight(form, forms[form], found))
    first = next(one for one in found if one.form == usual)
    for one in found:
        if one.form != usual:
            sure = usual.log or _is_computed(one, flow) or any(_is_density(form, found) for form in forms)
            yield _finding(one, first, sure=sure)


def _weight(form: Form, times: int, found: list[Reading]) -> tuple[bool, bool, int, bool]:
    return _is_made(form, found), form.log, times, _is_density(form, found)


def _is_made(form: Form, found: list[Reading]) -> bool:
    return any(one.form == form and one.op.name == "array.reduce" for one in found)


def _is_density(form: Form, found: list[Reading]) -> bool:
    """Whether a density reads this form: with two parts that fit each other it is the better evidence."""
    return any(one.form == form and one.op.name == "array.map" and one.op.function != "multiply" for one in found)


def _is_computed(reading: Reading, flow: Flow) -> bool:
    made = flow.own_maker(reading.value)
    return made is not None and made.name in COMPUTED


def _finding(one: Reading, other: Reading, *, sure: bool) -> Obligation:
    name = f"`{one.name}`" if one.name else "this value"
    handed = [Step(call.span, f"{name} is handed on here") for call in (*one.way[-1:], *other.way[-1:])]
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{name} is taken for {one.form}, elsewhere for {other.form}",
        current=one.how,
        expected="one value is read in one form",
        steps=(Step(one.value.span, f"{name} is made here"), *handed, Step(other.op.span, other.how)),
        suggestion=f"convert {name} where it is read: by `exp`, `sqrt`, or `0.5 *` inside of `exp`",
    )
