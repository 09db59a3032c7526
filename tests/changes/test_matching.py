"""Which obligation is which: refactorings are silent, and what calls a change is looked at too."""

from __future__ import annotations

import pytest

PROGRAM = """
    import jax
    import jax.numpy as jnp

    SIZE = 4

    def noise(key, x):
        a = jax.random.normal(key, x.shape)
        b = jax.random.normal(key, x.shape)
        return a + b * x

    def step(carry, x):
        key, total = carry
        key, sub = jax.random.split(key)
        return (key, total + noise(sub, x)), total

    def run(key, xs):
        return jax.lax.scan(step, (key, jnp.zeros(SIZE)), xs)
"""

NOISE = PROGRAM[PROGRAM.index("    def noise") : PROGRAM.index("    def step")]
IMPORTS = "\n    import jax\n    import jax.numpy as jnp\n\n"

REFACTORINGS = {
    "lines move": PROGRAM.replace("SIZE = 4", "# How many there are.\n\n    SIZE = 4\n\n    OTHER = 3"),
    "a function is renamed": PROGRAM.replace("noise", "jitter"),
    "variables are renamed": PROGRAM.replace("a = ", "left = ").replace("a + b", "left + b").replace("sub", "inner"),
    "functions change places": IMPORTS + PROGRAM.removeprefix(IMPORTS).replace(NOISE, "") + "\n" + NOISE,
    "types are added": PROGRAM.replace("key, x):", "key: jax.Array, x: jax.Array) -> jax.Array:"),
    "a function is extracted": PROGRAM.replace("return a + b * x", "return combine(a, b, x)")
    + "\n    def combine(a, b, x):\n        return a + b * x\n",
    "a draw is extracted": PROGRAM.replace("b = jax.random.normal(key, x.shape)", "b = draw(key, x)")
    + "\n    def draw(k, y):\n        return jax.random.normal(k, y.shape)\n",
}


@pytest.mark.parametrize("title", REFACTORINGS)
def test_refactorings_are_silent(project, title):
    project.commit(work=PROGRAM)
    project.write(work=REFACTORINGS[title])
    change = project.change()
    assert (change["found"], change["broken"], change["fixed"], change["code"]) == ([], [], [], 0)
    assert change["kept"] == 1


def test_a_renamed_file_is_the_same_file(project):
    project.commit(work=PROGRAM)
    project.root.joinpath("work.py").rename(project.root / "play.py")
    change = project.change()
    assert change["files"] == [{"path": "play.py", "kind": "renamed", "before": "work.py"}]
    assert (change["found"], change["broken"], change["fixed"]) == ([], [], [])


def test_a_function_moves_to_another_file(project):
    project.commit(work=PROGRAM)
    project.write(work=PROGRAM.replace(NOISE, "    from other import noise\n\n"), other=IMPORTS + NOISE)
    change = project.change()
    assert (change["found"], change["broken"], change["fixed"]) == ([], [], [])


def test_a_copy_that_came_on_top_is_new(project):
    project.commit(work=PROGRAM)
    project.write(work=PROGRAM + "\n" + NOISE.replace("def noise", "def louder"))
    assert project.change()["found"] == ["work.py:21 key-reused"]


def test_what_calls_a_changed_function_is_audited_in_other_files(project):
    project.commit(
        env="def reset(key):\n    return key, key * 0\n",
        train="import jax\nfrom env import reset\n\ndef start(key):\n    obs, state = reset(key)\n    return obs\n",
        aside="import jax\n\ndef other(key):\n    return jax.random.normal(key)\n",
    )
    project.write(env="def reset(key, size):\n    return key, key * size\n")
    change = project.change()
    assert change["audited"] == ["env.py", "train.py"]
    assert change["found"] == ["train.py:5 signature-mismatch"]


def test_a_change_that_breaks_what_it_calls_is_told_there(project):
    project.commit(
        model="import jax.numpy as jnp\n\ndef apply(w, x):\n    return jnp.dot(x, w)\n",
        train="import jax.numpy as jnp\nfrom model import apply\n\ndef run():\n    return apply(jnp.ones((3, 2)), jnp.ones((4, 3)))\n",
    )
    path = project.root / "train.py"
    path.write_text(path.read_text().replace("ones((4, 3))", "ones((4, 5))"))
    assert project.change()["audited"] == ["model.py", "train.py"]


def test_a_proof_that_is_lost_is_told_once_for_a_function(project):
    program = """
        import jax
        import jax.numpy as jnp
        {imports}

        def draw(key):
            {split}
            a = jax.random.normal(first)
            b = jax.random.normal(second)
            return a + b
    """
    project.commit(draw=program.format(imports="", split="first, second = jax.random.split(key)"))
    project.write(draw=program.format(imports="from keys import pair", split="first, second = pair(key)"))
    change = project.change()
    assert (change["found"], change["code"]) == ([], 0)
    assert [(one["rule"], one["verdict"], one["line"], one["lines"]) for one in change["broken"]] == [
        ("one-key-as-many", "unknown", 6, [6]),
        ("key-reused", "unknown", 7, [7, 8]),
    ]
    assert project.run("--strict").exit_code == 1


def test_whether_a_change_touches_jax(project):
    project.commit(
        names="def title(x):\n    '''Say it.'''\n    return str(x)\n",
        sizes="def width(n):\n    return n * 2\n",
        model="import jax.numpy as jnp\nfrom sizes import width\n\ndef zeros(n):\n    return jnp.zeros(width(n))\n",
    )
    project.write(names="def title(x):\n    '''Say it all.'''\n    return repr(x)\n")
    change = project.change("--if-jax")
    assert (change["touches_jax"], change["reasons"], change["audited"]) == (False, [], [])
    project.write(sizes="def width(n):\n    return n * 3\n")
    change = project.change("--if-jax")
    assert change["reasons"] == [
        {"path": "model.py", "line": 5, "text": "`zeros` uses `jax.numpy`, and relies on `title`, `width`"}
    ]
    project.write(model="import jax.numpy as jnp\n\ndef zeros(n):\n    return jnp.ones(n)\n")
    assert project.change("--if-jax")["reasons"][0]["text"] == "`zeros` uses `jax.numpy`"
