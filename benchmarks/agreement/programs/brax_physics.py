"""Environments and math of brax."""

import jax
import jax.numpy as jnp
from brax import envs, math
from brax.training import distribution
from brax.training.acme import running_statistics
from brax.training.agents.ppo import losses as ppo_losses
from brax.training.agents.ppo import networks as ppo_networks

T, B, OBS, ACT = 5, 4, 6, 2
quat = jnp.array([1.0, 0.0, 0.0, 0.0])
rotated = math.rotate(jnp.ones(3), quat)
product = math.quat_mul(quat, quat)
axis = math.quat_rot_axis(jnp.array([0.0, 0.0, 1.0]), 0.3)
matrix = math.quat_to_3x3(quat)
unit, length = math.normalize(jnp.ones(3))
parts = math.orthogonals(unit)
env = envs.get_environment("fast")
state = env.reset(jax.random.key(0))
state = env.step(state, jnp.zeros(env.action_size))
policy = ppo_networks.make_ppo_networks(OBS, ACT, policy_hidden_layer_sizes=(8,), value_hidden_layer_sizes=(8,))
policy_params = policy.policy_network.init(jax.random.key(1))
value_params = policy.value_network.init(jax.random.key(2))
statistics = running_statistics.init_state(jax.ShapeDtypeStruct((OBS,), jnp.float32))
logits = policy.policy_network.apply(statistics, policy_params, jnp.ones((B, OBS)))
values = policy.value_network.apply(statistics, value_params, jnp.ones((B, OBS)))
statistics = running_statistics.update(statistics, jnp.ones((B, OBS)))
normal = distribution.NormalTanhDistribution(ACT)
action = normal.sample(logits, jax.random.key(3))
log_prob = normal.log_prob(logits, jnp.zeros((B, ACT)))
targets, advantages = ppo_losses.compute_gae(
    jnp.zeros((T, B)), jnp.zeros((T, B)), jnp.ones((T, B)), jnp.zeros((T, B)), jnp.zeros(B)
)
