"""Programs made at random: compositions of JAX functions and transformations over arrays of random shapes.

A program is drawn from its seed. Each statement is a template filled with names that are there already; one that JAX
refuses, as `jax.eval_shape` says, is drawn again. So whatever is written here is valid, broadcasting by luck included.
"""

from __future__ import annotations

import random
import re
import warnings
from pathlib import Path
from typing import Any

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
"""

TEMPLATES = [
    part.strip().splitlines()[1:] for part in Path(__file__).with_name("templates.txt").read_text().split("# ")[1:]
]
"""Expressions by group, so that each group is drawn as often: {a} and {b} are arrays, {x} and {y} axes, {n} sizes."""


_LARGEST, _MOST_AXES = 500, 4


class _Maker:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.sizes = [str(self.draw.choice((2, 3, 4, 5, 6, 7))) for _ in range(3)]

    def program(self, statements: int) -> str:
        """Return the text: functions under `jit` with arguments, then calls of them and code outside."""
        lines = [HEAD]
        for number in range(3):
            body, given = self._function(f"f{number}", statements)
            lines += ["", "", body, "", "", f"out{number} = f{number}({', '.join(given)})"]
        body, given = self._function("g", statements)
        lines += ["", "", body.replace("@jax.jit\n", ""), "", "", f"out = g({', '.join(given)})"]
        return "\n".join(lines) + "\n"

    def _function(self, name: str, statements: int) -> tuple[str, list[str]]:
        import jax
        import jax.numpy as jnp

        given = [self._input() for _ in range(3)]
        known: dict[str, Any] = {
            f"x{number}": jax.eval_shape(lambda text=text: eval(text, {"jnp": jnp}))
            for number, text in enumerate(given)
        }
        params, lines = list(known), []
        while len(lines) < statements:
            made = self._statement(known)
            if made is not None:
                lines.append(made)
        last = [one for one in known if one not in params][-4:]
        out = ", ".join(f'"{one}": {one}' for one in last)
        text = [
            f"@jax.jit\ndef {name}({', '.join(params)}):",
            *(f"    {line}" for line in lines),
            f"    return {{{out}}}",
        ]
        return "\n".join(text), given

    def _input(self) -> str:
        shape = tuple(int(self.draw.choice(self.sizes)) for _ in range(self.draw.choice((1, 2, 2, 2, 3))))
        if self.draw.random() < 0.2:
            return f"jnp.arange({shape[0] * shape[-1]}).reshape({shape[0]}, {shape[-1]})"
        return f"jnp.linspace(-2.0, 2.0, {_product(shape)}).reshape({shape})"

    def _statement(self, known: dict[str, Any]) -> str | None:
        """Draw a statement; None where JAX refuses it."""
        arrays = [name for name, one in known.items() if hasattr(one, "dtype")]
        template = self.draw.choice(self.draw.choice(TEMPLATES))
        a = self.draw.choice(arrays[-6:] if self.draw.random() < 0.6 else arrays)
        b = self.draw.choice(arrays)
        rank = max(1, len(known[a].shape))
        x, y = self.draw.randrange(-1, rank), self.draw.randrange(rank)
        n, m = self.draw.choice(self.sizes), self.draw.choice(self.sizes)
        text = template.format(a=a, b=b, x=x, y=y, n=n, m=m)
        kind = _type(text, known)
        if kind is None:
            return None
        name = f"y{len(known)}"
        known[name] = kind
        return f"{name} = {text}"


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _type(text: str, known: dict[str, Any]) -> Any:
    """Return the type that an expression has under `jit`; None where JAX refuses it, or it grows too large."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    arrays = {name: one for name, one in known.items() if hasattr(one, "dtype") and re.search(rf"\b{name}\b", text)}
    static = [None]

    def run(given: dict[str, Any]) -> Any:
        made = eval(text, {"jax": jax, "jnp": jnp, "np": np, "lax": jax.lax, **given})
        static[0] = None if isinstance(made, jax.Array) else made
        return made if isinstance(made, jax.Array) else 0

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = jax.eval_shape(run, arrays)
    except Exception:  # noqa: BLE001 - whatever JAX has against it
        return None
    if static[0] is not None:
        return static[0] if isinstance(static[0], int | tuple) else None
    kinds = (jnp.bool_, jnp.integer, jnp.floating)
    usable = any(jnp.issubdtype(made.dtype, kind) for kind in kinds)
    return made if usable and 0 < made.size <= _LARGEST and len(made.shape) <= _MOST_AXES else None


def generated(seeds: range, folder: Path, statements: int = 12) -> list[Path]:
    """Write the programs of some seeds into a folder, unless they are there."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"generated_{seed:03}_{statements}.py" for seed in seeds]
    for seed, path in zip(seeds, paths, strict=True):
        if not path.exists():
            path.write_text(_Maker(seed).program(statements))
    return paths
