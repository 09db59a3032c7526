"""What `lost-option` finds of settings, and what it takes for data or for words that are kept with results."""

import textwrap

import pytest
from rules.programs import marked, said

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PROGRAMS = {
    "words that are kept with the results of a run": """
        import wandb
        from dataclasses import dataclass

        @dataclass
        class Settings:
            name: str = "first"
            rate: float = 0.1
            steps: int = 4
            anneal: bool = True  #? lost-option

        @dataclass
        class Kept:
            name: str = "first"  #? lost-option
            rate: float = 0.1
            steps: int = 4

        def train(settings):
            return settings.rate * settings.steps

        if __name__ == "__main__":
            settings = Settings()
            wandb.init(config=settings, project="one")
            train(settings)
            train(Kept())
        """
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    code = PROGRAMS[name]
    assert said(code) == marked(code)


_TABLE = """
LABELS = {"rgb": "Image", "alpha": "Opacity", "depth": "Depth", "normal": "Normals", "uv": "Coordinates"}

def shown():
    return LABELS["rgb"] + LABELS["alpha"] + LABELS["depth"]
"""


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("import labels\n\ndef show(names):\n    return [labels.LABELS[name] for name in names]\n", []),
        ("from labels import LABELS\n\ndef show():\n    return list(LABELS.items())\n", []),
        ("import labels\n\ndef show():\n    return labels.LABELS['rgb']\n", ["normal", "uv"]),
    ],
)
def test_a_table_that_another_file_looks_things_up_in(other: str, found: list[str]) -> None:
    files = [SourceFile("labels.py", _TABLE), SourceFile("main.py", textwrap.dedent(other))]
    warnings = [one for one in audit(files, Config()).report.warnings if one.rule == "lost-option"]
    assert [one.message.split("`")[1] for one in warnings] == found
