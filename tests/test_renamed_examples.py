"""No rule decides on a name: with every variable of an example renamed, the verdicts stay."""

import ast

import pytest

from benchmarks.rewrites.names import Renamed
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir.names import singular
from jaxaudit.rules.base import Example, Rule
from jaxaudit.rules.registry import all_rules
from jaxaudit.session import audit


class Renamer(Renamed):
    """Gives words that say nothing, but are long enough to be taken for names: which ones are the same still shows."""

    def __init__(self, tree: ast.Module) -> None:
        self.words: dict[str, str] = {}
        super().__init__(tree)

    def called(self, name: str, number: int) -> str:
        return "_".join(map(self._word, name.split("_")))

    def _word(self, word: str) -> str:
        plural = "s" * (singular(word) != word)
        return self.words.setdefault(singular(word), f"name{len(self.words):02}") + plural if word else word


ABOUT_NAMES = {"half-renamed-copy"}
"""Rules whose subject is how names are written: they warn, and decide nothing else."""


def renamed(code: str) -> str:
    files = Renamer(ast.parse(code)).files()
    return code if files is None else files["example.py"]


def said(rule: type[Rule], code: str) -> list[tuple[int, str]]:
    report = audit([SourceFile("example.py", code)], Config(select=(rule.name,))).report
    return sorted((one.line, one.severity) for one in (*report.issues, *report.warnings))


def examples() -> list:
    return [
        pytest.param(rule, example, id=f"{rule.name}-{number}")
        for rule in all_rules()
        if rule.name not in ABOUT_NAMES
        for number, example in enumerate((*rule.valid, *rule.invalid))
    ]


@pytest.mark.parametrize(("rule", "example"), examples())
def test_verdicts_do_not_hang_on_names(rule: type[Rule], example: Example) -> None:
    # Both are written anew from the tree, so that the lines are the same.
    code = ast.unparse(ast.parse(example.program))
    assert said(rule, renamed(code)) == said(rule, code)


def test_names_do_change():
    assert (
        renamed("def f(x, last_x=1):\n    axes = last_x\n    return f(axes)")
        == "def name01(name03, name02_name03=1):\n    name00s = name02_name03\n    return name01(name00s)"
    )
