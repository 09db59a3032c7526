"""Parts of a program that are solved by themselves."""

from jaxaudit.analyses.keys.facts import about_keys
from jaxaudit.analyses.solve import Facts
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source

SOURCE = """
import jax

KEY = jax.random.key(0)

def draws(key):
    return jax.random.normal(key, (3,))

def computes(x, out):
    return out(x)
"""


def test_keys_are_solved_where_they_are_made_and_used():
    program = read_source([SourceFile("example.py", SOURCE)], {}.get).program
    names = {root.name for root in about_keys(Facts(program)).roots}
    assert names == {"example", "example.draws"}
