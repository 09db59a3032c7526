"""What `diff` compares: a dirty tree, commits, patches, merges; and what it says where there is nothing to compare."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

GOOD = """
    import jax

    def noise(key, x):
        first, second = jax.random.split(key)
        a = jax.random.normal(first, x.shape)
        b = jax.random.normal(second, x.shape)
        return a + b * x
"""
BAD = GOOD.replace("normal(second", "normal(first")
FOUND = ["noise.py:6 key-reused"]


def test_a_dirty_tree_is_compared_with_the_last_commit(project):
    project.commit(noise=GOOD)
    project.write(noise=BAD)
    change = project.change()
    assert change["found"] == FOUND
    assert change["after"] == "the working tree"
    assert change["before"].startswith("HEAD (")
    assert [(one["rule"], one["line"], one["verdict"], one["before_line"]) for one in change["broken"]] == [
        ("key-reused", 6, "violated", 6)
    ]
    assert change["code"] == 1
    assert project.root.joinpath("noise.py").read_text().count("first, x") == 2


def test_a_clean_tree_is_silent(project):
    project.commit(noise=BAD)
    change = project.change()
    assert (change["found"], change["files"], change["code"]) == ([], [], 0)


def test_what_was_there_before_is_not_told_again(project):
    project.commit(noise=BAD)
    project.write(noise=BAD + "\n\n    def more(x):\n        return x + 1\n")
    change = project.change()
    assert (change["found"], change["kept"], change["code"]) == ([], 1, 0)


def test_what_is_fixed_is_told(project):
    project.commit(noise=BAD)
    project.write(noise=GOOD)
    change = project.change()
    assert [(one["rule"], one["line"], one["now"]) for one in change["fixed"]] == [("key-reused", 6, "holds")]
    assert change["code"] == 0


def test_a_file_that_git_does_not_know_yet_counts(project):
    project.commit(other="x = 1\n")
    project.write(noise=BAD)
    change = project.change()
    assert change["found"] == FOUND
    assert change["files"] == [{"path": "noise.py", "kind": "added", "before": ""}]


def test_two_commits(project):
    project.commit(noise=GOOD)
    project.commit(noise=BAD)
    project.commit(noise=GOOD)
    assert project.change("HEAD~2..HEAD~1")["found"] == FOUND
    assert project.change("HEAD~2..")["found"] == []
    assert project.change("HEAD~1")["found"] == []


def test_three_dots_begin_where_the_branches_parted(project):
    project.commit(noise=GOOD)
    project.git("checkout", "-qb", "topic")
    project.commit(other="x = 1\n")
    project.git("checkout", "-q", "main")
    project.commit(noise=BAD)
    # `main` broke it, not the topic.
    assert project.change("main..topic")["fixed"] != []
    assert project.change("main...topic")["fixed"] == []


def test_a_patch_that_is_not_applied(project):
    project.commit(noise=GOOD)
    project.write(noise=BAD)
    patch = project.git("diff")
    project.write(noise=GOOD)
    assert project.change("-", stdin=patch)["found"] == FOUND
    assert "second, x" in Path("noise.py").read_text()


def test_a_patch_that_is_applied_already(project):
    project.commit(noise=GOOD)
    project.write(noise=BAD)
    change = project.change("-", stdin=project.git("diff"))
    assert change["found"] == FOUND
    assert (change["before"], change["after"]) == ("the files without the patch", "the working tree")


def test_a_patch_from_a_subfolder_and_without_git(project, tmp_path, monkeypatch):
    project.commit(lib__noise=GOOD)
    project.write(lib__noise=BAD)
    patch = project.git("diff")
    monkeypatch.chdir(project.root / "lib")
    assert project.change("-", stdin=patch)["found"] == FOUND
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "noise.py").write_text((project.root / "lib" / "noise.py").read_text())
    monkeypatch.chdir(bare)
    assert project.change("-", stdin=patch.replace("lib/", ""))["found"] == FOUND


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("hello\n", "what stands on standard input is no patch; `git diff | jaxaudit diff -` gives one"),
        (
            "--- a/noise.py\n+++ b/noise.py\n@@ -1 +1 @@\n-nonsense\n+more\n",
            "the patch fits neither the files as they are nor as they would be without it",
        ),
        (
            "--- a/../../x.py\n+++ b/../../x.py\n@@ -1 +1 @@\n-a\n+b\n",
            "the patch names a file outside of the project: ../../x.py",
        ),
    ],
)
def test_what_is_no_fitting_patch_is_refused(project, patch, said):
    project.commit(noise=GOOD)
    done = project.run("-", stdin=patch)
    assert (done.exit_code, done.stderr) == (2, f"jaxaudit: {said}\n")


def test_an_empty_patch_changes_nothing(project):
    project.commit(noise=GOOD)
    assert project.change("-", stdin="")["files"] == []


def test_a_patch_of_pictures_alone(project):
    project.commit(noise=GOOD)
    patch = "diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n"
    assert project.change("-", stdin=patch)["files"] == []


def test_a_patch_with_a_picture_beside_the_code(project):
    project.commit(noise=GOOD)
    project.write(noise=BAD)
    patch = (
        project.git("diff") + "diff --git a/a.png b/a.png\nindex 1..2 100644\nBinary files a/a.png and b/a.png differ\n"
    )
    assert project.change("-", stdin=patch)["found"] == FOUND


def test_a_merge_under_way(project):
    project.commit(noise=GOOD)
    project.git("checkout", "-qb", "topic")
    project.commit(other="x = 1\n", noise=BAD)
    project.git("checkout", "-q", "main")
    project.commit(third="y = 1\n")
    project.git("merge", "-q", "--no-commit", "--no-ff", "topic")
    change = project.change()
    assert change["found"] == FOUND
    assert "a merge of " in change["told"]
    assert change["told"].endswith(" is under way: what it brings counts as changed\n")


def test_a_merge_with_conflicts(project):
    project.commit(noise=GOOD)
    project.git("checkout", "-qb", "topic")
    project.commit(noise=BAD)
    project.git("checkout", "-q", "main")
    project.commit(noise=GOOD.replace("second, x", "key, x"))
    with pytest.raises(subprocess.CalledProcessError):
        project.git("merge", "-q", "topic")
    change = project.change()
    assert [one.split()[1] for one in change["found"]] == ["unreadable-file"]
    assert change["told"].endswith("what it brings counts as changed, and 1 file still has conflicts\n")


def test_a_repository_without_commits(project):
    project.write(noise=BAD)
    change = project.change()
    assert change["found"] == FOUND
    assert change["told"] == "jaxaudit: this repository has no commits yet, so all of it counts as new\n"
    done = project.run("HEAD~1")
    said = "jaxaudit: there is no commit `HEAD~1`: this repository has no commits yet\n"
    assert (done.exit_code, done.stderr) == (2, said)


def test_a_commit_that_does_not_exist(project):
    project.commit(noise=GOOD)
    done = project.run("elsewhere")
    said = f"jaxaudit: there is no commit `elsewhere` in {project.root}\n"
    assert (done.exit_code, done.stderr) == (2, said)


def test_a_shallow_clone(project, tmp_path, monkeypatch):
    project.commit(noise=GOOD)
    project.commit(noise=BAD)
    project.git("clone", "-q", "--depth", "1", f"file://{project.root}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    done = project.run("HEAD~1")
    said = "there is no commit `HEAD~1` in this shallow clone; `git fetch --unshallow` brings all of its history"
    assert (done.exit_code, done.stderr) == (2, f"jaxaudit: {said}\n")
    assert project.change()["found"] == []


def test_a_submodule_is_told_and_not_compared(project, tmp_path):
    inner = type(project)(tmp_path / "inner")
    inner.root.mkdir()
    inner.git("init", "-q")
    inner.commit(noise=GOOD)
    project.git("submodule", "--quiet", "add", str(inner.root), "inner")
    project.commit(other="x = 1\n")
    type(project)(project.root / "inner").commit(noise=BAD)
    change = project.change()
    assert change["found"] == []
    assert change["told"] == "jaxaudit: the submodule `inner` changed; its own files are not compared\n"


def test_a_file_that_is_no_text(project):
    project.commit(noise=GOOD)
    Path("noise.py").write_bytes(b"\x00\xff\xfe binary")
    change = project.change()
    assert [one.split()[1] for one in change["found"]] == ["unreadable-file"]


def test_no_repository(tmp_path, monkeypatch, project):
    monkeypatch.chdir(tmp_path)
    done = project.run()
    said = f"{tmp_path} is not in a git repository, so there is no earlier state to compare with; "
    assert done.exit_code == 2
    assert said in done.stderr


def test_no_git(project, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = project.run()
    said = "jaxaudit: git is not installed, and `diff` needs it to read what the code was before\n"
    assert (done.exit_code, done.stderr) == (2, said)


def test_a_subfolder_is_compared_with_the_whole_repository(project, monkeypatch):
    project.commit(lib__noise=GOOD, main="from lib.noise import noise\n")
    project.write(lib__noise=BAD)
    monkeypatch.chdir(project.root / "lib")
    assert project.change()["found"] == FOUND
