# A key goes through an operation that no checker has a rule for, and what comes out is drawn from.
import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir

scramble_p = Primitive("scramble")
scramble_p.def_abstract_eval(lambda key: key)
scramble_p.def_impl(lambda key: key)
mlir.register_lowering(scramble_p, lambda context, key: [key])


@jax.jit
def sample(key):
    scrambled = scramble_p.bind(key)
    return jax.random.uniform(scrambled) + jax.random.normal(key)


def main():
    print(sample(jax.random.key(0)))


if __name__ == "__main__":
    main()
