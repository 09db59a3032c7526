"""The source of the HTML report's page: built as committed, well typed, and its logic tested. Needs node."""

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parent.parent / "web"
NODE = shutil.which("node")


def major() -> int:
    if NODE is None:
        return 0
    said = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=False).stdout
    return int(said.removeprefix("v").partition(".")[0] or 0)


pytestmark = [
    pytest.mark.skipif(major() < 20, reason="the page is not rebuilt: that needs node 20 or newer"),
    pytest.mark.skipif(
        not (WEB / "node_modules" / "esbuild").is_dir(),
        reason="the page is not rebuilt: run `npm install --no-package-lock` in web/",
    ),
]


def node(*arguments: str) -> None:
    done = subprocess.run([NODE, *arguments], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_committed_page_is_what_its_source_builds():
    node("build.mjs", "--check")


def test_the_source_is_well_typed():
    node("node_modules/typescript/bin/tsc", "--noEmit")


def test_the_logic_of_the_page():
    node("node_modules/vitest/vitest.mjs", "run")
