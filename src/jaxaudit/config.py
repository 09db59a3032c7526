"""What the user asked for: `[tool.jaxaudit]` of the nearest pyproject.toml as one frozen `Config`.

Whatever is wrong with it is said in one sentence by a `UsageError`; nothing is skipped and no default is put in its
place.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxaudit.switches import switched_on


class UsageError(Exception):
    """A request that cannot be carried out, told in one sentence: exit code 2, never a traceback."""


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of one audit."""

    root: Path = field(default_factory=Path)
    """The directory that patterns are relative to: where pyproject.toml is, else the current one."""
    select: tuple[str, ...] = ()
    """Rules and families to run; empty means all of them."""
    ignore: tuple[str, ...] = ()
    """Rules and families to leave out."""
    exclude: tuple[str, ...] = ()
    """Files to leave out, as patterns of .gitignore."""
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Rules and families to leave out in the files of a pattern."""
    strict: bool = False
    """Warnings and unknowns fail the audit too."""
    targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Argument specs of functions to trace, by target and parameter."""
    switches: tuple[str, ...] = ()
    """The switches of JAX that scripts of the project turn on."""

    def target_specs(self, target: str) -> Mapping[str, str]:
        """Return the specs of a target, which may be named in full or by its function alone."""
        return self.targets.get(target) or self.targets.get(target.rpartition(":")[2], {})

    def runs(self, rule: str, family: str) -> bool:
        """Whether a rule is wanted: its own name beats its family's, and `ignore` beats `select`."""
        if rule in self.ignore or rule in self.select:
            return rule not in self.ignore
        if family in self.ignore:
            return False
        return not self.select or family in self.select

    def names(self) -> Iterator[tuple[str, str]]:
        """Return every rule or family that is named, with the setting that names it."""
        yield from (("select", name) for name in self.select)
        yield from (("ignore", name) for name in self.ignore)
        yield from (("per-file-ignores", name) for _, names in self.per_file_ignores for name in names)

    def with_options(self, select: tuple[str, ...], ignore: tuple[str, ...], *, strict: bool) -> Config:
        """Add what the command line says: its `select` replaces ours, its `ignore` and `strict` come on top."""
        return replace(self, select=select or self.select, ignore=(*self.ignore, *ignore), strict=self.strict or strict)


KEYS = ("select", "ignore", "exclude", "per-file-ignores", "strict", "targets")


def find_config(start: Path) -> Config:
    """Read the nearest pyproject.toml with a `[tool.jaxaudit]`, from a directory up to the top of its repository."""
    for directory in (start, *start.parents):
        file = directory / "pyproject.toml"
        # `os.path` does not raise below a folder that cannot be looked into.
        table = _table(file) if os.path.isfile(file) else None  # noqa: PTH113
        if table is not None:
            return replace(parse_config(table, file), switches=switched_on(start))
        if os.path.exists(directory / ".git"):  # noqa: PTH110
            break
    return Config(root=start, switches=switched_on(start))


def parse_config(table: Mapping[str, object], file: Path) -> Config:
    """Check every key of the table and turn it into a `Config`."""
    for key in table:
        if key not in KEYS:
            raise UsageError(f"{file}: [tool.jaxaudit] has no key `{key}`{nearest(key, KEYS)}")
    return Config(
        root=file.parent,
        select=_names(table.get("select", []), "select", file),
        ignore=_names(table.get("ignore", []), "ignore", file),
        exclude=_names(table.get("exclude", []), "exclude", file),
        per_file_ignores=_per_file(table.get("per-file-ignores", {}), file),
        strict=_flag(table.get("strict", False), "strict", file),
        targets=_targets(table.get("targets", {}), file),
    )


def nearest(name: str, known: Collection[str]) -> str:
    """End a sentence about an unknown name: `; did you mean ...?`, or nothing when none is near."""
    import difflib

    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean `{near[0]}`?" if near else ""


def _table(file: Path) -> Mapping[str, object] | None:
    import tomllib

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file} is not valid TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    tool = document.get("tool", {})
    table = tool.get("jaxaudit") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise UsageError(f"{file}: [tool.jaxaudit] must be a table, not {_kind(table)}")
    return table


def _names(value: object, key: str, file: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UsageError(f"{file}: `{key}` in [tool.jaxaudit] must be a list of strings, not {_kind(value)}")
    for item in value:
        if not isinstance(item, str):
            raise UsageError(f"{file}: `{key}` in [tool.jaxaudit] must hold strings only, not {_kind(item)}")
    return tuple(item for item in value if isinstance(item, str))


def _per_file(value: object, file: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise UsageError(
            f"{file}: `per-file-ignores` in [tool.jaxaudit] must be a table from pattern to rules, not {_kind(value)}"
        )
    return tuple((str(pattern), _names(rules, f"per-file-ignores.{pattern}", file)) for pattern, rules in value.items())


def _targets(value: object, file: Path) -> dict[str, dict[str, str]]:
    if not isinstance(value, dict):
        raise UsageError(
            f"{file}: `targets` in [tool.jaxaudit] must be a table from target to specs, not {_kind(value)}"
        )
    return {str(target): _specs(specs, str(target), file) for target, specs in value.items()}


def _specs(value: object, target: str, file: Path) -> dict[str, str]:
    where = f"`targets.{target}` in [tool.jaxaudit]"
    if not isinstance(value, dict):
        raise UsageError(f"{file}: {where} must be a table from parameter to spec, not {_kind(value)}")
    for name, spec in value.items():
        if not isinstance(spec, str):
            raise UsageError(f"{file}: `{name}` of {where} must be a string, not {_kind(spec)}")
    return {str(name): str(spec) for name, spec in value.items()}


def _flag(value: object, key: str, file: Path) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f"{file}: `{key}` in [tool.jaxaudit] must be true or false, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or time"
