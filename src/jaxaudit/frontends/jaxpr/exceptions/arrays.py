"""Exceptions of single operations on arrays: shapes, axes, indices, dtypes and keys that do not fit."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import rows

ROWS = rows(
    r"""
ValueError: Incompatible types for broadcasting: input type=(\S+) and requested type=(\S+)
    axis-conflict: a value of type {1} is to fill a place of type {2}
    expected: a value of the shape of the place, or one that broadcasts to it
    suggestion: correct the index or the value: `x[i]` has one axis less than `x`, `x[:, i]` has the others
any: Incompatible types for matmul arguments: (\S+) and (\S+)
    axis-conflict: a product is made of {1} and {2}, whose leading axes do not go together
    expected: equal leading axes, or size 1
    suggestion: use `jnp.einsum` to say which axes belong together, or move the batch axes first
ValueError: axis (-?\d+) is out of bounds for array of dimension (\d+)
    axis-conflict: axis {1} is named, but the array has {2} axes: they count from 0
    expected: an axis below {2}, or a negative one that counts from the end
    suggestion: correct the axis; under `vmap` an array has one axis less than outside
IndexError: Too many indices: array is (\d+)-dimensional, but (\d+) were indexed
    axis-conflict: an array with {1} axes is read with {2} indices
    expected: at most one index for each axis
    suggestion: leave an index out; under `vmap` an array has one axis less than outside
any: indices and arr must have the same number of dimensions; (\d+) vs\. (\d+)
    axis-conflict: indices with {1} axes pick from an array with {2}
    expected: indices with as many axes as the array
    suggestion: add the missing axis (`indices[..., None]`) and drop it afterwards; labels have one axis less than
        logits
any: Length of slice indices must match number of operand dimensions \((\d+) vs (\([^)]*\))\)
    axis-conflict: {1} start indices are given for an array of shape {2}
    expected: one start index for each axis
    suggestion: give a start for every axis (0 for those that are kept), or use `lax.dynamic_slice_in_dim`
any: update shape must be smaller than operand shape, got update shape (\([^)]*\)) for operand shape (\([^)]*\))
    axis-conflict: an update of shape {1} does not fit into an array of shape {2}
    expected: an update that is no larger than the array along any axis
    suggestion: transpose the update, or cut it
any: select `which` must be scalar or have the same shape as cases, got `which` shape (\([^)]*\)) but case shape
        (\([^)]*\))
    axis-conflict: a condition of shape {1} chooses between arrays of shape {2}
    expected: a condition of the same shape, or a single truth value
    suggestion: use `jnp.where`, which broadcasts, with `[:, None]` where an axis is missing
any: array split does not result in an equal division: rest is (\d+)
    axis-conflict: an axis is split into equal parts, but {1} elements are left over
    expected: a number of parts that divides the axis
    suggestion: correct the number of parts, or use `jnp.array_split`
any: conv_general_dilated lhs feature dimension size .* must equal the rhs input feature dimension size, but (.*)
    axis-conflict: a convolution is given another number of channels than its kernel has: {1}
    expected: the input's channel axis has the size that the kernel was made for
    suggestion: check the layout: `lax.conv` wants NCHW and OIHW, flax NHWC
any: Einstein sum subscript '(\w+)' does not contain the correct number of indices for operand (\d+)
    axis-conflict: einsum's `{1}` has not one letter for each axis of operand {2}
    expected: one letter an axis, or `...` for the rest
    suggestion: correct the letters
any: setting an array element with a sequence.*inhomogeneous shape
    axis-conflict: an array is made of rows of different lengths
    expected: rows of one length
    suggestion: pad the rows to one length and keep a mask
TypeError: iteration over a 0-d array|len\(\) of unsized object
    axis-conflict: a single number is iterated over, or asked for its length
    expected: an array with an axis
    suggestion: reduce over fewer axes before (`axis=`); under `vmap` an array has one axis less than outside
any: lax\.(\w+) requires arguments to have the same dtypes, got ([^.(]*)
    invalid-input-type: `lax.{1}` is given the dtypes {2}, and does not convert them
    expected: operands of one dtype
    suggestion: use the function of `jax.numpy`, which converts, or `.astype`
any: dtype that is a subdtype of <class 'numpy\.(\w+)'>, got (\w+) instead
    invalid-input-type: an array of dtype {2} is given where {1} numbers are needed
    expected: an array of {1} numbers, such as class indices
    suggestion: convert it with `.astype`, or check which argument is which
TypeError: JAX does not support string indexing; got idx='(.*?)'
    invalid-input-type: an array is indexed by the text `{1}`, as if it were a dict
    expected: a dict of arrays, or an index
    suggestion: check what is passed in: the whole dict, or already the array in it
TypeError: Indexer must have integer or boolean type, got indexer with type (\w+)
    invalid-input-type: an array is indexed by numbers of type {1}
    expected: whole numbers or truth values as indices
    suggestion: convert the indices with `.astype(int)`, or divide with `//`
TypeError: Value '.*?' with dtype (\S+) is not a valid JAX array type
    invalid-input-type: an array is made of values of dtype {1}, which JAX does not have
    expected: numbers or truth values
    suggestion: keep text in Python; turn categories into indices first
"""
)
