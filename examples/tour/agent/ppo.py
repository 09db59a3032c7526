"""PPO in the style of purejaxrl: environment, rollout and learner are one compiled program.

    cd examples/tour/agent && python ppo.py
"""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from env import MOVES, reset, step
from flax.linen.initializers import constant, orthogonal
from flax.training.train_state import TrainState

CONFIG = {
    "LR": 3e-3,
    "NUM_ENVS": 16,
    "NUM_STEPS": 24,
    "NUM_UPDATES": 6,
    "UPDATE_EPOCHS": 2,
    "NUM_MINIBATCHES": 4,
    "GAMMA": 0.99,
    "GAE_LAMBDA": 0.95,
    "CLIP_EPS": 0.2,
    "ENT_COEF": 0.01,
    "VF_COEF": 0.5,
    "MAX_GRAD_NORM": 0.5,
    "HIDDEN": 32,
}


class Transition(NamedTuple):
    """One step of every environment."""

    done: jax.Array
    action: jax.Array
    value: jax.Array
    reward: jax.Array
    log_prob: jax.Array
    obs: jax.Array


class ActorCritic(nn.Module):
    """Two separate networks: logits of the policy, and the value of a state."""

    num_actions: int
    hidden: int

    @nn.compact
    def __call__(self, obs):
        actor = nn.tanh(nn.Dense(self.hidden, kernel_init=orthogonal(2.0**0.5))(obs))
        logits = nn.Dense(self.num_actions, kernel_init=orthogonal(0.01), bias_init=constant(0.0))(actor)
        critic = nn.tanh(nn.Dense(self.hidden, kernel_init=orthogonal(2.0**0.5))(obs))
        value = nn.Dense(1, kernel_init=orthogonal(1.0))(critic)
        return logits, value.squeeze(-1)


def advantages_of(batch, last_value, gamma, lam):
    """Estimate how much better each action was than the value of its state, from the last step to the first."""

    def backwards(carry, transition):
        gae, next_value = carry
        alive = 1.0 - transition.done
        delta = transition.reward + gamma * next_value * alive - transition.value
        gae = delta + gamma * lam * alive * gae
        return (gae, transition.value), gae

    start = (jnp.zeros_like(last_value), last_value)
    _, advantages = jax.lax.scan(backwards, start, batch, reverse=True)
    return advantages, advantages + batch.value


def make_train(config):
    """Build the training function for one configuration."""
    batch_size = config["NUM_ENVS"] * config["NUM_STEPS"]

    def train(rng):
        network = ActorCritic(len(MOVES), config["HIDDEN"])
        rng, init_key, reset_key = jax.random.split(rng, 3)
        optimiser = optax.chain(
            optax.clip_by_global_norm(config["MAX_GRAD_NORM"]),
            optax.adam(config["LR"], eps=1e-5),
        )
        params = network.init(init_key, jnp.zeros((4,)))
        train_state = TrainState.create(apply_fn=network.apply, params=params, tx=optimiser)
        obs, env_state = jax.vmap(reset)(jax.random.split(reset_key, config["NUM_ENVS"]))

        def env_step(runner, _):
            train_state, env_state, last_obs, rng = runner
            rng, action_key, step_key = jax.random.split(rng, 3)
            logits, value = train_state.apply_fn(train_state.params, last_obs)
            action = jax.random.categorical(action_key, logits)
            log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=1).squeeze(1)
            keys = jax.random.split(step_key, config["NUM_ENVS"])
            obs, env_state, reward, done = jax.vmap(step)(keys, env_state, action)
            transition = Transition(done, action, value, reward, log_prob, last_obs)
            return (train_state, env_state, obs, rng), transition

        def loss_fn(params, batch, gae, targets):
            logits, value = network.apply(params, batch.obs)
            log_probs = jax.nn.log_softmax(logits)
            log_prob = jnp.take_along_axis(log_probs, batch.action[:, None], axis=1).squeeze(1)

            value_clipped = batch.value + jnp.clip(value - batch.value, -config["CLIP_EPS"], config["CLIP_EPS"])
            value_losses = jnp.maximum(jnp.square(value - targets), jnp.square(value_clipped - targets))
            value_loss = 0.5 * value_losses.mean()

            ratio = jnp.exp(log_prob - batch.log_prob)
            gae = (gae - gae.mean()) / (gae.std() + 1e-8)
            clipped = jnp.clip(ratio, 1.0 - config["CLIP_EPS"], 1.0 + config["CLIP_EPS"])
            actor_loss = -jnp.minimum(ratio * gae, clipped * gae).mean()
            entropy = -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1).mean()

            total = actor_loss + config["VF_COEF"] * value_loss - config["ENT_COEF"] * entropy
            return total, (value_loss, actor_loss, entropy)

        def minibatch_step(train_state, minibatch):
            batch, advantages, targets = minibatch
            grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
            loss, grads = grad_fn(train_state.params, batch, advantages, targets)
            return train_state.apply_gradients(grads=grads), loss

        def epoch(update, _):
            train_state, data, rng = update
            rng, shuffle_key = jax.random.split(rng)
            order = jax.random.permutation(shuffle_key, batch_size)
            flat = jax.tree.map(lambda x: x.reshape((batch_size, *x.shape[2:])), data)
            shuffled = jax.tree.map(lambda x: jnp.take(x, order, axis=0), flat)
            split = jax.tree.map(lambda x: x.reshape((config["NUM_MINIBATCHES"], -1, *x.shape[1:])), shuffled)
            train_state, losses = jax.lax.scan(minibatch_step, train_state, split)
            return (train_state, data, rng), losses

        def update_step(runner, _):
            runner, batch = jax.lax.scan(env_step, runner, None, config["NUM_STEPS"])
            train_state, env_state, last_obs, rng = runner
            _, last_value = network.apply(train_state.params, last_obs)
            advantages, targets = advantages_of(batch, last_value, config["GAMMA"], config["GAE_LAMBDA"])
            start = (train_state, (batch, advantages, targets), rng)
            (train_state, _, rng), losses = jax.lax.scan(epoch, start, None, config["UPDATE_EPOCHS"])
            metrics = {"reward": batch.reward.mean(), "loss": losses[0].mean()}
            return (train_state, env_state, last_obs, rng), metrics

        runner = (train_state, env_state, obs, rng)
        runner, metrics = jax.lax.scan(update_step, runner, None, config["NUM_UPDATES"])
        return {"params": runner[0].params, "metrics": metrics}

    return train


def main():
    """Train once, and print how it went."""
    trained = jax.jit(make_train(CONFIG))(jax.random.key(0))
    for number, reward in enumerate(trained["metrics"]["reward"]):
        print(f"update {number}: mean reward {reward:+.3f}")


if __name__ == "__main__":
    main()
