"""The real pipeline, from files to reports: what the example shows, and inputs that are meant to break it."""

from pathlib import Path

import pytest

from jaxaudit.config import Config
from jaxaudit.session import audit_paths, audit_text

EXAMPLE = Path(__file__).parent.parent / "examples" / "dropout_vae.py"
REUSE = "import jax\n\ndef f(key):\n    a = jax.random.normal(key)\n    return a + jax.random.normal(key)\n"


def rules(data: bytes) -> list[tuple[str, int]]:
    outcome = audit_text("train.py", data, Config())
    assert outcome.faults == ()
    return [(issue.rule, issue.line) for issue in outcome.report.issues]


def test_the_three_mistakes_of_the_example():
    outcome = audit_paths([str(EXAMPLE)], Config())
    lines = EXAMPLE.read_text().splitlines()
    found = [(issue.rule, lines[issue.line - 1].strip()[:20]) for issue in outcome.report.issues]
    assert found == [
        ("key-reused", "noise = jax.random.n"),
        ("same-key-in-loop", "gradients = jax.grad"),
        ("same-key-across-vmap", "return jax.vmap(lamb"),
    ]
    assert outcome.faults == ()


def test_one_bad_file_does_not_stop_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text("def f(:\n")
    Path("bytes.py").write_bytes(b"\xff")
    Path("train.py").write_text(REUSE)
    report = audit_paths(["."], Config()).report
    assert [(issue.path, issue.rule) for issue in report.issues] == [
        ("broken.py", "unreadable-file"),
        ("bytes.py", "unreadable-file"),
        ("train.py", "key-reused"),
    ]


def test_a_helper_in_another_file_is_followed_but_not_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("helper.py").write_text(
        "import jax\n\ndef draw(k, n):\n    return jax.random.normal(k, (n,))\n\ndef keep(k, n):\n    return jax.random.bernoulli(k, 0.5, (n,))\n\n"
        + REUSE
    )
    Path("train.py").write_text(
        "from helper import draw, keep\n\ndef f(key):\n    return draw(key, 2) * keep(key, 2)\n"
    )
    report = audit_paths(["train.py"], Config()).report
    assert [(issue.path, issue.line) for issue in report.issues] == [("train.py", 4)]
    assert [target.path for target in report.targets] == ["train.py"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(ending):
    assert rules(REUSE.replace("\n", ending).encode()) == [("key-reused", 5)]


def test_columns_and_marks_in_text_that_is_not_ascii():
    text = (
        "import jax\n\ndef f(ключ):\n    é = jax.random.normal(ключ); ñ = jax.random.normal(ключ)\n    return é + ñ\n"
    )
    (issue,) = audit_text("train.py", text.encode(), Config()).report.issues
    assert text.splitlines()[issue.line - 1][issue.column - 1 : issue.end_column - 1].startswith("jax.random.normal(")


NASTY = {
    "empty": b"",
    "byte-order mark": b"\xef\xbb\xbfimport jax\n",
    "long sum": b"x = " + b"+".join([b"1"] * 20_000),
    "long chain": b"a = 0\nx = a" + b".b" * 20_000,
    "many branches": b"x = y = 0\nif x: pass\n" + b"elif y: pass\n" * 3_000,
    "deep blocks": b"x = 0\n" + b"".join(b" " * depth + b"if x:\n" for depth in range(95)) + b" " * 95 + b"pass\n",
    "lambdas in lambdas": b"f = " + b"lambda: " * 500 + b"0\n",
    "calls itself": b"def f(x):\n    return f(f(x))\nf(f)\n",
    "no end of line": b"import jax",
    "form feed": b"import jax\n\x0c\ndef f(): pass\n",
    "star of itself": b"from train import *\nfrom . import train\n",
}


@pytest.mark.parametrize("data", NASTY.values(), ids=NASTY)
def test_odd_but_valid_files_are_read(data):
    assert rules(data) == []


@pytest.mark.parametrize("data", [b"x = 1\0\n", b"x = " + b"(" * 5_000, b"\xff", b"# coding: nope\n", b"if x:\npass"])
def test_files_that_are_no_python_are_one_issue(data):
    assert [rule for rule, _ in rules(data)] == ["unreadable-file"]
