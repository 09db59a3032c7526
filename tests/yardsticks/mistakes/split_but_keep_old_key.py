# Grid world: the key is split, and then the old one is used instead of the new ones.
import jax


def generate(rng, height, width):
    goal_rng, agent_rng = jax.random.split(rng)
    goal = jax.random.randint(goal_rng, (2,), 1, height - 1)
    agent = jax.random.randint(rng, (2,), 1, width - 1)  #! key-reused
    return goal, agent, agent_rng


def main():
    print(generate(jax.random.key(0), 9, 9)[:2])


if __name__ == "__main__":
    main()
