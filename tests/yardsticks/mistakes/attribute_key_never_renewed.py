# An exploration policy keeps its key and never renews it.
import jax


class Explorer:
    def __init__(self, seed, size):
        self.key = jax.random.PRNGKey(seed)
        self.size = size

    def act(self):
        return jax.random.randint(self.key, (), 0, self.size)  #! key-reused same-key-in-loop


def main():
    explorer = Explorer(0, 6)
    for _ in range(4):
        print(explorer.act())  #! key-reused same-key-in-loop


if __name__ == "__main__":
    main()
