import io
from dataclasses import replace

import pytest
from rich.console import Console

from jaxaudit.reports.formats.text import print_report, render_text
from jaxaudit.reports.model import (
    Coverage,
    Finding,
    Report,
    SkippedFunction,
    Suggestion,
    Tally,
    Tool,
    Unknown,
    Verified,
    WhyStep,
)
from jaxaudit.reports.snippet import Look, Marked, clean, snippet
from jaxaudit.spans import SourceText

CODE = """\
import jax

def sample(key, n):
    noise = jax.random.normal(key, (n,))
    mask = jax.random.bernoulli(key, 0.5, (n,))
    return noise * mask
"""
ISSUE = Finding(
    id="1",
    rule="key-reused",
    family="random",
    severity="error",
    path="train.py",
    line=5,
    column=33,
    end_line=5,
    end_column=36,
    message="`key` is drawn from twice",
    current="`noise` and `mask` are made from the same random bits, so they are not independent",
    expected="each draw has a key of its own",
    why=(
        WhyStep("train.py", 3, "`key` comes in as a parameter"),
        WhyStep("train.py", 4, "`normal` draws from it first"),
    ),
    suggestion=Suggestion("split it first:\n    k1, k2 = jax.random.split(key)"),
)
WARNING = Finding("2", "same-key-in-loop", "random", "warning", "train.py", 4, 5, 4, 10, "maybe the same key")
COVERAGE = Coverage(12, 9, 1, 2, {"random": Tally(12, 9, 1, 2)}, 0, 1, 1234, 3, 2)
REPORT = Report(1, Tool("jaxaudit", "0"), issues=(ISSUE,), warnings=(WARNING,), coverage=COVERAGE)


def sources(path: str) -> SourceText:
    return SourceText(path, CODE if path == "train.py" else "")


def shown(report: Report, width: int = 80, get=sources, *, colour: bool = False, **options: bool) -> str:
    out = io.StringIO()
    environment = {"COLUMNS": str(width), "TERM": "xterm-256color"}
    console = Console(
        file=out, width=width, force_terminal=colour, legacy_windows=False, color_system="standard" if colour else None,
        _environ=environment,
    )  # fmt: skip
    print_report(report, get, console, **options)
    return out.getvalue()


def test_the_short_form():
    assert (
        shown(REPORT)
        == """\
train.py:5:33  error  key-reused
`key` is drawn from twice

  5 │ mask = jax.random.bernoulli(key, 0.5, (n,))
    │                             ━━━

  now:   `noise` and `mask` are made from the same random bits, so they are not
         independent
  meant: each draw has a key of its own
  why:   3 │ def sample(key, n):
           │ `key` comes in as a parameter
         4 │ noise = jax.random.normal(key, (n,))
           │ `normal` draws from it first
  fix:   split it first:
             k1, k2 = jax.random.split(key)

── Warnings ────────────────────────────────────────────────────────────────────
train.py:4:5  warning  same-key-in-loop
maybe the same key

  4 │ noise = jax.random.normal(key, (n,))
    │ ━━━━━

Found 1 error, 1 warning.
Read 1 file (1,234 lines), entered 2 of 3 functions; decided 10 of 12
obligations (83%), -v tells what is open.
"""
    )


def test_steps_in_other_files_name_them():
    steps = (WhyStep("b.py", 1, "made here"), WhyStep("b.py", 2, "used here"), WhyStep("train.py", 3, "comes in"))
    report = Report(
        1, Tool("jaxaudit", "0"), issues=(replace(ISSUE, why=steps, current="", expected="", suggestion=None),)
    )
    get = {"b.py": SourceText("b.py", "x = 1\nf(x)\n"), "train.py": sources("train.py")}
    assert """
  why:   b.py
         1 │ x = 1
           │ made here
         2 │ f(x)
           │ used here
         train.py
         3 │ def sample(key, n):
           │ comes in
""" in shown(report, get=get.__getitem__)


def test_a_narrow_terminal():
    lines = shown(REPORT, width=44).splitlines()
    assert max(len(line) for line in lines) <= 44
    assert lines[3:5] == ["  5 │ mask = jax.random.bernoulli(key, 0.5,…", "    │                             ━━━"]


