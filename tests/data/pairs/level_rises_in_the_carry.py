# carry-type-changes: The structure of the carry changes.
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class Env:
    position: jax.Array
    level: int  #~ level: int = struct.field(pytree_node=False)


def step(env, action):
    env = env.replace(position=env.position + action, level=env.level + 1)
    return env, env.position


def main():
    env = Env(jnp.zeros(2), 0)
    env, path = jax.lax.scan(step, env, jnp.ones((5, 2)))  #! carry-type-changes
    print(path.shape, env.level)


main()
