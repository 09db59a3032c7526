"""What `normalised-value-unread` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "what is made of the size of a value is no form of it": """
        def resolution(grid):
            return (len(grid) - 1) / jnp.log(grid[-1] / grid[0])

        def setup(lines, grid):
            step = resolution(grid)
            step = resolution(grid)
            return lines * grid
        """,
    "an option of a normalisation is not its data": """
        class Net(nn.Module):
            raw: bool

            @nn.compact
            def __call__(self, x, train: bool):
                if self.raw:
                    dummy = nn.BatchNorm(use_running_average=not train)(x)
                    x = x / 255.0
                else:
                    x = nn.BatchNorm(use_running_average=not train)(x)
                return Head()(x, train)

        class Head(nn.Module):
            @nn.compact
            def __call__(self, x, train: bool):
                return nn.Dense(3)(nn.BatchNorm(use_running_average=not train)(x))

        class Careless(nn.Module):
            @nn.compact
            def __call__(self, x):
                y = nn.LayerNorm()(x)
                return nn.Dense(3)(x)  #! normalised-value-unread
        """,
    "a part of what was normalised before": """
        class Body(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.LayerNorm()(nn.Dense(8)(x))

        class Decoder(nn.Module):
            def setup(self):
                self.body = Body()
                self.out = nn.Dense(3)

            def __call__(self, x):
                x = self.body(x)
                first = x[:, :1, :]
                return self.out(x[:, 1:, :])
        """,
    "the statistics are not what is normalised": """
        def moved(x, mean, spread):
            y = (x - mean) / spread
            return mean + 0.1 * spread * jnp.mean(y, axis=0), y

        def step(x, mean, spread):
            new_mean, y = moved(x, mean, spread)
            return new_mean, spread * 1.1, mean

        def raw(x, mean, spread):
            new_mean, y = moved(x, mean, spread)
            return new_mean, x * 2.0  #? normalised-value-unread
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
