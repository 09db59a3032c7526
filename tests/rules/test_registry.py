"""Rules are found in this package and in others."""

import subprocess
import sys

from jaxaudit.rules.registry import all_rules

_RULE = '''
from jaxaudit.rules.base import Rule


class HouseStyle(Rule):
    """A rule of another package."""

    name, family, summary = "house-style", "house", "A rule of another package."

    def check(self, program, facts):
        return iter(())
'''


def test_every_rule_file_has_its_rule():
    names = [rule.name for rule in all_rules()]
    assert names == sorted(names, key=lambda name: next((r.family, r.name) for r in all_rules() if r.name == name))
    assert "key-reused" in names


def test_rules_of_other_packages_are_found(tmp_path):
    (tmp_path / "house.py").write_text(_RULE)
    installed = tmp_path / "house-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: house\nVersion: 1.0\n")
    code = "from jaxaudit.rules.registry import all_rules; print([r.name for r in all_rules() if r.family == 'house'])"
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(tmp_path)!r}); {code}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
    (installed / "entry_points.txt").write_text("[jaxaudit.rules]\nhouse = house\n")
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['house-style']\n"
