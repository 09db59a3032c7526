# Reuse inside a function that has its own derivative.
import jax


@jax.custom_vjp
def noisy_scale(x, key):
    gain = 1.0 + jax.random.normal(key)
    return gain * x + jax.random.normal(key)  #! key-reused


def forward(x, key):
    return noisy_scale(x, key), None


def backward(_, cotangent):
    return cotangent, None


noisy_scale.defvjp(forward, backward)


def main():
    print(jax.jit(noisy_scale)(2.0, jax.random.key(0)))


if __name__ == "__main__":
    main()
