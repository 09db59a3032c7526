"""The rule `meaning-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import Kind, Meaning, Meanings, meanings_of
from jaxaudit.analyses.meaning.read import Taker, scores
from jaxaudit.ir import Op, Program
from jaxaudit.ir.functions import ARITHMETIC, LABELS
from jaxaudit.libraries.meanings import APPLIED_TO_LOGITS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown

_LOSS = """import optax

def loss(w, x, labels):
    scores = {made}
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean(){mark}
"""


class MeaningMismatch(Rule):
    """A function is given probabilities, log-probabilities or logits where it takes another of these.

    ## What it does
    Finds places that take a value for logits, probabilities or log-probabilities, and reads off the ops that made the
    value what it is: a softmax gives probabilities, `log_softmax` and the logarithm of probabilities give
    log-probabilities, written out or called. Probabilities in a loss, a softmax or `categorical` that takes logits, and
    the logarithm of log-probabilities, are errors. The exponential of probabilities is a warning.

    ## Why is this bad?
    A softmax of probabilities is nearly uniform: the loss hardly falls, and the model looks merely bad. The logarithm
    of log-probabilities is NaN.

    ## Example
        probs = jax.nn.softmax(scores)
        loss = optax.softmax_cross_entropy_with_integer_labels(probs, labels)

    ## Use instead
        loss = optax.softmax_cross_entropy_with_integer_labels(scores, labels)

    ## When it cannot tell
    Where the value comes from code that is not followed, it is left open. Names are never evidence. A softmax along
    another axis than the first is taken for intended.
    """

    summary = "A function takes logits, probabilities or log-probabilities and is given another of these."

    valid = (
        Example(_LOSS.format(made="x @ w", mark=""), "logits"),
        Example(_LOSS.format(made="jax.nn.log_softmax(x @ w)", mark=""), "log-probabilities do no harm"),
    )
    invalid = (
        Example(
            """
            import flax.linen as nn
            import optax

            def distil(student, teacher, x):
                mine = nn.Dense(10).apply(student, x)
                soft = nn.Dense(10).apply(teacher, x) / 2.0
                return optax.softmax_cross_entropy(mine, soft).mean()  #!

            def match(student, x, y):
                return optax.kl_divergence(jax.nn.softmax(x @ student), jax.nn.softmax(y))  #!
            """,
            "scores for labels, probabilities for their logarithms",
        ),
        Example(
            """
            import optax

            def smoothed(w, x, classes):
                labels = optax.smooth_labels(jax.nn.one_hot(classes, 10), 0.1)
                return optax.softmax_cross_entropy(labels, x @ w).mean()  #!

            def mixed(w, x, classes, share):
                labels = jax.nn.one_hot(classes, 10)
                labels = share * labels + (1.0 - share) * labels[::-1]
                return optax.softmax_cross_entropy(labels, x @ w).mean()  #!
            """,
            "labels for logits",
        ),
        Example(_LOSS.format(made="jax.nn.softmax(x @ w)", mark="  #!"), "probabilities in a logits loss"),
        Example(
            """
            def act(w, x, key):
                probs = jnp.exp(x @ w) / jnp.sum(jnp.exp(x @ w), axis=-1, keepdims=True)
                weights = jax.nn.softmax(x @ w)
                entropy = -jnp.sum(weights * jnp.log(jax.nn.log_softmax(x @ w)))  #!
                return jax.random.categorical(key, weights), entropy  #!
            """,
            "probabilities drawn from as logits, the logarithm of log-probabilities",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place that takes a value for logits, probabilities or log-probabilities."""
        meanings = meanings_of(facts)
        judged = [_judge(taker, meanings) for taker in meanings.takers]
        traced = program.front_end == "jaxpr"
        for op in program.mapping("log", "exp"):
            inside = traced and (op.api or op.library)
            if len(op.operands) == 1 and not op.is_derived and not inside:
                judged.append(_judge_inverse(op, meanings.of(op.operands[0])))
        yield from (one for one in judged if one is not None)


