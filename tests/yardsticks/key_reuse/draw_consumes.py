# A draw uses its key up, so a second draw of another kind from it repeats the same bits.
import jax


def main():
    key = jax.random.key(0)
    noise = jax.random.normal(key, (4,))
    coin = jax.random.bernoulli(key, 0.5, (4,))  #! key-reused
    print(noise, coin)


if __name__ == "__main__":
    main()
