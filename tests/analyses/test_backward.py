"""The solver backward: the uses of values."""

from sketch import Sketch

from jaxaudit.analyses.solve import solve
from jaxaudit.analyses.uses import EFFECTS, Use, Uses


def show(s: Sketch, value):
    s.op("py.print", {"args": (value,)}, results=0)


def test_a_shared_body_is_solved_for_each_context():
    s = Sketch()
    x = s.value("x")
    with s.region("function", "same", (x,)) as region:
        made = s.op("array.map", operands=(x,), attrs={"function": "sin"}).result
    s.close(region, made)
    region.shared = True
    a, b = s.param("a"), s.param("b")
    shown, compared = s.call(region, a).result, s.call(region, b).result
    show(s, shown)
    s.op("array.map", operands=(compared, b), attrs={"function": "less"})
    uses = solve(s.program(), {Uses}).get(Uses)
    assert uses.of(a) == Use.COMPUTED
    assert uses.becomes(a) == Use.COMPUTED | Use.SHOWN
    assert uses.of(b) == Use.COMPUTED | Use.COMPARED
    assert uses.becomes(b) == Use.COMPUTED | Use.COMPARED
    assert uses.becomes(x) == Use.COMPUTED | Use.COMPARED | Use.SHOWN


def test_uses_go_from_one_carried_value_to_the_next():
    s = Sketch()
    starts = [s.param(f"start{i}") for i in range(20)]
    params = tuple(s.value(f"p{i}") for i in range(20))
    with s.region("loop", "body", params) as body:
        pass
    # Each turn moves all values one place on; the last place is printed after the loop.
    s.close(body, params[-1], *params[:-1])
    loop = s.op("while", operands=tuple(starts), results=20, regions=(body,))
    show(s, loop.results[-1])
    uses = solve(s.program(), {Uses}).get(Uses)
    assert all(uses.of(one) == Use.SHOWN | Use.CARRIED for one in starts)
    assert not uses.becomes(loop.results[0]) & EFFECTS


def test_what_values_are_read_for():
    s = Sketch()
    a, b, c, d = (s.param(name) for name in "abcd")
    s.op("array.shape", {"a": a})
    s.unknown_call(b)
    s.op("py.store_attr", {"object": d, "value": c}, {"name": "field"}, results=0)
    dropped = s.op("array.map", operands=(b,), attrs={"function": "sin"}).result
    s.op("py.drop", attrs={"values": (dropped,)}, operands=(), results=0)
    s.op("py.test", {"value": d}, {"construct": "if"}, results=0)
    uses = solve(s.program(), {Uses}).get(Uses)
    assert uses.of(a) == Use.MEASURED
    assert uses.of(b) == Use.HANDED | Use.COMPUTED
    assert uses.of(c) == Use.STORED
    assert uses.of(d) == Use.STORED | Use.TESTED
    assert uses.becomes(dropped) == Use.DROPPED
    assert not uses.is_read(dropped)
