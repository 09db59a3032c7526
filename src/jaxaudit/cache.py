"""Answers that were given before: the same question about the same files costs no audit.

An answer is kept under the digest of all that it depends on: the content of the audited files, the settings, and this
very version of jaxaudit. What it read besides is kept with it and compared before it is given again. Answers are in the
user's own cache directory, never in the project, and one that cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from jaxaudit.config import Config
from jaxaudit.discover import Loader, decode_file, find_files, loader, read_file, show_path
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir import Program
from jaxaudit.ir.record import record, replace
from jaxaudit.observation.store import NOTHING, Facts, directory, facts_of
from jaxaudit.outcome import Outcome, sources_of
from jaxaudit.reports.model import Report
from jaxaudit.version import VERSION

MOST_ANSWERS = 64
"""How many answers are kept; the oldest go first."""


@record
class Answer:
    """A report, and what was read for it besides the audited files: the digest of each, empty where there is none."""

    report: Report
    asked: dict[str, str]


def audit_paths(
    paths: Sequence[str],
    config: Config,
    *,
    force_exclude: bool = False,
    sections: bool = True,
    fresh: bool = False,
    observed: bool = True,
) -> Outcome:
    """Audit the Python files of some paths, or give the answer that was kept; `fresh` neither reads nor keeps one.

    With `observed` functions are also entered with what runs and tests showed of them.
    """
    found = find_files(paths, config, force_exclude=force_exclude)
    texts = None if fresh else _bytes(found)
    known = facts_of(found) if observed else NOTHING
    if texts is not None:
        return audit_texts(texts, config, known, sections=sections)

    from jaxaudit.session import audit

    entered, problems = known.read()
    return replace(
        audit([read_file(path) for path in found], config, observed=entered, sections=sections), remarks=problems
    )


def audit_texts(
    texts: Mapping[Path, bytes],
    config: Config,
    known: Facts = NOTHING,
    fetch: Loader | None = None,
    *,
    sections: bool = True,
    fresh: bool = False,
) -> Outcome:
    """Audit files with this content, or give the answer that was kept; `fetch` reads what they import, else the disk.

    What was digested is what is audited, even if somebody saves a file in between.
    """
    place = None if fresh else _place(texts, config, known.digest, sections=sections)
    report = None if place is None else _kept(place, loader((), fetch=fetch))
    files = [decode_file(show_path(path), text) for path, text in texts.items()]
    if report is not None:
        read = [one for one in files if isinstance(one, SourceFile)]
        return Outcome(report, Program((), "source"), sources_of(loader(read, fetch=fetch)))

    from jaxaudit.session import audit

    entered, problems = known.read()
    outcome = replace(audit(files, config, observed=entered, sections=sections, fetch=fetch), remarks=problems)
    if place is not None and not outcome.faults and not outcome.remarks:
        _keep(place, outcome)
    return outcome


def _bytes(files: Sequence[Path]) -> dict[Path, bytes] | None:
    try:
        return {path: path.read_bytes() for path in files}
    except OSError:
        return None


def _place(texts: Mapping[Path, bytes], config: Config, observed: str, *, sections: bool) -> Path | None:
    where = directory()
    if where is None:
        return None
    digest = blake2b(digest_size=20)
    for part in (*_tool(), str(Path.cwd()), repr(config), str(sections), observed):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    for path, text in texts.items():
        digest.update(os.fsencode(path) + b"\0" + blake2b(text, digest_size=20).digest())
    return where / f"{digest.hexdigest()}.answer"


def _tool() -> Iterator[str]:
    """Return what identifies this jaxaudit: its own files, and where rules of other packages may have come from."""
    yield f"{VERSION} {sys.version}"
    package = Path(__file__).parent
    for folder, _, names in sorted(os.walk(package)):
        for name in sorted(names):
            if name.endswith(".py"):
                yield _stamp(f"{folder}/{name}")
    yield from (_stamp(entry) for entry in sys.path if entry.endswith("-packages"))


def _stamp(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return path
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _kept(place: Path, load: Loader) -> Report | None:
    try:
        answer = msgspec.msgpack.decode(place.read_bytes(), type=Answer)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    for path, digest in answer.asked.items():
        if _digest(file.text if (file := load(path)) else None) != digest:
            return None
    with contextlib.suppress(OSError):
        os.utime(place)
    return answer.report


def _keep(place: Path, outcome: Outcome) -> None:
    import tempfile

    answer = Answer(outcome.report, {path: _digest(text) for path, text in outcome.asked.items()})
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(msgspec.msgpack.encode(answer))
        Path(file.name).replace(place)
        _forget_oldest(place.parent)


def _forget_oldest(where: Path) -> None:
    kept = sorted(where.glob("*.answer"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST_ANSWERS:]:
        path.unlink(missing_ok=True)


def _digest(text: str | None) -> str:
    return "" if text is None else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
