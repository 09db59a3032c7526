"""Writes random programs: a function that computes one value after another and gives all of them back.

Every function that the ranges domain models has a template here, or is exercised by a program of its own.
"""

import random

HEADER = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n"

FLOATS = """
jnp.abs({f})|-{f}|jnp.square({f})|{f} * {f}|jnp.exp({f})|jnp.exp2(jnp.clip({f}, -3, 3))|jnp.expm1(jnp.minimum({f}, 4.0))
jnp.log({f})|jnp.log1p({f})|jnp.log2(jnp.abs({f}) + 1.0)|jnp.sqrt({f})|lax.rsqrt({f})|jnp.cbrt({f})|jax.nn.relu({f})
jax.nn.relu6({f})|jax.nn.softplus({f})|jax.nn.sigmoid({f})|jnp.tanh({f})|jax.nn.hard_tanh({f})|jax.nn.soft_sign({f})
lax.erf({f})|lax.erfc({f})|jnp.arctan({f})|jnp.arccos(jnp.tanh({f}))|jnp.arcsin(jnp.clip({f}, -1.0, 1.0))|jnp.sin({f})
jnp.cos({f})|jnp.sign({f})|jnp.floor({f})|jnp.ceil({f})|jnp.round({f})|jnp.trunc({f})|jax.nn.silu({f})|jax.nn.gelu({f})
jax.nn.elu({f})|jax.nn.selu({f})|jax.nn.leaky_relu({f})|jax.nn.log_sigmoid({f})|jnp.nan_to_num({f})|jnp.cosh(jnp.tanh({f}))
{f} + {f}|{f} - {f}|{f} * {f}|{f} / {f}|{f} / (jnp.abs({f}) + 0.5)|jnp.power(jnp.abs({f}), 1.5)|{f} ** 2|{f} ** 3|{f} ** -1
jnp.mod({f}, 3.0)|jnp.fmod({f}, 2.5)|{f} // 2.0|jnp.maximum({f}, {f})|jnp.minimum({f}, {f})|jnp.maximum({f}, 0.0)
jnp.clip({f}, -1.5, 2.0)|jnp.clip({f}, 0.0, 1.0)|jnp.hypot({f}, {f})|jnp.logaddexp({f}, {f})|jnp.arctan2({f}, {f})
jnp.where({b}, {f}, {f})|jnp.where({f} > 0, jnp.log({f}), 0.0)|jnp.where({f} != 0, 1.0 / {f}, 0.0)|1.0 - {f}|2.0 * {f} + 1.0
{f}.sum(axis=-1, keepdims=True) + {f}|{f} - {f}.max(axis=-1, keepdims=True)|{f} - {f}.mean()|{f} - {f}.min()
{f} / jnp.linalg.norm({f}, axis=-1, keepdims=True)|jnp.broadcast_to({f}.std(axis=0), (4, 5))|{f}.var() + {f}
jax.nn.softmax({f})|jax.nn.softmax({f}, axis=0)|jax.nn.log_softmax({f})|jnp.cumsum({f}, axis=1)|jnp.cumprod({f}, axis=0)
{i}.astype(jnp.float32)|{b}.astype(jnp.float32)|jnp.sort({f})|jnp.flip({f})|jnp.roll({f}, 1, axis=0)|jnp.tril({f})
jnp.pad({f}, ((1, 0), (0, 0)))[:4]|jnp.concatenate([{f}, {f}])[:4]|{f}.T.reshape(4, 5)|{f}[::-1]|jnp.full((4, 5), 0.25)
{f}.at[0].set(7.0)|{f}.at[:, 1].add(2.0)|jax.nn.one_hot({i}[:, 0] % 5, 5)|lax.stop_gradient({f})|jnp.take({f}, {i}[:, 0] % 4, axis=0)
jnp.broadcast_to({f}.prod(axis=0), (4, 5))|jnp.broadcast_to(jax.nn.logsumexp({f}, axis=-1, keepdims=True), (4, 5))
({b}).sum(axis=1, keepdims=True) * {f}|{f} @ jnp.ones((5, 5))|jax.nn.softmax({f}) @ jnp.tanh({f}).T @ {f}
jnp.exp({f} - {f}.max(axis=-1, keepdims=True))|lax.exp({f} - {f}[0])|lax.clamp(-2.0, {f}, 2.0)|jnp.linspace(0.0, 2.0, 20).reshape(4, 5)
jax.random.uniform(jax.random.key(1), (4, 5))|jax.random.uniform(jax.random.key(2), (4, 5), minval=-2.0, maxval=3.0)
lax.cond({f}[0, 0] > 0, lambda a: jnp.sqrt(jnp.abs(a)), lambda a: a - 1.0, {f})|lax.scan(lambda c, a: (c * 0.5 + a, c), {f}[0], {f})[1]
lax.fori_loop(0, 3, lambda k, c: c * 0.5 + k, {f})|lax.while_loop(lambda c: c.sum() < 3.0, lambda c: jnp.abs(c) + 1.0, {f})
jax.vmap(lambda r: r / (jnp.abs(r).sum() + 1.0))({f})|jax.jit(lambda a: jnp.tanh(a) + 1.0)({f})|jnp.where({f} >= 1, {f}, 1.0)
"""

