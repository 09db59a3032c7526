# flatten-loses-field: The lambda takes children first.
import jax
import jax.numpy as jnp


class Interval:
    def __init__(self, low, high, closed):
        self.low = low
        self.high = high
        self.closed = closed


jax.tree_util.register_pytree_node(
    Interval,
    lambda i: ((i.low, i.high), i.closed),
    lambda closed, ends: Interval(ends[0], ends[1], closed),  #~ lambda ends, closed: Interval(ends[0], ends[1], closed),  #! flatten-loses-field
)


@jax.jit
def width(i):
    return i.high - i.low


def main():
    print(width(Interval(jnp.array(1.0), jnp.array(4.0), True)))


main()
