# Moving a key to a device does not make a new key.
import jax


def main():
    key = jax.random.key(0)
    on_device = jax.device_put(key)
    print(jax.random.normal(key))
    print(jax.random.normal(on_device))  #! key-reused


if __name__ == "__main__":
    main()
