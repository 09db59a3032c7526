"""Probes every custom derivative of public libraries that its drivers reach, and prints a table.

    python benchmarks/probe.py [--markdown] [LIBRARY...]

A driver calls the public functions whose rules are to be tried; rules that exist but that no driver reached are listed
too, so that none is passed over in silence.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIBRARIES = ("jax.nn", "optax", "equinox", "distrax", "diffrax")


def drive_jax_nn(jax: Any) -> None:
    """Call the activations, softmax, its kin and attention."""
    jnp, nn = jax.numpy, jax.nn
    x = jnp.linspace(-2.0, 7.0, 12).reshape(3, 4)
    for function in (nn.relu, nn.relu6, nn.silu, nn.gelu, nn.elu, nn.softmax, nn.log_softmax, nn.logsumexp):
        function(x)
    for function in (nn.sigmoid, nn.softplus, nn.log_sigmoid, nn.selu, nn.celu, nn.mish, nn.hard_tanh, nn.squareplus):
        function(x)
    nn.softmax(x, where=x > 0)
    importlib.import_module("jax._src.nn.functions")._softmax(x, -1)
    if hasattr(nn, "log1mexp"):
        nn.log1mexp(jnp.abs(x) + 0.5)
    jnp.logaddexp(x, x + 1)
    jnp.sinc(x)
    nn.dot_product_attention(*(jnp.ones((1, 3, 2, 4)) * at for at in (1.0, 2.0, 3.0)))


def drive_optax(jax: Any) -> None:
    """Call the losses and projections that have rules of their own."""
    import optax

    jnp = jax.numpy
    x = jnp.linspace(-1.0, 2.0, 12).reshape(3, 4)
    optax.projections.projection_simplex(x[0])
    optax.projections.projection_l1_ball(x[0], 1.0)
    importlib.import_module("optax.losses._classification").weighted_logsoftmax(x, jax.nn.softmax(x))
    optax.losses.safe_softmax_cross_entropy(x, jax.nn.softmax(x))
    utils = importlib.import_module("optax._src.utils")
    utils.scale_gradient(x, 0.5)


def drive_equinox(jax: Any) -> None:
    """Call loops, errors and the debugging identities."""
    import equinox as eqx
    import equinox.internal as eqxi

    jnp = jax.numpy
    x = jnp.linspace(0.1, 2.0, 4)
    eqxi.nextafter(x)
    eqxi.prevbefore(x)
    eqx.debug.backward_nan(x)
    eqx.error_if(x, jnp.any(x > 5), "too large")
    eqxi.nondifferentiable(x)

    def body(value: Any) -> Any:
        return jnp.sin(value)

    for kind in ("checkpointed", "lax", "bounded"):
        jax.make_jaxpr(
            lambda v, kind=kind: eqxi.while_loop(
                lambda _: True,
                body,
                v,
                kind=kind,
                max_steps=3,
                **({"checkpoints": 2} if kind == "checkpointed" else {}),
            )
        )(x)


def drive_distrax(jax: Any) -> None:
    """Call the distributions that bring their own derivatives."""
    import distrax

    math = importlib.import_module("distrax._src.utils.math")
    jnp = jax.numpy
    x = jnp.linspace(0.1, 2.0, 4)
    math.multiply_no_nan(x, x + 1)
    math.power_no_nan(x, x + 1)
    made = distrax.VonMises(loc=x, concentration=x + 1)
    made.cdf(x)
    made.log_prob(x)
    made.sample(seed=jax.random.PRNGKey(0))
    distrax.Categorical(logits=x).entropy()


def drive_diffrax(jax: Any) -> None:
    """Solve a small equation with each adjoint."""
    import diffrax

    jnp = jax.numpy
    term = diffrax.ODETerm(lambda t, y, args: -args * y)
    for adjoint in (diffrax.RecursiveCheckpointAdjoint(), diffrax.BacksolveAdjoint(), diffrax.DirectAdjoint()):
        jax.make_jaxpr(
            lambda y, a, adjoint=adjoint: (
                diffrax.diffeqsolve(term, diffrax.Euler(), 0.0, 1.0, 0.25, y, a, adjoint=adjoint, max_steps=8).ys
            )
        )(jnp.ones(3), jnp.array(0.5))


DRIVERS: dict[str, Callable[[Any], None]] = {
    "jax.nn": drive_jax_nn,
    "optax": drive_optax,
    "equinox": drive_equinox,
    "distrax": drive_distrax,
    "diffrax": drive_diffrax,
}


def main() -> None:
    """Drive, probe, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES)
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    from jaxaudit.frontends.jaxpr.lower import install_markers
    from jaxaudit.frontends.jaxpr.observe import muted
    from jaxaudit.frontends.jaxpr.probe.met import NOTES
    from jaxaudit.frontends.jaxpr.probe.run import probe

    install_markers()
    NOTES.everything = True
    import jax

    rows: list[tuple[str, ...]] = []
    for library in options.libraries:
        NOTES.by_code.clear()
        try:
            DRIVERS[library](jax)
        except ImportError as error:
            print(f"{library}: {error}", file=sys.stderr)
            continue
        met = [one for one in NOTES.all() if belongs(one.rule, library)]
        NOTES.active = False
        for one in met:
            start = time.perf_counter()
            with muted():
                answers = probe(one)
            for found in answers:
                took = f"{time.perf_counter() - start:.1f}"
                rows.append((library, found.function, found.argument, found.verdict, found.text, took))
        NOTES.active = True
        rows += ((library, name, "", "not reached", "", "") for name in unreached(library, [one.rule for one in met]))
    show(rows, markdown=options.markdown)


def belongs(rule: Any, library: str) -> bool:
    """Whether a rule is defined in a library."""
    from jaxaudit.frontends.jaxpr.probe.met import users_function

    function = users_function(rule.fun, "fun")
    files = [getattr(getattr(one, "__code__", None), "co_filename", "") for one in (function, rule.fun)]
    if library == "jax.nn":
        return any("/jax/" in name for name in files)
    return any(f"/{library}/" in name for name in files)


def unreached(library: str, met: list[Any]) -> Iterator[str]:
    """Return the rules that exist in this process but that the driver did not call."""
    import jax

    for rule in gc.get_objects():
        if isinstance(rule, jax.custom_vjp | jax.custom_jvp) and all(rule is not one for one in met):
            name = getattr(getattr(rule.fun, "__code__", None), "co_filename", "")
            wanted = "/jax/_src/nn/" if library == "jax.nn" else f"/{library}/"
            if wanted in name and all(rule.fun.__code__ is not getattr(one.fun, "__code__", None) for one in met):
                yield f"{rule.fun.__name__} ({Path(name).name}:{rule.fun.__code__.co_firstlineno})"


def show(rows: list[tuple[str, ...]], *, markdown: bool) -> None:
    """Print the table."""
    head = ("library", "function", "argument", "verdict", "what was found", "seconds")
    if markdown:
        for row in (head, ("---",) * len(head), *rows):
            print("| " + " | ".join(row) + " |")
        return
    for row in (head, *rows):
        print(f"{row[0]:9}{row[1]:34}{row[2]:26}{row[3]:12}{row[5]:>5}  {row[4]}")


if __name__ == "__main__":
    main()
