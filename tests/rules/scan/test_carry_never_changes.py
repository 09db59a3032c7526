"""What `carry-never-changes` says of the conditions of loops."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "turns that are not counted": """
        from typing import NamedTuple

        class State(NamedTuple):
            x: jax.Array
            done: jax.Array
            t: int

        def episode(x):
            def body(state):
                x = state.x * 0.9
                return state._replace(x=x, done=jnp.all(x < 1e-3))  #! carry-never-changes

            return jax.lax.while_loop(lambda s: ~s.done & (s.t <= 99), body, State(x, jnp.array(False), 0))

        def hailstone(n):
            def body(state):
                n, count = state
                return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count  #! carry-never-changes

            return jax.lax.while_loop(lambda s: (s[0] != 1) & (s[1] < 1000), body, (n, 0))
        """,
    "limits that are carried": """
        def halved(x, tolerance):
            return jax.lax.while_loop(lambda s: s[0].max() > s[1], lambda s: (s[0] * 0.5, s[1]), (x, tolerance))

        def doubled(x):
            def body(state):
                i, x, n = state
                return i + 1, x * 2, n

            return jax.lax.while_loop(lambda s: s[0] < s[2], body, (0, x, 9))
        """,
    "what an option leaves as it is": """
        class Cloud(NamedTuple):
            x: jax.Array
            gust: jax.Array
            lift: jax.Array

        @dataclass
        class Options:
            gusty: bool = False
            steps: int = 4

        def lifted(cloud, options):
            if not options.gusty:
                return cloud.lift
            return cloud.lift * 0.5

        def drift(cloud, wind, options):
            def turn(i, cloud):
                if options.gusty:
                    cloud = cloud._replace(gust=0.9 * cloud.gust + wind[i])
                x = cloud.x + wind[i] + cloud.gust + cloud.lift
                return cloud._replace(x=x, lift=lifted(cloud, options))

            return jax.lax.fori_loop(0, options.steps, turn, cloud)

        def main(wind):
            return drift(Cloud(jnp.ones(4), jnp.zeros(4), jnp.zeros(4)), wind, Options())
        """,
    "what another call starts otherwise": """
        def total(masses, weight):
            def turn(carry, mass):
                weight, total = carry
                return (weight, total + weight * mass), None

            return jax.lax.scan(turn, (weight, jnp.zeros(4)), masses)[0][1]

        def both(masses):
            return total(masses, jnp.ones(4)) + total(masses, jnp.full(4, 0.2))

        def sums(masses, start):
            def turn(total, mass):
                newer = total + mass
                return total, newer

            return jax.lax.scan(turn, start, masses)[1]  #! carry-never-changes

        def neither(masses):
            return sums(masses, jnp.zeros(4)) + sums(masses * 2, jnp.zeros(4))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
