# Several losses with a parameter called `key`, each given a row of its own.
import jax
import jax.numpy as jnp


def make_update(scale):
    def actor_loss(params, obs, key):
        action = params * obs + jax.random.normal(key, obs.shape)
        return jnp.mean(action**2)

    def critic_loss(params, obs, key):
        target = scale * jax.random.normal(key, obs.shape)
        return jnp.mean((params * obs - target) ** 2)

    def update(carry, obs):
        actor, critic, key = carry
        key, actor_key, critic_key = jax.random.split(key, num=3)
        actor = actor - 0.1 * jax.grad(actor_loss)(actor, obs, actor_key)
        loss, gradient = jax.value_and_grad(critic_loss)(critic, obs, critic_key)
        return (actor, critic - 0.1 * gradient, key), loss

    return update


def main():
    carry = (jnp.float32(1.0), jnp.float32(1.0), jax.random.key(0))
    print(jax.lax.scan(make_update(0.5), carry, jnp.ones((5, 3)))[1])


if __name__ == "__main__":
    main()
