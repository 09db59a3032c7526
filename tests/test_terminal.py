"""What a terminal shows: lines that fit, trees, axes drawn as lines, and progress only where somebody watches."""

import io
import time

import pytest
from page_sample import sample
from rich.console import Console
from rich.text import Text

from jaxaudit import progress
from jaxaudit.reports.formats.text import fitted, print_report
from jaxaudit.reports.model import Axis, AxisStation, Boundary, Crossing, Report, Tool, Transformation
from jaxaudit.reports.sections_axes import axes_section
from jaxaudit.reports.sections_flow import boundary_section, branches, stack_section
from jaxaudit.reports.snippet import Look
from jaxaudit.spans import SourceText
from jaxaudit.surfaces.progress_bar import progress_shown, wanted

CONSOLE = Console(file=io.StringIO(), width=40, _environ={})


def plain(lines) -> list[str]:
    return [line.plain.rstrip() for line in lines]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("short", ["short"]),
        ("      12  one two three four five six seven eight", ["      12  one two three four five six", "          seven eight"]),
        ("    in  row  f32[8,4] → f32[4]  mapped over axis 0", ["    in  row  f32[8,4] → f32[4]  mapped", "             over axis 0"]),
        ("  │  └─ vmap  step  train.py:134  in_axes=(0, 0, 0)", ["  │  └─ vmap  step  train.py:134", "        in_axes=(0, 0, 0)"]),
        ("word " * 12, ["word word word word word word word word", "word word word word"]),
    ],
)  # fmt: skip
def test_long_lines_break_between_words(line, told):
    assert plain(fitted(Text(line), 40, CONSOLE)) == told


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_every_line_fits_the_terminal(width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, legacy_windows=False, _environ={})
    print_report(sample(filler=5), lambda path: SourceText(path, ""), console, verbose=True)
    long = [line for line in out.getvalue().splitlines() if len(line) > width and " " in line.strip()]
    assert long == []


def row(number: int, depth: int, name: str) -> Transformation:
    return Transformation(number, None, depth, "f", name, "f", "a.py", 1, "jaxpr")


ROWS = [row(0, 0, "jit"), row(1, 1, "scan"), row(2, 2, "vmap"), row(3, 1, "grad"), row(4, 0, "vmap")]


def test_the_stack_is_a_tree():
    report = Report(1, Tool("jaxaudit", "0"), transformation_stack=tuple(ROWS))
    assert plain(stack_section(report, Look(80))) == [
        "  jit  f  a.py:1",
        "  ├─ scan  f  a.py:1",
        "  │  └─ vmap  f  a.py:1",
        "  └─ grad  f  a.py:1",
        "  vmap  f  a.py:1",
        "",
    ]
    assert [one.guide for one in branches(ROWS, Look(80, unicode=False))] == ["", "|- ", "|  `- ", "`- ", ""]


def test_an_axis_is_a_line_that_goes_underground():
    def station(kind: str, line: int, *, backward: bool = False) -> AxisStation:
        return AxisStation(kind, "a.py", line, kind, backward=backward)

    stations = (station("enters", 1), station("vmapped", 2), station("collected", 2), station("reduced", 9))
    axes = (
        Axis("f/a", "envs", 8, "f", "argument x, axis 0", "constant", stations=stations),
        Axis("f/b", "time", 128, "f", "argument x, axis 1", "constant", stations=(station("scanned", 3), station("made", 4, backward=True))),
    )  # fmt: skip
    report = Report(1, Tool("jaxaudit", "0"), axes=axes)
    assert plain(axes_section(report, Look(80))) == [
        "  f",
        "    envs 8    ○ enters 1 ─ ▼ vmapped 2 ┄ ▲ collected 2 ─ ┤ reduced 9",
        "    time 128  ■ scanned 3",
        "",
    ]
    assert (
        plain(axes_section(report, Look(80, unicode=False)))[1]
        == "    envs 8    o enters 1 - v vmapped 2 . ^ collected 2 - | reduced 9"
    )


def test_a_narrow_terminal_gets_boundaries_without_columns():
    entries = (
        Crossing("x", "f32[128,64]", "f32[64]", "mapped over axis 0"),
        Crossing("k", "key[]", "key[]", "carried"),
    )
    report = Report(1, Tool("jaxaudit", "0"), boundaries=(Boundary("f", "vmap", "f", "a.py", 1, entries),))
    assert plain(boundary_section(report, Look(120)))[1:3] == [
        "    in  x  f32[128,64] → f32[64]  mapped over axis 0",
        "    in  k  key[]                  carried",
    ]
    assert plain(boundary_section(report, Look(40)))[2] == "    in  k  key[]  carried"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_only_where_somebody_watches():
    assert wanted(Terminal(), {"TERM": "xterm"})
    assert not wanted(io.StringIO(), {})
    assert not wanted(Terminal(), {"CI": "true"})
    assert not wanted(Terminal(), {"TERM": "dumb"})


@pytest.mark.parametrize("quiet", [False, True])
def test_long_work_is_told_of(monkeypatch, quiet):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with progress_shown(quiet=quiet, stream=stream, patience=0):
        progress.tell("reading [bold]files", 3, 10)
        deadline = time.monotonic() + 5
        while not quiet and "reading" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert ("reading [bold]files" in stream.getvalue()) is not quiet


def test_short_work_says_nothing(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    stream = Terminal()
    with progress_shown(quiet=False, stream=stream, patience=60):
        progress.tell("reading files", 3, 10)
    assert "reading" not in stream.getvalue()


def test_nobody_listens_by_default():
    progress.tell("nothing happens")
    heard: list[tuple[str, int, int]] = []
    with progress.listening(lambda *told: heard.append(told)):
        progress.tell("here", 1, 2)
    progress.tell("no more")
    assert heard == [("here", 1, 2)]
