"""Which comments make shared random numbers deliberate: those that say what for."""

import pytest

from jaxaudit.rules.intent.names import says_purpose

PURPOSES = (
    "# same noise for both on purpose",
    "# Pegasus trick",
    "# common random numbers across candidates",
    "# share the key so that both networks start alike",
    "# use a dummy rng here",
    "# Use the same rng as events are mutually exclusive",
    "# reuse the key to keep images and labels aligned",
    "# deliberately the same key",
    "# Fixed key",
)
DESCRIPTIONS = (
    "# reuse the same key for both draws",
    "# bug: the same key is used again",
    "# TODO: split the key, both share it now so that it compiles",
    "# the same key as above",
    "# sample noise",
    "# should use fresh keys because these share the key",
    "# not intentional: the key is shared",
    "# so that shapes match",
)


@pytest.mark.parametrize("comment", PURPOSES)
def test_a_purpose_is_understood(comment: str) -> None:
    assert says_purpose(comment, "numbers")


@pytest.mark.parametrize("comment", DESCRIPTIONS)
def test_a_description_is_no_excuse(comment: str) -> None:
    assert not says_purpose(comment, "numbers")
