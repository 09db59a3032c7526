"""What `tree-structure-mismatch` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import audited, marked, said

PROGRAMS = {
    "an entry that is deleted": """
        def restored(tree, valid):
            if "backup" in tree:
                backups = tree["backup"]
                del tree["backup"]
                tree = jax.tree.map(lambda x, y: jnp.where(valid, x, y), tree, backups)
            return tree

        def mixed(tree, valid):
            backups = tree["backup"]
            return jax.tree.map(lambda x, y: jnp.where(valid, x, y), tree, backups)  #! tree-structure-mismatch
        """,
    "only where the structures are alike": """
        def multiply(one, other):
            plain = lambda x: False
            if jax.tree.structure(one, is_leaf=plain) == jax.tree.structure(other, is_leaf=plain):
                return jax.tree.map(lambda x, y: x * y, one, other)
            return jax.tree.map(lambda x: x * other, one)

        def either(one, other):
            leaves, form = jax.tree.flatten(one)
            others, other_form = jax.tree.flatten(other)
            same = form == other_form
            return jax.tree.map(jnp.add, one, other) if same else [leaf + other for leaf in leaves]

        def checked(one, other):
            if jax.tree.structure(one) != jax.tree.structure(other):
                raise ValueError("other keys")
            return jax.tree.map(jnp.add, one, other)

        def unchecked(one, other):
            return jax.tree.map(jnp.add, one, other)  #! tree-structure-mismatch

        def main():
            tree = {"a": jnp.ones(3), "b": jnp.ones(2)}
            multiply(tree, 2.0), multiply(tree, jnp.float32(2.0)), either(tree, 2.0), checked(tree, tree["a"])
            unchecked(tree, 2.0)
        """,
    "all trees of a list": """
        def stacked(trees):
            return jax.tree.map(lambda *xs: jnp.stack(xs), *trees)

        def wrong(trees):
            return jax.tree.map(lambda *xs: jnp.stack(xs), trees)  #! tree-structure-mismatch

        print(stacked([{"a": jnp.ones(3)}]), wrong([{"a": jnp.ones(3)}]))
        """,
    "a condition asks what the other tree is": """
        def is_scalar(x):
            try:
                jnp.asarray(x)
                return True
            except Exception:
                return False

        def scaled(tree, factor):
            if is_scalar(factor):
                return jax.tree_util.tree_map(lambda x: x * factor, tree)
            return jax.tree_util.tree_map(lambda x, y: x * y, tree, factor)

        def main():
            return scaled({"a": jnp.ones(3)}, jnp.ones(()))

        def mixed():
            return jax.tree_util.tree_map(lambda x, y: x * y, {"a": jnp.ones(3)}, jnp.ones(()))  #! tree-structure-mismatch
        """,
    "updates with a form of their own": """
        import optax

        def averaged(decay):
            def init(params):
                return jax.tree.map(jnp.zeros_like, params)

            def update(updates, state, params=None):
                state = jax.tree.map(lambda g, t: decay * t + g, updates["variables"], state)
                updates["moments"] = state
                return updates, state

            return optax.GradientTransformation(init, update)
        """,
    "updates for parameters that do not exist": """
        def main(g):
            params = {"w": jnp.ones(3)}
            grads = {"w": jnp.ones(3), "b": jnp.ones(1)}
            return optax.apply_updates(params, grads)  #! tree-structure-mismatch
        """,
    "an optimizer that needs no parameters": """
        import optax

        def main(params, x):
            clip = optax.clip_by_global_norm(1.0)
            grads = jax.grad(lambda p: (p["w"] * x).sum())({"w": params})
            return clip.update(grads, clip.init({"w": params}), None)[0]
        """,
    "structure that stays the same": """
        @struct.dataclass
        class Env:
            x: jax.Array
            n: int = struct.field(pytree_node=False, default=3)
        def main(x):
            a, _ = jax.lax.scan(lambda e, _: (e.replace(x=e.x + 1), None), Env(x, 4), None, length=3)
            b = jax.lax.cond(x.sum() > 0, lambda e: e, lambda e: Env(e.x * 2, e.n), Env(x, 5))
            c = jax.tree.map(lambda p, q: p + q, Env(x), Env(x * 2))
            return a, b, c
        """,
    "the same function for good and bad trees": """
        def mix(target, online):
            return jax.tree.map(lambda t, o: t + o, target, online)  #! tree-structure-mismatch

        def f(net, key, x):
            variables = net.init(key, x)
            return mix(variables["params"], variables["params"])

        def g(net, key, x):
            variables = net.init(key, x)
            return mix(variables, variables["params"])
        """,
    "a copy of the whole is no part": """
        def f(net, key, x):
            variables = net.init(key, x)
            target = jax.tree.map(jnp.copy, variables)
            return jax.tree.map(lambda t, o: t + o, target, variables["params"])  #! tree-structure-mismatch
        """,
    "updates of another tree": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)

        def step(p, x):
            other = {"w": jnp.zeros((4, 8))}
            u, s = tx.update(jax.grad(loss)(p, x), tx.init(p), p)
            return optax.apply_updates(other, u), s  #! tree-structure-mismatch
        step(start(jax.random.key(0)), jnp.ones((16, 4)))
        """,
    "a state that was made for another tree": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)

        def step(p, x):
            s = tx.init({"w": p["w"]})
            u, s = tx.update(jax.grad(loss)(p, x), s, p)  #! tree-structure-mismatch
            return optax.apply_updates(p, u), s
        step(start(jax.random.key(0)), jnp.ones((16, 4)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def verified(program: str) -> list[str]:
    return [one.reason for one in audited(program).verified if one.rule == "tree-structure-mismatch"]


def test_gradients_have_the_structure_of_the_parameters():
    program = """
        def f(loss, params, x):
            grads = jax.grad(loss)(params, x)
            return jax.tree.map(lambda p, g: p - g, params, grads)
        """
    assert verified(program) == ["both trees have the structure of the same tree"]


def test_leaves_go_back_where_they_were():
    program = """
        def f(tree):
            leaves, treedef = jax.tree.flatten(tree)
            return jax.tree.unflatten(treedef, [2 * leaf for leaf in leaves])
        """
    assert verified(program) == ["the leaves are in the order in which they were flattened"]


JOINED = "\ndef f(x):\n    return jax.tree.map(lambda a, b: a, {{'a': x}}, {second}){mark}\n"


@pytest.mark.parametrize("second", ["{'a': 1}", "{'a': x}", "x", "dict(a=2)", "{'a': (1, 2)}"])
def test_trees_that_may_fit(second):
    assert said(JOINED.format(second=second, mark="")) == []


@pytest.mark.parametrize("second", ["{'b': 1}", "(1,)", "[x]", "{'a': 1, 'b': 2}", "jnp.ones(3)", "2.0"])
def test_trees_that_cannot_fit(second):
    program = JOINED.format(second=second, mark="  #! tree-structure-mismatch")
    assert said(program) == marked(program)
