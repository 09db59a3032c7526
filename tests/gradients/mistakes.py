"""Mistakes in the programs of this folder: one edit each, and the rule that finds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A correct program with a few pieces of text exchanged."""

    title: str
    program: str
    edits: tuple[tuple[str, str], ...]
    rule: str
    line: str
    """A piece of the line that is to blame."""
    also: tuple[str, ...] = ()
    """Further lines that it shows at."""
    in_source: bool = True
    in_trace: bool = True
    """False where JAX refuses the program, or the front end does not see enough of it."""
    sure: bool = True
    """False where it may be meant so, and a warning is all that can be said."""

    def text(self) -> str:
        """Return the program with the mistake in it."""
        text = (PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8")
        for old, new in self.edits:
            assert old in text, (self.title, old)
            text = text.replace(old, new)
        return text


MISTAKES = (
    Mistake(
        "advantage inside PPO",
        "ppo",
        (
            (
                "    advantages = (advantages - advantages.mean())",
                "    advantages = returns - values\n    advantages = (advantages - advantages.mean())",
            ),
        ),
        "missing-stop-gradient",
        "actor = -jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages).mean()",
    ),
    Mistake(
        "advantage of A2C",
        "a2c",
        (("chosen * jax.lax.stop_gradient(advantage)", "chosen * advantage"),),
        "missing-stop-gradient",
        "actor = -jnp.mean(chosen * advantage)",
    ),
    Mistake(
        "target of Q-learning",
        "dqn_same",
        (
            (
                "jax.lax.stop_gradient(q_values(params, next_obs)).max(axis=-1)",
                "q_values(params, next_obs).max(axis=-1)",
            ),
        ),
        "missing-stop-gradient",
        "target = reward + discount * q_values(params, next_obs).max(axis=-1)",
    ),
    Mistake(
        "online parameters in the target",
        "dqn",
        (
            ("q_values(target_params, batch.next_obs)", "q_values(params, batch.next_obs)"),
            ("q - jax.lax.stop_gradient(target)", "q - target"),
        ),
        "missing-stop-gradient",
        "target = batch.reward + 0.99 * (1.0 - batch.done) * following",
    ),
    Mistake(
        "SAC bootstraps from its own critics",
        "sac",
        (
            (
                "q_value(target_critics[0], next_obs, next_action), q_value(target_critics[1], next_obs, next_action)",
                "q_value(critics[0], next_obs, next_action), q_value(critics[1], next_obs, next_action)",
            ),
        ),
        "missing-stop-gradient",
        "target = reward + 0.99 * (1 - done) * (following - jnp.exp(log_alpha) * next_logp)",
    ),
    Mistake(
        "TD3 bootstraps from its own critics",
        "td3",
        (("for one in targets))", "for one in critics))"),),
        "missing-stop-gradient",
        "target = reward + not_done * 0.99 * following",
    ),
    Mistake(
        "codebook half",
        "vqvae",
        (("(jax.lax.stop_gradient(z) - e)", "(z - e)"),),
        "missing-stop-gradient",
        "codebook = jnp.mean((z - e) ** 2)",
    ),
    Mistake(
        "commitment half",
        "vqvae",
        (("(z - jax.lax.stop_gradient(e)) ** 2)\n    decoded", "(z - e) ** 2)\n    decoded"),),
        "missing-stop-gradient",
        "commitment = jnp.mean((z - e) ** 2)",
    ),
    Mistake(
        "critic of a world model",
        "world_model",
        (
            (
                'def critic_loss(critic, features, returns):\n    values = (features @ critic["v"])[..., 0]\n    return jnp.mean((values[:-1] - jax.lax.stop_gradient(returns)) ** 2)',
                'def critic_loss(critic, features, rewards):\n    values = (features @ critic["v"])[..., 0]\n    return jnp.mean((values[:-1] - rewards - 0.99 * values[1:]) ** 2)',
            ),
        ),
        "missing-stop-gradient",
        "return jnp.mean((values[:-1] - rewards - 0.99 * values[1:]) ** 2)",
    ),
    Mistake(
        "one-step returns",
        "a2c",
        (("returns = jax.lax.stop_gradient(returns_of(rewards, last))", "returns = rewards + 0.99 * last"),),
        "missing-stop-gradient",
        "returns = rewards + 0.99 * last",
    ),
    Mistake(
        "prediction of Q-learning",
        "dqn_same",
        (
            (
                "    q = q_values(params, obs)[jnp.arange(obs.shape[0]), action]",
                "    q = jax.lax.stop_gradient(q_values(params, obs)[jnp.arange(obs.shape[0]), action])",
            ),
            ("jax.lax.stop_gradient(q_values(params, next_obs)).max", "q_values(params, next_obs).max"),
        ),
        "misplaced-stop-gradient",
        "q = jax.lax.stop_gradient(q_values(params, obs)[jnp.arange(obs.shape[0]), action])",
    ),
    Mistake(
        "prediction of DQN",
        "dqn",
        (("jax.lax.stop_gradient(target)", "target"), ("    error = q -", "    error = jax.lax.stop_gradient(q) -")),
        "misplaced-stop-gradient",
        "error = jax.lax.stop_gradient(q) - target",
    ),
    Mistake(
        "log-probability",
        "a2c",
        (("chosen * jax.lax.stop_gradient(advantage)", "jax.lax.stop_gradient(chosen) * advantage"),),
        "misplaced-stop-gradient",
        "actor = -jnp.mean(jax.lax.stop_gradient(chosen) * advantage)",
    ),
    Mistake(
        "both halves on one side",
        "vqvae",
        (("(jax.lax.stop_gradient(z) - e)", "(z - jax.lax.stop_gradient(e))"),),
        "misplaced-stop-gradient",
        "commitment = jnp.mean((z - jax.lax.stop_gradient(e)) ** 2)",
    ),
    Mistake(
        "online side of BYOL",
        "byol",
        (
            (
                "one, two = unit(predict(online, first)), unit(predict(online, second))",
                "one, two = jax.lax.stop_gradient((unit(predict(online, first)), unit(predict(online, second))))",
            ),
        ),
        "misplaced-stop-gradient",
        "one, two = jax.lax.stop_gradient((unit(predict(online, first)), unit(predict(online, second))))",
    ),
    Mistake(
        "predictor of SimSiam",
        "simsiam",
        (("    z = jax.lax.stop_gradient(z)\n", "    p = jax.lax.stop_gradient(p)\n"),),
        "misplaced-stop-gradient",
        "p = jax.lax.stop_gradient(p)",
    ),
    Mistake(
        "values of a critic",
        "world_model",
        (
            (
                'values = (features @ critic["v"])[..., 0]\n    return jnp',
                'values = jax.lax.stop_gradient((features @ critic["v"])[..., 0])\n    return jnp',
            ),
        ),
        "misplaced-stop-gradient",
        'values = jax.lax.stop_gradient((features @ critic["v"])[..., 0])',
    ),
    Mistake(
        "rounded step size",
        "quantised",
        (("(scaled + jax.lax.stop_gradient(jnp.round(scaled) - scaled)) * step", "jnp.round(scaled * 0 + step)"),),
        "zero-gradient-path",
        "return jnp.round(scaled * 0 + step)",
    ),
    Mistake(
        "hard gate",
        "quantised",
        (("    gate = gate + jax.lax.stop_gradient(hard - gate)\n", "    gate = hard\n"),),
        "zero-gradient-path",
        "hard = jnp.where(gate > 0.5, 1.0, 0.0)",
    ),
    Mistake(
        "no straight-through",
        "vqvae",
        (("(z + jax.lax.stop_gradient(e - z)) @", "e @"), ("+ codebook + 0.25 * commitment", "")),
        "zero-gradient-path",
        "index = jnp.argmin(distance, axis=-1)",
    ),
    Mistake(
        "sign of an action",
        "sac",
        (
            ("    return jnp.mean(jnp.exp(log_alpha) * logp - q), logp", "    return -jnp.mean(q), logp"),
            ("    action = jnp.tanh(raw)\n", "    action = jnp.sign(raw)\n"),
        ),
        "zero-gradient-path",
        "action = jnp.sign(raw)",
    ),
    Mistake(
        "rounded learning rate",
        "maml",
        (('jnp.exp(meta["log_rate"])', 'jnp.ceil(meta["log_rate"])'),),
        "zero-gradient-path",
        'return task_loss(adapt(meta["params"], jnp.ceil(meta["log_rate"]), x, y), qx, qy)',
        in_trace=False,
    ),
    Mistake(
        "accuracy as loss",
        "contrastive",
        (
            (
                "    return contrast +",
                "    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)\n    return contrast +",
            ),
        ),
        "zero-gradient-path",
        "return jnp.mean(jnp.argmax(logits, axis=-1) == labels)",
    ),
    Mistake(
        "bias of the value",
        "ppo",
        (('h @ params["value"]["w"] + params["value"]["b"]', 'h @ params["value"]["w"]'),),
        "dead-parameter",
        "(value, aux), grads = jax.value_and_grad(loss, has_aux=True)(params, *given)",
        in_source=False,
    ),
    Mistake(
        "actions are ignored",
        "world_model",
        ((' + action @ params["ah"]', ""),),
        "dead-parameter",
        "(_, (h, z)), grads = jax.value_and_grad(model_loss, has_aux=True)(params, obs, actions, rewards, key)",
        in_source=False,
    ),
    Mistake(
        "bias of a layer",
        "maml",
        ((' + params["b1"]', ""),),
        "dead-parameter",
        "grads = jax.grad(task_loss)(params, x, y)",
        ("value, grads = jax.value_and_grad(meta_loss)(meta, tasks)",),
        in_trace=False,
    ),
    Mistake(
        "bias of the output",
        "dqn_same",
        (('h @ params["w2"] + params["b2"]', 'h @ params["w2"]'),),
        "dead-parameter",
        "grads = jax.grad(loss)(params, obs, action, reward, discount, next_obs)",
    ),
    Mistake(
        "predictor is skipped",
        "simsiam",
        (('z2 @ params["predictor"]', "z2"), ('z1 @ params["predictor"]', "z1")),
        "dead-parameter",
        "value, grads = step(params, jax.random.normal(k3, (5, 6)), jax.random.normal(k4, (5, 6)))",
    ),
    Mistake(
        "pair without has_aux",
        "ppo",
        (
            (
                "(value, aux), grads = jax.value_and_grad(loss, has_aux=True)",
                "(value, aux), grads = jax.value_and_grad(loss)",
            ),
        ),
        "aux-mishandled",
        "(value, aux), grads = jax.value_and_grad(loss)(params, *given)",
        in_trace=False,
    ),
    Mistake(
        "loss and gradients swapped",
        "dqn",
        (
            (
                "(value, priorities), grads = jax.value_and_grad(loss, has_aux=True)",
                "grads, (value, priorities) = jax.value_and_grad(loss, has_aux=True)",
            ),
        ),
        "aux-mishandled",
        "updates, state = optimiser.update(grads, state)",
        in_trace=False,
    ),
    Mistake(
        "swapped without aux",
        "byol",
        (("value, grads = jax.value_and_grad(loss)", "grads, value = jax.value_and_grad(loss)"),),
        "aux-mishandled",
        "updates, state = optimiser.update(grads, state)",
        in_trace=False,
    ),
    Mistake(
        "pair as gradients",
        "sac",
        (
            (
                "(_, logp), grads = jax.value_and_grad(actor_loss, has_aux=True)",
                "grads = jax.grad(actor_loss, has_aux=True)",
            ),
            ("jax.grad(alpha_loss)(log_alpha, logp)", "jax.grad(alpha_loss)(log_alpha, 0.0)"),
        ),
        "aux-mishandled",
        "updates, actor_state = optimiser.update(grads, states[0])",
        in_trace=False,
    ),
    Mistake(
        "has_aux without a pair",
        "byol",
        (("jax.value_and_grad(loss)", "jax.value_and_grad(loss, has_aux=True)"),),
        "aux-mishandled",
        "value, grads = jax.value_and_grad(loss, has_aux=True)(online, target, first, second)",
        in_trace=False,
    ),
    Mistake(
        "gradient of the target network",
        "byol",
        (("jax.value_and_grad(loss)", "jax.value_and_grad(loss, argnums=1)"),),
        "wrong-argnums",
        "value, grads = jax.value_and_grad(loss, argnums=1)(online, target, first, second)",
        in_trace=False,
    ),
    Mistake(
        "gradient of the target parameters",
        "dqn",
        (("jax.value_and_grad(loss, has_aux=True)", "jax.value_and_grad(loss, argnums=1, has_aux=True)"),),
        "wrong-argnums",
        "(value, priorities), grads = jax.value_and_grad(loss, argnums=1, has_aux=True)(params, target_params, batch, jnp.ones(8))",
    ),
    Mistake(
        "gradient of a key",
        "sac",
        (("jax.grad(critic_loss)(", "jax.grad(critic_loss, argnums=5)("),),
        "wrong-argnums",
        "grads = jax.grad(critic_loss, argnums=5)(critics, targets, actor, log_alpha, batch, k1)",
        in_trace=False,
    ),
    Mistake(
        "no such argument",
        "ppo",
        (("jax.value_and_grad(loss, has_aux=True)", "jax.value_and_grad(loss, argnums=7, has_aux=True)"),),
        "wrong-argnums",
        "(value, aux), grads = jax.value_and_grad(loss, argnums=7, has_aux=True)(params, *given)",
        in_trace=False,
    ),
    Mistake(
        "gradient of actions",
        "dqn_same",
        (("jax.grad(loss)(params, obs", "jax.grad(loss, argnums=2)(params, obs"),),
        "wrong-argnums",
        "grads = jax.grad(loss, argnums=2)(params, obs, action, reward, discount, next_obs)",
        in_trace=False,
    ),
    Mistake(
        "updates of the online network are dropped",
        "byol",
        (("online = optax.apply_updates(online, updates)", "online = optax.apply_updates(online, grads)"),),
        "raw-gradient-applied",
        "online = optax.apply_updates(online, grads)",
        in_trace=False,
    ),
    Mistake(
        "updates of the critic are dropped",
        "ddpg",
        (
            (
                'critic = optax.apply_updates(params["critic"], updates)',
                'critic = optax.apply_updates(params["critic"], grads)',
            ),
        ),
        "raw-gradient-applied",
        'critic = optax.apply_updates(params["critic"], grads)',
        in_trace=False,
    ),
    Mistake(
        "updates of a value network are dropped",
        "dqn",
        (("params = optax.apply_updates(params, updates)", "params = optax.apply_updates(params, grads)"),),
        "raw-gradient-applied",
        "params = optax.apply_updates(params, grads)",
        in_trace=False,
    ),
    Mistake(
        "updates of a policy are dropped",
        "ppo",
        (("return optax.apply_updates(params, updates), state", "return optax.apply_updates(params, grads), state"),),
        "raw-gradient-applied",
        "return optax.apply_updates(params, grads), state, value, aux",
        in_trace=False,
    ),
    Mistake(
        "updates of a temperature are dropped",
        "sac",
        (("log_alpha = optax.apply_updates(log_alpha, updates)", "log_alpha = optax.apply_updates(log_alpha, grads)"),),
        "raw-gradient-applied",
        "log_alpha = optax.apply_updates(log_alpha, grads)",
        in_trace=False,
    ),
    Mistake(
        "updates of an encoder are dropped",
        "vae",
        (("return optax.apply_updates(params, updates), state", "return optax.apply_updates(params, grads), state"),),
        "raw-gradient-applied",
        "return optax.apply_updates(params, grads), state, metrics",
        in_trace=False,
    ),
    Mistake(
        "advantages inside the loss",
        "gae_inside",
        (("jax.lax.stop_gradient(gae(rewards, values, values[-1]))", "gae(rewards, values, values[-1])"),),
        "missing-stop-gradient",
        "return -jnp.mean(lp * adv) + 0.5 * jnp.mean((values - jax.lax.stop_gradient(targets)) ** 2)",
    ),
    Mistake(
        "values cancel in their own target",
        "gae_inside",
        (("(values - jax.lax.stop_gradient(targets))", "(values - targets)"),),
        "missing-stop-gradient",
        "return -jnp.mean(lp * adv) + 0.5 * jnp.mean((values - targets) ** 2)",
    ),
    Mistake(
        "DDPG bootstraps from its own critic",
        "ddpg",
        (("q_value(slow_critic, next_obs", "q_value(critic, next_obs"),),
        "missing-stop-gradient",
        "target = reward + 0.99 * discount * following",
    ),
    Mistake(
        "values of a latent model in their own target",
        "latent_planning",
        (
            (
                "jax.lax.stop_gradient(reward + 0.99 * value(slow, wanted, next_action))",
                "reward + 0.99 * value(params, wanted, next_action)",
            ),
        ),
        "missing-stop-gradient",
        "target = reward + 0.99 * value(params, wanted, next_action)",
    ),
    Mistake(
        "encoder that is its own teacher",
        "latent_planning",
        (("jax.lax.stop_gradient(encode(slow, seen))", "encode(params, seen)"),),
        "missing-stop-gradient",
        "consistency = jnp.mean((ahead - wanted) ** 2)",
    ),
    Mistake(
        "distribution that is its own label",
        "c51",
        (
            ("logits_of(slow, next_obs)", "logits_of(params, next_obs)"),
            ("jax.lax.stop_gradient(projected(reward, discount, ahead))", "projected(reward, discount, ahead)"),
        ),
        "missing-stop-gradient",
        "error = optax.softmax_cross_entropy(chosen, target)",
    ),
    Mistake(
        "teacher of SimSiam",
        "simsiam",
        (("    z = jax.lax.stop_gradient(z)\n", ""),),
        "missing-stop-gradient",
        "return -jnp.mean(jnp.sum(p * z, axis=-1))",
        sure=False,
    ),
    Mistake(
        "baseline of REINFORCE",
        "reinforce",
        (("jax.lax.stop_gradient(returns - baseline)", "returns - baseline"),),
        "missing-stop-gradient",
        "return -jnp.mean(logp * advantage) + 0.5 * jnp.mean((baseline - returns) ** 2)",
    ),
    Mistake(
        "values of V-trace",
        "vtrace",
        (("jax.lax.stop_gradient(values)", "values"),),
        "missing-stop-gradient",
        "critic = 0.5 * jnp.mean((targets - values[:-1]) ** 2)",
    ),
    Mistake(
        "generator behind a stop",
        "gan",
        (
            (
                "score(discriminator, generate(generator, noise))",
                "score(discriminator, jax.lax.stop_gradient(generate(generator, noise)))",
            ),
        ),
        "misplaced-stop-gradient",
        "fooled = score(discriminator, jax.lax.stop_gradient(generate(generator, noise)))",
    ),
    Mistake(
        "one head for mean and variance",
        "vae",
        (('h @ params["log_var"]', 'h @ params["mean"]'),),
        "dead-parameter",
        "grads, metrics = jax.grad(loss, has_aux=True)(params, x, key)",
        in_source=False,
    ),
    Mistake(
        "metrics as gradients",
        "vae",
        (("grads, metrics = jax.grad", "metrics, grads = jax.grad"),),
        "aux-mishandled",
        "updates, state = optimiser.update(grads, state)",
        in_trace=False,
    ),
    Mistake(
        "statistics of the tree's own structure as gradients",
        "vae",
        (
            ("grads, metrics = jax.grad", "metrics, grads = jax.grad"),
            ('{"divergence": divergence, "rebuilt": rebuilt.mean()}', "jax.lax.stop_gradient(params)"),
            ('metrics["divergence"]', 'metrics["mean"]'),
        ),
        "aux-mishandled",
        "updates, state = optimiser.update(grads, state)",
    ),
    Mistake(
        "accuracy of InfoNCE",
        "infonce",
        (("return 0.5 * jnp.mean(there + back), accuracy", "return 1.0 - accuracy, there.mean()"),),
        "zero-gradient-path",
        "accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == labels)",
    ),
    Mistake(
        "decay of the torso as it was",
        "reinforce",
        (
            (
                "    grads = jax.grad(loss)(params, obs, actions, rewards)",
                (
                    "    def decayed(p):\n"
                    '        return loss(p, obs, actions, rewards) + 1e-3 * jnp.sum(params["torso"] ** 2)\n\n'
                    "    grads = jax.grad(decayed)(params)"
                ),
            ),
        ),
        "term-without-gradient",
        'return loss(p, obs, actions, rewards) + 1e-3 * jnp.sum(params["torso"] ** 2)',
    ),
    Mistake(
        "entropy of the policy as it was",
        "a2c",
        (
            (
                "    value, grads = jax.value_and_grad(loss)(params, obs, actions, rewards, last_obs)",
                (
                    "    def regular(p):\n"
                    "        logp = jax.nn.log_softmax(network(params, last_obs)[0])\n"
                    "        entropy = jnp.mean(jnp.sum(jnp.exp(logp) * logp, axis=-1))\n"
                    "        return loss(p, obs, actions, rewards, last_obs) + 0.1 * entropy\n\n"
                    "    value, grads = jax.value_and_grad(regular)(params)"
                ),
            ),
        ),
        "term-without-gradient",
        "logp = jax.nn.log_softmax(network(params, last_obs)[0])",
    ),
    Mistake(
        "one view of the network around",
        "byol",
        (
            (
                "jax.value_and_grad(loss)(online, target, first, second)",
                (
                    "jax.value_and_grad(\n"
                    "            lambda p: loss(p, target, first, second)\n"
                    "            + loss(online, target, second, first)\n"
                    "        )(online)"
                ),
            ),
        ),
        "term-without-gradient",
        "+ loss(online, target, second, first)",
    ),
    Mistake(
        "penalty on all leaves as they were",
        "gan",
        (
            (
                "jax.grad(generator_loss)(generator, discriminator, noise)",
                (
                    "jax.grad(\n"
                    "        lambda g: generator_loss(g, discriminator, noise)\n"
                    "        + sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(generator))\n"
                    "    )(generator)"
                ),
            ),
        ),
        "term-without-gradient",
        "+ sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(generator))",
    ),
    Mistake(
        "boundary of the solution as it was",
        "pinn",
        (
            (
                "step = jax.jit(jax.grad(loss))",
                (
                    "@jax.jit\ndef step(params, xs, ts, sources):\n"
                    "    def bounded(p):\n"
                    "        edge = jax.vmap(u, in_axes=(None, None, 0))(params, 0.0, ts)\n"
                    "        return loss(p, xs, ts, sources) + jnp.mean(edge**2)\n\n"
                    "    return jax.grad(bounded)(params)"
                ),
            ),
        ),
        "term-without-gradient",
        "edge = jax.vmap(u, in_axes=(None, None, 0))(params, 0.0, ts)",
    ),
)
