"""Findings name the calls that they are due to."""

from rules.programs import HEADER, audited

START = HEADER.count("\n")


def why(program: str) -> list[tuple[int, list[int]]]:
    """Return the line of each issue with the lines of its steps."""
    return [(one.line - START, [step.line - START for step in one.why]) for one in audited(program).issues]


def test_the_call_that_makes_it_wrong_is_named() -> None:
    program = """
    def f(x, w):
        return x @ w

    def g():
        a = f(jnp.ones((3, 4)), jnp.ones((4, 5)))
        b = f(jnp.ones((3, 4)), jnp.ones((3, 5)))
        return a, b
    """
    assert why(program) == [(3, [7])]


def test_a_body_of_its_own_tells_its_call() -> None:
    program = """
    def pick(x, i):
        return x[i]

    def outer(x):
        a = pick(x, 2)
        return a + pick(x, 5)

    def run():
        return outer(jnp.ones(3))
    """
    assert why(program) == [(3, [7, 10])]


def test_what_depends_on_no_argument_names_no_call() -> None:
    program = """
    def f(x):
        return jnp.ones((2, 3)) @ jnp.ones((2, 3)), x

    def g(x):
        return f(x)
    """
    assert [lines for _, lines in why(program)] == [[]]
