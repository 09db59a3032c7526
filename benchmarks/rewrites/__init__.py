"""Programs in other words: what changes nothing must not change what is found."""

from __future__ import annotations

from benchmarks.rewrites.functions import Bound, Called, Decorated, Lambdas, Lifted, Method, Partials, Spread
from benchmarks.rewrites.idioms import Commuted, Expanded, Fresh, Indexed, Negated, Placed, Squared, Turned, Written
from benchmarks.rewrites.loops import Counted, DictState, RecordState, Scanned
from benchmarks.rewrites.modules import Moved
from benchmarks.rewrites.names import Renamed
from benchmarks.rewrites.operators import Free, Methods, Operators, Select, Spelled, Tree
from benchmarks.rewrites.results import Classed, Named, Outlined, Packed, Recorded
from benchmarks.rewrites.spellings import (
    Appended,
    Averaged,
    Filled,
    Measured,
    Normalised,
    Reshaped,
    Ternary,
    Transposed,
)

REWRITES = (
    Named,
    Outlined,
    Packed,
    Recorded,
    Classed,
    Renamed,
    Spelled,
    Operators,
    Methods,
    Free,
    Select,
    Tree,
    Commuted,
    Turned,
    Negated,
    Squared,
    Expanded,
    Indexed,
    Written,
    Fresh,
    Placed,
    Appended,
    Averaged,
    Filled,
    Measured,
    Normalised,
    Reshaped,
    Ternary,
    Transposed,
    Called,
    Decorated,
    Partials,
    Lambdas,
    Spread,
    Lifted,
    Method,
    Bound,
    Scanned,
    Counted,
    DictState,
    RecordState,
    Moved,
)
