# The same window of a key array, cut out twice at a position known at run time.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    position = 1
    one = jax.lax.dynamic_index_in_dim(keys, position, keepdims=False)
    two = jax.lax.dynamic_index_in_dim(keys, position, keepdims=False)
    print(jax.random.normal(one))
    print(jax.random.normal(two))  #! key-reused


if __name__ == "__main__":
    main()
