"""Scores what readers answered: bugs found, false findings, characters read and time, one row a reader.

    python -m benchmarks.agents.score KEY.json ANSWERS.json...

README.md shows the form of an answer file. A finding counts where its line is within two of a line of the mistake.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NEAR = 2
"""So far may the line that a reader names be from one of the mistake."""

NO_BUG = "no bug"


class MalformedError(Exception):
    """A file does not have the form that it should."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place that a reader points at."""

    line: int
    path: str = ""


@dataclass(slots=True)
class Score:
    """How one reader did."""

    reader: str
    found: set[str] = field(default_factory=set)
    missed: set[str] = field(default_factory=set)
    """The reader said something else, or that there is none."""
    false_on_wrong: int = 0
    """Findings elsewhere in a program that has a mistake."""
    false_on_right: int = 0
    unanswered: set[str] = field(default_factory=set)
    characters: int | None = None
    seconds: float | None = None


Programs = Mapping[str, Mapping[str, object]]


def scored(key: Programs, answers: Mapping[str, object]) -> Score:
    """Score one answer file."""
    said = answers.get("answers")
    if not isinstance(said, dict):
        raise MalformedError("there is no `answers`")
    places = {str(name): list(_places(str(name), one)) for name, one in said.items()}
    if strangers := places.keys() - key.keys() - {_whole(name) for name in key}:
        raise MalformedError(f"there is no program `{min(strangers)}`")
    score = Score(str(answers.get("reader", "?")))
    score.characters, score.seconds = _number(answers.get("characters")), _number(answers.get("seconds"))
    hit: set[tuple[str, Place]] = set()
    for name, row in key.items():
        asked = name if name in places else _whole(name)
        if asked not in places:
            score.unanswered.add(name)
            continue
        if row["lines"]:
            right = [one for one in places[asked] if _is_near(one, row)]
            (score.found if right else score.missed).add(name)
            hit |= {(asked, one) for one in right}
    wrong = {_whole(name) for name, row in key.items() if row["lines"]}
    for name, found in places.items():
        false = sum((name, one) not in hit for one in found)
        if _whole(name) in wrong:
            score.false_on_wrong += false
        else:
            score.false_on_right += false
    return score


def _whole(name: str) -> str:
    """Return the project that a mistake is one of several in."""
    return name.partition("#")[0]


def _is_near(place: Place, row: Mapping[str, object]) -> bool:
    lines, path = row["lines"], row.get("path", place.path)
    assert isinstance(lines, list)
    return place.path == path and any(abs(place.line - line) <= NEAR for line in lines)


def _places(name: str, answer: object) -> Iterator[Place]:
    if answer == NO_BUG:
        return
    for one in answer if isinstance(answer, list) else [answer]:
        line = one.get("line") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(line, int):
            raise MalformedError(f'the answer for `{name}` is neither "{NO_BUG}" nor a line and a sentence')
        yield Place(line, str(one.get("path", "")))


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def table(key: Programs, scores: Sequence[Score]) -> Iterator[str]:
    """Write the scores as Markdown, then who alone found what."""
    wrong = [name for name, row in key.items() if row["lines"]]
    yield "| reader | bugs found | false, beside a bug | false, in correct ones | unanswered | characters | seconds |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for one in scores:
        shown = ("-" if number is None else f"{number:,.0f}" for number in (one.characters, one.seconds))
        found, false = f"{len(one.found)} of {len(wrong)}", f"{one.false_on_wrong} | {one.false_on_right}"
        yield f"| {one.reader} | {found} | {false} | {len(one.unanswered)} | {' | '.join(shown)} |"
    for one in scores if len(scores) > 1 else ():
        others = set[str]().union(*(other.found for other in scores if other is not one))
        yield ""
        yield f"{one.reader} alone found: {_listed(key, one.found - others)}"
    everyone = set[str]().union(*(one.found for one in scores))
    yield ""
    yield f"nobody found: {_listed(key, set(wrong) - everyone)}"


def _listed(key: Programs, names: set[str]) -> str:
    return ", ".join(f"{name} ({key[name]['kind']})" for name in sorted(names)) or "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for some answer files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("key", type=Path)
    parser.add_argument("answers", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    scores: list[Score] = []
    key: Programs = {}
    for path in (options.key, *options.answers):
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            if path is options.key:
                key = read["programs"]
            else:
                scores.append(scored(key, read))
        except (OSError, ValueError, LookupError, TypeError, MalformedError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
    print(*table(key, scores), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
