"""Records behave as the dataclasses that they stand for, with msgspec and without."""

import dataclasses
import subprocess
import sys
from dataclasses import field

import msgspec
import pytest

from jaxaudit.ir import record as records


@pytest.fixture(params=["msgspec", "dataclasses"])
def kind(request, monkeypatch):
    if request.param == "dataclasses":
        monkeypatch.setattr(records, "msgspec", None)
    return request.param


def point():
    @records.record
    class Point:
        """A point."""

        x: int
        tags: dict[str, int] = field(default_factory=dict)

        def moved(self, by: int) -> object:
            return dataclasses.replace(self, x=self.x + by)

    return Point


def test_a_record_compares_by_content(kind):
    made = point()
    assert made(1) == made(1, {}) != made(2)
    assert repr(made(1).moved(2)).endswith("Point(x=3, tags={})")
    assert dataclasses.asdict(made(1)) == {"x": 1, "tags": {}}
    assert made(1).tags is not made(1).tags
    assert hash(made(1, ())) == hash(made(1, ()))
    assert issubclass(made, msgspec.Struct) == (kind == "msgspec")


def test_nobody_changes_a_record():
    with pytest.raises(AttributeError):
        point()(1).x = 2


def test_an_entity_compares_by_identity(kind):
    @records.entity
    class Thing:
        name: str

    one = Thing("a")
    assert one == one != Thing("a")
    assert len({one, Thing("a")}) == 2


def test_what_may_be_changed_has_no_hash(kind):
    @records.mutable
    class Count:
        number: int = 0

    one = Count()
    one.number += 1
    assert one == Count(1)
    with pytest.raises(TypeError):
        hash(one)


def test_a_field_that_is_not_compared_is_left_to_dataclasses():
    @records.record
    class Named:
        name: str
        line: int = field(default=0, compare=False)

    assert Named("a", 1) == Named("a", 2)


def test_start_up_compiles_few_dataclasses():
    code = (
        "import dataclasses; made = []; make = dataclasses._process_class\n"
        "dataclasses._process_class = lambda cls, *rest: made.append(cls.__module__) or make(cls, *rest)\n"
        "from jaxaudit.rules.registry import all_rules; import jaxaudit.session; all_rules()\n"
        "print(sum(name.startswith('jaxaudit') for name in made))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40


def test_two_that_are_equal_by_a_comparison_of_their_own_do_not_differ():
    @records.entity
    class Named:
        name: str
        place: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Named) and self.name == other.name

        def __hash__(self) -> int:
            return hash(self.name)

    assert (Named("x", 1) != Named("x", 2)) is False
    assert Named("x") != Named("y")
