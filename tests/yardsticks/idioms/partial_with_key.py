# A key bound with `functools.partial`; the sampler made from it is called once.
import functools

import jax


def draw(key, shape, scale=1.0):
    return scale * jax.random.normal(key, shape)


def main():
    left, right = jax.random.split(jax.random.key(0))
    draw_left = functools.partial(draw, left, scale=0.1)
    draw_right = functools.partial(draw, key=right)
    print(draw_left((2,)), draw_right(shape=(3,)))


if __name__ == "__main__":
    main()
