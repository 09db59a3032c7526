# The key is used in one arm, split in the other, and made new after both.
import jax


def explore(key, greedy):
    if greedy:
        key, tie_key = jax.random.split(key)
        action = jax.random.randint(tie_key, (), 0, 2)
    else:
        key, action_key = jax.random.split(key)
        action = jax.random.randint(action_key, (), 0, 6)
    key, delay_key = jax.random.split(key)
    return action, jax.random.exponential(delay_key), key


def main():
    key = jax.random.key(0)
    for greedy in (True, False):
        action, delay, key = explore(key, greedy)
        print(action, delay)


if __name__ == "__main__":
    main()
