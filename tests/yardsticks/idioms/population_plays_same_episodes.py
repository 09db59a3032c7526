# Evolution strategies: every member of the population is judged on the same episodes, for a fair comparison.
import jax
import jax.numpy as jnp


def episode(key, policy):
    start_key, noise_key = jax.random.split(key)
    start = jax.random.normal(start_key, policy.shape)
    return -jnp.sum((start + 0.1 * jax.random.normal(noise_key, policy.shape) - policy) ** 2)


def fitness(keys, policy):
    return jax.vmap(episode, in_axes=(0, None))(keys, policy).mean()


def main():
    population_key, eval_key = jax.random.split(jax.random.key(0))
    population = jax.random.normal(population_key, (6, 3))
    keys_eval = jax.random.split(eval_key, 4)
    scores = jax.vmap(fitness, in_axes=(None, 0))(keys_eval, population)  # ? same-key-across-vmap
    print(population[jnp.argmax(scores)])


if __name__ == "__main__":
    main()
