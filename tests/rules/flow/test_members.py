"""What `missing-attribute` and `lost-option` prove of classes, and what they leave open."""

import pytest
from rules.programs import audited

SET_ON_ANOTHER = """
    class Other:
        def __init__(self):
            self.offset = 1.0

    class Sampler:
        def __init__(self, scale):
            self.scale = scale

        def draw(self, x):
            return self.offset * x + self.scale
    """
READ_BY_NOBODY = """
    class Kernel:
        def __init__(self, model, strategy=None):
            self.model = model
            self.strategy = strategy

        def run(self, key):
            return self.model(key)
    """
READ_OF_ANOTHER = """
    class Kernel:
        def __init__(self, model, strategy=None):
            self._model = model
            self._strategy = strategy

        def run(self, key):
            return self._model(key)

    def f(other):
        return other._strategy
    """
ONE_PART_COPIED = """
    class Dataset:
        def __init__(self, rows, pad=-1):
            self.rows = rows
            self.pad = pad

        def shard(self):
            return Dataset(self.rows)

        def first(self):
            return self.rows[0] + self.pad
    """
ALL_READ = """
    class Base:
        def first(self):
            return self.rows[0] + self._pad

    class Dataset(Base):
        def __init__(self, rows, pad=-1):
            self.rows = rows
            self._pad = pad
    """


def _names(program: str, rule: str) -> tuple[set[str], set[str]]:
    """Return the names that a rule leaves open, and the classes that it proves."""
    report = audited(program)
    left = {one.reason.split("`")[1] for one in report.unknown if one.rule == rule}
    return left, {one.reason.split("`")[1] for one in report.verified if one.rule == rule}


@pytest.mark.parametrize(
    ("program", "rule", "cls", "left"),
    [
        (SET_ON_ANOTHER, "missing-attribute", "Sampler", "offset"),
        (READ_BY_NOBODY, "lost-option", "Kernel", "strategy"),
        (READ_OF_ANOTHER, "lost-option", "Kernel", "strategy"),
        (ONE_PART_COPIED, "lost-option", "Dataset", "pad"),
    ],
)
def test_what_only_code_out_of_sight_decides_is_left_open(program: str, rule: str, cls: str, left: str) -> None:
    names, proofs = _names(program, rule)
    assert left in names
    assert cls not in proofs


def test_what_a_class_and_its_bases_read_is_proved() -> None:
    assert _names(ALL_READ, "lost-option") == (set(), {"Dataset"})
    assert _names(ALL_READ, "missing-attribute") == (set(), {"Base"})
