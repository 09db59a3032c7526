import os
import subprocess
from pathlib import Path

import pytest

from jaxaudit.config import Config, UsageError, find_config
from jaxaudit.discover import common_directory, find_files, loader, read_file, show_path
from jaxaudit.frontends.base import Problem, SourceFile


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A repository around the temporary directory must not be seen.
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def write(*paths: str, text: str = "") -> None:
    for path in paths:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def found(*paths: str, config: Config | None = None, **options: bool) -> list[str]:
    return [show_path(file) for file in find_files(paths, config or Config(root=Path.cwd()), **options)]


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def test_python_files_of_a_directory_without_git(project):
    write("a.py", "b/c.py", "b/notes.txt", ".hidden/d.py", "__pycache__/e.py", "node_modules/f.py")
    assert found(".") == ["a.py", "b/c.py"]


def test_gitignore_is_read_without_git(project):
    write("a.py", "old/b.py", "keep/c.py", "keep/d.py", "keep/old/x.py")
    Path(".gitignore").write_text("old/\n*.py\n!a.py\n")
    Path("keep/.gitignore").write_text("!c.py\n")
    assert found(".") == ["a.py", "keep/c.py"]


def test_a_virtual_environment_of_any_name_is_skipped(project):
    write("a.py", "env3/lib/b.py", "env3/pyvenv.cfg")
    assert found(".") == ["a.py"]


def test_git_decides_in_a_repository(project):
    git("init", "-q")
    write("a.py", "new.py", "ignored/b.py", "gone.py", "site-packages/x.py")
    Path(".gitignore").write_text("ignored/\n")
    git("add", "a.py", "gone.py", ".gitignore")
    Path("gone.py").unlink()
    assert found(".") == ["a.py", "new.py"]


def test_a_directory_that_is_named_is_audited_though_git_ignores_it(project):
    git("init", "-q")
    Path(".gitignore").write_text(".venv/\n")
    write("a.py", ".venv/lib/site-packages/pkg/b.py", ".venv/lib/site-packages/pkg/sub/c.py")
    assert found(".") == ["a.py"]
    named = ".venv/lib/site-packages/pkg"
    assert found(named) == [f"{named}/b.py", f"{named}/sub/c.py"]


def test_a_repository_inside_another_is_entered(project):
    git("init", "-q")
    write("a.py", "inner/b.py")
    git("init", "-q", "inner")
    assert found(".") == ["a.py", "inner/b.py"]


def test_no_git_at_all(project, monkeypatch):
    git("init", "-q")
    write("a.py")
    monkeypatch.setenv("PATH", "")
    assert found(".") == ["a.py"]


def test_named_files_come_once_in_order_whatever_their_suffix(project):
    write("script", "a.py", "b.py")
    assert found("b.py", "script", ".", "./b.py") == ["b.py", "script", "a.py"]


def test_exclude_spares_named_files_unless_forced(project):
    write("a.py", "gen/b.py")
    config = Config(root=project, exclude=("gen/",))
    assert found(".", config=config) == ["a.py"]
    assert found("gen/b.py", config=config) == ["gen/b.py"]
    assert found("gen/b.py", config=config, force_exclude=True) == []


def test_exclude_is_relative_to_the_configuration(project):
    write("sub/a.py", "sub/gen/b.py", "gen/c.py")
    config = Config(root=project / "sub", exclude=("/gen",))
    assert found(".", config=config) == ["gen/c.py", "sub/a.py"]


def test_a_missing_path(project):
    with pytest.raises(UsageError, match=r"^no such file or directory: nowhere\.py$"):
        found("nowhere.py")


def test_paths_outside_the_current_directory_are_absolute(project, monkeypatch):
    write("a.py", "sub/b.py")
    monkeypatch.chdir("sub")
    assert found("..") == [(project / "a.py").as_posix(), "b.py"]


def test_a_name_that_is_no_text_is_shown_anyway(project):
    name = os.fsdecode(b"bad\xff.py")
    try:
        Path(name).write_text("")
    except OSError:
        pytest.skip("this file system takes text names only")
    assert found(".") == ["bad\\udcff.py"]


def test_common_directory(project):
    write("a/b/c.py", "a/d.py")
    assert common_directory(["a/b/c.py", "a/d.py"]) == project / "a"
    assert common_directory(["a/b/c.py"]) == project / "a" / "b"
    assert common_directory([]) == project


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("é = 1".encode(), "é = 1"),
        (b"\xef\xbb\xbfx = 1", "x = 1"),
        ("# -*- coding: latin-1 -*-\né = 1".encode("latin-1"), "# -*- coding: latin-1 -*-\né = 1"),
    ],
)
def test_the_declared_encoding_is_used(project, data, text):
    Path("a.py").write_bytes(data)
    assert read_file(project / "a.py") == SourceFile("a.py", text)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x = 1\n\n\n\xff", Problem("a.py", 4, 1, "cannot decode the file: byte 8 is not valid utf-8")),
        (b"# coding: klingon\n", Problem("a.py", 1, 1, "cannot decode the file: unknown encoding: klingon")),
    ],
)
def test_what_cannot_be_decoded_is_a_problem(project, data, problem):
    Path("a.py").write_bytes(data)
    assert read_file(project / "a.py") == problem


def test_a_file_that_cannot_be_opened_is_a_problem(project):
    result = read_file(project / "a.py")
    assert result == Problem("a.py", 1, 1, "cannot read the file: No such file or directory")


@pytest.fixture
def locked(monkeypatch) -> str:
    """A folder that nobody may look into, root included."""
    write("locked/a.py", "locked/deep/b.py")
    scandir, stat, run = os.scandir, os.stat, subprocess.run

    def refuse(path: object) -> None:
        if isinstance(path, str | os.PathLike) and "locked" in Path(path).parts[-3:]:
            raise PermissionError(13, "Permission denied", str(path))

    def look(path: object, **options: object) -> os.stat_result:
        refuse(Path(path).parent if isinstance(path, str | os.PathLike) else path)
        return stat(path, **options)

    def list_(path: object) -> object:
        refuse(path)
        return scandir(path)

    def without_git(command: list[str], **options: object) -> object:
        if command[0] == "git":
            raise FileNotFoundError
        return run(command, **options)

    monkeypatch.setattr(os, "scandir", list_)
    monkeypatch.setattr(os, "stat", look)
    monkeypatch.setattr(subprocess, "run", without_git)
    return "locked"


def test_a_folder_that_cannot_be_listed_is_told_and_the_rest_goes_on(project, locked):
    write("a.py", "z/b.py")
    assert found(".") == ["a.py", locked, "z/b.py"]
    assert isinstance(read_file(project / locked), Problem)
    assert found(locked) == [locked]
    assert found("locked/a.py") == ["locked/a.py"]
    assert find_config(project / "locked").root == project / "locked"


def test_the_loader_reads_other_files_of_the_project(project):
    write("other.py", text="y = 2")
    load = loader([SourceFile("a.py", "x = 1")])
    assert load("a.py") == SourceFile("a.py", "x = 1")
    assert load("other.py") == SourceFile("other.py", "y = 2", audited=False)
    assert load("none.py") is None
    assert load("") is None
