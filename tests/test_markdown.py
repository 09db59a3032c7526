"""The report as Markdown, read back with a parser: the sections, the bounds, and that no text becomes markup."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from markdown_it import MarkdownIt
from page_sample import HOSTILE, PATH, SHOWN, SOURCE, sample

from jaxaudit.reports.formats.markdown import render_markdown
from jaxaudit.reports.markdown_text import bounded, code, escaped, fenced, label, prose, table
from jaxaudit.reports.model import Boundary, Crossing, FlowStep, Report, Tool, Transformation, Verified
from jaxaudit.spans import SourceText

PARSER = MarkdownIt("commonmark").enable("table")
SECTIONS = [
    "End-to-End Data Flow", "Transformation Stack", "Shape Trace at Boundaries", "Issues Found", "Verified Correct",
    "Warnings", "Could Not Be Decided", "Coverage",
]  # fmt: skip
NASTY = [
    HOSTILE,
    "`a` ``b``",
    "|x|",
    "[a](http://b)",
    "*a* _b_ **c**",
    "@someone #12",
    "<b>",
    "$x$",
    "\\",
    "a\nb",
    "```",
]


def sources(path: str) -> SourceText:
    return SourceText(path, SOURCE if path == PATH else "")


def rendered(report: Report) -> str:
    return render_markdown(report, sources)


def headings(text: str, level: str) -> list[str]:
    tokens = PARSER.parse(text)
    return [after.content for token, after in pairwise(tokens) if token.tag == level and token.nesting == 1]


def shown(text: str) -> str:
    """Return the text that a reader sees of one line of Markdown."""
    (inline,) = [token for token in PARSER.parse(text) if token.type == "inline"]
    kinds = {child.type for child in inline.children}
    assert kinds <= {"text", "code_inline", "text_special", "softbreak"}, kinds
    return "".join(child.content for child in inline.children)


def test_the_six_sections_stand_in_order():
    assert headings(rendered(sample()), "h2") == SECTIONS
    assert rendered(sample()).startswith("# jaxaudit: Found 1 error, 1 performance issue, 1 warning\n")


def test_an_issue_is_told_in_full():
    text = rendered(sample())
    assert "### error: `key` is used again" in text
    assert "`step.py:4:10` `key-reused` (id `0001`)" in text
    assert "```python\n    ys = jax.vmap(inner)(h)\n```" in text
    assert "- now: now this\n- meant: that was meant\n- why: `step.py:3` `h` is made here\n" in text
    assert "- fix: write `split`" in text


def test_the_stack_is_a_diagram():
    diagram = re.search(r"```mermaid\n(.*?)```", rendered(sample()), re.DOTALL)[1]
    lines = diagram.splitlines()
    assert lines[0] == "flowchart TD"
    assert lines[1] == '  t0["jit step<br/>step.py:2"]'
    assert lines[3] == "  t0 --> t1"
    assert re.fullmatch(r'  t1\["[\w #;.,:=/()<>-]*"\]', lines[2])
    assert "script" in lines[2]
    assert "<script" not in lines[2]


@pytest.mark.parametrize("text", NASTY)
def test_text_is_shown_and_not_obeyed(text):
    plain = " ".join(text.replace("\u202e", "\ufffd").split())
    assert shown(escaped(text)) == plain
    assert shown(code(text)) == plain
    assert "@" not in escaped(text)
    (block,) = PARSER.parse("\n".join(fenced([text], "python")))
    assert block.content.rstrip("\n") == text
    assert re.fullmatch(r"[\w .,:=/()#;]*", label(text))


def test_names_in_messages_stay_code():
    assert prose("`x` meets `y[0]` <here>") == "`x` meets `y[0]` &lt;here&gt;"
    assert prose("an odd ` tick") == "an odd &#96; tick"


def test_a_bar_does_not_end_a_cell():
    lines = list(table(("a", "b:"), [(code("x|y"), "1")]))
    cells = [token.content for token in PARSER.parse("\n".join(lines)) if token.type == "inline"]
    assert cells == ["a", "b", "`x|y`", "1"]


def test_what_is_left_out_is_counted():
    assert list(bounded([["a" * 10]] * 5, 25, "steps are")) == [
        "a" * 10, "a" * 10, "", "_3 steps are left out for length; `--format json` has all of them._"
    ]  # fmt: skip


def test_a_huge_report_fits_into_a_comment():
    report = sample(filler=5000)
    steps = tuple(FlowStep("f", "f", 1, PATH, number, "array.map", "add", id=number) for number in range(20_000))
    stack = tuple(Transformation(number, None, 0, "f", "jit", "f" * 500, PATH, 1, "jaxpr") for number in range(900))
    many = replace(
        report, data_flow=steps, transformation_stack=stack, boundaries=report.boundaries * 400,
        issues=report.issues * 300, warnings=report.warnings * 300,
        verified=tuple(Verified(f"rule-{number}", "axes", PATH, 1, "holds") for number in range(900)),
        unknown=report.unknown * 900,
    )  # fmt: skip
    text = rendered(many)
    assert len(text) < 65_536
    assert headings(text, "h2") == SECTIONS
    for left in ("steps", "transformations", "boundaries", "issues", "warnings", "rules"):
        assert re.search(rf"_[\d,]+ {left} are left out for length", text), left


def test_an_empty_report_says_what_is_missing():
    text = rendered(Report(1, Tool("jaxaudit", "0"), not_available=("data_flow", "boundaries")))
    assert text.count("Needs exact shapes: use `run` or `trace`.") == 2
    assert text.count("None.") == 4


def test_hostile_text_stays_text():
    html = PARSER.render(re.sub(r"</?details>|</?summary>", "", rendered(sample())))
    assert "<script" not in html
    assert "<img" not in html
    assert SHOWN.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;") in html


def test_a_tree_that_keeps_its_shape_is_one_row_and_results_are_always_told() -> None:
    leaves = tuple(Crossing(f"params['w{number}']", "f32[3]", "f32[3]", "captured") for number in range(40))
    mapped = Crossing("x", "f32[8,3]", "f32[3]", "mapped over axis 0")
    result = Crossing("y", "f32[8]", "f32[]", "collected along axis 0")
    border = Boundary("train", "vmap", "model", PATH, 3, (mapped, *leaves), (result,))
    text = rendered(Report(1, Tool("jaxaudit", "0"), boundaries=(border,)))
    assert [line for line in text.splitlines() if line.startswith(("| in", "| out"))] == [
        "| in | `x` | `f32[8,3]` | `f32[3]` | mapped over axis 0 |",
        "| in | `params` | 40 arrays | the same | captured |",
        "| out | `y` | `f32[8]` | `f32[]` | collected along axis 0 |",
    ]
    assert "<summary>1 boundary</summary>" in text
