# All environments are reset with one key: they all start in the same state.
import jax

NUM_ENVS = 8


def reset(key, size):
    return jax.random.uniform(key, (size,))  #! same-key-across-vmap


def main():
    key = jax.random.key(0)
    sizes = jax.numpy.arange(NUM_ENVS)
    states = jax.vmap(lambda key, _: reset(key, 3), in_axes=(None, 0))(key, sizes)  #! same-key-across-vmap
    print(states)


if __name__ == "__main__":
    main()
