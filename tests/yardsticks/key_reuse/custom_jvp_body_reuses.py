# Reuse inside a function with a forward derivative of its own.
import jax


@jax.custom_jvp
def noisy_scale(x, key):
    gain = 1.0 + jax.random.normal(key)
    return gain * x + jax.random.normal(key)  #! key-reused


@noisy_scale.defjvp
def noisy_scale_jvp(primals, tangents):
    return noisy_scale(*primals), tangents[0]


def main():
    print(jax.jit(noisy_scale)(2.0, jax.random.key(0)))


if __name__ == "__main__":
    main()
