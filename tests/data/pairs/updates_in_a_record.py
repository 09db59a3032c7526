# updates-as-parameters: The learner keeps the updates in place of its parameters.
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class Learner(NamedTuple):
    theta: Any
    opt: Any
    steps: jax.Array


OPT = optax.rmsprop(1e-3)


def objective(theta, x):
    return jnp.mean((x @ theta["w"] + theta["b"]) ** 2)


@jax.jit
def learn(learner, x):
    grads = jax.grad(objective)(learner.theta, x)
    delta, opt = OPT.update(grads, learner.opt, learner.theta)
    return learner._replace(theta=optax.apply_updates(learner.theta, delta), opt=opt, steps=learner.steps + 1)  #~ return learner._replace(theta=delta, opt=opt, steps=learner.steps + 1)  #! updates-as-parameters


def main():
    theta = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    learner = Learner(theta, OPT.init(theta), jnp.zeros((), jnp.int32))
    for i in range(4):
        learner = learn(learner, jax.random.normal(jax.random.key(i), (8, 3)))
    print(learner.steps)


main()