def test_a_pipe_gets_whole_lines(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    render_text(REPORT, sources, out)
    assert "so they are not independent\n" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_quiet():
    assert shown(REPORT, quiet=True) == "train.py:5:33: error[key-reused] `key` is drawn from twice\n"


def test_nothing_found():
    report = Report(1, Tool("jaxaudit", "0"), coverage=Coverage(files=2, lines=1, functions=1, entered=1))
    assert shown(report, width=120) == (
        "No issues.\n"
        "Read 2 files (1 line), entered 1 of 1 function; found nothing that the rules of this run look at.\n"
    )


def test_what_a_large_program_leaves_out_is_said():
    report = Report(1, Tool("jaxaudit", "0"), coverage=Coverage(1, 1, unfollowed=1_200))
    said = "decided 1 of 1 obligation (100%). 1,200 calls were not followed: the program is too large to follow them"
    assert said in shown(report, width=200)


def test_suppressed_findings_are_counted():
    report = Report(1, Tool("jaxaudit", "0"), coverage=Coverage(1, 1, suppressed=2))
    assert shown(report, width=120).endswith("decided 1 of 1 obligation (100%); 2 findings suppressed.\n")


def test_all_sections():
    report = Report(
        1,
        Tool("jaxaudit", "0"),
        verified=(Verified("key-reused", "random", "train.py", 4, "`key` comes in fresh"),),
        unknown=tuple(Unknown("key-reused", "random", "train.py", line, "unresolved call of `f`") for line in range(5)),
        coverage=Coverage(
            6,
            1,
            0,
            5,
            {"random": Tally(6, 1, 0, 5)},
            0,
            1,
            6,
            2,
            1,
            (SkippedFunction("train.py", 3, "g", "a generator"),),
        ),
        not_available=("data_flow", "transformation_stack", "boundaries"),
    )
    assert (
        shown(report, verbose=True)
        == """\
── End-to-End Data Flow ────────────────────────────────────────────────────────
  needs exact shapes: use `run` or `trace`

── Transformation Stack ────────────────────────────────────────────────────────
  needs exact shapes: use `run` or `trace`

── Shape Trace at Boundaries ───────────────────────────────────────────────────
  needs exact shapes: use `run` or `trace`

── Issues Found ────────────────────────────────────────────────────────────────
  none

── Verified Correct ────────────────────────────────────────────────────────────
  key-reused  1
    train.py:4  `key` comes in fresh

── Warnings ────────────────────────────────────────────────────────────────────
  none

── Could Not Be Decided ────────────────────────────────────────────────────────
     5  key-reused  unresolved call of `f`
        train.py:0, train.py:1, train.py:2 and 2 more

── Coverage ────────────────────────────────────────────────────────────────────
  family         obligations    proved  violated   unknown
  random                   6         1         0         5

  functions not entered
     1  a generator
        train.py:3 g

No issues.
Read 1 file (6 lines), entered 1 of 2 functions; decided 1 of 6 obligations
(16%).
"""
    )


def test_the_user_s_text_is_shown_and_never_obeyed():
    nasty = "x = '\x1b[2J[red]\u202e' # [/red] [link=file:///]"
    issue = Finding("", "key-reused", "random", "error", "a.py", 1, 1, 1, 2, "[bold]\x1b[31m`\x07`[/nope]")
    text = shown(Report(1, Tool("jaxaudit", "0"), issues=(issue,)), 120, lambda path: SourceText(path, nasty))
    assert "x = '�[2J[red]�' # [/red] [link=file:///]" in text
    assert "[bold]�[31m`�`[/nope]" in text
    assert not set("\x1b\x07\u202e") & set(text)


def test_colours_set_apart_what_matters():
    lines = shown(REPORT, colour=True).splitlines()
    assert lines[0] == "\x1b[1mtrain.py:5:33\x1b[0m  \x1b[1;31merror\x1b[0m\x1b[2m  key-reused\x1b[0m"
    assert lines[1] == "\x1b[1;36m`key`\x1b[0m\x1b[1m is drawn from twice\x1b[0m"
    assert lines[3] == "  \x1b[2m5 │ \x1b[0mmask = jax.random.bernoulli(\x1b[1;31mkey\x1b[0m, 0.5, (n,))"
    assert lines[8] == "\x1b[2m  meant: \x1b[0meach draw has a key of its own"
    assert lines[9] == "\x1b[2m  why:   \x1b[0m\x1b[2m3 │ \x1b[0mdef sample(key, n):"


def test_no_colour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = io.StringIO()
    render_text(REPORT, sources, out)
    assert "31m" not in out.getvalue()


def lines_of(text: str, marked: Marked, look: Look) -> list[str]:
    return [line.plain.rstrip() for line in snippet(SourceText("a.py", text), marked, look, "red", indent=0)]


@pytest.mark.parametrize(
    ("text", "marked", "expected"),
    [
        ("x = f(key)", Marked(1, 5, 1, 11), ["1 │ x = f(key)", "  │     ━━━━━━"]),
        ("    x = 1", Marked(1, 5, 1, 6), ["1 │ x = 1", "  │ ━"]),
        ("\tx =\tf(k)", Marked(1, 6, 1, 10), ["1 │ x = f(k)", "  │     ━━━━"]),
        ("日 = f(k)", Marked(1, 5, 1, 9), ["1 │ 日 = f(k)", "  │      ━━━━"]),
        ("x", Marked(1, 9, 1, 9), ["1 │ x", "  │  ━"]),
        ("", Marked(7, 1, 7, 1), ["7 │", "  │ ━"]),
        ("f(\n  1,\n)", Marked(1, 1, 3, 2), ["1 │ f(", "  │ ━━", "2 │   1,", "  │   ━━", "3 │ )", "  │ ━"]),
        (
            "f(" + "\n  1," * 6 + ")",
            Marked(1, 1, 7, 6),
            ["1 │ f(", "  │ ━━", "2 │   1,", "  │   ━━", "  │ …", "7 │   1,)", "  │   ━━━"],
        ),
    ],
)
def test_snippets(text, marked, expected):
    assert lines_of(text, marked, Look(80)) == expected


def test_a_long_line_is_cropped_around_the_mark():
    text = "a" * 60 + "BCD" + "e" * 60
    assert lines_of(text, Marked(1, 61, 1, 64), Look(44)) == [
        "1 │ …aaaaaaaaaBCDeeeeeeeeeeeeeeeeeeeeeeeeee…",
        "  │           ━━━",
    ]


def test_without_unicode():
    assert lines_of("x = f(k)" + " + 1" * 20, Marked(1, 5, 1, 9), Look(40, unicode=False)) == [
        "1 | x = f(k) + 1 + 1 + 1 + 1 + 1 + 1 ...",
        "  |     ^^^^",
    ]


def test_clean_keeps_columns():
    assert clean("a\x00b\u200dc\td") == "a�b�c\td"
