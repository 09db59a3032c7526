"""Takes the pictures of `docs/images` anew: the HTML reports of the examples, in headless Chromium.

python docs/pictures.py [--chromium PATH]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
COMMANDS = {
    "ppo": ("trace", "ppo.py:make_train(CONFIG)", "--arg", "rng=key"),
    "transformer": (
        "trace", "transformer.py:train_step", "--arg", "state==init_state(key)",
        "--arg", "tokens=i32[batch=8,time=32]", "--arg", "dropout_key=key",
    ),
    "vae": ("check", "dropout_vae.py", "--exit-zero"),
}  # fmt: skip


class Picture(NamedTuple):
    """One picture: the report, the address in it, and how it is looked at."""

    name: str
    report: str
    address: str
    dark: bool = False
    line: int = 0
    """The line of the step of the flow to choose; 0 where none is."""


PICTURES = (
    Picture("ppo-flow", "ppo", "flow"),
    Picture("ppo-flow-step-dark", "ppo", "flow", dark=True, line=129),
    Picture("ppo-axes", "ppo", "axes"),
    Picture("ppo-axes-dark", "ppo", "axes", dark=True),
    Picture("ppo-axis", "ppo", "axis-train/NUM_ENVS"),
    Picture("ppo-source", "ppo", "source"),
    Picture("ppo-boundaries", "ppo", "boundaries"),
    Picture("ppo-issues", "ppo", "issues"),
    Picture("ppo-verified", "ppo", "verified"),
    Picture("ppo-coverage-dark", "ppo", "coverage", dark=True),
    Picture("transformer-flow", "transformer", "flow"),
    Picture("transformer-flow-step-dark", "transformer", "flow", dark=True, line=59),
    Picture("transformer-axes", "transformer", "axes"),
    Picture("transformer-source", "transformer", "source"),
    Picture("transformer-boundaries", "transformer", "boundaries"),
    Picture("transformer-verified", "transformer", "verified"),
    Picture("transformer-coverage", "transformer", "coverage"),
    Picture("vae-issues", "vae", "issues"),
)


def audit(name: str, kind: str, folder: Path) -> Path:
    """Write the report of an example."""
    file = folder / f"{name}.{kind}"
    command = [sys.executable, "-m", "jaxaudit", *COMMANDS[name], "--format", kind, "--output", str(file)]
    subprocess.run(command, cwd=EXAMPLES, check=True)
    return file


def address(picture: Picture, folder: Path) -> str:
    """Give the address of a picture, with the first step on its line where one is to be chosen."""
    if not picture.line:
        return picture.address
    steps = json.loads(audit(picture.report, "json", folder).read_text(encoding="utf-8"))["data_flow"]
    return f"{picture.address}-0-{next(step['id'] for step in steps if step['line'] == picture.line)}"


def take(picture: Picture, page: Any, folder: Path) -> None:
    """Open a report at its address, and keep what is seen."""
    page.emulate_media(color_scheme="dark" if picture.dark else "light", reduced_motion="reduce")
    page.goto("about:blank")
    page.goto(f"{(folder / picture.report).with_suffix('.html').as_uri()}#{address(picture, folder)}")
    page.wait_for_timeout(2500)
    page.screenshot(path=HERE / "images" / f"{picture.name}.png")


def main() -> None:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser; that of the path by default")
    options = parser.parse_args()
    with TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(made)
        for name in COMMANDS:
            audit(name, "html", folder)
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for picture in PICTURES:
            take(picture, page, folder)
        browser.close()


if __name__ == "__main__":
    main()
