"""The rule `setting-after-import`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Program
from jaxaudit.ir.members import Exported
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown


class SettingAfterImport(Rule):
    """A setting of JAX is put into the environment after JAX has been imported.

    ## What it does
    Looks at variables of the environment that JAX reads when it is imported (`JAX_ENABLE_X64`, `JAX_PLATFORMS`,
    `JAX_DEBUG_NANS`, ...) and that the top level of a module sets, and asks whether JAX is imported before.

    ## Why is this bad?
    JAX does not look again. The program runs in single precision, or on the wrong device, and nothing is said.

    ## Example
        import os
        import jax

        os.environ["JAX_ENABLE_X64"] = "1"

    ## Use instead
        import jax

        jax.config.update("jax_enable_x64", True)

    ## When it cannot tell
    When the module starts other processes, which get the environment as it is then, or sets the same in JAX's own
    configuration. Imports in other modules are not looked at.
    """

    summary = "A setting is put into the environment after JAX has read it."

    valid = """
    ## in the configuration, for what is read later, and for a process of its own
    import os

    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    os.environ["MY_LOG_DIR"] = "logs"
    jax.config.update("jax_enable_x64", True)

    def start():
        os.environ["JAX_PLATFORMS"] = "cpu"

    ## for a process of its own
    import os
    import subprocess

    os.environ["JAX_PLATFORMS"] = "cpu"
    subprocess.run(["python", "worker.py"])
    """
    invalid = """
    ## double precision
    import os

    os.environ["JAX_ENABLE_X64"] = "1"  #!

    ## several, and unless they are set
    import os

    os.environ.setdefault("JAX_PLATFORMS", "cpu")  #!
    if __name__ == "__main__":
        os.environ.update({"JAX_DEBUG_NANS": "1", "HOME": "/tmp"})  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every setting of JAX that a module puts into the environment."""
        yield from map(_judge, program.exported)


def _judge(setting: Exported) -> Obligation:
    if setting.imported is None:
        return proved(setting.span, f"`{setting.name}` is set before this module imports JAX")
    if setting.open:
        return unknown(setting.span, f"whether `{setting.name}` is meant for this process is not known")
    return Obligation(
        setting.span,
        message=f"`{setting.name}` is set after JAX has been imported, which does not read it again",
        current="the setting has no effect in this process",
        expected="the setting is there before JAX is imported",
        steps=(Step(setting.imported, "JAX is imported here"),),
        suggestion=f'set it before, or call `jax.config.update("{setting.name.lower()}", ...)`',
    )
