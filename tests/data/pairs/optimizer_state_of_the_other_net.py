# tree-structure-mismatch: The critic is trained with a state that was made for the actor.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Actor(nn.Module):
    @nn.compact
    def __call__(self, obs):
        h = nn.tanh(nn.Dense(32)(obs))
        h = nn.tanh(nn.Dense(32)(h))
        return nn.Dense(2)(h)


class Critic(nn.Module):
    @nn.compact
    def __call__(self, obs):
        h = nn.relu(nn.Dense(64)(obs))
        return nn.Dense(1)(h)[..., 0]


def setup(key):
    ka, kc = jax.random.split(key)
    obs = jnp.zeros((1, 4))
    actor_params = Actor().init(ka, obs)
    critic_params = Critic().init(kc, obs)
    tx = optax.adam(3e-4)
    actor_opt = tx.init(actor_params)
    critic_opt = tx.init(critic_params)  #~ critic_opt = tx.init(actor_params)
    return actor_params, critic_params, actor_opt, critic_opt, tx


def main():
    actor_params, critic_params, actor_opt, critic_opt, tx = setup(jax.random.key(0))

    @jax.jit
    def critic_step(params, opt, obs, ret):
        def loss_fn(p):
            return jnp.mean((Critic().apply(p, obs) - ret) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt = tx.update(grads, opt, params)  #! tree-structure-mismatch
        return optax.apply_updates(params, updates), opt, loss

    obs = jnp.ones((8, 4))
    critic_params, critic_opt, loss = critic_step(critic_params, critic_opt, obs, jnp.zeros(8))
    print(loss, actor_opt is not None, jax.tree.leaves(actor_params)[0].shape)


main()
