"""Runs a program and writes down what each of its expressions gives.

The files that are watched are the script itself and, as they are imported, the modules of some packages. A program
runs twice: as it is, for types and structure, and with `jax.disable_jit`, for what the elements are.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import jax

from benchmarks.agreement.answers import answer, elements
from benchmarks.agreement.hollow import AskedError, hollow
from benchmarks.agreement.rewrite import SEEN, Place, rewritten

Link = tuple[str, int, str]
"""A call: the file and line that it stands in, and the name of what is called.

Where nothing that is watched called it, the line is one inside of it, as a negative number.
"""

_MOST = 24
"""Different answers to keep for one place."""
_VISITS = 60
"""Visits of one place that are looked at."""


class Watcher:
    """Keeps what was seen, by file and place."""

    def __init__(self, *, entries: bool = False) -> None:
        self.entries = entries
        """Whether what is called, and from where a file is entered, are looked at too."""
        self.eager = False
        """Whether it is the elements of arrays that are looked at, or the types of all values."""
        self.paths: list[str] = []
        self.places: list[list[Place]] = []
        self.seen: dict[tuple[int, int], dict[str, int]] = {}
        """The different answers of each place, with the number of the calls that led to the first of each."""
        self.chains: dict[tuple[Link, ...], int] = {}
        self.visits: dict[tuple[int, int], int] = {}
        self.busy = False

    def begin(self) -> None:
        """Forget what was seen."""
        self.seen, self.visits, self.chains = {}, {}, {}

    def compiled(self, text: str, path: str) -> CodeType:
        """Compile a file so that it is watched."""
        code, places = rewritten(text, path, len(self.paths), callees=self.entries)
        self.paths.append(path)
        self.places.append(places)
        return code

    def __call__(self, file: int, place: int, value: Any) -> Any:
        """Note a value and give it back."""
        at = (file, place)
        visits = self.visits.get(at, 0)
        if visits < _VISITS and not self.busy:
            self.visits[at] = visits + 1
            self.busy = True
            try:
                self._note(at, value)
            finally:
                self.busy = False
        return value

    def _note(self, at: tuple[int, int], value: Any) -> None:
        try:
            found = elements(value) if self.eager else answer(value)
        except Exception:  # noqa: BLE001 - an object that does not want to be asked
            return
        known = self.seen.setdefault(at, {})
        text = json.dumps(found)
        if found is not None and len(known) < _MOST and text not in known:
            known[text] = self.chains.setdefault(self._chain(), len(self.chains))

    def _chain(self) -> tuple[Link, ...]:
        """Return the calls between watched files that led here, innermost first; a comprehension is no call."""
        links: list[Link] = []
        frame, callee, entry = sys._getframe(3), "", ("", 0, "")
        while frame is not None:
            code = frame.f_code
            if code.co_filename in self.paths:
                if callee:
                    links.append((code.co_filename, frame.f_lineno, callee))
                callee = "" if code.co_name.endswith(("comp>", "expr>", "module>")) else code.co_name.strip("<>")
                entry = (code.co_filename, -frame.f_lineno, callee)
            frame = frame.f_back
        if self.entries and entry[2]:
            links.append(entry)
        return tuple(links)

    def told(self) -> dict[str, list[list[Any]]]:
        """Return the answers of each place that was reached, by file, each with the number of its chain of calls."""
        found: dict[str, list[list[Any]]] = {path: [] for path in self.paths}
        for (file, place), known in sorted(self.seen.items()):
            once = self.visits[file, place] == 1
            found[self.paths[file]].append(
                [*self.places[file][place], once, [[json.loads(one), chain] for one, chain in known.items()]]
            )
        return found


def is_test(name: str) -> bool:
    """Whether a module belongs to the tests of its package, by its full name."""
    return any(part in ("tests", "testing", "conftest") or "test" in part.split("_") for part in name.split("."))


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the watched packages, and has them compiled by the watcher."""

    def __init__(self, watcher: Watcher, packages: Sequence[str]) -> None:
        self.watcher, self.packages = watcher, packages

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return where a watched module is and how it is compiled; None for any other."""
        if fullname.partition(".")[0] not in self.packages:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader) and not is_test(fullname):
            spec.loader = _Loader(self.watcher, fullname, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, watcher: Watcher, name: str, path: str) -> None:
        super().__init__(name, path)
        self.watcher = watcher

    def get_code(self, fullname: str) -> CodeType:
        return self.watcher.compiled(Path(self.path).read_text(encoding="utf-8"), self.path)


def watched(path: Path, packages: Sequence[str] = (), *, numbers: bool = False, seconds: int = 25) -> dict[str, Any]:
    """Run a script; return the answers of its `types` and, where `numbers` are asked for, of its `elements`.

    Each has what was `seen` by file and place, and what `ended` the run before its end. Types need no numbers, so
    nothing is computed for them unless the script itself asks.
    """
    watcher = Watcher()
    finder = Finder(watcher, packages)
    sys.meta_path.insert(0, finder)
    setattr(builtins, SEEN, watcher)
    try:
        code = watcher.compiled(path.read_text(encoding="utf-8"), str(path))
        found = {"types": _run(watcher, code, path, seconds, hollow())}
        if found["types"]["ended"].startswith(AskedError.__name__):
            found["types"] = _run(watcher, code, path, seconds, contextlib.nullcontext())
        if numbers:
            watcher.eager = True
            found["elements"] = _run(watcher, code, path, seconds, jax.disable_jit())
    finally:
        sys.meta_path.remove(finder)
        setattr(builtins, SEEN, lambda file, place, value: value)
    return found


def _run(
    watcher: Watcher, code: CodeType, path: Path, seconds: int, how: AbstractContextManager[Any]
) -> dict[str, Any]:
    watcher.begin()
    settings = dict(jax.config.values)
    with quiet(path.parent), as_main(path) as module, how:
        ended = _execute(code, module, seconds)
    for name, value in settings.items():
        if jax.config.values[name] != value:
            jax.config.update(name, value)
    return {"seen": watcher.told(), "chains": list(watcher.chains), "ended": ended}


def _execute(code: CodeType, module: ModuleType, seconds: int) -> str:
    """Run compiled code for some seconds at most; return what ended it early."""

    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {seconds} seconds")

    # The processor's time, not the clock's: what is seen must not depend on who else is at work.
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        exec(code, vars(module))
    except BaseException as error:  # noqa: BLE001 - also what ends a script on purpose
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return ""


@contextlib.contextmanager
def as_main(path: Path) -> Iterator[ModuleType]:
    """Let a module be `__main__` for a while, with the path of a script."""
    module, before = ModuleType("__main__"), sys.modules["__main__"]
    module.__file__ = str(path)
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.modules["__main__"] = before


@contextlib.contextmanager
def quiet(folder: Path) -> Iterator[None]:
    """Let a program import its neighbours and say nothing; what it imported from there is forgotten afterwards."""
    known, path, arguments = set(sys.modules), list(sys.path), list(sys.argv)
    sys.path.insert(0, str(folder))
    sys.argv = sys.argv[:1]
    nowhere = io.StringIO()
    try:
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.path[:], sys.argv[:] = path, arguments
        for name in set(sys.modules) - known:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


_DIED = {"types": {"seen": {}, "chains": [], "ended": "the process died"}}


def kept(
    paths: Sequence[Path], folder: Path, packages: Sequence[str] = (), *, numbers: bool = False
) -> dict[Path, dict[str, Any]]:
    """Return what was seen of scripts: from the folder where that is kept, else by running them.

    They run one after the other in another process, so that what one compiles the next has; should it die, a new one
    goes on with the next script.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {path: folder / f"{path.stem}-{_content(path, packages, numbers)}.json" for path in paths}
    while missing := [path for path in paths if not files[path].exists()]:
        child = os.fork()
        if child == 0:
            try:
                _prepare(packages)
                for path in missing:
                    _write(files[path], watched(path, packages, numbers=numbers))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        left = [path for path in missing if not files[path].exists()]
        if left:
            _write(files[left[0]], _DIED)
    return {path: json.loads(file.read_text()) for path, file in files.items()}


def _content(path: Path, packages: Sequence[str], numbers: bool) -> str:
    given = f"{packages} {numbers}".encode()
    return hashlib.sha256(path.read_bytes() + given).hexdigest()[:16]


def _write(file: Path, found: object) -> None:
    file.with_suffix(".new").write_text(json.dumps(found))
    file.with_suffix(".new").rename(file)


def _prepare(packages: Sequence[str]) -> None:
    """Import what most programs need before the first of them is timed; what is watched must be imported later."""
    for name in ("optax", "flax.linen", "flax.nnx", "equinox"):
        if not packages:
            importlib.import_module(name)
    jax.config.update("jax_disable_most_optimizations", True)
