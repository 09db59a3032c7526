"""Verdicts of `same-key-in-loop` on programs built by hand."""

import pytest
from sketch import Sketch

from jaxaudit.ir import Exit
from jaxaudit.rules.random.key_reused import KeyReused
from jaxaudit.rules.random.same_key_in_loop import SameKeyInLoop


def verdict(sketch: Sketch, op) -> str | None:
    return sketch.verdicts(SameKeyInLoop).get(op.span.line)


def test_invariant_key_in_for():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(key)
        s.op("py.print", {"x": use.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "error"
    assert "error" not in s.verdicts(KeyReused).values()


def test_one_turn_is_no_loop():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(key)
    s.op("py.loop", attrs={"trips": 1}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


@pytest.mark.parametrize(("row", "expected"), [(1, "proved"), (0, "error")])
def test_carried_key(row, expected):
    s = Sketch()
    start = s.param("key")
    carry = s.value("key")
    with s.region("loop", "body", (s.value("i"), carry)) as body:
        pair = s.unpack(s.split(carry), 2)
        use = s.draw(pair[row])
        s.op("py.print", {"x": use.result})
    s.close(body, pair[0])
    loop = s.op("py.loop", attrs={"trips": None}, operands=(start,), results=1, regions=(body,))
    after = s.draw(loop.result)
    assert verdict(s, use) == expected
    assert s.verdicts(KeyReused)[after.span.line] == "proved"


def test_carried_unchanged():
    s = Sketch()
    start = s.param("key")
    carry = s.value("key")
    with s.region("function", "body", (carry,)) as body:
        use = s.draw(carry)
    s.close(body, carry, use.result)
    loop = s.op("scan", attrs={"carry": 1}, operands=(start,), results=2, regions=(body,))
    s.op("py.print", {"x": loop.results[1]})
    assert verdict(s, use) == "error"


def test_scan_over_keys_then_reuse():
    s = Sketch()
    keys = s.split(s.param("key"), 5)
    k = s.value("k")
    with s.region("function", "body", (k,)) as body:
        use = s.draw(k)
    s.op("scan", attrs={"carry": 0}, operands=(keys,), results=0, regions=(body,))
    assert verdict(s, use) == "proved"
    again = s.draw(s.row(keys, 1))
    assert s.verdicts(KeyReused)[again.span.line] == "error"


def test_fold_in_index():
    s = Sketch()
    key = s.param("key")
    i = s.value("i")
    with s.region("function", "body", (i,)) as body:
        shifted = s.op("array.map", {"x": i, "y": 1}, {"function": "add"}).result
        use = s.draw(s.fold(key, shifted))
        constant = s.draw(s.fold(key, 7))
        s.op("py.print", {"x": constant.result})
    s.op("fori", {"lower": 0, "upper": 10}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"
    assert verdict(s, constant) == "error"


def test_rows_by_range():
    s = Sketch()
    keys = s.split(s.param("key"), 4)
    index = s.value("")
    with s.region("loop", "body", (index,)) as body:
        i = s.op("py.element", {"iterable": {"start": 0, "stop": 4, "step": 1}, "index": index}).result
        use = s.draw(s.row(keys, i))
    s.op("py.loop", attrs={"trips": 4}, operands=(), results=0, regions=(body,))
    after = s.draw(s.row(keys, 2))
    assert verdict(s, use) == "proved"
    assert s.verdicts(KeyReused)[after.span.line] == "error"


def test_loop_that_leaves_after_the_use():
    s = Sketch()
    key = s.param("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        with s.region("branch", "then") as then:
            use = s.draw(key)
        s.close(then, exit=Exit.BREAK)
        with s.region("branch", "else") as otherwise:
            pass
        s.branch(then, otherwise)
    s.op("py.loop", attrs={"trips": None}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


def test_key_that_changes_where_it_is_used():
    s = Sketch()
    start, carry = s.param("key"), s.value("key")
    with s.region("loop", "body", (s.value("i"), carry)) as body:
        with s.region("branch", "then") as then:
            new, sub = s.unpack(s.split(carry), 2)
            use = s.draw(sub)
        s.close(then, new)
        with s.region("branch", "else") as otherwise:
            pass
        s.close(otherwise, carry)
        joined = s.branch(then, otherwise).result
    s.close(body, joined)
    s.op("py.loop", attrs={"trips": None}, operands=(start,), results=1, regions=(body,))
    assert verdict(s, use) == "proved"


def test_seed_inside():
    s = Sketch()
    with s.region("loop", "body", (s.value("i"),)) as body:
        use = s.draw(s.seed(0))
        s.op("py.print", {"x": use.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "warning"


def test_seed_from_the_index():
    s = Sketch()
    i = s.value("i")
    with s.region("loop", "body", (i,)) as body:
        use = s.draw(s.seed(i))
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, use) == "proved"


def test_call_in_loop_blames_the_call():
    s = Sketch()
    key = s.param("key")
    inner = s.value("key")
    with s.region("loop", "body", (s.value("i"),)) as body:
        with s.region("function", "step", (inner,)) as step:
            deep = s.draw(inner)
        s.close(step, deep.result)
        call = s.call(step, key)
        s.op("py.print", {"x": call.result})
    s.op("py.loop", attrs={"trips": 3}, operands=(), results=0, regions=(body,))
    assert verdict(s, call) == "error"
    assert verdict(s, deep) is None
