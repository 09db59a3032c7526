"""Rows of the methods and attributes of arrays, under the class name `array`.

The first parameter of each row is the array itself, since the op needs it as an argument. Methods of other classes do
not list their receiver.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.libraries import numpy, numpy_more
from jaxaudit.libraries.table import Table, merge, rows

_ATTRIBUTES = "T mT at aval device dtype format imag itemsize nbytes ndim real shape sharding size weak_type"

ATTRIBUTES = frozenset(f"array.{name}" for name in _ATTRIBUTES.split())
"""The rows that are read without a call."""

_SAME = (
    "all any argmax argmin argpartition argsort choose clip conj conjugate copy cumprod cumsum diagonal dot max mean "
    "min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum swapaxes take trace var"
)


def _as_in_numpy() -> Table:
    """Takes over the rows of the functions of `jax.numpy` that have the method's name and parameters."""
    functions = numpy.ROWS | numpy_more.ROWS
    return {f"array.{name}": functions[f"jax.numpy.{name}"] for name in _SAME.split()}


_METHODS = merge(
    rows("array", "array.convert", "astype: x dtype copy device\nview: a dtype type\nbyteswap: a"),
    rows("array", "array.gather", "compress: a condition axis"),
    rows("array", "array.reshape", "reshape: a *shape\nflatten: a order"),
    rows("array", "array.permute", "transpose: a *axes\nT mT: a"),
    rows("array", "array.map", "imag real: val"),
    rows("array", "array.shape", "aval device devices dtype format itemsize nbytes ndim shape: a"),
    rows("array", "array.shape", "sharding size weak_type: a"),
    rows("array", "array.at", "at: base"),
    rows("array", "py.to_python", "item: a *args\ntolist tobytes: a"),
    rows("array", "device.place", "block_until_ready copy_to_host_async: x\nto_device: x device"),
)

_UPDATES = merge(
    rows("array.at", "array.scatter", """
        add divide max min mul multiply power set subtract: value
        apply: func
        """),
    rows("array.at", "array.gather", "get:"),
)

ROWS = merge(_as_in_numpy(), _METHODS, _UPDATES)
"""Every method and attribute of an array, and the updates behind `x.at[i]` (whose receiver is base and index)."""

_ELSEWHERE = {
    "NumPy": """
        append concatenate dump dumps exp expand_dims extend fill getfield insert itemset log newbyteorder pad put
        resize setfield setflags sqrt stack tile tofile tostring where
    """,
    "PyTorch": """
        add_ backward bmm bool chunk clamp contiguous cpu cuda detach dim double expand expand_as float gather half
        index_select int long masked_fill matmul mm mul_ norm numel numpy permute relu requires_grad_ scatter_ sigmoid
        softmax tanh type type_as unbind unsqueeze view_as zero_
    """,
}

_FURTHER = """
    T at mT addressable_data addressable_shards clone committed device_buffer device_buffers devices flat
    get_referent global_shards is_deleted is_fully_addressable is_fully_replicated is_ready layout
    on_device_size_in_bytes platform traceback unsafe_buffer_pointer val primal tangent full_lower to_concrete_value
    dimension_as_value delete ptp reshape trace
"""
MEMBERS = frozenset((*(name.partition(".")[2] for name in ROWS if name.count(".") == 1), *_FURTHER.split()))
"""The names of all that arrays of JAX have, of any version, and the values that stand for them while JAX traces."""

FOREIGN: Mapping[str, str] = {name: library for library, names in _ELSEWHERE.items() for name in names.split()}
"""Methods that arrays of JAX do not have, with the library whose arrays, or whose functions, have the name."""

SHAPE_ALONE = frozenset(
    f"numpy.{name}"
    for name in """shape ndim size result_type dtype issubdtype can_cast iterable isscalar broadcast_shapes
    promote_types finfo iinfo iscomplexobj isrealobj errstate""".split()
)
"""Functions of NumPy that ask for nothing but shape and dtype."""

DELEGATING = frozenset(
    f"numpy.{name}"
    for name in """all amax amin any argmax argmin argsort around array_split cumprod cumsum dsplit flip hsplit imag max
    mean min moveaxis permute_dims prod real repeat reshape rollaxis round searchsorted split squeeze std sum swapaxes
    transpose unstack var vsplit""".split()
)
"""Functions of NumPy that only use methods and indices of what they are given, as arrays of JAX have them."""

WRITING = frozenset(
    """numpy.copyto numpy.fill_diagonal numpy.place numpy.put numpy.put_along_axis numpy.putmask numpy.random.shuffle
    sort .fill .partition .itemset""".split()
)
"""Functions of NumPy, and methods of its arrays, that change the first array they are given."""
