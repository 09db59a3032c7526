"""What `method-of-other-library` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "dtypes are no arrays": """
        def half(x):
            kind = jnp.dtype(f"uint{8 * x.dtype.itemsize}")
            return x // kind.type(2) + jnp.promote_types(x.dtype, jnp.float32).type(1)

        def wrong(x):
            return jnp.abs(x).type(jnp.int32)  #! method-of-other-library
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
