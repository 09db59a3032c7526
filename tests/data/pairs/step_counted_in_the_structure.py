# retrace-every-call: The step is structure and changes in every turn.
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class State:
    params: jax.Array
    step: int  #~ step: int = struct.field(pytree_node=False)


@jax.jit
def update(state, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(state.params)
    return state.replace(params=state.params - 0.1 * grads, step=state.step + 1)


def main():
    state = State(jnp.ones(3), 0)
    for i in range(1000):
        state = update(state, jnp.ones((4, 3)) * i)  #! retrace-every-call
    print(state.step)


main()
