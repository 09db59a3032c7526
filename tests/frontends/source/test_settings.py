"""What options hold unless the user sets them: numbers are known, switches and words stay open."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax.numpy as jnp\n"
_PARSER = "import argparse\np = argparse.ArgumentParser()\n"
_FLAGS = "from absl import flags\nW = flags.DEFINE_integer('w', 3, '')\n"
_ARGS = "import tyro\nfrom dataclasses import dataclass\n@dataclass\nclass Args:\n    n: int = 4\n    w: int = 3\n    fast: bool = False\n"
_END = "result = jnp.ones((s.n, s.w))"


@pytest.mark.parametrize(
    "code",
    [
        "from types import SimpleNamespace\ns = SimpleNamespace(n=4, w=3)\n" + _END,
        _PARSER
        + 'p.add_argument("--n", type=int, default=4)\np.add_argument("-w", default=3)\ns = p.parse_args()\n'
        + _END,
        _PARSER
        + 'g = p.add_argument_group("sizes")\ng.add_argument("--rows", dest="n", default=4)\n'
        + 'g.add_argument("--w", type=int, default="3")\ns, _ = p.parse_known_args()\n'
        + _END,
        _PARSER + 'p.add_argument("--n", default=9)\np.set_defaults(n=4, w=3)\ns = p.parse_args()\n' + _END,
        "import ml_collections\ns = ml_collections.ConfigDict()\ns.n = 4\ns.w = s['n'] - 1\n" + _END,
        "from omegaconf import OmegaConf\nc = OmegaConf.create({'a': {'n': 4, 'w': 3}})\ns = c.a\n" + _END,
        _FLAGS + "flags.DEFINE_integer('n', 4, '')\nresult = jnp.ones((flags.FLAGS.n, W.value))",
        _ARGS + "s = tyro.cli(Args)\n" + _END,
        _ARGS + "from omegaconf import OmegaConf\ns = Args(**OmegaConf.from_cli())\n" + _END,
    ],
)
def test_a_number_is_what_it_is_by_default(code: str) -> None:
    assert shapes(_START + code) == ["4 3"]


@pytest.mark.parametrize(
    "code",
    [
        _PARSER + 'p.add_argument("--fast", action="store_true")\ns = p.parse_args()\n',
        _PARSER + 'p.add_argument("--fast", default=False)\ns = p.parse_args()\n',
        "from absl import flags\nflags.DEFINE_bool('fast', False, '')\ns = flags.FLAGS\n",
        _ARGS + "s = tyro.cli(Args)\n",
        _ARGS + "from omegaconf import OmegaConf\ns = Args(**OmegaConf.from_cli())\n",
    ],
)
def test_what_stands_behind_a_switch_is_read(code: str) -> None:
    assert ops(_START + code + "if s.fast:\n    result = jnp.sin(1.0)", "py.branch")


def test_an_option_that_is_computed_from_others_is_known() -> None:
    code = _PARSER + 'p.add_argument("--n", default=4)\ns = p.parse_args()\ns.w = s.n - 1\n' + _END
    assert shapes(_START + code) == ["4 3"]


_CONFIG = "import ml_collections\nc = ml_collections.ConfigDict()\nc.model = dict(n=4)\nc.model.w = 3\nc['k'] = {}\ns = c.model\n"


def test_a_dict_in_a_configuration_is_one_itself() -> None:
    assert shapes(_START + _CONFIG + _END) == ["4 3"]


def test_what_a_configuration_is_updated_with_is_open() -> None:
    assert shapes(_START + _CONFIG + "s.update(given)\n" + _END) != ["4 3"]


def test_an_entry_that_a_configuration_lacks_is_the_default() -> None:
    assert shapes(_START + _CONFIG + "result = jnp.ones((s.get('n', 9), s.get('u', 3)))") == ["4 3"]


def test_what_is_handed_on_by_name_from_elsewhere_is_open() -> None:
    assert shapes(_START + _ARGS + "from elsewhere import given\ns = Args(**given)\n" + _END) != ["4 3"]
