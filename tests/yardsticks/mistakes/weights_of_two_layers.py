# Both layers of a network are initialised from one key.
import jax


def init(rng, width):
    return {
        "encoder": jax.random.normal(rng, (width, width)),
        "decoder": jax.random.normal(rng, (width, width)),  #! key-reused
    }


def main():
    print(init(jax.random.PRNGKey(0), 4)["decoder"])


if __name__ == "__main__":
    main()
