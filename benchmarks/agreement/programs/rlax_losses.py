"""Functions of rlax, mostly mapped over a batch."""

import jax
import jax.numpy as jnp
import rlax

T, B, A, N = 5, 4, 3, 11
q, q2 = jnp.ones((B, A)), jnp.zeros((B, A))
a, r, d = jnp.zeros(B, jnp.int32), jnp.ones(B), jnp.full(B, 0.9)
td = jax.vmap(rlax.q_learning)(q, a, r, d, q2)
double = jax.vmap(rlax.double_q_learning)(q, a, r, d, q2, q)
sarsa = jax.vmap(rlax.sarsa)(q, a, r, d, q2, a)
expected = jax.vmap(rlax.expected_sarsa)(q, a, r, d, q2, jax.nn.softmax(q))
rewards, discounts, values = jnp.ones((T, B)), jnp.full((T, B), 0.9), jnp.zeros((T + 1, B))
returns = jax.vmap(rlax.lambda_returns, in_axes=(1, 1, 1, None), out_axes=1)(rewards, discounts, values[1:], 0.9)
nstep = jax.vmap(rlax.n_step_bootstrapped_returns, in_axes=(1, 1, 1, None), out_axes=1)(
    rewards, discounts, values[1:], 2
)
gae = jax.vmap(rlax.truncated_generalized_advantage_estimation, in_axes=(1, 1, None, 1), out_axes=1)(
    rewards, discounts, 0.95, values
)
rhos = jnp.ones((T, B))
vtrace = jax.vmap(rlax.vtrace_td_error_and_advantage, in_axes=1, out_axes=1)(
    values[:-1], values[1:], rewards, discounts, rhos
)
logits, actions, advantages = jnp.zeros((T, A)), jnp.zeros(T, jnp.int32), jnp.ones(T)
pg = rlax.policy_gradient_loss(logits, actions, advantages, jnp.ones(T))
entropy = rlax.entropy_loss(logits, jnp.ones(T))
ppo = rlax.clipped_surrogate_pg_loss(jnp.ones(T), advantages, 0.2)
support = jnp.linspace(-1.0, 1.0, N)
c51 = jax.vmap(rlax.categorical_td_learning, in_axes=(None, 0, 0, 0, None, 0))(
    support, jnp.zeros((B, N)), r, d, support, jnp.zeros((B, N))
)
projected = rlax.categorical_l2_project(support, jax.nn.softmax(jnp.zeros(N)), support)
quantile = jax.vmap(rlax.quantile_q_learning, in_axes=(0, None, 0, 0, 0, 0, 0))(
    jnp.zeros((B, N, A)), support, a, r, d, jnp.zeros((B, N, A)), jnp.zeros((B, N, A))
)
greedy = rlax.epsilon_greedy(0.1).sample(jax.random.PRNGKey(0), q)
soft = rlax.softmax(1.0).entropy(q)
two = rlax.signed_hyperbolic(r)
one = rlax.signed_parabolic(two)
clipped = rlax.huber_loss(r, 1.0)
picked = rlax.batched_index(q, a)
noise = rlax.add_gaussian_noise(jax.random.PRNGKey(1), r, 0.1)
lam = rlax.td_lambda(values[:-1, 0], rewards[:, 0], discounts[:, 0], values[1:, 0], 0.9)
retrace = rlax.retrace(
    jnp.ones((T, A)),
    jnp.ones((T, A)),
    actions,
    actions,
    rewards[:, 0],
    discounts[:, 0],
    jnp.ones((T, A)),
    jnp.ones(T),
    0.9,
)
popart = rlax.popart(2, 1e-2, 1e-4, 1e4)
