"""What names that people write have in common."""

from __future__ import annotations


def is_stem(name: str, longer: str) -> bool:
    """Whether two names are the same, or one is the other with words before or after it: `mean` of `mean_q`."""
    return bool(name) and (name == longer or longer.startswith(f"{name}_") or longer.endswith(f"_{name}"))
