"""Layers in a pipeline: each device has one layer, and hands what it computed on to the next one, micro-batch by micro-batch."""

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

WIDTH, MICRO, ROWS = 32, 8, 4


def init(key, stages):
    return jax.random.normal(key, (stages, WIDTH, WIDTH)) / WIDTH**0.5


def run_stage(weights, inputs):
    """Run one stage: `weights` has one layer, `inputs` all micro-batches, which only the first stage reads."""
    (weight,) = weights
    stage, stages = jax.lax.axis_index("stage"), jax.lax.axis_size("stage")
    following = [(i, (i + 1) % stages) for i in range(stages)]
    micro = inputs.shape[0]

    def turn(carry, number):
        received, outputs = carry
        fresh = inputs[jnp.minimum(number, micro - 1)]
        computed = jnp.tanh(jnp.where(stage == 0, fresh, received) @ weight)
        done = number - (stages - 1)
        is_done = (stage == stages - 1) & (done >= 0)
        at = jnp.maximum(done, 0)
        outputs = outputs.at[at].set(jnp.where(is_done, computed, outputs[at]))
        return (jax.lax.ppermute(computed, "stage", following), outputs), None

    start = jax.lax.pcast((jnp.zeros_like(inputs[0]), jnp.zeros_like(inputs)), "stage", to="varying")
    (_, outputs), _ = jax.lax.scan(turn, start, jnp.arange(micro + stages - 1))
    # Only the last stage has them.
    return jax.lax.psum(jnp.where(stage == stages - 1, outputs, 0.0), "stage")


def make_forward(mesh: Mesh):
    return jax.jit(jax.shard_map(run_stage, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P()))


def one_after_the_other(weights, inputs):
    return jax.lax.scan(lambda x, weight: (jnp.tanh(x @ weight), None), inputs, weights)[0]


def main():
    stages = jax.device_count()
    mesh = jax.make_mesh((stages,), ("stage",), axis_types=(jax.sharding.AxisType.Auto,))
    start, data = jax.random.split(jax.random.key(2))
    weights = init(start, stages)
    inputs = jax.random.normal(data, (MICRO, ROWS, WIDTH))
    outputs = make_forward(mesh)(weights, inputs)
    expected = one_after_the_other(weights, inputs)
    print("largest difference", float(jnp.abs(outputs - expected).max()))


if __name__ == "__main__":
    main()
