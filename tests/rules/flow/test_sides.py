"""What a condition chose once is what it was where the condition is asked again, and kinds that are asked for."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "one condition chooses the function and what it is given": """
        def three(carry, xs):
            def body(carry, x):
                key, state, env = carry
                return (key, state, env), x
            return jax.lax.scan(body, carry, xs)

        def four(carry, xs):
            def body(carry, x):
                key, state, env, buffer = carry
                return (key, state, env, buffer), x
            return jax.lax.scan(body, carry, xs)

        def train(config, key, state, env):
            online = config.rollout is not None
            if online:
                run, buffer = jax.jit(three), None
            else:
                run, buffer = jax.jit(four), jnp.zeros(3)
            for _ in range(9):
                if online:
                    (key, state, env), out = run((key, state, env), jnp.arange(3))
                else:
                    (key, state, env, buffer), out = run((key, state, env, buffer), jnp.arange(3))
            return key, state, out
        """,
    "in an attribute, in a closure, asked the other way round": """
        class Layer:
            def __init__(self, gated):
                self.gated = gated
                if gated:
                    self.act = lambda x, g: x * g
                else:
                    self.act = lambda x: x

            def __call__(self, x, g):
                if self.gated:
                    return self.act(x, g)
                return self.act(x)

        def helper(mode, x):
            act = (lambda a, b: a * b) if mode == "gate" else (lambda a: a)

            def inner(y):
                if mode != "gate":
                    return act(y)
                return act(y, y)

            return inner(x)
        """,
    "the wrong one on each side": """
        def wrong(flag, x):
            act = (lambda a, b: a * b) if flag else (lambda a: a)
            if flag:
                return act(x)  #! signature-mismatch
            return act(x, x)  #! signature-mismatch
        """,
    "a side for arrays of another rank": """
        def join(tokens, positions, more):
            if len(tokens.shape) > 0 and len(more.shape) > 0:
                return jnp.concatenate((positions, more))
            return tokens

        def main():
            one = jnp.asarray(1)
            return lambda tokens, more: join(tokens, one, more)

        def score(a, b):
            j = jnp.sum(a & b, axis=(-2, -1)) / jnp.sum(a | b, axis=(-2, -1))
            if j.ndim == 0:
                return 1 if j > 0 else j
            return jnp.where(j > 0, 1, j)

        def scores(a, b):
            return jax.vmap(score, in_axes=(-1, -1))(a, b)
        """,
    "cases of other classes": """
        import functools

        def normal(value):
            match value:
                case functools.partial():
                    return [one for one in value.args]
                case dict():
                    return list(value.items())
                case [first, second]:
                    return first
                case _:
                    return value

        def taken(obj, path):
            match path:
                case str() if hasattr(obj, path):
                    return getattr(obj, path)
                case str():
                    return obj[path]

        def main():
            return normal({"a": 1}), normal(3), normal((1, 2)), taken({"params": 3}, "params")
        """,
    "kernels take further references, also by keyword": """
        import functools
        from jax.experimental import pallas as pl

        def kernel(a_ref, o_ref, *rest, scale=2.0):
            o_ref[...] = a_ref[...] * scale
            if rest is not None:
                l_ref, m_ref = rest
                l_ref[...] = a_ref[...]

        def run(a):
            like = jax.ShapeDtypeStruct((3,), a.dtype)
            shapes = [like, like, like]
            o, l, m = pl.pallas_call(functools.partial(kernel, scale=3.0), grid=(2,), out_shape=shapes)(a)
            x, y, z = jax.jit(pl.pallas_call(kernel=kernel, out_shape=shapes))(a)
            return o + l + m + x + y + z
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_found(program: str) -> None:
    assert said(program) == marked(program)
