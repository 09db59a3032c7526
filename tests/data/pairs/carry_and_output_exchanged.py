# carry-type-changes: The body of a scan gives its output first and its carry second.
import jax
import jax.numpy as jnp


def kalman(y, a, c, q, r):
    def step(carry, obs):
        m, p = carry
        m_pred, p_pred = a * m, a * p * a + q
        k = p_pred * c / (c * p_pred * c + r)
        m = m_pred + k * (obs - c * m_pred)
        p = (1 - k * c) * p_pred
        ll = -0.5 * ((obs - c * m_pred) ** 2 / (c * p_pred * c + r))
        return (m, p), ll  #~ return ll, (m, p)

    _, lls = jax.lax.scan(step, (0.0, 1.0), y)  #! carry-type-changes
    return lls.sum()


def fit(y, steps=10):
    params = {"a": 0.5, "log_q": 0.0}

    def nll(params):
        return -kalman(y, params["a"], 1.0, jnp.exp(params["log_q"]), 0.1)

    for _ in range(steps):
        grads = jax.grad(nll)(params)
        params = {k: params[k] - 0.01 * grads[k] for k in params}
    return params


def main():
    y = jnp.cumsum(0.1 * jax.random.normal(jax.random.PRNGKey(0), (50,)))
    print(fit(y))


if __name__ == "__main__":
    main()
