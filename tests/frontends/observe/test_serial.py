"""Programs survive the journey between processes: same text, same types, same identities."""

import json
from itertools import pairwise
from pathlib import Path

from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import ArrayType, Op, Program, Region, Root, Symbol, Value
from jaxaudit.ir.check import check_program
from jaxaudit.ir.serial import decode_program, encode_program
from jaxaudit.ir.show import show_program
from jaxaudit.ir.types import Declared
from jaxaudit.spans import Span

EXAMPLE = Path(__file__).parents[3] / "examples" / "dropout_vae.py"


def travelled(program: Program, show=str) -> Program:
    return decode_program(json.loads(json.dumps(encode_program(program))), show)


def test_a_real_program_keeps_its_text_and_stays_sound():
    program = read_source([SourceFile("vae.py", EXAMPLE.read_text())], lambda path: None).program
    again = travelled(program)
    assert [(op.name, op.span) for op in again.walk()] == [(op.name, op.span) for op in program.walk()]
    assert show_program(travelled(again)) == show_program(again)
    assert check_program(again) == check_program(program)
    assert again.comments == program.comments


def test_constants_types_and_shared_regions():
    span = Span("a.py", 1, 0, 1, 5)
    value, made = Value(1, span, "x"), Value(2, span)
    shared = Region("function", "f", span, (), [], (), shared=True)
    attrs = {
        "tuple": (1, 2.5, True, None, "s", b"\x00", 1j, Symbol("jax.numpy.float32")),
        "table": {"a": (value,), 3: "three"},
        "type": ArrayType((2,), "float32"),
        "odd": {1, 2}.__class__,
    }
    op = Op("py.call", (value,), (made,), span, {"x": value, "n": 3}, attrs, (shared, shared))
    root = Root("main", "a.py", Region("root", "main", span, (value,), [op], (made,)))
    types = {value: ArrayType((3, 4), "float32", weak=True)}
    again = travelled(Program((root,), "jaxpr", {}, types, {value: Declared(("batch", ""), "f")}), str.upper)
    (back,) = again.roots[0].region.ops
    param = again.roots[0].region.params[0]
    assert back.attrs["tuple"] == attrs["tuple"]
    assert [type(part) for part in back.attrs["tuple"]] == [type(part) for part in attrs["tuple"]]
    assert back.attrs["table"] == {"a": (param,), 3: "three"}
    assert back.attrs["type"] == ArrayType((2,), "float32")
    assert back.attrs["odd"] == "<class 'set'>"
    assert back.regions[0] is back.regions[1]
    assert back.regions[0].shared
    assert back.arguments["x"] is param
    assert again.types == {param: ArrayType((3, 4), "float32", weak=True)}
    assert again.declared == {param: Declared(("batch", ""), "f")}
    assert (again.roots[0].path, back.span.path) == ("A.PY", "A.PY")


def test_ops_that_differ_in_their_values_alone_are_sent_as_one_form():
    span = Span("a.py", 1, 0, 1, 5)
    attrs = {"function": "add"}
    values = [Value(number, span) for number in range(40)]
    ops = [Op("array.map", (x, x), (y,), span, {"x": x, "y": x, "n": 1}, attrs) for x, y in pairwise(values)]
    # Equal to `1`, and other constants all the same.
    ops += [
        Op("array.map", (values[0],), (), span, {"x": values[0], "n": one}, attrs) for one in (1.0, True, 0.0, -0.0)
    ]
    program = Program((Root("f", "a.py", Region("root", "f", span, (values[0],), ops)),), "jaxpr")
    sent = encode_program(program)
    assert len(sent["forms"]) == 5
    assert len(sent["attrs"]) == 1
    back = list(travelled(program).walk())
    assert [repr(op.arguments) for op in back] == [repr(op.arguments) for op in ops]
    assert all(op.arguments["x"] is op.operands[0] for op in back)
