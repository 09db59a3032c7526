# The plainest mistake: two draws in one expression.
import jax


def main():
    key = jax.random.key(0)
    print(jax.random.uniform(key) + jax.random.uniform(key))  #! key-reused


if __name__ == "__main__":
    main()
