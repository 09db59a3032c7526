"""Which ops can both happen, and where values are seen."""

from sketch import Sketch

from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Exit


def two_branches(s: Sketch, exit: Exit):
    with s.region("branch", "then") as then:
        first = s.seed()
    s.close(then, exit=exit)
    with s.region("branch", "else") as otherwise:
        second = s.seed()
    s.branch(then, otherwise)
    return first, second


def test_branches():
    s = Sketch()
    a, b = two_branches(s, Exit.FALL)
    after = s.seed()
    places = Places.of(s.program())
    first, second, last = (places.maker[value] for value in (a, b, after))
    assert not places.both_happen(first, second)
    assert places.both_happen(first, last)
    assert places.comes_before(first, last)


def test_return_cuts_off_what_follows():
    s = Sketch()
    a, b = two_branches(s, Exit.RETURN)
    after = s.seed()
    places = Places.of(s.program())
    assert not places.both_happen(places.maker[a], places.maker[after])
    assert places.both_happen(places.maker[b], places.maker[after])


def test_break_cuts_off_the_turn_only():
    s = Sketch()
    with s.region("loop", "body", (s.value("i"),)) as body:
        a, _ = two_branches(s, Exit.BREAK)
        later = s.seed()
    s.op("py.loop", operands=(), results=0, regions=(body,))
    after = s.seed()
    places = Places.of(s.program())
    assert not places.both_happen(places.maker[a], places.maker[later])
    assert places.both_happen(places.maker[a], places.maker[after])


def test_return_in_a_callee_does_not_leave_the_caller():
    s = Sketch()
    with s.region("function", "f") as body:
        a, _ = two_branches(s, Exit.RETURN)
    s.call(body)
    after = s.seed()
    places = Places.of(s.program())
    assert places.both_happen(places.maker[a], places.maker[after])


def test_branch_whose_every_way_leaves():
    s = Sketch()
    with s.region("branch", "then") as then:
        a = s.seed()
        with s.region("branch", "then") as one:
            pass
        s.close(one, exit=Exit.RETURN)
        with s.region("branch", "else") as two:
            pass
        s.close(two, exit=Exit.RETURN)
        s.branch(one, two)
    with s.region("branch", "else") as otherwise:
        pass
    s.branch(then, otherwise)
    after = s.seed()
    places = Places.of(s.program())
    assert places.exit_of(then) is Exit.RETURN
    assert not places.both_happen(places.maker[a], places.maker[after])


def test_values_that_escape():
    s = Sketch()
    with s.region("function", "f") as body:
        inside = s.seed()
        s.draw(inside)
    s.call(body)
    s.draw(inside)
    assert Places.of(s.program()).escaped == {inside: {s.root}}
