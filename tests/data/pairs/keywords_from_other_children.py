# flatten-loses-field: Keywords get each other's children.
import jax
import jax.numpy as jnp


class Spring:
    def __init__(self, stiffness, rest):
        self.stiffness = stiffness
        self.rest = rest

    def energy(self, x):
        return 0.5 * self.stiffness * (x - self.rest) ** 2


def spring_flatten(spring):
    return (spring.stiffness, spring.rest), None


def spring_unflatten(aux, children):
    return Spring(stiffness=children[0], rest=children[1])  #~ return Spring(stiffness=children[1], rest=children[0])  #! flatten-loses-field


jax.tree_util.register_pytree_node(Spring, spring_flatten, spring_unflatten)


@jax.jit
def force(spring, x):
    return -jax.grad(spring.energy)(x)


def main():
    spring = Spring(jnp.array(4.0), jnp.array(1.0))
    print(force(spring, 2.0))


main()
