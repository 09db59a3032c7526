"""The edits of the tour, as data: each is what somebody would do, and says which constraint it breaks and where."""

from __future__ import annotations

from dataclasses import dataclass

ENV, PPO = "agent/env.py", "agent/ppo.py"
MODEL, TRAIN, PARALLEL = "language/model.py", "language/train.py", "language/parallel.py"


@dataclass(frozen=True)
class Edit:
    """One edit of the programs, and what it breaks."""

    title: str
    changes: tuple[tuple[str, str, str], ...] = ()
    """The file, what stands there once, and what stands there afterwards; where nothing stood, it is added at the end."""
    rule: str = ""
    """The rule that it violates; empty for a refactoring."""
    line: str = ""
    """The line of code where that shows."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Files that get another name."""


def _edit(title: str, path: str, old: str, new: str, rule: str, line: str = "") -> Edit:
    """Return an edit of one place; without a line, the one that it writes is where the break shows."""
    return Edit(title, ((path, old, new),), rule, line or new.strip())


_SCAN_EPOCH = '(train_state, _, rng), losses = jax.lax.scan(epoch, start, None, config["UPDATE_EPOCHS"])'
_SCAN_STEPS = 'runner, batch = jax.lax.scan(env_step, runner, None, config["NUM_STEPS"])'
_SCAN_UPDATES = 'runner, metrics = jax.lax.scan(update_step, runner, None, config["NUM_UPDATES"])'
_SCAN_MINIBATCHES = "train_state, losses = jax.lax.scan(minibatch_step, train_state, split)"
_SCAN_LAYERS = 'x, _ = jax.lax.scan(layer_step, x, (params["layers"], jax.random.split(key, LAYERS)))'
_GRADIENTS = "loss, grads = grad_fn(train_state.params, batch, advantages, targets)"
_STEP = "obs, env_state, reward, done = jax.vmap(step)(keys, env_state, action)"

