"""The policy on intent: each sign of purpose, what it lowers, and what stays an error without it."""

from pathlib import Path

import pytest

import jaxaudit
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.rules.intent.names import are_inverse, is_unwanted, says_evaluation, says_purpose, says_shared
from jaxaudit.rules.intent.policy import SIGNALS, in_benchmark, in_test
from jaxaudit.session import audit
from jaxaudit.spans import Span

HEAD = "import functools\nimport flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n\n"

SHARED = {
    "on purpose": """
def f(key):
    a = jax.random.normal(key)
    return a, jax.random.uniform(key)  # the same numbers on purpose
""",
    "shared by name": """
def f(shared_key):
    a = jax.random.normal(shared_key)
    return a, jax.random.uniform(shared_key)
""",
    "starts alike": """
def f(net, key, x):
    return net.init_weights(key, x), net.init_weights(key, x)

class Net:
    def init_weights(self, key, x):
        return jax.random.normal(key, x.shape)

def main(key, x):
    return f(Net(), key, x)
""",
    "not shared": """
def f(key, x):
    y = jax.random.normal(key, x.shape)
    return nn.Dense(3).init(key, x), y
""",
    "not used": """
def f(key):
    a = jax.random.normal(key)
    b = jax.random.uniform(key) * 2
    return a
""",
    "aligned": """
def f(images, labels, key):
    return jax.random.permutation(key, images), jax.random.permutation(key, labels, axis=1)
""",
    "undone": """
def rotate(x, key):
    return x * jax.random.rademacher(key, x.shape)

def inverse_rotate(x, key):
    return x * jax.random.rademacher(key, x.shape)

def f(x, key):
    return inverse_rotate(jnp.round(rotate(x, key)), key)
""",
    "compared": """
def loss(w, key):
    return (w * jax.random.normal(key, (3,))).sum()

def f(a, b, key):
    return loss(a, key) - loss(b, key)
""",
    "held fixed": """
def f(params, key, x, y):
    def at(x):
        return nn.Dropout(0.5).apply(params, x, deterministic=False, rngs={"dropout": key})
    return at(x) + at(y)
""",
    "tried out": """
if __name__ == "__main__":
    key = jax.random.key(0)
    print(jax.random.normal(key) + jax.random.uniform(key))
""",
}


def severities(code: str, path: str = "code.py", rule: str = "key-reused") -> list[str]:
    report = audit([SourceFile(path, HEAD + code)], Config(select=(rule,))).report
    return [one.severity for one in (*report.issues, *report.warnings)]


@pytest.mark.parametrize("sign", SHARED)
def test_a_sign_makes_reuse_of_a_key_a_warning(sign):
    assert severities(SHARED[sign]) == ["warning"]


def test_one_order_for_all_arrays_is_meant():
    order = """
def f(images, labels, key):
    return jax.random.permutation(key, images), jax.random.permutation(key, labels)

def g(batch, key):
    return jax.tree.map(lambda x: jax.random.permutation(key, x), batch)
"""
    assert severities(order) == severities(order, rule="same-key-across-vmap") == []


@pytest.mark.parametrize(
    ("layer", "found"),
    [("hk.Linear(3)(x)", []), ("make()(x)", []), ("hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(3)(x))", ["error"])],
)
def test_a_key_that_has_to_be_given_may_be_left_unread(layer, found):
    code = f"""
import haiku as hk

def f(key, make, x):
    net = hk.transform(lambda x: {layer})
    params = net.init(key, x)
    return jax.jit(net.apply)(params, key, x)
"""
    assert severities(code) == found


@pytest.mark.parametrize(("name", "found"), [("target", []), ("ema_weights", []), ("second", ["warning"])])
def test_what_follows_something_starts_as_it_does(name: str, found: list[str]) -> None:
    code = f"""
import optax
from flax.training.train_state import TrainState

def f(net, key, x):
    first = TrainState.create(apply_fn=net.apply, params=net.init(key, x), tx=optax.sgd(0.1))
    {name} = TrainState.create(apply_fn=net.apply, params=net.init(key, x), tx=optax.sgd(0.1))
    return first, {name}

def main(key, x):
    return f(nn.Dense(3), key, x)
"""
    assert severities(code) == found


