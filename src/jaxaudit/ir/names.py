"""What names that people write have in common."""

from __future__ import annotations


def is_stem(name: str, longer: str) -> bool:
    """Whether two names are the same, or one is the other with words before or after it: `mean` of `mean_q`."""
    return bool(name) and (name == longer or longer.startswith(f"{name}_") or longer.endswith(f"_{name}"))


def names_one(name: str, longer: str) -> bool:
    """Whether a name is the stem of another one, of one or of several things, or one shortens the other.

    `reward` and `last_rewards`, `obs` and `observations`.
    """
    short = min(name, longer, key=len)
    shortened = len(short) > 2 and name.startswith(short) and longer.startswith(short)
    return shortened or is_stem(singular(name), singular(longer))


def singular(name: str) -> str:
    """Return the name of one of the things that a name may be of."""
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") and len(name) > 2 else name
