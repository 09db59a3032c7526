"""What git knows: commits, their files, and what the working tree holds; nothing is ever written or checked out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxaudit.config import UsageError
from jaxaudit.discover import run_git

_SUBMODULE = b"160000"
_LINK = b"120000"


@dataclass(frozen=True)
class Repository:
    """One git repository with a working tree."""

    root: Path

    def git(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """Return what git answers, None where it refuses."""
        done = run_git(self.root, *arguments, given=given)
        return done.stdout if done is not None and done.returncode == 0 else None

    def answer(self, *arguments: str) -> str:
        """Return one line that git answers, empty where it refuses."""
        return os.fsdecode(self.git(*arguments) or b"").strip()

    @cached_property
    def is_empty(self) -> bool:
        """Whether there is no commit yet."""
        return not self.answer("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    @cached_property
    def is_shallow(self) -> bool:
        """Whether the history was cut off when the repository was cloned."""
        return self.answer("rev-parse", "--is-shallow-repository") == "true"

    @cached_property
    def merging(self) -> str:
        """The commit that is being merged into HEAD, empty where no merge is under way."""
        return self.answer("rev-parse", "--verify", "--quiet", "MERGE_HEAD")

    @cached_property
    def conflicts(self) -> tuple[str, ...]:
        """The files of a merge whose conflicts are not resolved."""
        return _names(self.git("diff", "--name-only", "--diff-filter=U", "-z"))

    def commit(self, name: str) -> str:
        """Return the id of a commit, or say why there is none."""
        found = self.answer("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found:
            return found
        if self.is_empty:
            raise UsageError(f"there is no commit `{name}`: this repository has no commits yet")
        if self.is_shallow:
            raise UsageError(
                f"there is no commit `{name}` in this shallow clone; `git fetch --unshallow` brings all of its history"
            )
        raise UsageError(f"there is no commit `{name}` in {self.root}")

    def merge_base(self, one: str, other: str) -> str:
        """Return the commit at which two lines of history parted."""
        found = self.answer("merge-base", self.commit(one), self.commit(other))
        if not found:
            cut = " in this shallow clone; `git fetch --unshallow` brings all of its history" if self.is_shallow else ""
            raise UsageError(f"`{one}` and `{other}` have no commit in common{cut}")
        return found

    def tree(self, commit: str) -> Mapping[str, str]:
        """Return the blob of every file of a commit; submodules and links are left out."""
        found: dict[str, str] = {}
        for row in (self.git("ls-tree", "-r", "-z", "--full-tree", commit) or b"").split(b"\0"):
            kind, _, name = row.partition(b"\t")
            if name and not kind.startswith((_SUBMODULE, _LINK)):
                found[os.fsdecode(name)] = kind.split()[2].decode()
        return found

    def submodules(self, commit: str = "") -> Mapping[str, str]:
        """Return which commit each submodule stands at in a commit, or in the working tree."""
        rows = (self.git("ls-tree", "-r", "-z", "--full-tree", commit) if commit else self._index()) or b""
        parts = [row.partition(b"\t") for row in rows.split(b"\0") if row.startswith(_SUBMODULE)]
        place = 2 if commit else 1
        found = {os.fsdecode(name): kind.split()[place].decode() for kind, _, name in parts}
        # What is checked out there counts, where something is.
        heads = {name: "" if commit else Repository(self.root / name).checked_out() for name in found}
        return {name: heads[name] or at for name, at in found.items()}

    def checked_out(self) -> str:
        """Return the commit that a submodule has checked out, empty where it was never brought."""
        return self.answer("rev-parse", "HEAD") if os.path.exists(self.root / ".git") else ""  # noqa: PTH110

    def _index(self) -> bytes:
        return self.git("ls-files", "-s", "-z") or b""

    def working_files(self) -> tuple[str, ...]:
        """Return every file of the working tree that git tracks or would track."""
        listed = _names(self.git("ls-files", "-co", "--exclude-standard", "--deduplicate", "-z"))
        # A submodule or another repository inside this one is a folder.
        return tuple(name for name in listed if os.path.isfile(self.root / name))  # noqa: PTH113

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the content of blobs, all in one question; what a partial clone does not have is left out."""
        wanted = list(dict.fromkeys(ids))
        stream = self.git("cat-file", "--batch", given="".join(f"{one}\n" for one in wanted).encode()) or b""
        found: dict[str, bytes] = {}
        at = 0
        for one in wanted:
            end = stream.find(b"\n", at)
            head = stream[at:end].split()
            at = end + 1
            if len(head) == 3:
                size = int(head[2])
                found[one] = stream[at : at + size]
                at += size + 1
        return found


def repository(start: Path) -> Repository | None:
    """Return the repository around a directory, None where there is none; no git at all is refused."""
    done = run_git(start, "rev-parse", "--show-toplevel")
    if done is None:
        raise UsageError("git is not installed, and `diff` needs it to read what the code was before")
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip()
        if "dubious ownership" in complaint:
            raise UsageError("git does not trust the owner of this repository: see `git config safe.directory`")
        return None
    return Repository(Path(os.fsdecode(done.stdout).removesuffix("\n")))


def _names(listed: bytes | None) -> tuple[str, ...]:
    return tuple(os.fsdecode(name) for name in (listed or b"").split(b"\0") if name)
