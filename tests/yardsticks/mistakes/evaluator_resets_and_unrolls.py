# The evaluator resets the environments with a split of the key and then plays with the same key.
import jax


def unroll(state, key, length):
    def step(carry, _):
        state, key = carry
        key, noise_key = jax.random.split(key)
        return (state + jax.random.normal(noise_key, state.shape), key), state.mean()

    return jax.lax.scan(step, (state, key), None, length)[1]


class Evaluator:
    def __init__(self, num_envs, length):
        self.num_envs = num_envs
        self.length = length

    def run(self, key):
        reset_keys = jax.random.split(key, self.num_envs)
        state = jax.vmap(jax.random.normal)(reset_keys)
        return unroll(state, key, self.length)  #! key-reused


def main():
    print(Evaluator(4, 6).run(jax.random.PRNGKey(0)))


if __name__ == "__main__":
    main()
