"""Takes the pictures of `report.md` anew: `python docs/screenshots.py` (needs Chromium, playwright, and jax for `run`).

With Pillow installed the pictures are stored with few colours, which makes them a third as large.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
TOKENS = "tokens=i32[batch=8,time=32]"
REPORTS: dict[str, Sequence[str]] = {
    "ppo": ("run", "ppo.py"),
    "transformer": (
        *("trace", "transformer.py:train_step", "--arg", "state==init_state(key)"),
        *("--arg", TOKENS, "--arg", "dropout_key=key"),
    ),
    "vae": ("check", "dropout_vae.py"),
}
SHOTS: tuple[tuple[str, str, str], ...] = (
    ("ppo", "light", "issues flow axes axis-train%2FNUM_ENVS source-ppo.py:128 boundaries verified"),
    ("ppo", "dark", "flow-0-20 axes coverage warnings"),
    ("transformer", "light", "flow axes source-transformer.py:60 boundaries verified coverage issues"),
    ("transformer", "dark", "flow-0-20 source-transformer.py:60"),
    ("vae", "light", "issues"),
)


def written(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the reports of the examples."""
    for name, (command, target, *rest) in REPORTS.items():
        file = folder / f"{name}.html"
        options = ("--format", "html", "--output", str(file), "--exit-zero")
        line = [sys.executable, "-m", "jaxaudit", command, *options, target, *rest]
        subprocess.run(line, cwd=EXAMPLES, check=True, stdout=subprocess.DEVNULL)
        yield name, file


def shoot(browser: Any, file: Path, name: str, theme: str, views: Sequence[str]) -> None:
    """Take the pictures of one report in one theme."""
    page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme=theme)
    for view in views:
        page.goto(f"file://{file}#{view}")
        page.locator("main[data-ready=yes]").wait_for()
        if view.startswith("flow"):
            page.locator(".leaf").first.wait_for()
        page.wait_for_timeout(500)
        short = view.partition("-")[0] + ("-step" if view.startswith("flow-") else "")
        picture = DOCS / "images" / f"{name}-{short}{'-dark' if theme == 'dark' else ''}.png"
        page.screenshot(path=picture)
        squeeze(picture)
    page.close()


def squeeze(picture: Path) -> None:
    """Store a picture with few colours."""
    if find_spec("PIL"):
        from PIL import Image

        Image.open(picture).convert("RGB").quantize(200, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    """Write the reports and take all pictures."""
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        files = dict(written(Path(folder)))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, theme, views in SHOTS:
            shoot(browser, files[name], name, theme, views.split())


if __name__ == "__main__":
    main()
