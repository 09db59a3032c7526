# Whether to explore and where to explore are decided by the same bits.
import jax
import jax.numpy as jnp


def epsilon_greedy(key, q_values, epsilon):
    explore = jax.random.uniform(key) < epsilon
    random_action = jax.random.randint(key, (), 0, q_values.shape[-1])  #! key-reused
    return jnp.where(explore, random_action, jnp.argmax(q_values))


def main():
    print(epsilon_greedy(jax.random.key(0), jnp.arange(4.0), 0.1))


if __name__ == "__main__":
    main()
