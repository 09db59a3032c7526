# The key is drawn from in one branch and again after it.
import jax


def perturb(key, x, anneal):
    if anneal:
        x = x + 0.01 * jax.random.normal(key, x.shape)
    return x * jax.random.uniform(key, x.shape)  #! key-reused


def main():
    x_key, key = jax.random.split(jax.random.key(0))
    print(perturb(key, jax.random.normal(x_key, (3,)), anneal=True))


if __name__ == "__main__":
    main()
