"""`jaxaudit run` rebuilds objects of registered classes, and tells what does not come back as it was."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import issues, jaxaudit, report

pytest.importorskip("jax")

HEAD = "import jax\nimport jax.numpy as jnp\n\n"
EXCHANGED = """
class Mixture:
    def __init__(self, weights, means):
        self.weights, self.means = weights, means

    def parts(self):
        order = sorted(vars(self))
        return [getattr(self, name) for name in order], tuple(order)  #!

    @classmethod
    def join(cls, order, parts):
        return cls({taken})


jax.tree_util.register_pytree_node(Mixture, Mixture.parts, Mixture.join)
mixture = Mixture(jnp.ones(3), jnp.zeros(3))
print(jax.jit(lambda m: m.weights - m.means)(mixture))
"""
COMPUTED_AGAIN = """
def rooted(x):
    return jnp.sqrt(x) if hasattr(x, "shape") else x


@jax.tree_util.register_pytree_node_class
class Scale:
    def __init__(self, size, name="scale"):
        self.size, self.name, self.reads = {size}, name, 0

    def tree_flatten(self):
        return tuple(vars(self)[name] for name in ("size", "name")[:{kept}]), ()  #!

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


scale = Scale(jnp.full(2, 4.0))
scale.reads += 1
print(jax.tree.leaves(jax.tree.map(lambda x: x, scale)))
"""


WITH_KEYS = """
{decorator}
class Pose:
    def __init__(self, position, heading):
        self.position, self.heading = position, heading

    def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey(name), value) for name, value in sorted(vars(self).items())], None  #!

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


{call}
pose = Pose(jnp.ones(2), jnp.zeros(2))
print(jax.jit(lambda p: p.heading)(pose))
"""


def audited(tmp_path: Path, program: str) -> dict:
    (tmp_path / "program.py").write_text(HEAD + program)
    return report("run", "program.py", cwd=tmp_path)


def line_of(program: str) -> int:
    return next(at for at, line in enumerate((HEAD + program).splitlines(), 1) if line.endswith("#!"))


def test_attributes_that_change_places_are_told_at_what_is_returned(tmp_path):
    program = EXCHANGED.format(taken="*parts")
    found = audited(tmp_path, program)
    assert issues(found) == [("flatten-loses-field", "program.py", line_of(program))]
    (issue,) = found["issues"]
    expected = (
        "`means` of `Mixture` comes back as what `weights` was when an object is taken apart and put together again"
    )
    assert issue["message"] == expected
    assert [one["text"] for one in issue["why"]] == ["it is put together again here"]


def test_what_comes_back_as_it_was_is_verified_by_a_probe(tmp_path):
    found = audited(tmp_path, EXCHANGED.format(taken="**dict(zip(order, parts))"))
    assert issues(found) == []
    assert "verified by probe, 3 objects: `Mixture` is put together again as it was" in {
        one["reason"] for one in found["verified"] if one["rule"] == "flatten-loses-field"
    }


def test_numbers_that_are_computed_again_are_told(tmp_path):
    program = COMPUTED_AGAIN.format(size="rooted(size)", kept=1)
    found = audited(tmp_path, program)
    assert [(one["line"], one["message"]) for one in found["issues"]] == [
        (
            line_of(program),
            "`size` of `Scale` comes back with other numbers when an object is taken apart and put together again",
        )
    ]


def test_counters_that_no_constructor_takes_are_a_warning(tmp_path):
    found = audited(tmp_path, COMPUTED_AGAIN.format(size="size", kept=1))
    assert issues(found) == []
    assert [
        (one["rule"], "`reads` of `Scale` comes back as 0, and was 1" in one["message"]) for one in found["warnings"]
    ] == [("flatten-loses-field", True)]


@pytest.mark.parametrize(
    ("decorator", "call"),
    [
        ("@jax.tree_util.register_pytree_with_keys_class", ""),
        (
            "",
            "jax.tree_util.register_pytree_with_keys(Pose, Pose.tree_flatten_with_keys, unflatten_func=Pose.tree_unflatten)",
        ),
    ],
)
def test_classes_that_are_registered_with_keys_are_rebuilt_too(tmp_path, decorator, call):
    program = WITH_KEYS.format(decorator=decorator, call=call)
    assert issues(audited(tmp_path, program)) == [("flatten-loses-field", "program.py", line_of(program))]


COUNTED = """
class Pair:
    made = 0

    def __init__(self, a, b):
        self.a, self.b = a, b


def join(_, parts):
    print("rebuilt")
    Pair.made += 1
    return Pair(*parts)


jax.tree_util.register_pytree_node(Pair, lambda pair: ((pair.a, pair.b), None), join)
jax.tree.leaves(Pair(jnp.ones(2), 0.0))
print("made:", Pair.made)
"""


@pytest.mark.parametrize(("options", "made"), [(("--no-probe",), 0), ((), 1)])
def test_what_is_rebuilt_for_a_probe_writes_nothing(tmp_path, options, made):
    (tmp_path / "program.py").write_text(HEAD + COUNTED)
    done = jaxaudit("run", *options, "program.py", cwd=tmp_path)
    assert done.stdout.startswith(f"made: {made}\n"), done.stdout


LOST = """
class Run:
    def __init__(self, rate, history):
        self.rate, self.history = rate, history
        self.note = None


def join(_, parts):
    made = object.__new__(Run)
    made.rate, made.history = parts[0], [*parts[1]]
    return made


jax.tree_util.register_pytree_node(Run, lambda run: ((run.rate, run.history), None), join)  #!
jax.tree.leaves(Run(jnp.ones(2), [jnp.zeros(2)]))
"""


def test_nothing_is_verified_of_what_is_lost_or_cannot_be_compared(tmp_path):
    found = audited(tmp_path, LOST)
    assert not [one for one in found["verified"] if "verified by probe" in one["reason"]]
    # Of one place one reason is told.
    assert "`history` of `Run` could not be compared" in {
        one["reason"] for one in found["unknown"] if one["rule"] == "flatten-loses-field"
    }
