# A frozen dataclass registered as a pytree carries the key through a scan.
import dataclasses
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.tree_util.register_dataclass, data_fields=["x", "key"], meta_fields=[])
@dataclasses.dataclass(frozen=True)
class Walker:
    x: jax.Array
    key: jax.Array


def walk(state, _):
    key, jump_key = jax.random.split(state.key)
    x = state.x + jax.random.choice(jump_key, jnp.array([-1.0, 1.0]))
    return dataclasses.replace(state, x=x, key=key), x


def main():
    print(jax.lax.scan(walk, Walker(jnp.float32(0), jax.random.key(0)), length=20)[1])


if __name__ == "__main__":
    main()
