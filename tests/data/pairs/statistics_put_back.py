# field-put-back: the running statistics are updated but the old ones are kept in the agent state
import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class RunningStats:
    mean: jnp.ndarray
    var: jnp.ndarray
    count: jnp.ndarray

    def update(self, batch):
        n = batch.shape[0]
        b_mean, b_var = batch.mean(axis=0), batch.var(axis=0)
        total = self.count + n
        delta = b_mean - self.mean
        mean = self.mean + delta * n / total
        m2 = self.var * self.count + b_var * n + delta**2 * self.count * n / total
        return self.replace(mean=mean, var=m2 / total, count=total)

    def normalize(self, x):
        return (x - self.mean) / jnp.sqrt(self.var + 1e-8)


@struct.dataclass
class AgentState:
    params: dict
    stats: RunningStats
    steps: jnp.ndarray


def act(params, obs):
    return jnp.tanh(obs @ params["w"])


@jax.jit
def collect(agent, obs):
    stats = agent.stats.update(obs)
    action = act(agent.params, stats.normalize(obs))
    agent = agent.replace(stats=stats, steps=agent.steps + obs.shape[0])  #~ agent = agent.replace(stats=agent.stats, steps=agent.steps + obs.shape[0])  #! field-put-back
    return agent, action


def main():
    stats = RunningStats(jnp.zeros(4), jnp.ones(4), jnp.array(1e-4))
    agent = AgentState({"w": jnp.ones((4, 2))}, stats, jnp.array(0))
    obs = jax.random.normal(jax.random.key(0), (16, 4))
    for _ in range(5):
        agent, action = collect(agent, obs)
        obs = obs + 0.1 * action.sum(-1, keepdims=True)
    print(agent.stats.mean)


if __name__ == "__main__":
    main()
