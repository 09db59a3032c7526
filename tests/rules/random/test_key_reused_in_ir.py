"""Verdicts of `key-reused` on programs built by hand."""

import pytest
from sketch import Sketch

from jaxaudit.ir import Exit
from jaxaudit.rules.random.key_reused import KeyReused


def verdict(sketch: Sketch, op) -> str | None:
    return sketch.verdicts(KeyReused).get(op.span.line)


def test_two_draws():
    s = Sketch()
    key = s.param("key")
    first, second = s.draw(key), s.draw(key)
    assert verdict(s, first) == "proved"
    assert verdict(s, second) == "error"
    (finding,) = [one for one in s.judge(KeyReused) if one.message]
    assert finding.message == "`key` is used again: `normal` drew from it on line 2"


def test_rows_of_a_split_differ():
    s = Sketch()
    a, b = s.unpack(s.split(s.param("key")), 2)
    assert verdict(s, s.draw(a)) == "proved"
    assert verdict(s, s.draw(b)) == "proved"
    assert verdict(s, s.draw(a)) == "error"


def test_draw_from_a_split_key():
    s = Sketch()
    key = s.param("key")
    s.split(key)
    assert verdict(s, s.draw(key)) == "error"


def test_splitting_twice_is_told_once():
    s = Sketch()
    key = s.param("key")
    a, b = s.unpack(s.split(key), 2)
    c, d = s.unpack(s.split(key), 2)
    for one in (a, b, c, d):
        s.draw(one)
    assert list(s.verdicts(KeyReused).values()).count("error") == 1


def test_branches_exclude_each_other():
    s = Sketch()
    key = s.param("key")
    with s.region("branch", "then") as then:
        s.draw(key)
    with s.region("branch", "else") as otherwise:
        second = s.draw(key)
    s.branch(then, otherwise)
    assert verdict(s, second) == "proved"
    assert verdict(s, s.draw(key)) == "error"


def test_early_return_excludes():
    s = Sketch()
    key = s.param("key")
    with s.region("branch", "then") as then:
        s.draw(key)
    s.close(then, exit=Exit.RETURN)
    with s.region("branch", "else") as otherwise:
        pass
    s.branch(then, otherwise)
    assert verdict(s, s.draw(key)) == "proved"


def test_joined_key_is_judged_by_path():
    s = Sketch()
    key = s.param("key")
    with s.region("branch", "then") as then:
        new, sub = s.unpack(s.split(key), 2)
        s.draw(sub)
    s.close(then, new)
    with s.region("branch", "else") as otherwise:
        pass
    s.close(otherwise, key)
    joined = s.branch(then, otherwise).result
    assert verdict(s, s.draw(joined)) == "proved"
    assert verdict(s, s.draw(joined)) == "error"


def helper(s: Sketch, label: str, shared: bool = False, mean: bool = False):
    inner = s.value("key")
    with s.region("function", label, (inner,)) as region:
        made = s.draw(inner).result
        if mean:
            made = s.op("array.reduce", {"x": made}, {"function": "jax.numpy.mean"}).result
    s.close(region, made)
    region.shared = shared
    return region


def test_two_helpers_get_one_key():
    s = Sketch()
    key = s.param("key")
    s.call(helper(s, "propose"), key)
    second = s.call(helper(s, "accept"), key)
    assert verdict(s, second) == "error"
    (finding,) = [one for one in s.judge(KeyReused) if one.message]
    assert finding.message == "`key` is used again: `propose` drew from it on line 4"
    assert any("`normal` draws from `key`" in step.text for step in finding.steps)


def test_shared_helper_with_two_keys():
    s = Sketch()
    a, b = s.unpack(s.split(s.param("key")), 2)
    region = helper(s, "noise", shared=True)
    s.call(region, a)
    assert verdict(s, s.call(region, b)) == "proved"
    other = s.value("x")
    assert other is not a


def test_key_returned_after_use():
    s = Sketch()
    inner = s.value("key")
    with s.region("function", "helper", (inner,)) as region:
        k1, _ = s.unpack(s.split(inner), 2)
        s.draw(k1)
    s.close(region, k1)
    region.shared = True
    used = s.call(region, s.param("key")).result
    assert verdict(s, s.draw(used)) == "error"