BREAKS = (
    _edit(
        "the goal is drawn with the key of the place",
        ENV,
        "goal = jax.random.randint(goal_key, (2,), 0, GRID)",
        "goal = jax.random.randint(place_key, (2,), 0, GRID)",
        "key-reused",
    ),
    _edit(
        "an `if` on what is traced",
        ENV,
        "next_state = jax.tree.map(lambda new, old: jnp.where(done, new, old), state_reset, moved)",
        "next_state = state_reset if done else moved",
        "python-branch-on-traced",
    ),
    _edit(
        "an array is assigned to",
        ENV,
        "    return obs, next_state, reward, done\n",
        "    obs[0] = 0.0\n    return obs, next_state, reward, done\n",
        "in-place-update",
        "obs[0] = 0.0",
    ),
    _edit(
        "what is seen after the end is of the old episode",
        ENV,
        "obs = jnp.where(done, obs_reset, observe(moved))",
        "obs = observe(moved)",
        "uneven-reset",
        "obs_reset, state_reset = reset(key)",
    ),
    _edit("time becomes a float", ENV, "state.time + 1)", "state.time + 1.0)", "carry-type-changes", _SCAN_STEPS),
    _edit(
        "advantages are summed forwards",
        PPO,
        "_, advantages = jax.lax.scan(backwards, start, batch, reverse=True)",
        "_, advantages = jax.lax.scan(backwards, start, batch)",
        "advantage-not-reversed",
    ),
    _edit(
        "advantages go on over the end of episodes",
        PPO,
        "gae = delta + gamma * lam * alive * gae",
        "gae = delta + gamma * lam * gae",
        "leak-across-episodes",
    ),
    _edit(
        "the policy is given probabilities for logits",
        PPO,
        "action = jax.random.categorical(action_key, logits)",
        "action = jax.random.categorical(action_key, jax.nn.softmax(logits))",
        "meaning-mismatch",
    ),
    _edit(
        "the old observation is carried on",
        PPO,
        "return (train_state, env_state, obs, rng), transition",
        "return (train_state, env_state, last_obs, rng), transition",
        "unchanged-carry",
        _STEP,
    ),
    _edit(
        "the carry of the rollout gains a field",
        PPO,
        "return (train_state, env_state, obs, rng), transition",
        "return (train_state, env_state, obs, rng, done), transition",
        "carry-type-changes",
        _SCAN_STEPS,
    ),
    _edit(
        "the carry of the updates loses its key",
        PPO,
        "return (train_state, env_state, last_obs, rng), metrics",
        "return (train_state, env_state, last_obs), metrics",
        "carry-type-changes",
        _SCAN_UPDATES,
    ),
    _edit(
        "an axis of length one stays",
        PPO,
        "log_prob = jnp.take_along_axis(log_probs, batch.action[:, None], axis=1).squeeze(1)",
        "log_prob = jnp.take_along_axis(log_probs, batch.action[:, None], axis=1)",
        "silent-broadcast",
        "ratio = jnp.exp(log_prob - batch.log_prob)",
    ),
    _edit(
        "a spread that may be zero",
        PPO,
        "gae = (gae - gae.mean()) / (gae.std() + 1e-8)",
        "gae = (gae - gae.mean()) / gae.std()",
        "unsafe-domain",
    ),
    _edit(
        "the loss is no number any more",
        PPO,
        "value_loss = 0.5 * value_losses.mean()",
        "value_loss = 0.5 * value_losses",
        "non-scalar-grad",
        _GRADIENTS,
    ),
    _edit(
        "the loss returns more than a number",
        PPO,
        "jax.value_and_grad(loss_fn, has_aux=True)",
        "jax.value_and_grad(loss_fn)",
        "aux-mishandled",
        _GRADIENTS,
    ),
    _edit(
        "the improved parameters are dropped",
        PPO,
        "            return train_state.apply_gradients(grads=grads), loss",
        "            train_state.apply_gradients(grads=grads)\n            return train_state, loss",
        "result-discarded",
        "train_state.apply_gradients(grads=grads)",
    ),
    _edit(
        "carry and result change places",
        PPO,
        "return train_state.apply_gradients(grads=grads), loss",
        "return loss, train_state.apply_gradients(grads=grads)",
        "carry-type-changes",
        _SCAN_MINIBATCHES,
    ),
    _edit(
        "the shuffled data is carried on",
        PPO,
        "return (train_state, data, rng), losses",
        "return (train_state, shuffled, rng), losses",
        "carry-type-changes",
        _SCAN_EPOCH,
    ),
    _edit(
        "a print for debugging stays",
        PPO,
        "            transition = Transition(",
        "            print(reward)\n            transition = Transition(",
        "print-in-traced-code",
        "print(reward)",
    ),
    _edit(
        "both dropouts have one key",
        MODEL,
        'return x + dropout(hidden_key, hidden @ layer["down"], 0.1)',
        'return x + dropout(attention_key, hidden @ layer["down"], 0.1)',
        "key-reused",
    ),
    _edit(
        "all layers start alike",
        MODEL,
        '"layers": jax.vmap(init_layer)(jax.random.split(layer_key, LAYERS)),',
        '"layers": jax.vmap(lambda _: init_layer(layer_key))(jnp.arange(LAYERS)),',
        "same-key-across-vmap",
    ),
    _edit(
        "weights add up to one over the queries",
        MODEL,
        "weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)",
        "weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=1)",
        "reduction-over-wrong-axis",
    ),
    _edit(
        "the mask is forgotten",
        MODEL,
        "weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)",
        "weights = jax.nn.softmax(scores, axis=-1)",
        "unused-mask",
        "mask = jnp.tril(jnp.ones((time, time), bool))",
    ),
    _edit(
        "an axis is lost in the norm",
        MODEL,
        "variance = x.var(axis=-1, keepdims=True)",
        "variance = x.var(axis=-1)",
        "axis-conflict",
        "return scale * (x - mean) / jnp.sqrt(variance + 1e-6)",
    ),
    _edit(
        "the layer does not return a pair",
        MODEL,
        "return block(layer, x, layer_key), None",
        "return block(layer, x, layer_key)",
        "carry-type-changes",
        _SCAN_LAYERS,
    ),
    _edit(
        "one key too few for the layers",
        MODEL,
        _SCAN_LAYERS,
        _SCAN_LAYERS.replace("LAYERS)", "LAYERS - 1)"),
        "scan-length-mismatch",
    ),
    _edit(
        "`in_axes` does not know the key",
        TRAIN,
        "logits = jax.vmap(apply_model, in_axes=(None, 0, 0))(params, tokens[:, :-1], keys)",
        "logits = jax.vmap(apply_model, in_axes=(None, 0))(params, tokens[:, :-1], keys)",
        "in-axes-structure-mismatch",
    ),
    _edit(
        "the size is traced",
        TRAIN,
        '@partial(jax.jit, static_argnames="size", donate_argnums=0)',
        "@partial(jax.jit, donate_argnums=0)",
        "dynamic-shape",
        "half = jax.random.randint(key, (size, CONTEXT // 2), 0, VOCAB)",
    ),
    _edit(
        "a traced loss becomes a Python number",
        TRAIN,
        "return State(params, average, opt_state, state.step + 1), {" + '"loss": loss, "accuracy": accuracy}',
        "return State(params, average, opt_state, state.step + 1), {" + '"loss": float(loss), "accuracy": accuracy}',
        "numpy-on-traced",
    ),
    _edit(
        "the state of the optimiser stays the old one",
        TRAIN,
        "return State(params, average, opt_state, state.step + 1)",
        "return State(params, average, state.opt_state, state.step + 1)",
        "stale-value",
        "updates, opt_state = optimiser.update(grads, state.opt_state, state.params)",
    ),
    _edit(
        "the optimiser's arguments change places",
        TRAIN,
        "updates, opt_state = optimiser.update(grads, state.opt_state, state.params)",
        "updates, opt_state = optimiser.update(state.opt_state, grads, state.params)",
        "swapped-arguments",
    ),
    _edit(
        "updates are taken for parameters",
        TRAIN,
        "params = optax.apply_updates(state.params, updates)",
        "params = updates",
        "updates-as-parameters",
        'return State(params, average, opt_state, state.step + 1), {"loss": loss, "accuracy": accuracy}',
    ),
    _edit(
        "every batch is the same",
        TRAIN,
        "state, metrics = train_step(state, jax.random.fold_in(train_key, number), size=BATCH)",
        "state, metrics = train_step(state, train_key, size=BATCH)",
        "same-key-in-loop",
    ),
    _edit(
        "no gradient reaches the model",
        TRAIN,
        "picked = jnp.take_along_axis(log_probs, targets[..., None], axis=-1).squeeze(-1)",
        "picked = jnp.take_along_axis(jax.lax.stop_gradient(log_probs), targets[..., None], axis=-1).squeeze(-1)",
        "misplaced-stop-gradient",
    ),
    _edit(
        "a logarithm of what may be zero",
        TRAIN,
        "log_probs = jax.nn.log_softmax(logits, axis=-1)",
        "log_probs = jnp.log(jax.nn.softmax(logits, axis=-1))",
        "unsafe-domain",
    ),
    _edit(
        "each device goes its own way",
        PARALLEL,
        '    grads = jax.lax.pmean(grads, axis_name="devices")\n',
        "",
        "local-gradient-applied",
        "updates, opt_state = optimiser.update(grads, opt_state, params)",
    ),
)
