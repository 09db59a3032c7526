"""What a fact rests on: the weakest of what it was derived from decides how much may be concluded."""

from __future__ import annotations

from enum import IntEnum


class Basis(IntEnum):
    """How we come to know something, from the weakest to the strongest.

    An error rests on `DECLARED`, `OBSERVED` and `COMPUTED` facts alone. What is only `SAID` gives a warning at
    most, what is `ASSUMED` nothing, and neither ever overrides what is computed.
    """

    ASSUMED = -1
    """It holds for all that the code makes itself: a field of an object from outside is like those that it makes."""
    SAID = 0
    """Somebody wrote it down and nobody checks it: an unchecked annotation, a docstring, a comment, a name."""
    DECLARED = 1
    """The program checks it when it runs: an assertion, an enforced annotation."""
    OBSERVED = 2
    """It was seen in a run or a test of this very source."""
    COMPUTED = 3
    """It follows from code that runs."""
