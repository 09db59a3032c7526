# Splitting one key twice gives the same rows twice.
import jax


def main():
    key = jax.random.key(0)
    first_rows = jax.random.split(key)
    actor_key, critic_key = jax.random.split(key)  #! key-reused
    print(jax.random.uniform(actor_key), first_rows.shape, critic_key.shape)


if __name__ == "__main__":
    main()
