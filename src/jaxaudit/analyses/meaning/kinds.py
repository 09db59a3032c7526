"""The meanings that are told apart, and the tables that say which function makes which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from jaxaudit.ir import Op


class Kind(Enum):
    """What a value is taken for."""

    PROBABILITIES = "probabilities"
    LOG_PROBABILITIES = "log-probabilities"
    LOGITS = "logits"
    NORMALISED = "normalised"
    EMBEDDED = "embedded"
    SQUASHED = "squashed"
    INDEX = "index"
    MASK = "mask"
    RAW = "raw"
    REWARD = "reward"
    DONE = "done"
    VALUE = "value"
    ADVANTAGE = "advantage"
    TARGET = "target"
    TIME_STEP = "time step"


ONE_A_STEP = frozenset((Kind.REWARD, Kind.DONE, Kind.VALUE, Kind.ADVANTAGE))
"""Meanings of what is one number at each step of an environment."""

CHANGES = frozenset("probabilities log-probabilities normalised squashed embedded".split())
"""Meanings that a step gives to a value without changing its shape, in words."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A meaning and what it rests on."""

    kind: Kind
    made: Op | None = None
    """The op that gave the value this meaning; None where a name did."""
    how: str = ""
    """The function: `softmax`, `sigmoid`, `log_softmax`, ..."""
    axis: object = None
    """Of what sums to one: the axis as it is written, None where it is not known."""


def tail(op: Op) -> str:
    """Return the name of an op's function without its modules."""
    return op.function


MAPS: dict[str, tuple[Kind, str]] = {
    "sigmoid": (Kind.PROBABILITIES, "sigmoid"),
    "log_sigmoid": (Kind.LOG_PROBABILITIES, "log_sigmoid"),
    "tanh": (Kind.SQUASHED, "tanh"),
    **dict.fromkeys(
        "greater less equal not_equal greater_equal less_equal logical_and logical_or logical_not isnan isinf "
        "isfinite".split(),
        (Kind.MASK, "comparison"),
    ),
}
"""Elementwise functions that give a meaning by themselves."""

NORMALISES: dict[str, tuple[Kind, str]] = {
    "softmax": (Kind.PROBABILITIES, "softmax"),
    "log_softmax": (Kind.LOG_PROBABILITIES, "log_softmax"),
    **dict.fromkeys(
        ("standardize", "normalize", "LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm", "layer_norm"),
        (Kind.NORMALISED, "normalisation"),
    ),
}

LAYERS: dict[str, tuple[Kind, str]] = {
    **dict.fromkeys(
        ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm", "InstanceNorm", "SpectralNorm"),
        (Kind.NORMALISED, "normalisation"),
    ),
    **dict.fromkeys(("Embed", "Embedding"), (Kind.EMBEDDED, "embedding")),
}
"""Layers of libraries that give a meaning, by their class."""

ORDERS = frozenset("argmax argmin argsort nanargmax nanargmin searchsorted".split())

DRAWS: dict[str, Kind] = {"categorical": Kind.INDEX, "randint": Kind.INDEX, "bernoulli": Kind.MASK}

LOGIT_LOSSES: dict[str, str] = {
    **dict.fromkeys(
        "softmax_cross_entropy softmax_cross_entropy_with_integer_labels safe_softmax_cross_entropy "
        "poly_loss_cross_entropy cross_entropy_loss_with_logits".split(),
        "softmax",
    ),
    "sigmoid_binary_cross_entropy": "sigmoid",
    "sigmoid_focal_loss": "sigmoid",
}
"""Losses that apply a softmax or a sigmoid themselves."""

_NAMES: tuple[tuple[str, Kind], ...] = (
    (r"(.*_)?(rewards?|rew|rwd)", Kind.REWARD),
    (r"(.*_)?(dones?|terminated|truncated|terminals?|discount_mask)", Kind.DONE),
    (r"(.*_)?(advantages?|adv|gae)", Kind.ADVANTAGE),
    (r"(.*_)?(values?|vf|v_t|v_tp1|q_values?)", Kind.VALUE),
    (r"(.*_)?(targets?|td_target|labels?)", Kind.TARGET),
    (r"(.*_)?(time_?steps?|timestep|step_count)", Kind.TIME_STEP),
    (r"(.*_)?(logits)", Kind.LOGITS),
    (r"(.*_)?(probs|probabilities)", Kind.PROBABILITIES),
    (r"(.*_)?(log_?probs?|logp)", Kind.LOG_PROBABILITIES),
    (r"(.*_)?(mask|masks)", Kind.MASK),
    (r"(.*_)?(obs|observations?|images?|pixels|raw_.*)", Kind.RAW),
    (r"(.*_)?(emb|embed|embedding|embeddings|embedded)", Kind.EMBEDDED),
)
_COMPILED = tuple((re.compile(pattern), kind) for pattern, kind in _NAMES)


_SEPARATORS = re.compile(r"[.\[\]'\"]+")


@lru_cache(maxsize=4096)
def named(name: str) -> Kind | None:
    """Guess a meaning from a name; good enough to show, never to accuse."""
    # The leaves of a large model differ in their numbers and share their last words.
    return _by_word(_SEPARATORS.split(name.strip("'\"[]"))[-1].lower() if name else "")


@lru_cache(maxsize=1024)
def _by_word(word: str) -> Kind | None:
    return next((kind for pattern, kind in _COMPILED if pattern.fullmatch(word)), None)
