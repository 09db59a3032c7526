# A key fenced against reordering is the same key.
import jax


def main():
    key = jax.random.key(0)
    fenced = jax.lax.optimization_barrier(key)
    print(jax.random.normal(key))
    print(jax.random.normal(fenced))  #! key-reused


if __name__ == "__main__":
    main()
