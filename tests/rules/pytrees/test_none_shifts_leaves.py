"""What `none-shifts-leaves` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "adapters on some of the layers": """
        class Adapter(NamedTuple):
            down: jax.Array
            up: jax.Array

        def layers(key, depth):
            return [jax.random.normal(k, (4, 4)) for k in jax.random.split(key, depth)]

        def adapters(depth, chosen):
            out = []
            for i in range(depth):
                if i in chosen:
                    out.append(Adapter(jnp.ones((4, 2)), jnp.ones((2, 4))))
                else:
                    out.append(None)
            return out

        def deltas(adapters):
            return jax.tree.map(lambda a: a.down @ a.up, adapters, is_leaf=lambda a: isinstance(a, Adapter))

        def shifted(layers, adapters):
            merged = list(layers)
            for i, delta in enumerate(jax.tree.leaves(deltas(adapters))):  #! none-shifts-leaves
                merged[i] = merged[i] + delta
            return merged

        def straight(layers, adapters):
            merged = list(layers)
            for i, delta in enumerate(deltas(adapters)):
                merged[i] = merged[i] if delta is None else merged[i] + delta
            return merged

        def main(key):
            weights = layers(key, 4)
            return shifted(weights, adapters(4, (1, 3))), straight(weights, adapters(4, (1, 3)))
        """,
    "leaves that are numbered for people, named by their paths, or all there": """
        def report(tree):
            for i, leaf in enumerate(jax.tree.leaves(tree)):
                print(i, leaf.shape)
            names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
            return {name: leaf.sum() for name, leaf in zip(names, jax.tree.leaves(tree))}

        def main():
            weights = [jnp.ones(3), jnp.zeros(2)]
            moved = [w + e for w, e in zip(weights, jax.tree.leaves([jnp.ones(3), jnp.ones(2)]))]
            return report([jnp.ones(3), None, jnp.zeros(2)]), moved
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