@pytest.mark.parametrize(("call", "found"), [("init", []), ("init_with_output", ["warning"])])
def test_what_a_module_draws_while_it_is_initialised_is_left(call: str, found: list[str]) -> None:
    code = f"""
class Noisy(nn.Module):
    @nn.compact
    def __call__(self, x, key):
        x = nn.Dense(3)(x)
        return x + jax.random.normal(key, x.shape)

def f(key, x):
    return Noisy().{call}(key, x, key)
"""
    assert severities(code) == found
    assert severities(code, rule="same-key-in-loop") == []


def test_every_sign_that_speaks_to_keys_has_an_example():
    names = {one.name for one in SIGNALS if one.rules is not None and "key-reused" in one.rules}
    assert names | {"on purpose"} == {
        *SHARED,
        "test code",
        "drawn by a test",
        "benchmark",
        "drawn again",
        "draws nothing",
        "follows",
        "runs for parameters",
        "one order for all",
    }
    assert all((one.read.__doc__ or "").startswith("Read from ") and "`" in str(one.read.__doc__) for one in SIGNALS)
    assert len({one.name for one in SIGNALS}) == len(SIGNALS)


@pytest.mark.parametrize(("mark", "found"), [("# %%", 0), ('# + [markdown] id="1"', 0), ("# -", 0), ("# + more", 1)])
def test_the_end_of_a_cell_shows_what_it_gives(mark: str, found: int) -> None:
    code = f"import jax\nimport task\n\nparams = task.init(3)\njax.tree.map(lambda x: x.shape, params)\n\n{mark}\nprint(params)\n"
    warnings = audit([SourceFile("program.py", code)], Config()).report.warnings
    assert [one.rule for one in warnings] == ["result-discarded"] * found


@pytest.mark.parametrize(("where", "found"), [("loader.py", 1), ("loader_test.py", 0)])
def test_numbers_that_a_test_draws_for_others(where: str, found: int) -> None:
    loader = """
import jax

class Loader:
    def __init__(self):
        self.key = jax.random.key(0)

    def __next__(self):
        return jax.random.uniform(self.key, (3,))
"""
    module = where.removesuffix(".py")
    train = f"import {module}\n\ndef train(steps):\n    loader, total = {module}.Loader(), 0.0\n    while steps > 0:\n        total = total + next(loader)\n        steps -= 1\n    return total\n"
    files = [SourceFile(where, loader), SourceFile("train.py", train)]
    report = audit(files, Config()).report
    assert len([one for one in (*report.issues, *report.warnings) if one.rule == "same-key-in-loop"]) == found


def test_noise_that_is_added_and_taken_away_again_is_meant():
    code = """
def f(key, w, v):
    up = jnp.sum((w + 0.1 * jax.random.normal(key, w.shape)) ** 2)
    down = jnp.sum((w {} 0.1 * jax.random.normal(key, w.shape)) ** 2)
    return jnp.stack([up, down])
"""
    assert severities(code.format("-")) == []
    assert severities(code.format("+")) == ["error"]
    assert severities("def f(key):\n    return 2 * jax.random.normal(key) - jax.random.normal(key)\n") == ["error"]


def test_choices_by_other_probabilities_are_not_aligned():
    code = """
def f(images, labels, p, q, key):
    return jax.random.choice(key, images, p=p), jax.random.choice(key, labels, p={})
"""
    assert severities(code.format("p")) == ["warning"]
    assert severities(code.format("q")) == ["error"]


