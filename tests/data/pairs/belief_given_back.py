# unregistered-class: a plain class with arrays is returned from a jitted function
import jax
import jax.numpy as jnp


class Belief:
    def __init__(self, mean, cov):
        self.mean = mean
        self.cov = cov


jax.tree_util.register_pytree_node(Belief, lambda b: ((b.mean, b.cov), None), lambda _, c: Belief(*c))  #~


@jax.jit
def predict(mean, cov, F, Q):
    return Belief(F @ mean, F @ cov @ F.T + Q)  #~ return Belief(F @ mean, F @ cov @ F.T + Q)


def track(belief, zs):
    F, Q = jnp.eye(2).at[0, 1].set(0.1), 0.01 * jnp.eye(2)
    for z in zs:
        belief = predict(belief.mean, belief.cov, F, Q)  #! unregistered-class
        K = belief.cov[:, 0] / (belief.cov[0, 0] + 0.1)
        belief = Belief(belief.mean + K * (z - belief.mean[0]), belief.cov - jnp.outer(K, belief.cov[0]))
    return belief


if __name__ == "__main__":
    print(track(Belief(jnp.zeros(2), jnp.eye(2)), [0.1, 0.3, 0.2]).mean)
