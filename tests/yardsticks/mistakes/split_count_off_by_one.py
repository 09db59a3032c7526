# The new key and three subkeys need a split into four.
import jax


def init_agent(key):
    key, actor_key, critic_key, buffer_key = jax.random.split(key, 3)  #! too-few-subkeys
    return key, jax.random.normal(actor_key), jax.random.normal(critic_key), buffer_key


def main():
    print(init_agent(jax.random.key(0))[1:3])


if __name__ == "__main__":
    main()
