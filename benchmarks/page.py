"""Measures how long the HTML report of a large program takes to appear and to answer.

    python benchmarks/page.py [--layers 126] [--steps 100000] [--chromium PATH] [--keep FILE]

The first report is that of the training step of `llama.py`, unrolled: 405 billion parameters in 126 layers, traced and
never computed. Its layers share one body, which makes it small; the second report is made up, with `--steps` steps that
share nothing. Times are those of the browser itself, from the opening of the file on disk; nothing asserts them. They
differ from machine to machine, so the processor time of a fixed loop in the same page is printed beside them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))


def write_report(layers: int, file: Path) -> dict[str, int]:
    """Trace the step and write its report; give how large it is."""
    import llama

    from jaxaudit.observation.audit import audit_call
    from jaxaudit.reports.html.page import render_html

    config = llama.Config(layers=layers)
    outcome = audit_call(llama.train_step(config), llama.arguments(config, scanned=False), {}, {})
    with file.open("w", encoding="utf-8") as out:
        started = time.process_time()
        render_html(outcome.report, outcome.sources, out)
    report = outcome.report
    print(f"rendering        {time.process_time() - started:8.2f} s of processor time")
    return {"steps": len(report.data_flow), "axes": len(report.axes), "bytes": file.stat().st_size}


def write_made_up(steps: int, file: Path) -> dict[str, int]:
    """Write a report with a flow of so many steps, in functions of 160 steps each."""
    from jaxaudit.reports.html.page import render_html
    from jaxaudit.reports.model import FlowStep, FlowValue, Report, Tool
    from jaxaudit.spans import SourceText

    inside = 160
    flow = [FlowStep("step", "step", 0, "a.py", 1, "enter", "arguments", (), (FlowValue("x", "f32[16,8192]", 1, 0),))]
    for number in range(1, steps):
        call = number - (number - 1) % (inside + 1)
        made = (FlowValue(f"h{number % 97}", "f32[16,8192]", 1, number),)
        if call == number:
            last = max(0, number - inside - 1)
            entered = (FlowValue("x", "f32[16,8192]", 1, steps + number),)
            flow.append(
                FlowStep(
                    "step", "step", 1, "a.py", 2, "py.call", "block", ("x",), made, 1, number, None, 0, (last,), entered
                )
            )
        else:
            before = number - 1 if number - 1 != call else steps + call
            place = ("step", "block", 2, "a.py", 3 + number % 40, "array.dot", "dot_general, add", ("x",))
            flow.append(FlowStep(*place, made, 2, number, call, 0, (before,)))
    text = "".join(f"line {number}\n" for number in range(60))
    with file.open("w", encoding="utf-8") as out:
        render_html(Report(1, Tool("jaxaudit", "0"), data_flow=tuple(flow)), lambda path: SourceText(path, text), out)
    return {"steps": len(flow), "bytes": file.stat().st_size}


def seconds(work: Callable[[], object]) -> float:
    """Return how long something takes as somebody who waits for it sees it."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(file: Path, chromium: str, word: str) -> dict[str, float]:
    """Open the report and use it as people do; `word` is what they search for."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(300_000)
        page.goto("about:blank")
        opened = seconds(lambda: page.goto(f"file://{file}#issues", wait_until="commit"))
        found = {"file opened": opened}
        found["first paint"] = opened + seconds(lambda: page.locator(".top").wait_for())
        paint = page.locator("html").evaluate(_PAINT)
        found["first contentful paint (browser)"] = paint / 1000
        found["flow and source unpacked"] = page.locator("main[data-ready=yes]").evaluate(_NOW) / 1000
        found.update(_used(page, word))
        found["a fixed loop, for comparison"] = page.locator("html").evaluate(_LOOP) / 1000
        browser.close()
    return found


_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_NOW = "() => performance.now()"
_LOOP = """() => {
  const started = performance.now(); let sum = 0;
  for (let at = 0; at < 3e7; at++) sum += at % 7;
  return performance.now() - started;
}"""
_FRAMES = """list => new Promise(done => {
  const gaps = []; let last = performance.now(), left = 60;
  const turn = () => {
    const now = performance.now(); gaps.push(now - last); last = now; list.scrollTop += 600;
    left-- ? requestAnimationFrame(turn) : done(gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.95)]);
  };
  requestAnimationFrame(turn);
})"""


def _used(page: Any, word: str) -> dict[str, float]:
    def flow() -> None:
        page.keyboard.press("3")
        page.locator(".leaf").first.wait_for()

    def opened() -> None:
        before = page.locator(".leaf").count()
        page.locator(".leaf-box, .leaf-group").first.click()
        while page.locator(".leaf").count() == before:
            page.wait_for_timeout(5)

    def table() -> None:
        page.get_by_role("button", name="table", exact=True).click()
        page.locator(".flow-row").first.wait_for()

    def searched() -> None:
        page.locator("#search").fill(word)
        page.locator(".hits li").first.wait_for()

    found = {"graph drawn": seconds(flow), "box opened": seconds(opened), "table shown": seconds(table)}
    frames = page.locator(".flow-table .list").evaluate(_FRAMES)
    found["slowest of 20 frames, scrolling"] = frames / 1000
    return {**found, "search answered": seconds(searched)}


def main() -> None:
    """Print how large the report is and how long each act takes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", type=int, default=126)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "")
    parser.add_argument("--keep", type=Path, help="Keep the report in this file.")
    given = parser.parse_args()
    if not given.chromium:
        parser.error("there is no Chromium: apt-get install chromium, or name one with --chromium")
    with TemporaryDirectory() as folder:
        file = (given.keep or Path(folder, "report.html")).absolute()
        made_up = Path(folder, "made-up.html")
        written = (
            (file, write_report(given.layers, file), "attention"),
            (made_up, write_made_up(given.steps, made_up), "block"),
        )
        for report, sizes, word in written:
            for name, size in sizes.items():
                print(f"{name:<16} {size:>10,}")
            for name, took in measure(report, given.chromium, word).items():
                print(f"{name:<34} {took:8.3f} s")
            print()


if __name__ == "__main__":
    main()
