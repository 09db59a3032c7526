"""Rows of Python's standard library and of NumPy: what runs in Python while a function is traced."""

from __future__ import annotations

from jaxaudit.libraries import numpy as jax_numpy
from jaxaudit.libraries import numpy_more
from jaxaudit.libraries.rows import Row
from jaxaudit.libraries.table import Table, merge, rows

COMMAND_LINE = "omegaconf.Options"
"""The class of the options of a command line, by name."""

_RANDOM = merge(
    rows("random", "py.random", "*:\nrandom:\nuniform randint: a b\nchoice shuffle: x\nseed: a"),
    rows("random", "py.call_library", "Random: x", result="itself"),
    rows("random", "py.random", "Random.*:"),
    rows("secrets", "py.random", "*:"),
    rows("uuid", "py.random", "uuid1 uuid4:"),
    rows("os", "py.random", "urandom: size"),
    rows("numpy.random", "py.random", "*:\nnormal: loc scale size\nuniform randint: low high size\npermutation: x"),
    rows("numpy.random", "py.random", "seed: seed\nrand randn: *args"),
    rows("numpy.random", "py.call_library", "default_rng Generator: seed", result="numpy.random.Generator"),
    rows("numpy.random", "py.call_library", "RandomState: seed", result="itself"),
    rows("numpy.random", "py.call_library", "SeedSequence PCG64 Philox MT19937: seed"),
    rows("numpy.random", "py.random", "Generator.* RandomState.*:"),
    rows("numpy.random", "py.random", """
        Generator.normal RandomState.normal Generator.laplace RandomState.laplace: loc scale size
        Generator.lognormal RandomState.lognormal: mean sigma size
        Generator.exponential RandomState.exponential: scale size
        Generator.gamma RandomState.gamma: shape scale size
        Generator.beta RandomState.beta: a b size
        Generator.poisson RandomState.poisson: lam size
        Generator.binomial RandomState.binomial: n p size
        Generator.uniform RandomState.uniform Generator.integers RandomState.randint: low high size
        Generator.standard_normal Generator.random RandomState.standard_normal RandomState.random_sample: size
        Generator.choice RandomState.choice: a size replace p axis
        RandomState.randn RandomState.rand: *args
        Generator.permutation RandomState.permutation: x
        """),
)

_OUTSIDE = merge(
    rows("time", "py.clock", "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time:", result="[]"),
    rows("time", "py.clock", "ctime localtime gmtime: secs"),
    rows("time", "py.clock", "strftime: format t\nsleep: secs"),
    rows("datetime", "py.clock", "datetime.now: tz\ndatetime.utcnow datetime.today date.today:"),
    # The environment of a process stays as it is, by and large.
    rows("os", "py.call_library", "getenv environ.get: key default\ngetcwd getpid cpu_count:"),
    rows("os", "py.clock", "environ.setdefault: key default\nlistdir: path"),
    rows("os.path", "py.clock", "exists isfile isdir getsize getmtime: path"),
    rows("builtins", "py.clock", "open: file mode", result="io.TextIOWrapper"),
    rows("builtins", "py.clock", "input: prompt"),
    rows("omegaconf", "py.call_library", "OmegaConf.from_cli: args_list", result=COMMAND_LINE),
    rows("pathlib.Path", "py.clock", "read_text read_bytes exists is_file is_dir: *args"),
    rows("pathlib.Path", "py.clock", "open: mode", result="io.TextIOWrapper"),
    rows("numpy", "py.clock", "load loadtxt genfromtxt fromfile: file"),
    rows("pickle", "py.clock", "load: file"),
    rows("json", "py.clock", "load: fp"),
)

_PRINTS = merge(
    rows("builtins", "py.print", "print: *args"),
    rows("logging", "py.print", """
        debug info warning warn error critical exception: msg *args
        log: level msg *args
        Logger.debug Logger.info Logger.warning Logger.warn Logger.error Logger.critical Logger.exception: msg *args
        Logger.log: level msg *args
        """),
    rows("logging", "py.call_library", "getLogger: name", result="logging.Logger"),
    rows("absl.logging", "py.print", "debug info warning error fatal vlog log exception: msg *args"),
    rows("pprint", "py.print", "pprint pp: object"),
    rows("warnings", "py.print", "warn: message category"),
    rows("rich", "py.print", "print: *args"),
    rows("tqdm.tqdm", "py.print", "write: s", roles="writes"),
)

