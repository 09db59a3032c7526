"""What names and comments may say of a purpose: every word that counts, and nothing else.

Words are looked up, not parsed: a comment that has a word of purpose and none of doubt excuses what it stands beside.
"""

from __future__ import annotations

import re
from functools import lru_cache

_CELL = re.compile(r"#?\s?(%%|\+ (\[|\{|\w+=)|[+-]$|In\[)")
"""The marks of Jupytext, of editors and of scripts that Jupyter writes."""
_UNWANTED = ("unused", "ignore", "dummy", "donate", "placeholder")
_NEWER = ("new", "next", "updated", "upd", "nxt")
_SHARED = frozenset("share shared common same fixed const constant crn static frozen dummy placeholder example".split())
_FOLLOWERS = frozenset("target tgt ema polyak slow lagged averaged copy".split())
_EVALUATION = ("eval", "score", "bench", "compar", "validat", "measure", "test", "plot", "report", "timeit")
_SIDES = frozenset(
    """left right first second source target query other base head tail start stop front back lower upper inner outer
    prior posterior prediction predictions pred true label labels targets forward backward""".split()
)
_INVERSE = ("inverse", "invert", "inv", "undo", "reverse")
_SHORT = 3
"""Names of so few letters say little."""
_MEANT = ("on purpose", "deliberate", "intentional")
_PURPOSES: dict[str, tuple[str, ...]] = {
    "numbers": (
        *("common random", "crn", "antithetic", "paired", "pegasus", "alike", "aligned", "exclusive"),
        *("fixed key", "fixed rng", "fixed seed", "fixed noise", "fixed random", "same noise", "same samples"),
        *("dummy", "placeholder", "only for shape", "only for the shape"),
    ),
    "no gradient": (
        *("no grad", "without grad", "zero grad", "stop grad", "stops grad", "stop the grad", "stops the grad"),
        *("blocks grad", "blocks the grad", "differentiab"),
    ),
    "full gradient": ("residual", "full gradient", "full_gradient", "undetached", "without stop", "through the target"),
}
"""Further words of purpose, by what is shared, stopped or let through."""
_DOUBTS = (
    *("bug", "wrong", "mistake", "fixme", "fix me", "todo", "xxx", "hack", "should", "must not", "forgot", "oops"),
    *("accident", "correlat", "unintentional", "not intentional", "not deliberate", "not on purpose"),
)
"""Words of somebody who tells of a mistake."""


def is_unwanted(name: str) -> bool:
    """Whether a name says that nobody is to read what it is bound to: `_rng`, `unused_key`."""
    return name.startswith("_") or any(word in name.lower() for word in _UNWANTED)


def is_constant(name: str) -> bool:
    """Whether a name is written as Python writes constants: `GRAVITY`."""
    return name.isupper()


def is_newer(name: str, old: str) -> bool:
    """Whether a name says that something is the newer version of a variable: `new_h` or `h_next` of `h`."""
    return old in older_names(name)


@lru_cache(maxsize=4096)
def older_names(name: str) -> frozenset[str]:
    """Return the names of which a name says that it is the newer version: `h` and `h_new` for `next_h_new`."""
    rests = [name.removeprefix(word).removeprefix(gap) for word in _NEWER for gap in ("", "_") if name.startswith(word)]
    behind = (word for word in (*_NEWER, "tp1", "2") if name.endswith(word))
    rests += [name.removesuffix(word).removesuffix(gap) for word in behind for gap in ("", "_")]
    return frozenset(rests)


def says_shared(name: str) -> bool:
    """Whether a name says that what it holds is one for all: `shared_key`, `fixed_rng`."""
    return not _SHARED.isdisjoint(name.lower().split("_"))


def says_follower(name: str) -> bool:
    """Whether a name says that something follows another one, from which it starts: `target_critic`, `ema_params`."""
    return not _FOLLOWERS.isdisjoint(name.lower().split("_"))


def says_evaluation(name: str) -> bool:
    """Whether a name says that something is measured or compared: `eval_key`, `score`, `benchmark_step`."""
    return any(word.startswith(_EVALUATION) for word in name.lower().split("_"))


def says_side(name: str) -> bool:
    """Whether a name only says which of two something is: `x`, `left`, `pred`."""
    return len(name) <= _SHORT or name in _SIDES


def are_inverse(first: str, second: str) -> bool:
    """Whether one of two functions is named as the inverse of the other: `rotate` and `inverse_rotate`."""
    return any(
        one in (f"{mark}_{other}", f"{other}_{mark}")
        for mark in _INVERSE
        for one, other in ((first, second), (second, first))
    )


def says_purpose(text: str, about: str = "") -> bool:
    """Whether a comment says that something is meant: `# the same noise on purpose`, `# common random numbers`."""
    lower = text.lower()
    words = (*_MEANT, *_PURPOSES.get(about, ()))
    return any(word in lower for word in words) and not any(word in lower for word in _DOUBTS)


def begins_cell(comment: str) -> bool:
    """Whether a comment is the mark with which scripts that are notebooks begin a cell, or end one."""
    return _CELL.match(comment) is not None