PLAIN = """
def f(key):
    return jax.random.normal(key), jax.random.uniform(key)
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("code.py", ["error"]),
        ("tests/code.py", []),
        ("code_test.py", []),
        ("benchmarks/code.py", []),
        ("bench_code.py", []),
        ("contest.py", ["error"]),
    ],
)
def test_where_code_stands(path, expected):
    assert severities(PLAIN, path) == expected


def test_a_comment_excuses_what_it_stands_beside_and_nothing_else():
    assert severities(PLAIN.replace("uniform(key)", "uniform(key)  # common random numbers")) == ["warning"]
    assert severities(PLAIN.replace("uniform(key)", "uniform(key)  # TODO: not on purpose")) == ["error"]
    assert severities("# common random numbers\n\n\n\n" + PLAIN) == ["error"]


def test_a_name_of_a_parameter_says_that_it_is_not_wanted():
    code = "@jax.jit\ndef f(x, {0}, n):\n    return x + n\n\ndef g(a, b):\n    return f(a, b, a)\n"
    assert severities(code.format("unused_y"), rule="ignored-argument") == []
    assert severities(code.format("y"), rule="ignored-argument") == ["warning"]


@pytest.mark.parametrize("path", ["tests/a.py", "a/test/b.py", "test_a.py", "a_test.py", "conftest.py", "x/tests.py"])
def test_paths_of_tests(path):
    assert in_test(Span(path, 1, 0, 1, 0))
    assert not in_test(Span(path.replace("test", "best"), 1, 0, 1, 0))


def test_paths_of_benchmarks():
    assert in_benchmark(Span("a/benchmarks/b.py", 1, 0, 1, 0))
    assert not in_benchmark(Span("a/workbench.py", 1, 0, 1, 0))


def test_words():
    assert is_unwanted("_x")
    assert says_shared("fixed_rng")
    assert not says_shared("prefixed")
    assert says_evaluation("evaluate_policy")
    assert not says_evaluation("latest")
    assert are_inverse("rotate", "inverse_rotate")
    assert says_purpose("residual_loss", "full gradient")
    assert not says_purpose("residual_loss")


def test_the_same_policy_for_every_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import jax.numpy as jnp\n\n\ndef first(x):\n    x.at[0].set(1.0){}\n    return jnp.sum(x)\n"
    (tmp_path / "code.py").write_text(code.format(""))
    assert [one.severity for one in jaxaudit.check("code.py").issues] == ["error"]
    (tmp_path / "code.py").write_text(code.format("  # dropped on purpose"))
    report = jaxaudit.check("code.py")
    assert not report.issues
    assert [one.severity for one in report.warnings] == ["warning"]


ANNOTATED = """
from beartype import beartype
from jaxtyping import Array, Float, jaxtyped
{0}
def f(x: Float[Array, "batch time"], y: Float[Array, "time batch"]):
    return x * y
"""


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [("", ["warning"]), ("@jaxtyped(typechecker=beartype)", ["error"]), ("@beartype", ["error"])],
)
def test_an_annotation_that_nobody_checks_yields_no_error(decorator, expected):
    assert severities(ANNOTATED.format(decorator), rule="unrelated-axes-joined") == expected


def test_what_is_computed_stays_an_error_beside_what_is_said():
    code = ANNOTATED.format("") + "\nSTEPS, ENVS = 8, 8\ny = jnp.zeros((STEPS, ENVS)) * jnp.zeros((ENVS, STEPS))\n"
    assert severities(code, rule="unrelated-axes-joined") == ["error", "warning"]


def test_rules_read_neither_comments_nor_words():
    """Only the policy looks for what people say: a rule has no regular expressions and no comments."""
    root = Path(jaxaudit.__file__).parent / "rules"
    files = [path for path in root.rglob("*.py") if path.parent.name != "intent"]
    assert len(files) > 100
    told = {
        path.name
        for path in files
        for line in path.read_text().splitlines()
        if line == "import re" or ".comments" in line
    }
    assert not told


def test_in_axes_speaks_for_the_key_that_a_caller_gives():
    code = """
def turned(key, channel):
    return channel * jax.random.uniform(key)

def turn(image, *, key=None):
    return jax.vmap(turned, in_axes=(None, 0))(key, image)
"""
    made = f"{code}\ndef main(image):\n    return turn(image, key=jax.random.key(0))\n"
    assert severities(code, rule="same-key-across-vmap") == ["warning"]
    assert severities(made, rule="same-key-across-vmap") == ["error"]
