"""What `inverted-python-bool` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "bits that are cleared": """
        def fixed(chance, never=False):
            free = never is None
            kept = (chance > 0.5) & ~free
            return kept, jnp.where(~free, chance, 0.0)  #! inverted-python-bool
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
