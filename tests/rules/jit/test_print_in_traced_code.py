"""What `print-in-traced-code` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "what is written to files and trackers": """
        import csv
        import io
        import pickle
        from torch.utils.tensorboard import SummaryWriter

        class Monitor:
            def __init__(self, path):
                self.board, self.table = SummaryWriter(path), csv.writer(io.StringIO())

            def note(self, i, loss):
                self.board.add_scalar("loss", loss, i)  #! print-in-traced-code
                self.table.writerow([float(i), 1.0])

        def fit(path, w, xs):
            monitor = Monitor(path)

            def body(w, x):
                loss = jnp.mean((x @ w) ** 2)
                monitor.note(3, loss)
                return w - 0.1 * loss, loss

            w, losses = jax.lax.scan(body, w, xs)
            monitor.board.add_scalar("last", float(losses[-1]), 0)
            with open(path, "wb") as file:
                pickle.dump(jax.device_get(w), file)
            return w
        """,
    "loops without compilation": """
        def cumsum(total, x):
            total = total + x
            print(total)
            return total, total

        def shown(xs):
            with jax.disable_jit():
                return jax.lax.scan(cumsum, 0, xs)

        def cumsum_traced(total, x):
            total = total + x
            print(total)  #! print-in-traced-code
            return total, total

        def wrong(xs):
            return jax.lax.scan(cumsum_traced, 0, xs)
        """,
    "old ways of formatting": """
        @jax.jit
        def step(x):
            loss = jnp.mean(x**2)
            print("loss %.3f" % loss)  #! print-in-traced-code
            print("loss {:.3f}".format(loss))  #! print-in-traced-code
            return loss
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
