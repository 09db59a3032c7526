"""What containers hold: items that differ in kind are followed one by one, and what is not known is not absent."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax\nimport jax.numpy as jnp\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for m in [None, jnp.ones(3)]:\n    if m is not None:\n        result = m * 2", ["3"]),
        (
            "for f, n in [(jnp.tanh, 3), (None, 4)]:\n    result = jnp.ones(n)\n    result = result if f is None else f(result)",
            ["3", "4"],
        ),
        (
            "x = jnp.ones((2, 3))\nfor n, f in zip((4, 5), (jnp.tanh, None)):\n    x = x @ jnp.ones((x.shape[-1], n))\nresult = x * 1",
            ["2 5"],
        ),
        ("for f in [lambda x: x[0], lambda x: x[1:]]:\n    result = f(jnp.ones((3, 4)))", ["4", "2 4"]),
        ("for m in [None, jnp.ones(3)]:\n    if m is None:\n        continue\n    result = m * 2", ["3"]),
        ("for m in [jnp.ones(3), None, 1]:\n    if m is None:\n        break\n    result = m * 2", ["3"]),
        ("fs = [f(jnp.ones((3, 4))) for f in (lambda x: x[0], jnp.sum)]\nresult = fs[1] * 1", [""]),
        (
            (
                "def init(keys):\n    layers = []\n    for k in keys:\n        layers.append({'w': jax.random.normal(k, (3, 4)), 'b': jnp.ones(4)})\n"
                "    return layers\nfor layer in init(jax.random.split(jax.random.key(0), 5)):\n    result = jnp.ones(3) @ layer['w'] + layer['b']"
            ),
            ["4"],
        ),
        ("d = dict(zip(['a', 'b'], jnp.ones((2, 5))))\nresult = d['b'] * 1", ["5"]),
        ("d = dict(zip(['a', 'b'], (jnp.ones(2), jnp.ones(3))))\nresult = d['b'] * 1", ["3"]),
        ("d = {n: jnp.ones(i + 2) for i, n in enumerate(['a', 'b'])}\nresult = d['b'] * 1", ["3"]),
        (
            "ks = dict(zip(('a', 'b'), jax.random.split(jax.random.key(0))))\nresult = jax.random.normal(ks['a'], (3,))",
            ["3"],
        ),
        (
            "d = {}\nfor (n, p), k in zip({'w': jnp.ones((3, 4)), 'b': jnp.ones(4)}.items(), range(2)):\n    d[n] = p + k\nresult = d['b'] * 1",
            ["4"],
        ),
    ],
)
def test_a_few_items_of_different_kinds_are_followed_one_by_one(code: str, expected: list[str]) -> None:
    assert shapes(_START + code) == expected


def test_paths_that_leave_a_turn_early_meet_again() -> None:
    code = """
def f(c):
    x = jnp.ones(3)
    for name in ["a", "b"]:
        if c:
            continue
        x = jnp.ones((3, 4))
    found = x * 1
    return found
"""
    assert shapes(_START + code, "found") == ["?"]


@pytest.mark.parametrize(
    "fill",
    [
        "for k, v in xs:\n        d.setdefault(k, []).append(v)",
        "d.setdefault(xs, []).append(1)",
        "d.update(xs)",
        "for k, v in xs:\n        d[k] = v",
        "d.update(**xs)",
    ],
)
def test_a_dict_that_is_filled_is_not_empty(fill: str) -> None:
    code = f"def f(xs):\n    d = {{}}\n    {fill}\n    if not d:\n        return None\n    result = jnp.ones(3)\n    return result\n"
    assert shapes(_START + code)[0] == "3"


def test_a_dict_that_makes_what_is_missing_is_not_empty() -> None:
    code = "from collections import defaultdict\ndef f(k, v):\n    d = defaultdict(list)\n    d[k].append(v)\n    if d:\n        result = jnp.ones(3)\n"
    assert "3" in shapes(_START + code)


def test_an_entry_that_is_set_by_default_is_known() -> None:
    code = "d = {}\nd.setdefault('a', []).append(jnp.ones(3))\nd.setdefault('a', []).append(jnp.ones(4))\nresult = d['a'][1] * 1"
    assert shapes(_START + code) == ["4"]


_ITERATORS = """
def numbers(n):
    for i in range(n):
        yield jnp.ones((n, 3)), i
def outer(n):
    yield from numbers(n)
class Itself:
    def __init__(self, n):
        self.n, self.i = n, 0
    def __iter__(self):
        return self
    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return jnp.ones((self.n, 3)), self.i
class Yielding:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        yield jnp.ones((self.n, 3)), 1
class Items:
    def __init__(self, n):
        self.n = n
    def __getitem__(self, i):
        return jnp.ones((self.n, 3)), i
"""


@pytest.mark.parametrize("made", ["numbers(4)", "outer(4)", "Itself(4)", "Yielding(4)", "Items(4)"])
def test_what_an_iterator_gives_is_known(made: str) -> None:
    loop = f"for x, i in {made}:\n    result = x * 1\n"
    assert shapes(_START + _ITERATORS + loop) == ["4 3"]
    assert shapes(f"{_START}{_ITERATORS}x, i = next(iter({made}))\nresult = x * 1\n") == ["4 3"]
    assert shapes(f"{_START}{_ITERATORS}for j, (x, i) in enumerate({made}):\n    result = x * 1\n") == ["4 3"]


def test_an_iterator_gives_another_element_each_time() -> None:
    code = "import jax\ndef f(n):\n    keys = iter(jax.random.split(jax.random.key(0), n))\n    a, b = next(keys), next(keys)\n"
    (first, second) = [op for op in ops(code, "py.call_library") if op.qualified == "builtins.next"]
    assert first.results != second.results


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for i in tqdm.tqdm(range(4), total=4):\n    x = x + i\nresult = x * 1", ["3"]),
        ("bar = tqdm.auto.tqdm([x, x])\nfor y in bar:\n    bar.set_description('a')\n    result = y * 1", ["3"]),
        ("for i, y in enumerate(tqdm.tqdm([x, x])):\n    result = jnp.ones((2, 3)) @ y", ["2"]),
        ("for i in tqdm.trange(2, 5, desc='a'):\n    result = jnp.ones(2) * i", ["2"]),
        ("result = jnp.stack([x for i in tqdm.trange(5)])", ["5 3"]),
        ("with tqdm.tqdm(total=4) as bar:\n    bar.update(1)\n    result = x * 1", ["3"]),
    ],
)
def test_a_progress_bar_gives_what_it_was_put_around(loop: str, expected: list[str]) -> None:
    assert shapes(f"import tqdm\n{_START}x = jnp.ones(3)\n{loop}\n") == expected
