"""Harmless edits of the tour: nothing that the programs rely on changes, so `diff` has nothing to say."""

from __future__ import annotations

from benchmarks.tour.edits import ENV, MODEL, PPO, TRAIN, Edit

_ADVANTAGES = '''def advantages_of(batch, last_value, gamma, lam):
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


'''
_VALUE_LOSS = """            value_clipped = batch.value + jnp.clip(value - batch.value, -config["CLIP_EPS"], config["CLIP_EPS"])
            value_losses = jnp.maximum(jnp.square(value - targets), jnp.square(value_clipped - targets))
            value_loss = 0.5 * value_losses.mean()
"""
_DROPOUT = '''def dropout(key, x, rate):
    """Leave out some of the elements, and make up for it."""
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)


'''
_LAYER_STEP = """
    def layer_step(x, inputs):
        layer, layer_key = inputs
        return block(layer, x, layer_key), None

"""

REFACTORINGS = (
    Edit(
        "variables are renamed",
        (
            (ENV, "place_key, goal_key = jax", "first, second = jax"),
            (ENV, "randint(place_key", "randint(first"),
            (ENV, "randint(goal_key", "randint(second"),
        ),
    ),
    Edit(
        "a function is renamed, and all who call it",
        (
            (ENV, "def reset(key)", "def new_episode(key)"),
            (ENV, "state_reset = reset(key)", "state_reset = new_episode(key)"),
            (PPO, "import MOVES, reset, step", "import MOVES, new_episode, step"),
            (PPO, "jax.vmap(reset)", "jax.vmap(new_episode)"),
        ),
    ),
    Edit("a file is renamed", ((PPO, "from env import", "from world import"),), renamed=((ENV, "agent/world.py"),)),
    Edit(
        "a function moves to a file of its own",
        (
            (PPO, _ADVANTAGES, ""),
            (
                PPO,
                "from env import MOVES, reset, step\n",
                "from env import MOVES, reset, step\nfrom gae import advantages_of\n",
            ),
            (
                "agent/gae.py",
                "",
                '"""Advantages."""\n\nimport jax\nimport jax.numpy as jnp\n\n\n' + _ADVANTAGES.rstrip() + "\n",
            ),
        ),
    ),
    Edit(
        "a part of the loss becomes a function",
        (
            (
                PPO,
                _VALUE_LOSS,
                '            value_loss = value_loss_of(value, batch.value, targets, config["CLIP_EPS"])\n',
            ),
            (
                PPO,
                "def make_train(config):",
                "def value_loss_of(value, old, targets, eps):\n"
                "    clipped = old + jnp.clip(value - old, -eps, eps)\n"
                "    losses = jnp.maximum(jnp.square(value - targets), jnp.square(clipped - targets))\n"
                "    return 0.5 * losses.mean()\n\n\ndef make_train(config):",
            ),
        ),
    ),
    Edit(
        "a draw becomes a function",
        (
            (ENV, "goal = jax.random.randint(goal_key, (2,), 0, GRID)", "goal = anywhere(goal_key)"),
            (
                ENV,
                "def reset(key):",
                "def anywhere(key):\n    return jax.random.randint(key, (2,), 0, GRID)\n\n\ndef reset(key):",
            ),
        ),
    ),
    Edit(
        "definitions change their order",
        ((MODEL, _DROPOUT, ""), (MODEL, "def normalise(x, scale):", _DROPOUT + "def normalise(x, scale):")),
    ),
    Edit(
        "comments and docstrings",
        (
            (MODEL, '"""Let every token look at those before it."""', '"""Attend to the past, never to the future."""'),
            (MODEL, "    mask = jnp.tril", "    # Row q has the keys that query q may see.\n    mask = jnp.tril"),
            (PPO, "    batch_size = config", "    # All steps of all environments.\n    batch_size = config"),
        ),
    ),
    Edit(
        "types are added",
        (
            (ENV, "def reset(key):", "def reset(key: jax.Array) -> tuple[jax.Array, EnvState]:"),
            (
                MODEL,
                "def dropout(key, x, rate):",
                "def dropout(key: jax.Array, x: jax.Array, rate: float) -> jax.Array:",
            ),
            (TRAIN, "def make_batch(key, size):", "def make_batch(key: jax.Array, size: int) -> jax.Array:"),
        ),
    ),
    Edit(
        "an expression is taken apart",
        (
            (
                MODEL,
                "    return scale * (x - mean) / jnp.sqrt(variance + 1e-6)",
                "    spread = jnp.sqrt(variance + 1e-6)\n    centred = x - mean\n    return scale * centred / spread",
            ),
        ),
    ),
    Edit(
        "a variable is written out",
        (
            (TRAIN, "    targets = tokens[:, 1:]\n", ""),
            (TRAIN, "log_probs, targets[..., None]", "log_probs, tokens[:, 1:][..., None]"),
            (TRAIN, "jnp.argmax(logits, axis=-1) == targets", "jnp.argmax(logits, axis=-1) == tokens[:, 1:]"),
        ),
    ),
    Edit(
        "a function is spelled as an operator",
        (
            (
                PPO,
                "jnp.maximum(jnp.square(value - targets), jnp.square(value_clipped - targets))",
                "jnp.maximum((value - targets) ** 2, (value_clipped - targets) ** 2)",
            ),
        ),
    ),
    Edit(
        "arguments are named",
        (
            (
                PPO,
                "jax.lax.scan(backwards, start, batch, reverse=True)",
                "jax.lax.scan(f=backwards, init=start, xs=batch, reverse=True)",
            ),
            (
                PPO,
                "advantages_of(batch, last_value, config",
                "advantages_of(batch, last_value=last_value, gamma=config",
            ),
            (PPO, ', config["GAE_LAMBDA"])', ', lam=config["GAE_LAMBDA"])'),
        ),
    ),
    Edit(
        "a lambda becomes a function",
        (
            (
                TRAIN,
                "    average = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new, state.average, params)\n",
                "    average = jax.tree.map(blend, state.average, params)\n",
            ),
            (
                TRAIN,
                "def init_state(key):",
                "def blend(old, new):\n    return 0.99 * old + 0.01 * new\n\n\ndef init_state(key):",
            ),
        ),
    ),
    Edit(
        "an inner function moves out",
        (
            (MODEL, _LAYER_STEP, ""),
            (
                MODEL,
                "def apply_model(params",
                "def layer_step(x, inputs):\n    layer, layer_key = inputs\n    return block(layer, x, layer_key), None\n\n\n"
                "def apply_model(params",
            ),
        ),
    ),
    Edit(
        "imports are spelled otherwise",
        (
            (ENV, "import jax\n", "import jax\nfrom jax import random\n"),
            (ENV, "jax.random.split(key)", "random.split(key)"),
            (ENV, "jax.random.randint(place_key", "random.randint(place_key"),
            (ENV, "jax.random.randint(goal_key", "random.randint(goal_key"),
        ),
    ),
    Edit(
        "a call is spread over lines",
        (
            (
                TRAIN,
                "logits = jax.vmap(apply_model, in_axes=(None, 0, 0))(params, tokens[:, :-1], keys)",
                "logits = jax.vmap(\n        apply_model,\n        in_axes=(None, 0, 0),\n    )(\n        params,\n        tokens[:, :-1],\n        keys,\n    )",
            ),
        ),
    ),
    Edit(
        "the carry becomes a record",
        (
            (
                PPO,
                "class Transition(NamedTuple):",
                "class Tail(NamedTuple):\n    gae: jax.Array\n    value: jax.Array\n\n\nclass Transition(NamedTuple):",
            ),
            (PPO, "        gae, next_value = carry\n", "        gae, next_value = carry.gae, carry.value\n"),
            (PPO, "return (gae, transition.value), gae", "return Tail(gae, transition.value), gae"),
            (
                PPO,
                "start = (jnp.zeros_like(last_value), last_value)",
                "start = Tail(jnp.zeros_like(last_value), last_value)",
            ),
        ),
    ),
    Edit(
        "the configuration is read once",
        (
            (
                PPO,
                '    batch_size = config["NUM_ENVS"] * config["NUM_STEPS"]\n',
                '    num_envs, num_steps = config["NUM_ENVS"], config["NUM_STEPS"]\n    batch_size = num_envs * num_steps\n',
            ),
            (PPO, 'jax.random.split(step_key, config["NUM_ENVS"])', "jax.random.split(step_key, num_envs)"),
        ),
    ),
)
