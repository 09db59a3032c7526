"""The store of observed facts: what runs and tests showed of the user's functions, for `check` to start from.

One JSON file for each file of the user's, in the folder of the cache and never in the project. A file that cannot be
read or is not ours is as if it were not there, and `problems` says so in a sentence.
"""

from __future__ import annotations

import ast
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from jaxaudit.discover import decode_file, show_path, shown_name
from jaxaudit.frontends.base import Observed, SourceFile
from jaxaudit.frontends.fingerprints import Fingerprint, fingerprints
from jaxaudit.frontends.forms import Context, Known, Sighting
from jaxaudit.ir.record import record, replace

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = 1
_FOLDER = "observed"
_MOST_CONTEXTS = 8
"""How many contexts of one function are kept; those that were seen last stay."""


@record
class Stored:
    """What is known of the functions of one file."""

    format: int
    path: str
    functions: dict[str, Known]


@record
class Facts:
    """What is kept of the functions of some files, not yet read."""

    paths: tuple[Path, ...]
    digest: str = ""
    """Tells these facts from any others."""

    def read(self) -> tuple[Observed | None, tuple[str, ...]]:
        """Return the facts as front ends take them, and what is wrong with the store, one sentence each."""
        found = {path: load(str(path)) for path in self.paths}
        functions = {show_path(path): known for path, (known, _) in found.items() if known}
        problems = tuple(problem for _, problem in found.values() if problem)
        return Observed(functions, shown_name) if functions else None, problems


NOTHING = Facts(())


def facts_of(paths: Iterable[Path]) -> Facts:
    """Return what runs and tests showed of the functions of some files."""
    folder = _folder()
    try:
        kept = set() if folder is None else {entry.name for entry in os.scandir(folder)}
    except OSError:
        kept = set()
    found: list[Path] = []
    digest = blake2b(digest_size=16)
    for path in paths if kept else ():
        place = place_of(str(path))
        if place is not None and place.name in kept:
            found.append(path)
            with suppress(OSError):
                digest.update(os.fsencode(path) + b"\0" + place.read_bytes())
    return Facts(tuple(found), digest.hexdigest() if found else "")


def keep(sightings: Iterable[Sighting], now: int | None = None) -> None:
    """Add what a run showed to what is known."""
    moment = int(time.time()) if now is None else now
    with _alone():
        for path, seen in _by_file(sightings).items():
            known, _ = load(path)
            _write(path, _merged(path, known, seen, moment))


def observed_in(sightings: Iterable[Sighting]) -> Observed | None:
    """Return what one run showed as front ends take it, whether or not anything is kept."""
    made = {path: _merged(path, {}, seen, 0) for path, seen in _by_file(sightings).items()}
    functions = {show_path(Path(path)): stored.functions for path, stored in made.items() if stored is not None}
    return Observed(functions, shown_name) if functions else None


