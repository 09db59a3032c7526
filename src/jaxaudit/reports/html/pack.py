"""Packs records into columns: equal strings are kept once, and a column of one value is one value.

A report of a large program holds the same few hundred paths, functions and types a hundred thousand times. The page
unpacks the columns (`web/src/data/unpack.ts`); both sides know only this file's form, not which fields there are, so a
new field of the model reaches the page by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

Record = Mapping[str, object]


class Strings:
    """The table of strings that all columns of a block share."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the place of a text in the table, and put it there when it is new."""
        return self.numbers.setdefault(text, len(self.numbers))

    def table(self) -> list[str]:
        """Return the texts in order."""
        return list(self.numbers)


def pack(records: Sequence[Record], strings: Strings) -> dict[str, object]:
    """Turn records into columns: `same` (one value for all), `text` (numbers of strings) and `plain`."""
    packed: dict[str, object] = {"length": len(records)}
    same: dict[str, object] = {}
    text: dict[str, list[int]] = {}
    plain: dict[str, list[object]] = {}
    for key in dict.fromkeys(key for record in records for key in record):
        column = [record.get(key) for record in records]
        first = column[0]
        if all(one == first and type(one) is type(first) for one in column):
            same[key] = first
        elif all(isinstance(one, str) for one in column):
            text[key] = [strings.number(str(one)) for one in column]
        else:
            plain[key] = column
    return {**packed, "same": same, "text": text, "plain": plain}


def pack_flow(steps: Sequence[Record], strings: Strings) -> dict[str, object]:
    """Pack the data flow: steps without their values, then all values in the order of the steps.

    `makes` and `enters` of a step become how many of the next values are its own.
    """
    values: list[Record] = []
    rows: list[Record] = []
    for step in steps:
        makes, enters = _values(step, "makes"), _values(step, "enters")
        values += makes
        values += enters
        kept = {key: value for key, value in step.items() if key not in ("makes", "enters", "takes")}
        # The names of what a step takes are the names of the values it reads.
        if not step.get("reads"):
            kept["takes"] = step.get("takes", [])
        rows.append({**kept, "makes": len(makes), "enters": len(enters)})
    return {"steps": pack(rows, strings), "values": pack(values, strings)}


def _values(step: Record, key: str) -> list[Record]:
    return list(cast("Sequence[Record]", step.get(key) or ()))
