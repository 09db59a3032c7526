"""Several rewrites of one program after another, chosen by a seed."""

from __future__ import annotations

import ast
from random import Random

from benchmarks.rewrites import REWRITES
from benchmarks.rewrites.base import Rewrite
from benchmarks.rewrites.modules import Moved
from benchmarks.rewrites.survival import Files


def composed(text: str, seed: int) -> tuple[Files, list[type[Rewrite]]]:
    """Return a program in two or three other ways of writing at once, and which they are."""
    random = Random(seed)
    wanted = random.choice((2, 3))
    kinds = random.sample(REWRITES, len(REWRITES))
    # What moves to another file is out of reach of all others.
    kinds.sort(key=lambda kind: kind is Moved)
    files: Files = {"example.py": text}
    done: list[type[Rewrite]] = []
    for kind in kinds:
        if len(done) == wanted:
            break
        new = kind(ast.parse(files["example.py"])).files()
        if new is not None:
            files = new
            done.append(kind)
    return files, done
