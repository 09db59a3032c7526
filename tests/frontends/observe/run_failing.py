"""Runs every failing program in one process and prints the facts of its exception as JSON, one line a program."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

sys.path.insert(0, str(Path(__file__).parent))

from failing import HEAD
from failing_leaves import PROGRAMS

from jaxaudit.frontends.jaxpr.failures import describe
from jaxaudit.frontends.jaxpr.lower import install_markers

install_markers()

folder = Path(sys.argv[1])
for number, program in enumerate(PROGRAMS):
    file = folder / f"program{number}.py"
    file.write_text(HEAD + program.code + "\n")
    try:
        exec(compile(file.read_text(), str(file), "exec"), {"__name__": "__main__"})
        failure = None
    except Exception as error:  # noqa: BLE001
        failure = asdict(describe(error))
    print("FACTS " + json.dumps({"path": str(file), "failure": failure}))