def _judge(taker: Taker, meanings: Meanings) -> Obligation | None:
    found = meanings.of(taker.value)
    if taker.wants is Kind.LOGITS:
        if not taker.applies:
            return None
        return _judge_scores(taker, meanings) if found is None else _judge_logits(taker, found)
    layer = scores(meanings.flow, taker.value) if found is None else None
    if layer is not None:
        made = Meaning(Kind.LOGITS, layer, "the layer")
        return _finding(taker, made, "a layer gives numbers of any sign, which do not add up to one")
    if found is None or found.kind not in (Kind.PROBABILITIES, Kind.LOG_PROBABILITIES):
        return None
    if found.kind is taker.wants:
        return _fits(taker, found)
    logs = found.kind is Kind.LOG_PROBABILITIES
    why = "they are at most zero, so they are no probabilities" if logs else "nothing takes their logarithm"
    return _finding(taker, found, why)


def _judge_scores(taker: Taker, meanings: Meanings) -> Obligation | None:
    """Judge what no op has given a meaning."""
    made = meanings.flow.maker(taker.value)
    if made is None or made.name in ("py.unknown", "py.call_unknown", "py.attr", "py.item", "py.global"):
        return unknown(taker.op.span, f"what `{taker.by}` is given here comes from code that was not followed")
    if made.name in ("array.dot", "array.convolve") or made.function in ARITHMETIC:
        return proved(taker.op.span, f"`{taker.by}` is given scores that nothing has normalised before")
    return None


def _judge_logits(taker: Taker, found: Meaning) -> Obligation | None:
    if found.kind is not Kind.PROBABILITIES:
        return _fits(taker, found) if found.kind is Kind.LOG_PROBABILITIES else None
    applies = f"`{taker.by}` applies a {taker.applies} itself"
    a_loss = taker.op.loss or taker.op.library in APPLIED_TO_LOGITS
    if found.how not in ("softmax", "sigmoid"):
        # A loss that is given labels for logits has its arguments exchanged.
        sure = found.how == "exp" or bool(a_loss)
        return _finding(taker, found, "the function takes logits or log-probabilities", sure=sure)
    if found.how != taker.applies:
        return _finding(taker, found, applies, sure=False)
    if found.how == "softmax" and (found.axis is None or _plain(found.axis) != _plain(taker.axis)):
        # Another axis is normalised on purpose; one that is not known may be.
        if found.axis is not None and taker.axis is not None:
            return None
        return _finding(taker, found, f"`{taker.by}` normalises once more", sure=a_loss)
    if taker.by == "categorical":
        applies = "it takes unnormalised log-probabilities and draws from the softmax of what it is given"
    elif taker.op.name == "array.normalise":
        applies = "the softmax of probabilities is nearly uniform"
    return _finding(taker, found, applies)


def _plain(axis: object) -> object:
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis


def _judge_inverse(op: Op, found: Meaning | None) -> Obligation | None:
    """Judge a logarithm, which is of probabilities, or an exponential, which is of their logarithms."""
    wanted = Kind.PROBABILITIES if op.function == "log" else Kind.LOG_PROBABILITIES
    taker = Taker(op, op.operands[0], wanted, op.function)
    if found is None or found.kind not in (Kind.PROBABILITIES, Kind.LOG_PROBABILITIES):
        return None
    if found.kind is wanted:
        return _fits(taker, found)
    if op.function == "log":
        return _finding(taker, found, "the logarithm of numbers below zero is NaN")
    # An exponential of what a sigmoid gave may be a scale, one of labels tells them apart.
    if found.how == "sigmoid" or found.how in LABELS:
        return None
    return _finding(taker, found, "the exponential of probabilities is no probability", sure=False)


def _fits(taker: Taker, found: Meaning) -> Obligation:
    reason = f"`{taker.by}` is given {found.kind.value} (line {found.made.span.line}), which it takes"
    return proved(taker.op.span, reason)


def _finding(taker: Taker, found: Meaning, why: str, *, sure: bool = True) -> Obligation:
    name, wanted = named(taker.value, "what it is given"), taker.wants.value
    suggestion = f"leave the {found.how} out, or use a function that takes {found.kind.value}"
    if found.kind is Kind.LOGITS:
        suggestion = f"apply `jax.nn.{'log_' if taker.wants is Kind.LOG_PROBABILITIES else ''}softmax` first"
    if taker.by == "categorical":
        suggestion = "give it the logits, or the logarithm of the probabilities"
    return Obligation(
        taker.op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{taker.by}` takes {wanted}, but {name} holds {found.kind.value}",
        current=why,
        expected=wanted,
        steps=(Step(found.made.span, f"{found.how} makes {found.kind.value} here"),),
        suggestion=suggestion,
    )
