"""Programs that hold a mistake, or may hold one: no rule proves that they do not."""

import pytest
from rules.programs import audited

PROGRAMS = {
    ("value-never-read", "a part of a result that nothing reads"): """
        def f(x, g):
            a, b = g(x)
            return a
        """,
    ("value-never-read", "a sum that nothing reads"): """
        def f(x):
            total = jnp.sum(x)
            total += 1
            return x
        """,
    ("value-never-read", "which of two values an inner function reads"): """
        def f(x):
            y = jnp.sin(x)
            y = jnp.cos(x)

            def inner():
                return y

            return inner
        """,
    ("element-lost", "what a module binds may be read elsewhere"): """
        stream = iter(range(10))
        for x in stream:
            print(next(stream))
        """,
    ("batch-never-emptied", "a stacked copy leaves the list as it was"): """
        def batches(items):
            batch = []
            for x in items:
                batch.append(x)
                if len(batch) == 4:
                    yield jnp.stack(batch)
        """,
    ("batch-never-emptied", "a copy leaves the list as it was"): """
        def batches(items):
            batch = []
            for x in items:
                batch.append(x)
                if len(batch) >= 4:
                    yield batch.copy()
        """,
    ("path-filter-misses", "what is made of a path is searched"): """
        def label(path):
            text = ".".join(str(one) for one in path)
            return "head" if text == "body" or "head" in text else "body"

        def labels(params):
            return jax.tree.map_with_path(lambda path, _: label(path), params)
        """,
    ("path-filter-misses", "what gets the path is not known"): """
        def kept(params, keep):
            return jax.tree.map_with_path(lambda path, x: keep(path), params)
        """,
    ("stale-shape-comment", "a number stands for a size that is not known"): """
        def f(x):
            rows, columns = x.shape
            y = jnp.zeros((rows, columns))  # (4, columns)
            return y
        """,
    ("dead-parameter", "one of two heads is left out of the loss"): """
        class Heads(nn.Module):
            @nn.compact
            def __call__(self, x):
                h = nn.Dense(8)(x)
                return nn.Dense(1)(h), nn.Dense(3)(h)

        def update(net: Heads, params, x, y):
            def loss(params):
                value, scores = net.apply(params, x)
                return jnp.mean((scores - y) ** 2)

            return jax.grad(loss)(params)

        def run(key, x, y):
            net = Heads()
            return update(net, net.init(key, x), x, y)
        """,
    ("late-binding-closure", "a decorator keeps the function"): """
        def make(weights, register):
            for weight in weights:
                @register
                def term(x):
                    return weight * x
        """,
    ("donated-value-read", "the object that held it is given back"): """
        def f(tree, x):
            new = jax.jit(jnp.add, donate_argnums=0)(tree["a"], x)
            return new, tree
        """,
    ("static-argument-misuse", "a list on one of two paths"): """
        @partial(jax.jit, static_argnums=1)
        def reshape(x, shape):
            return x.reshape(shape)

        def f(x, flag):
            shape = [1, 2] if flag else (1, 2)
            return reshape(x, shape)
        """,
    ("invalid-input-type", "one argument is known, and the other is not"): """
        @partial(jax.jit, static_argnums=1)
        def power(x, n):
            return x**n

        def f(x):
            return power(x, 3)
        """,
}


@pytest.mark.parametrize(
    ("rule", "program"), [(rule, text) for (rule, _), text in PROGRAMS.items()], ids=[name for _, name in PROGRAMS]
)
def test_nothing_is_proved_that_may_be_wrong(rule: str, program: str) -> None:
    report = audited(program)
    proofs = [one.reason for one in report.verified if one.rule == rule]
    listed = [one.rule for one in (*report.unknown, *report.issues, *report.warnings)]
    assert proofs == []
    assert rule in listed


def test_parameters_that_are_bound_again_are_not_proved_to_be_read() -> None:
    report = audited("""
        @jax.jit
        def f(x, y):
            y = x * 2
            return y

        def g(a, b):
            return f(a, b)
        """)
    assert [one.reason for one in report.verified if one.rule == "ignored-argument"] == []
    assert [one.reason for one in report.unknown if one.rule == "ignored-argument"] == [
        "`f` binds `y` again before anything reads what it is given"
    ]
