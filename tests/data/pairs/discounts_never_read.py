# ignored-argument: the discount argument is ignored in favour of a module constant
import jax
import jax.numpy as jnp

GAMMA = 0.99


def n_step_returns(rewards, discounts, bootstrap, n):  #! ignored-argument
    """n-step returns of a (T,) trajectory."""
    T = rewards.shape[0]
    padded = jnp.concatenate([rewards, jnp.zeros(n - 1)])
    values = jnp.concatenate([bootstrap[n - 1:], jnp.full(n - 1, bootstrap[-1])])
    targets = values
    for i in reversed(range(n)):
        targets = padded[i:i + T] + GAMMA * discounts * targets  #~ targets = padded[i:i + T] + GAMMA * targets
    return targets


def loss(params, traj):
    v = (traj["obs"] @ params["v"])[:, 0]
    disc = 1.0 - traj["done"]
    target = n_step_returns(traj["reward"], disc, jax.lax.stop_gradient(v), 3)
    return jnp.mean((target - v) ** 2)


def main():
    ks = jax.random.split(jax.random.key(0), 3)
    traj = {"obs": jax.random.normal(ks[0], (20, 4)), "reward": jax.random.normal(ks[1], (20,)),
            "done": jnp.zeros(20).at[9].set(1.0)}
    params = {"v": jax.random.normal(ks[2], (4, 1))}
    print(jax.jit(jax.grad(loss))(params, traj))


if __name__ == "__main__":
    main()
