from pathlib import Path

import pytest

from jaxaudit.config import Config, UsageError, find_config


def write(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_no_file_gives_the_defaults(tmp_path):
    assert find_config(tmp_path) == Config(root=tmp_path)


def test_every_key(tmp_path):
    write(
        tmp_path,
        """
        [tool.jaxaudit]
        select = ["random"]
        ignore = ["key-reused"]
        exclude = ["old/"]
        strict = true
        [tool.jaxaudit.per-file-ignores]
        "tests/**" = ["random"]
        """,
    )
    assert find_config(tmp_path) == Config(
        root=tmp_path,
        select=("random",),
        ignore=("key-reused",),
        exclude=("old/",),
        per_file_ignores=(("tests/**", ("random",)),),
        strict=True,
    )


def test_the_nearest_file_with_a_table_counts(tmp_path):
    write(tmp_path, "[tool.jaxaudit]\nstrict = true")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    write(inner, "[project]\nname = 'x'")
    assert find_config(inner).root == tmp_path


def test_the_search_ends_at_the_top_of_the_repository(tmp_path):
    write(tmp_path, "[tool.jaxaudit]\nstrict = true")
    inner = tmp_path / "repository"
    (inner / ".git").mkdir(parents=True)
    assert find_config(inner) == Config(root=inner)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[tool.jaxaudit]\nselct = []", "[tool.jaxaudit] has no key `selct`; did you mean `select`?"),
        ("[tool.jaxaudit]\nzzz = []", "[tool.jaxaudit] has no key `zzz`"),
        ("[tool.jaxaudit]\nselect = 'a'", "`select` in [tool.jaxaudit] must be a list of strings, not a string"),
        ("[tool.jaxaudit]\nignore = [1]", "`ignore` in [tool.jaxaudit] must hold strings only, not a number"),
        ("[tool.jaxaudit]\nstrict = 'yes'", "`strict` in [tool.jaxaudit] must be true or false, not a string"),
        ("[tool.jaxaudit]\nstrict = 1", "`strict` in [tool.jaxaudit] must be true or false, not a number"),
        (
            "[tool.jaxaudit]\nper-file-ignores = []",
            "`per-file-ignores` in [tool.jaxaudit] must be a table from pattern to rules, not a list",
        ),
        ("[tool]\njaxaudit = 3", "[tool.jaxaudit] must be a table, not a number"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path, text, sentence):
    file = write(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        find_config(tmp_path)
    assert str(caught.value) == f"{file}: {sentence}"


def test_broken_toml(tmp_path):
    write(tmp_path, "[tool.jaxaudit\n")
    with pytest.raises(UsageError, match="is not valid TOML: "):
        find_config(tmp_path)


def test_text_that_is_not_utf8(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        find_config(tmp_path)


@pytest.mark.parametrize(
    ("select", "ignore", "runs"),
    [
        ((), (), True),
        (("random",), (), True),
        (("key-reused",), (), True),
        (("axes",), (), False),
        ((), ("random",), False),
        ((), ("key-reused",), False),
        (("random",), ("key-reused",), False),
        (("key-reused",), ("random",), True),
        (("key-reused",), ("key-reused",), False),
    ],
)
def test_selection(select, ignore, runs):
    assert Config(select=select, ignore=ignore).runs("key-reused", "random") is runs


def test_options_of_the_command_line():
    config = Config(select=("a",), ignore=("b",)).with_options(("c",), ("d",), strict=True)
    assert (config.select, config.ignore, config.strict) == (("c",), ("b", "d"), True)
    assert Config(select=("a",), strict=True).with_options((), (), strict=False).select == ("a",)


def test_switches_of_scripts(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text("# export JAX_DEBUG_NANS=1\nexport JAX_ENABLE_X64=1  # double\n")
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "test.yml").write_text(
        "env:\n  JAX_DISABLE_JIT: 'true'\n  JAX_PLATFORMS: cpu\n"
    )
    (tmp_path / "Dockerfile").write_text("ENV JAX_DEBUG_INFS True\nENV JAX_LOG_COMPILES=0\n")
    (tmp_path / "notes.txt").write_text("JAX_CHECK_TRACER_LEAKS=1\n")
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    assert find_config(package).switches == ("jax_debug_infs", "jax_disable_jit", "jax_enable_x64")


def test_switches_above_a_folder_in_no_repository_are_not_ours(tmp_path):
    (tmp_path / "run.sh").write_text("JAX_ENABLE_X64=1 python main.py\n")
    (tmp_path / "code").mkdir()
    assert find_config(tmp_path).switches == ("jax_enable_x64",)
    assert find_config(tmp_path / "code").switches == ()