_WRITES = merge(
    rows("io", "py.call_library", "StringIO BytesIO: initial_value", result="io.TextIOWrapper"),
    rows("io.TextIOWrapper", "py.print", "write: s\nwritelines: lines", roles="writes"),
    rows("csv", "py.call_library", "writer: csvfile dialect\nDictWriter: f fieldnames", result="itself"),
    rows("csv", "py.print", "writer.writerow DictWriter.writerow: row\nwriter.writerows DictWriter.writerows: rows", roles="writes"),
    rows("pickle", "py.print", "dump: obj file", roles="writes"),
    rows("json", "py.print", "dump: obj fp", roles="writes"),
    rows("numpy", "array.numpy", "save: file arr\nsavetxt: fname X\nsavez savez_compressed: file *args"),
    rows("wandb", "py.print", "log Run.log: data step", roles="writes"),
    rows("wandb", "py.call_library", "init:", result="wandb.Run", roles="writes"),
    rows("mlflow", "py.print", "log_metric: key value step\nlog_metrics: metrics step", roles="writes"),
    rows("tqdm.tqdm", "py.print", """
        set_postfix: ordered_dict
        set_postfix_str: s
        set_description set_description_str: desc
        """, roles="writes"),
    rows("tqdm", "py.call_library", "tqdm: iterable desc total", result="tqdm.tqdm", holds="iterable"),
    rows("tqdm.tqdm", "py.call_library", "update: n\nreset: total\nclose refresh clear unpause display:"),
    *(
        table
        for name in ("torch.utils.tensorboard", "tensorboardX")
        for table in (
            rows(name, "py.call_library", "SummaryWriter: log_dir", result="itself"),
            rows(name, "py.print", """
                SummaryWriter.add_scalar SummaryWriter.add_scalars SummaryWriter.add_histogram: tag value step
                SummaryWriter.scalar SummaryWriter.histogram SummaryWriter.image SummaryWriter.text: tag value step
                """, roles="writes"),
        )
    ),
)

_CONVERSIONS = merge(rows("builtins", "py.to_python", "float int bool complex: x"), rows("operator", "py.to_python", "index: a"), rows("builtins", "py.format", "str repr ascii: object"))


def _as_in_jax() -> Table:
    """Gives NumPy's functions the parameters of their twins in `jax.numpy`; questions about types are those of JAX."""
    twins = jax_numpy.ROWS | numpy_more.ROWS
    return {
        name.removeprefix("jax."): Row(row.op if row.op == "array.shape" else "array.numpy", row.params)
        for name, row in twins.items()
        if row.op.startswith("array.")
    }


_LIBRARIES = merge(
    rows("numpy", "array.numpy", "*:"),
    rows("scipy", "array.numpy", "special.*: x\nlinalg.* signal.* ndimage.* sparse.* spatial.* stats.*: *args"),
    rows("scipy", "py.random", "stats.*.rvs:"),
    rows("math", "py.call_library", """
        ceil floor isqrt factorial trunc: x -> int
        comb perm: n k -> int
        gcd lcm: *integers -> int
        acos acosh asin asinh atan atanh cbrt cos cosh degrees erf erfc exp exp2 expm1 fabs gamma lgamma log10 log1p log2: x -> float
        radians sin sinh sqrt tan tanh: x -> float
        atan2 copysign fmod log pow: x y -> float
        hypot: *coordinates -> float
        *: x y
        """),
    rows("bisect", "py.call_library", "*: a x"),
    rows("statistics", "py.call_library", "*: data"),
    rows("cmath", "py.call_library", "*: x y"),
    rows("operator", "array.map", "abs neg not_ pos invert: a"),
    rows("operator", "array.map", "add and_ eq floordiv ge gt le lt mod mul ne or_ pow sub truediv xor: a b"),
    rows("operator", "array.dot", "matmul: a b"),
    rows("re", "py.call_library", "*:"),
    rows("os.path", "py.call_library", "basename dirname join splitext abspath: *paths"),
    rows("json", "py.call_library", "dumps loads: obj"),
    rows("copy", "py.call_library", "copy: x\ndeepcopy: x -> like x"),
)

ROWS = merge(_RANDOM, _OUTSIDE, _PRINTS, _WRITES, _CONVERSIONS, _as_in_jax(), _LIBRARIES)
"""The parts of Python and NumPy that matter to traced code; the interpreter reads `functools` and its kin itself."""
