"""The meanings that are told apart, which functions give them, and what names say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

from jaxaudit.ir import Op
from jaxaudit.ir.functions import LABELS, POSITIONS, TRUTHS
from jaxaudit.ir.record import record


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


@record
class Meaning:
    """A meaning and what it rests on."""

    kind: Kind
    made: Op
    """The op that gave the value this meaning."""
    how: str
    """The function: `softmax`, `sigmoid`, `log_softmax`, ..."""
    axis: object = None
    """Of what sums to one: the axis as it is written, None where it is not known."""


MADE_BY: dict[str, Kind] = {
    "softmax": Kind.PROBABILITIES,
    "sigmoid": Kind.PROBABILITIES,
    **dict.fromkeys(LABELS, Kind.PROBABILITIES),
    "log_softmax": Kind.LOG_PROBABILITIES,
    "log_sigmoid": Kind.LOG_PROBABILITIES,
    "tanh": Kind.SQUASHED,
    "standardize": Kind.NORMALISED,
    "normalize": Kind.NORMALISED,
    "categorical": Kind.INDEX,
    "randint": Kind.INDEX,
    "bernoulli": Kind.MASK,
    **dict.fromkeys(POSITIONS, Kind.INDEX),
    **dict.fromkeys(TRUTHS, Kind.MASK),
}
"""Functions that give a meaning by themselves."""

_WORDS = {
    Kind.REWARD: "reward rewards rew rwd",
    Kind.DONE: "done dones terminated truncated terminal terminals discount_mask",
    Kind.ADVANTAGE: "advantage advantages adv gae",
    Kind.VALUE: "value values vf v_t v_tp1 q_value q_values",
    Kind.TARGET: "target targets td_target label labels",
    Kind.TIME_STEP: "time_step time_steps timestep timesteps step_count",
    Kind.LOGITS: "logits",
    Kind.PROBABILITIES: "probs probabilities",
    Kind.LOG_PROBABILITIES: "log_prob log_probs logprob logprobs logp",
    Kind.MASK: "mask masks",
    Kind.RAW: "obs observation observations image images pixels",
    Kind.EMBEDDED: "emb embed embedding embeddings embedded",
}
_CALLED = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_SEPARATORS = re.compile(r"[.\[\]'\"]+")


@lru_cache(maxsize=4096)
def named(name: str) -> Kind | None:
    """Guess a meaning from the last words of a name; good enough to show, never to accuse."""
    # The leaves of a large model differ in their numbers and share their last words.
    return _by_words(_SEPARATORS.split(name.strip("'\"[]"))[-1].lower())


@lru_cache(maxsize=1024)
def _by_words(name: str) -> Kind | None:
    found = next((_CALLED[ending] for ending in _endings(name) if ending in _CALLED), None)
    return Kind.RAW if found is None and "raw" in name.split("_")[:-1] else found


def _endings(name: str) -> Iterator[str]:
    """Return a name, and what is left of it after each underscore."""
    while name:
        yield name
        name = name.partition("_")[2]
