# branch-type-mismatch: One branch gives None where the other gives an array.
import jax
import jax.numpy as jnp


def refine(flag, x):
    def yes(x):
        return x * 2.0, jnp.linalg.norm(x)

    def no(x):
        return x, jnp.zeros(())  #~ return x, None

    return jax.lax.cond(flag, yes, no, x)  #! branch-type-mismatch


print(refine(jnp.array(True), jnp.ones(3)))
