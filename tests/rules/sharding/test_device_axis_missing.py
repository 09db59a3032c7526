"""What `device-axis-missing` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "numbers in a tree that is put on every device": """
        from flax import struct

        @struct.dataclass
        class State:
            params: jax.Array
            steps: jax.Array

        def main(n, keys):
            step = jax.pmap(lambda state, key: state.replace(params=state.params + jax.random.normal(key, (3,))))
            state = jax.device_put_replicated(State(jnp.zeros(3), 0), jax.local_devices()[:n])
            return step(jax.tree.map(jnp.asarray, state), keys)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
