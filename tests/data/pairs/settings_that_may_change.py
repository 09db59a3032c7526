# static-argument-misuse: A dataclass that is not frozen has no hash.
import jax
import jax.numpy as jnp
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)  #~ @dataclass
class Settings:
    depth: int
    rate: float


@partial(jax.jit, static_argnames="settings")
def run(x, settings):
    for _ in range(settings.depth):
        x = x - settings.rate * x
    return x


def main():
    print(run(jnp.ones(3), settings=Settings(2, 0.1)))  #! static-argument-misuse


main()
