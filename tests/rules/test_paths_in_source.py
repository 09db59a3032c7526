"""Verdicts of the rules about keys on small functions, read by the source front end."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEADER = "import jax\nfrom functools import partial\nfrom jax import lax, random\nimport jax.numpy as jnp\n"


def findings(code: str) -> list[str]:
    source = SourceFile("program.py", HEADER + textwrap.dedent(code))
    report = audit([source], Config(select=("random",))).report
    lines = (HEADER + textwrap.dedent(code)).split("\n")
    return [f"{one.severity} {one.rule}: {lines[one.line - 1].strip()}" for one in (*report.issues, *report.warnings)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flag", "not flag"),
        ("mode == 'a'", "mode == 'b'"),
        ("mode == 'a'", "mode != 'a'"),
        ("cfg.kind is None", "cfg.kind is not None"),
        ("cfg.kind is None", "cfg.kind"),
        ("flag and cfg.on", "not flag"),
        ("flag and cfg.on", "flag and not cfg.on"),
    ],
)
def test_conditions_that_exclude_each_other(first, second):
    code = f"""
    def f(key, flag, mode, cfg):
        x = 0.0
        if {first}:
            x = random.normal(key)
        if {second}:
            x = random.uniform(key)
        return x
    """
    assert findings(code) == []


@pytest.mark.parametrize(("first", "second"), [("flag", "mode"), ("mode == 'a'", "cfg.kind == 'b'"), ("flag", "flag")])
def test_conditions_that_can_both_hold(first, second):
    code = f"""
    def f(key, flag, mode, cfg):
        x = 0.0
        if {first}:
            x = random.normal(key)
        if {second}:
            x += random.uniform(key)
        return x
    """
    assert findings(code) == ["error key-reused: x += random.uniform(key)"]


def test_use_in_the_first_turn_only():
    code = """
    def f(key, n):
        for i in range(n):
            if i == 0:
                x = random.normal(key)
                print(x)
    """
    assert findings(code) == []


def test_use_in_every_tenth_turn():
    code = """
    def f(key, n):
        for i in range(n):
            if i % 10 == 0:
                x = random.normal(key)
                print(x)
    """
    assert findings(code) == ["error same-key-in-loop: x = random.normal(key)"]


def test_key_renewed_in_one_branch_and_used_in_a_callee():
    code = """
    def draw(key):
        return random.normal(key)

    def f(key, guide):
        if guide:
            key, sub = random.split(key)
            print(random.normal(sub))
        return draw(key)
    """
    assert findings(code) == []


def test_key_kept_in_an_object():
    code = """
    class Sampler:
        def __init__(self, key):
            self.key = key

        def draw(self):
            self.key, sub = random.split(self.key)
            return random.normal(sub)

    def f(key):
        sampler = Sampler(key)
        return sampler.draw() + sampler.draw()
    """
    assert findings(code) == []


def test_slices_that_move_with_the_loop():
    code = """
    def f(key, n, size):
        keys = random.split(key, n)
        out = []
        for start in range(0, n, size):
            out.append(jax.vmap(random.normal)(keys[start : start + size]))
        return out
    """
    assert findings(code) == []


def test_generator_gives_new_keys():
    code = """
    def f(seed):
        keys = iter(random.split(random.key(seed), 3))
        return random.normal(next(keys)) + random.normal(next(keys))
    """
    assert findings(code) == []


def test_same_partial_called_twice():
    code = """
    def noise(key, x):
        return x + random.normal(key, x.shape)

    def f(key, x, y):
        add = partial(noise, key)
        return add(x), add(y)
    """
    assert findings(code) == ["error key-reused: return add(x), add(y)"]


def test_zip_uses_as_many_keys_as_the_shortest():
    code = """
    def f(key, names):
        keys = random.split(key, 4)
        params = {name: random.normal(k) for name, k in zip("abc", keys)}
        others = [random.normal(k) for _, k in zip(names, random.split(keys[3], 2))]
        return params, others
    """
    assert findings(code) == []


def test_every_row_used_in_a_loop_then_one_more():
    code = """
    def f(key):
        keys = random.split(key, 4)
        params = [random.normal(k) for k in keys]
        return params, random.normal(keys[3])
    """
    assert findings(code) == ["error key-reused: return params, random.normal(keys[3])"]


def test_none_is_no_key():
    code = """
    import haiku as hk

    def f(key, net, x):
        model = hk.transform(net)
        params = model.init(key, x)
        return model.apply(params, None, x) + model.apply(params, None, x)
    """
    assert findings(code) == []
