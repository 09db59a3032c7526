"""Pairs of programs as users write them: a correct one, and the same with one mistake.

A program says in its first line which rule must find its mistake. A line `good  #~ bad` is replaced by its second part
to make the mistake, and left out where that is empty; a comment `#~ bad` on a line of its own is put in. Marks say what
is found in the program with the mistake. In the correct one that rule finds nothing, nor does any other find an error.
"""

import re
from pathlib import Path

import pytest
from rules.programs import marked, said

PAIRS = sorted((Path(__file__).parents[1] / "data" / "pairs").glob("*.py"))
CHANGED = re.compile(r"^(?P<indent>\s*)(?P<good>.*?)\s*#~ ?(?P<bad>.*)$")


def versions(text: str) -> tuple[str, str]:
    """Return the correct program, and the one with the mistake."""
    good: list[str] = []
    bad: list[str] = []
    for line in text.splitlines()[1:]:
        change = CHANGED.match(line)
        if change is None:
            good.append(line)
            bad.append(line)
        else:
            good.extend([change["indent"] + change["good"]] if change["good"] else [])
            bad.extend([change["indent"] + change["bad"]] if change["bad"] else [])
    return "\n".join([*good, ""]), "\n".join([*bad, ""])


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_only_the_mistake_is_found(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    good, bad = versions(text)
    rule = text.removeprefix("# ").partition(":")[0]
    assert rule in {found for _, found, _ in marked(bad)}
    assert said(bad, header="") == marked(bad)
    assert said(good, header="") == [one for one in marked(good) if one[2] == "warning" and one[1] != rule]
