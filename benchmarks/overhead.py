"""What does `jaxaudit run` cost a step, once each function has been seen? As a ratio to the same script by itself.

    python benchmarks/overhead.py [--rounds N] [--steps N]

The script does each kind of step many times and tells the least processor time. It is run by itself and observed in
turn, and the best of all rounds are compared, so that what other programs do meanwhile counts little. Nothing asserts
the ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPT = """
import json, sys, time

import jax
import jax.numpy as jnp


def loss(params, x, y):
    for w in params:
        x = jnp.tanh(x @ w)
    return jnp.mean((x - y) ** 2)


@jax.jit
def train_step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return [p - 0.1 * g for p, g in zip(params, gradients)], value


gradient = jax.grad(loss)
each = jax.vmap(lambda row, y: jnp.sum((row - y) ** 2))


def compiled(params, x, y):
    return train_step(params, x, y)


def eager_gradient(params, x, y):
    return gradient(params, x, y)


def eager_vmap(params, x, y):
    return each(x, y)


def fresh_vmap(params, x, y):
    return jax.vmap(jnp.sum)(x)


def eager_scan(params, x, y):
    return jax.lax.scan(add, x[0], x)


def add(carry, row):
    return carry + row, None


def shortest(step, arguments, steps):
    jax.block_until_ready(step(*arguments))
    times = []
    for _ in range(steps // 20):
        start = time.process_time()
        for _ in range(20):
            left = step(*arguments)
        jax.block_until_ready(left)
        times.append((time.process_time() - start) / 20)
    return min(times)


out, steps = sys.argv[1], int(sys.argv[2])
key = jax.random.key(0)
params = [jax.random.normal(one, (32, 32)) * 0.05 for one in jax.random.split(key, 4)]
x, y = jnp.ones((16, 32)), jnp.zeros((16, 32))
kinds = (compiled, eager_gradient, eager_vmap, fresh_vmap, eager_scan)
found = {kind.__name__: shortest(kind, (params, x, y), steps) for kind in kinds}
with open(out, "w") as file:
    json.dump(found, file)
"""


def measured(command: Sequence[str], script: Path, steps: int) -> dict[str, float]:
    """Run the script once and give the shortest of each kind of step."""
    out = script.with_suffix(".json")
    subprocess.run([*command, str(script), str(out), str(steps)], stdout=subprocess.DEVNULL, check=True)
    found: dict[str, float] = json.loads(out.read_text())
    return found


def best(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the shortest of each kind."""
    return {kind: min(one[kind] for one in rounds) for kind in rounds[0]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    options = parser.parse_args()
    observed_by = [sys.executable, "-m", "jaxaudit", "run", "--quiet", "--exit-zero"]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "steps.py")
        script.write_text(SCRIPT)
        alone, observed = [], []
        for _ in range(options.rounds):
            alone.append(measured([sys.executable], script, options.steps))
            observed.append(measured(observed_by, script, options.steps))
    before, after = best(alone), best(observed)
    print(f"{'step':18}{'alone':>12}{'observed':>12}{'added':>9}")
    for kind in before:
        added = after[kind] / before[kind] - 1
        print(f"{kind:18}{before[kind] * 1e6:10.0f}us{after[kind] * 1e6:10.0f}us{added:9.1%}")


if __name__ == "__main__":
    main()