def test_shared_helper_returns_fresh_keys():
    s = Sketch()
    inner = s.value("key")
    with s.region("function", "helper", (inner,)) as region:
        k1, k2 = s.unpack(s.split(inner), 2)
    s.close(region, k1, k2)
    region.shared = True
    key, sub = s.call(region, s.param("key")).results
    s.draw(sub)
    _, sub2 = s.call(region, key).results
    assert verdict(s, s.draw(sub2)) == "proved"


def test_unknown_callee():
    s = Sketch()
    key = s.param("key")
    s.unknown_call(key)
    assert verdict(s, s.draw(key)) == "unknown"


def test_fold_in():
    s = Sketch()
    key = s.param("key")
    s.draw(s.fold(key, 1))
    assert verdict(s, s.draw(s.fold(key, 2))) == "proved"
    assert verdict(s, s.draw(s.fold(key, 1))) == "error"
    data = s.param("step")
    # It may be 1 or 2.
    assert verdict(s, s.draw(s.fold(key, data))) == "unknown"
    assert verdict(s, s.draw(s.fold(key, data))) == "error"


def test_fold_in_meets_split():
    s = Sketch()
    key = s.param("key")
    keys = s.split(key, 3)
    s.draw(s.row(keys, 1))
    assert verdict(s, s.draw(s.fold(key, 2))) == "proved"
    assert verdict(s, s.draw(s.fold(key, 1))) == "error"


def test_rows_by_index():
    s = Sketch()
    keys = s.split(s.param("key"), 3)
    i, j = s.param("i"), s.param("j")
    s.draw(s.row(keys, 0))
    assert verdict(s, s.draw(s.row(keys, -1))) == "proved"
    assert verdict(s, s.draw(s.row(keys, -3))) == "error"
    assert verdict(s, s.draw(s.row(keys, i))) == "unknown"
    assert verdict(s, s.draw(s.row(keys, i))) == "error"
    assert verdict(s, s.draw(s.row(keys, j))) == "unknown"


def test_slices():
    s = Sketch()
    keys = s.split(s.param("key"), 4)
    s.draw(s.row(keys, 0))
    rest = s.row(keys, {"start": 1, "stop": None, "step": None})
    k = s.value("k")
    with s.region("function", "f", (k,)) as region:
        s.draw(k)
    mapped = s.call(region, rest, name="vmap", in_axes=(0,))
    assert verdict(s, mapped) == "proved"
    assert verdict(s, s.draw(s.row(rest, 0))) == "error"


def test_whole_array_then_row():
    s = Sketch()
    keys = s.split(s.param("key"), 4)
    k = s.value("k")
    with s.region("function", "f", (k,)) as region:
        s.draw(k)
    s.call(region, keys, name="vmap", in_axes=(0,))
    assert verdict(s, s.draw(s.row(keys, 2))) == "error"


def test_one_key_as_two_arguments_is_the_callers_fault():
    s = Sketch()
    key = s.param("key")
    a, b = s.value("a"), s.value("b")
    with s.region("function", "f", (a, b)) as region:
        first, second = s.draw(a), s.draw(b)
    call = s.call(region, key, key)
    assert verdict(s, call) == "error"
    assert verdict(s, second) != "error"
    assert first


def test_clone_is_fresh():
    s = Sketch()
    key = s.param("key")
    s.draw(key)
    assert verdict(s, s.draw(s.op("key.clone", {"key": key}).result)) == "proved"


def test_comment_makes_it_a_warning():
    s = Sketch(comments={2: "# same noise for both on purpose"})
    key = s.param("key")
    s.draw(key)
    assert verdict(s, s.draw(key)) == "warning"


def test_name_makes_it_a_warning():
    s = Sketch()
    key = s.param("shared_key")
    s.draw(key)
    assert verdict(s, s.draw(key)) == "warning"


@pytest.mark.parametrize(("mean", "expected"), [(True, "warning"), (False, "error")])
def test_what_is_computed_of_samples_may_be_compared(mean, expected):
    s = Sketch()
    key = s.param("key")
    first = s.call(helper(s, "score", mean=mean), key)
    second = s.call(helper(s, "score", mean=mean), key)
    s.op("array.map", {"x": first.result, "y": second.result}, {"function": "jax.numpy.subtract"})
    assert verdict(s, second) == expected


def test_deferred_function_only_counts_inside():
    s = Sketch()
    key = s.param("key")
    with s.region("function", "later") as region:
        first = s.draw(key)
    s.op("callback", attrs={"function": "later"}, regions=(region,))
    after = s.draw(key)
    assert verdict(s, first) == "proved"
    assert verdict(s, after) == "unknown"