INTEGERS = """
{i} + {i}|{i} - {i}|{i} * 2|{i} % 7|{i} // 3|jnp.abs({i})|jnp.maximum({i}, 0)|jnp.minimum({i}, 3)|jnp.clip({i}, 0, 4)|-{i}
jnp.argmax({f}, axis=1)[:, None] + {i} * 0|jnp.argsort({f}, axis=-1)|jnp.arange(20).reshape(4, 5)|{b}.astype(jnp.int32)
jnp.where({b}, {i}, 1)|{i} & 7|{i} >> 1|{f}.astype(jnp.int32)|jnp.cumsum({b}, axis=0)|jnp.floor({f}).astype(jnp.int32)
({i} % 200).astype(jnp.uint8).astype(jnp.int32)|jnp.sign({i})|{i} ** 2|lax.rem({i}, 5)|lax.div({i}, 3)|jnp.full((4, 5), 3)
jax.random.randint(jax.random.key(3), (4, 5), -3, 9)|jax.random.bernoulli(jax.random.key(4), 0.5, (4, 5)).astype(jnp.int32)
jax.random.categorical(jax.random.key(5), {f})[:, None] + jnp.zeros((4, 5), jnp.int32)|{b}.sum(axis=1, keepdims=True) + {i} * 0
"""

TRUTHS = """
{f} > 0|{f} <= {f}|{i} == 2|{i} != {i}|jnp.isfinite({f})|({f} > 0) & ({f} < 1)|{b} | {b}|~{b}|jnp.logical_xor({b}, {b})
jnp.broadcast_to(({f} > 0).any(axis=0), (4, 5))|jnp.arange(5) == {i}[:, :1]|jnp.isnan({f})
"""


def _templates(text: str) -> list[str]:
    return [one for line in text.strip().splitlines() for one in line.split("|") if one]


TEMPLATES = {"f": _templates(FLOATS), "i": _templates(INTEGERS), "b": [*_templates(TRUTHS)]}


ALL = [(kind, template) for kind, templates in TEMPLATES.items() for template in templates]


def _in_turn(number: int) -> tuple[str, str]:
    """Return every template once, then every one again in another order."""
    order = random.Random(number // len(ALL)).sample(ALL, len(ALL))
    return order[number % len(ALL)]


def write(seed: int, steps: int = 24) -> str:
    """Write one program: `run(x, y, n)` with two float arrays and one of small integers."""
    rng = random.Random(seed)
    known = {"f": ["x", "y"], "i": ["n"], "b": ["b0"]}
    lines = ["    b0 = x > 0.5"]
    for step in range(steps):
        kind, text = _in_turn(seed * steps + step)
        while "{" in text:
            at = text.index("{")
            # Half of the places of one expression share a variable, so that relations between them are met.
            same = rng.choice(known[text[at + 1]])
            text = (
                text.replace(text[at : at + 3], same)
                if rng.random() < 0.6
                else text.replace(text[at : at + 3], same, 1)
            )
        name = f"{kind}{step + 1}"
        lines.append(f"    {name} = {text}")
        known[kind].append(name)
    names = [line.split(" =")[0].strip() for line in lines]
    return (
        HEADER
        + "def run(x, y, n):\n"
        + "\n".join(lines)
        + f"\n    return dict({', '.join(f'{a}={a}' for a in names)})\n"
    )
