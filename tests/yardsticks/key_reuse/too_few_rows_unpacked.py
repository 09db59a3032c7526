# A split without a count gives two keys, and three names wait for them.
import jax


def main():
    key = jax.random.key(0)
    actor_key, critic_key, env_key = jax.random.split(key)  #! too-few-subkeys
    print(actor_key, critic_key, env_key)


if __name__ == "__main__":
    main()
