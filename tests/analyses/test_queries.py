"""Walks over the flow of data: across borders, without end and without a limit."""

from sketch import Sketch

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import Answers, depends, last, reached, readers, sources, walk


def test_a_walk_meets_each_node_once_and_the_nearest_first():
    edges = {1: [2, 3], 2: [4], 3: [4], 4: [1]}
    assert list(walk((1,), edges.__getitem__)) == [1, 2, 3, 4]


def test_a_chain_ends_where_it_has_been():
    assert last(0, lambda n: n + 1 if n < 5 else None) == 5
    assert last(0, lambda n: (n + 1) % 3) == 2


def test_answers_are_found_however_deep():
    deep = 50_000
    even = Answers(lambda n, ask: n == 0 or not ask(n - 1), otherwise=False)
    assert even(deep)
    assert not even(deep - 1)


def test_answers_in_a_circle_do_not_depend_on_who_asks_first():
    edges = {"a": ["b"], "b": ["a", "c"], "c": []}
    for first in edges:
        ends = Answers(lambda n, ask: n == "c" or any(ask(one) for one in edges[n]), otherwise=False)
        ends(first)
        assert [ends(n) for n in "abc"] == [True, True, True]


def twice(s: Sketch):
    """Call one body with two values."""
    x = s.value("x")
    with s.region("function", "double", (x,)) as region:
        made = s.op("array.map", operands=(x, x), attrs={"function": "add"}).result
    s.close(region, made)
    region.shared = True
    a, b = s.param("a"), s.param("b")
    return x, made, a, b, s.call(region, a).result, s.call(region, b).result


def test_what_goes_into_a_shared_body_comes_out_at_its_call():
    s = Sketch()
    x, made, a, b, first, second = twice(s)
    flow = Facts(s.program()).flow
    assert reached(flow, (a,)) == {a, x, made, first}
    assert reached(flow, (x,)) == {x, made, first, second}
    assert sources(flow, (second,)) == {second, made, x, a, b}
    assert [op.name for op in readers(flow, b)] == ["py.call", "array.map", "array.map"]


def test_dependence_through_turns_of_a_loop():
    s = Sketch()
    start, other = s.param("start"), s.param("other")
    first, second = s.value("first"), s.value("second")
    with s.region("loop", "body", (first, second)) as body:
        following = s.op("array.map", operands=(first,), attrs={"function": "sin"}).result
    s.close(body, second, following)
    loop = s.op("while", operands=(start, other), results=2, regions=(body,))
    flow = Facts(s.program()).flow
    # What the second turn gives first is what the first turn gave second.
    assert depends(flow, loop.results[0], (start,))
    assert depends(flow, second, (first,))
    assert not depends(flow, start, (loop.results[0],))
