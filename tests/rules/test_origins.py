"""Findings name the places where the values that they are about were made, moved and mapped."""

from rules.programs import HEADER, audited

START = HEADER.count("\n")


def why(program: str) -> list[int]:
    """Return the lines of the steps of the only issue."""
    (issue,) = audited(program).issues
    return [step.line - START for step in issue.why]


def test_where_an_operand_was_made_and_turned_is_named() -> None:
    program = """
    def table():
        return jnp.ones((3, 4))

    def f():
        x = table()
        turned = x.T
        return (
            jnp.zeros((2, 3)) @ turned
        )
    """
    assert {3, 6, 7} <= set(why(program))


def test_where_a_function_was_mapped_is_named() -> None:
    program = """
    def score(w, x):
        return jnp.dot(w, x)

    scores = jax.vmap(score, in_axes=(0, 0))

    def f():
        weights = jnp.ones((5, 3))
        return scores(weights, jnp.ones((4, 3)))
    """
    assert {5, 8} <= set(why(program))
