# A Python loop that draws from one key in every turn.
import jax


def main():
    key = jax.random.key(0)
    total = 0.0
    for _ in range(5):
        total = total + jax.random.normal(key)  #! same-key-in-loop
    print(total)


if __name__ == "__main__":
    main()
