"""What `invalid-input-type` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "text inside a dict of settings": """
        @jax.jit
        def loss(x, settings):
            return x.sum() * settings["scale"]

        def main(x):
            return loss(x, {"scale": 2.0, "kind": "mse"})  #! invalid-input-type
        """,
    "text that is one of several": """
        @jax.jit
        def loss(w, batch):
            return w * batch["x"].sum()

        class Source:
            def __init__(self, names):
                self.names = names

            def __getitem__(self, i):
                return {"x": jnp.ones(3), "name": self.names[i]}

            def __iter__(self):
                while True:
                    for name, scale in {"a": 1.0, "b": 2.0}.items():
                        yield {"x": scale * jnp.ones(3), "name": name}

        def main(w, flag):
            source = Source(["a", "b"])
            for i in range(2):
                w = loss(w, source[i])  #! invalid-input-type
            for _, batch in zip(range(9), source):
                w = loss(w, batch)  #! invalid-input-type
            for _, batch in zip(range(9), source):
                print(batch.pop("name"))
                w = loss(w, batch)
            return loss(w, {"x": w, "name": "a" if flag else "b"})  #! invalid-input-type
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
