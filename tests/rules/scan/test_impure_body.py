"""What `impure-body` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "counting in a dict": """
        def main(xs):
            stats = {"steps": 0}

            def body(carry, x):
                stats["steps"] += 1  #! impure-body
                return carry + x, None

            return lax.scan(body, jnp.zeros(()), xs), stats
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
