# Each device folds its own index into the key, then draws.
import jax
from jax.sharding import PartitionSpec


def local_noise(key):
    key = jax.random.fold_in(key, jax.lax.axis_index("data"))
    return jax.random.normal(key, (2,))


def main():
    mesh = jax.make_mesh((1,), ("data",))
    noise = jax.shard_map(local_noise, mesh=mesh, in_specs=PartitionSpec(), out_specs=PartitionSpec("data"))
    print(noise(jax.random.key(0)))


if __name__ == "__main__":
    main()