def _by_file(sightings: Iterable[Sighting]) -> Mapping[str, Sequence[Sighting]]:
    found: dict[str, list[Sighting]] = defaultdict(list)
    for one in sightings:
        found[os.path.realpath(one.path)].append(one)
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time change the store, where the system can: tests run in several at once."""
    folder = _folder()
    if fcntl is None or folder is None:
        yield
        return
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError:
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def load(path: str) -> tuple[Mapping[str, Known], str]:
    """Return what is known of the functions of a file, and what is wrong with the store, if anything."""
    place = place_of(path)
    if place is None:
        return {}, ""
    try:
        stored = msgspec.json.decode(place.read_bytes(), type=Stored)
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"what was observed of {path} cannot be read: {error.strerror or error}"
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}, f"what was observed of {path} is damaged ({place}); `jaxaudit observed --clear` removes it"
    if stored.format != FORMAT or stored.path != os.path.realpath(path):
        return (
            {},
            f"what was observed of {path} is of another version ({place}); `jaxaudit observed --clear` removes it",
        )
    return stored.functions, ""


def clear(paths: Sequence[str]) -> int:
    """Forget what is known of some files, and return of how many."""
    return _removed(one for one in map(place_of, paths) if one is not None)


def clear_damaged() -> int:
    """Remove what cannot be read: nobody can say of which file it was."""
    return _removed(place for place, stored in _everything() if stored is None)


def known_paths() -> list[str]:
    """Return the files of which anything is known, whether or not they still exist."""
    return sorted(stored.path for _, stored in _everything() if stored is not None)


def _everything() -> Iterator[tuple[Path, Stored | None]]:
    folder = _folder()
    for place in sorted(folder.glob("*.json")) if folder is not None else ():
        try:
            yield place, msgspec.json.decode(place.read_bytes(), type=Stored)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            yield place, None


def _removed(places: Iterable[Path]) -> int:
    gone = 0
    for place in places:
        with suppress(OSError):
            place.unlink()
            gone += 1
    return gone


def place_of(path: str) -> Path | None:
    """Return where the facts of a file are kept; None where nothing is kept at all."""
    folder = _folder()
    name = blake2b(os.fsencode(os.path.realpath(path)), digest_size=16).hexdigest()
    return None if folder is None else folder / f"{name}.json"


def directory() -> Path | None:
    """Return where answers and facts are kept: JAXAUDIT_CACHE_DIR, else below the user's cache; None for nowhere."""
    named = os.environ.get("JAXAUDIT_CACHE_DIR")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return Path(base) / "jaxaudit" if base else Path.home() / ".cache" / "jaxaudit"
    except RuntimeError:  # nobody's home
        return None


def _folder() -> Path | None:
    where = directory()
    return None if where is None else where / _FOLDER


def _merged(path: str, known: Mapping[str, Known], seen: Sequence[Sighting], now: int) -> Stored | None:
    by_place = {(one.name.partition("@")[0], one.line): one for one in _fingerprints(path)}
    functions = dict(known)
    found: dict[Fingerprint, list[Sighting]] = defaultdict(list)
    for one in seen:
        function = by_place.get((one.function, one.line))
        if function is not None:
            found[function].append(one)
    for function, calls in found.items():
        functions[function.name] = _joined(function, functions.get(function.name), calls, now)
    return Stored(FORMAT, path, dict(sorted(functions.items()))) if found else None


def _fingerprints(path: str) -> Iterable[Fingerprint]:
    try:
        file = decode_file(show_path(Path(path)), Path(path).read_bytes())
        return fingerprints(ast.parse(file.text), file.text).values() if isinstance(file, SourceFile) else ()
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


def _joined(function: Fingerprint, known: Known | None, calls: Sequence[Sighting], now: int) -> Known:
    """Put new calls to those that are known: what a script or test shows now takes the place of what it showed then."""
    places = {one.where for one in calls}
    old = known.contexts if known is not None and known.signature == function.signature else ()
    kept = [replace(one, seen={at: n for at, n in one.seen.items() if at not in places}) for one in old]
    contexts = [one for one in kept if one.seen]
    for one in calls:
        new = Context(
            function.source, dict(one.arguments), {one.where: one.calls}, now, dict(one.axes), tuple(one.within)
        )
        same = next((at for at, other in enumerate(contexts) if _alike(other, new)), None)
        if same is None:
            contexts.append(new)
        else:
            contexts[same] = replace(contexts[same], seen={**contexts[same].seen, **new.seen}, when=now)
    # What was seen of this very source comes first, then what was seen last.
    contexts.sort(key=lambda one: (one.source != function.source, -one.when))
    return Known(function.signature, tuple(contexts[:_MOST_CONTEXTS]))


def _alike(one: Context, other: Context) -> bool:
    return (one.source, one.arguments, one.axes, one.within) == (
        other.source,
        other.arguments,
        other.axes,
        other.within,
    )


def _write(path: str, stored: Stored | None) -> None:
    import tempfile

    place = place_of(path)
    if place is None or stored is None:
        return
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(msgspec.json.encode(stored))
        Path(file.name).replace(place)
