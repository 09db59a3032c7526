"""A small report with all that the page can show, hostile names included."""

from pathlib import Path

from jaxaudit.reports.html.page import render_html
from jaxaudit.reports.model import (
    Axis,
    AxisStation,
    Boundary,
    Coverage,
    Crossing,
    Finding,
    FlowStep,
    FlowValue,
    Report,
    SkippedFunction,
    Suggestion,
    Tally,
    Target,
    Tool,
    Transformation,
    Unknown,
    Verified,
    WhyStep,
)
from jaxaudit.spans import SourceText

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e"
SHOWN = HOSTILE.replace("\u202e", "\ufffd")
LONG = "y = '" + "z" * 10_000 + "'"
SOURCE = f"""import jax
def step(x, key):
    h = x * 2
    ys = jax.vmap(inner)(h)
    return ys.sum(0)
def inner(row):
    return row + 1  # {HOSTILE}
{LONG}
""" + "".join(f"filler_{number} = {number}\n" for number in range(400))

PATH = "step.py"
ENVS, OBS = "step/NUM_ENVS", "step/OBS"


def value(number: int, name: str, kind: str, axes: tuple[str, ...] = ()) -> FlowValue:
    return FlowValue(name, kind, 1, number, axes)


def flow() -> tuple[FlowStep, ...]:
    x = value(1, "x", "f32[8,4]", (ENVS, OBS))
    h = value(2, "h", "f32[8,4]", (ENVS, OBS))
    ys = value(3, HOSTILE, "f32[8,4]", (ENVS, OBS))
    row, out = value(4, "row", "f32[4]", (OBS,)), value(5, "inner_out", "f32[4]", (OBS,))
    total = value(6, "total", "f32[4]", (OBS,))
    return (
        FlowStep("step", "step", 0, PATH, 2, "enter", "arguments", (), (x,)),
        FlowStep("step", "step", 1, PATH, 3, "array.map", "multiply", ("x",), (h,), id=1, reads=(1,)),
        FlowStep(
            "step", "step", 1, PATH, 4, "vmap", "inner", ("h",), (ys,), id=2, reads=(2,), enters=(row,), leaves=(5,)
        ),
        FlowStep("step", "inner", 2, PATH, 7, "array.map", "add", ("row",), (out,), id=3, parent=2, reads=(4,)),
        FlowStep("step", "step", 1, PATH, 5, "array.reduce", "sum", (HOSTILE,), (total,), id=4, reads=(3,)),
        FlowStep("step", "step", 0, PATH, 2, "leave", "results", ("total",), (), id=5, reads=(6,)),
    )


def finding(number: int, severity: str, rule: str, message: str) -> Finding:
    return Finding(
        f"{number:04x}", rule, "random", severity, PATH, 4, 10, 4, 25, message, "now this", "that was meant",
        (WhyStep(PATH, 3, "`h` is made here"), WhyStep(PATH, 7, f"and `{HOSTILE}` here")), Suggestion("write `split`"),
    )  # fmt: skip


def axes() -> tuple[Axis, ...]:
    def station(kind: str, line: int, step: int | None) -> AxisStation:
        return AxisStation(kind, PATH, line, f"{kind} in `{HOSTILE}`", step=step)

    return (
        Axis(
            ENVS, "NUM_ENVS", 8, "step", "argument x, axis 0", "constant",
            stations=(station("enters", 2, 0), station("vmapped", 4, 2), station("collected", 4, 2), station("reduced", 5, 4)),
        ),
        Axis(
            OBS, "OBS", 4, "step", "argument x, axis 1", "constant",
            stations=(station("enters", 2, 0), station("returned", 2, None)),
        ),
    )  # fmt: skip


def sample(filler: int = 0) -> Report:
    """Return the report, with any number of further verified obligations."""
    verified = tuple(
        Verified("key-reused", "random", PATH, 1 + number % 7, f"fresh {number}") for number in range(filler)
    )
    return Report(
        1,
        Tool("jaxaudit", "0"),
        (Target(PATH, "source"), Target(HOSTILE, "source")),
        flow(),
        (
            Transformation(0, None, 0, "step", "jit", "step", PATH, 2, "jaxpr"),
            Transformation(1, 0, 1, "step", "vmap", HOSTILE, PATH, 4, "jaxpr", {"in_axes": "(0,)"}),
        ),
        (
            Boundary(
                "step", "vmap", "inner", PATH, 4,
                (Crossing("row", "f32[8,4]", "f32[4]", "mapped over axis 0", (ENVS, OBS), (OBS,)),),
                (Crossing(HOSTILE, "f32[8,4]", "f32[4]", "collected along axis 0", (ENVS, OBS), (OBS,)),),
            ),
        ),
        axes=axes(),
        issues=(finding(1, "error", "key-reused", "`key` is used again"), finding(2, "performance", "unrolled-loop", HOSTILE)),
        warnings=(finding(3, "warning", "bare-squeeze", "`squeeze` takes every axis"),),
        verified=(Verified("axis-conflict", "axes", PATH, 3, f"`{HOSTILE}` fits"), *verified),
        unknown=(Unknown("axis-conflict", "axes", PATH, 5, "the shape of `x` is not known"),),
        coverage=Coverage(
            4, 1, 2, 1, {"random": Tally(2, 0, 2, 0), "axes": Tally(2, 1, 0, 1)}, files=2, lines=9, functions=3, entered=2,
            skipped=(SkippedFunction(PATH, 6, HOSTILE, "nothing calls it"),), traced=1,
        ),
    )  # fmt: skip


def write_page(report: Report, file: Path) -> Path:
    with file.open("w", encoding="utf-8") as out:
        render_html(report, lambda path: SourceText(path, SOURCE if path == PATH else ""), out)
    return file
