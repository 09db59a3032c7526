# An object keeps its key as an attribute; a method splits it for every request.
import jax


class Replay:
    def __init__(self, seed):
        self._key = jax.random.PRNGKey(seed)

    def next_key(self):
        self._key, key = jax.random.split(self._key)
        return key

    def sample(self, size, batch):
        return jax.random.choice(self.next_key(), size, (batch,))

    def noise(self, shape):
        return jax.random.normal(self.next_key(), shape)


def main():
    replay = Replay(0)
    for _ in range(3):
        print(replay.sample(100, 4), replay.noise((2,)))


if __name__ == "__main__":
    main()
