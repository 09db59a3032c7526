# Three networks wait for keys, but the split gives two.
import jax


def main():
    key = jax.random.PRNGKey(0)
    actor_key, critic_key, target_key = jax.random.split(key)  #! too-few-subkeys
    print(actor_key, critic_key, target_key)


if __name__ == "__main__":
    main()
