# Several agents: a key for each, by position and by name.
import jax

AGENTS = ("left", "right", "keeper")


def act(key, obs):
    return jax.random.categorical(key, obs)


def main():
    rng = jax.random.PRNGKey(0)
    rng, act_rng, obs_rng = jax.random.split(rng, 3)
    act_keys = jax.random.split(act_rng, len(AGENTS))
    observations = jax.random.normal(obs_rng, (len(AGENTS), 4))
    print({agent: act(act_keys[i], observations[i]) for i, agent in enumerate(AGENTS)}, rng)


if __name__ == "__main__":
    main()
