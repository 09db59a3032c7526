"""What `unbound-name` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "type parameters, of a class, its bases, its methods and a function": """
        class Base:
            pass

        class Box[T](dict[str, T]):
            def get_as(self, x):
                return first(T, x)

        def first[S](kind, x: S) -> S:
            y: S = x
            return y
        """,
    "types that get a name are evaluated when somebody asks": """
        type Pair[T] = tuple[T, Later]

        def f(x):
            return x

        class Later:
            pass
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
