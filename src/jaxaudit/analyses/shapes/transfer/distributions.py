"""Distributions of distrax, numpyro and TensorFlow Probability: the shapes of what they are made of, asked and drawn.

A distribution keeps the shape of its batch and of one event. A draw has both; a log-probability has that of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.shapes.broadcast import broadcast, shape_text
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array, sequence
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Value

_LIBRARIES = ("distrax.", "numpyro.distributions.", "tensorflow_probability.substrates.jax.distributions.")
_CLASSES = frozenset("Categorical Softmax Greedy CategoricalLogits CategoricalProbs".split())
_VECTORS = frozenset("MultivariateNormalDiag Dirichlet OneHotCategorical".split())
_NUMBERS = frozenset(
    """Normal LogNormal Bernoulli Beta Gamma Laplace Logistic Uniform Gumbel Cauchy StudentT Poisson Exponential
    HalfNormal HalfCauchy InverseGamma BernoulliLogits BernoulliProbs Deterministic VonMises""".split()
)


def made(look: Look, name: str) -> ShapeFact | None:
    """Return a new distribution with the shapes of its batch and of one event; None where it is none that is known."""
    kind = name.rpartition(".")[2]
    if not name.startswith(_LIBRARIES) or kind not in _CLASSES | _VECTORS | _NUMBERS:
        return None
    dims, _ = broadcast([array_like(look.read(value)).dims for value in look.op.operands])
    if dims is None or not look.op.operands:
        return NOTHING
    if kind in _NUMBERS:
        return _distribution(name, dims, ())
    if not dims:
        return NOTHING
    return _distribution(name, dims[:-1], () if kind in _CLASSES else dims[-1:])


def _distribution(name: str, batch: Dims, event: Dims) -> ShapeFact:
    return ShapeFact(layer=Layer(name, (("batch", array(batch)), ("event", array(event)))))


def asked(look: Look, name: str) -> ShapeFact | None:
    """Return what a method of a distribution gives; None where the distribution is not known."""
    layer = look.fact("self").layer if name.startswith(_LIBRARIES) else None
    batch, event = (None, None) if layer is None else (layer.get("batch"), layer.get("event"))
    answer = _ANSWERS.get(name.rpartition(".")[2])
    if layer is None or batch is None or event is None or batch.dims is None or event.dims is None or answer is None:
        return None
    return answer(look, batch.dims, event.dims, "int32" if layer.name.rpartition(".")[2] in _CLASSES else None)


def _per_batch(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    return array(batch, "float32")


def _whole(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    return array((*batch, *event), dtype)


def _scored(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    """Return the log-probability of a value: its own axes, without those of an event, meet those of the batch."""
    value = array_like(look.fact("value")).dims
    if value is None or len(value) < len(event):
        return NOTHING
    dims, fit = broadcast([value[: len(value) - len(event)], batch])
    look.judge(fit, f"a value {shape_text(value)} and distributions {shape_text((*batch, *event))}")
    return array(dims, "float32")


def _compared(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    other = look.fact("other_dist", "other", "q").layer
    theirs = None if other is None else other.get("batch")
    dims, _ = broadcast([batch, None if theirs is None else theirs.dims])
    return array(dims, "float32")


def _drawn(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    given = look.raw("sample_shape")
    shape = () if given is None else shape_of(look.of(given))
    return NOTHING if shape is None or isinstance(given, Value) else array((*shape, *batch, *event), dtype)


def _drawn_and_scored(look: Look, batch: Dims, event: Dims, dtype: str | None) -> ShapeFact:
    draw = _drawn(look, batch, event, dtype)
    scored = NOTHING if draw.dims is None else array(draw.dims[: len(draw.dims) - len(event)], "float32")
    return sequence((draw, scored))


_ANSWERS: Mapping[str, Callable[[Look, Dims, Dims, str | None], ShapeFact]] = {
    "entropy": _per_batch,
    **dict.fromkeys("mean mode median stddev variance".split(), _whole),
    **dict.fromkeys("log_prob prob cdf log_cdf".split(), _scored),
    **dict.fromkeys("kl_divergence cross_entropy".split(), _compared),
    **dict.fromkeys("sample rsample".split(), _drawn),
    **dict.fromkeys("sample_and_log_prob experimental_sample_and_log_prob".split(), _drawn_and_scored),
}
