"""What does an audit cost beside the trace itself? A training step of a 405-billion-parameter Llama, and parts of it.

    python benchmarks/scale.py [--layers 32 63 126] [--case scanned unrolled] [--repeat N]

Each case runs in a process of its own. Processor times differ from machine to machine; what jaxaudit adds in parts of
what `jax.make_jaxpr` takes by itself is taken in one run and worth comparing: `added/plain` for the findings, as
`jaxaudit trace` prints them, and `all/plain` with the sections about data flow, axes and boundaries, which other
formats and `-v` show. Nothing asserts it. Nothing is computed and no array is made: everything is shapes.

Not counted are costs that do not depend on the program: starting Python twice, importing jax and jaxaudit, and reading
the audited file as `check` does (`source`). Both processes of `jaxaudit trace` keep Python's garbage collector from
running, and what that saves of the trace is not counted in their favour: `marks` is the difference to `make_jaxpr`
without the collector.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

Result = TypeVar("Result")

_PROGRAM = Path(__file__).with_name("llama.py")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one case took: seconds and megabytes."""

    case: str
    layers: int
    equations: int
    ops: int
    plain: float
    """`jax.make_jaxpr` alone."""
    marks: float
    """What jaxaudit's markers add to it, both without the garbage collector."""
    lowering: float
    """From the jaxpr to the program that rules read."""
    transport: float
    """From the process that traces to the one that judges."""
    judging: float
    """Analyses, rules and the report on findings."""
    sections: float
    """The sections about data."""
    source: float
    """Reading the file itself, as `check` does; it does not grow with the model."""
    memory: float
    """The highest of the process, plain tracing included."""
    traced_memory: float
    """The highest of the process before jaxaudit did anything."""

    @property
    def added(self) -> float:
        """What jaxaudit adds to the trace before it can tell its findings."""
        return self.marks + self.lowering + self.transport + self.judging


def timed(work: Callable[[], Result], repeat: int = 1) -> tuple[float, Result]:
    """Return the least processor time of a few runs, and what the last one gave."""
    times = []
    for _ in range(repeat):
        gc.collect()
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    return min(times), result


def megabytes() -> float:
    """Return the most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def equations_in(jaxpr: Any) -> int:
    """Count equations, those of inner jaxprs included, each inner jaxpr once for each equation that holds it."""
    from jaxaudit.frontends.jaxpr import compat

    found = compat.open_jaxpr(jaxpr).eqns
    return len(found) + sum(equations_in(inner) for one in found for inner in compat.inner_jaxprs(one.params))


def measure(case: str, layers: int, repeat: int) -> Cost:
    """Measure one case in this process."""
    import jax
    import llama

    step = llama.train_step(llama.Config(layers=layers))
    given = llama.arguments(llama.Config(layers=layers), scanned=case == "scanned")

    def plain() -> Any:
        jax.clear_caches()
        return jax.make_jaxpr(step)(*given)

    # What JAX sets up once in a process is no part of a trace.
    jax.make_jaxpr(llama.train_step(llama.Config(layers=1)))(*llama.arguments(llama.Config(layers=1), scanned=False))
    plain_time, unmarked = timed(plain, repeat)
    equations = equations_in(unmarked)
    del unmarked
    gc.disable()
    alone, unmarked = timed(plain, repeat)
    gc.enable()
    del unmarked
    return _audited(case, layers, repeat, step, given, equations, (plain_time, alone))


def _audited(
    case: str,
    layers: int,
    repeat: int,
    step: Callable[..., Any],
    given: Sequence[Any],
    equations: int,
    plain: tuple[float, float],
) -> Cost:
    import jax

    from jaxaudit.config import Config
    from jaxaudit.discover import read_file, shown_name
    from jaxaudit.frontends.jaxpr.lower import Lowering, install_markers, traced
    from jaxaudit.frontends.jaxpr.protocol import Capture, Reply, read_reply, write
    from jaxaudit.ir.collector import stop_collecting
    from jaxaudit.ir.serial import encode_program
    from jaxaudit.observation.conclude import seen_by
    from jaxaudit.session import audit

    before = megabytes()
    install_markers()
    # As in the processes that `jaxaudit trace` is.
    stop_collecting()

    def marked() -> Any:
        jax.clear_caches()
        return traced(step, given, {})

    def lowered() -> Any:
        lowering = Lowering()
        lowering.add(closed, name="step", path=str(_PROGRAM))
        return lowering.program()

    def handed_over() -> Any:
        with TemporaryDirectory() as folder:
            path = Path(folder, "reply.json")
            write(path, Reply(program=encode_program(program), captures=(capture,)))
            return read_reply(path)

    def taken_in() -> Any:
        return seen_by(read)

    capture = Capture("step", "trace", str(_PROGRAM), 1)
    files = [read_file(Path(shown_name(str(_PROGRAM))).absolute())]
    marked_time, closed = timed(marked, repeat)
    lowering_time, program = timed(lowered, repeat)
    sent_time, read = timed(handed_over, repeat)
    decoded_time, _ = timed(taken_in, repeat)
    audit(files, Config())
    source_time, _ = timed(lambda: audit(files, Config(), sections=False), repeat)
    # Each time the program is a new one, of which nothing is known yet.
    judged_time, _ = timed(lambda: audit(files, Config(), seen_by(read), sections=False), repeat)
    both_time, outcome = timed(lambda: audit(files, Config(), seen_by(read)), repeat)
    for fault in outcome.faults:
        print(fault, file=sys.stderr)
    return Cost(
        case,
        layers,
        equations,
        sum(1 for _ in program.walk()),
        plain[0],
        max(marked_time - plain[1], 0.0),
        lowering_time,
        sent_time + decoded_time,
        max(judged_time - source_time - decoded_time, 0.0),
        max(both_time - judged_time, 0.0),
        source_time,
        megabytes(),
        before,
    )


def in_child(case: str, layers: int, repeat: int) -> Cost:
    """Measure one case in a fresh process."""
    command = [sys.executable, __file__, "--child", case, str(layers), str(repeat)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


_HEADINGS = ("case", "layers", "equations", "ops", "make_jaxpr", "marks", "lowering", "transport", "judging")
_MORE = ("sections", "source", "added/plain", "all/plain", "us/equation", "MB traced", "MB in all")


def row(cost: Cost) -> str:
    """Write one case down."""
    seconds = (cost.plain, cost.marks, cost.lowering, cost.transport, cost.judging, cost.sections, cost.source)
    cells = [
        f"{cost.case:12}{cost.layers:12}{cost.equations:12}{cost.ops:12}",
        *(f"{one:11.3f}s" for one in seconds),
        f"{cost.added / cost.plain:12.2f}{(cost.added + cost.sections) / cost.plain:12.2f}",
        f"{cost.added / cost.equations * 1e6:12.0f}",
        f"{cost.traced_memory:12.0f}{cost.memory:12.0f}",
    ]
    return "".join(cells)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--layers", nargs="+", type=int, default=[32, 63, 126])
    parser.add_argument("--case", nargs="+", default=["scanned", "unrolled"], choices=["scanned", "unrolled"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        case, layers, repeat = options.child
        print(json.dumps(asdict(measure(case, int(layers), int(repeat)))))
        return
    print("".join(f"{one:>12}" for one in (*_HEADINGS, *_MORE)))
    for case in options.case:
        for layers in options.layers:
            print(row(in_child(case, layers, options.repeat)), flush=True)


if __name__ == "__main__":
    main()
