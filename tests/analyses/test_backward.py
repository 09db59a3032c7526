"""The solver backward: what surely happens to a value, with a small domain of its own, and the uses of values."""

from sketch import Sketch

from jaxaudit.analyses.domain import WIDEN_AFTER, Direction, any_branch, anywhere, not_at_once
from jaxaudit.analyses.solve import solve, solve_domain
from jaxaudit.analyses.uses import EFFECTS, Use, Uses
from jaxaudit.ir import Exit
from jaxaudit.ir.interfaces import given_to, leaves_as


class Printed:
    """Values that are printed on every path, themselves or what a call gives back of them."""

    name = "printed"
    direction = Direction.BACKWARD
    by_summary = False
    must = True
    widen_after = WIDEN_AFTER
    taken = any_branch
    place = anywhere
    at_once = not_at_once

    @property
    def table(self):
        return {"py.print": lambda op, read: [True] * len(op.operands)}

    def unknown(self, value):
        return False

    def join(self, first, second):
        return first and second

    widen = join

    def enter(self, op, region, read, turn):
        return [read(one) or any(map(read, leaves_as(op, region, one))) for one in region.results]

    def leave(self, op, read):
        inside = [(given, read(param)) for region in op.regions for param, given in given_to(op, region)]
        return [read(one) or any(known for given, known in inside if given is one) for one in op.operands]

    def finish(self, facts, solution):
        return solution


def show(s: Sketch, value):
    s.op("py.print", {"args": (value,)}, results=0)


def branch(s: Sketch, value, *, then: bool, otherwise: bool, exit_then: Exit = Exit.FALL):
    regions = []
    for shown, leaves in ((then, exit_then), (otherwise, Exit.FALL)):
        with s.region("branch", "side") as region:
            if shown:
                show(s, value)
        s.close(region)
        region.exit = leaves
        regions.append(region)
    s.op("py.branch", results=0, regions=tuple(regions))


def test_what_must_happen_happens_on_all_paths():
    s = Sketch()
    a, b, c = s.param("a"), s.param("b"), s.param("c")
    branch(s, a, then=True, otherwise=True)
    branch(s, b, then=True, otherwise=False)
    branch(s, c, then=False, otherwise=False, exit_then=Exit.RETURN)
    show(s, c)
    known = solve_domain(s.program(), Printed())
    assert known.of(a)
    assert not known.of(b)
    assert not known.of(c)


def test_a_loop_may_run_no_turn():
    s = Sketch()
    a = s.param("a")
    with s.region("loop", "body") as body:
        show(s, a)
    s.close(body)
    s.op("while", results=0, regions=(body,))
    assert not solve_domain(s.program(), Printed()).of(a)


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
