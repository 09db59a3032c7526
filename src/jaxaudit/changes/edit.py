"""One edit of one file, judged at once: what `diff` would say, asked of as little as possible.

The file is compared with the last commit, all others are taken as they are on the disk. It is audited alone at first,
and what it imports is read on demand. Only where something is otherwise that other code relies on are the files audited
too that name its module and something that differs in it. Answers are kept, so that of two states one is audited.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from jaxaudit.changes.alignment import align
from jaxaudit.changes.repository import Repository
from jaxaudit.changes.scope import scope_of
from jaxaudit.changes.states import Comparison, State, working_tree
from jaxaudit.changes.verdict import audit_change
from jaxaudit.config import Config
from jaxaudit.discover import show_path
from jaxaudit.libraries.packages import JAX
from jaxaudit.outcome import Outcome

MOST_USERS = 12
"""How many other files are audited; `diff` has no bound."""


def audit_edit(path: Path, before: bytes | None, repository: Repository | None, config: Config) -> Outcome:
    """Audit what an edit of a file did, against the last commit or, where that has no such file, what it was before."""
    comparison = _alone(path, before, repository)
    outcome = audit_change(comparison, config, if_jax=True)
    change = outcome.report.change
    assert change is not None
    if repository is not None and comparison.changed and (change.boundaries or not change.touches_jax):
        wider = _with_users(comparison, working_tree(repository, config))
        if len(wider.after.files) > 1:
            return audit_change(wider, config, if_jax=True)
    return outcome


def _alone(path: Path, before: bytes | None, repository: Repository | None) -> Comparison:
    shown = show_path(path)
    name, old = "before this edit", before
    if repository is not None and not repository.is_empty:
        inside = os.path.relpath(path, repository.root)
        committed = repository.git("cat-file", "blob", f"HEAD:{Path(inside).as_posix()}")
        name, old = ("HEAD", committed) if committed is not None else (name, old)
    earlier = State(name, {} if old is None else {shown: old})
    return Comparison(earlier, State("the working tree", {shown: path.read_bytes()}))


def _with_users(comparison: Comparison, tree: State) -> Comparison:
    """Add the files that may rely on what differs: their text has the name of the file and that of a definition.

    Where nothing in the edited file is JAX, a user has JAX in it, or may have users that do.
    """
    ((shown, text),) = comparison.after.files.items()
    names = {name.encode() for _, name in scope_of(comparison, align(comparison)).changed}
    users = (other for other in _users(shown, tree) if any(name in tree.files[other] for name in names))
    if not _has_jax(text):
        users = (other for other in users if _has_jax(tree.files[other]) or any(_users(other, tree)))
    same = {other: tree.files[other] for other in islice(users, MOST_USERS)}
    return Comparison(comparison.before.with_files(same), comparison.after.with_files(same))


def _users(path: str, tree: State) -> Iterator[str]:
    """Return the files whose text has the name of a module."""
    file = Path(path)
    module = (file.parent.name if file.name == "__init__.py" else file.stem).encode()
    return (other for other, text in tree.files.items() if other != path and module in text)


def _has_jax(text: bytes) -> bool:
    """Whether a text has the name of a library that computes with JAX."""
    return any(name.encode() in text for name in JAX)
