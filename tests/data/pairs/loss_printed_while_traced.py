# print-in-traced-code: A training loop under scan prints its loss.
import jax
import jax.numpy as jnp
import optax


def make_step(loss_fn, tx, log_every):
    def step(carry, batch):
        params, opt_state, i = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        updates, opt_state = tx.update(grads, opt_state)
        params = optax.apply_updates(params, updates)
        jax.debug.print("step {}: loss {}", i, loss)  #~ print(f"step {i}: loss {loss}")  #! print-in-traced-code #? print-in-traced-code
        return (params, opt_state, i + 1), loss

    return step


def quadratic(params, batch):
    return jnp.mean((batch @ params["w"] - params["b"]) ** 2)


def main():
    tx = optax.sgd(0.1)
    params = {"w": jnp.ones(3), "b": jnp.zeros(())}
    batches = jax.random.normal(jax.random.key(0), (6, 10, 3))
    step = make_step(quadratic, tx, 2)
    (params, _, _), losses = jax.jit(lambda c, b: jax.lax.scan(step, c, b))((params, tx.init(params), 0), batches)
    print(losses[-1])


if __name__ == "__main__":
    main()
