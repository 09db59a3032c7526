# One of several samplers is chosen by number.
import jax


def main():
    key = jax.random.key(0)
    samplers = (jax.random.normal, jax.random.uniform, jax.random.cauchy)
    print(jax.lax.switch(1, samplers, key))


if __name__ == "__main__":
    main()
