"""Exceptions of single operations on arrays: shapes, axes, indices, dtypes and keys that do not fit."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import Row, say

_NO_AXIS = say(
    "axis-conflict",
    "axis {1} is named, but the array has {2} axes: they count from 0",
    "an axis below {2}, or a negative one that counts from the end",
    "correct the axis; under `vmap` an array has one axis less than outside",
)

ROWS = (
    Row(
        r"Incompatible types for broadcasting: input type=(\S+) and requested type=(\S+)",
        say(
            "axis-conflict",
            "a value of type {1} is to fill a place of type {2}",
            "a value of the shape of the place, or one that broadcasts to it",
            "correct the index or the value: `x[i]` has one axis less than `x`, `x[:, i]` has the others",
        ),
        ("ValueError",),
    ),
    Row(
        r"Incompatible types for matmul arguments: (\S+) and (\S+)",
        say(
            "axis-conflict",
            "a product is made of {1} and {2}, whose leading axes do not go together",
            "equal leading axes, or size 1",
            "use `jnp.einsum` to say which axes belong together, or move the batch axes first",
        ),
    ),
    Row(r"axis (-?\d+) is out of bounds for array of dimension (\d+)", _NO_AXIS, ("ValueError",)),
    Row(
        r"Too many indices: array is (\d+)-dimensional, but (\d+) were indexed",
        say(
            "axis-conflict",
            "an array with {1} axes is read with {2} indices",
            "at most one index for each axis",
            "leave an index out; under `vmap` an array has one axis less than outside",
        ),
        ("IndexError",),
    ),
    Row(
        r"indices and arr must have the same number of dimensions; (\d+) vs\. (\d+)",
        say(
            "axis-conflict",
            "indices with {1} axes pick from an array with {2}",
            "indices with as many axes as the array",
            "add the missing axis (`indices[..., None]`) and drop it afterwards; labels have one axis less than logits",
        ),
    ),
    Row(
        r"Length of slice indices must match number of operand dimensions \((\d+) vs (\([^)]*\))\)",
        say(
            "axis-conflict",
            "{1} start indices are given for an array of shape {2}",
            "one start index for each axis",
            "give a start for every axis (0 for those that are kept), or use `lax.dynamic_slice_in_dim`",
        ),
    ),
    Row(
        r"update shape must be smaller than operand shape, got update shape (\([^)]*\)) for operand shape (\([^)]*\))",
        say(
            "axis-conflict",
            "an update of shape {1} does not fit into an array of shape {2}",
            "an update that is no larger than the array along any axis",
            "transpose the update, or cut it",
        ),
    ),
    Row(
        r"select `which` must be scalar or have the same shape as cases, got `which` shape (\([^)]*\)) but case shape"
        r" (\([^)]*\))",
        say(
            "axis-conflict",
            "a condition of shape {1} chooses between arrays of shape {2}",
            "a condition of the same shape, or a single truth value",
            "use `jnp.where`, which broadcasts, with `[:, None]` where an axis is missing",
        ),
    ),
    Row(
        r"array split does not result in an equal division: rest is (\d+)",
        say(
            "axis-conflict",
            "an axis is split into equal parts, but {1} elements are left over",
            "a number of parts that divides the axis",
            "correct the number of parts, or use `jnp.array_split`",
        ),
    ),
    Row(
        r"conv_general_dilated lhs feature dimension size .* must equal the rhs input feature dimension size, but (.*)",
        say(
            "axis-conflict",
            "a convolution is given another number of channels than its kernel has: {1}",
            "the input's channel axis has the size that the kernel was made for",
            "check the layout: `lax.conv` wants NCHW and OIHW, flax NHWC",
        ),
    ),
    Row(
        r"Einstein sum subscript '(\w+)' does not contain the correct number of indices for operand (\d+)",
        say(
            "axis-conflict",
            "einsum's `{1}` has not one letter for each axis of operand {2}",
            "one letter an axis, or `...` for the rest",
            "correct the letters",
        ),
    ),
    Row(
        r"setting an array element with a sequence.*inhomogeneous shape",
        say(
            "axis-conflict",
            "an array is made of rows of different lengths",
            "rows of one length",
            "pad the rows to one length and keep a mask",
        ),
    ),
    Row(
        r"iteration over a 0-d array|len\(\) of unsized object",
        say(
            "axis-conflict",
            "a single number is iterated over, or asked for its length",
            "an array with an axis",
            "reduce over fewer axes before (`axis=`); under `vmap` an array has one axis less than outside",
        ),
        ("TypeError",),
    ),
    Row(
        r"lax\.(\w+) requires arguments to have the same dtypes, got ([^.(]*)",
        say(
            "invalid-input-type",
            "`lax.{1}` is given the dtypes {2}, and does not convert them",
            "operands of one dtype",
            "use the function of `jax.numpy`, which converts, or `.astype`",
        ),
    ),
    Row(
        r"dtype that is a subdtype of <class 'numpy\.(\w+)'>, got (\w+) instead",
        say(
            "invalid-input-type",
            "an array of dtype {2} is given where {1} numbers are needed",
            "an array of {1} numbers, such as class indices",
            "convert it with `.astype`, or check which argument is which",
        ),
    ),
    Row(
        r"JAX does not support string indexing; got idx='(.*?)'",
        say(
            "invalid-input-type",
            "an array is indexed by the text `{1}`, as if it were a dict",
            "a dict of arrays, or an index",
            "check what is passed in: the whole dict, or already the array in it",
        ),
        ("TypeError",),
    ),
    Row(
        r"Indexer must have integer or boolean type, got indexer with type (\w+)",
        say(
            "invalid-input-type",
            "an array is indexed by numbers of type {1}",
            "whole numbers or truth values as indices",
            "convert the indices with `.astype(int)`, or divide with `//`",
        ),
        ("TypeError",),
    ),
    Row(
        r"Value '.*?' with dtype (\S+) is not a valid JAX array type",
        say(
            "invalid-input-type",
            "an array is made of values of dtype {1}, which JAX does not have",
            "numbers or truth values",
            "keep text in Python; turn categories into indices first",
        ),
        ("TypeError",),
    ),
)
